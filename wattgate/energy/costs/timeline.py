"""Timeline of tariffs and rates: the tariff and rate in force at each instant. No I/O.

Instants are milliseconds since 1970. Rates are in millionths of a hundredth of the currency per unit or day, VAT is in
millionths of a percent, and energy in billionths of a unit (kWh). A tariff is in force from its `valid_from` to that of
the next one.
"""

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from decimal import Decimal
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms, to_ms
from wattgate.energy import buckets
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.costs.tariffs import (
    DAY_MINUTES,
    PEAK_MINUTES,
    RATE_DECIMALS,
    ComponentWindow,
    PeakStep,
    PriceFormula,
    TariffComponent,
    TariffTerms,
    Window,
    band_changes,
    day_of_year,
    has_season_in,
    price_length_ms,
    seasons,
    window_test,
)
from wattgate.energy.ownership import Ownership
from wattgate.enums import ComponentBasis, Period, TariffKind

ENERGY_DECIMALS = 9
AMOUNT_DECIMALS = ENERGY_DECIMALS + RATE_DECIMALS
"""Decimal places of an amount in hundredths of the currency without VAT: energy times rate."""

FACTOR_WHOLE: int = 10**RATE_DECIMALS
"""The factor 1 of a price formula."""

VAT_WHOLE: int = 10 ** (2 + RATE_DECIMALS)
"""100 % of VAT."""

VAT_DECIMALS = AMOUNT_DECIMALS + 2 + RATE_DECIMALS
"""Decimal places of an amount in hundredths of the currency with VAT."""


class Price(NamedTuple):
    """The rate of a dynamic tariff for the period that begins at `at`. The tariff states its length."""

    at: int
    rate: int


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """A tariff and band to which energy is charged: one line of a later bill.

    `rate` is None if it changes with every price. `vat_factor` is VAT_WHOLE with `vat` added. The `components` that
    charge for the energy add up to `added_rate` without VAT, and to `added` with VAT. Each has its own line. `whole`
    is the charge whose line has the energy, if it is another one: that of the same band outside all windows.
    """

    tariff: TariffTerms
    vat: int
    vat_factor: int
    band: str | None
    rate: int | None
    added_rate: int
    added: int
    components: tuple[TariffComponent, ...] = ()
    whole: "Charge | None" = None

    @classmethod
    def of(cls, tariff: TariffTerms, band: str | None, rate: int | None) -> "Charge":
        """Return the charge of a tariff's band outside all windows of components."""
        vat = to_scaled(tariff.vat_rate)
        bare = cls(tariff, vat, VAT_WHOLE + vat, band, rate, 0, 0)
        for component in tariff.components:
            if component.basis is ComponentBasis.ENERGY and component.window is None:
                bare = bare.with_component(component)
        return bare

    def with_component(self, component: TariffComponent) -> "Charge":
        """Return the charge with one more component of energy."""
        rate = to_scaled(component.rate)
        return Charge(
            self.tariff,
            self.vat,
            self.vat_factor,
            self.band,
            self.rate,
            self.added_rate + rate,
            self.added + rate * (VAT_WHOLE + component_vat(self.tariff, component)),
            (*self.components, component),
            self.whole,
        )

    def price(self, rate: int) -> int:
        """Return what a unit of energy costs at a rate, with components and VAT, in 10^-14 hundredths."""
        return rate * self.vat_factor + self.added


class PriceRule(NamedTuple):
    """The formula of a dynamic tariff in whole numbers: `factor` in millionths, `floor` and `cap` as rates."""

    factor: int
    floor: int | None
    cap: int | None

    @classmethod
    def of(cls, formula: PriceFormula) -> "PriceRule":
        """Return the rule of a formula."""
        limits = (None if limit is None else to_scaled(limit) for limit in (formula.floor, formula.cap))
        return cls(to_scaled(formula.factor), *limits)

    def rate(self, price: int, within: int) -> int:
        """Return the rate of a stored price, rounded with halves away from zero.

        The sum with `within`, the rates of the components that the limits include, is between floor and cap.
        """
        whole = (2 * abs(price) * self.factor + FACTOR_WHOLE) // (2 * FACTOR_WHOLE)
        total = (whole if price >= 0 else -whole) + within
        if self.cap is not None:
            total = min(total, self.cap)
        if self.floor is not None:
            total = max(total, self.floor)
        return total - within


class Rate(NamedTuple):
    """A rate, and the charge under which its energy is billed."""

    charge: Charge
    rate: int

    @property
    def price(self) -> int:
        """The cost of a unit of energy, with components and VAT, in 10^-14 hundredths."""
        return self.charge.price(self.rate)

    @property
    def hundredths(self) -> Decimal:
        """The cost of a unit of energy, with components and without VAT, in hundredths."""
        return from_scaled(self.rate + self.charge.added_rate)

    @property
    def hundredths_with_vat(self) -> Decimal:
        """The cost of a unit of energy, with components and VAT, in hundredths, without rounding."""
        return Decimal(self.price).scaleb(ENERGY_DECIMALS - VAT_DECIMALS)


class PeakKey(NamedTuple):
    """A peak: mean power of `minutes`, highest of a month, or the mean of the highest ones of `days` days.

    `month` is the instant at which the month begins in the zone of the tariff. Only times that begin in `window` count.
    """

    minutes: int
    days: int
    month: int
    window: ComponentWindow | None = None


Peaks = Mapping[PeakKey, int]
"""The known peaks, in billionths of a kW."""

NO_PEAKS: Peaks = MappingProxyType({})


class DayCharge(NamedTuple):
    """A charge of a tariff for a day beside its energy: a share of the standing charge or of a component.

    `component` is None for the standing charge. `amount` is without VAT, in 10^-15 hundredths. `quantity` is a day, or
    the day's share of its month, or of the kW of its month's peak. With the `step` of a peak, it is that of the month.
    """

    component: TariffComponent | None
    amount: int
    vat: int
    quantity: Fraction
    step: PeakStep | None = None

    @property
    def with_vat(self) -> int:
        """The amount with VAT, in 10^-23 hundredths."""
        return self.amount * (VAT_WHOLE + self.vat)


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


ValueT = TypeVar("ValueT")

Changes = Iterator[tuple[int, ValueT]]
"""The instants at which a value changes, in order, each with the new value."""

Rule = Rate | BlockRates | None

PricesByTariff = Mapping[str, Sequence[Price]]
"""The known prices of dynamic tariffs, in order, by tariff id."""


def rate_spans(tariffs: Sequence[TariffTerms], prices: PricesByTariff, start: int, stop: int) -> list[RateSpan]:
    """Return the spans between two instants, in order. The first begins at `start`.

    If several spans begin at the same instant, only the last of them applies.
    """
    spans = [RateSpan(start, None)]
    tariff_spans: Changes[Rule]
    for tariff, begin, end in tariffs_in_force(tariffs, start, stop):
        if tariff.kind is TariffKind.DYNAMIC:
            tariff_spans = _dynamic_spans(tariff, prices.get(tariff.tariff_id, ()), begin)
        else:
            tariff_spans = _SPAN_BUILDERS[tariff.kind](tariff, begin, end)
        of_tariff = [RateSpan(at if at >= begin else begin, rule) for at, rule in tariff_spans if at < end]
        if tariff.price_formula is not None or (tariff.components and has_energy_window(tariff)):
            of_tariff = _in_windows(tariff, of_tariff, begin, end)
        spans += of_tariff
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


def day_charges(tariff: TariffTerms, midnight: int, peaks: Peaks = NO_PEAKS) -> list[DayCharge]:
    """Return what a tariff charges for the day that begins at an instant, beside its energy.

    The charge of a month or of its peak is divided evenly among its days. So a range of whole days costs the same in
    one bill and in several, and the days of a month add up to it exactly. A peak that is not known is its minimum. A
    month without a day of the season of a peak has no charge for it.
    """
    charges = list[DayCharge]()
    if tariff.standing_charge:
        amount = to_scaled(tariff.standing_charge) * 10**ENERGY_DECIMALS
        charges.append(DayCharge(None, amount, to_scaled(tariff.vat_rate), Fraction(1)))
    for component in tariff.components:
        if component.basis is ComponentBasis.ENERGY:
            continue
        units, rate, step = 10**ENERGY_DECIMALS, component.rate, None
        if component.basis is ComponentBasis.PEAK:
            if not has_peak(tariff, component, midnight):
                continue
            minimum = to_scaled(component.minimum or Decimal(0), ENERGY_DECIMALS)
            units = max(minimum, peaks.get(peak_key(tariff, component, midnight), 0))
            if component.steps:
                step = _step_of(component.steps, units)
                units, rate = 10**ENERGY_DECIMALS, step.rate
        amount, share = to_scaled(rate) * units, Fraction(units, 10**ENERGY_DECIMALS)
        if component.basis is not ComponentBasis.DAY:
            number, days = _day_of_month(midnight, ZoneInfo(tariff.time_zone))
            amount, share = amount * number // days - amount * (number - 1) // days, share / days
        charges.append(DayCharge(component, amount, component_vat(tariff, component), share, step))
    return charges


def _step_of(steps: Sequence[PeakStep], peak: int) -> PeakStep:
    """Return the step in which a peak lies (billionths of a kW). A limit belongs to the step above it."""
    limited = (step for step in steps[:-1] if step.up_to and peak < to_scaled(step.up_to, ENERGY_DECIMALS))
    return next(limited, steps[-1])


def day_cost(tariff: TariffTerms, midnight: int, peaks: Peaks = NO_PEAKS) -> int:
    """Return the sum of the charges of a day with VAT, in 10^-23 hundredths."""
    return sum(charge.with_vat for charge in day_charges(tariff, midnight, peaks))


def peak_components(tariff: TariffTerms) -> list[TariffComponent]:
    """Return the components of a tariff that charge for a peak."""
    return [component for component in tariff.components if component.basis is ComponentBasis.PEAK]


def peak_key(tariff: TariffTerms, component: TariffComponent, at: int) -> PeakKey:
    """Return the peak that a component charges for in the month of an instant."""
    month = period_edges(at, at + 1, Period.P1M, ZoneInfo(tariff.time_zone))[0]
    return PeakKey(component.peak_minutes or PEAK_MINUTES[0], component.peak_days or 1, month, component.window)


def has_peak(tariff: TariffTerms, component: TariffComponent, at: int) -> bool:
    """Return whether a component charges for a peak in the month of an instant: a day of its season is in it."""
    if component.window is None or component.window.season_start is None:
        return True
    local = from_ms(at).astimezone(ZoneInfo(tariff.time_zone)).date()
    last = local.replace(day=monthrange(local.year, local.month)[1])
    return has_season_in(component.window, local.replace(day=1), last)


def find_peak(
    energies: Iterable[tuple[int, int]], zone: tzinfo, minutes: int, days: int, window: ComponentWindow | None = None
) -> int:
    """Return the peak of a month in billionths of a kW, from the start and energy of parts of `minutes` (10^-9 kWh).

    It is the mean of the highest powers of up to `days` different local days. Exported energy counts as none. Leave out
    parts without readings: a day of them is not a day without use. With a window, only parts that begin in it count.
    """
    highest: dict[date, int] = {}
    is_inside = None if window is None else window_test(window)
    for start, energy in energies:
        local = from_ms(start).astimezone(zone)
        if is_inside is None or is_inside(local):
            day = local.date()
            highest[day] = max(highest.get(day, 0), energy)
    chosen = nlargest(days, highest.values())
    return sum(chosen) * 60 // (minutes * len(chosen)) if chosen else 0


def component_vat(tariff: TariffTerms, component: TariffComponent) -> int:
    """Return the VAT of a component, in millionths of a percent: its own, or that of the tariff."""
    return to_scaled(tariff.vat_rate if component.vat_rate is None else component.vat_rate)


def _day_of_month(at: int, zone: ZoneInfo) -> tuple[int, int]:
    """Return the number of the local day of an instant in its month, from 1, and the number of days of the month."""
    local = from_ms(at).astimezone(zone)
    return local.day, monthrange(local.year, local.month)[1]


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


def _flat_spans(tariff: TariffTerms, begin: int, end: int) -> Changes[Rule]:
    yield begin, _build_rate(tariff, None, tariff.rate or Decimal(0))


def _time_of_use_spans(tariff: TariffTerms, begin: int, end: int) -> Changes[Rate]:
    """Return the changes of the rate. Bands with the same name and rate share a charge."""
    parts = [*((band.name, band.rate) for band in tariff.bands), (None, tariff.rate or Decimal(0))]
    rates = {part: _build_rate(tariff, *part) for part in dict.fromkeys(parts)}
    return _Year(tariff.bands, [rates[part] for part in parts]).changes(begin, end, ZoneInfo(tariff.time_zone))


class _Year(Generic[ValueT]):
    """The values of windows by season and minute of the week, and that outside them, which is the last of `values`.

    A season is computed when the first of its days needs it. The changes of a week, or of a day, are minutes of it with
    the value from then on.
    """

    def __init__(self, windows: Sequence[Window], values: Sequence[ValueT]) -> None:
        self._windows, self._values = windows, values
        self._seasons = seasons(windows)
        self._known: dict[int, list[list[tuple[int, ValueT]]]] = {}
        self._has_seasons = len(self._seasons) > 1

    def changes(self, begin: int, end: int, zone: ZoneInfo) -> Changes[ValueT]:
        """Yield the instants of the local days of [begin, end) at which the value changes, and each midnight."""
        days = self._on(from_ms(begin).astimezone(zone))
        for midnight, following in pairwise(period_edges(begin, end, Period.P1D, zone)):
            local = from_ms(midnight).astimezone(zone)
            if self._has_seasons:
                days = self._on(local)
            if following - midnight == DAY_MS and not local.hour and not local.minute:
                for minute, value in days[local.weekday()]:
                    yield midnight + minute * MINUTE_MS, value
            else:
                yield from self._clock_change_day(midnight, following, zone)

    def _clock_change_day(self, midnight: int, following: int, zone: ZoneInfo) -> Changes[ValueT]:
        """Yield the changes of a day with a clock change: those of each part of it without one."""
        previous: ValueT | None = None
        for begin, stop in pairwise([*_clock_changes(midnight, following, zone), following]):
            while begin < stop:
                local = from_ms(begin).astimezone(zone)
                first = local.hour * 60 + local.minute
                day = self._on(local)[local.weekday()]
                later = [(minute, value) for minute, value in day if minute > first]
                for minute, value in [(first, _value_at(day, first)), *later]:
                    at = begin + (minute - first) * MINUTE_MS
                    if at < stop and value is not previous:
                        yield at, value
                        previous = value
                begin += (DAY_MINUTES - first) * MINUTE_MS

    def _on(self, local: date) -> list[list[tuple[int, ValueT]]]:
        """Return the changes of each weekday in the season of a local day, in minutes of the day."""
        season = bisect_right(self._seasons, day_of_year(local), key=itemgetter(0)) - 1
        if season not in self._known:
            week = self._build_week(self._seasons[season][1])
            self._known[season] = [_changes_of_day(week, weekday) for weekday in range(7)]
        return self._known[season]

    def _build_week(self, active: Sequence[int]) -> list[tuple[int, ValueT]]:
        """Return the changes of a week with the windows at some indexes."""
        changes = [
            (minute, self._values[-1 if index is None else active[index]])
            for minute, index in band_changes([self._windows[each] for each in active])
        ]
        return changes[:1] + [change for before, change in pairwise(changes) if change[1] is not before[1]]


def _clock_changes(start: int, stop: int, zone: ZoneInfo) -> Iterator[int]:
    """Yield `start` and the minutes before `stop` at which the clocks change, which they do once in a half hour."""
    yield start
    offset = from_ms(start).astimezone(zone).utcoffset()
    for before in range(start, stop, HALF_HOUR_MS):
        until = min(before + HALF_HOUR_MS, stop - MINUTE_MS)
        if from_ms(until).astimezone(zone).utcoffset() != offset:
            minutes = range(before, until + 1, MINUTE_MS)
            yield next(at for at in minutes if from_ms(at).astimezone(zone).utcoffset() != offset)
            offset = from_ms(until).astimezone(zone).utcoffset()


def _changes_of_day(week: list[tuple[int, ValueT]], weekday: int) -> list[tuple[int, ValueT]]:
    """Return the minutes of a day at which the value changes, and its first minute."""
    start = weekday * DAY_MINUTES
    inside = [(minute - start, value) for minute, value in week if start < minute < start + DAY_MINUTES]
    return [(0, _value_at(week, start)), *inside]


def _value_at(week: list[tuple[int, ValueT]], minute: int) -> ValueT:
    return week[bisect_right(week, minute, key=itemgetter(0)) - 1][1]


def _block_spans(tariff: TariffTerms, begin: int, end: int) -> Changes[Rule]:
    blocks, floor = [], None
    for number, block in enumerate(tariff.blocks, start=1):
        ceiling = None if block.up_to is None else to_scaled(block.up_to, ENERGY_DECIMALS)
        blocks.append(BlockRate(floor, ceiling, _build_rate(tariff, f"block {number}", block.rate)))
        floor = ceiling
    period = tariff.block_period or Period.P1M
    for since in period_edges(begin, end, period, ZoneInfo(tariff.time_zone))[:-1]:
        yield since, BlockRates(since, tuple(blocks))


def _dynamic_spans(tariff: TariffTerms, prices: Sequence[Price], begin: int) -> Changes[Rate | None]:
    charge, length = Charge.of(tariff, None, None), price_length_ms(tariff)
    known_until = begin
    for at, rate in prices:
        if at + length <= begin:
            continue
        if at > known_until:
            yield known_until, None
        yield at, Rate(charge, rate)
        known_until = at + length
    yield known_until, None


def has_energy_window(tariff: TariffTerms) -> bool:
    """Return whether a component of a tariff charges for the energy of some hours, weekdays or a season only."""
    for component in tariff.components:  # faster than `any`, and each cost asks
        if component.window is not None and component.basis is ComponentBasis.ENERGY:
            return True
    return False


def _in_windows(tariff: TariffTerms, spans: Sequence[RateSpan], begin: int, end: int) -> list[RateSpan]:
    """Return the spans of a tariff in [begin, end), divided where a window of a component of energy begins or ends.

    Their rates have the components that hold then, and those of a dynamic tariff follow its formula.
    """
    windows, rates = _window_changes(tariff, begin, end), _RatesInWindows(tariff)
    starts = [at for at, _ in windows]
    divided = list[RateSpan]()
    for (start, rule), (until, _) in pairwise([*spans, RateSpan(end, None)]):
        position = bisect_right(starts, start) - 1
        while start < until:
            divided.append(RateSpan(start, rates.of(rule, windows[position][1])))
            position += 1
            start = min(starts[position], until) if position < len(starts) else until
    return divided


def _window_changes(tariff: TariffTerms, begin: int, end: int) -> list[tuple[int, tuple[int, ...]]]:
    """Return the instants from `begin` on at which other windows hold, with the indexes of their components."""
    zone, edges = ZoneInfo(tariff.time_zone), dict[int, list[tuple[int, bool]]]()
    for index, component in enumerate(tariff.components):
        if component.window is not None and component.basis is ComponentBasis.ENERGY:
            for at, is_inside in _Year([component.window], [True, False]).changes(begin, end, zone):
                edges.setdefault(max(at, begin), []).append((index, is_inside))
    inside, changes = set[int](), list[tuple[int, tuple[int, ...]]]([(begin, ())])
    for at in sorted(edges):
        for index, is_inside in edges[at]:
            (inside.add if is_inside else inside.discard)(index)
        if (holding := tuple(sorted(inside))) != changes[-1][1]:
            changes.append((at, holding))
    return changes


class _RatesInWindows:
    """The rates of a tariff with the components whose windows hold. Each charge with the same ones is one charge."""

    def __init__(self, tariff: TariffTerms) -> None:
        self._tariff = tariff
        self._formula = None if tariff.price_formula is None else PriceRule.of(tariff.price_formula)
        self._charges: dict[tuple[Charge, tuple[int, ...]], tuple[Charge, int]] = {}

    def of(self, rule: Rule, holding: tuple[int, ...]) -> Rule:
        """Return a rule with the components at some indexes. A price becomes the rate of the formula."""
        if rule is None:
            return None
        if isinstance(rule, BlockRates):
            blocks = (block._replace(rate=self._rate(block.rate, holding)) for block in rule.blocks)
            return rule._replace(blocks=tuple(blocks))
        return self._rate(rule, holding)

    def _rate(self, rate: Rate, holding: tuple[int, ...]) -> Rate:
        if (rate.charge, holding) not in self._charges:
            charge = rate.charge if not holding else replace(rate.charge, whole=rate.charge)
            for index in holding:
                charge = charge.with_component(self._tariff.components[index])
            within = sum(to_scaled(part.rate) for part in charge.components if part.in_limits)
            self._charges[rate.charge, holding] = charge, within
        charge, within = self._charges[rate.charge, holding]
        return Rate(charge, rate.rate if self._formula is None else self._formula.rate(rate.rate, within))


def _build_rate(tariff: TariffTerms, band: str | None, rate: Decimal) -> Rate:
    return Rate(Charge.of(tariff, band, to_scaled(rate)), to_scaled(rate))


_SPAN_BUILDERS: Mapping[TariffKind, Callable[[TariffTerms, int, int], Changes[Rule]]] = {
    TariffKind.FLAT: _flat_spans,
    TariffKind.TIME_OF_USE: _time_of_use_spans,
    TariffKind.BLOCK: _block_spans,
}
