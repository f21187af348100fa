"""Checks of storage fields for many readings at once: the rules of `ReadingField` in columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wattgate.energy.arrays import BoolArray, FloatArray, IntArray
from wattgate.energy.storage_fields import MAX_AHEAD_MS, MAX_STORED_VALUE, ReadingField


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """The rules of several fields, in columns. `oldest` is the first instant (ms) that is retained for each field."""

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
        """Return the stored integer of each value, and a mask of the values that may be stored.

        `field_index` is the position of each value's field in this table. A double has the field's number of decimal
        places if the nearest decimal with that many places parses to the same double. For the reason of a rejection,
        call `ReadingField.to_stored_ms` and `ReadingField.to_stored`.
        """
        scale, start = self.scale[field_index], self.start[field_index]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(value * scale)
            valid = (np.abs(scaled) <= MAX_STORED_VALUE) & (scaled / scale == value)
        valid &= self.negative[field_index] | (value >= 0)
        valid &= (at <= now_ms + MAX_AHEAD_MS) & (at >= start) & (at >= self.oldest[field_index])
        valid &= (at - start) % self.interval[field_index] == 0
        return np.where(valid, scaled, 0).astype(np.int64), valid
