"""Sums that are known as far as that goes: constants now, and the rest in steps, once variables have values."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

CoercedVariables = Mapping[str, Any]
"""The values of variables by their names, as graphql-core coerces them."""

Step = Callable[[list[int], CoercedVariables, datetime], int]
"""One number, by the numbers of the steps before, the variables and the present instant."""


class CostExpression(NamedTuple):
    """A constant, and multiples of the numbers of steps: pairs of a step's place and a factor."""

    constant: int = 0
    terms: tuple[tuple[int, int], ...] = ()


ZERO, ONE = CostExpression(), CostExpression(1)


def add_expressions(*expressions: CostExpression) -> CostExpression:
    """All of them together."""
    terms = Counter[int]()
    for expression in expressions:
        for index, factor in expression.terms:
            terms[index] += factor
    return CostExpression(sum(expression.constant for expression in expressions), tuple(terms.items()))


class StepProgram:
    """Steps, each of which may use those before it. What is known needs none."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add_step(self, step: Step) -> CostExpression:
        """The number of a new step."""
        self.steps.append(step)
        return CostExpression(0, ((len(self.steps) - 1, 1),))

    def multiply(self, left: CostExpression, right: CostExpression) -> CostExpression:
        """The product of two sums."""
        if not left.terms:
            return CostExpression(
                left.constant * right.constant, tuple((index, left.constant * factor) for index, factor in right.terms)
            )
        if not right.terms:
            return self.multiply(right, left)
        left_index, right_index = self.step_index(left), self.step_index(right)
        return self.add_step(lambda numbers, *_: numbers[left_index] * numbers[right_index])

    def divide(self, expression: CostExpression, divisor: int, *, round_up: bool) -> CostExpression:
        """A sum divided by a number, rounded up or down."""
        addend = divisor - 1 if round_up else 0
        if not expression.terms:
            return CostExpression((expression.constant + addend) // divisor)
        if divisor == 1:
            return expression
        index = self.step_index(expression)
        return self.add_step(lambda numbers, *_: (numbers[index] + addend) // divisor)

    def to_single_term(self, expression: CostExpression) -> CostExpression:
        """The same sum in one term at most, so that whatever is made of it stays short too."""
        return expression if len(expression.terms) <= 1 else CostExpression(0, ((self.step_index(expression), 1),))

    def step_index(self, expression: CostExpression) -> int:
        """The place of a step whose number is the sum."""
        constant, terms = expression
        if not constant and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        if len(terms) == 1:
            ((index, factor),) = terms
            self.steps.append(lambda numbers, *_: constant + factor * numbers[index])
        else:
            self.steps.append(lambda numbers, *_: constant + sum(factor * numbers[index] for index, factor in terms))
        return len(self.steps) - 1
