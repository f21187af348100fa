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
from wattgate.energy.buckets import DAY, HALF_HOUR, MINUTE
from wattgate.energy.tariffs import DAY_SLOTS, RATE_DECIMALS, TariffTerms, week_of
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


class Block(NamedTuple):
    """The energy of a period between two counts has this rate. The first has no floor, the last no ceiling."""

    floor: int | None
    ceiling: int | None
    rate: Rate


class Blocks(NamedTuple):
    """Rates that depend on how much energy was counted since an instant."""

    since: int
    blocks: tuple[Block, ...]


class Span(NamedTuple):
    """What holds from an instant to the next span: None where no tariff or price is known."""

    start: int
    rule: Rate | Blocks | None


Prices = Mapping[str, Sequence[Price]]
"""By tariff id, the known prices of dynamic tariffs in order."""


def spans(tariffs: Sequence[TariffTerms], prices: Prices, start: int, stop: int) -> list[Span]:
    """What holds when between two instants, in order. The first span begins at `start`; of several that begin at the
    same instant the last one holds.
    """
    found = [Span(start, None)]
    for tariff, begin, end in in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.DYNAMIC:
            made = _dynamic(tariff, prices.get(tariff.tariff_id, ()), begin)
        else:
            made = _SPANS[tariff.kind](tariff, begin, end)
        found += [span if span.start >= begin else Span(begin, span.rule) for span in made if span.start < end]
    return found


def in_force(tariffs: Sequence[TariffTerms], start: int, stop: int) -> Iterator[tuple[TariffTerms, int, int]]:
    """The tariffs of a timeline that hold between two instants, each with when that begins and ends."""
    edges = [*(to_ms(tariff.valid_from) for tariff in tariffs), stop]
    for tariff, (begin, end) in zip(tariffs, pairwise(edges), strict=True):
        if max(begin, start) < min(end, stop):
            yield tariff, max(begin, start), min(end, stop)


def standing(tariffs: Sequence[TariffTerms], start: int, stop: int) -> Iterator[tuple[int, TariffTerms]]:
    """Each day that begins between two instants, by the wall clock of the tariff in force then, and that tariff."""
    for tariff, begin, end in in_force(tariffs, start, stop):
        for midnight in calendar(begin, end, Period.P1D, ZoneInfo(tariff.time_zone)):
            if begin <= midnight < end:
                yield midnight, tariff


def reach(tariffs: Sequence[TariffTerms], start: int, stop: int) -> int:
    """From when on the energy must be known to price what comes between two instants: blocks count from earlier on."""
    found = start
    for tariff, begin, _ in in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.BLOCK and tariff.block_period:
            first, *_ = calendar(begin, begin + 1, tariff.block_period, ZoneInfo(tariff.time_zone))
            found = min(found, first)
    return found


def calendar(start: int, stop: int, period: Period, zone: tzinfo) -> list[int]:
    """The edges of all buckets of a period that share time with [start, stop)."""
    return buckets.grid(from_ms(start), from_ms(stop), period, zone).edges


def scaled(number: Decimal, decimals: int = RATE_DECIMALS) -> int:
    """A decimal as a whole number of its last place."""
    return int(number.scaleb(decimals))


def unscaled(rate: int) -> Decimal:
    """The decimal of a rate."""
    return Decimal(rate).scaleb(-RATE_DECIMALS)


def _flat(tariff: TariffTerms, begin: int, end: int) -> Iterator[Span]:
    yield Span(begin, _rate(tariff, None, tariff.rate or Decimal(0)))


def _time_of_use(tariff: TariffTerms, begin: int, end: int) -> Iterator[Span]:
    zone = ZoneInfo(tariff.time_zone)
    week = _week(tariff)
    days = [_changes(week[first : first + DAY_SLOTS]) for first in range(0, len(week), DAY_SLOTS)]
    for midnight, following in pairwise(calendar(begin, end, Period.P1D, zone)):
        local = from_ms(midnight).astimezone(zone)
        if following - midnight == DAY and not local.hour and not local.minute:
            for slot, rate in days[local.weekday()]:
                yield Span(midnight + slot * HALF_HOUR, rate)
        else:
            yield from _changing_day(week, midnight, following, zone)


def _changing_day(week: Sequence[Rate], midnight: int, following: int, zone: ZoneInfo) -> Iterator[Span]:
    """A day on which clocks change, minute by minute: the wall clock says what holds."""
    before = None
    for minute in range(midnight, following, MINUTE):
        local = from_ms(minute).astimezone(zone)
        rate = week[local.weekday() * DAY_SLOTS + local.hour * 2 + local.minute // 30]
        if rate is not before:
            yield Span(minute, rate)
        before = rate


def _week(tariff: TariffTerms) -> list[Rate]:
    """The rate of each half hour of the week. Bands with the same name and rate share a charge."""
    rates: dict[tuple[str | None, Decimal], Rate] = {}
    parts = [(band.name, band.rate) for band in tariff.bands]
    for name, rate in [*parts, (None, tariff.rate or Decimal(0))]:
        rates.setdefault((name, rate), _rate(tariff, name, rate))
    outside = rates[None, tariff.rate or Decimal(0)]
    return [outside if index is None else rates[parts[index]] for index in week_of(tariff.bands)]


def _changes(day: Sequence[Rate]) -> list[tuple[int, Rate]]:
    """The half hours of a day at which its rate changes, the first one included."""
    return [(slot, rate) for slot, rate in enumerate(day) if slot == 0 or rate is not day[slot - 1]]


def _blocks(tariff: TariffTerms, begin: int, end: int) -> Iterator[Span]:
    blocks, floor = [], None
    for number, block in enumerate(tariff.blocks, start=1):
        ceiling = None if block.up_to is None else scaled(block.up_to, ENERGY_DECIMALS)
        blocks.append(Block(floor, ceiling, _rate(tariff, f"block {number}", block.rate)))
        floor = ceiling
    period = tariff.block_period or Period.P1M
    for since in calendar(begin, end, period, ZoneInfo(tariff.time_zone))[:-1]:
        yield Span(since, Blocks(since, tuple(blocks)))


def _dynamic(tariff: TariffTerms, prices: Sequence[Price], begin: int) -> Iterator[Span]:
    charge = Charge(tariff, scaled(tariff.vat_rate), None, None)
    known_until = begin
    for at, rate in prices:
        if at + HALF_HOUR <= begin:
            continue
        if at > known_until:
            yield Span(known_until, None)
        yield Span(at, Rate(charge, rate))
        known_until = at + HALF_HOUR
    yield Span(known_until, None)


def _rate(tariff: TariffTerms, band: str | None, rate: Decimal) -> Rate:
    return Rate(Charge(tariff, scaled(tariff.vat_rate), band, scaled(rate)), scaled(rate))


_SPANS: Mapping[TariffKind, Callable[[TariffTerms, int, int], Iterator[Span]]] = {
    TariffKind.FLAT: _flat,
    TariffKind.TIME_OF_USE: _time_of_use,
    TariffKind.BLOCK: _blocks,
}
