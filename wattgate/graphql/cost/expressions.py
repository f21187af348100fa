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


def add_expressions(*sums: CostExpression) -> CostExpression:
    """All of them together."""
    terms = Counter[int]()
    for one in sums:
        for place, factor in one.terms:
            terms[place] += factor
    return CostExpression(sum(one.constant for one in sums), tuple(terms.items()))


class StepProgram:
    """Steps, each of which may use those before it. What is known needs none."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add_step(self, step: Step) -> CostExpression:
        """The number of a new step."""
        self.steps.append(step)
        return CostExpression(0, ((len(self.steps) - 1, 1),))

    def multiply(self, one: CostExpression, other: CostExpression) -> CostExpression:
        """The product of two sums."""
        if not one.terms:
            return CostExpression(
                one.constant * other.constant, tuple((place, one.constant * by) for place, by in other.terms)
            )
        if not other.terms:
            return self.multiply(other, one)
        left, right = self.step_index(one), self.step_index(other)
        return self.add_step(lambda numbers, *_: numbers[left] * numbers[right])

    def divide(self, one: CostExpression, by: int, *, round_up: bool) -> CostExpression:
        """A sum divided by a number, rounded up or down."""
        add = by - 1 if round_up else 0
        if not one.terms:
            return CostExpression((one.constant + add) // by)
        if by == 1:
            return one
        place = self.step_index(one)
        return self.add_step(lambda numbers, *_: (numbers[place] + add) // by)

    def to_single_term(self, one: CostExpression) -> CostExpression:
        """The same sum in one term at most, so that whatever is made of it stays short too."""
        return one if len(one.terms) <= 1 else CostExpression(0, ((self.step_index(one), 1),))

    def step_index(self, one: CostExpression) -> int:
        """The place of a step whose number is the sum."""
        constant, terms = one
        if not constant and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        if len(terms) == 1:
            ((place, factor),) = terms
            self.steps.append(lambda numbers, *_: constant + factor * numbers[place])
        else:
            self.steps.append(lambda numbers, *_: constant + sum(factor * numbers[place] for place, factor in terms))
        return len(self.steps) - 1
