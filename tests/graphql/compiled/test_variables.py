"""Variables with a decoder and others in one operation: the values and errors of graphql-core."""

from typing import Any

import pytest
from graphql import GraphQLError, OperationDefinitionNode, parse
from graphql.execution.values import VariableValues, get_variable_values

from tests.support.gateway_schema import GATEWAY_SCHEMA
from wattgate.graphql.execution.documents.variables import coerce_variables, decoded_variables
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS
from wattgate.operations.types.meters.readings import NewReadings

SCHEMA: Any = GATEWAY_SCHEMA._schema
READING = {"at": "2026-03-01T00:00:00Z", "value": 0.5}
SERIES = [{"resourceId": "a", "readings": [READING]}]
INVALID = [{"resourceId": "a", "readings": [{**READING, "value": True}]}]


def declare(variables: str) -> OperationDefinitionNode:
    """Return an operation with these variables."""
    operation = parse(f"mutation ({variables}) {{ ok }}").definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return operation


def coerce(operation: OperationDefinitionNode, raw: dict[str, Any]) -> VariableValues | list[GraphQLError]:
    return coerce_variables(
        SCHEMA,
        operation,
        decoded_variables(SCHEMA, operation),
        raw,
        max_errors=MAX_REPORTED_ERRORS,
        hide_suggestions=False,
    )


@pytest.mark.parametrize(
    ("variables", "decoded"),
    [
        ("$a: [NewReadings!]!", ["a"]),
        ("$a: [NewReadings!]", ["a"]),
        ("$a: [NewReadings!], $b: ID!, $c: [NewReadings!]!", ["a", "c"]),
        ("$a: NewReadings!, $b: [ID!]!, $c: Unknown", []),
    ],
)
def test_lists_of_readings_have_a_decoder(variables: str, decoded: list[str]) -> None:
    found = decoded_variables(SCHEMA, declare(variables))
    assert list(found) == decoded


@pytest.mark.parametrize(
    "raw",
    [
        {"series": SERIES, "id": "x", "count": 3},
        {"series": SERIES, "id": 7},
        {"series": SERIES, "id": None},
        {"series": SERIES},
        {"series": [], "id": "x", "undeclared": 1},
        {"series": INVALID, "id": "x"},
        {"series": INVALID, "id": None},
        {"series": None, "id": "x"},
        {"id": "x", "count": 2**31},
        {},
    ],
)
def test_values_and_errors_are_those_of_graphql_core(raw: dict[str, Any]) -> None:
    operation = declare("$id: ID!, $series: [NewReadings!], $count: Int = 5")
    ours, theirs = (
        coerce(operation, raw),
        get_variable_values(SCHEMA, operation.variable_definitions or (), raw, MAX_REPORTED_ERRORS),
    )
    if isinstance(theirs, list):
        assert isinstance(ours, list)
        assert [error.formatted for error in ours] == [error.formatted for error in theirs]
        return
    assert isinstance(ours, VariableValues)
    assert described(ours) == described(theirs)
    series = ours.coerced.get("series")
    assert (series is None) == (theirs.coerced.get("series") is None)
    assert all(isinstance(entry, NewReadings) for entry in series or ())


def described(values: VariableValues) -> tuple[Any, Any]:
    """Return the sources of all variables, and the values of those without a decoder."""
    return (
        {name: (str(source.signature.type), source.value) for name, source in values.sources.items()},
        {name: value for name, value in values.coerced.items() if name != "series"},
    )
