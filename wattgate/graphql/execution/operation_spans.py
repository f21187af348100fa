"""Spans of operations, whichever way they come."""

from contextlib import AbstractContextManager
from typing import Any

from graphql import OperationDefinitionNode

from wattgate.tracer import Tracer

MAX_NAME_LENGTH = 100
"""Characters of a client's name of its operation that are told."""


def operation_span(tracer: Tracer, operation: OperationDefinitionNode) -> AbstractContextManager[Any]:
    """The span of an operation: its kind, and how the client calls it, which no name of a span may depend on."""
    kind = operation.operation.value
    attributes = {"graphql.operation.type": kind}
    if operation.name is not None:
        attributes["graphql.operation.name"] = operation.name.value[:MAX_NAME_LENGTH]
    return tracer.request_span(kind, attributes)
