"""Which tariff, and which of its rates, holds when. Pure.

Instants are in milliseconds since 1970; rates are in millionths of a penny per unit or day, VAT in millionths of a
percent, energy in billionths of a unit (kWh). Of a timeline of tariffs, each holds from its `valid_from` to the next's.
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
from wattgate.energy.tariffs import DAY_SLOTS, RATE_DECIMALS, TariffTerms, band_by_slot
from wattgate.enums import Period, TariffKind

ENERGY_DECIMALS = 9


class Price(NamedTuple):
    """The rate of a dynamic tariff for the half hour from `at` on."""

    at: int
    rate: int


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """One line of a bill to be: what energy of one tariff and band is put down to.

    `rate` is None where it changes with every half hour.
    """

    tariff: TariffTerms
    vat: int
    band: str | None
    rate: int | None


class Rate(NamedTuple):
    """A rate that holds for a while, and the charge that it is put down to."""

    charge: Charge
    rate: int


class BlockRate(NamedTuple):
    """The energy of a period between two counts has this rate. The first has no floor, the last no ceiling."""

    floor: int | None
    ceiling: int | None
    rate: Rate


class BlockRates(NamedTuple):
    """Rates that depend on how much energy was counted since an instant."""

    since: int
    blocks: tuple[BlockRate, ...]


class RateSpan(NamedTuple):
    """What holds from an instant to the next span: None where no tariff or price is known."""

    start: int
    rule: Rate | BlockRates | None


PricesByTariff = Mapping[str, Sequence[Price]]
"""By tariff id, the known prices of dynamic tariffs in order."""


def rate_spans(tariffs: Sequence[TariffTerms], prices: PricesByTariff, start: int, stop: int) -> list[RateSpan]:
    """What holds when between two instants, in order. The first span begins at `start`; of several that begin at the
    same instant the last one holds.
    """
    found = [RateSpan(start, None)]
    for tariff, begin, end in tariffs_in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.DYNAMIC:
            made = _dynamic_spans(tariff, prices.get(tariff.tariff_id, ()), begin)
        else:
            made = _SPAN_BUILDERS[tariff.kind](tariff, begin, end)
        found += [span if span.start >= begin else RateSpan(begin, span.rule) for span in made if span.start < end]
    return found


def tariffs_in_force(tariffs: Sequence[TariffTerms], start: int, stop: int) -> Iterator[tuple[TariffTerms, int, int]]:
    """The tariffs of a timeline that hold between two instants, each with when that begins and ends."""
    edges = [*(to_ms(tariff.valid_from) for tariff in tariffs), stop]
    for tariff, (begin, end) in zip(tariffs, pairwise(edges), strict=True):
        if max(begin, start) < min(end, stop):
            yield tariff, max(begin, start), min(end, stop)


def standing_charge_days(tariffs: Sequence[TariffTerms], start: int, stop: int) -> Iterator[tuple[int, TariffTerms]]:
    """Each day that begins between two instants, by the wall clock of the tariff in force then, and that tariff."""
    for tariff, begin, end in tariffs_in_force(tariffs, start, stop):
        for midnight in period_edges(begin, end, Period.P1D, ZoneInfo(tariff.time_zone)):
            if begin <= midnight < end:
                yield midnight, tariff


def energy_needed_from(tariffs: Sequence[TariffTerms], start: int, stop: int) -> int:
    """From when on the energy must be known to price what comes between two instants: blocks count from earlier on."""
    found = start
    for tariff, begin, _ in tariffs_in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.BLOCK and tariff.block_period:
            first, *_ = period_edges(begin, begin + 1, tariff.block_period, ZoneInfo(tariff.time_zone))
            found = min(found, first)
    return found


def period_edges(start: int, stop: int, period: Period, zone: tzinfo) -> list[int]:
    """The edges of all buckets of a period that share time with [start, stop)."""
    return buckets.build_grid(from_ms(start), from_ms(stop), period, zone).edges


def to_scaled(number: Decimal, decimals: int = RATE_DECIMALS) -> int:
    """A decimal as a whole number of its last place."""
    return int(number.scaleb(decimals))


def from_scaled(rate: int) -> Decimal:
    """The decimal of a rate."""
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
    """A day on which clocks change, minute by minute: the wall clock says what holds."""
    before = None
    for minute in range(midnight, following, MINUTE_MS):
        local = from_ms(minute).astimezone(zone)
        rate = week[local.weekday() * DAY_SLOTS + local.hour * 2 + local.minute // 30]
        if rate is not before:
            yield RateSpan(minute, rate)
        before = rate


def _rate_by_slot(tariff: TariffTerms) -> list[Rate]:
    """The rate of each half hour of the week. Bands with the same name and rate share a charge."""
    rates: dict[tuple[str | None, Decimal], Rate] = {}
    parts = [(band.name, band.rate) for band in tariff.bands]
    for name, rate in [*parts, (None, tariff.rate or Decimal(0))]:
        rates.setdefault((name, rate), _build_rate(tariff, name, rate))
    outside = rates[None, tariff.rate or Decimal(0)]
    return [outside if index is None else rates[parts[index]] for index in band_by_slot(tariff.bands)]


def _rate_changes(day: Sequence[Rate]) -> list[tuple[int, Rate]]:
    """The half hours of a day at which its rate changes, the first one included."""
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
    charge = Charge(tariff, to_scaled(tariff.vat_rate), None, None)
    known_until = begin
    for at, rate in prices:
        if at + HALF_HOUR_MS <= begin:
            continue
        if at > known_until:
            yield RateSpan(known_until, None)
        yield RateSpan(at, Rate(charge, rate))
        known_until = at + HALF_HOUR_MS
    yield RateSpan(known_until, None)


def _build_rate(tariff: TariffTerms, band: str | None, rate: Decimal) -> Rate:
    return Rate(Charge(tariff, to_scaled(tariff.vat_rate), band, to_scaled(rate)), to_scaled(rate))


_SPAN_BUILDERS: Mapping[TariffKind, Callable[[TariffTerms, int, int], Iterator[RateSpan]]] = {
    TariffKind.FLAT: _flat_spans,
    TariffKind.TIME_OF_USE: _time_of_use_spans,
    TariffKind.BLOCK: _block_spans,
}
