"""The inputs of REST, with its names, descriptions and scalars, and the scalars of texts that GraphQL has instead."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    get_named_type,
)

from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.scalars import parse_time_zone
from wattgate.operations.vocabulary.strawberry_adapter import copy_enum, rest_name_of
from wattgate.values.graphql_names import graphql_scalar

ROOTS = ("Query", "Mutation", "Subscription", "RestQuery")
"""The types whose fields are operations. REST has the arguments of these alone."""

_REST_ARGUMENTS = "wattgate.rest-arguments"
"""The extension of a root field that holds its arguments of REST."""

_REST_TIME_ZONE = GraphQLScalarType("TimeZone", parse_value=parse_time_zone)
"""REST refuses an unknown time zone before the operation. In GraphQL, the operation does."""

ROOTS = ("Query", "Mutation", "Subscription", "RestQuery")
"""The types whose fields are operations. REST has the arguments of these alone."""

_REST_ARGUMENTS = "wattgate.rest-arguments"
"""The extension of a root field that holds its arguments of REST."""

_TIME_ZONE = GraphQLScalarType("TimeZone", parse_value=parse_time_zone)
"""REST refuses an unknown time zone before the operation. In GraphQL, the operation does."""


class RestInputs:
    """Copies of the input objects and enums of a schema, by their names in REST.

    They are built before the schema gets the words of GraphQL, so that nothing of REST depends on them.
    """

    def __init__(self, types: Iterable[GraphQLNamedType]) -> None:
        self.types: dict[str, GraphQLNamedType] = {}
        for type_ in types:
            if isinstance(type_, GraphQLInputObjectType | GraphQLEnumType) and not type_.name.startswith("__"):
                self._type(type_)
            if isinstance(type_, GraphQLObjectType) and type_.name in ROOTS:
                for field in type_.fields.values():
                    field.extensions[_REST_ARGUMENTS] = self._copy_arguments(field)
        for copied in self.types.values():
            getattr(copied, "fields", None)  # computed at first use

    @staticmethod
    def arguments(field: GraphQLField) -> Mapping[str, GraphQLArgument]:
        """Return the arguments of a root field by their GraphQL names, with the types of REST."""
        arguments: Mapping[str, GraphQLArgument] = field.extensions[_REST_ARGUMENTS]
        return arguments

    def _copy_arguments(self, field: GraphQLField) -> Mapping[str, GraphQLArgument]:
        return {
            name: GraphQLArgument(
                self._type(argument.type),
                default_value=argument.default_value,
                description=argument.description,
                extensions=argument.extensions,
            )
            for name, argument in field.args.items()
        }

    def _type(self, type_: GraphQLInputType) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return GraphQLNonNull(self._type(type_.of_type))
        if isinstance(type_, GraphQLList):
            return GraphQLList(self._type(type_.of_type))
        if isinstance(type_, GraphQLInputObjectType | GraphQLEnumType):
            name = type_.extensions[STRAWBERRY_DEFINITION].name
            if name not in self.types:
                self.types[name] = (
                    copy_enum(name, type_) if isinstance(type_, GraphQLEnumType) else self._copy_object(name, type_)
                )
            return self.types[name]
        return _REST_TIME_ZONE if type_.name == _REST_TIME_ZONE.name else type_

    def _copy_object(self, name: str, type_: GraphQLInputObjectType) -> GraphQLInputObjectType:
        fields = dict(type_.fields)
        return GraphQLInputObjectType(
            name,
            lambda: {_rest_name(field): self._copy_field(field) for field in fields.values()},
            description=type_.description,
            out_type=type_.out_type,
            extensions=type_.extensions,
            is_one_of=type_.is_one_of,
        )

    def _copy_field(self, field: GraphQLInputField) -> GraphQLInputField:
        return GraphQLInputField(
            self._type(field.type),
            default_value=field.default_value,
            description=field.description,
            out_name=field.out_name,
            extensions=field.extensions,
        )


def _rest_name(declared: GraphQLInputField) -> str:
    return rest_name_of(declared.extensions[STRAWBERRY_DEFINITION])


# Scalars of texts whose form a code generator and a reader should know, such as the number of a meter point.
#
# The operation checks the form, so that a wrong text is a refusal with a path and a suggestion. Results, REST and
# the Python code have plain texts.

TIME_ZONE = "TimeZone"
"""The scalar of time zones, which the schema has for other arguments too."""


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return value


DESCRIPTIONS = {
    "MeterPointNumber": "Number of a meter point, such as an MPAN or an MPRN. Inputs may have separators.",
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
