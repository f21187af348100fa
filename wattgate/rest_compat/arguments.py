"""From a REST request to an operation's arguments, validated by the GraphQL input types."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLError,
    GraphQLField,
    GraphQLFloat,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInt,
    GraphQLList,
    get_named_type,
    get_nullable_type,
    is_required_argument,
    is_required_input_field,
)
from graphql.utilities import coerce_input_value, validate_input_value
from strawberry.types.arguments import convert_arguments

from wattgate.errors import BadInput, Path, Problem
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.execution.schema import Schema
from wattgate.rest_compat.legacy_request import Exchange, Given

INPUT = "input"
"""The argument that is a REST body as a whole; without one, the members of the body are the arguments."""


def body_of(raw: bytes) -> Any:
    """The JSON value of a body; an empty object where there is none."""
    if not raw.strip():
        return {}
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"the body is not JSON: {error}") from None


def form_of(raw: bytes) -> dict[str, str]:
    """The members of a form (application/x-www-form-urlencoded). BadInput where one is given twice."""
    try:
        pairs = parse_qsl(raw.decode(), errors="strict", max_num_fields=100)
    except ValueError as error:
        raise BadInput(f"the body is not a form: {error}") from None
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadInput("the form gives a member twice")
    return members


class Binder:
    """Makes an operation's arguments of what a client gave."""

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

    def given(self, exchange: Exchange) -> Given:
        """The arguments of a request in the usual form: query, body and path, of which the path wins."""
        if not isinstance(exchange.body, dict):
            raise BadInput("the body is not a JSON object")
        body = {INPUT: exchange.body} if INPUT in self._field.args else exchange.body
        query = {
            name: _from_text(text, self._field.args[name].type)
            for name, text in exchange.query.items()
            if name in self._field.args
        }
        return Given({**query, **body, **exchange.path})

    def bind(self, given: Given) -> dict[str, Any]:
        """The resolver's keyword arguments. BadInput with every problem at once, by GraphQL's names.

        Unknown members are passed over, because real clients send them.
        """
        problems = list(given.problems)
        known: dict[str, Any] = {}
        for name, argument in self._field.args.items():
            if name in given.values:
                known[name] = _checked(given.values[name], argument.type, (name,), problems)
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


def _from_text(text: str, type_: GraphQLInputType) -> Any:
    """A query parameter's value: numbers and booleans are read from their text, the rest stays text."""
    named: Any = get_named_type(type_)
    if named is GraphQLBoolean:
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower(), text)
    if named in (GraphQLInt, GraphQLFloat):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text
