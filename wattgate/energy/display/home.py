"""What is known of a home whose display is drawn. Pure. Instants are milliseconds since 1970 (UTC)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR
from wattgate.energy.display.ambient import within_budget
from wattgate.energy.display.meter import Kind, Meter, Span
from wattgate.energy.display.power import Source, is_estimate
from wattgate.energy.freshness import LIVE_EVERY, Freshness, Picture, Pulse, told
from wattgate.enums import AmbientBasis, FreshnessCause


class Calendar(NamedTuple):
    """The day and the month that a display tells of, by the home's wall clock, and those that follow."""

    day: Span
    tomorrow: Span
    month: Span
    next_month: Span

    def at(self, now: int) -> tuple[Span, Span]:
        """The day and the month at an instant up to the end of tomorrow."""
        day = self.day if now < self.day.end else self.tomorrow
        return day, self.month if day.start < self.month.end else self.next_month


@dataclass(frozen=True, slots=True)
class Wish:
    """What the owner wishes of the level: by what it is judged, and what electricity may cost a day, in pence."""

    basis: AmbientBasis | None = None
    budget: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """`standing` are the charges (pence with VAT) of the days that begin, by their midnight. `learned` is the power
    (W) that is usual in each half hour of the wall clock's day. `main` is the resource whose freshness is told where
    there is no live power. `drawn_from` are the resources and fields without whose readings a frame is not right. The
    picture is moved by what comes, and belongs to one home at a time.
    """

    ve_id: str
    name: str
    zone: ZoneInfo
    calendar: Calendar
    meters: tuple[Meter, ...]
    sources: tuple[Source, ...]
    standing: tuple[tuple[int, Decimal], ...]
    learned: Sequence[float | None]
    wish: Wish
    picture: Picture
    main: str | None
    drawn_from: frozenset[tuple[str, str]]
    unread_alerts: int

    def freshness(self, now: int) -> Freshness:
        """That of the source of power which has been silent for longest, or of the main resource."""
        if self.sources:
            source = min(self.sources, key=lambda one: one.at)
            return self.picture.resource(source.resource_id, source.field, now)
        if self.main is not None:
            return self.picture.resource(self.main, None, now)
        return told(Pulse(None, LIVE_EVERY), now, FreshnessCause.UNKNOWN)

    @property
    def paid(self) -> Meter | None:
        """The meter whose tariff is told: the first of electricity that has one."""
        return next((one for one in self.meters if one.kind is Kind.ELECTRICITY and one.rates), None)

    def counting(self, now: int) -> tuple[Meter, ...]:
        """The meters with the day and the month of an instant, and with what live power comes to by then."""
        spans = self.calendar.at(now)
        return tuple(self._estimated(meter.of(spans), now) for meter in self.meters)

    def _estimated(self, meter: Meter, now: int) -> Meter:
        if meter.source is None:
            return meter
        source = self.sources[meter.source]
        held = source.until(now)
        return meter.estimating(held, source.at) if is_estimate(held, now) else meter

    def take(self, place: int, at: int, watts: float) -> "Home":
        """With a newer reading of the source at a place."""
        source, over = self.sources[place].take(at, watts)
        sources = (*self.sources[:place], source, *self.sources[place + 1 :])
        meters = self.meters
        if over is not None and is_estimate(over, at):
            after = over.at + HALF_HOUR
            meters = tuple(one.estimating(over, after) if one.source == place else one for one in meters)
        self.picture.read(source.resource_id, source.field.name, at)
        return replace(self, sources=sources, meters=meters)

    def place_of(self, resource_id: str, field: str) -> int | None:
        """The place of the source that a field is; None where it is none."""
        names = [(source.resource_id, source.field.name) for source in self.sources]
        return names.index((resource_id, field)) if (resource_id, field) in names else None

    def usual(self, now: int) -> tuple[AmbientBasis, float] | tuple[None, None]:
        """What present use is judged by, and what is usual: power in W, or by PRICE a rate.

        It is what the owner wishes if there is that, else the first of budget, learned average and price.
        """
        found = {
            AmbientBasis.BUDGET: self._budgeted(now),
            AmbientBasis.LEARNED: self.learned[self._half_hour(now)],
            AmbientBasis.PRICE: self._usual_rate(now),
        }
        order = [self.wish.basis, *found] if self.wish.basis else [*found]
        return next(((basis, one) for basis in order if (one := found[basis]) is not None), (None, None))

    def _budgeted(self, now: int) -> float | None:
        paid = self.paid
        if paid is None or paid.rates is None or self.wish.budget is None:
            return None
        rate = paid.rates.rate(now, paid.counted(now))
        return within_budget(self.wish.budget, paid.rates.standing(now), rate)

    def _usual_rate(self, now: int) -> float | None:
        paid = self.paid
        usual = None if paid is None or paid.rates is None else paid.rates.usual(*self.calendar.at(now)[0])
        return None if usual is None else float(usual)

    def _half_hour(self, now: int) -> int:
        local = from_ms(now).astimezone(self.zone)
        return local.hour * 2 + local.minute // 30
