"""What a home's energy costs now, until when, and then. Pure. Instants are milliseconds since 1970 (UTC)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy.display.energy_total import holding
from wattgate.energy.pricing import rounded, with_vat
from wattgate.energy.tariffs import TariffTerms
from wattgate.energy.timeline import Blocks, Rate, Span, unscaled
from wattgate.enums import TariffKind

RATE_PLACES = 2
"""The decimal places at which rates (pence) are told."""

_CHANGING = (TariffKind.TIME_OF_USE, TariffKind.DYNAMIC)


class NextRate(msgspec.Struct, frozen=True, gc=False):
    """What energy costs from an instant on, in pence with VAT."""

    start: datetime
    rate: Decimal
    band: str | None


class TariffNow(msgspec.Struct, frozen=True, gc=False):
    """What energy costs now, in pence with VAT; `rate` is None where no price is known.

    `until` is when that changes, None where no change is known; `next` is None where no price is known from then on.
    """

    name: str
    rate: Decimal | None
    band: str | None
    unit: str
    standing_charge: Decimal
    until: datetime | None
    next: NextRate | None
    currency: str = "GBP"


@dataclass(frozen=True, slots=True)
class Rates:
    """What a meter's energy costs when: its tariffs, and the spans of their rules. Energy is told in `unit`."""

    tariffs: tuple[TariffTerms, ...]
    spans: tuple[Span, ...]
    unit: str

    @property
    def per(self) -> str:
        return f"pence/{self.unit}"

    def rule(self, at: int) -> Rate | Blocks | None:
        place = bisect_right(self.spans, at, key=_start)
        return self.spans[place - 1].rule if place else None

    def tariff(self, at: int) -> TariffTerms | None:
        place = bisect_right(self.tariffs, at, key=_valid_from)
        return self.tariffs[place - 1] if place else None

    def rate(self, at: int, counted: int) -> Decimal | None:
        """The rate with VAT, after so much energy of a block tariff's period."""
        return _with_vat(holding(self.rule(at), counted))

    def standing(self, at: int) -> Decimal:
        """The charge of a day with VAT, by the tariff that holds at an instant."""
        tariff = self.tariff(at)
        return Decimal(0) if tariff is None else with_vat(tariff, tariff.standing_charge)

    def change(self, at: int, counted: int) -> tuple[int, Rate | None] | None:
        """When the rate changes after an instant, and to what; None where no change is known."""
        now = holding(self.rule(at), counted)
        for start, rule in self.spans[bisect_right(self.spans, at, key=_start) :]:
            then = holding(rule, 0)
            if _line(then) != _line(now):
                return start, then
        return None

    def usual(self, start: int, stop: int) -> Decimal | None:
        """The mean rate with VAT of a span of time, if the rate depends on the time and changes in it."""
        tariff = self.tariff(start)
        if tariff is None or tariff.kind not in _CHANGING:
            return None
        first = max(bisect_right(self.spans, start, key=_start) - 1, 0)
        starts = [*(span for span in self.spans[first:] if span.start < stop), Span(stop, None)]
        known = [
            (following.start - max(span.start, start), rate)
            for span, following in pairwise(starts)
            if (rate := _with_vat(holding(span.rule, 0))) is not None
        ]
        if len({rate for _, rate in known}) < 2:
            return None
        return sum((length * rate for length, rate in known), Decimal(0)) / sum(length for length, _ in known)

    def told(self, at: int, counted: int) -> TariffNow | None:
        """What energy costs at an instant; None where no tariff holds."""
        tariff = self.tariff(at)
        if tariff is None:
            return None
        rate = holding(self.rule(at), counted)
        change = self.change(at, counted)
        return TariffNow(
            name=tariff.name,
            rate=_told(rate),
            band=rate.charge.band if rate else None,
            unit=self.per,
            standing_charge=rounded(self.standing(at), RATE_PLACES),
            until=from_ms(change[0]) if change else None,
            next=_next(*change) if change else None,
        )


def _next(start: int, rate: Rate | None) -> NextRate | None:
    told = _told(rate)
    return None if rate is None or told is None else NextRate(from_ms(start), told, rate.charge.band)


def _line(rate: Rate | None) -> tuple[str, str | None, int] | None:
    """What tells one rate from another."""
    return None if rate is None else (rate.charge.tariff.tariff_id, rate.charge.band, rate.rate)


def _with_vat(rate: Rate | None) -> Decimal | None:
    return None if rate is None else with_vat(rate.charge.tariff, unscaled(rate.rate))


def _told(rate: Rate | None) -> Decimal | None:
    exact = _with_vat(rate)
    return None if exact is None else rounded(exact, RATE_PLACES)


def _start(span: Span) -> int:
    return span.start


def _valid_from(tariff: TariffTerms) -> int:
    return to_ms(tariff.valid_from)


def beyond(tariffs: Sequence[TariffTerms], stop: int) -> TariffTerms | None:
    """The first tariff that is valid only from an instant on, or later."""
    return next((tariff for tariff in tariffs if to_ms(tariff.valid_from) >= stop), None)
