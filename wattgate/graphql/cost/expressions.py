"""Cost expressions: sums that are computed as far as possible without variables, and the rest in steps.

A step computes one number of a request from its variables, the current time and the numbers of earlier steps.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

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
