"""The energy that a home's meters have counted, today and this month. Pure. Instants are ms since 1970 (UTC)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from wattgate.energy.display.energy_total import EnergyTotal, estimated_parts
from wattgate.energy.display.live_power import PowerIntegral, integral_to_energy
from wattgate.energy.display.rate_schedule import RateSchedule
from wattgate.energy.timeline import BlockRates


class MeterKind(Enum):
    """What a meter of a home counts; the value is the classifier."""

    ELECTRICITY = "electricity.consumption"
    EXPORTED = "electricity.export"
    GAS = "gas.consumption"


class TimeSpan(NamedTuple):
    """Time from `start` to before `end`."""

    start: int
    end: int


class PeriodCount(NamedTuple):
    """What was counted in a day or month, and up to when no sample of it is missing."""

    span: TimeSpan
    total: EnergyTotal
    complete_to: int

    def add_energy(self, at: int, more: EnergyTotal, complete_to: int) -> "PeriodCount":
        """With what was counted from an instant on, if that lies inside; it is known up to another one."""
        if not self.span.start <= at < self.span.end:
            return self
        known = complete_to if self.complete_to >= at else self.complete_to
        return PeriodCount(self.span, self.total + more, known)


@dataclass(frozen=True, slots=True)
class Meter:
    """A series of energy that belongs to a home.

    What is not stored yet is estimated from `stored_to` on by the source at the place `source`, if there is one: by its
    power below zero if `reverse`. `block` is since when a block tariff counts, and what it has counted.
    """

    kind: MeterKind
    unit: str
    rates: RateSchedule | None
    counts: tuple[PeriodCount, ...]
    stored_to: int
    source_index: int | None = None
    counts_negative_power: bool = False
    block_usage: tuple[int, int] = (0, 0)

    def for_periods(self, spans: Sequence[TimeSpan]) -> "Meter":
        """With counts of these days or months; one that begins has counted nothing yet."""
        known = {count.span: count for count in self.counts}
        return replace(
            self, counts=tuple(known.get(one) or PeriodCount(one, EnergyTotal(), one.start) for one in spans)
        )

    def block_energy(self, at: int) -> int:
        """What counts towards the limits of the block tariff that holds at an instant."""
        rule = self.rates.rule_at(at) if self.rates else None
        return self.block_usage[1] if isinstance(rule, BlockRates) and rule.since == self.block_usage[0] else 0

    def with_estimate(self, integral: PowerIntegral, complete_to: int) -> "Meter":
        """With the energy of power that was held in a half hour, up to an instant."""
        if integral.at < self.stored_to:
            return self
        some = integral_to_energy(integral.negative if self.counts_negative_power else integral.positive)
        rule, counted = self.rates.rule_at(integral.at) if self.rates else None, self.block_energy(integral.at)
        more = EnergyTotal().add_parts(estimated_parts(integral.at, some, rule, counted))
        return replace(
            self,
            counts=tuple(count.add_energy(integral.at, more, complete_to) for count in self.counts),
            block_usage=(rule.since, counted + some) if isinstance(rule, BlockRates) else self.block_usage,
        )
