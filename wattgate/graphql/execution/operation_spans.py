"""Tracing spans of GraphQL operations over all transports."""

from contextlib import AbstractContextManager
from typing import Any

from graphql import OperationDefinitionNode

from wattgate.tracer import NO_SPAN, Tracer

MAX_NAME_LENGTH = 100
"""Maximum number of characters of the operation name in a span."""


def operation_span(tracer: Tracer, operation: OperationDefinitionNode) -> AbstractContextManager[Any]:
    """Return the span of an operation. While spans are off, it is a context without effect.

    The operation name is an attribute, because clients choose it and span names must be few.
    """
    if not tracer.is_enabled:
        return NO_SPAN
    kind = operation.operation.value
    attributes = {"graphql.operation.type": kind}
    if operation.name is not None:
        attributes["graphql.operation.name"] = operation.name.value[:MAX_NAME_LENGTH]
    return tracer.request_span(kind, attributes)
