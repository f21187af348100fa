"""The variables of a document, for requests whose values are to be taken as they are."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import (
    GraphQLBoolean,
    GraphQLError,
    GraphQLID,
    GraphQLSchema,
    GraphQLString,
    OperationDefinitionNode,
    get_nullable_type,
)
from graphql.execution.get_variable_signature import GraphQLVariableSignature, get_variable_signature
from graphql.execution.values import VariableValues, VariableValueSource

EXACT = {GraphQLString: str, GraphQLID: str, GraphQLBoolean: bool}
"""Scalars, and the class of the values that graphql-core leaves as they are."""


class Plain(NamedTuple):
    """A variable of one of these scalars."""

    name: str
    signature: GraphQLVariableSignature
    value_class: type


def plain_variables(schema: GraphQLSchema, operation: OperationDefinitionNode) -> tuple[Plain, ...] | None:
    """The variables of an operation; None where graphql-core has to look at their values."""
    found = []
    for one in operation.variable_definitions or ():
        signature = get_variable_signature(schema, one)
        if isinstance(signature, GraphQLError):
            return None
        kind: Any = get_nullable_type(signature.type)
        exact = EXACT.get(kind)
        if exact is None:
            return None
        found.append(Plain(signature.name, signature, exact))
    return tuple(found)


def taken(variables: tuple[Plain, ...], given: Mapping[str, Any]) -> VariableValues | None:
    """The values as they are; None where one is missing, null, or of another class."""
    sources, coerced = {}, {}
    for name, signature, value_class in variables:
        value = given.get(name)
        if value.__class__ is not value_class:
            return None
        sources[name] = VariableValueSource(signature, value)
        coerced[name] = value
    return VariableValues(sources, coerced)
