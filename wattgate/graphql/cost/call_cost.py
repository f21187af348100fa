"""The cost of a REST call: before it runs, by the assumed size of its list, and then by its real size."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.graphql.cost.directives import own_list_size
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.cost_weights import (
    DEFAULT_LIST_SIZE,
    SERIES_ITEMS_PER_UNIT,
    STATEMENT_WEIGHT,
    Amount,
)
from wattgate.operations.vocabulary.node import EdgeField


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of a call, as a function of the number of rows of its result.

    `fixed` does not depend on the rows, `per_row` is that of the edges of a row, and `items_per_unit` rows cost a unit.
    """

    fixed: int
    per_row: int
    items_per_unit: int
    assumed_rows: int

    @property
    def estimate(self) -> int:
        """The cost before the call runs."""
        return self.for_rows(self.assumed_rows)

    def for_rows(self, count: int) -> int:
        """Return the cost of a result of this many rows."""
        return self.fixed + self.row_units(count) + count * self.per_row

    def row_units(self, count: int) -> int:
        """Return what this many rows cost by themselves, without their edges."""
        return -(-count // self.items_per_unit)


def call_cost(
    operation: Operation, arguments: Mapping[str, Any], edges: Iterable[EdgeField] = (), clock: Clock = utc_now
) -> CallCost:
    """Return the cost of a REST call: an operation, its result and these edges of the result."""
    now, edges = clock(), list(edges)

    def value_of(amount: Amount) -> int:
        if isinstance(amount, int):
            return amount
        return amount.compute(now, *[arguments.get(name) for name in amount.slicing_arguments])

    own_size = own_list_size(operation.sizes)
    nested_units = max(
        (value_of(size.assumed_size) // SERIES_ITEMS_PER_UNIT for size in operation.sizes if size.sized_fields),
        default=0,
    )
    return CallCost(
        fixed=value_of(operation.base_cost) + nested_units + STATEMENT_WEIGHT * len(edges),
        per_row=sum(value_of(edge.weight) for edge in edges),
        items_per_unit=own_size.items_per_unit,
        assumed_rows=value_of(own_size.assumed_size) if operation.returns_list else 1,
    )


def cost_of_call(
    operation: Operation, arguments: Mapping[str, Any], edges: Iterable[EdgeField] = (), clock: Clock = utc_now
) -> int:
    """Return the cost of a REST call before it runs."""
    return call_cost(operation, arguments, edges, clock).estimate


def cost_of_edge_items(lists: Iterable[Any]) -> int:
    """Return the cost of the items of edge results beyond the size that the weight of the edge includes."""
    return sum(max(0, len(items) - DEFAULT_LIST_SIZE) for items in lists if isinstance(items, list))
