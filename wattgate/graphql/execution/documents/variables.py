"""A fast path for documents whose variables need no coercion by graphql-core."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from graphql import (
    GRAPHQL_MAX_INT,
    GRAPHQL_MIN_INT,
    GraphQLBoolean,
    GraphQLError,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLSchema,
    GraphQLString,
    OperationDefinitionNode,
    get_nullable_type,
)
from graphql.execution.get_variable_signature import GraphQLVariableSignature, get_variable_signature
from graphql.execution.values import VariableValues, VariableValueSource

from wattgate.graphql.execution.reading_decoder import DecodeInput, input_decoder

EXACT_SCALAR_CLASSES = {
    GraphQLString: str,
    GraphQLID: str,
    GraphQLBoolean: bool,
    GraphQLInt: int,
    GraphQLFloat: float,
}
"""Scalars, and the class of the values that graphql-core leaves unchanged, if numbers are within their range."""

_TEXTS_AND_FLAGS = (str, bool)


class PlainVariable(NamedTuple):
    """A variable of one of these scalars, or of an input type with a decoder."""

    name: str
    signature: GraphQLVariableSignature
    value_class: type | None
    decode: DecodeInput | None = None


def plain_variables(schema: GraphQLSchema, operation: OperationDefinitionNode) -> tuple[PlainVariable, ...] | None:
    """Return the variables of an operation, or None if graphql-core has to coerce one of them."""
    variables = []
    for definition in operation.variable_definitions or ():
        signature = get_variable_signature(schema, definition)
        if isinstance(signature, GraphQLError):
            return None
        kind: Any = get_nullable_type(signature.type)
        value_class, decode = EXACT_SCALAR_CLASSES.get(kind), input_decoder(kind)
        if value_class is None and decode is None:
            return None
        variables.append(PlainVariable(signature.name, signature, value_class, decode))
    return tuple(variables)


def coerce_plain_variables(
    variables: tuple[PlainVariable, ...], raw_variables: Mapping[str, Any]
) -> VariableValues | None:
    """Return the values unchanged or decoded, or None if one is missing, null, out of range, or in another form."""
    sources: dict[str, VariableValueSource] = {}
    coerced: dict[str, Any] = {}
    for name, signature, value_class, decode in variables:
        value = raw_variables.get(name)
        if decode is not None:
            coerced[name] = decode(value)
            if coerced[name] is None:
                return None
        elif value.__class__ is value_class and (value_class in _TEXTS_AND_FLAGS or _is_in_range(value)):
            coerced[name] = value
        else:
            return None
        sources[name] = VariableValueSource(signature, value)
    return VariableValues(sources, coerced)


def _is_in_range(number: Any) -> bool:
    """Return whether a number is a value of Int or Float."""
    return isfinite(number) if number.__class__ is float else GRAPHQL_MIN_INT <= number <= GRAPHQL_MAX_INT
