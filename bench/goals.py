"""The goals of the benchmarks: ratios to other servers of the same run, and processor time of the gateway."""

from dataclasses import dataclass
from enum import Enum

from bench.table import console, print_table


class Direction(Enum):
    """Which side of its limit a figure must be on."""

    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True)
class Goal:
    """A goal: the name of the figure, with its unit, and its limit."""

    name: str
    direction: Direction
    limit: float

    def __str__(self) -> str:
        return f"{self.direction.value} {self.limit:,g}"

    def is_met_by(self, figure: float) -> bool:
        """Say if the figure is on the right side of the limit, or equal to it."""
        return figure <= self.limit if self.direction is Direction.AT_MOST else figure >= self.limit

    def outcome(self, figure: float) -> str:
        """Return whether the figure meets the goal, in words."""
        return "met" if self.is_met_by(figure) else "not met"

    def verdict(self, figure: float) -> str:
        """Return the goal and its outcome, for a cell of a table."""
        return f"{self}: {self.outcome(figure)}"


def at_most(limit: float, name: str) -> Goal:
    """Return a goal whose figure must not exceed the limit."""
    return Goal(name, Direction.AT_MOST, limit)


def at_least(limit: float, name: str) -> Goal:
    """Return a goal whose figure must reach the limit."""
    return Goal(name, Direction.AT_LEAST, limit)


Judgement = tuple[Goal, float]
"""A goal and the figure of this run."""


def print_goals(judgements: list[Judgement]) -> None:
    """Print each goal beside the figure of this run, and how many goals are met."""
    rows = [
        (goal.name, f"{figure:,.2f}" if figure < 100 else f"{figure:,.0f}", str(goal), goal.outcome(figure))
        for goal, figure in judgements
    ]
    print_table("Goals", ("what", "this run", "goal", ""), rows)
    met = sum(goal.is_met_by(figure) for goal, figure in judgements)
    console.print(f"{met} of {len(judgements)} goals are met.")
