"""The schema as front-end developers get it, and the OpenAPI document as clients of REST get it."""

from pathlib import Path

import pytest
from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType

from tests.support.house import House
from tests.support.interfaces import SCHEMA
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.execution.schema import build_schema
from wattgate.rest_compat.examples import EXAMPLES
from wattgate.rest_compat.formats import LEGACY_FORMATS
from wattgate.rest_compat.openapi import build_openapi_document

SDL = Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql"
DOCUMENT = build_openapi_document(OPERATIONS, build_schema(OPERATIONS), "/api/v0-1")


def test_the_committed_schema_is_the_one_that_is_served() -> None:
    """After a change: `python -m wattgate schema > docs/reference/schema.graphql`."""
    assert SDL.read_text() == build_schema(OPERATIONS).as_str() + "\n"


@pytest.mark.parametrize("name", sorted(name for name in SCHEMA.type_map if not name.startswith("__")))
def test_every_type_field_and_argument_is_described(name: str) -> None:
    type_ = SCHEMA.type_map[name]
    assert type_.description or name in ("String", "ID", "Int", "Float", "Boolean")
    if isinstance(type_, GraphQLEnumType) and not name.startswith("__"):
        assert all(value.description for value in type_.values.values())
    if isinstance(type_, GraphQLObjectType | GraphQLInputObjectType):
        for field_name, field in type_.fields.items():
            assert field.description, f"{name}.{field_name}"
            for argument_name, argument in getattr(field, "args", {}).items():
                assert argument.description, f"{name}.{field_name}({argument_name})"


async def test_the_openapi_document_is_served_and_names_every_place(served: House) -> None:
    told = (await served.call("GET", "/openapi.json", {})).json()
    assert told == DOCUMENT
    places = {(method.upper(), path) for path, item in told["paths"].items() for method in item}
    assert places == {(rest.method, rest.path) for operation in OPERATIONS for rest in operation.rest}
    assert told["openapi"].startswith("3.1")
    assert set(told["components"]["securitySchemes"]) == {"basic", "token"}


def test_every_operation_id_is_one_of_a_kind() -> None:
    ids = [one["operationId"] for item in DOCUMENT["paths"].values() for one in item.values()]
    assert len(ids) == len(set(ids))


def test_every_place_of_the_legacy_form_is_documented_by_example() -> None:
    places = {rest.route_key for operation in OPERATIONS for rest in operation.rest}
    assert set(EXAMPLES) <= places
    assert set(LEGACY_FORMATS) <= places
    shaped = {place for place, shape in LEGACY_FORMATS.items() if shape.parse_arguments or shape.render_body}
    assert shaped <= set(EXAMPLES), shaped - set(EXAMPLES)
