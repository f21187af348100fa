"""Derive the energy of intervals from the registers that displays send, when registers are recorded.

The energy is stored in the first field of the resource, with the quality ESTIMATED, so that displays, costs and rules
use it as other readings. It replaces estimated readings alone. Readings of the meter replace it when they arrive.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.energy.meters.meter_messages import REGISTER_FIELDS
from wattgate.energy.meters.registers import MAX_GAP_MS, RegisterPoint, derive_energy
from wattgate.energy.storage_fields import POWER_FIELD, QUALITY_CODES, ReadingField, parse_fields
from wattgate.enums import ReadingQuality
from wattgate.operations.core.operation import Call
from wattgate.operations.readings.reading_targets import ReadingTarget, ReadingTargets, UnknownTarget

ESTIMATED = QUALITY_CODES[ReadingQuality.ESTIMATED]


@dataclass(frozen=True, slots=True)
class _Register:
    """A register of a resource, and the field of its energy, which has the same unit."""

    target: ReadingTarget
    energy: ReadingTarget

    @property
    def energy_key(self) -> SeriesKey:
        return self.energy.number, self.energy.field.index

    @property
    def interval_ms(self) -> int:
        return self.energy.field.interval_ms or 0

    def changes_ends(self, first: int, last: int) -> bool:
        """Return whether an interval begins or ends between two instants."""
        start = self.energy.field.start_ms
        return (last - start) // self.interval_ms > (first - 1 - start) // self.interval_ms

    def whole_intervals(self, number: int, field: int, first: int, last: int) -> tuple[int, int, int, int]:
        """Return the span of the intervals that contain two instants, without its first and last millisecond.

        So a register that is read exactly at its start or end is outside, where `extend_spans` looks for one.
        """
        start, interval = self.energy.field.start_ms, self.interval_ms
        return number, field, first - (first - start) % interval + 1, last + (start - last) % interval - 1

    def derive(self, points: Sequence[RegisterPoint]) -> dict[int, int]:
        """Return the energy of each interval, by its start."""
        energy = self.energy.field
        return derive_energy(
            points,
            decimals=self.target.field.decimals,
            energy_decimals=energy.decimals,
            interval_ms=self.interval_ms,
            phase_ms=energy.start_ms % self.interval_ms,
        )


def energy_field_of(fields: Sequence[ReadingField], register: ReadingField) -> ReadingField | None:
    """Return the field for the energy of a register: the first one, if it has intervals and the unit of the register.

    A volume of gas is not the energy of a field in kWh: its calorific value is not known.
    """
    first = fields[0]
    if register.name not in REGISTER_FIELDS or first.name in (*REGISTER_FIELDS, POWER_FIELD):
        return None
    return first if first.interval_ms is not None and first.unit == register.unit else None


async def derive_register_energy(
    call: Call, targets: ReadingTargets, readings: ReadingColumns
) -> ReadingColumns | None:
    """Store the energy that recorded registers give, and return it. Return None if they give none."""
    registers = _find_registers(targets)
    if not registers:
        return None
    bounds = readings.series_bounds()
    columns = (readings.number[bounds[:-1]], readings.field[bounds[:-1]])
    ends = (readings.at[bounds[:-1]], readings.at[bounds[1:] - 1])
    spans = [
        (number, field, first, last)
        for number, field, first, last in zip(*(column.tolist() for column in (*columns, *ends)), strict=True)
        if (number, field) in registers
    ]
    if not spans:
        return None
    near = await call.rows.readings.extend_spans(spans, most_ms=2 * MAX_GAP_MS)
    whole = [registers[span[:2]].whole_intervals(*span) for span in near if registers[span[:2]].changes_ends(*span[2:])]
    if not whole:
        return None
    extended = await call.rows.readings.extend_spans(whole, most_ms=2 * MAX_GAP_MS)
    points = await call.rows.readings.list_between(extended)
    rows = await _changed_rows(call, targets, {key: (registers[key], read) for key, read in points.items()})
    if not rows:
        return None
    derived = ReadingColumns.from_rows(rows)
    await call.rows.readings.record(derived, targets.now_ms)
    return derived


def _find_registers(targets: ReadingTargets) -> dict[SeriesKey, _Register]:
    """Return the registers among the targets of a call whose energy can be derived."""
    registers: dict[SeriesKey, _Register] = {}
    for target in targets.used():
        resource = target.resource
        if target.field.name not in REGISTER_FIELDS:
            continue
        field = energy_field_of(parse_fields(resource.storage), target.field)
        if field is not None:
            with suppress(UnknownTarget):
                energy = targets.find(resource.resource_id, field.name)
                registers[target.number, target.field.index] = _Register(target, energy)
    return registers


async def _changed_rows(
    call: Call,
    targets: ReadingTargets,
    points_by_register: Mapping[SeriesKey, tuple[_Register, Sequence[StoredReading]]],
) -> list[ReadingRow]:
    """Return the rows of derived energy that are not stored yet, and whose instants have no reading of the meter."""
    energy_by_key = {
        register.energy_key: (register, energy)
        for register, points in points_by_register.values()
        if (energy := register.derive([RegisterPoint(point.at, point.value) for point in points]))
    }
    spans = [(*key, min(energy), max(energy)) for key, (_, energy) in energy_by_key.items()]
    stored = await call.rows.readings.list_between(spans)
    rows: list[ReadingRow] = []
    for key, (register, energy) in energy_by_key.items():
        known = {reading.at: reading for reading in stored[key]}
        for at, value in energy.items():
            before = known.get(at)
            if before is not None and (before.quality != ESTIMATED or before.value == value):
                continue
            if register.energy.takes(at, value, targets.now_ms):
                rows.append(ReadingRow(*key, at, value, ESTIMATED, register.energy.field.has_hourly_rollup))
    return rows
