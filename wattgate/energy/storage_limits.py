"""What storage fields take, for many readings of many fields at once: the same rules as `storage.Field`, in columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattgate.energy.arrays import BoolArray, FloatArray, IntArray
from wattgate.energy.storage_fields import MAX_AHEAD_MS, MAX_STORED_VALUE, ReadingField


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """The rules of some fields, in columns; `oldest` is the first instant (ms) that is kept of each."""

    scale: FloatArray
    negative: BoolArray
    start: IntArray
    interval: IntArray
    oldest: IntArray

    @classmethod
    def from_fields(cls, fields: Sequence[ReadingField], oldest: Sequence[int]) -> "StorageLimits":
        return cls(
            scale=np.array([10.0**field.decimals for field in fields]),
            negative=np.array([field.negative for field in fields], dtype=bool),
            start=np.array([field.start_ms for field in fields], dtype=np.int64),
            interval=np.array([field.interval_ms or 1 for field in fields], dtype=np.int64),
            oldest=np.array(oldest, dtype=np.int64),
        )

    def encode(self, field_index: IntArray, at: IntArray, value: FloatArray, now_ms: int) -> tuple[IntArray, BoolArray]:
        """The integers that are stored for values, and whether each may be: `place` is that of its field.

        A double is a decimal of so many places if the nearest such decimal is read as the same double. What may not be
        stored, and why, is told by `Field.stamp` and `Field.scaled`.
        """
        scale, start = self.scale[field_index], self.start[field_index]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(value * scale)
            good = (np.abs(scaled) <= MAX_STORED_VALUE) & (scaled / scale == value)
        good &= self.negative[field_index] | (value >= 0)
        good &= (at <= now_ms + MAX_AHEAD_MS) & (at >= start) & (at >= self.oldest[field_index])
        good &= (at - start) % self.interval[field_index] == 0
        return np.where(good, scaled, 0).astype(np.int64), good
