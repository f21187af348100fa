"""Arguments of an operation from JSON values that are not GraphQL variables: REST requests and lines of files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    GraphQLArgument,
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
from strawberry.types.arguments import convert_arguments

from wattgate.errors import BadInput, Path, Problem
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.execution.schema import Schema


@dataclass(frozen=True, slots=True)
class RawArguments:
    """Arguments as a client sent them, by GraphQL name and not yet validated, and the problems found so far."""

    values: Mapping[str, Any]
    problems: list[Problem] = field(default_factory=list)


class ArgumentBinder:
    """Validate and convert an operation's arguments by the input types of the schema."""

    def __init__(self, schema: Schema, operation: Operation) -> None:
        root = schema._schema.get_type(operation.kind.value)
        fields: Mapping[str, GraphQLField] = root.fields  # type: ignore[union-attr]
        definition = {field.extensions["strawberry-definition"].python_name: field for field in fields.values()}
        self._field = definition[operation.name]
        self._strawberry_field = self._field.extensions["strawberry-definition"]
        self._schema = schema

    @property
    def arguments(self) -> Mapping[str, GraphQLArgument]:
        """The operation's arguments in the schema."""
        return self._field.args

    def bind(self, raw: RawArguments) -> dict[str, Any]:
        """Return the resolver's keyword arguments. Raise BadInput with every problem, by GraphQL names.

        Unknown members are ignored, because real clients send them.
        """
        problems = list(raw.problems)
        known: dict[str, Any] = {}
        for name, argument in self._field.args.items():
            if name in raw.values:
                known[name] = _checked(raw.values[name], argument.type, (name,), problems)
            elif is_required_argument(argument):
                problems.append(Problem((name,), "is missing", missing=True))
        if problems:
            raise BadInput("the request is not complete and correct", problems=problems)
        coerced = {
            name: coerce_input_value(known[name], argument.type)
            for name, argument in self._field.args.items()
            if name in known
        }
        return convert_arguments(
            coerced,
            self._strawberry_field.arguments,
            scalar_registry=self._schema.schema_converter.scalar_registry,
            config=self._schema.config,
        )


def _checked(value: Any, type_: GraphQLInputType, path: Path, problems: list[Problem]) -> Any:
    """The value without what its type does not know; what GraphQL finds wrong with it goes to the problems."""
    lacking: list[Path] = []
    pruned = _pruned(value, type_, (), lacking)
    problems.extend(Problem((*path, *member), "is missing", missing=True) for member in lacking)
    incomplete = {member[:-1] for member in lacking}

    def tell(error: GraphQLError, at: list[str | int]) -> None:
        if tuple(at) not in incomplete:
            problems.append(Problem((*path, *at), error.message))

    validate_input_value(pruned, type_, tell, hide_suggestions=True)
    return pruned


def _pruned(value: Any, wanted: GraphQLInputType, path: Path, lacking: list[Path]) -> Any:
    """The value without members that its input object types do not have; required ones it lacks are listed."""
    type_ = get_nullable_type(wanted)
    if isinstance(type_, GraphQLList) and isinstance(value, list):
        return [_pruned(item, type_.of_type, (*path, index), lacking) for index, item in enumerate(value)]
    if isinstance(type_, GraphQLInputObjectType) and isinstance(value, dict):
        lacking.extend(
            (*path, name)
            for name, field in type_.fields.items()
            if name not in value and is_required_input_field(field)
        )
        return {
            name: _pruned(value[name], field.type, (*path, name), lacking)
            for name, field in type_.fields.items()
            if name in value
        }
    return value
