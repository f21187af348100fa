"""Null in the schema: which fields can be null, what null means, and no null as a default."""

from collections.abc import Iterable, Iterator

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)

from wattgate.operations.core.fields import edge_of
from wattgate.operations.vocabulary.definitions import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR


def make_edges_nullable(schema: GraphQLSchema) -> None:
    """Make each edge nullable, because each is loaded by a query of its own, which can fail or be refused.

    Mark the edges whose declared type is not null: they are null only with an error.
    """
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            if isinstance(field.type, GraphQLNonNull) and _is_edge(field):
                declared = field.extensions[STRAWBERRY_DEFINITION]
                field.type = field.type.of_type
                if ONLY_ON_ERROR not in declared.directives:  # another schema may have the same type
                    declared.directives = [*declared.directives, ONLY_ON_ERROR]


def remove_null_defaults(types: Iterable[GraphQLNamedType]) -> None:
    """Remove the default of each argument and input field that is null by default.

    Resolvers and input classes have their own default, so the meaning of leaving one out stays the same.
    """
    for declared in _inputs_of(types):
        if declared.default_value is None:
            declared.default_value = Undefined


def _is_edge(field: GraphQLField) -> bool:
    declared = field.extensions.get(STRAWBERRY_DEFINITION)
    return declared is not None and edge_of(declared) is not None


def _inputs_of(types: Iterable[GraphQLNamedType]) -> Iterator[GraphQLArgument | GraphQLInputField]:
    for type_ in types:
        if isinstance(type_, GraphQLInputObjectType):
            yield from type_.fields.values()
        elif isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
            for field in type_.fields.values():
                yield from field.args.values()
