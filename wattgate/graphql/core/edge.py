"""Edges: what leads from rows of one type to rows of another, a whole level at a time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from wattgate.graphql.core.cost_weights import Amount, Size
from wattgate.principal import Permission

Load = Callable[..., Awaitable[list[Any]]]
"""A set-wise loader of `db.queries`: (rows, parents, **arguments) -> one result for each parent, in order."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A set-wise loader and what it asks of the caller. There is one value for each edge field of a type.

    `weight` is what it costs for each parent, beside the statements for all of them; `sizes` say how long lists are.
    """

    load: Load
    needs: Permission
    weight: Amount = field(default=1, compare=False)
    sizes: tuple[Size, ...] = field(default=(), compare=False)
