"""Refusals of mutations are data: each result is a union of a record and of the refusals that it can have."""

from graphql import GraphQLObjectType, GraphQLUnionType

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from wattgate.enums import RefusalCode
from wattgate.errors import MAX_LISTED_PROBLEMS, all_error_kinds
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.core.refusals import REFUSAL_KINDS, refusal_kinds
from wattgate.operations.types.refusals import REFUSAL_TYPES

RENAME = """mutation ($id: ID!, $name: String!) {
  updateHome(homeId: $id, input: {name: $name}) {
    __typename
    ... on Home { name }
    ... on Refusal { code message docUrl traceId reason problems { path message } }
  }
}"""


def test_each_mutation_returns_a_union_of_its_record_and_its_refusals() -> None:
    assert SCHEMA.mutation_type is not None
    names = {kind.__name__ for kind in REFUSAL_KINDS}
    for operation in OPERATIONS:
        if operation.kind is not OperationKind.MUTATION or not operation.has_field:
            continue
        union = SCHEMA.mutation_type.fields[operation.field_path].type
        assert isinstance(union, GraphQLUnionType), operation.name
        record, *refusals = union.types
        assert record.name not in names, operation.name
        assert [kind.name for kind in refusals] == [kind.__name__ for kind in refusal_kinds(operation)], operation.name
    assert "Done" not in SCHEMA.type_map


def test_refusals_have_the_codes_and_names_of_errors() -> None:
    assert [kind.__name__ for kind in REFUSAL_TYPES] == [kind.__name__ for kind in REFUSAL_KINDS]
    assert [kind.code for kind in REFUSAL_KINDS] == list(RefusalCode.__members__)
    assert set(REFUSAL_KINDS) <= all_error_kinds()
    for kind in REFUSAL_KINDS:
        declared = SCHEMA.type_map[kind.__name__]
        assert isinstance(declared, GraphQLObjectType)
        assert [interface.name for interface in declared.interfaces] == ["Refusal"]


async def test_a_refusal_says_what_to_do_and_changes_nothing(served: House) -> None:
    home = await served.one.add_home()
    headers = served.one.headers["account"]
    missing = (await served.graphql(RENAME, headers, id="missing", name="Cottage"))["data"]["updateHome"]
    assert (missing["__typename"], missing["code"], missing["problems"]) == ("NotFound", "NOT_FOUND", [])
    assert missing["docUrl"] == "/errors#NOT_FOUND"
    assert missing["traceId"]
    wrong = (await served.graphql(RENAME, headers, id=home, name="x" * 201))["data"]["updateHome"]
    assert (wrong["__typename"], wrong["code"]) == ("BadInput", "BAD_INPUT")
    assert [problem["path"] for problem in wrong["problems"]] == [["input", "name"]]
    changed = (await served.graphql(RENAME, headers, id=home, name="Cottage"))["data"]["updateHome"]
    assert changed == {"__typename": "Home", "name": "Cottage"}


async def test_other_errors_stay_errors(served: House) -> None:
    answer = await served.graphql(RENAME, {}, id="missing", name="Cottage")
    assert answer["data"] == {"updateHome": None}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["UNAUTHENTICATED"]


async def test_a_refusal_counts_the_problems_that_it_does_not_list(served: House) -> None:
    document = """mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {
      ... on Refusal { retryAfter moreProblems problems { path } } } }"""
    readings = [{"at": "2026-01-05T00:00:00Z", "value": "0.12345"}] * (MAX_LISTED_PROBLEMS + 1)
    series = [{"resourceId": await served.one.add_resource(), "readings": readings}]
    refused = (await served.graphql(document, served.one.headers["account"], series=series))["data"]["recordReadings"]
    assert (len(refused["problems"]), refused["moreProblems"], refused["retryAfter"]) == (MAX_LISTED_PROBLEMS, 1, None)
    assert refused["problems"][1]["path"][:4] == ["series", "0", "readings", "1"]
