"""Readings of streams and files, as arrays: checked and put in order without a look at single ones."""

from dataclasses import dataclass

import numpy as np

from wattgate.db.readings.recording import Readings
from wattgate.energy.arrays import Floats, Integers, firsts
from wattgate.energy.storage_limits import Limits
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers.recording import TWICE
from wattgate.graphql.services.reading_targets import Target, Targets, UnknownTarget, store
from wattgate.principal import Permission

Series = tuple[str, str | None]
"""A resource, and the name of its field, or None for its first."""


@dataclass(frozen=True, slots=True)
class ReadingArrays:
    """Readings of some series in columns: `place` is that of a reading's series among `series`.

    `at` is in ms since 1970, `value` the nearest double, `quality` a code (`storage.QUALITY_CODES`).
    """

    series: list[Series]
    place: Integers
    at: Integers
    value: Floats
    quality: Integers


@dataclass(frozen=True, slots=True)
class RecordedArrays:
    """How many readings are stored, and the index and reason of each that is not."""

    recorded: int
    refused: list[tuple[int, str]]


@operation(Kind.MUTATION, returns=RecordedArrays, needs=Permission.READINGS_WRITE)
async def record_reading_arrays(call: Call, *, batch: ReadingArrays) -> RecordedArrays:
    """Store readings as `record_reading_columns` does; it is the caller who bounds their number."""
    targets = await Targets.of(call, {resource_id for resource_id, _ in batch.series})
    taking = _Taking(targets, batch)
    readings = taking.readings()
    await store(call, targets, readings)
    return RecordedArrays(len(readings.at), taking.refused)


class _Taking:
    """A batch on its way through the checks: what is still to be stored, by its index, and what is refused."""

    def __init__(self, targets: Targets, batch: ReadingArrays) -> None:
        self.refused: list[tuple[int, str]] = []
        self._targets = targets
        self._batch = batch
        self._known: list[Target] = []
        self._place = self._of_known()

    def readings(self) -> Readings:
        """What is to be stored."""
        index, value = self._allowed(np.flatnonzero(self._place >= 0))
        keys = [(one.number, one.field.index, one.field.hourly) for one in self._known]
        number, field, hourly = np.array(keys, dtype=np.int64).reshape(-1, 3).T
        place = self._place[index]
        columns = (number[place], field[place], self._batch.at[index], value, self._batch.quality[index], hourly[place])
        chosen, twice = _in_order(*columns[:5])
        self.refused += [(int(one), TWICE) for one in index[twice]]
        return Readings(*(column[chosen] for column in columns))

    def _of_known(self) -> Integers:
        """The place of each reading's target among the known ones, -1 where there is none."""
        of_series = np.full(len(self._batch.series), -1, dtype=np.int64)
        reasons: dict[int, str] = {}
        for place, (resource_id, field_name) in enumerate(self._batch.series):
            try:
                target = self._targets.find(resource_id, field_name)
            except UnknownTarget as unknown:
                reasons[place] = str(unknown)
            else:
                of_series[place] = len(self._known)
                self._known.append(target)
        found = of_series[self._batch.place]
        self.refused += [(int(one), reasons[int(self._batch.place[one])]) for one in np.flatnonzero(found < 0)]
        return found

    def _allowed(self, index: Integers) -> tuple[Integers, Integers]:
        """Which of these readings their fields and types allow, and the integers that are stored for them."""
        batch, place = self._batch, self._place[index]
        limits = Limits.of([one.field for one in self._known], [one.oldest for one in self._known])
        scaled, good = limits.taken(place, batch.at[index], batch.value[index], self._targets.now_ms)
        for one in index[~good]:
            target = self._known[self._place[one]]
            reason = target.reason(int(batch.at[one]), float(batch.value[one]), self._targets.now_ms)
            self.refused.append((int(one), reason))
        return index[good], scaled[good]


def _in_order(
    number: Integers, field: Integers, at: Integers, value: Integers, quality: Integers
) -> tuple[Integers, Integers]:
    """The places of readings in the order of their key, and of those that contradict an earlier one of the same key.

    One that repeats an earlier one stands in neither.
    """
    order = np.lexsort((at, field, number))  # stable: of the same key what was given first stands first
    first = firsts(number[order], field[order], at[order])
    kept = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    other = (value[order] != value[kept]) | (quality[order] != quality[kept])
    return order[first], order[other]
