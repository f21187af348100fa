"""What a home's energy costs now, until when, and then. Pure. Instants are milliseconds since 1970 (UTC)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy.display.energy_total import marginal_rate
from wattgate.energy.pricing import add_vat, round_half_up
from wattgate.energy.tariffs import TariffTerms
from wattgate.energy.timeline import BlockRates, Rate, RateSpan, from_scaled
from wattgate.enums import TariffKind

DISPLAY_RATE_DECIMALS = 2
"""The decimal places at which rates (pence) are told."""

_TIME_DEPENDENT_KINDS = (TariffKind.TIME_OF_USE, TariffKind.DYNAMIC)


class DisplayRate(msgspec.Struct, frozen=True, gc=False):
    """What energy costs from an instant on, in pence with VAT."""

    start: datetime
    rate: Decimal
    band: str | None


class DisplayTariff(msgspec.Struct, frozen=True, gc=False):
    """What energy costs now, in pence with VAT; `rate` is None where no price is known.

    `until` is when that changes, None where no change is known; `next` is None where no price is known from then on.
    """

    name: str
    rate: Decimal | None
    band: str | None
    unit: str
    standing_charge: Decimal
    until: datetime | None
    next: DisplayRate | None
    currency: str = "GBP"


@dataclass(frozen=True, slots=True)
class RateSchedule:
    """What a meter's energy costs when: its tariffs, and the spans of their rules. Energy is told in `unit`."""

    tariffs: tuple[TariffTerms, ...]
    spans: tuple[RateSpan, ...]
    unit: str

    @property
    def rate_unit(self) -> str:
        return f"pence/{self.unit}"

    def rule_at(self, at: int) -> Rate | BlockRates | None:
        place = bisect_right(self.spans, at, key=_span_start)
        return self.spans[place - 1].rule if place else None

    def tariff_at(self, at: int) -> TariffTerms | None:
        place = bisect_right(self.tariffs, at, key=_valid_from)
        return self.tariffs[place - 1] if place else None

    def rate_at(self, at: int, counted: int) -> Decimal | None:
        """The rate with VAT, after so much energy of a block tariff's period."""
        return _rate_with_vat(marginal_rate(self.rule_at(at), counted))

    def standing_charge_at(self, at: int) -> Decimal:
        """The charge of a day with VAT, by the tariff that holds at an instant."""
        tariff = self.tariff_at(at)
        return Decimal(0) if tariff is None else add_vat(tariff, tariff.standing_charge)

    def next_change(self, at: int, counted: int) -> tuple[int, Rate | None] | None:
        """When the rate changes after an instant, and to what; None where no change is known."""
        now = marginal_rate(self.rule_at(at), counted)
        for start, rule in self.spans[bisect_right(self.spans, at, key=_span_start) :]:
            then = marginal_rate(rule, 0)
            if _rate_key(then) != _rate_key(now):
                return start, then
        return None

    def mean_rate(self, start: int, stop: int) -> Decimal | None:
        """The mean rate with VAT of a span of time, if the rate depends on the time and changes in it."""
        tariff = self.tariff_at(start)
        if tariff is None or tariff.kind not in _TIME_DEPENDENT_KINDS:
            return None
        first = max(bisect_right(self.spans, start, key=_span_start) - 1, 0)
        starts = [*(span for span in self.spans[first:] if span.start < stop), RateSpan(stop, None)]
        known = [
            (following.start - max(span.start, start), rate)
            for span, following in pairwise(starts)
            if (rate := _rate_with_vat(marginal_rate(span.rule, 0))) is not None
        ]
        if len({rate for _, rate in known}) < 2:
            return None
        return sum((length * rate for length, rate in known), Decimal(0)) / sum(length for length, _ in known)

    def render_tariff(self, at: int, counted: int) -> DisplayTariff | None:
        """What energy costs at an instant; None where no tariff holds."""
        tariff = self.tariff_at(at)
        if tariff is None:
            return None
        rate = marginal_rate(self.rule_at(at), counted)
        change = self.next_change(at, counted)
        return DisplayTariff(
            name=tariff.name,
            rate=_round_rate(rate),
            band=rate.charge.band if rate else None,
            unit=self.rate_unit,
            standing_charge=round_half_up(self.standing_charge_at(at), DISPLAY_RATE_DECIMALS),
            until=from_ms(change[0]) if change else None,
            next=_render_next_rate(*change) if change else None,
        )


def _render_next_rate(start: int, rate: Rate | None) -> DisplayRate | None:
    told = _round_rate(rate)
    return None if rate is None or told is None else DisplayRate(from_ms(start), told, rate.charge.band)


def _rate_key(rate: Rate | None) -> tuple[str, str | None, int] | None:
    """What tells one rate from another."""
    return None if rate is None else (rate.charge.tariff.tariff_id, rate.charge.band, rate.rate)


def _rate_with_vat(rate: Rate | None) -> Decimal | None:
    return None if rate is None else add_vat(rate.charge.tariff, from_scaled(rate.rate))


def _round_rate(rate: Rate | None) -> Decimal | None:
    exact = _rate_with_vat(rate)
    return None if exact is None else round_half_up(exact, DISPLAY_RATE_DECIMALS)


def _span_start(span: RateSpan) -> int:
    return span.start


def _valid_from(tariff: TariffTerms) -> int:
    return to_ms(tariff.valid_from)


def first_tariff_from(tariffs: Sequence[TariffTerms], stop: int) -> TariffTerms | None:
    """The first tariff that is valid only from an instant on, or later."""
    return next((tariff for tariff in tariffs if to_ms(tariff.valid_from) >= stop), None)
