"""Coercion of variables: graphql-core coerces each one, except values that a decoder of their type takes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import GraphQLError, GraphQLSchema, OperationDefinitionNode
from graphql.execution import VariableValues, get_variable_values
from graphql.execution.get_variable_signature import GraphQLVariableSignature, get_variable_signature
from graphql.execution.values import VariableValueSource

from wattgate.graphql.execution.reading_decoder import DecodeInput, input_decoder


class DecodedVariable(NamedTuple):
    """A variable of an input type with a decoder."""

    signature: GraphQLVariableSignature
    decode: DecodeInput


DecodedVariables = Mapping[str, DecodedVariable]


def decoded_variables(schema: GraphQLSchema, operation: OperationDefinitionNode) -> DecodedVariables:
    """Return the variables of an operation whose types have a decoder, by name."""
    found = {}
    for definition in operation.variable_definitions or ():
        signature = get_variable_signature(schema, definition)
        if not isinstance(signature, GraphQLError) and (decode := input_decoder(signature.type)) is not None:
            found[signature.name] = DecodedVariable(signature, decode)
    return found


def coerce_variables(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    variables: DecodedVariables,
    raw_variables: Mapping[str, Any],
    *,
    max_errors: int,
    hide_suggestions: bool,
) -> VariableValues | list[GraphQLError]:
    """Return the values of the variables of an operation, or the errors of graphql-core.

    `variables` are those with a decoder. graphql-core coerces such a value too if its decoder has no result.
    """
    sources: dict[str, VariableValueSource] = {}
    coerced: dict[str, Any] = {}
    for name, (signature, decode) in variables.items():
        value = raw_variables.get(name)
        if (objects := decode(value)) is not None:
            sources[name], coerced[name] = VariableValueSource(signature, value), objects
    definitions = operation.variable_definitions or ()
    if coerced:
        definitions = tuple(definition for definition in definitions if definition.variable.name.value not in coerced)
    others = get_variable_values(
        schema, definitions, dict(raw_variables), max_errors, hide_suggestions=hide_suggestions
    )
    if not coerced or isinstance(others, list):
        return others
    return VariableValues({**others.sources, **sources}, {**others.coerced, **coerced})
