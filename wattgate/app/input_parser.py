"""Convert JSON values of files to arguments of operations, with the input types of GraphQL."""

from typing import Any

import orjson
from graphql import GraphQLError
from graphql.utilities import validate_input_value

from wattgate.graphql.execution.argument_binder import ArgumentBinder, RawArguments
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.operation import Operation
from wattgate.reading_files.cells import InvalidLine


def decode_object(text: str) -> dict[str, Any]:
    """Return the JSON object of a line. Raise InvalidLine if the line is none."""
    try:
        line = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidLine(f"is not JSON: {error}") from None
    if not isinstance(line, dict):
        raise InvalidLine("is not a JSON object")
    return line


class InputParser:
    """Convert a JSON value to an argument of an operation with the input types of its GraphQL field."""

    def __init__(self, schema: Schema, operation: Operation, argument: str) -> None:
        self._binder = ArgumentBinder(schema, operation)
        self._argument = argument

    def parse(self, value: Any, **others: Any) -> Any:
        """Return the argument. Raise InvalidLine with all problems of the value, including unknown members."""
        reasons: list[str] = []

        def add_reason(error: GraphQLError, path: list[str | int]) -> None:
            location = ".".join(str(step) for step in path)
            reasons.append(f"{location}: {error.message}" if location else error.message)

        validate_input_value(value, self._binder.arguments[self._argument].type, add_reason, hide_suggestions=True)
        if reasons:
            raise InvalidLine("; ".join(reasons))
        return self._binder.bind(RawArguments({self._argument: value, **others}))[self._argument]
