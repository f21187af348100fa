"""Sums that are known as far as that goes: constants now, and the rest in steps, once variables have values."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

Coerced = Mapping[str, Any]
"""The values of variables by their names, as graphql-core coerces them."""

Step = Callable[[list[int], Coerced, datetime], int]
"""One number, by the numbers of the steps before, the variables and the present instant."""


class Sum(NamedTuple):
    """A constant, and multiples of the numbers of steps: pairs of a step's place and a factor."""

    constant: int = 0
    terms: tuple[tuple[int, int], ...] = ()


ZERO, ONE = Sum(), Sum(1)


def plus(*sums: Sum) -> Sum:
    """All of them together."""
    terms = Counter[int]()
    for one in sums:
        for place, factor in one.terms:
            terms[place] += factor
    return Sum(sum(one.constant for one in sums), tuple(terms.items()))


class Steps:
    """Steps, each of which may use those before it. What is known needs none."""

    def __init__(self) -> None:
        self.all: list[Step] = []

    def number(self, step: Step) -> Sum:
        """The number of a new step."""
        self.all.append(step)
        return Sum(0, ((len(self.all) - 1, 1),))

    def times(self, one: Sum, other: Sum) -> Sum:
        """The product of two sums."""
        if not one.terms:
            return Sum(one.constant * other.constant, tuple((place, one.constant * by) for place, by in other.terms))
        if not other.terms:
            return self.times(other, one)
        left, right = self.place(one), self.place(other)
        return self.number(lambda numbers, *_: numbers[left] * numbers[right])

    def divided(self, one: Sum, by: int, *, up: bool) -> Sum:
        """A sum divided by a number, rounded up or down."""
        add = by - 1 if up else 0
        if not one.terms:
            return Sum((one.constant + add) // by)
        if by == 1:
            return one
        place = self.place(one)
        return self.number(lambda numbers, *_: (numbers[place] + add) // by)

    def short(self, one: Sum) -> Sum:
        """The same sum in one term at most, so that whatever is made of it stays short too."""
        return one if len(one.terms) <= 1 else Sum(0, ((self.place(one), 1),))

    def place(self, one: Sum) -> int:
        """The place of a step whose number is the sum."""
        constant, terms = one
        if not constant and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        if len(terms) == 1:
            ((place, factor),) = terms
            self.all.append(lambda numbers, *_: constant + factor * numbers[place])
        else:
            self.all.append(lambda numbers, *_: constant + sum(factor * numbers[place] for place, factor in terms))
        return len(self.all) - 1
