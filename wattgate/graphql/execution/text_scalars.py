"""Scalars of texts whose form a code generator and a reader should know, such as the number of a meter point.

The operation checks the form, so that a wrong text is a refusal with a path and a suggestion. Results, REST and
the Python code have plain texts.
"""

from collections.abc import Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    get_named_type,
)

from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.values.graphql_names import graphql_scalar

TIME_ZONE = "TimeZone"
"""The scalar of time zones, which the schema has for other arguments too."""


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return value


DESCRIPTIONS = {
    "MeterPointNumber": "Number of a meter point: an MPAN (electricity) or an MPRN (gas). Inputs may have separators.",
    "LocalTime": "Time of day on a clock of the place, such as 23:30.",
}


def add_text_scalars(schema: GraphQLSchema) -> None:
    """Give fields and arguments that are texts the scalar that the glossary names for them."""
    scalars: dict[str, Any] = {
        name: GraphQLScalarType(name, serialize=str, parse_value=_parse_text, description=description)
        for name, description in DESCRIPTIONS.items()
    }
    schema.type_map.update(scalars)
    if TIME_ZONE in schema.type_map:
        scalars[TIME_ZONE] = schema.type_map[TIME_ZONE]
    for type_ in list(schema.type_map.values()):
        if isinstance(type_, GraphQLObjectType | GraphQLInputObjectType) and not type_.name.startswith("__"):
            for field in type_.fields.values():
                _set_scalar(field, type_.name, scalars)
                for argument in getattr(field, "args", {}).values():
                    _set_scalar(argument, type_.name, scalars)


def _set_scalar(
    declared: GraphQLField | GraphQLArgument | GraphQLInputField,
    type_name: str,
    scalars: Mapping[str, GraphQLScalarType],
) -> None:
    definition = declared.extensions.get(STRAWBERRY_DEFINITION)
    scalar = scalars.get(graphql_scalar(type_name, getattr(definition, "python_name", "")) or "")
    if scalar is not None and get_named_type(declared.type) in (GraphQLString, GraphQLID):
        declared.type = _with_named_type(declared.type, scalar)


def _with_named_type(type_: Any, named: GraphQLScalarType) -> Any:
    """Return a type with the same lists and nulls and another named type."""
    if isinstance(type_, GraphQLNonNull):
        return GraphQLNonNull(_with_named_type(type_.of_type, named))
    if isinstance(type_, GraphQLList):
        return GraphQLList(_with_named_type(type_.of_type, named))
    return named
