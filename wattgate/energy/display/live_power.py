"""Live power of a home, and the energy that is estimated from it. No I/O.

Instants and durations are milliseconds. Integrals of power over time are in W times milliseconds.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.costs.timeline import ENERGY_DECIMALS
from wattgate.energy.quantities import Power
from wattgate.energy.storage_fields import ReadingField

MIN_HOLD_MS, MAX_HOLD_MS = 2 * MINUTE_MS, HALF_HOUR_MS
"""The bounds of how long a reading of power counts if no newer one arrives."""

MAX_UNKNOWN_MS = 2 * MINUTE_MS
"""How much of a half hour may have unknown power. Above it, the energy of the half hour is not estimated."""

_BILLION: int = 10**ENERGY_DECIMALS
_INTEGRAL_PER_KWH = 3_600 * 10**6
"""The integral of power that equals 1 kWh."""


class PowerIntegral(NamedTuple):
    """The integral of power over the half hour (UTC) that begins at `at`, by sign of the power.

    `known_ms` is the time for which power was known.
    """

    at: int
    positive: int
    negative: int
    known_ms: int


class DisplayPower(msgspec.Struct, frozen=True, gc=False):
    """A home's power at the meter; `net` is import minus export.

    It is too old to be shown from `valid_until` on.
    """

    net: Power
    imported: Power
    exported: Power
    at_ms: int
    valid_until_ms: int

    @property
    def at(self) -> datetime:
        return from_ms(self.at_ms)

    @property
    def valid_until(self) -> datetime:
        return from_ms(self.valid_until_ms)


class PowerSource(msgspec.Struct, frozen=True):
    """A field that reports power: its newest reading, and the integral over the half hour of that reading.

    `exports` is true if the field reports exported power. `integral` covers the time until `integrated_to`, also if
    that is after the half hour. The newest reading counts for `hold_ms` at most.
    """

    resource_id: str
    field: ReadingField
    exports: bool
    at: int
    watts: float
    integral: PowerIntegral
    integrated_to: int
    hold_ms: int = MIN_HOLD_MS

    def integral_at(self, now: int) -> PowerIntegral:
        """Return the integral over the half hour until now."""
        return _extend_integral(self, min(now, self.at + self.hold_ms))

    def with_reading(self, at: int, watts: float) -> "tuple[PowerSource, PowerIntegral | None]":
        """Return the source with a newer reading, and the previous half hour if the reading ends it."""
        slot, known_to = at - at % HALF_HOUR_MS, min(at, self.at + self.hold_ms)
        end = self.integral.at + HALF_HOUR_MS
        following = replace(self, at=at, watts=watts, integral=_extend_integral(self, known_to), integrated_to=at)
        if slot == self.integral.at:
            return following, None
        carried = max(0, known_to - slot) if slot == end else 0
        started = _add_power(PowerIntegral(slot, 0, 0, 0), self.watts, carried)
        return replace(following, integral=started), _extend_integral(self, min(known_to, end))


def hold_of_interval(interval_ms: int) -> int:
    """Return how long a reading of power counts, from the interval at which readings arrive.

    A single lost reading is bridged. After a longer gap, the power is unknown.
    """
    return min(max(2 * interval_ms, MIN_HOLD_MS), MAX_HOLD_MS)


def _extend_integral(source: PowerSource, until: int) -> PowerIntegral:
    """Return the integral until an instant, at which the newest reading counts. It may be before `integrated_to`."""
    extra_ms = max(until, source.at) - max(source.integrated_to, source.at)
    return _add_power(source.integral, source.watts, extra_ms)


def _add_power(integral: PowerIntegral, watts: float, duration_ms: int) -> PowerIntegral:
    at, positive, negative, known_ms = integral
    extra = round(watts * duration_ms)
    return (
        PowerIntegral(at, positive + extra, negative, known_ms + duration_ms)
        if watts > 0
        else PowerIntegral(at, positive, negative - extra, known_ms + duration_ms)
    )


def to_watts(value: float, unit: str) -> float:
    """Return the power in W of a reading in W or kW."""
    return value * 1000 if unit.lower() == "kw" else value


def can_estimate_energy(integral: PowerIntegral, now: int) -> bool:
    """Return whether power was known long enough to estimate the energy of the half hour until now."""
    return min(now - integral.at, HALF_HOUR_MS) - integral.known_ms <= MAX_UNKNOWN_MS


def integral_to_energy(integral: int) -> int:
    """Return the energy of an integral of power, in billionths of a kWh."""
    return integral * _BILLION // _INTEGRAL_PER_KWH


def total_power(sources: Sequence[PowerSource], valid_until: int) -> DisplayPower | None:
    """Return the power of a home, summed over its sources; None if there are no sources.

    Negative power of an import field counts as export, unless another field reports export.
    """
    if not sources:
        return None
    import_watts = [source.watts for source in sources if not source.exports]
    export_watts = [max(0.0, source.watts) for source in sources if source.exports]
    imported = sum([max(0.0, watts) for watts in import_watts])
    exported = sum(export_watts) if export_watts else sum([max(0.0, -watts) for watts in import_watts])
    at = min([source.at for source in sources])
    return DisplayPower(Power(imported - exported), Power(imported), Power(exported), at, valid_until)
