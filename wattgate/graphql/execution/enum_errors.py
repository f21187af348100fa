"""Errors about values of enums: list the values of the enum instead of those with a similar spelling.

graphql-core suggests similar spellings only: P1Y for DAY. An error without a suggestion stays as it is.
"""

import re
from collections.abc import Sequence

from graphql import GraphQLEnumType, GraphQLError, GraphQLSchema

_UNKNOWN_VALUE = re.compile(r"(?:does not exist in '|Enum ')(\w+)'")
_SUGGESTION = " Did you mean the enum value "


def list_enum_values(errors: Sequence[GraphQLError], schema: GraphQLSchema) -> list[GraphQLError]:
    """Return the errors. An error that suggests values of an enum lists all of them instead."""
    return [_with_values(error, schema) for error in errors]


def describe_values(kind: GraphQLEnumType) -> str:
    """Return the values of an enum as a sentence."""
    return f"The values are {', '.join(kind.values)}."


def _with_values(error: GraphQLError, schema: GraphQLSchema) -> GraphQLError:
    problem, suggestion, _ = error.message.partition(_SUGGESTION)
    match = _UNKNOWN_VALUE.search(problem) if suggestion else None
    kind = schema.get_type(match[1]) if match else None
    if not isinstance(kind, GraphQLEnumType):
        return error
    return GraphQLError(f"{problem} {describe_values(kind)}", error.nodes, extensions=error.extensions)
