"""Energy that a file does not state: of mean power, of registers, and of longer intervals. No I/O.

- Mean power of an interval is energy: its product with the length of the interval.
- Cumulative registers are energy: the difference of two successive ones, if they are one interval apart. A register
  that is lower than the one before is refused, or begins a new register if the next ones agree with it.
- Energies of fine intervals are the energy of a longer one: their sum, if none is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from wattgate.clock import ONE_MILLISECOND
from wattgate.energy.arrays import BoolArray, FloatArray, IntArray, is_group_start
from wattgate.energy.buckets import HOUR_MS, MINUTE_MS
from wattgate.energy.local_times import LocalTimes
from wattgate.errors import BadInput
from wattgate.reading_files.csv_columns import SeriesName


class FileReading(NamedTuple):
    """A reading of a file. `time` is aware, or a local time without a zone. `quality` is a code.

    `shift_ms` is the time from the start of the interval to `time`: 0, or the interval if a time is its end.
    """

    line: int
    series: SeriesName
    time: datetime
    value: float
    quality: int
    shift_ms: int = 0


class RefusedLine(NamedTuple):
    """A line, or a part of it, that has no reading, and the reason."""

    line: int
    reason: str


class RegisterReading(NamedTuple):
    """The registers of a line that are added, such as those of two tariffs, at the end of an interval."""

    line: int
    series: SeriesName
    time: datetime
    registers: tuple[Decimal, ...]
    quality: int

    @property
    def total(self) -> Decimal:
        return sum(self.registers, Decimal(0))

    def is_below(self, other: "RegisterReading") -> bool:
        """Return whether one of the registers is lower than in another reading."""
        return any(one < before for one, before in zip(self.registers, other.registers, strict=True))


def energy_of_power(power: float, interval_ms: int) -> float:
    """Return the energy of a mean power in its unit times hours: Wh of W."""
    return power * interval_ms / HOUR_MS


def elapsed_ms(before: datetime, after: datetime, zone: LocalTimes, expected_ms: int | None) -> int:
    """Return the time between two times of a file. Both are aware, or local times of the zone.

    If local times occur twice, the result is `expected_ms` if one of the meanings is that far away, and otherwise the
    shortest time that is positive.
    """
    wall = (after - before) // ONE_MILLISECOND
    if before.tzinfo is not None:
        return wall
    if (
        wall == (expected_ms or wall) > 0
        and zone.day(before.date()).offset_ms == zone.day(after.date()).offset_ms is not None
    ):
        return wall
    distances = [end - start for end in zone.instants(after) for start in zone.instants(before)]
    return min(distances, key=lambda one: (one != expected_ms, one <= 0, one), default=wall)


@dataclass(slots=True)
class RegisterDifferences:
    """The energy between successive readings of a register, which arrive in the order of time.

    A reading is `held` until the next one agrees with it. A reading that is lower than the one before is `low` until
    the next one decides: if that is as high as before, the low one was wrong; if not, the register began anew.
    """

    zone: LocalTimes
    interval_ms: int
    _base: RegisterReading | None = None
    _held: RegisterReading | None = None
    _low: RegisterReading | None = None

    def add(self, reading: RegisterReading) -> Iterator[FileReading | RefusedLine]:
        """Yield the readings that the next one decides. Raise BadInput if it is earlier than the one before."""
        before = self._low or self._held or self._base
        if before is None:
            self._base = reading
            return
        elapsed = elapsed_ms(before.time, reading.time, self.zone, self.interval_ms)
        if elapsed < 0:
            raise BadInput(
                f"Line {reading.line} is earlier than line {before.line}. The difference of registers needs lines in "
                "the order of time: sort the file."
            )
        if elapsed == 0:
            yield RefusedLine(reading.line, f"has the same time as line {before.line}")
            return
        yield from self._decide_low(reading)
        yield from self._decide_held(reading)

    def finish(self) -> Iterator[FileReading | RefusedLine]:
        """Yield what the last readings decide."""
        yield from self._confirm_held()
        if self._low is not None:
            yield self._refusal_of_low(self._low)

    def _decide_low(self, reading: RegisterReading) -> Iterator[FileReading | RefusedLine]:
        """Decide whether a low reading was wrong, or the first one of a register that began anew."""
        low, top = self._low, self._held or self._base
        if low is None or top is None:
            return
        self._low = None
        if not reading.is_below(low) and reading.is_below(top):
            yield from self._confirm_held()
            yield RefusedLine(
                low.line,
                f"the register is {low.total}, and was {top.total} at line {top.line}: it was reset or replaced. Its "
                "energy since then is unknown",
            )
            self._base = low
        else:
            yield self._refusal_of_low(low)

    def _decide_held(self, reading: RegisterReading) -> Iterator[FileReading | RefusedLine]:
        """Confirm the held reading, or refuse it if it is the only one that is too high. Then hold the new one."""
        held, base = self._held, self._base
        assert base is not None
        if reading.is_below(held or base):
            if held is None or reading.is_below(base):
                self._low = reading
                return
            yield RefusedLine(
                held.line, f"the register is {held.total}, and only {reading.total} at line {reading.line} after it"
            )
        else:
            yield from self._confirm_held()
        self._held = reading

    def _confirm_held(self) -> Iterator[FileReading | RefusedLine]:
        held, base = self._held, self._base
        if held is None or base is None:
            return
        self._base, self._held = held, None
        elapsed, energy = elapsed_ms(base.time, held.time, self.zone, self.interval_ms), held.total - base.total
        if elapsed == self.interval_ms:
            quality = max(base.quality, held.quality)
            yield FileReading(held.line, held.series, base.time, float(energy), quality)
        else:
            yield RefusedLine(
                held.line,
                f"the register rose by {energy} since line {base.line}, {elapsed // MINUTE_MS} minutes before, and the "
                f"interval is {self.interval_ms // MINUTE_MS}: when the energy was used is unknown",
            )

    def _refusal_of_low(self, low: RegisterReading) -> RefusedLine:
        top = self._held or self._base
        was = f"{top.total} at line {top.line}" if top else "more"
        return RefusedLine(low.line, f"the register is {low.total}, and was {was} before")


def sum_intervals(
    at: IntArray, value: FloatArray, *, start_ms: int, interval_ms: int, part_ms: int
) -> tuple[IntArray, FloatArray, IntArray, BoolArray]:
    """Return the starts of the longer intervals, their sums, the position of the first part, and which are complete.

    `at` are instants of one series in their order, at the start of fine intervals of `part_ms`. A longer interval of
    which a part is missing is not complete: its energy is unknown.
    """
    bucket = (at - start_ms) // interval_ms
    first = np.flatnonzero(is_group_start(bucket))
    counts = np.diff(np.append(first, len(at)))
    # whole numbers of billionths: a sum of doubles would have digits that no part has
    total = np.add.reduceat(np.rint(value * 1e9), first) / 1e9
    is_on_grid = np.logical_and.reduceat((at - start_ms) % part_ms == 0, first)
    return bucket[first] * interval_ms + start_ms, total, first, is_on_grid & (counts * part_ms == interval_ms)


def common_spacing_ms(at: IntArray) -> int | None:
    """Return the most frequent distance of successive instants, or None if there are fewer than two."""
    if len(at) < 2:
        return None
    distances, counts = np.unique(np.diff(at), return_counts=True)
    return int(distances[np.argmax(counts)])
