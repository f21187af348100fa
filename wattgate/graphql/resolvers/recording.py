"""Record readings: all or none of a call, or each valid one of readings in columns."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.energy.storage_fields import QUALITY_CODES, StorageError
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import per_reading
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.pauses import with_pauses
from wattgate.graphql.services.reading_targets import (
    ReadingTarget,
    ReadingTargets,
    UnknownTarget,
    notify_alert_rules,
    store_readings,
)
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission

MAX_READINGS = 10_000
"""Maximum readings in a call."""

CONFLICTING_DUPLICATE = "the same instant is given twice with different values"


@operation(
    OperationKind.MUTATION,
    returns=types.Recorded,
    needs=Permission.READINGS_WRITE,
    rest=RestRoute("POST", "/resource/{resourceId}/readings"),
    weight=per_reading(max_items=MAX_READINGS),
)
async def record_readings(call: Call, *, series: list[types.NewReadings]) -> types.Recorded:
    """Record at most 10,000 readings of any of the caller's resources. Readings of the same instant are replaced.

    If the storage definition does not allow a reading, no reading is stored. The error lists every such reading in
    `problems`.
    """
    return types.Recorded(recorded=await store_all_or_none(call, series))


@operation(
    OperationKind.MUTATION,
    returns=types.RecordedColumns,
    needs=Permission.READINGS_WRITE,
    rest=RestRoute("POST", "/readings"),
    weight=per_reading(max_items=MAX_READINGS, readings_per_unit=4),
)
async def record_reading_columns(call: Call, *, series: list[types.NewReadingColumns]) -> types.RecordedColumns:
    """Record at most 10,000 readings, given as columns. Readings of the same instant are replaced.

    Valid readings are stored; each rejected reading is returned with its reason. The newest stored reading of each
    series is published to subscribers.
    """
    _check_count(sum(len(entry.at) for entry in series))
    _check_column_lengths(series)
    targets = await ReadingTargets.load(call, [entry.resource_id for entry in series])
    batch, refused = ReadingBatch(targets), list[types.RefusedReading]()
    for position, entry in enumerate(series):
        try:
            target = targets.find(entry.resource_id, entry.field)
        except UnknownTarget as unknown:
            reason = str(unknown)
            refused += [
                types.RefusedReading(series=position, index=index, reason=reason) for index in range(len(entry.at))
            ]
            continue
        qualities = entry.quality or [ReadingQuality.ACTUAL] * len(entry.at)
        rows = enumerate(zip(entry.at, entry.value, qualities, strict=True))
        async for index, (at, value, quality) in with_pauses(rows):
            try:
                batch.add(target, at, value, quality)
            except StorageError as error:
                refused.append(types.RefusedReading(series=position, index=index, reason=str(error)))
    await store_readings(call, targets, ReadingColumns.from_rows(batch.readings.values()))
    return types.RecordedColumns(recorded=len(batch.readings), refused=refused)


async def store_all_or_none(call: Call, series: Sequence[types.NewReadings]) -> int:
    """Store the readings of a call and return how many. Raise BadInput, with every problem, unless all are valid."""
    _check_count(sum(len(entry.readings) for entry in series))
    targets = await ReadingTargets.load(call, [entry.resource_id for entry in series])
    batch, problems = ReadingBatch(targets), list[Problem]()
    for position, entry in enumerate(series):
        path = ("series", position)
        try:
            target = targets.find(entry.resource_id, entry.field)
        except UnknownTarget as unknown:
            problems.append(Problem((*path, unknown.argument), str(unknown)))
            continue
        async for index, reading in with_pauses(enumerate(entry.readings)):
            try:
                batch.add(target, reading.at, reading.value, reading.quality)
            except StorageError as refused:
                problems.append(Problem((*path, "readings", index), str(refused)))
    if problems:
        raise BadInput(
            f"{len(problems):,} readings are invalid, so none was stored. See `problems`.", problems=problems
        )
    await call.rows.readings.record(ReadingColumns.from_rows(batch.readings.values()), targets.now_ms)
    async for stored in with_pauses(batch.readings.values()):
        call.emit(targets.build_event(stored))
    notify_alert_rules(call, targets)
    return len(batch.readings)


class ReadingBatch:
    """Validated readings to store together, by resource number, field index and instant (ms)."""

    def __init__(self, targets: ReadingTargets) -> None:
        self._now_ms = targets.now_ms
        self.readings: dict[tuple[int, int, int], ReadingRow] = {}

    def add(self, target: ReadingTarget, at: datetime, value: Decimal, quality: ReadingQuality) -> None:
        """Add a reading. Raise StorageError if its field or resource type does not allow it, or if it conflicts."""
        ms, scaled = target.validate(at, value, self._now_ms)
        key = (target.number, target.field.index, ms)
        reading = ReadingRow(*key, scaled, QUALITY_CODES[quality], target.field.has_hourly_rollup)
        if self.readings.setdefault(key, reading) != reading:
            raise StorageError(CONFLICTING_DUPLICATE)


def _check_count(count: int) -> None:
    if count > MAX_READINGS:
        problem = Problem(("series",), f"contain {count:,} readings")
        raise BadInput(f"A call takes at most {MAX_READINGS:,} readings.", problems=[problem])


def _check_column_lengths(series: Sequence[types.NewReadingColumns]) -> None:
    problems = [
        Problem(("series", position, name), f"has {len(column)} items, and `at` has {len(entry.at)}")
        for position, entry in enumerate(series)
        for name, column in (("value", entry.value), ("quality", entry.quality))
        if column is not None and len(column) != len(entry.at)
    ]
    if problems:
        raise BadInput("The columns of a series must have equal lengths. See `problems`.", problems=problems)
