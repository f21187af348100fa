"""Declarations of enums as types of the GraphQL schema, with a description of each value."""

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import strawberry

E = TypeVar("E", bound=type[Enum])


def enum_type(description: str, **values: str) -> Callable[[E], E]:
    """Return the decorator of an enum that is a type of the schema. `values` describes each member by its name."""

    def declare(kind: E) -> E:
        declare_enum(kind, description, **values)
        return kind

    return declare


def declare_enum(kind: type[Enum], description: str, *, graphql_name: str | None = None, **values: str) -> None:
    """Make an enum of another area a type of the schema. `values` describes each member by its name.

    Raise TypeError if a member has no description, or a description no member.
    """
    if mismatched := values.keys() ^ kind.__members__.keys():
        raise TypeError(f"Describe exactly the members of {kind.__name__}: {', '.join(sorted(mismatched))} differ.")
    declared: Any = strawberry.enum(kind, name=graphql_name, description=description)
    for value in declared.__strawberry_definition__.values:
        value.description = values[value.name]
