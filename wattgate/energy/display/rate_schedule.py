"""Rates of a home's energy over time, and their next change. No I/O. Instants are milliseconds since 1970 (UTC)."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy import quantities
from wattgate.energy.costs.pricing import day_hundredths, round_half_up
from wattgate.energy.costs.tariffs import TariffTerms, price_length_ms
from wattgate.energy.costs.timeline import BlockRates, Peaks, Rate, RateSpan, has_energy_window
from wattgate.energy.display.energy_total import marginal_rate
from wattgate.energy.quantities import to_major
from wattgate.enums import RateUnit, TariffKind

DISPLAY_RATE_DECIMALS = 2
"""Decimal places of rates in hundredths of the currency."""


class DisplayRate(msgspec.Struct, frozen=True, gc=False):
    """The rate of energy from an instant."""

    start: datetime
    rate_with_vat: quantities.Rate
    band: str | None


class DisplayTariff(msgspec.Struct, frozen=True, gc=False):
    """The present rate of energy; `rate_with_vat` is None if no price is known.

    `until` is the instant of the next change; None if none is known. `next` is the rate from then; None if no price
    is known.
    """

    name: str
    per: RateUnit
    rate_with_vat: quantities.Rate | None
    band: str | None
    standing_charge_with_vat: quantities.Rate
    until: datetime | None
    next: DisplayRate | None


class DisplaySlot(msgspec.Struct, frozen=True, gc=False):
    """A span of time with one rate."""

    start: datetime
    end: datetime
    rate_with_vat: quantities.Rate


class _Slot(NamedTuple):
    """The time [start, end) with one rate, in exact hundredths with VAT. `currency` is that of its tariff."""

    start: int
    end: int
    rate: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class RateSchedule:
    """The tariffs of a meter, the spans in which their rates apply, and known peaks. Energy is in `unit`."""

    tariffs: tuple[TariffTerms, ...]
    spans: tuple[RateSpan, ...]
    unit: str
    peaks: Peaks

    @property
    def per(self) -> RateUnit:
        """The unit of energy for which the rates are the price."""
        return quantities.rate_unit(self.unit)

    def rule_at(self, at: int) -> Rate | BlockRates | None:
        position = bisect_right(self.spans, at, key=_span_start)
        return self.spans[position - 1].rule if position else None

    def tariff_at(self, at: int) -> TariffTerms | None:
        position = bisect_right(self.tariffs, at, key=_valid_from)
        return self.tariffs[position - 1] if position else None

    def rate_at(self, at: int, counted: int) -> Decimal | None:
        """Return the rate with VAT. `counted` is the energy so far in a block tariff's period."""
        return _rate_with_vat(marginal_rate(self.rule_at(at), counted))

    def day_charge_at(self, at: int) -> Decimal:
        """Return what the tariff in force at an instant charges for the day beside energy, in hundredths with VAT."""
        tariff = self.tariff_at(at)
        return Decimal(0) if tariff is None else day_hundredths(tariff, at, self.peaks)

    def next_change(self, at: int, counted: int) -> tuple[int, Rate | None] | None:
        """Return when the rate next changes, and the new rate; None if no change is known."""
        present = self.rule_at(at)
        current = marginal_rate(present, counted)
        for start, rule in self.spans[bisect_right(self.spans, at, key=_span_start) :]:
            following = marginal_rate(rule, counted if _is_same_period(present, rule) else 0)
            if _rate_key(following) != _rate_key(current):
                return start, following
        return None

    def next_start(self, at: int) -> int | None:
        """Return the start of the next span or tariff, whether the rate changes or not; None if there is none."""
        starts = self.spans[bisect_right(self.spans, at, key=_span_start) :][:1]
        tariffs = self.tariffs[bisect_right(self.tariffs, at, key=_valid_from) :][:1]
        return min((*map(_span_start, starts), *map(_valid_from, tariffs)), default=None)

    def mean_rate(self, start: int, stop: int) -> Decimal | None:
        """Return the mean rate with VAT over a span; None unless the rate depends on time and changes in the span."""
        tariff = self.tariff_at(start)
        if tariff is None or not _depends_on_time(tariff):
            return None
        first = max(bisect_right(self.spans, start, key=_span_start) - 1, 0)
        spans = [*(span for span in self.spans[first:] if span.start < stop), RateSpan(stop, None)]
        weighted_rates = [
            (following.start - max(span.start, start), rate)
            for span, following in pairwise(spans)
            if (rate := _rate_with_vat(marginal_rate(span.rule, 0))) is not None
        ]
        if len({rate for _, rate in weighted_rates}) < 2:
            return None
        return sum((length * rate for length, rate in weighted_rates), Decimal(0)) / sum(
            length for length, _ in weighted_rates
        )

    def cheapest_slot(self, at: int, stop: int) -> DisplaySlot | None:
        """Return the slot with the lowest known rate of those that end after `at` and begin before `stop`.

        The first of several. None unless the rate depends on time, and the slots have different rates.
        """
        tariff = self.tariff_at(at)
        if tariff is None or not _depends_on_time(tariff):
            return None
        slots = [slot for slot in self._slots() if slot.end > at and slot.start < stop]
        if len({slot.rate for slot in slots}) < 2:
            return None
        cheapest = min(slots, key=lambda slot: slot.rate)
        return DisplaySlot(from_ms(cheapest.start), from_ms(cheapest.end), self._show(cheapest.rate, cheapest.currency))

    def _slots(self) -> list[_Slot]:
        """Return the spans with a known rate and a known end, in order. Neighbours with equal rates are one slot."""
        slots: list[_Slot] = []
        next_starts = [*(span.start for span in self.spans[1:]), None]
        for (start, rule), next_start in zip(self.spans, next_starts, strict=True):
            rate = marginal_rate(rule, 0)
            price, end = _rate_with_vat(rate), _span_end(start, rate, next_start)
            if rate is None or price is None or end is None:
                continue
            slot = _Slot(start, end, price, rate.charge.tariff.currency)
            if slots and slots[-1]._replace(start=start, end=end) == slot and slots[-1].end == start:
                slots[-1] = slots[-1]._replace(end=end)
            else:
                slots.append(slot)
        return slots

    def render_tariff(self, at: int, counted: int) -> DisplayTariff | None:
        """Return the rate of energy at an instant, for output; None if no tariff is in force."""
        tariff = self.tariff_at(at)
        if tariff is None:
            return None
        rate = marginal_rate(self.rule_at(at), counted)
        change = self.next_change(at, counted)
        return DisplayTariff(
            name=tariff.name,
            per=self.per,
            rate_with_vat=self._render_rate(rate),
            band=rate.charge.band if rate else None,
            standing_charge_with_vat=display_rate(self.day_charge_at(at), RateUnit.DAY, tariff.currency),
            until=from_ms(change[0]) if change else None,
            next=self._render_next_rate(*change) if change else None,
        )

    def _render_rate(self, rate: Rate | None) -> quantities.Rate | None:
        exact = _rate_with_vat(rate)
        return None if rate is None or exact is None else self._show(exact, rate.charge.tariff.currency)

    def _show(self, exact: Decimal, currency: str) -> quantities.Rate:
        return display_rate(exact, self.per, currency)

    def _render_next_rate(self, start: int, rate: Rate | None) -> DisplayRate | None:
        rendered = self._render_rate(rate)
        return None if rate is None or rendered is None else DisplayRate(from_ms(start), rendered, rate.charge.band)


def display_rate(hundredths: Decimal, per: RateUnit, currency: str) -> quantities.Rate:
    """Return the rate of an exact number of hundredths, rounded for output."""
    return quantities.Rate(to_major(round_half_up(hundredths, DISPLAY_RATE_DECIMALS)), per, currency)


def _span_end(start: int, rate: Rate | None, next_start: int | None) -> int | None:
    """Return the end of a span: the start of the next one. A price of a dynamic tariff ends with its period."""
    if rate is None or rate.charge.rate is not None:
        return next_start
    end = start + price_length_ms(rate.charge.tariff)
    return min(end, next_start or end)


def _depends_on_time(tariff: TariffTerms) -> bool:
    """Return whether the rate of a tariff depends on time, and not on the energy used."""
    if tariff.kind is TariffKind.FLAT:
        return has_energy_window(tariff)
    return tariff.kind is not TariffKind.BLOCK


def _is_same_period(rule: Rate | BlockRates | None, other: Rate | BlockRates | None) -> bool:
    """Return whether two rules count the energy of the same period of blocks. A window may begin inside a period."""
    return isinstance(rule, BlockRates) and isinstance(other, BlockRates) and rule.since == other.since


def _rate_key(rate: Rate | None) -> tuple[str, str | None, int, int] | None:
    """Return the values that identify a rate."""
    return None if rate is None else (rate.charge.tariff.tariff_id, rate.charge.band, rate.rate, rate.charge.added)


def _rate_with_vat(rate: Rate | None) -> Decimal | None:
    return None if rate is None else rate.hundredths_with_vat


def _span_start(span: RateSpan) -> int:
    return span.start


def _valid_from(tariff: TariffTerms) -> int:
    return to_ms(tariff.valid_from)
