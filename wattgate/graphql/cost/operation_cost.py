"""The cost of an operation as a function of its variables, and of the sizes of its lists once they are known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphql.execution.values import VariableValues

from wattgate.clock import EPOCH, Clock
from wattgate.graphql.cost.expressions import CostExpression, Step, evaluate_expression

MAX_COST = 20_000
"""Maximum cost of an operation: about 0.6 s of processor time. `docs/reference/limits.md` lists typical costs."""


class ListCost(NamedTuple):
    """The cost of a list at one position of a document.

    `assumed_size` is the number of items that the estimate contains. `items_per_unit` items cost one unit, and
    `per_item` is the cost of the selection of one item.
    """

    assumed_size: CostExpression
    items_per_unit: int
    per_item: CostExpression

    def units_of(self, item_count: int) -> int:
        """Return what items cost by themselves, without their selections."""
        return -(-item_count // self.items_per_unit)


class CostEstimate(NamedTuple):
    """The estimated cost of one request, and the costs of its lists by the identity of their field nodes."""

    total: int
    numbers: Sequence[int]
    list_costs: Mapping[int, Sequence[ListCost]]

    def correction(self, node_id: int, list_count: int, item_count: int) -> int:
        """Return how much more the request costs if the lists of a field have `item_count` items together.

        A fragment may use the same field in several selections. Then the one that costs most counts.
        """
        return max(
            (self._correction(cost, list_count, item_count) for cost in self.list_costs.get(node_id, ())), default=0
        )

    def item_units(self, node_id: int, item_count: int) -> int:
        """Return what the items of the lists of a field cost by themselves, without their selections."""
        return max((cost.units_of(item_count) for cost in self.list_costs.get(node_id, ())), default=0)

    def _correction(self, cost: ListCost, list_count: int, item_count: int) -> int:
        assumed_size = evaluate_expression(cost.assumed_size, self.numbers)
        per_item = evaluate_expression(cost.per_item, self.numbers)

        def cost_of(size: int) -> int:
            return cost.units_of(size) + size * per_item

        return cost_of(item_count) - list_count * cost_of(assumed_size)


class OperationCost:
    """The cost of an operation as a function of its variables. `fixed` is the cost if it is constant, else None.

    `visited` is the number of selections that were visited to compute it.
    """

    __slots__ = ("_clock", "_fixed_estimate", "_list_costs", "_steps", "fixed", "visited")

    def __init__(
        self,
        steps: Sequence[Step],
        fixed: int | None,
        clock: Clock | None,
        visited: int,
        list_costs: Mapping[int, Sequence[ListCost]],
    ) -> None:
        self.fixed = fixed
        self.visited = visited
        self._steps = tuple(steps)
        self._clock = clock
        self._list_costs = dict(list_costs)
        self._fixed_estimate = None if fixed is None else CostEstimate(fixed, (), self._list_costs)

    def __call__(self, variables: VariableValues) -> int:
        return self.estimate(variables).total

    def estimate(self, variables: VariableValues) -> CostEstimate:
        """Return the estimate for the values of the variables."""
        if self._fixed_estimate is not None:
            return self._fixed_estimate
        now = EPOCH if self._clock is None else self._clock()
        coerced = variables.coerced
        numbers: list[int] = []
        push = numbers.append
        for step in self._steps:
            push(step(numbers, coerced, now))
        return CostEstimate(numbers[-1], numbers, self._list_costs)
