"""What storage fields take, for many readings of many fields at once: the same rules as `storage.Field`, in columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattgate.energy.arrays import Flags, Floats, Integers
from wattgate.energy.storage_fields import AHEAD_MS, MAX_SCALED, Field


@dataclass(frozen=True, slots=True)
class Limits:
    """The rules of some fields, in columns; `oldest` is the first instant (ms) that is kept of each."""

    scale: Floats
    negative: Flags
    start: Integers
    interval: Integers
    oldest: Integers

    @classmethod
    def of(cls, fields: Sequence[Field], oldest: Sequence[int]) -> "Limits":
        return cls(
            scale=np.array([10.0**field.decimals for field in fields]),
            negative=np.array([field.negative for field in fields], dtype=bool),
            start=np.array([field.start_ms for field in fields], dtype=np.int64),
            interval=np.array([field.interval_ms or 1 for field in fields], dtype=np.int64),
            oldest=np.array(oldest, dtype=np.int64),
        )

    def taken(self, place: Integers, at: Integers, value: Floats, now_ms: int) -> tuple[Integers, Flags]:
        """The integers that are stored for values, and whether each may be: `place` is that of its field.

        A double is a decimal of so many places if the nearest such decimal is read as the same double. What may not be
        stored, and why, is told by `Field.stamp` and `Field.scaled`.
        """
        scale, start = self.scale[place], self.start[place]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(value * scale)
            good = (np.abs(scaled) <= MAX_SCALED) & (scaled / scale == value)
        good &= self.negative[place] | (value >= 0)
        good &= (at <= now_ms + AHEAD_MS) & (at >= start) & (at >= self.oldest[place])
        good &= (at - start) % self.interval[place] == 0
        return np.where(good, scaled, 0).astype(np.int64), good
