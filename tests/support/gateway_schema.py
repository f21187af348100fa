"""The GraphQL schema of the gateway, built once in a process for all tests that read it."""

from functools import cache

from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.catalogue import OPERATIONS

GATEWAY_SCHEMA = build_schema(OPERATIONS)
SCHEMA = GATEWAY_SCHEMA.core


@cache
def sdl() -> str:
    """Return the schema in the schema definition language."""
    return GATEWAY_SCHEMA.as_str()
