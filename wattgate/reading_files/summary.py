"""A summary of the readings of a series: their number, span, sums by month, and gaps. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from wattgate.clock import from_ms, to_ms
from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.reading_files.derived_energy import common_spacing_ms

MAX_DESCRIBED_GAPS = 10
MAX_MONTHS = 1_200
"""Maximum number of gaps and of months that a summary lists."""


class Gap(NamedTuple):
    """A time without readings: from the first missing instant to the next reading, in ms since 1970."""

    start: int
    end: int
    missing: int


@dataclass(slots=True)
class SeriesSummary:
    """A summary of readings that are added in the order of their instants.

    Instants are in ms since 1970. Sums are whole numbers of the last decimal place. `months` are those of `zone`, such
    as `2026-03`. `gaps` are the first MAX_DESCRIBED_GAPS, and `missing` counts the missing readings of all.
    """

    decimals: int
    zone: tzinfo = UTC
    count: int = 0
    first: int | None = None
    last: int | None = None
    scaled_sum: int = 0
    spacing: int | None = None
    months: dict[str, tuple[int, int]] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    gap_count: int = 0
    missing: int = 0

    @property
    def total(self) -> Decimal:
        return self.unscaled(self.scaled_sum)

    def unscaled(self, scaled: int) -> Decimal:
        """Return a sum in the unit of the values."""
        return Decimal(scaled).scaleb(-self.decimals)

    def add(self, at: IntArray, value: FloatArray) -> None:
        """Add readings in the order of their instants."""
        if not len(at):
            return
        scaled = np.rint(value * 10.0**self.decimals).astype(np.int64)
        self._add_gaps(at)
        self.count += len(at)
        self.first = int(at[0]) if self.first is None else self.first
        self.last = int(at[-1])
        self.scaled_sum += sum(scaled.tolist())
        starts = month_starts(int(at[0]), int(at[-1]), self.zone)
        ends = [*np.searchsorted(at, starts[1:]).tolist(), len(at)]
        begin = 0
        for start, end in zip(starts, ends, strict=True):
            name = from_ms(start).astimezone(self.zone).strftime("%Y-%m")
            count, total = self.months.get(name, (0, 0))
            if end > begin and (name in self.months or len(self.months) < MAX_MONTHS):
                self.months[name] = (count + end - begin, total + sum(scaled[begin:end].tolist()))
            begin = end

    def _add_gaps(self, at: IntArray) -> None:
        """Count the times without readings: distances of more than the most frequent one."""
        if self.spacing is None:
            self.spacing = common_spacing_ms(at)
        known = at if self.last is None else np.concatenate((np.array([self.last], np.int64), at))
        if self.spacing is None or self.spacing <= 0:
            return
        distances = np.diff(known)
        for position in np.flatnonzero(distances > self.spacing).tolist():
            missing = int(distances[position]) // self.spacing - 1
            self.gap_count += 1
            self.missing += missing
            if len(self.gaps) < MAX_DESCRIBED_GAPS:
                self.gaps.append(Gap(int(known[position]) + self.spacing, int(known[position + 1]), missing))


def month_starts(first: int, last: int, zone: tzinfo) -> Sequence[int]:
    """Return the starts of the local months from the one of `first` to the one of `last`, in ms since 1970."""
    local, starts = from_ms(first).astimezone(zone), list[int]()
    year, month = local.year, local.month
    while not starts or starts[-1] <= last:
        starts.append(to_ms(datetime(year, month, 1, tzinfo=zone).astimezone(UTC)))
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return starts[:-1] if len(starts) > 1 else starts
