"""Timeline of tariffs and rates: the tariff and rate in force at each instant. No I/O.

Instants are milliseconds since 1970. Rates are in millionths of a hundredth of the currency per unit or day, VAT is in
millionths of a percent, and energy in billionths of a unit (kWh). A tariff is in force from its `valid_from` to that of
the next one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms, to_ms
from wattgate.energy import buckets
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.costs.tariffs import DAY_SLOTS, RATE_DECIMALS, TariffTerms, band_by_slot, price_length_ms
from wattgate.energy.ownership import Ownership
from wattgate.enums import Period, TariffKind

ENERGY_DECIMALS = 9


class Price(NamedTuple):
    """The rate of a dynamic tariff for the period that begins at `at`. The tariff states its length."""

    at: int
    rate: int


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """A tariff and band to which energy is charged: one line of a later bill.

    `rate` is None if it changes with every price.
    """

    tariff: TariffTerms
    vat: int
    band: str | None
    rate: int | None


class Rate(NamedTuple):
    """A rate, and the charge under which its energy is billed."""

    charge: Charge
    rate: int


class BlockRate(NamedTuple):
    """The rate of a period's energy between two totals. The first block has no floor, the last no ceiling."""

    floor: int | None
    ceiling: int | None
    rate: Rate


class BlockRates(NamedTuple):
    """Rates that depend on the energy counted since the start of a period."""

    since: int
    blocks: tuple[BlockRate, ...]


class RateSpan(NamedTuple):
    """The rule in force from `start` to the next span; None if no tariff or price is known."""

    start: int
    rule: Rate | BlockRates | None


PricesByTariff = Mapping[str, Sequence[Price]]
"""The known prices of dynamic tariffs, in order, by tariff id."""


def rate_spans(tariffs: Sequence[TariffTerms], prices: PricesByTariff, start: int, stop: int) -> list[RateSpan]:
    """Return the spans between two instants, in order. The first begins at `start`.

    If several spans begin at the same instant, only the last of them applies.
    """
    spans = [RateSpan(start, None)]
    for tariff, begin, end in tariffs_in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.DYNAMIC:
            tariff_spans = _dynamic_spans(tariff, prices.get(tariff.tariff_id, ()), begin)
        else:
            tariff_spans = _SPAN_BUILDERS[tariff.kind](tariff, begin, end)
        spans += [
            span if span.start >= begin else RateSpan(begin, span.rule) for span in tariff_spans if span.start < end
        ]
    return spans


def tariffs_in_force(tariffs: Sequence[TariffTerms], start: int, stop: int) -> Iterator[tuple[TariffTerms, int, int]]:
    """Yield each tariff in force between two instants, with the start and end of its part of that time."""
    edges = [*(to_ms(tariff.valid_from) for tariff in tariffs), stop]
    for tariff, (begin, end) in zip(tariffs, pairwise(edges), strict=True):
        if max(begin, start) < min(end, stop):
            yield tariff, max(begin, start), min(end, stop)


def currencies_in_force(tariffs: Sequence[TariffTerms], start: int, stop: int) -> list[str]:
    """Return the currencies of the tariffs in force between two instants, each once, in order of their time."""
    return list(dict.fromkeys(tariff.currency for tariff, _, _ in tariffs_in_force(tariffs, start, stop)))


def standing_charge_days(
    tariffs: Sequence[TariffTerms], start: int, stop: int, ownership: Ownership
) -> Iterator[tuple[int, TariffTerms]]:
    """Yield each midnight between two instants and the tariff in force then. Midnight is that of the tariff's zone.

    A day belongs to the household that lives there at its midnight, so that each day has one payer.
    """
    for tariff, begin, end in tariffs_in_force(tariffs, start, stop):
        for midnight in period_edges(begin, end, Period.P1D, ZoneInfo(tariff.time_zone)):
            if begin <= midnight < end and ownership.contains(midnight):
                yield midnight, tariff


def begun_days(
    tariffs: Sequence[TariffTerms], start: int, stop: int, ownership: Ownership, now: int
) -> Iterator[tuple[int, TariffTerms]]:
    """Yield the days of `standing_charge_days` that have begun. A cost so far contains no later ones."""
    return standing_charge_days(tariffs, start, min(stop, now + 1), ownership)


def energy_needed_from(tariffs: Sequence[TariffTerms], start: int, stop: int) -> int:
    """Return from when energy must be known to price [start, stop): the period of a block tariff may begin earlier."""
    return min((start, *earlier_block_starts(tariffs, start, stop)))


def earlier_block_starts(tariffs: Sequence[TariffTerms], start: int, stop: int) -> list[int]:
    """Return when the periods of block tariffs in force in [start, stop) begin before `start`, in order."""
    starts = set[int]()
    for tariff, begin, _ in tariffs_in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.BLOCK and tariff.block_period:
            starts.add(period_edges(begin, begin + 1, tariff.block_period, ZoneInfo(tariff.time_zone))[0])
    return sorted(at for at in starts if at < start)


def period_edges(start: int, stop: int, period: Period, zone: tzinfo) -> list[int]:
    """Return the edges of all buckets of a period that overlap [start, stop)."""
    return buckets.build_grid(from_ms(start), from_ms(stop), period, zone).edges


def to_scaled(number: Decimal, decimals: int = RATE_DECIMALS) -> int:
    """Return a decimal as an integer, scaled by 10^decimals."""
    return int(number.scaleb(decimals))


def from_scaled(rate: int) -> Decimal:
    """Return the decimal of a scaled rate."""
    return Decimal(rate).scaleb(-RATE_DECIMALS)


def _flat_spans(tariff: TariffTerms, begin: int, end: int) -> Iterator[RateSpan]:
    yield RateSpan(begin, _build_rate(tariff, None, tariff.rate or Decimal(0)))


def _time_of_use_spans(tariff: TariffTerms, begin: int, end: int) -> Iterator[RateSpan]:
    zone = ZoneInfo(tariff.time_zone)
    week = _rate_by_slot(tariff)
    days = [_rate_changes(week[first : first + DAY_SLOTS]) for first in range(0, len(week), DAY_SLOTS)]
    for midnight, following in pairwise(period_edges(begin, end, Period.P1D, zone)):
        local = from_ms(midnight).astimezone(zone)
        if following - midnight == DAY_MS and not local.hour and not local.minute:
            for slot, rate in days[local.weekday()]:
                yield RateSpan(midnight + slot * HALF_HOUR_MS, rate)
        else:
            yield from _clock_change_day_spans(week, midnight, following, zone)


def _clock_change_day_spans(week: Sequence[Rate], midnight: int, following: int, zone: ZoneInfo) -> Iterator[RateSpan]:
    """Yield the spans of a day with a clock change. Check every minute, because the wall clock jumps."""
    previous = None
    for minute in range(midnight, following, MINUTE_MS):
        local = from_ms(minute).astimezone(zone)
        rate = week[local.weekday() * DAY_SLOTS + local.hour * 2 + local.minute // 30]
        if rate is not previous:
            yield RateSpan(minute, rate)
        previous = rate


def _rate_by_slot(tariff: TariffTerms) -> list[Rate]:
    """Return the rate of each half hour of the week. Bands with the same name and rate share a charge."""
    rates: dict[tuple[str | None, Decimal], Rate] = {}
    parts = [(band.name, band.rate) for band in tariff.bands]
    for name, rate in [*parts, (None, tariff.rate or Decimal(0))]:
        rates.setdefault((name, rate), _build_rate(tariff, name, rate))
    default_rate = rates[None, tariff.rate or Decimal(0)]
    return [default_rate if index is None else rates[parts[index]] for index in band_by_slot(tariff.bands)]


def _rate_changes(day: Sequence[Rate]) -> list[tuple[int, Rate]]:
    """Return the half hours of a day at which the rate changes, and the first half hour."""
    return [(slot, rate) for slot, rate in enumerate(day) if slot == 0 or rate is not day[slot - 1]]


def _block_spans(tariff: TariffTerms, begin: int, end: int) -> Iterator[RateSpan]:
    blocks, floor = [], None
    for number, block in enumerate(tariff.blocks, start=1):
        ceiling = None if block.up_to is None else to_scaled(block.up_to, ENERGY_DECIMALS)
        blocks.append(BlockRate(floor, ceiling, _build_rate(tariff, f"block {number}", block.rate)))
        floor = ceiling
    period = tariff.block_period or Period.P1M
    for since in period_edges(begin, end, period, ZoneInfo(tariff.time_zone))[:-1]:
        yield RateSpan(since, BlockRates(since, tuple(blocks)))


def _dynamic_spans(tariff: TariffTerms, prices: Sequence[Price], begin: int) -> Iterator[RateSpan]:
    charge, length = Charge(tariff, to_scaled(tariff.vat_rate), None, None), price_length_ms(tariff)
    known_until = begin
    for at, rate in prices:
        if at + length <= begin:
            continue
        if at > known_until:
            yield RateSpan(known_until, None)
        yield RateSpan(at, Rate(charge, rate))
        known_until = at + length
    yield RateSpan(known_until, None)


def _build_rate(tariff: TariffTerms, band: str | None, rate: Decimal) -> Rate:
    return Rate(Charge(tariff, to_scaled(tariff.vat_rate), band, to_scaled(rate)), to_scaled(rate))


_SPAN_BUILDERS: Mapping[TariffKind, Callable[[TariffTerms, int, int], Iterator[RateSpan]]] = {
    TariffKind.FLAT: _flat_spans,
    TariffKind.TIME_OF_USE: _time_of_use_spans,
    TariffKind.BLOCK: _block_spans,
}
