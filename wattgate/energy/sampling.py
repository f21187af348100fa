"""The interval and the phase of readings, learned from their instants. No I/O. Instants are ms since 1970, UTC.

Readings that follow each other at one distance, several times in a row, have this interval. Two such distances in one
series mean that its interval changes, so that no single grid holds its readings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wattgate.clock import format_iso_ms
from wattgate.energy.arrays import IntArray
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS

INTERVALS_MS = frozenset(minutes * MINUTE_MS for minutes in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60))
"""The intervals that are learned: the parts of an hour in whole minutes."""

MAX_STEP_MS = 7 * DAY_MS
"""The longest distance that is counted."""

MIN_EQUAL_DISTANCES = 3
"""From so many equal distances in a row, the interval is learned. Single lost readings do not make so many."""

MIN_RUN = 8
"""From so many equal distances in a row, they are an interval of the series beside another one."""


ONE_INTERVAL = "a resource has one interval. Add the finer readings, or record each part in a resource of its own"
"""What to do with readings of several intervals."""


class SamplingGrid(NamedTuple):
    """Instants at multiples of an interval, `phase_ms` after them."""

    interval_ms: int
    phase_ms: int


class Step(NamedTuple):
    """A distance that follows itself: where its runs begin and end, the longest one, and all distances in runs."""

    first_ms: int
    last_ms: int
    longest: int
    total: int


@dataclass(slots=True)
class Spacing:
    """The distances of the successive instants of one series, which arrive in their order, in parts."""

    steps: dict[int, Step] = field(default_factory=dict)
    _last: int | None = None
    _run: tuple[int, int, int] | None = None

    def add(self, at: IntArray) -> None:
        """Add instants in ascending order, none of which is before those of the earlier parts."""
        known = at if self._last is None else np.append(self._last, at)
        distances = np.diff(known)
        is_new = distances > 0
        if not len(known) or not is_new.any():
            self._last = int(known[-1]) if len(known) else self._last
            return
        starts, distances = known[:-1][is_new], distances[is_new]
        first = np.flatnonzero(np.append(True, distances[1:] != distances[:-1]))
        lengths = np.diff(np.append(first, len(distances)))
        is_long = lengths >= MIN_EQUAL_DISTANCES
        is_long[[0, -1]] = True  # these may be parts of longer runs
        columns = (distances[first], starts[first], lengths)
        for step, start, length in zip(*(column[is_long].tolist() for column in columns), strict=True):
            self._continue_run(step, start, length)
        self._last = int(known[-1])

    def _continue_run(self, step: int, start: int, length: int) -> None:
        if self._run is not None:
            run_step, run_start, run_length = self._run
            if run_step == step and run_start + run_step * run_length == start:
                self._run = (step, run_start, run_length + length)
                return
            self._close_run()
        self._run = (step, start, length)

    def _close_run(self) -> None:
        run, self._run = self._run, None
        if run is None or run[2] < MIN_EQUAL_DISTANCES or run[0] > MAX_STEP_MS:
            return
        step, start, length = run
        known = self.steps.get(step, Step(start, start, 0, 0))
        end = start + step * length
        self.steps[step] = Step(known.first_ms, end, max(known.longest, length), known.total + length)

    def finish(self) -> dict[int, Step]:
        """Return the steps of the series by their distance."""
        self._close_run()
        return self.steps


def find_steps(at: IntArray) -> dict[int, Step]:
    """Return the steps of instants in any order."""
    spacing = Spacing()
    spacing.add(np.unique(at))
    return spacing.finish()


def learned_grid(steps: Mapping[int, Step]) -> SamplingGrid | None:
    """Return the grid of a series by its steps. Return None if no interval is known, or several are."""
    known = {step: found for step, found in steps.items() if step in INTERVALS_MS}
    if not known or len(intervals_of(steps)) > 1:
        return None
    interval = max(known, key=lambda step: known[step].total)
    return SamplingGrid(interval, known[interval].first_ms % interval)


def intervals_of(steps: Mapping[int, Step]) -> list[tuple[int, int]]:
    """Return the intervals that a series surely has, each with the instant where it begins, in the order of time.

    A single one needs no long run, because no other one contradicts it.
    """
    needed = MIN_RUN if len(steps) > 1 else MIN_EQUAL_DISTANCES
    lasting = [(found.first_ms, step) for step, found in steps.items() if found.longest >= needed]
    return [(step, first) for first, step in sorted(lasting)]


def describe_intervals(intervals: Sequence[tuple[int, int]]) -> str:
    """Return the intervals of a series in words, each with the instant where it begins."""
    parts = (f"{format_length(step)} from {format_iso_ms(first)}" for step, first in intervals)
    return f"intervals of {' and '.join(parts)}"


def format_length(interval_ms: int) -> str:
    """Return an interval in words, such as 30 minutes."""
    if interval_ms % DAY_MS == 0:
        count, unit = interval_ms // DAY_MS, "day"
    elif interval_ms % HOUR_MS == 0:
        count, unit = interval_ms // HOUR_MS, "hour"
    elif interval_ms % MINUTE_MS == 0:
        count, unit = interval_ms // MINUTE_MS, "minute"
    else:
        count, unit = interval_ms // 1000, "second"
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
