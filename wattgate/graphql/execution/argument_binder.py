"""Conversion of JSON values to operation arguments, for REST requests and lines of files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    get_nullable_type,
    is_required_argument,
    is_required_input_field,
)
from graphql.utilities import coerce_input_value, validate_input_value

from wattgate.errors import BadInput, Problem, ProblemPath
from wattgate.graphql.execution.input_conversion import describe_values, null_means_default, rest_type
from wattgate.graphql.execution.reading_decoder import input_decoder
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of

MAX_QUOTED_CHARACTERS = 50
"""Maximum characters of an unknown enum value in an error."""


@dataclass(frozen=True, slots=True)
class RawArguments:
    """Arguments as a client sent them, by their names in REST and not yet validated, and the problems found so far."""

    values: Mapping[str, Any]
    problems: list[Problem] = field(default_factory=list)


@lru_cache(maxsize=16)
def _fields_by_operation(schema: Schema, kind: OperationKind) -> Mapping[str, GraphQLField]:
    """Return the fields of a root type, and those that only REST has, by the names of their operations."""
    root = schema.core.get_type(kind.value)
    fields: Mapping[str, GraphQLField] = root.fields  # type: ignore[union-attr]
    of_rest = schema.rest_root.fields if schema.rest_root and kind is OperationKind.QUERY else {}
    declared = (*fields.values(), *of_rest.values())
    return {field.extensions[STRAWBERRY_DEFINITION].python_name: field for field in declared}


def _rest_name(operation: Operation, argument: GraphQLArgument) -> str:
    name = rest_name_of(argument.extensions[STRAWBERRY_DEFINITION])
    return operation.rest_names.get(name, name)


class ArgumentBinder:
    """Validate and convert an operation's arguments by the input types of the schema, under their names in REST."""

    def __init__(self, schema: Schema, operation: Operation) -> None:
        field = _fields_by_operation(schema, operation.kind)[operation.name]
        arguments = schema.rest_inputs.arguments(field)
        self._graphql_names = {_rest_name(operation, argument): name for name, argument in arguments.items()}
        self.arguments: Mapping[str, GraphQLArgument] = {
            name: arguments[graphql_name] for name, graphql_name in self._graphql_names.items()
        }
        """The operation's arguments, by their names in REST."""
        self._decoders = {
            name: decode
            for name, argument in self.arguments.items()
            if (decode := input_decoder(argument.type)) is not None
        }
        self._strawberry_field = field.extensions[STRAWBERRY_DEFINITION]
        self._schema = schema

    def bind(self, raw: RawArguments) -> dict[str, Any]:
        """Return the resolver's keyword arguments. Raise BadInput with every problem, by the names of REST.

        Unknown members are ignored, because real clients send them.
        """
        problems = list(raw.problems)
        values: dict[str, Any] = {}
        decoded: dict[str, Any] = {}
        for name, argument in self.arguments.items():
            decode = self._decoders.get(name)
            if decode is not None and (objects := decode(raw.values.get(name))) is not None:
                decoded[self._graphql_names[name]] = objects
            elif name in raw.values:
                values[name] = _validate_and_prune(raw.values[name], rest_type(argument), (name,), problems)
            elif is_required_argument(argument):
                problems.append(Problem((name,), "is missing", is_missing=True))
        if problems:
            raise BadInput("the request has missing or invalid arguments", problems=problems)
        coerced = {
            self._graphql_names[name]: coerce_input_value(values[name], argument.type)
            for name, argument in self.arguments.items()
            if name in values
        }
        return self._schema.convert_arguments(coerced | decoded, self._strawberry_field.arguments)


def _validate_and_prune(value: Any, type_: GraphQLInputType, path: ProblemPath, problems: list[Problem]) -> Any:
    """Return the value without members that its type does not have. Append the problems that GraphQL finds in it."""
    found: list[Problem] = []
    pruned = _prune_unknown(value, type_, (), found)
    problems.extend(replace(problem, path=(*path, *problem.path)) for problem in found)
    reported = {problem.path[:-1] if problem.is_missing else problem.path for problem in found}

    def report_error(error: GraphQLError, member_path: list[str | int]) -> None:
        if tuple(member_path) not in reported:
            problems.append(Problem((*path, *member_path), error.message))

    validate_input_value(pruned, type_, report_error, hide_suggestions=True)
    return pruned


def _prune_unknown(value: Any, input_type: GraphQLInputType, path: ProblemPath, problems: list[Problem]) -> Any:
    """Return the value without members that its input object types do not have, and with the names of enum values.

    Append the problems of missing members and unknown enum values.
    """
    type_ = get_nullable_type(input_type)
    if isinstance(type_, GraphQLEnumType) and isinstance(value, str):
        return _find_enum_name(value, type_, path, problems)
    if isinstance(type_, GraphQLList) and isinstance(value, str):
        return _prune_unknown(value, type_.of_type, path, problems)  # GraphQL takes one value as a list of it
    if isinstance(type_, GraphQLList) and isinstance(value, list):
        return [_prune_unknown(item, type_.of_type, (*path, index), problems) for index, item in enumerate(value)]
    if isinstance(type_, GraphQLInputObjectType) and isinstance(value, dict):
        problems.extend(
            Problem((*path, name), "is missing", is_missing=True)
            for name, field in type_.fields.items()
            if name not in value and is_required_input_field(field)
        )
        problems.extend(
            Problem((*path, name), f"Expected value of non-null type '{field.type}!' not to be null.")
            for name, field in type_.fields.items()
            if value.get(name, field) is None and null_means_default(field)
        )
        return {
            name: _prune_unknown(value[name], field.type, (*path, name), problems)
            for name, field in type_.fields.items()
            if name in value
        }
    return value


def _find_enum_name(value: str, kind: GraphQLEnumType, path: ProblemPath, problems: list[Problem]) -> str:
    """Return the GraphQL name of an enum value. REST responses have its own value, such as `max` for `MAX`."""
    if value in kind.values:
        return value
    names: dict[str, str] = {name.lower(): name for name in kind.values}
    names |= {str(getattr(item.value, "value", item.value)): name for name, item in kind.values.items()}
    if value in names:
        return names[value]
    problems.append(Problem(path, f"{value[:MAX_QUOTED_CHARACTERS]!r} is unknown. {describe_values(kind)}"))
    return value
