"""The cost of an operation as a function of its variables, of the sizes of its lists, and its expressions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from graphql.execution import VariableValues

from wattgate.clock import EPOCH, Clock

# Cost expressions: sums that are computed as far as possible without variables, and the rest in steps.
#
# A step computes one number of a request from its variables, the current time and the numbers of earlier steps.

CoercedVariables = Mapping[str, Any]
"""The coerced values of variables by name."""

Step = Callable[[list[int], CoercedVariables, datetime], int]
"""Computes one number from the numbers of the steps before, the variables and the current time."""


class CostExpression(NamedTuple):
    """A constant plus multiples of step numbers. `terms` contains pairs of a step's index and a factor."""

    constant: int = 0
    terms: tuple[tuple[int, int], ...] = ()


ZERO, ONE = CostExpression(), CostExpression(1)


def add_expressions(*expressions: CostExpression) -> CostExpression:
    """Return the sum of expressions."""
    terms = Counter[int]()
    for expression in expressions:
        for index, factor in expression.terms:
            terms[index] += factor
    return CostExpression(sum(expression.constant for expression in expressions), tuple(terms.items()))


def evaluate_expression(expression: CostExpression, numbers: Sequence[int]) -> int:
    """Return the value of an expression for the numbers of a request's steps."""
    return expression.constant + sum(factor * numbers[index] for index, factor in expression.terms)


class StepProgram:
    """A list of steps, each of which may use those before it. Constants need no step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add_step(self, step: Step) -> CostExpression:
        """Add a step and return its number as an expression."""
        self.steps.append(step)
        return CostExpression(0, ((len(self.steps) - 1, 1),))

    def multiply(self, left: CostExpression, right: CostExpression) -> CostExpression:
        """Return the product of two expressions."""
        if not left.terms:
            return CostExpression(
                left.constant * right.constant, tuple((index, left.constant * factor) for index, factor in right.terms)
            )
        if not right.terms:
            return self.multiply(right, left)
        left_index, right_index = self.step_index(left), self.step_index(right)
        return self.add_step(lambda numbers, *_: numbers[left_index] * numbers[right_index])

    def divide(self, expression: CostExpression, divisor: int, *, round_up: bool) -> CostExpression:
        """Return an expression divided by a number, rounded up or down."""
        addend = divisor - 1 if round_up else 0
        if not expression.terms:
            return CostExpression((expression.constant + addend) // divisor)
        if divisor == 1:
            return expression
        index = self.step_index(expression)
        return self.add_step(lambda numbers, *_: (numbers[index] + addend) // divisor)

    def to_single_term(self, expression: CostExpression) -> CostExpression:
        """Return the expression with at most one term, so that expressions built from it stay short."""
        return expression if len(expression.terms) <= 1 else CostExpression(0, ((self.step_index(expression), 1),))

    def step_index(self, expression: CostExpression) -> int:
        """Return the index of a step whose number is the expression. Add one if necessary."""
        constant, terms = expression
        if not constant and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        if len(terms) == 1:
            ((index, factor),) = terms
            self.steps.append(lambda numbers, *_: constant + factor * numbers[index])
        else:
            self.steps.append(lambda numbers, *_: constant + sum(factor * numbers[index] for index, factor in terms))
        return len(self.steps) - 1


# The cost of an operation as a function of its variables, and of the sizes of its lists once they are known.


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
