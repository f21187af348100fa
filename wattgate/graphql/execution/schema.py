"""The GraphQL schema, built from the catalogue."""

import logging
from collections.abc import Sequence
from functools import cache

import strawberry
from graphql import GraphQLEnumType, GraphQLError, GraphQLInputObjectType, GraphQLObjectType
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import create_type

from wattgate.errors import BadInput, GatewayError, Internal
from wattgate.graphql.core.fields import field_of
from wattgate.graphql.core.operation import Kind, Operation
from wattgate.graphql.core.scalars import SCALARS
from wattgate.graphql.execution.descriptions import VALUES, described
from wattgate.graphql.execution.executor import Executor
from wattgate.request_context import refused

log = logging.getLogger(__name__)

MAX_TOLD = 50
"""How many errors of an operation are told."""

ROOTS = {
    "Query": "Everything that can be asked.",
    "Mutation": "Everything that can be changed.",
    "Subscription": "Everything that can be watched live.",
}


class Schema(strawberry.Schema):
    """Strawberry's schema. `hides` says that it is not to be found out: by introspection, or by names that errors
    suggest."""

    hides = False


def tell(error: GraphQLError) -> None:
    """Put the error contract on a GraphQL error; a fault of ours loses its message and goes to the log."""
    original = error.original_error
    if isinstance(original, GatewayError):
        refused(original)
        return  # graphql-core has copied its extensions already
    refuses = isinstance(original, ValueError) and error.path is None  # a scalar does, before anything runs
    if original is None or isinstance(original, GraphQLError) or refuses:
        error.extensions = {**(error.extensions or {}), **BadInput(error.message).extensions}
        return
    log.error("a resolver failed at %s", error.path, exc_info=original)
    masked = Internal("an unexpected error has occurred")
    error.message, error.extensions = masked.message, masked.extensions


def tell_all(errors: Sequence[GraphQLError]) -> list[GraphQLError]:
    """Errors with the error contract on them: the first MAX_TOLD, and how many more there are."""
    told = list(errors[:MAX_TOLD])
    for error in told:
        tell(error)
    if len(errors) > MAX_TOLD:
        more = GraphQLError(f"{len(errors) - MAX_TOLD:,} more errors are not told")
        tell(more)
        told.append(more)
    return told


@cache
def build(operations: tuple[Operation, ...], *, hides: bool = False) -> Schema:
    """The schema whose root fields are these operations. It is made once: gateways of a process share it."""
    roots: dict[Kind, list[Operation]] = {kind: [] for kind in Kind}
    for operation in operations:
        roots[operation.kind].append(operation)
    schema = Schema(
        query=_root(Kind.QUERY, roots[Kind.QUERY]),
        mutation=_root(Kind.MUTATION, roots[Kind.MUTATION]),
        subscription=_root(Kind.SUBSCRIPTION, roots[Kind.SUBSCRIPTION]),
        config=StrawberryConfig(scalar_map=dict(SCALARS)),
        execution_context_class=Executor,
    )
    schema.hides = hides
    _describe(schema)
    return schema


def _describe(schema: Schema) -> None:
    """Give every field and argument without a description of its own the glossary's."""
    for type_ in schema._schema.type_map.values():
        if type_.name in ROOTS:
            type_.description = ROOTS[type_.name]
        if isinstance(type_, GraphQLEnumType):
            for value_name, value in type_.values.items():
                value.description = value.description or VALUES.get(f"{type_.name}.{value_name}")
        if type_.name.startswith("__") or not isinstance(type_, GraphQLObjectType | GraphQLInputObjectType):
            continue
        for name, field in type_.fields.items():
            field.description = described(name, field.description)
            for argument_name, argument in getattr(field, "args", {}).items():
                argument.description = described(argument_name, argument.description)


def _root(kind: Kind, operations: Sequence[Operation]) -> type:
    return create_type(kind.value, [field_of(operation) for operation in operations])
