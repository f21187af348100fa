"""Edges: fields that lead from rows of one type to rows of another, loaded for a whole level of a response at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from wattgate.operations.vocabulary.cost_weights import Amount, ListSize, ResultUnits
from wattgate.principal import Permission

EdgeLoader = Callable[..., Awaitable[list[Any]]]
"""A set-wise loader of `db.queries`: (rows, parents, **arguments) -> one result for each parent, in order."""


@dataclass(frozen=True, slots=True)
class EdgeField:
    """A set-wise loader and the permission that it requires. Each edge field of a type has its own instance.

    `weight` is the cost for each parent, added to the statements for all of them. `sizes` declares list lengths.
    `result_units` returns the additional cost of a result.
    """

    load: EdgeLoader
    needs: Permission
    weight: Amount = field(default=1, compare=False)
    sizes: tuple[ListSize, ...] = field(default=(), compare=False)
    result_units: ResultUnits | None = field(default=None, compare=False)
