"""Spans of queries and mutations, whichever way they come."""

from collections.abc import Iterator

from strawberry.extensions import SchemaExtension

from wattgate.spans import Attributes

LONGEST_NAME = 100
"""Characters of a client's name of its operation that are told."""


class Traced(SchemaExtension):
    """Makes a span of the execution of a document."""

    def on_execute(self) -> Iterator[None]:
        execution = self.execution_context
        kind = execution.operation_type.value.lower()
        with execution.context.runner.spans.served(kind, named(kind, execution.operation_name)):
            yield


def named(kind: str, name: str | None) -> Attributes:
    """What is told of an operation: its kind, and how the client calls it, which no name of a span may depend on."""
    told = {"graphql.operation.type": kind}
    return told if name is None else {**told, "graphql.operation.name": name[:LONGEST_NAME]}
