"""Record readings given as arrays, from streams and files: validate and sort them with NumPy, not one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from wattgate.db.readings.recording import ReadingColumns
from wattgate.energy.arrays import FloatArray, IntArray, sort_and_deduplicate
from wattgate.energy.buckets import HOUR_MS
from wattgate.energy.consent_gaps import find_without_consent
from wattgate.energy.storage_fields import StorageLimits
from wattgate.operations.core.operation import MEASURED_DATA, Call, OperationKind, operation
from wattgate.operations.readings.reading_targets import ReadingTarget, ReadingTargets, UnknownTarget
from wattgate.operations.readings.recording import CONFLICTING_DUPLICATE
from wattgate.operations.readings.stored_readings import store_readings
from wattgate.operations.vocabulary.cost_weights import (
    BULK_READINGS_PER_UNIT,
    MUTATION_WEIGHT,
    RECORDED_HOURS_PER_UNIT,
    ArgumentMeasure,
)
from wattgate.principal import Permission

SeriesKey = tuple[str, str | None]
"""Resource id and field name. None selects the resource's first field."""

_MAX_HOURS = 2**43
"""More than the hours between any two instants in ms with 64 bits."""


@dataclass(frozen=True, slots=True)
class BulkReadingBatch:
    """Readings of several series, one array element for each reading.

    `series_index` is the position in `series`. `at` is in ms since 1970. `value` is the nearest double. `quality` is a
    code of `storage_fields.QUALITY_CODES`. `max_reasons` is the number of rejected readings, the first ones, for which
    the caller needs a reason; None means all. With `keeps_divided`, the caller has compared whole series with the
    intervals of their fields, so that a single reading inside an interval says nothing about that interval.
    """

    series: list[SeriesKey]
    series_index: IntArray
    at: IntArray
    value: FloatArray
    quality: IntArray
    max_reasons: int | None = None
    keeps_divided: bool = False


@dataclass(frozen=True, slots=True)
class RecordedArrays:
    """The number of stored readings, the index and reason of rejected ones, and the number of further rejected ones."""

    recorded: int
    refused: list[tuple[int, str]]
    more_refused: int = 0


def _batch_cost(now: datetime, batch: Any) -> int:
    """Return the cost of a batch: a share for each reading, and for each hour whose aggregates it changes."""
    if not isinstance(batch, BulkReadingBatch):
        return MUTATION_WEIGHT
    hours = len(np.unique(batch.series_index * _MAX_HOURS + batch.at // HOUR_MS))
    return MUTATION_WEIGHT + len(batch.at) // BULK_READINGS_PER_UNIT + hours // RECORDED_HOURS_PER_UNIT


@operation(
    OperationKind.MUTATION,
    returns=RecordedArrays,
    needs=Permission.READINGS_WRITE,
    audit=MEASURED_DATA,
    weight=ArgumentMeasure(("batch",), _batch_cost),
    internal=True,
)
async def record_reading_arrays(call: Call, *, batch: BulkReadingBatch) -> RecordedArrays:
    """Store readings as `record_reading_columns` does. The caller limits their number."""
    checked = await validate_batch(call, batch)
    await store_readings(call, checked.targets, checked.readings)
    return RecordedArrays(
        len(checked.readings.at), checked.refused, more_refused=len(checked.rejected) - len(checked.refused)
    )


@dataclass(frozen=True, slots=True)
class ValidatedBatch:
    """The targets of a batch, its valid readings, the first rejected ones with their reasons, and all rejected ones."""

    targets: ReadingTargets
    readings: ReadingColumns
    refused: list[tuple[int, str]]
    rejected: IntArray


async def validate_batch(call: Call, batch: BulkReadingBatch) -> ValidatedBatch:
    """Validate a batch. Store nothing."""
    targets = await ReadingTargets.load(call, {resource_id for resource_id, _ in batch.series})
    if targets.has_learning:
        await targets.learn(call, _instants_by_series(batch))
    validator = _BatchValidator(targets, batch)
    readings = validator.build_readings()
    return ValidatedBatch(targets, readings, validator.list_rejected(batch.max_reasons), validator.rejected)


def _instants_by_series(batch: BulkReadingBatch) -> Iterator[tuple[str, str | None, IntArray]]:
    order = np.argsort(batch.series_index, kind="stable")
    bounds = np.searchsorted(batch.series_index[order], np.arange(len(batch.series) + 1)).tolist()
    for (resource_id, field_name), start, end in zip(batch.series, bounds, bounds[1:], strict=False):
        yield resource_id, field_name, batch.at[order[start:end]]


class _BatchValidator:
    """Validates a batch in columns. Only the reason of a rejected reading takes work of its own."""

    def __init__(self, targets: ReadingTargets, batch: BulkReadingBatch) -> None:
        self._rejected: list[tuple[IntArray, Callable[[int], str]]] = []
        self._targets = targets
        self._batch = batch
        self._known_targets: list[ReadingTarget] = []
        self._target_index = self._resolve_targets()

    def build_readings(self) -> ReadingColumns:
        """Return the valid readings, sorted by series and instant, without duplicates."""
        index, value = self._validate_values(np.flatnonzero(self._target_index >= 0))
        keys = [(target.number, target.field.index, target.field.has_hourly_rollup) for target in self._known_targets]
        number, field, hourly = np.array(keys, dtype=np.int64).reshape(-1, 3).T
        target_index = self._target_index[index]
        columns = (
            number[target_index],
            field[target_index],
            self._batch.at[index],
            value,
            self._batch.quality[index],
            hourly[target_index],
        )
        kept, conflicting = sort_and_deduplicate(columns[:3], columns[3:5])
        self._rejected.append((index[conflicting], lambda position: CONFLICTING_DUPLICATE))
        return ReadingColumns(*(column[kept] for column in columns))

    @property
    def rejected(self) -> IntArray:
        """The indexes of all rejected readings."""
        return np.concatenate([rejected for rejected, _ in self._rejected])

    def list_rejected(self, max_reasons: int | None) -> list[tuple[int, str]]:
        """Return the index and reason of the first rejected readings."""
        positions = self.rejected
        reasons = np.repeat(np.arange(len(self._rejected)), [len(rejected) for rejected, _ in self._rejected])
        first = np.argsort(positions, kind="stable")[:max_reasons]
        return [
            (position, self._rejected[reason][1](position))
            for position, reason in zip(positions[first].tolist(), reasons[first].tolist(), strict=True)
        ]

    def _resolve_targets(self) -> IntArray:
        """Return for each reading the position of its target in `_known_targets`, or -1 if it has none."""
        target_of_series = np.full(len(self._batch.series), -1, dtype=np.int64)
        reasons: dict[int, str] = {}
        for series_index, (resource_id, field_name) in enumerate(self._batch.series):
            try:
                target = self._targets.find(resource_id, field_name)
            except UnknownTarget as unknown:
                reasons[series_index] = str(unknown)
            else:
                target_of_series[series_index] = len(self._known_targets)
                self._known_targets.append(target)
        target_index = target_of_series[self._batch.series_index]
        self._rejected.append(
            (np.flatnonzero(target_index < 0), lambda position: reasons[int(self._batch.series_index[position])])
        )
        return target_index

    def _validate_values(self, index: IntArray) -> tuple[IntArray, IntArray]:
        """Return the indexes of the valid readings among these, and their values as stored integers."""
        batch, target_index = self._batch, self._target_index[index]
        limits = StorageLimits.from_fields(
            [target.field for target in self._known_targets], [target.oldest_ms for target in self._known_targets]
        )
        scaled, valid = limits.encode(target_index, batch.at[index], batch.value[index], self._targets.now_ms)
        divided = None if batch.keeps_divided else limits.find_divided(target_index, batch.at[index])
        if divided is not None:
            valid &= ~divided
        bounds = [target.bounds for target in self._known_targets]
        without_consent = find_without_consent(bounds, target_index, batch.at[index])
        if without_consent is not None:
            valid &= ~without_consent
        self._rejected.append((index[~valid], self._value_reason))
        return index[valid], scaled[valid]

    def _value_reason(self, position: int) -> str:
        target = self._known_targets[self._target_index[position]]
        at, value = int(self._batch.at[position]), float(self._batch.value[position])
        reason: str = target.rejection_reason(at, value, self._targets.now_ms)
        return reason
