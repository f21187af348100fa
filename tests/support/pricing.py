"""Tariffs for tests, and a slow reference model of energy costs, simple enough to verify by reading."""

from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import ComponentWindow, Tariff, TariffBand, TariffBlock, TariffComponent
from wattgate.energy.costs.pricing import EnergySample
from wattgate.energy.costs.timeline import PricesByTariff
from wattgate.energy.quantities import Money, to_hundredths
from wattgate.enums import ComponentBasis, Period, TariffKind, Weekday

ENERGY = ComponentBasis.ENERGY
EVERY_DAY = list(Weekday)
WORKING_DAYS = EVERY_DAY[:5]
START = datetime(2024, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


def tariff(kind: TariffKind = TariffKind.FLAT, **values: Any) -> Tariff:
    """Return a tariff that is valid from 2024. The default is a flat rate without VAT."""
    given = {
        "tariff_id": "t",
        "resource_id": "r",
        "name": "Tariff",
        "valid_from": START,
        "time_zone": "Europe/London",
        "currency": "GBP",
        **values,
    }
    if kind is TariffKind.FLAT:
        given.setdefault("rate", Decimal(20))
    return Tariff(kind=kind, **given)


def band(
    name: str,
    rate: str,
    start: str,
    end: str,
    weekdays: Sequence[Weekday] = EVERY_DAY,
    season: tuple[str | None, str | None] = (None, None),
) -> TariffBand:
    return TariffBand(name, Decimal(rate), list(weekdays), start, end, *season)


def blocks(*limits_and_rates: tuple[str | None, str]) -> list[TariffBlock]:
    return [TariffBlock(Decimal(rate), None if limit is None else Decimal(limit)) for limit, rate in limits_and_rates]


def pence(amount: Money) -> Decimal:
    """Return the pence of an amount of pounds, in which tests state tariffs."""
    return to_hundredths(amount.amount)


def energy(kwh: str) -> int:
    return int(Decimal(kwh).scaleb(9))


def half_hours(start: datetime, stop: datetime, kwh: str = "0.5") -> list[EnergySample]:
    """Return equal samples, one for each half hour."""
    count = (stop - start) // HALF_HOUR
    return [EnergySample(to_ms(start + n * HALF_HOUR), energy(kwh), False) for n in range(count)]


Window = TypeVar("Window", TariffBand, ComponentWindow)


def band_at(bands: Sequence[Window], local: datetime) -> Window | None:
    """Return the band that applies at a wall-clock time, by a literal reading of the rule."""
    time, today = local.strftime("%H:%M"), Weekday(local.weekday())
    yesterday = Weekday((local.weekday() - 1) % 7)
    for band in bands:
        if not in_season(band, local):
            continue
        crosses_midnight = band.end <= band.start
        if today in band.weekdays and band.start <= time and (crosses_midnight or time < band.end):
            return band
        if crosses_midnight and yesterday in band.weekdays and time < band.end:
            return band
    return None


def in_season(window: TariffBand | ComponentWindow, day: date) -> bool:
    """Return whether a local day is in a season."""
    if not window.season_start or not window.season_end:
        return True
    return _is_between(window.season_start, window.season_end, (day.month, day.day))


@lru_cache(maxsize=10_000)
def _is_between(first: str, last: str, day: tuple[int, int]) -> bool:
    """Return whether a day of the year is in a season, by a walk from the first day of the season to its last one."""
    (first_month, first_day), (last_month, last_day) = (map(int, edge.split("-")) for edge in (first, last))
    walked = date(2000, first_month, first_day)
    while (walked.month, walked.day) != day:
        if (walked.month, walked.day) == (last_month, last_day):
            return False
        walked = (walked + timedelta(days=1)).replace(year=2000)  # each year of the walk has 29 February
    return True


def period_start(local: datetime, period: Period) -> datetime:
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if period is Period.P1W:
        return day - timedelta(days=day.weekday())
    return {Period.P1D: day, Period.P1M: day.replace(day=1), Period.P1Y: day.replace(month=1, day=1)}[period]


def no_peak(tariff: Tariff, component: TariffComponent, day: date) -> Fraction:
    return Fraction(0)


def added_cost(tariff: Tariff, at: int, kwh: Fraction) -> Fraction:
    """Return what the components of a tariff add to the cost of some energy at an instant, with VAT."""
    return sum((kwh * _with_own_vat(part, tariff) for part in energy_components(tariff, at)), Fraction(0))


def energy_components(tariff: Tariff, at: int) -> list[TariffComponent]:
    """Return the components that charge for the energy at an instant."""
    found = [part for part in tariff.components if part.basis is ENERGY]
    if all(part.window is None for part in found):
        return found
    local = from_ms(at).astimezone(ZoneInfo(tariff.time_zone))
    return [part for part in found if part.window is None or band_at([part.window], local)]


def rate_of_price(tariff: Tariff, at: int, price: Fraction) -> Fraction:
    """Return the rate of a dynamic tariff from a stored price in pence, by a literal reading of the rule."""
    formula = tariff.price_formula
    if formula is None:
        return price
    exact = price * Fraction(formula.factor) * 10**6
    rounded = Fraction(int(abs(exact) + Fraction(1, 2)), 10**6)
    included = sum((Fraction(part.rate) for part in energy_components(tariff, at) if part.in_limits), Fraction(0))
    rate = included + (rounded if exact >= 0 else -rounded)
    if formula.cap is not None and rate > Fraction(formula.cap):
        rate = Fraction(formula.cap)
    if formula.floor is not None and rate < Fraction(formula.floor):
        rate = Fraction(formula.floor)
    return rate - included


def charge_of_day(
    tariff: Tariff, day: date, peak: Callable[[Tariff, TariffComponent, date], Fraction] = no_peak
) -> Fraction:
    """Return what a tariff charges for a local day beside energy, with VAT, by a literal reading of the rule."""
    total = Fraction(tariff.standing_charge) * (1 + Fraction(tariff.vat_rate) / 100)
    for part in tariff.components:
        if part.basis is ComponentBasis.DAY:
            total += _with_own_vat(part, tariff)
        if part.basis is ComponentBasis.MONTH:
            total += _with_own_vat(part, tariff, _share_of_day(Fraction(part.rate), day))
        if part.basis is ComponentBasis.PEAK and _has_season_day(part, day):
            power = max(peak(tariff, part, day), Fraction(part.minimum or 0))
            charge = power * Fraction(part.rate)
            for step in reversed(part.steps):
                if step.up_to is None or power < step.up_to:
                    charge = Fraction(step.rate)
            total += _with_own_vat(part, tariff, _share_of_day(charge, day))
    return total


def _has_season_day(component: TariffComponent, day: date) -> bool:
    """Return whether the season of a peak has a day in the month of a day."""
    days = range(1, monthrange(day.year, day.month)[1] + 1)
    return component.window is None or any(in_season(component.window, day.replace(day=each)) for each in days)


def _share_of_day(amount: Fraction, day: date) -> Fraction:
    """Return the part of a month's charge that a day has, in whole 10^-15: due by its end, and not before."""
    due = [amount * 10**15 * number // monthrange(day.year, day.month)[1] for number in (day.day - 1, day.day)]
    return Fraction(due[1] - due[0], 10**15)


def _with_own_vat(component: TariffComponent, tariff: Tariff, amount: Fraction | None = None) -> Fraction:
    """Return an amount of a component with its VAT. Without an amount, it is the rate."""
    percent = tariff.vat_rate if component.vat_rate is None else component.vat_rate
    return (Fraction(component.rate) if amount is None else amount) * (1 + Fraction(percent) / 100)


def model_costs(
    samples: Sequence[EnergySample], tariffs: Sequence[Tariff], prices: PricesByTariff
) -> Iterator[tuple[EnergySample, Tariff | None, Fraction | None]]:
    """Yield each sample with its tariff and its cost in pence without VAT. The cost is None if no price is known."""
    for sample in samples:
        current = _tariff_at(tariffs, sample.at)
        yield sample, current, None if current is None else _cost(sample, current, samples, prices)


def cost_with_vat(
    sample: EnergySample,
    samples: Sequence[EnergySample],
    tariffs: Sequence[Tariff],
    prices: PricesByTariff,
    minutes: int,
) -> Fraction | None:
    """Return the cost in pence of a sample that lasts for some minutes, with components and VAT. None: no price.

    Each minute is priced by itself, unless the sample begins under a block tariff. A rate of no dynamic tariff holds on
    where no rate by time follows.
    """
    first = _tariff_at(tariffs, sample.at)
    if first is None:
        return None
    parts = [sample]
    if first.kind is not TariffKind.BLOCK:
        energy = sample.energy // minutes
        assert energy * minutes == sample.energy
        parts = [EnergySample(sample.at + minute * 60_000, energy, False) for minute in range(minutes)]
    total, before = Fraction(0), first
    at = sample.at
    for part in parts:
        current = _tariff_at(tariffs, part.at)
        assert current is not None
        has_none = current is not first and current.kind is TariffKind.BLOCK
        if (has_none or _cost(part, current, samples, prices) is None) and before.kind is not TariffKind.DYNAMIC:
            current, part = before, part._replace(at=at)
        elif has_none:
            return None
        cost = _cost(part, current, samples, prices)
        if cost is None:
            return None
        before, at = current, part.at
        kwh = Fraction(part.energy, 10**9)
        total += cost * (1 + Fraction(current.vat_rate) / 100) + added_cost(current, part.at, kwh)
    return total


def _tariff_at(tariffs: Sequence[Tariff], at: int) -> Tariff | None:
    return next((tariff for tariff in reversed(tariffs) if to_ms(tariff.valid_from) <= at), None)


def _cost(
    sample: EnergySample, tariff: Tariff, samples: Sequence[EnergySample], prices: PricesByTariff
) -> Fraction | None:
    kwh = Fraction(sample.energy, 10**9)
    local = from_ms(sample.at).astimezone(ZoneInfo(tariff.time_zone))
    match tariff.kind:
        case TariffKind.FLAT:
            return kwh * Fraction(tariff.rate or 0)
        case TariffKind.TIME_OF_USE:
            band = band_at(tariff.bands, local)
            return kwh * Fraction(band.rate if band else tariff.rate or 0)
        case TariffKind.DYNAMIC:
            prices_at = [
                price.rate for price in prices.get(tariff.tariff_id, ()) if 0 <= sample.at - price.at < 30 * 60 * 1000
            ]
            return kwh * rate_of_price(tariff, sample.at, Fraction(prices_at[0], 10**6)) if prices_at else None
        case TariffKind.BLOCK:
            assert tariff.block_period
            since = to_ms(period_start(local, tariff.block_period).astimezone(UTC))
            counted = sum(other.energy for other in samples if since <= other.at < sample.at)
            return _block_cost(counted, counted + sample.energy, tariff.blocks)


def _block_cost(start: int, end: int, blocks: Sequence[TariffBlock]) -> Fraction:
    """Return the sum over single watt-hours, each at the rate of its block. A negative sample reduces the cost."""
    step = 10**6  # a watt-hour
    low, high = sorted((start, end))
    cost = Fraction(0)
    for at in range(low, high, step):
        rate = next(block.rate for block in blocks if block.up_to is None or at < energy(str(block.up_to)))
        cost += Fraction(step, 10**9) * Fraction(rate)
    return cost if end >= start else -cost
