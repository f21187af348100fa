"""The arguments and input types of the schema as REST has them: with its names, descriptions and scalars."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
)

from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.scalars import parse_time_zone
from wattgate.operations.vocabulary.strawberry_adapter import copy_enum, rest_name_of

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
        return _TIME_ZONE if type_.name == _TIME_ZONE.name else type_

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
