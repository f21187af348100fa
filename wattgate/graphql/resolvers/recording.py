"""Readings on their way in: a call that takes all or none, and columns of which each reading is taken or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from wattgate.db.readings.recording import Incoming, Readings
from wattgate.energy.storage_fields import QUALITY_CODES, Refused
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import per_item
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.services.reading_targets import Target, Targets, UnknownTarget, store, tell_rules
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission

MAX_READINGS = 10_000
"""How many readings a call takes at most."""

TWICE = "the same instant is given twice with different values"


@dataclass(frozen=True, slots=True)
class Recorded:
    recorded: int


@dataclass(frozen=True, slots=True)
class RefusedReading:
    series: int
    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedColumns:
    recorded: int
    refused: list[RefusedReading]


@operation(
    Kind.MUTATION,
    returns=types.Recorded,
    needs=Permission.READINGS_WRITE,
    rest=Rest("POST", "/resource/{resourceId}/readings"),
    weight=per_item("series", "readings", most=MAX_READINGS),
)
async def record_readings(call: Call, *, series: list[types.NewReadings]) -> Recorded:
    """Store readings, at most 10,000 a call, of any of the caller's resources; known ones are replaced.

    All are stored or none: a reading that its storage definition does not allow refuses the call, and the
    problems name every such reading.
    """
    _check_count(sum(len(one.readings) for one in series))
    targets = await Targets.of(call, [one.resource_id for one in series])
    batch, problems = Batch(targets), list[Problem]()
    for position, one in enumerate(series):
        path = ("series", position)
        try:
            target = targets.find(one.resource_id, one.field)
        except UnknownTarget as unknown:
            problems.append(Problem((*path, unknown.member), str(unknown)))
            continue
        for index, reading in enumerate(one.readings):
            try:
                batch.add(target, reading.at, reading.value, reading.quality)
            except Refused as refused:
                problems.append(Problem((*path, "readings", index), str(refused)))
    if problems:
        raise BadInput(f"{len(problems):,} readings are refused, so none is stored", problems=problems)
    await call.rows.series.record(Readings.of(batch.readings.values()), targets.now_ms)
    for stored in batch.readings.values():
        call.emit(targets.event(stored))
    tell_rules(call, targets)
    return Recorded(len(batch.readings))


@operation(
    Kind.MUTATION,
    returns=types.RecordedColumns,
    needs=Permission.READINGS_WRITE,
    rest=Rest("POST", "/readings"),
    weight=per_item("series", "at", most=MAX_READINGS, per_unit=4),
)
async def record_reading_columns(call: Call, *, series: list[types.NewReadingColumns]) -> RecordedColumns:
    """Store readings given in columns, at most 10,000 a call; known ones are replaced.

    Each reading that can be stored is; the others are refused one by one, with the reason. Of each series the newest
    stored reading is told to those who watch.
    """
    _check_count(sum(len(one.at) for one in series))
    _check_columns(series)
    targets = await Targets.of(call, [one.resource_id for one in series])
    batch, refused = Batch(targets), list[RefusedReading]()
    for position, one in enumerate(series):
        try:
            target = targets.find(one.resource_id, one.field)
        except UnknownTarget as unknown:
            refused.extend(RefusedReading(position, index, str(unknown)) for index in range(len(one.at)))
            continue
        qualities = one.quality or [ReadingQuality.ACTUAL] * len(one.at)
        for index, (at, value, quality) in enumerate(zip(one.at, one.value, qualities, strict=True)):
            try:
                batch.add(target, at, value, quality)
            except Refused as reason:
                refused.append(RefusedReading(position, index, str(reason)))
    await store(call, targets, Readings.of(batch.readings.values()))
    return RecordedColumns(len(batch.readings), refused)


class Batch:
    """Readings that are checked and wait to be stored together, by series and instant."""

    def __init__(self, targets: Targets) -> None:
        self._now_ms = targets.now_ms
        self.readings: dict[tuple[int, int, int], Incoming] = {}

    def add(self, target: Target, at: datetime, value: Decimal, quality: ReadingQuality) -> None:
        """Take a reading. Refused where its field or its type does not allow it, or where it contradicts another."""
        ms, scaled = target.checked(at, value, self._now_ms)
        key = (target.number, target.field.index, ms)
        reading = Incoming(*key, scaled, QUALITY_CODES[quality], target.field.hourly)
        if self.readings.setdefault(key, reading) != reading:
            raise Refused(TWICE)


def _check_count(count: int) -> None:
    if count > MAX_READINGS:
        problem = Problem(("series",), f"holds {count} readings")
        raise BadInput(f"a call takes at most {MAX_READINGS:,} readings", problems=[problem])


def _check_columns(series: Sequence[types.NewReadingColumns]) -> None:
    problems = [
        Problem(("series", position, name), f"has {len(column)} items, and `at` has {len(one.at)}")
        for position, one in enumerate(series)
        for name, column in (("value", one.value), ("quality", one.quality))
        if column is not None and len(column) != len(one.at)
    ]
    if problems:
        raise BadInput("columns of one series are equally long", problems=problems)
