"""Spans of operations, whichever way they come."""

from contextlib import AbstractContextManager
from typing import Any

from graphql import OperationDefinitionNode

from wattgate.tracer import Spans

LONGEST_NAME = 100
"""Characters of a client's name of its operation that are told."""


def served(spans: Spans, operation: OperationDefinitionNode) -> AbstractContextManager[Any]:
    """The span of an operation: its kind, and how the client calls it, which no name of a span may depend on."""
    kind = operation.operation.value
    told = {"graphql.operation.type": kind}
    if operation.name is not None:
        told["graphql.operation.name"] = operation.name.value[:LONGEST_NAME]
    return spans.served(kind, told)
