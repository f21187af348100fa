"""Record readings: all or none of a call, or each valid one of readings in columns."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import numpy as np

from wattgate.clock import to_ms
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.energy.arrays import IntArray, sort_and_deduplicate
from wattgate.energy.consent_gaps import find_without_consent
from wattgate.energy.sampling import format_length
from wattgate.energy.storage_fields import DIVIDED, QUALITY_CODES, ReadingField, StorageError, StorageLimits
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.core.operation import MEASURED_DATA, Call, OperationKind, RestRoute, operation
from wattgate.operations.readings.reading_targets import (
    ReadingTarget,
    ReadingTargets,
    UnknownTarget,
    WithoutConsentError,
)
from wattgate.operations.readings.stored_readings import record_readings_of, store_readings
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary.cost_weights import per_reading
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings
from wattgate.operations.vocabulary.tags import Tag
from wattgate.pauses import with_pauses
from wattgate.principal import Permission
from wattgate.realtime.events import Event
from wattgate.values.annotations import Described, MaxItems

MAX_READINGS = 10_000
"""Maximum readings in a call."""

CONFLICTING_DUPLICATE = "the same instant is given twice with different values"


@operation(
    OperationKind.MUTATION,
    returns=types.Recorded,
    needs=Permission.READINGS_WRITE,
    audit=MEASURED_DATA,
    rest=RestRoute("POST", "/resource/{resourceId}/readings", Tag.RESOURCES_AND_READINGS),
    raises=(Conflict,),
    weight=per_reading(max_items=MAX_READINGS),
)
async def record_readings(
    call: Call,
    *,
    series: Annotated[list[types.NewReadings], MaxItems(10_000), Described("Readings, grouped by resource and field.")],
) -> types.Recorded:
    """Record at most 10,000 readings of any of the caller's resources. Readings of the same instant are replaced.

    If the storage definition does not allow a reading, no reading is stored. The error lists every such reading in
    `problems`. Readings of a time without the consent of the household are counted, and not stored.
    """
    return await store_all_or_none(call, series)


@operation(
    OperationKind.MUTATION,
    returns=types.RecordedColumns,
    needs=Permission.READINGS_WRITE,
    audit=MEASURED_DATA,
    rest=RestRoute("POST", "/readings", Tag.RESOURCES_AND_READINGS),
    raises=(NotFound, Conflict),
    weight=per_reading(max_items=MAX_READINGS, readings_per_unit=4),
)
async def record_reading_columns(
    call: Call,
    *,
    series: Annotated[
        list[types.NewReadingColumns], MaxItems(10_000), Described("Readings, grouped by resource and field.")
    ],
) -> types.RecordedColumns:
    """Record at most 10,000 readings, given as columns. Readings of the same instant are replaced.

    Valid readings are stored; each rejected reading is returned with its reason. The newest stored reading of each
    series is published to subscribers.
    """
    _check_count(sum(len(entry.at) for entry in series))
    _check_column_lengths(series)
    targets = await ReadingTargets.load(call, [entry.resource_id for entry in series])
    if targets.has_learning:
        await targets.learn(call, [(entry.resource_id, entry.field, _instants_ms(entry.at)) for entry in series])
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
    if refused:
        refused += _remove_divided(batch, targets, series)
    await store_readings(call, targets, ReadingColumns.from_rows(batch.readings.values()))
    return types.RecordedColumns(recorded=len(batch.readings), refused=refused)


def _instants_ms(instants: Iterable[datetime]) -> IntArray:
    return np.array([to_ms(at) for at in instants], np.int64)


def _remove_divided(
    batch: "ReadingBatch", targets: ReadingTargets, series: Sequence[types.NewReadingColumns]
) -> Iterator[types.RefusedReading]:
    """Remove the readings of a batch in whose intervals finer ones begin. Yield the rejection of each."""
    known = dict[tuple[int, int], list[tuple[int, int, int]]]()
    fields = dict[tuple[int, int], ReadingField]()
    for position, entry in enumerate(series):
        with suppress(UnknownTarget):
            target = targets.find(entry.resource_id, entry.field)
            key = (target.number, target.field.index)
            fields[key] = target.field
            known.setdefault(key, []).extend((position, index, to_ms(at)) for index, at in enumerate(entry.at))
    for key, rows in known.items():
        at = np.array([ms for _, _, ms in rows], np.int64)
        divided = StorageLimits.from_fields([fields[key]], [0]).find_divided(np.zeros(len(at), np.int64), at)
        for number in () if divided is None else np.flatnonzero(divided).tolist():
            position, index, ms = rows[number]
            if batch.readings.pop((*key, ms), None) is not None:
                reason = DIVIDED.format(interval=format_length(fields[key].interval_ms or 0))
                yield types.RefusedReading(series=position, index=index, reason=reason)


async def store_all_or_none(call: Call, series: Sequence[types.NewReadings]) -> types.Recorded:
    """Store the readings of a call and return how many. Raise BadInput, with every problem, unless all are valid.

    Readings of a time without consent are left out.
    """
    _check_count(sum(len(entry.readings) for entry in series))
    targets = await ReadingTargets.load(call, [entry.resource_id for entry in series])
    if targets.has_learning:
        await targets.learn(call, [(one.resource_id, one.field, _instants_of(one.readings)) for one in series])
    if all(isinstance(entry.readings, DecodedReadings) for entry in series):
        valid = _ValidSeries.find(targets, series)
        if valid is not None:
            return await valid.store(call, targets)
    batch, problems, without_consent = ReadingBatch(targets), list[Problem](), 0
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
            except WithoutConsentError:
                without_consent += 1
            except StorageError as refused:
                problems.append(Problem((*path, "readings", index), str(refused)))
    if problems:
        raise BadInput(
            f"{len(problems):,} readings are invalid, so none was stored. See `problems`.", problems=problems
        )
    await record_readings_of(call, targets, ReadingColumns.from_rows(batch.readings.values()))
    async for stored in with_pauses(batch.readings.values()):
        call.emit(targets.build_event(stored))
    return types.Recorded(recorded=len(batch.readings), without_consent=without_consent)


def _instants_of(readings: Sequence[types.NewReading]) -> IntArray:
    return readings.at if isinstance(readings, DecodedReadings) else _instants_ms(one.at for one in readings)


@dataclass(frozen=True, slots=True)
class _ValidSeries:
    """Decoded series without any invalid reading: their targets, and their readings in columns, as they were sent.

    `kept` are the positions of the readings to store, sorted by key. Repeated readings are left out, and those of a
    time without consent, which are counted.
    """

    targets: Sequence[ReadingTarget]
    series_index: IntArray
    at: IntArray
    scaled: IntArray
    quality: IntArray
    kept: IntArray
    without_consent: int

    @classmethod
    def find(cls, targets: ReadingTargets, series: Sequence[types.NewReadings]) -> "_ValidSeries | None":
        """Return the series, or None if one of them or of their readings is invalid."""
        if not series:
            return None
        try:
            found = [targets.find(entry.resource_id, entry.field) for entry in series]
        except UnknownTarget:
            return None
        columns: Any = [entry.readings for entry in series]
        series_index = np.repeat(np.arange(len(series)), list(map(len, columns)))
        at, value, quality = (
            np.concatenate([getattr(readings, name) for readings in columns]) for name in ("at", "value", "quality")
        )
        limits = StorageLimits.from_fields([target.field for target in found], [target.oldest_ms for target in found])
        scaled, valid = limits.encode(series_index, at, value, targets.now_ms)
        number, field = np.array([(target.number, target.field.index) for target in found], np.int64).T[:, series_index]
        kept, conflicting = sort_and_deduplicate((number, field, at), (scaled, quality))
        if len(conflicting) or not valid.all():
            return None
        count = 0
        withheld = find_without_consent([target.bounds for target in found], series_index, at)
        if withheld is not None:
            kept, count = kept[~withheld[kept]], int(withheld.sum())
        return cls(found, series_index, at, scaled, quality, kept, count)

    async def store(self, call: Call, targets: ReadingTargets) -> types.Recorded:
        """Store the readings, emit the event of each, and return how many."""
        keys = [(target.number, target.field.index, target.field.has_hourly_rollup) for target in self.targets]
        number, field, hourly = np.array(keys, np.int64).T[:, self.series_index[self.kept]]
        at, scaled, quality = (column[self.kept] for column in (self.at, self.scaled, self.quality))
        readings = ReadingColumns(number, field, at, scaled, quality, hourly)
        await record_readings_of(call, targets, readings)
        async for event in with_pauses(self._build_events(targets)):
            call.emit(event)
        return types.Recorded(recorded=len(self.kept), without_consent=self.without_consent)

    def _build_events(self, targets: ReadingTargets) -> Iterator[Event]:
        """Yield the events of the stored readings, in the order in which they were sent."""
        stored = np.sort(self.kept)
        bounds = np.searchsorted(self.series_index[stored], np.arange(len(self.targets) + 1)).tolist()
        for target, start, end in zip(self.targets, bounds, bounds[1:], strict=False):
            readings = stored[start:end]
            yield from targets.build_events(target, self.at[readings], self.scaled[readings], self.quality[readings])


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
