"""A slow model of a home's figures that goes through each minute, and homes drawn at random to compare with it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.pricing import EVERY_DAY, WORKING_DAYS, band_at, charge_of_day, cost_with_vat
from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Tariff, TariffComponent
from wattgate.energy.costs.pricing import EnergySample
from wattgate.energy.costs.timeline import Price
from wattgate.enums import ComponentBasis, Period, TariffKind
from wattgate.operations.types.meters.tariffs import (
    NewComponentWindow,
    NewPeakStep,
    NewPriceFormula,
    NewTariffBand,
    NewTariffBlock,
    NewTariffComponent,
)

MINUTE = 60_000
HALF_HOUR = 30 * MINUTE
DAY = 1_440 * MINUTE

ZONES = (
    *("Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe"),  # quarter hours, and a change of half an hour
    *("America/Santiago", "Asia/Beirut", "America/Asuncion"),  # days that begin at 01:00
    *("Europe/London", "America/St_Johns", "Asia/Kolkata", "UTC"),
)


@dataclass
class Figures:
    """The figures of a span so far: energy in kWh, costs in pence with VAT. `has_price`: some energy has a price."""

    energy: Fraction = Fraction(0)
    unpriced: Fraction = Fraction(0)
    energy_cost: Fraction = Fraction(0)
    standing: Fraction = Fraction(0)
    has_energy: bool = False
    has_price: bool = False
    stored: int = 0
    expected: int = 0

    @property
    def total(self) -> Fraction | None:
        return self.energy_cost + self.standing if self.has_price or self.standing else None


@dataclass
class ModelHome:
    """A home with one meter. Instants are ms since 1970, and `watt_hours` are by the start of their sample."""

    zone: ZoneInfo
    now: int
    interval: int
    storage_start: int
    watt_hours: Mapping[int, int]
    tariffs: list[Tariff] = field(default_factory=list)
    prices: dict[str, list[Price]] = field(default_factory=dict)

    def span(self, period: Period) -> tuple[int, int]:
        """Return the period of the home that contains the present instant, by a walk to its first and last minute."""
        key = _KEYS[period]
        present = key(self._local(self.now))
        start = self.now - self.now % MINUTE
        while key(self._local(start - MINUTE)) == present:
            start -= MINUTE
        stop = self.now - self.now % MINUTE
        while key(self._local(stop)) == present:
            stop += MINUTE
        return start, stop

    def figures(self, start: int, stop: int) -> Figures:
        """Return the figures of [start, stop) by a walk through its minutes."""
        costs, found = self._costs(), Figures()
        for minute in range(start, stop, MINUTE):
            if minute >= self.storage_start and (minute - self.storage_start) % self.interval == 0:
                found.expected += 1
            if minute in costs:
                energy, cost = costs[minute]
                found.stored, found.has_energy = found.stored + 1, True
                found.energy += energy
                if cost is None:
                    found.unpriced += energy
                else:
                    found.energy_cost, found.has_price = found.energy_cost + cost, True
            if minute <= self.now:
                found.standing += self._charge_of_day(minute)
        return found

    def _costs(self) -> dict[int, tuple[Fraction, Fraction | None]]:
        """Return the energy and the cost with VAT of each sample. The cost is None without a price."""
        if not hasattr(self, "_by_minute"):
            samples = [EnergySample(at, value * 10**6, False) for at, value in sorted(self.watt_hours.items())]
            self._by_minute = {
                sample.at: (
                    Fraction(sample.energy, 10**9),
                    cost_with_vat(sample, samples, self.tariffs, self.prices, self.interval // MINUTE),
                )
                for sample in samples
            }
        return self._by_minute

    def _charge_of_day(self, minute: int) -> Fraction:
        """Return the standing charge of the day that begins at a minute in the zone of its tariff; 0 if none does."""
        tariff = next((each for each in reversed(self.tariffs) if to_ms(each.valid_from) <= minute), None)
        if tariff is None:
            return Fraction(0)
        zone = ZoneInfo(tariff.time_zone)
        today, before = (from_ms(at).astimezone(zone).date() for at in (minute, minute - MINUTE))
        return Fraction(0) if today == before else charge_of_day(tariff, today, self._peak)

    def _peak(self, tariff: Tariff, component: TariffComponent, day: date) -> Fraction:
        """Return the peak of the month of a day in kW, in whole billionths."""
        minutes = max(component.peak_minutes or 15, self.interval // MINUTE)
        zone = ZoneInfo(tariff.time_zone)
        parts = Counter[tuple[date, Any]]()
        for at, energy in self.watt_hours.items():
            local = from_ms(at).astimezone(zone)
            if at <= self.now and (local.year, local.month) == (day.year, day.month):
                part = local.hour * 60 + local.minute - local.minute % minutes, local.utcoffset()
                parts[local.date(), part] += energy
        highest: dict[date, int] = {}
        for (local_day, (minute, _)), energy in parts.items():
            begins = datetime(local_day.year, local_day.month, local_day.day, minute // 60, minute % 60)
            if component.window and not band_at([component.window], begins):
                continue
            highest[local_day] = max(highest.get(local_day, 0), energy)
        chosen = sorted(highest.values(), reverse=True)[: component.peak_days or 1]
        return Fraction(sum(chosen) * 10**6 * 60 // (minutes * len(chosen)), 10**9) if chosen else Fraction(0)

    def _local(self, at: int) -> datetime:
        return from_ms(at).astimezone(self.zone)


_KEYS: dict[Period, Callable[[datetime], Any]] = {
    Period.PT1H: lambda local: (local.date(), local.hour, local.utcoffset()),
    Period.P1D: lambda local: local.date(),
    Period.P1W: lambda local: local.isocalendar()[:2],
    Period.P1M: lambda local: (local.year, local.month),
}


def draw_home(chance: Random) -> tuple[ModelHome, list[dict[str, Any]]]:
    """Draw a home, and the terms of its tariffs in pence, oldest first."""
    zone = ZoneInfo(chance.choice(ZONES))
    now = _draw_now(chance, zone)
    interval = chance.choice((10, 15, 30, 30, 30, 60)) * MINUTE
    phase = chance.choice((0, 0, 15)) * MINUTE % interval
    since = now - chance.randrange(2, 34) * DAY - chance.randrange(1_440) * MINUTE
    storage_start = chance.choice((0, since)) // HALF_HOUR * HALF_HOUR + phase
    first = max(since, storage_start)
    first += (storage_start - first) % interval
    until = now - interval - chance.choice((0, 0, 6 * 60, 30 * 60)) * MINUTE
    missing = chance.choice((0.0, 0.0, 0.02, 0.2))
    watt_hours = {
        at: 3 * chance.randrange(0, 14)
        for at in range(first, max(until, first) + 1, interval)
        if chance.random() >= missing
    }
    home = ModelHome(zone, now, interval, storage_start, watt_hours)
    starts = [(now // MINUTE - chance.randrange(-1, 40 * 1_440)) * MINUTE for _ in range(chance.randrange(0, 4))]
    return home, [_draw_terms(chance, at, zone) for at in sorted(set(starts)) if at <= now]


def _draw_now(chance: Random, zone: ZoneInfo) -> int:
    """Draw an instant from 2022 to 2027: in half of all draws, up to three days after a change of the clocks."""
    start = to_ms(datetime(2022, 2, 1, tzinfo=UTC)) + chance.randrange(5 * 365) * DAY
    if chance.random() < 0.5:
        offsets = ((day, from_ms(day).astimezone(zone).utcoffset()) for day in range(start, start + 366 * DAY, DAY))
        first = next(offsets)[1]
        start = next((day for day, offset in offsets if offset != first), start)
    return start + chance.randrange(-1_440, 3 * 1_440) * MINUTE + chance.randrange(60) * 1_000


def _draw_terms(chance: Random, at: int, zone: ZoneInfo) -> dict[str, Any]:
    kind = chance.choice(list(TariffKind))
    terms: dict[str, Any] = {
        "kind": kind,
        "valid_from": from_ms(at),
        "time_zone": chance.choice((str(zone), str(zone), chance.choice(ZONES))),
        "standing_charge": chance.choice((Decimal(0), Decimal("53.8"), Decimal("31.417"))),
        "vat_percent": chance.choice((Decimal(0), Decimal(5), Decimal("17.5"))),
        "components": [_draw_component(chance, number, at, zone) for number in range(chance.choice((0, 0, 1, 4)))],
    }
    rates = [Decimal(chance.randrange(-5_000, 60_000)).scaleb(-3) for _ in range(3)]
    if kind in (TariffKind.FLAT, TariffKind.TIME_OF_USE):
        terms["rate"] = rates[0]
    if kind is TariffKind.TIME_OF_USE:
        start, end = (
            f"{hour:02d}:{chance.choice(('00', '30', '02', '17'))}"
            for hour in (chance.randrange(12), chance.randrange(24))
        )
        terms["bands"] = _draw_bands(chance, at, zone, {"start": start, "end": end, "rate": rates[1]})
        is_all_year = len(terms["bands"]) == 2 or terms["bands"][0].season_start is None
        if start == end and is_all_year and terms["bands"][0].weekdays == EVERY_DAY:
            del terms["rate"]
    if kind is TariffKind.DYNAMIC and chance.random() < 0.7:
        terms["price_formula"] = _draw_formula(chance)
        terms["components"] = [
            replace(part, in_limits=part.basis is ComponentBasis.ENERGY and chance.random() < 0.5)
            for part in terms["components"]
        ]
    if kind is TariffKind.BLOCK:
        limit = Decimal(chance.randrange(1, 900)).scaleb(-3)
        terms["blocks"] = [NewTariffBlock(rate=rates[1], up_to=limit), NewTariffBlock(rate=rates[2])]
        terms["block_period"] = chance.choice((Period.P1D, Period.P1W, Period.P1M))
    return terms


def _draw_bands(chance: Random, at: int, zone: ZoneInfo, terms: dict[str, Any]) -> list[NewTariffBand]:
    """Draw a band of all year or of a season, and now and then one of the same hours in the rest of the year."""
    weekdays = chance.choice((EVERY_DAY, EVERY_DAY, WORKING_DAYS))
    first, last = _draw_season(chance, at, zone)
    drawn = NewTariffBand(name="band", weekdays=weekdays, season_start=first, season_end=last, **terms)
    if first is None or last is None or chance.random() < 0.5:
        return [drawn]
    rest = [_next_day(last, 1), _next_day(first, -1)]
    other = {**terms, "rate": Decimal(chance.randrange(-5_000, 60_000)).scaleb(-3)}
    return [drawn, NewTariffBand(name="rest", weekdays=weekdays, season_start=rest[0], season_end=rest[1], **other)]


def _draw_season(chance: Random, at: int, zone: ZoneInfo) -> tuple[str | None, str | None]:
    """Draw the first and the last day of a season that begins or ends soon after an instant, or none."""
    if chance.random() < 0.4:
        return None, None
    first = from_ms(at + chance.randrange(-30, 40) * DAY).astimezone(zone).date()
    last = first + timedelta(days=chance.randrange(40))
    days = [f"{day:%m-%d}" for day in (first, last)]
    if chance.random() < 0.1:
        days[chance.randrange(2)] = "02-29"
    if chance.random() < 0.3:
        days = [_next_day(days[1], 1), _next_day(days[0], -1)]
    return (None, None) if days[0] == _next_day(days[1], 1) else (days[0], days[1])


def _next_day(day: str, count: int) -> str:
    """Return a day of a season a number of days later, in a leap year."""
    return f"{date.fromisoformat(f'2000-{day}') + timedelta(days=count):%m-%d}"


def _draw_formula(chance: Random) -> NewPriceFormula:
    """Draw a formula with a cap that some prices reach, and a floor now and then."""
    return NewPriceFormula(
        factor=chance.choice((Decimal(1), Decimal("2.2"), Decimal("1.03"), Decimal("0.333333"))),
        floor=chance.choice((None, Decimal(0), Decimal("-1.5"))),
        cap=Decimal(chance.randrange(1, 60_000)).scaleb(-3),
    )


def _draw_component(chance: Random, number: int, at: int, zone: ZoneInfo) -> NewTariffComponent:
    basis = chance.choice(list(ComponentBasis))
    window: dict[str, Any] = {}
    if chance.random() < 0.5:
        first, last = _draw_season(chance, at, zone)
        start, end = (f"{chance.randrange(24):02d}:{chance.choice(('00', '30', '17'))}" for _ in range(2))
        days = chance.choice((EVERY_DAY, WORKING_DAYS))
        window["window"] = NewComponentWindow(weekdays=days, start=start, end=end, season_start=first, season_end=last)
    peak: dict[str, Any] = {
        "peak_minutes": chance.choice((None, 15, 30, 60)),
        "peak_days": chance.choice((None, 3)),
        "minimum_kilowatts": chance.choice((None, Decimal("0.05"))),
    }
    has_steps = basis is ComponentBasis.PEAK and chance.random() < 0.4
    if has_steps:
        limits = sorted(chance.sample(range(1, 200), 2))
        peak["steps"] = [
            *(NewPeakStep(rate=Decimal(limit) / 10, up_to_kilowatts=Decimal(limit).scaleb(-3)) for limit in limits),
            NewPeakStep(rate=Decimal(chance.randrange(-300, 9_000)).scaleb(-1)),
        ]
    return NewTariffComponent(
        **(peak if basis is ComponentBasis.PEAK else {}),
        **(window if basis in (ComponentBasis.PEAK, ComponentBasis.ENERGY) else {}),
        name=f"component {number}",
        basis=basis,
        rate=Decimal(0 if has_steps else chance.randrange(-3_000, 9_000)).scaleb(-3),
        vat_percent=chance.choice((None, Decimal(0), Decimal(20))),
    )


def draw_prices(chance: Random, home: ModelHome, tariff: Tariff) -> list[Price]:
    """Draw prices of a dynamic tariff in its half hours until tomorrow, with a gap now and then."""
    begin = to_ms(tariff.valid_from)
    local = from_ms(begin).astimezone(ZoneInfo(tariff.time_zone))
    begin -= to_ms(local.replace(tzinfo=UTC)) % HALF_HOUR
    stop = min(home.now + DAY, begin + 40 * DAY)
    share = chance.choice((1.0, 0.97))
    return [
        Price(at, chance.randrange(-4_000, 50_000) * 1_000)
        for at in range(begin, stop, HALF_HOUR)
        if chance.random() < share
    ]


def round_half_away(amount: Fraction, decimals: int) -> Decimal:
    """Return an amount rounded to a number of decimal places, with halves away from zero."""
    scaled = abs(amount) * 10**decimals
    whole = int(scaled + Fraction(1, 2))
    return Decimal(whole if amount >= 0 else -whole).scaleb(-decimals)


def fixed_offset(home: ModelHome, spans: Sequence[int]) -> timezone | None:
    """Return the offset of the home's clocks if it is the same whole number of minutes at all instants."""
    offsets = {from_ms(at).astimezone(home.zone).utcoffset() for at in spans}
    (offset, *others) = offsets
    return None if others or offset is None or offset % timedelta(minutes=1) else timezone(offset)
