"""The public GraphQL schema and the OpenAPI document: descriptions, and the match with the operation catalogue."""

from collections.abc import Iterator
from pathlib import Path

from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType

from tests.support.gateway_schema import SCHEMA, sdl
from tests.support.house import House
from tests.support.openapi import DOCUMENT
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation
from wattgate.principal import GRANTS, Permission, Role

SDL = Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql"
BUILT_IN_SCALARS = ("String", "ID", "Int", "Float", "Boolean")


def test_committed_schema_file_equals_the_served_schema() -> None:
    """To update the file, run `python -m wattgate schema > docs/reference/schema.graphql`."""
    assert SDL.read_text() == sdl() + "\n"


def test_schema_has_nothing_that_is_deprecated() -> None:
    assert "@deprecated" not in sdl()


def test_every_type_field_and_argument_has_a_description() -> None:
    descriptions = dict(described())
    assert len(descriptions) > 1_000
    assert [name for name, description in descriptions.items() if not description] == []


def described() -> Iterator[tuple[str, str | None]]:
    """Yield the name and the description of each type, enum value, field and argument."""
    for name, type_ in SCHEMA.type_map.items():
        if name.startswith("__") or name in BUILT_IN_SCALARS:
            continue
        yield name, type_.description
        if isinstance(type_, GraphQLEnumType):
            yield from ((f"{name}.{value_name}", value.description) for value_name, value in type_.values.items())
        if isinstance(type_, GraphQLObjectType | GraphQLInputObjectType):
            for field_name, field in type_.fields.items():
                yield f"{name}.{field_name}", field.description
                for argument_name, argument in getattr(field, "args", {}).items():
                    yield f"{name}.{field_name}({argument_name})", argument.description


def test_description_of_an_operation_names_its_callers_if_they_are_limited() -> None:
    assert OPERATIONS
    assert [
        f"{operation.kind.value}.{operation.name}: {sentence}"
        for operation in OPERATIONS
        for sentence, is_true in sentences_about_callers(operation).items()
        if (operation.description.split("\n\n")[-1] == sentence) is not is_true
    ] == []


def sentences_about_callers(operation: Operation) -> dict[str, bool]:
    """Return the sentences that can end a description, and whether each is true of an operation."""
    needs = operation.needs
    return {
        "No credentials are required.": needs is Permission.ANYONE,
        "For paired displays only.": needs is Permission.OWN_DISPLAY,
        "For administrators and applications only.": (
            needs not in GRANTS[Role.TEMPLATE_EDITOR] and needs is not Permission.OWN_DISPLAY
        ),
        "For template editors, administrators and applications only.": (
            needs in set(GRANTS[Role.TEMPLATE_EDITOR]) - set(GRANTS[Role.ACCOUNT])
        ),
        "OAuth access tokens are rejected.": (
            needs
            in (
                Permission.CREDENTIAL_WRITE,
                Permission.DATA_ERASE,
                Permission.DATA_EXPORT,
                Permission.HOME_MEMBER_WRITE,
                Permission.PAIRED_DISPLAY_WRITE,
                Permission.SECOND_FACTOR,
                Permission.SHARED_HOME_WRITE,
            )
        ),
    }


async def test_served_openapi_document_has_every_rest_endpoint(served: House) -> None:
    document = (await served.call("GET", "/openapi.json", {})).json()
    assert document == DOCUMENT
    endpoints = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert endpoints == {(rest.method, rest.path) for operation in OPERATIONS for rest in operation.rest}
    assert document["openapi"].startswith("3.1")
    assert set(document["components"]["securitySchemes"]) == {"basic", "token"}
