"""The GraphQL schema of a gateway."""

from wattgate.app.settings import Settings
from wattgate.graphql.execution.schema import Schema, build_schema
from wattgate.operations.catalogue import OPERATIONS


def gateway_schema(settings: Settings) -> Schema:
    """Return the schema that a gateway with these settings serves. Production hides introspection."""
    return build_schema(OPERATIONS, hides_introspection=settings.environment == "production")
