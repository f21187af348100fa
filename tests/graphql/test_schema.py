"""The public GraphQL schema and the OpenAPI document: descriptions, and the match with the operation catalogue."""

from pathlib import Path

import pytest
from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType

from tests.support.house import House
from tests.support.interfaces import SCHEMA
from tests.support.openapi import DOCUMENT
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.execution.descriptions import FIELD_DESCRIPTIONS
from wattgate.graphql.execution.schema import build_schema
from wattgate.principal import GRANTS, Permission, Role

SDL = Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql"


def test_committed_schema_file_equals_the_served_schema() -> None:
    """To update the file, run `python -m wattgate schema > docs/reference/schema.graphql`."""
    assert SDL.read_text() == build_schema(OPERATIONS).as_str() + "\n"


@pytest.mark.parametrize("name", sorted(name for name in SCHEMA.type_map if not name.startswith("__")))
def test_every_type_field_and_argument_has_a_description(name: str) -> None:
    type_ = SCHEMA.type_map[name]
    assert type_.description or name in ("String", "ID", "Int", "Float", "Boolean")
    if isinstance(type_, GraphQLEnumType) and not name.startswith("__"):
        assert all(value.description for value in type_.values.values())
    if isinstance(type_, GraphQLObjectType | GraphQLInputObjectType):
        for field_name, field in type_.fields.items():
            assert field.description, f"{name}.{field_name}"
            for argument_name, argument in getattr(field, "args", {}).items():
                assert argument.description, f"{name}.{field_name}({argument_name})"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.kind.value}.{operation.name}")
def test_description_of_an_operation_names_its_callers_if_they_are_limited(operation: Operation) -> None:
    *_, last = operation.description.split("\n\n")
    assert (last == "No credentials are required.") is (operation.needs is Permission.ANYONE)
    assert (last == "For paired displays only.") is (operation.needs is Permission.OWN_DISPLAY)
    assert (last == "For administrators and applications only.") is (
        operation.needs not in GRANTS[Role.TEMPLATE_EDITOR] and operation.needs is not Permission.OWN_DISPLAY
    )
    is_for_editors = operation.needs in set(GRANTS[Role.TEMPLATE_EDITOR]) - set(GRANTS[Role.ACCOUNT])
    assert (last == "For template editors, administrators and applications only.") is is_for_editors
    assert (last == "OAuth access tokens are rejected.") is (
        operation.needs
        in (
            Permission.CREDENTIAL_WRITE,
            Permission.DATA_EXPORT,
            Permission.PAIRED_DISPLAY_WRITE,
            Permission.SECOND_FACTOR,
        )
    )


def test_every_shared_description_is_used() -> None:
    used = set()
    for type_ in SCHEMA.type_map.values():
        for name, field in getattr(type_, "fields", {}).items():
            used |= {name, f"{type_.name}.{name}"}
            used |= {key for argument in getattr(field, "args", {}) for key in (argument, f"{name}.{argument}")}
    assert set(FIELD_DESCRIPTIONS) <= used


async def test_served_openapi_document_has_every_rest_endpoint(served: House) -> None:
    document = (await served.call("GET", "/openapi.json", {})).json()
    assert document == DOCUMENT
    endpoints = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert endpoints == {(rest.method, rest.path) for operation in OPERATIONS for rest in operation.rest}
    assert document["openapi"].startswith("3.1")
    assert set(document["components"]["securitySchemes"]) == {"basic", "token"}
