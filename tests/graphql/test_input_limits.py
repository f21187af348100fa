"""Bounds of texts, lists and JSON values in arguments: on both interfaces, before the database."""

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from graphql import (
    GraphQLInputObjectType,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_list_type,
)
from sqlalchemy import text

from tests.support.gateway_schema import GATEWAY_SCHEMA, SCHEMA
from tests.support.house import House, operation
from tests.support.refusals import refusal_of, refusals
from wattgate.errors import BadInput
from wattgate.graphql.execution.rest_inputs import ROOTS
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.input_limits import check_arguments, list_limit
from wattgate.operations.core.operation import Argument
from wattgate.operations.readings.files.reading_files import MAX_CONTENT_CHARACTERS
from wattgate.operations.vocabulary.directives import declared_facts
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of
from wattgate.rest_compat.arguments import parse_json_body
from wattgate.rest_compat.openapi.document import build_openapi_document
from wattgate.values.stored_json import INPUT_JSON_LIMITS, UnstorableJson, check_json, encode_json, repair_json

ATTRIBUTES = (
    "mutation ($id: ID!, $value: JSON!) { setHomeAttributes(homeId: $id, attributes: $value) {"
    " ... on Home { homeId } ...Refused } }"
)
REMOVAL = (
    "mutation ($id: ID!, $names: [String!]!) { removeHomeAttributes(homeId: $id, names: $names) {"
    " ... on Home { homeId } ...Refused } }"
)


def inputs() -> Iterator[tuple[str, str, Any]]:
    """Yield the owner, name and declaration of each argument and input field of the schema, with the types of REST."""
    for type_ in GATEWAY_SCHEMA.rest_inputs.types.values():
        if isinstance(type_, GraphQLInputObjectType):
            for name, field in type_.fields.items():
                yield type_.name, name, field
    for type_ in SCHEMA.type_map.values():
        if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
            for field_name, field in type_.fields.items():
                is_root = type_.name in ROOTS
                arguments = GATEWAY_SCHEMA.rest_inputs.arguments(field) if is_root else field.args
                for name, argument in arguments.items():
                    yield field_name, name, argument


INPUTS = list(inputs())
TEXTS = [(owner, name, one) for owner, name, one in INPUTS if get_named_type(one.type).name == "String"]


def test_every_text_has_a_bound_that_its_description_states() -> None:
    assert len(TEXTS) > 200
    for owner, name, declared in TEXTS:
        limit = declared_facts(declared).max_characters
        assert limit is not None, f"{owner}.{name} has no bound: declare its MaxCharacters"
        assert f"most {limit:,} characters." in (declared.description or "")


def test_every_list_states_its_bound() -> None:
    lists = [entry for entry in INPUTS if is_list_type(get_nullable_type(entry[2].type))]
    assert len(lists) > 20
    for _, _, declared in lists:
        assert f"At most {list_limit(declared_facts(declared)):,} items." in (declared.description or "")


def test_openapi_states_the_bounds() -> None:
    document = build_openapi_document(OPERATIONS, GATEWAY_SCHEMA, "/api")
    schemas = document["components"]["schemas"]
    for owner, name, declared in TEXTS:
        if owner in schemas:
            limit = declared_facts(declared).max_characters
            assert f'"maxLength": {limit}' in json.dumps(schemas[owner]["properties"][name])


def test_an_id_states_no_bound_but_that_of_all_ids() -> None:
    """Only the bound of all IDs is checked."""
    ids = [(owner, name, one) for owner, name, one in INPUTS if get_named_type(one.type).name == "ID"]
    assert len(ids) > 100
    assert [f"{owner}.{name}" for owner, name, one in ids if declared_facts(one).max_characters is not None] == []


def test_each_list_of_pages_says_that_it_takes_a_cursor() -> None:
    pages = [one for _, name, one in TEXTS if name in ("after", "before")]
    assert len(pages) > 100
    assert [one.description for one in pages if not (one.description or "").startswith("Cursor: ")] == []


def base_type(annotation: Any) -> Any:
    """Return the type of an annotation without facts and null."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return base_type(get_args(annotation)[0])
    return annotation


TEXT_ARGUMENTS = [
    (called, name)
    for called in OPERATIONS
    for name, argument in called.arguments.items()
    if base_type(argument.annotation) is str
]


def test_a_longer_text_argument_is_rejected(subtests: pytest.Subtests) -> None:
    assert len(TEXT_ARGUMENTS) > 90
    for called, name in TEXT_ARGUMENTS:
        length = MAX_CONTENT_CHARACTERS + 1 if name == "content" else 200_001
        with subtests.test(f"{called.name} {name}"):
            with pytest.raises(BadInput) as raised:
                check_arguments(called, {name: "x" * length})
            (problem,) = raised.value.problems
            assert f"{length:,} characters" in problem.message
            with pytest.raises(BadInput, match="bounds"):
                check_arguments(called, {name: "\ud800"})


async def test_a_long_text_is_rejected_on_both_interfaces(served: House) -> None:
    headers, home = served.one.headers["account"], served.one.ids["virtual_entity"]
    document = (
        "mutation ($id: ID!, $v: HomeChange!) { updateHome(homeId: $id, input: $v) {"
        " ... on Home { homeId } ...Refused } }"
    )
    answer = await served.graphql(document, headers, id=home, v={"name": "x" * 201})
    (error,) = refusals(answer)
    problem = {"path": ["input", "name"], "message": "has 201 characters; the maximum is 200"}
    assert (error["code"], error["problems"]) == ("BAD_INPUT", [problem])
    response = await served.call("PUT", f"/virtualentity/{home}", headers, json={"name": "x" * 201})
    assert (response.status_code, response.json()["problems"]) == (400, [problem | {"path": ["name"]}])


async def test_an_argument_of_an_edge_is_bounded(served: House) -> None:
    document = (
        '{ application { contents { edges { node { inLanguage(cultureCode: "' + "x" * 101 + '") { data } } } } } }'
    )
    answer = await served.graphql(document, served.one.headers["account"])
    assert refusal_of(answer)["code"] == "BAD_INPUT"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


UNSTORABLE: dict[str, Any] = {
    "33 levels": {"a": nested(32)},
    "253 levels": {"a": nested(252)},
    "an integer of 65 bits": {"a": 2**64},
    "an integer beyond 2^53": {"a": 2**53},
    "a long name": {"x" * 201: 1},
    "a long text": {"a": "x" * 100_001},
    "many members": {f"m{n}": n for n in range(10_001)},
    "much text": {f"m{n}": "x" * 90_000 for n in range(3)},
    "U+0000": {"a": "\0"},
    "U+0000 in a name": {"\0": 1},
}


async def test_json_that_breaks_the_rule_is_rejected_on_both_interfaces(
    served: House, subtests: pytest.Subtests
) -> None:
    headers, home = served.one.headers["account"], served.one.ids["virtual_entity"]
    for name, value in UNSTORABLE.items():
        with subtests.test(name):
            answer = await served.graphql(ATTRIBUTES, headers, id=home, value=value)
            assert refusal_of(answer)["code"] == "BAD_INPUT"
            response = await served.call(
                "POST", f"/virtualentity/{home}/attribute", headers, json={"attributes": value}
            )
            assert (response.status_code, response.json()["code"]) == (400, "BAD_INPUT")
            assert (await served.call("GET", "/virtualentity", headers)).status_code == 200


def test_a_lone_surrogate_and_numbers_that_are_not_finite_are_rejected() -> None:
    for value in ("\ud800", {"\udfff": 1}, float("nan"), float("inf")):
        with pytest.raises(UnstorableJson):
            check_json([value])


def test_the_check_of_a_deep_value_does_not_recurse() -> None:
    with pytest.raises(UnstorableJson, match="levels deep"):
        check_json(nested(100_000))


def test_a_value_at_the_bounds_is_accepted() -> None:
    check_json(nested(INPUT_JSON_LIMITS.depth))
    check_json({"a": 2**53 - 1, "b": "x" * 100_000, "x" * 200: [None, True, 1.5]})


async def test_merged_attributes_obey_the_rule(served: House) -> None:
    headers, home = served.one.headers["account"], await served.one.add_home()
    first = {f"{n:x}": 1 for n in range(5_100)}
    assert not refusals(await served.graphql(ATTRIBUTES, headers, id=home, value=first))
    second = {f"{n:x}": 1 for n in range(5_100, 10_200)}
    answer = await served.graphql(ATTRIBUTES, headers, id=home, value=second)
    assert refusal_of(answer)["code"] == "BAD_INPUT"


def test_a_value_that_cannot_be_encoded_does_not_break_the_others() -> None:
    data = {"big": 2**70, "text": "a\ud800", "deep": nested(300)}
    assert json.loads(encode_json([{"id": 1}, {"id": 2, "data": data}])) == [{"id": 1}, {"id": 2, "data": data}]
    first, second = json.loads(encode_json([{"id": 1}, {"id": 2, "data": data | {"deep": nested(10_000)}}]))
    assert first == {"id": 1}
    assert (second["id"], second["data"]["big"], second["data"]["text"]) == (2, str(2**70), "a\ufffd")
    assert repair_json({"a": [1, "x", None, 1.5]}) == {"a": [1, "x", None, 1.5]}


async def test_a_stored_value_that_breaks_the_rule_does_not_break_the_list(served: House) -> None:
    headers = served.one.headers["application"]
    home = await served.one.add_home()
    deep = "[" * 300 + "]" * 300
    async with served.gateway.database.engine.begin() as connection:
        cast = "jsonb" if connection.dialect.name == "postgresql" else "text"
        statement = text(f"UPDATE virtual_entity SET attributes = CAST(:value AS {cast}) WHERE ve_id = :id")
        await connection.execute(statement, {"value": f'{{"deep": {deep}, "big": {2**70}}}', "id": home})
    response = await served.call("GET", "/virtualentity", headers)
    assert response.status_code == 200
    assert len(response.json()) > 1
    document = "{ application { homes(last: 100) { edges { node { homeId attributes } } } } }"
    answer = await served.graphql(document, headers)
    assert not refusals(answer)
    assert home in {edge["node"]["homeId"] for edge in answer["data"]["application"]["homes"]["edges"]}


class CountedName(str):
    """A text that counts how often it is compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)


async def test_the_removal_of_attributes_is_linear(served: House) -> None:
    home = await served.one.add_home()
    await served.one.run("set_virtual_entity_attributes", ve_id=home, attributes={f"a{n}": n for n in range(1_000)})
    names = [CountedName(f"a{n}") for n in range(1_000)]
    CountedName.comparisons = 0
    await served.one.run("remove_virtual_entity_attributes", ve_id=home, names=names)
    assert CountedName.comparisons < 5_000  # a list of names would take 500,000
    headers = served.one.headers["account"]
    answer = await served.graphql(REMOVAL, headers, id=home, names=["a"] * 1_001)
    assert refusal_of(answer)["problems"][0]["message"] == "has 1,001 items; the maximum is 1,000"


INPUT_FIELDS = [
    (type_, name)
    for type_ in GATEWAY_SCHEMA.rest_inputs.types.values()
    if isinstance(type_, GraphQLInputObjectType)
    for name, field in type_.fields.items()
    if get_named_type(field.type).name in ("String", "ID")
]


def test_a_longer_text_of_an_input_field_is_rejected(subtests: pytest.Subtests) -> None:
    assert len(INPUT_FIELDS) > 200
    longer = "x" * 200_001
    for type_, name in INPUT_FIELDS:
        with subtests.test(f"{type_.name} {name}"):
            definition = type_.extensions["strawberry-definition"]
            attribute = next(one.python_name for one in definition.fields if rest_name_of(one) == name)
            value = [longer] if is_list_type(get_nullable_type(type_.fields[name].type)) else longer
            probe = replace(operation("add_content"), arguments={"input": Argument(definition.origin)})
            with pytest.raises(BadInput) as raised:
                check_arguments(probe, {"input": SimpleNamespace(**{attribute: value})})
            (problem,) = raised.value.problems
            assert problem.path[:2] == ("input", name)
            assert "200,001 characters" in problem.message


def test_an_integer_in_a_rest_body_keeps_its_digits() -> None:
    assert parse_json_body(b'{"a": 18446744073709551617}') == {"a": 2**64 + 1}
    for body in (b"[" * 5_000, b"1" * 5_000, b"NaN", b'"\\ud800"', b"\xff"):
        with pytest.raises(BadInput, match="is not JSON"):
            parse_json_body(body)
