"""Variables of built-in scalars: the fast path returns the values of graphql-core, or leaves them to it."""

import math
from typing import Any

import pytest
from graphql import GraphQLSchema, OperationDefinitionNode, build_schema, parse
from graphql.execution.values import get_variable_values

from wattgate.graphql.execution.documents.variables import coerce_plain_variables, plain_variables

SCHEMA: GraphQLSchema = build_schema("type Query { ok(number: Float, count: Int, id: ID, name: String): Boolean }")

VALUES: dict[str, list[Any]] = {
    "String": ["", "text", "\ud800"],
    "ID": ["", "id", "7"],
    "Boolean": [True, False],
    "Int": [0, -1, 2**31 - 1, -(2**31)],
    "Float": [0.0, -0.0, 1.5, -1e308, 5e-324],
}
"""Values that the fast path accepts, by type."""

OTHERS: list[Any] = [None, [], ["text"], {}, 2**31, -(2**31) - 1, 2**70, math.inf, -math.inf, math.nan, 1e999]
"""Values that it leaves to graphql-core, for each type."""


def declare(*types: str) -> OperationDefinitionNode:
    """Return an operation with the variables `v0`, `v1` and so on of these types."""
    declared = ", ".join(f"$v{number}: {kind}" for number, kind in enumerate(types))
    operation = parse(f"query ({declared}) {{ ok }}").definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return operation


def fast_values(operation: OperationDefinitionNode, raw: dict[str, Any]) -> Any:
    plain = plain_variables(SCHEMA, operation)
    assert plain is not None
    return coerce_plain_variables(plain, raw)


@pytest.mark.parametrize("suffix", ["", "!"])
@pytest.mark.parametrize("kind", VALUES)
def test_values_of_exact_classes_are_those_of_graphql_core(kind: str, suffix: str) -> None:
    operation = declare(kind + suffix)
    for value in VALUES[kind]:
        fast = fast_values(operation, {"v0": value, "undeclared": 1})
        theirs = get_variable_values(SCHEMA, operation.variable_definitions or (), {"v0": value})
        assert repr(fast) == repr(theirs), "values, their classes and signs, and their sources"


@pytest.mark.parametrize("kind", VALUES)
def test_other_values_are_left_to_graphql_core(kind: str) -> None:
    operation = declare(kind)
    exact = {type(value) for value in VALUES[kind]}
    others = [value for values in VALUES.values() for value in values if type(value) not in exact]
    for value in [*others, *OTHERS]:
        assert fast_values(operation, {"v0": value}) is None, value
    assert fast_values(operation, {}) is None, "it may have a default"


def test_one_value_of_another_class_leaves_all_to_graphql_core() -> None:
    operation = declare("Int!", "Float!")
    assert fast_values(operation, {"v0": 1, "v1": 1.0}) is not None
    assert fast_values(operation, {"v0": 1, "v1": 1}) is None
    assert fast_values(operation, {"v0": True, "v1": 1.0}) is None


def test_other_types_have_no_fast_path() -> None:
    assert plain_variables(SCHEMA, declare("Int", "[Int]")) is None
    assert plain_variables(SCHEMA, declare("Unknown")) is None
