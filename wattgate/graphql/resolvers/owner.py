"""Moved: whose a new record is stands in `wattgate.graphql.owner`."""

from wattgate.graphql.owner import owner_of

__all__ = ["owner_of"]
