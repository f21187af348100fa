"""The GraphQL schema, built from the catalogue."""

import logging
from collections.abc import Iterable, Sequence

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import create_type
from strawberry.types import ExecutionContext

from wattgate.errors import GatewayError, Internal
from wattgate.graphql.fields import field_of
from wattgate.graphql.operation import Kind, Operation
from wattgate.graphql.types.scalars import SCALARS

log = logging.getLogger(__name__)


class Schema(strawberry.Schema):
    """Strawberry's schema with our error contract: what is not ours to tell is masked, and logged."""

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        for error in errors:
            tell(error)


def tell(error: GraphQLError) -> None:
    """Put the error contract on a GraphQL error; a fault of ours loses its message and goes to the log."""
    original = error.original_error
    if isinstance(original, GatewayError):
        return  # graphql-core has copied its extensions already
    if original is None or isinstance(original, GraphQLError):
        error.extensions = {**(error.extensions or {}), "code": "BAD_INPUT", "retryable": False}
        return
    log.error("a resolver failed at %s", error.path, exc_info=original)
    masked = Internal("an unexpected error has occurred")
    error.message, error.extensions = masked.message, masked.extensions


def build(operations: Iterable[Operation]) -> Schema:
    """The schema whose root fields are these operations."""
    roots: dict[Kind, list[Operation]] = {kind: [] for kind in Kind}
    for operation in operations:
        roots[operation.kind].append(operation)
    return Schema(
        query=_root(Kind.QUERY, roots[Kind.QUERY]),
        mutation=_root(Kind.MUTATION, roots[Kind.MUTATION]),
        subscription=_root(Kind.SUBSCRIPTION, roots[Kind.SUBSCRIPTION]),
        config=StrawberryConfig(scalar_map=dict(SCALARS)),
    )


def _root(kind: Kind, operations: Sequence[Operation]) -> type:
    return create_type(kind.value, [field_of(operation) for operation in operations])
