"""What a storage definition says about readings: which fields there are, and what a value must be. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache

import msgspec

from wattgate.clock import EPOCH, from_ms, iso, to_ms
from wattgate.energy.buckets import DAY, HOUR, MINUTE
from wattgate.enums import ReadingQuality

MAX_SCALED = 10**15 - 1
"""The largest stored integer: a JSON number of up to 15 digits comes back as it was written."""

MAX_DECIMALS = 9

QUALITIES = tuple(ReadingQuality)
QUALITY_CODES = {quality: code for code, quality in enumerate(QUALITIES)}
"""What is stored for a quality; 0 is ACTUAL."""

POWER_FIELD = "POWER"
"""The field of live power, by whose name a resource type has it."""

AHEAD_MS = 5 * MINUTE
"""How far a reading's time may lie ahead of the gateway's clock: meters' clocks are not exact."""

_DATATYPE = re.compile(r"^(?:fixedpoint|decimal)\((?:\d+\s*,\s*)?(\d+)\)$|^integer$", re.IGNORECASE)
_INTERVAL = re.compile(r"^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$")


class StorageField(msgspec.Struct):
    """One measured quantity: what its values are and how exactly they are kept."""

    field_name: str
    unit: str
    datatype: str
    negative: bool = False


class StorageDefinition(msgspec.Struct):
    """How readings of a resource type are stored. `interval` is the ISO 8601 grid of regular sampling."""

    type: str
    sampling: str
    start: str
    fields: list[StorageField]
    interval: str | None = None


class Refused(ValueError):
    """A definition or a value that cannot be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Field:
    """One storage field of a resource, ready to check and scale values.

    `index` is its position over all the resource's storage definitions; `interval_ms` is None where sampling is
    not regular; `start_ms` is the first instant that may be stored.
    """

    index: int
    name: str
    unit: str
    decimals: int
    negative: bool
    interval_ms: int | None
    start_ms: int

    def scaled(self, value: Decimal) -> int:
        """The integer that is stored for a value. Refused where the field cannot hold it exactly."""
        if not value.is_finite():
            raise Refused(f"{value} is not a number")
        if value < 0 and not self.negative:
            raise Refused(f"{value} is negative; {self.name} takes no negative values")
        scaled = value.scaleb(self.decimals)
        if not -MAX_SCALED <= scaled <= MAX_SCALED:
            raise Refused(f"{value} is too large for {self.name}")
        whole = int(scaled)
        if whole != scaled:
            raise Refused(f"{value} has more than the {self.decimals} decimal places of {self.name}")
        return whole

    def stamp(self, at: datetime, now_ms: int) -> int:
        """The milliseconds since 1970 that are stored for an instant. Refused outside what may be stored."""
        ms = to_ms(at)
        if ms > now_ms + AHEAD_MS:
            raise Refused(f"{iso(at)} is in the future")
        if ms < self.start_ms:
            raise Refused(f"{iso(at)} is before the start of storage, {iso(from_ms(self.start_ms))}")
        if self.interval_ms and (ms - self.start_ms) % self.interval_ms:
            grid = timedelta(milliseconds=self.interval_ms)
            raise Refused(f"{iso(at)} is not on the sampling grid of {grid}")
        return ms

    @property
    def hourly(self) -> bool:
        """Whether the field's hours are rolled up."""
        return hourly(self.interval_ms)

    def expected(self, start_ms: int, stop_ms: int) -> int | None:
        """How many samples regular sampling takes from start to before stop; None where sampling is not regular."""
        if self.interval_ms is None:
            return None
        before, until = ((self.start_ms - ms) // self.interval_ms for ms in (start_ms, stop_ms))
        return before - until

    def number(self, scaled: int) -> float:
        """The value of a stored integer, as the nearest double: prints as the decimal that was stored."""
        return float(scaled / 10**self.decimals)


def hourly(interval_ms: int | None) -> bool:
    """Whether hours are rolled up: an hour of up to four samples is read as fast from the samples."""
    return interval_ms is None or interval_ms * 4 < HOUR


def fields_of(storage: list[StorageDefinition]) -> tuple[Field, ...]:
    """The fields of a resource in order. Refused where a definition cannot be understood."""
    fields: list[Field] = []
    for definition in storage:
        interval, start = _sampling(definition), _start(definition.start)
        if definition.type != "timeseries":
            raise Refused(f"storage type {definition.type!r} is not known; timeseries is")
        for field in definition.fields:
            fields.append(
                Field(
                    index=len(fields),
                    name=field.field_name,
                    unit=field.unit,
                    decimals=_decimals(field.datatype),
                    negative=field.negative,
                    interval_ms=interval,
                    start_ms=start,
                )
            )
    if not fields:
        raise Refused("a resource type stores at least one field")
    if len({field.name for field in fields}) < len(fields):
        raise Refused("two fields have the same name")
    return tuple(fields)


def field_named(fields: tuple[Field, ...], name: str | None) -> Field | None:
    """The field of that name; the first field where no name is given; None where there is none."""
    if name is None:
        return fields[0]
    return next((field for field in fields if field.name == name), None)


@lru_cache(maxsize=64)
def _decimals(datatype: str) -> int:
    match = _DATATYPE.match(datatype.strip())
    if not match or int(match[1] or 0) > MAX_DECIMALS:
        raise Refused(
            f"datatype {datatype!r} is not known; fixedpoint(0) to fixedpoint({MAX_DECIMALS}) and integer are"
        )
    return int(match[1] or 0)


def _start(text: str) -> int:
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"start {text!r} is not an ISO 8601 timestamp") from None
    if start.tzinfo is None:
        raise Refused(f"start {text!r} has no UTC offset")
    if start < EPOCH:
        raise Refused(f"start {text!r} is before 1970")
    return to_ms(start)


def _sampling(definition: StorageDefinition) -> int | None:
    """Milliseconds between samples; half an hour where sampling is regular and no interval is named."""
    if definition.sampling == "irregular":
        return None
    if definition.sampling != "regular":
        raise Refused(f"sampling {definition.sampling!r} is not known; regular and irregular are")
    match = _INTERVAL.match(definition.interval or "PT30M")
    if match is None:
        raise Refused(f"interval {definition.interval!r} is not an ISO 8601 duration of days, hours, minutes, seconds")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    interval = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    if not 1000 <= interval <= DAY:
        raise Refused("a sampling interval is between one second and one day")
    return interval
