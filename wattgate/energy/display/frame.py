"""A display's frame: everything that it draws, made of what is known of its home at an instant. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy.buckets import HALF_HOUR
from wattgate.energy.display import ambient
from wattgate.energy.display.ambient import Ambient
from wattgate.energy.display.energy_total import Tally
from wattgate.energy.display.home import Home
from wattgate.energy.display.meter import Count, Kind, Meter, Span
from wattgate.energy.display.power import Power, power
from wattgate.energy.display.rates import TariffNow
from wattgate.energy.freshness import Freshness
from wattgate.energy.pricing import rounded
from wattgate.enums import AmbientBasis, FreshnessState

BLANK = (FreshnessState.STALE, FreshnessState.OFFLINE)
"""When power is no longer told: it would be an old number."""

MONEY_PLACES = 2
"""The decimal places at which pounds are told."""

_PAID = (Kind.ELECTRICITY, Kind.GAS)


class Energy(msgspec.Struct, frozen=True, gc=False):
    """Energy of one kind in a span; `value` is None where nothing of it is known yet."""

    value: Decimal | None
    unit: str
    estimated: bool
    complete_to: datetime


class Cost(msgspec.Struct, frozen=True, gc=False):
    """What a span has cost so far, in pounds with VAT; `total` is None where no energy of it could be priced."""

    total: Decimal | None
    standing_charge: Decimal
    unpriced: Decimal
    estimated: bool
    currency: str = "GBP"


class DisplayPeriod(msgspec.Struct, frozen=True, gc=False):
    """A day or a month so far. What the home does not measure is None, and its cost where no tariff is known."""

    start: datetime
    end: datetime
    electricity: Energy | None
    exported: Energy | None
    gas: Energy | None
    cost: Cost | None
    complete_to: datetime | None


class Display(msgspec.Struct, frozen=True, gc=False):
    """A frame. `home` is what it was made of, and what the next one is made of."""

    ve_id: str
    name: str
    time_zone: str
    at: datetime
    power: Power | None
    today: DisplayPeriod
    month: DisplayPeriod
    ambient: Ambient | None
    tariff: TariffNow | None
    freshness: Freshness
    unread_alerts: int
    home: Home


def draw(home: Home, at: datetime) -> Display:
    """The frame of a home at an instant."""
    now = to_ms(at)
    freshness = home.freshness(now)
    shown = None if freshness.state in BLANK else power(home.sources)
    meters = home.counting(now)
    today, month = (_period(home, meters, place, now) for place in range(2))
    paid = home.paid
    tariff = paid.rates.told(now, paid.counted(now)) if paid and paid.rates else None
    return Display(
        ve_id=home.ve_id,
        name=home.name,
        time_zone=str(home.zone),
        at=at,
        power=shown,
        today=today,
        month=month,
        ambient=_ambient(home, now, shown, tariff),
        tariff=tariff,
        freshness=freshness,
        unread_alerts=home.unread_alerts,
        home=home,
    )


def same(one: Display, other: Display) -> bool:
    """Whether two frames tell the same, but for when they were made."""
    return _told(one) == _told(other)


def next_turn(frame: Display) -> datetime:
    """When time alone changes what is drawn: freshness, the tariff, the half hour's level, or the day."""
    home, now = frame.home, to_ms(frame.at)
    found = [home.calendar.at(now)[0].end, now - now % HALF_HOUR + HALF_HOUR]
    if (turns := home.picture.turns_at(now)) is not None:
        found.append(turns)
    if frame.tariff and frame.tariff.until:
        found.append(to_ms(frame.tariff.until))
    return from_ms(min(found))


def _told(frame: Display) -> tuple[object, ...]:
    fresh = frame.freshness
    return (
        (fresh.state, fresh.as_of, fresh.cause),
        (frame.power, frame.ambient, frame.tariff, frame.unread_alerts, frame.name, frame.time_zone),
        (frame.today, frame.month),
    )


def _period(home: Home, meters: Sequence[Meter], place: int, now: int) -> DisplayPeriod:
    span = home.calendar.at(now)[place]
    complete = [meter.counts[place].complete_to for meter in meters]
    return DisplayPeriod(
        start=from_ms(span.start),
        end=from_ms(span.end),
        electricity=_energy(meters, Kind.ELECTRICITY, place),
        exported=_energy(meters, Kind.EXPORTED, place),
        gas=_energy(meters, Kind.GAS, place),
        cost=_cost(home, [one for one in meters if one.kind in _PAID], place, span, now),
        complete_to=from_ms(min(complete)) if complete else None,
    )


def _energy(meters: Iterable[Meter], kind: Kind, place: int) -> Energy | None:
    alike = [meter for meter in meters if meter.kind is kind]
    if not alike:
        return None
    counts = [meter.counts[place] for meter in alike if meter.unit == alike[0].unit]
    all_ = _all(counts)
    return Energy(all_.value, alike[0].unit, all_.estimated, from_ms(min(count.complete_to for count in counts)))


def _cost(home: Home, meters: Sequence[Meter], place: int, span: Span, now: int) -> Cost | None:
    """What is used costs, with the charge of each day that has begun. What is exported is not set against it."""
    if not any(meter.rates for meter in meters):
        return None
    tally = _all(meter.counts[place] for meter in meters)
    standing = sum((charge for at, charge in home.standing if span.start <= at < span.end and at <= now), Decimal(0))
    return Cost(
        total=_pounds(tally.pence + standing) if tally.priced else None,
        standing_charge=_pounds(standing),
        unpriced=tally.unpriced_energy,
        estimated=tally.estimated,
    )


def _all(counts: Iterable[Count]) -> Tally:
    return sum((count.tally for count in counts), Tally())


def _pounds(pence: Decimal) -> Decimal:
    return rounded(pence / 100, MONEY_PLACES)


def _ambient(home: Home, now: int, shown: Power | None, tariff: TariffNow | None) -> Ambient | None:
    basis, usual = home.usual(now)
    if basis is None or usual is None:
        return None
    if basis is AmbientBasis.PRICE:
        return None if tariff is None or tariff.rate is None else ambient.by_price(tariff.rate, usual, tariff.unit)
    return None if shown is None else ambient.by_power(shown.imported, usual, basis)
