"""Storage definitions of resource types: their fields, and the checks of values and instants. No I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache

import msgspec
import numpy as np
from msgspec.structs import replace

from wattgate.clock import EPOCH, format_iso, from_ms, to_ms
from wattgate.energy.arrays import BoolArray, FloatArray, IntArray
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, HOUR_MS, MINUTE_MS
from wattgate.enums import ReadingQuality

MAX_STORED_VALUE = 10**15 - 1
"""The largest stored integer. A JSON number of up to 15 digits is returned exactly as it was sent."""

MAX_DECIMALS = 9

QUALITIES = tuple(ReadingQuality)
QUALITY_CODES = {quality: code for code, quality in enumerate(QUALITIES)}
"""The stored integer of each quality; 0 is ACTUAL."""

LEARNED = "learned"
"""The sampling of a definition whose resources get the interval of their first readings."""

POWER_FIELD = "POWER"
"""The name of the field for live power. A resource type has live power if it has a field of this name."""

MAX_AHEAD_MS = 5 * MINUTE_MS
"""How far a reading may be dated ahead of the gateway's clock, because meters' clocks are not exact."""

_DATATYPE = re.compile(r"(?:fixedpoint|decimal)\((?:\d+\s*,\s*)?(\d{1,9})\)|integer", re.IGNORECASE)
_INTERVAL = re.compile(r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?")


class StorageField(msgspec.Struct, frozen=True):
    """One measured quantity: its unit, its stored precision, and whether values may be negative."""

    field_name: str
    unit: str
    datatype: str
    negative: bool = False


class StorageDefinition(msgspec.Struct, frozen=True):
    """How readings of a resource type are stored. `interval` is the ISO 8601 interval of regular sampling.

    The sampling is `regular`, `irregular`, or LEARNED: a resource then gets the interval and the phase of its first
    readings (`with_grid`), and is regular from then on.
    """

    type: str
    sampling: str
    start: str
    fields: tuple[StorageField, ...]
    interval: str | None = None


class StorageError(ValueError):
    """A storage definition, value or instant is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class ReadingField:
    """A storage field of a resource, with which values are checked and scaled.

    `index` is its position among the fields of all storage definitions of the resource. `interval_ms` is None if
    sampling is irregular. `start_ms` is the first instant that may be stored. If the field `is_learning`, the interval
    is not known yet: half hours are expected, and any whole minute may be stored.
    """

    index: int
    name: str
    unit: str
    decimals: int
    negative: bool
    interval_ms: int | None
    start_ms: int
    is_learning: bool = False

    def to_stored(self, value: Decimal) -> int:
        """Return the stored integer of a value. Raise StorageError if the field cannot store it exactly."""
        if not value.is_finite():
            raise StorageError(f"{value} is not a number")
        if value < 0 and not self.negative:
            raise StorageError(f"{value} is negative; {self.name} takes no negative values")
        scaled = value.scaleb(self.decimals)
        if not -MAX_STORED_VALUE <= scaled <= MAX_STORED_VALUE:
            raise StorageError(f"{value} is too large for {self.name}")
        whole = int(scaled)
        if whole != scaled:
            raise StorageError(f"{value} has more than the {self.decimals} decimal places of {self.name}")
        return whole

    def to_stored_ms(self, at: datetime, now_ms: int) -> int:
        """Return the stored milliseconds since 1970 of an instant. Raise StorageError if it may not be stored."""
        ms = to_ms(at)
        if ms > now_ms + MAX_AHEAD_MS:
            raise StorageError(f"{format_iso(at)} is in the future")
        if ms < self.start_ms:
            raise StorageError(f"{format_iso(at)} is before the start of storage, {format_iso(from_ms(self.start_ms))}")
        grid_ms = MINUTE_MS if self.is_learning else self.interval_ms  # not the property: a call for each reading
        if grid_ms and (ms - self.start_ms) % grid_ms:
            grid = timedelta(milliseconds=grid_ms)
            raise StorageError(f"{format_iso(at)} is not on the sampling grid of {grid}{self._phase_text()}")
        return ms

    def _phase_text(self) -> str:
        """Return where the intervals begin, unless that is at the full hour of UTC."""
        phase_ms = self.start_ms % (self.grid_ms or 1)
        return f" from {timedelta(milliseconds=phase_ms)} after the full hour of UTC" if phase_ms else ""

    @property
    def grid_ms(self) -> int | None:
        """The distance of instants that may be stored, counted from `start_ms`; None if all may be stored."""
        return MINUTE_MS if self.is_learning else self.interval_ms

    @property
    def has_hourly_rollup(self) -> bool:
        """Whether hourly rollups are stored for the field. While it is learning, the interval may become a fine one."""
        return self.is_learning or has_hourly_rollup(self.interval_ms)

    def expected_samples(self, start_ms: int, stop_ms: int) -> int | None:
        """Return the number of samples of regular sampling in [start, stop); None if sampling is irregular.

        No sample is expected before the start of storage.
        """
        if self.interval_ms is None:
            return None
        before, until = (min(0, (self.start_ms - ms) // self.interval_ms) for ms in (start_ms, stop_ms))
        return before - until

    def from_stored(self, scaled: int) -> float:
        """Return the value of a stored integer as the nearest double, which prints as the stored decimal."""
        return float(scaled / 10**self.decimals)


def has_hourly_rollup(interval_ms: int | None) -> bool:
    """Return whether hourly rollups are stored. With up to four samples an hour, the samples are as fast to read."""
    return interval_ms is None or interval_ms * 4 < HOUR_MS


def parse_fields(storage: Sequence[StorageDefinition]) -> tuple[ReadingField, ...]:
    """Return the fields of a resource in order. Raise StorageError for an invalid definition.

    Most resources of an application share few definitions, so each of them is parsed once.
    """
    return _parse_distinct(tuple(storage))


@lru_cache(maxsize=1024)
def _parse_distinct(storage: tuple[StorageDefinition, ...]) -> tuple[ReadingField, ...]:
    fields: list[ReadingField] = []
    for definition in storage:
        interval, start = _parse_interval(definition), _parse_start(definition.start)
        if definition.type != "timeseries":
            raise StorageError(f"unknown storage type {definition.type!r}; use timeseries")
        for field in definition.fields:
            fields.append(
                ReadingField(
                    index=len(fields),
                    name=field.field_name,
                    unit=field.unit,
                    decimals=_parse_decimals(field.datatype),
                    negative=field.negative,
                    interval_ms=interval,
                    start_ms=start,
                    is_learning=definition.sampling == LEARNED,
                )
            )
    if not fields:
        raise StorageError("a resource type needs at least one storage field")
    if len({field.name for field in fields}) < len(fields):
        raise StorageError("two fields have the same name")
    return tuple(fields)


def is_learning(storage: Sequence[StorageDefinition]) -> bool:
    """Return whether the interval of a definition is not known yet."""
    return any(definition.sampling == LEARNED for definition in storage)


def with_grid(
    storage: Sequence[StorageDefinition], field_name: str, interval_ms: int, phase_ms: int
) -> tuple[StorageDefinition, ...]:
    """Return storage in which the definition of a field has this interval. Samples begin at `phase_ms` after each one.

    The start of storage moves by less than an interval. It is not before 1970.
    """
    minutes = interval_ms // MINUTE_MS
    interval = f"PT{minutes // 60}H" if minutes % 60 == 0 else f"PT{minutes}M"

    def regular(definition: StorageDefinition) -> StorageDefinition:
        if definition.sampling != LEARNED or field_name not in {field.field_name for field in definition.fields}:
            return definition
        start = _parse_start(definition.start)
        earlier = start - (start - phase_ms) % interval_ms
        aligned = from_ms(earlier if earlier >= 0 else earlier + interval_ms)
        return replace(definition, sampling="regular", interval=interval, start=aligned.isoformat())

    return tuple(regular(definition) for definition in storage)


def find_field(fields: tuple[ReadingField, ...], name: str | None) -> ReadingField | None:
    """Return the field of that name, or the first field without a name. Return None if there is no such field."""
    if name is None:
        return fields[0]
    return next((field for field in fields if field.name == name), None)


@lru_cache(maxsize=64)
def _parse_decimals(datatype: str) -> int:
    match = _DATATYPE.fullmatch(datatype.strip())
    if not match or int(match[1] or 0) > MAX_DECIMALS:
        raise StorageError(
            f"unknown datatype {datatype!r}; use fixedpoint(0) to fixedpoint({MAX_DECIMALS}), or integer"
        )
    return int(match[1] or 0)


def _parse_start(text: str) -> int:
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        raise StorageError(f"start {text!r} is not an ISO 8601 timestamp") from None
    if start.tzinfo is None:
        raise StorageError(f"start {text!r} has no UTC offset")
    if start < EPOCH:
        raise StorageError(f"start {text!r} is before 1970")
    return to_ms(start)


def _parse_interval(definition: StorageDefinition) -> int | None:
    """Return the milliseconds between samples; half an hour by default, and None if sampling is irregular."""
    if definition.sampling == "irregular":
        return None
    if definition.sampling == LEARNED:
        if definition.interval is not None:
            raise StorageError("learned sampling takes no interval; use regular, or leave the interval out")
        return HALF_HOUR_MS
    if definition.sampling != "regular":
        raise StorageError(f"unknown sampling {definition.sampling!r}; use regular, irregular or {LEARNED}")
    match = _INTERVAL.fullmatch(definition.interval or "PT30M")
    if match is None:
        raise StorageError(
            f"interval {definition.interval!r} is not an ISO 8601 duration of days, hours, minutes, seconds"
        )
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    interval = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    if not 1000 <= interval <= DAY_MS:
        raise StorageError(f"interval {definition.interval!r} is not between one second and one day")
    return interval


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
            interval=np.array([field.grid_ms or 1 for field in fields], dtype=np.int64),
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

    def find_divided(self, field_index: IntArray, at: IntArray) -> BoolArray | None:
        """Return a mask of the readings in whose interval a finer one begins; None if there are none.

        Such a reading is of a part of its interval, and would be stored as the whole. Clocks that are some seconds
        wrong make no finer readings.
        """
        interval, behind = self.interval[field_index], at - self.start[field_index]
        is_finer = begins_inside(behind, interval)
        return is_divided(field_index, behind // interval, is_finer) if is_finer.any() else None


def begins_inside(behind_start: IntArray, interval: IntArray) -> BoolArray:
    """Return a mask of the instants, in ms after the start of storage, that are whole minutes inside an interval."""
    inside = behind_start % interval
    return np.asarray((inside > 0) & (inside % MINUTE_MS == 0) & (interval > 1))


DIVIDED = "other readings begin inside its interval, which is {interval}: it is of a part, and not of the whole"
"""Why a reading on the sampling grid is rejected together with finer ones."""


def is_divided(field_index: IntArray, slot: IntArray, is_finer: BoolArray) -> BoolArray:
    """Return a mask of the readings in whose interval (`slot`) a finer one begins."""
    slots, slot_index = np.unique(slot, return_inverse=True)
    found, position = np.unique(field_index * len(slots) + slot_index, return_inverse=True)
    has_finer = np.zeros(len(found), dtype=np.bool_)
    has_finer[position[is_finer]] = True
    return np.asarray(has_finer[position])
