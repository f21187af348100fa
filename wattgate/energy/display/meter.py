"""Energy that a home's meters have counted today and this month. No I/O. Instants are ms since 1970 (UTC)."""

from enum import Enum
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from wattgate.energy.costs.timeline import BlockRates
from wattgate.energy.display.energy_total import EnergyTotal, estimated_parts
from wattgate.energy.display.live_power import PowerIntegral, integral_to_energy
from wattgate.energy.display.rate_schedule import RateSchedule
from wattgate.enums import EnergyUnit


class MeterKind(Enum):
    """The kind of energy that a meter counts; the value is the classifier."""

    ELECTRICITY = "electricity.consumption"
    EXPORTED = "electricity.export"
    GAS = "gas.consumption"


class TimeSpan(NamedTuple):
    """The time [start, end)."""

    start: int
    end: int


class EnergyEstimate(NamedTuple):
    """The energy estimated for the time from `at` to `complete_to`, and the meter's `block_usage` with it.

    `known_ms` is the time in which the energy is known.
    """

    at: int
    total: EnergyTotal
    complete_to: int
    block_usage: tuple[int, int]
    known_ms: int


class PeriodCount(NamedTuple):
    """The total of a day or month, and the instant up to which no sample is missing.

    `known_ms` is the time in which the energy is known, or None if sampling is irregular.
    """

    span: TimeSpan
    total: EnergyTotal
    complete_to: int
    known_ms: int | None = None

    def add_estimate(self, estimate: EnergyEstimate | None) -> "PeriodCount":
        """Return the count with estimated energy, if that begins within the span.

        The end of that energy becomes the end of the count, unless there is a gap before it.
        """
        if estimate is None:
            return self
        at, more, complete_to, _, known_ms = estimate
        if not self.span.start <= at < self.span.end:
            return self
        new_complete_to = complete_to if self.complete_to >= at else self.complete_to
        known = None if self.known_ms is None else self.known_ms + known_ms
        return PeriodCount(self.span, self.total + more, new_complete_to, known)

    def unknown_share(self, now: int) -> float | None:
        """Return the share of the time so far in which the energy is unknown; None with irregular sampling."""
        elapsed = min(now, self.span.end) - self.span.start
        if self.known_ms is None or elapsed <= 0:
            return None if self.known_ms is None else 0.0
        return max(0.0, 1 - self.known_ms / elapsed)


class Meter(msgspec.Struct, frozen=True):
    """A series of energy that belongs to a home.

    Energy from `stored_to` is not stored yet. It is estimated from the power source at position `source_index`, if
    there is one: from its negative power if `counts_negative_power`. `block_usage` is the start of a block tariff's
    period, and the energy counted since.
    """

    kind: MeterKind
    unit: str
    energy_unit: EnergyUnit
    rates: RateSchedule | None
    counts: tuple[PeriodCount, ...]
    stored_to: int
    source_index: int | None = None
    counts_negative_power: bool = False
    block_usage: tuple[int, int] = (0, 0)

    def count_for(self, span: TimeSpan) -> PeriodCount:
        """Return the count of a day or month. A new one starts empty."""
        for count in self.counts:
            if count.span == span:
                return count
        return PeriodCount(span, EnergyTotal(), span.start, 0)

    def block_energy(self, at: int) -> int:
        """Return the energy that counts towards the limits of the block tariff in force at an instant."""
        rule = self.rates.rule_at(at) if self.rates else None
        return self.block_usage[1] if isinstance(rule, BlockRates) and rule.since == self.block_usage[0] else 0

    def estimate(self, integral: PowerIntegral, complete_to: int) -> "EnergyEstimate | None":
        """Return the estimated energy of a half hour, which is known up to `complete_to`; None if it is stored."""
        if integral.at < self.stored_to:
            return None
        energy = integral_to_energy(integral.negative if self.counts_negative_power else integral.positive)
        rule, counted = self.rates.rule_at(integral.at) if self.rates else None, self.block_energy(integral.at)
        more = EnergyTotal().add_parts(estimated_parts(integral.at, energy, rule, counted))
        block_usage = (rule.since, counted + energy) if isinstance(rule, BlockRates) else self.block_usage
        return EnergyEstimate(integral.at, more, complete_to, block_usage, integral.known_ms)

    def with_estimate(self, integral: PowerIntegral, complete_to: int) -> "Meter":
        """Return the meter with the estimated energy of a half hour, which is known up to `complete_to`."""
        estimate = self.estimate(integral, complete_to)
        if estimate is None:
            return self
        counts = tuple(count.add_estimate(estimate) for count in self.counts)
        return replace(self, counts=counts, block_usage=estimate.block_usage)
