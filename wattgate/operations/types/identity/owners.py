"""The edges from a record to a user."""

from typing import Any

from wattgate.db.queries.users import user_loader
from wattgate.operations.core.fields import edge, optional_type
from wattgate.principal import Permission


def owner_edge(noun: str, column: str = "owner_id", verb: str = "owns") -> Any:
    """Return the edge to the user whose id is in a column, and who owns the record."""
    return user_edge(column, f"User who {verb} the {noun}. Null if the caller may not see the user.")


def user_edge(column: str, description: str) -> Any:
    """Return the edge to the user whose id is in a column. `User` itself refers to the types that have this edge."""
    return edge(
        user_loader(column),
        needs=Permission.USER_READ,
        graphql_type=optional_type("User", "users.users"),
        description=description,
    )
