"""The parts of Strawberry that its documentation does not describe, for the whole gateway.

Strawberry describes how to declare types and to serve them. The gateway also reads the declarations: it compiles
documents, converts arguments, and serves and describes the same types over REST. All other modules import Strawberry by
documented names. `tests/support/dependency_internals.py` says why each part is needed. Read the changes of Strawberry
before you raise its limit in pyproject.toml.
"""

from typing import Any

import strawberry
from graphql import FieldNode, GraphQLEnumType, GraphQLObjectType, GraphQLSchema
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.schema.name_converter import HasGraphQLName, NameConverter
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types import get_object_definition
from strawberry.types.arguments import StrawberryArgument, convert_argument, convert_arguments
from strawberry.types.base import StrawberryList, StrawberryMaybe, StrawberryObjectDefinition, StrawberryOptional
from strawberry.types.enum import EnumValue, StrawberryEnumDefinition
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition

from wattgate.enums import to_camel_case
from wattgate.values.graphql_names import graphql_name, graphql_type_name

__all__ = [
    "GlossaryNames",
    "ScalarDefinition",
    "StrawberryArgument",
    "StrawberryEnumDefinition",
    "StrawberryField",
    "StrawberryGraphQLCoreExecutionContext",
    "StrawberryList",
    "StrawberryMaybe",
    "StrawberryObjectDefinition",
    "StrawberryOptional",
    "convert_argument",
    "convert_for_resolver",
    "copy_enum",
    "core_schema",
    "enum_values",
    "first_node",
    "object_type",
    "optimized_is_awaitable",
    "rest_name_of",
]


def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Return the schema of graphql-core below a schema."""
    return schema._schema


def object_type(schema: strawberry.Schema, declared: type) -> GraphQLObjectType:
    """Return the type of graphql-core for a class that is no part of a schema."""
    return schema.schema_converter.from_object(get_object_definition(declared, strict=True))


def convert_for_resolver(
    schema: strawberry.Schema, values: dict[str, Any], declared: list[StrawberryArgument]
) -> dict[str, Any]:
    """Return values that graphql-core has coerced, by GraphQL names, as keyword arguments of a resolver."""
    return convert_arguments(values, declared, schema.schema_converter.scalar_registry, schema.config)


class GlossaryNames(NameConverter):
    """The names of the schema: those of the glossary, and otherwise the camel case of the Python names."""

    def apply_naming_config(self, name: str) -> str:
        return graphql_name(name)

    def from_object(self, object_type: StrawberryObjectDefinition) -> str:
        return graphql_type_name(super().from_object(object_type))

    def from_enum(self, enum: StrawberryEnumDefinition) -> str:
        return graphql_type_name(super().from_enum(enum))

    def get_name_from_type(self, type_: Any) -> str:
        return graphql_type_name(super().get_name_from_type(type_))


def rest_name_of(declared: HasGraphQLName) -> str:
    """Return the name of a field, an argument or an input field in REST: the camel case of its Python name."""
    return declared.graphql_name or to_camel_case(declared.python_name)


def copy_enum(name: str, type_: GraphQLEnumType) -> GraphQLEnumType:
    """Return an enum type of a schema under another name."""
    definition = type_.extensions["strawberry-definition"]
    enum_class: Any = type_.__class__
    copied: GraphQLEnumType = enum_class(
        definition, name, dict(type_.values), description=type_.description, extensions=type_.extensions
    )
    return copied


def first_node(info: strawberry.Info) -> FieldNode:
    """Return the first node of a field in its document."""
    return info._raw_info.field_nodes[0]


def enum_values(declared: Any) -> list[EnumValue]:
    """Return the definitions of the values of an enum that is a type of a schema."""
    definition: StrawberryEnumDefinition = declared.__strawberry_definition__
    return definition.values
