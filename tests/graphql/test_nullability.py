"""Null in the schema: edges are nullable and say what null means, and null is the default of nothing."""

from dataclasses import replace
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, Undefined
from strawberry.types.base import StrawberryOptional

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.operations.core.fields import edge_of
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR
from wattgate.realtime.operation_request import OperationRequest

OBJECT_TYPES = [
    type_
    for type_ in SCHEMA.type_map.values()
    if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__")
]
EDGES = {
    f"{type_.name}.{name}": (field, declared)
    for type_ in OBJECT_TYPES
    for name, field in type_.fields.items()
    if (declared := field.extensions.get("strawberry-definition")) and edge_of(declared)
}


def test_every_edge_is_nullable() -> None:
    """Each edge is loaded by a query of its own, which can fail, be forbidden or withheld, or exceed the budget."""
    assert [name for name, (field, _) in EDGES.items() if isinstance(field.type, GraphQLNonNull)] == []
    assert len(EDGES) > 50


def test_an_edge_says_what_null_means(subtests: pytest.Subtests) -> None:
    assert EDGES
    for name, (field, declared) in EDGES.items():
        with subtests.test(name):
            means_something = isinstance(declared.type, StrawberryOptional)
            assert (ONLY_ON_ERROR in declared.directives) is not means_something
            stated = [part for part in field.description.split(". ") if part.startswith(("Null ", "Why "))]
            only_on_error = [sentence for sentence in stated if sentence.startswith("Null only with an error")]
            assert bool(stated) is means_something if not only_on_error else not means_something


def inputs() -> dict[str, Any]:
    """Return all arguments and input fields, by name."""
    types: list[Any] = [type_ for type_ in SCHEMA.type_map.values() if isinstance(type_, GraphQLInputObjectType)]
    return {f"{type_.name}.{name}": field for type_ in types for name, field in type_.fields.items()} | {
        f"{type_.name}.{name}({argument_name}:)": argument
        for type_ in OBJECT_TYPES
        for name, field in type_.fields.items()
        for argument_name, argument in field.args.items()
    }


def test_nothing_is_null_by_default() -> None:
    assert [name for name, value in inputs().items() if value.default_value is None] == []


async def test_a_forbidden_edge_leaves_the_other_fields_on_both_executors(served: House) -> None:
    """An OAuth client with the scope `read` has no permission for catch-ups."""
    reader = replace(served.one.account, oauth_scopes=frozenset({"read"}))
    pipeline = GraphQLPipeline(served.gateway.schema, served.gateway.runner)
    request = OperationRequest(
        query=f'{{ resource(resourceId: "{served.one.ids["resource"]}") {{ name catchUps {{ state }} }} }}'
    )
    for _ in range(3):
        result = await pipeline.execute(reader, request, pipeline.document_for(request))
        assert result.data is not None
        assert result.data["resource"]["name"]
        assert result.data["resource"]["catchUps"] is None
        (error,) = result.errors
        assert (error.path, (error.extensions or {})["code"]) == (["resource", "catchUps"], "FORBIDDEN")


def test_null_is_accepted_wherever_there_is_a_default() -> None:
    """Code generators leave out null values, and demand a value for any type that is not nullable."""
    assert [name for name, each in inputs().items() if is_demanded_in_spite_of_its_default(each)] == []


def is_demanded_in_spite_of_its_default(declared: Any) -> bool:
    return isinstance(declared.type, GraphQLNonNull) and declared.default_value is not Undefined


SERIES = "query (%s) { resource(resourceId: $id) { readings(%s) { function timeZone buckets { value } } } }"
RANGE = 'range: {start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}, period: P1D'


async def test_null_stands_for_the_default(served: House) -> None:
    headers, resource_id = served.one.headers["account"], served.one.ids["resource"]
    documents = {
        "left out": SERIES % ("$id: ID!", RANGE),
        "null": SERIES % ("$id: ID!", f"{RANGE}, function: null, timeZone: null"),
        "variable": SERIES % ("$id: ID!, $f: Function, $z: TimeZone", f"{RANGE}, function: $f, timeZone: $z"),
    }
    answers = []
    for document in documents.values():
        for _ in range(3):  # from the second use on, a plan executes the document
            given = {"f": None, "z": None} if "$f" in document else {}
            answers.append(await served.graphql(document, headers, id=resource_id, **given))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["data"]["resource"]["readings"]["function"] == "SUM"
    sized = "query ($days: Int) { viewer { alertRules { backTest(days: $days) { firings { at } } } } }"
    answers = [await served.graphql(sized, headers, **days) for days in ({}, {"days": None}, {"days": 30})]
    assert len({answer["extensions"]["cost"]["estimated"] for answer in answers}) == 1


async def test_null_stands_for_the_default_of_an_input_field(served: House) -> None:
    headers = served.one.headers["application"]
    document = (
        "mutation ($n: NewPromptType!) { createPromptType(input: $n) { ... on PromptType { description active } } }"
    )
    added = await served.graphql(document, headers, n={"name": "x", "description": None, "active": None})
    assert added["data"]["createPromptType"] == {"description": "", "active": True}
    literal = (
        'mutation { createPromptType(input: {name: "x", description: null}) {'
        " ... on PromptType { description active } } }"
    )
    assert (await served.graphql(literal, headers))["data"]["createPromptType"] == {"description": "", "active": True}
    refused = await served.call("POST", "/prompttype", headers, json={"name": "x", "description": None})
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (400, ["description"])
