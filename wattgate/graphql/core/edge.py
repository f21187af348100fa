"""Edges: what leads from rows of one type to rows of another, a whole level at a time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from wattgate.graphql.core.cost_weights import Amount, ListSize
from wattgate.principal import Permission

EdgeLoader = Callable[..., Awaitable[list[Any]]]
"""A set-wise loader of `db.queries`: (rows, parents, **arguments) -> one result for each parent, in order."""


@dataclass(frozen=True, slots=True)
class EdgeField:
    """A set-wise loader and what it asks of the caller. There is one value for each edge field of a type.

    `weight` is what it costs for each parent, beside the statements for all of them; `sizes` say how long lists are.
    """

    load: EdgeLoader
    needs: Permission
    weight: Amount = field(default=1, compare=False)
    sizes: tuple[ListSize, ...] = field(default=(), compare=False)
