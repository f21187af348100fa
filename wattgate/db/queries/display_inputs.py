"""From what is stored to a home's meters: their counts, rates and what is usual. Pure. Instants are ms (UTC)."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.readings.series import Stored as Reading
from wattgate.energy import buckets, timeline
from wattgate.energy.buckets import DAY, HALF_HOUR, Grid
from wattgate.energy.display.ambient import DAYS, learned
from wattgate.energy.display.energy_total import Tally
from wattgate.energy.display.home import Calendar, Wish
from wattgate.energy.display.meter import Count, Kind, Meter, Span
from wattgate.energy.display.power import HOLDS, Held, Source, is_estimate, watts
from wattgate.energy.display.rates import Rates
from wattgate.energy.pricing import Piece, Sample, priced, with_vat
from wattgate.energy.storage_fields import Field
from wattgate.enums import AmbientBasis, Period, TariffKind

AHEAD = 8 * DAY
"""How far ahead the rates of a week's pattern are known; prices by the half hour until the end of tomorrow."""

SETTINGS = "display"
"""The attribute of a virtual entity with what its owner wishes: {"dailyBudget": pounds, "ambientBasis": basis}."""

Live = tuple[Source, list[Held]]
"""A source of power, and what it held in the half hours before that of its newest reading."""

_KWH_TO_W = 2000.0
"""The power in W that makes a kWh in half an hour."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The energy of a field in the half hours of a grid, and what was counted from `since` to before it."""

    resource_id: str
    kind: Kind
    field: Field
    grid: Grid
    amounts: Aggregates
    since: int
    before: int

    def samples(self) -> list[Sample]:
        """In order, what each half hour counted; first what came before the grid."""
        scale = 10 ** (timeline.ENERGY_DECIMALS - self.field.decimals)
        found = [Sample(self.since, self.before * scale, False)] if self.before else []
        columns = zip(self.grid.edges, self.amounts.count, self.amounts.sum, self.amounts.estimated, strict=False)
        return found + [Sample(at, total * scale, guessed > 0) for at, count, total, guessed in columns if count]

    @property
    def to(self) -> int:
        """The end of the newest sample; where the grid begins, if there is none in it."""
        ends = [at for at, count in zip(self.amounts.last_at, self.amounts.count, strict=True) if count]
        return max(ends) + (self.field.interval_ms or 0) if ends else self.grid.start

    @property
    def can_be_estimated(self) -> bool:
        """Whether what is missing may be told from power: half hours by the clock, in kWh."""
        field = self.field
        return field.unit == "kWh" and field.interval_ms == HALF_HOUR and not field.start_ms % HALF_HOUR

    def complete_to(self, start: int, now: int) -> int:
        """Up to when no sample is missing from an instant on, of those that are over."""
        if self.field.interval_ms is None:
            return max(start, min(self.to, now))
        edges = self.grid.edges
        for place in range(bisect_left(edges, start), self.grid.count):
            expected = self.field.expected(edges[place], edges[place + 1]) or 0
            if edges[place + 1] > now or self.amounts.count[place] < expected:
                return edges[place]
        return now


def calendar(now: datetime, zone: ZoneInfo) -> Calendar:
    """The day and the month of an instant by a wall clock, and those that follow."""
    day, tomorrow = _two(now, Period.P1D, zone)
    month, next_month = _two(now, Period.P1M, zone)
    return Calendar(day, tomorrow, month, next_month)


def half_hours(now: datetime, known: Calendar, zone: ZoneInfo) -> Grid:
    """The half hours from which the day, the month and what is usual are told."""
    start = min(known.month.start, _days_before(known.day.start, zone))
    return buckets.grid(from_ms(start), now, Period.PT30M, zone)


def rates(tariffs: Sequence[Tariff], prices: timeline.Prices, unit: str, start: int, known: Calendar) -> Rates | None:
    """What energy costs from an instant on, as far ahead as it is known; None where no tariff is."""
    if not tariffs:
        return None
    dynamic = any(tariff.kind is TariffKind.DYNAMIC for tariff in tariffs)
    stop = known.tomorrow.end if dynamic else known.day.start + AHEAD
    spans = timeline.spans(tariffs, prices, start, stop)
    later = next((to_ms(tariff.valid_from) for tariff in tariffs if to_ms(tariff.valid_from) >= stop), None)
    if later is not None:
        spans.append(timeline.spans(tariffs, prices, later, later + 1)[-1])
    return Rates(tuple(tariffs), tuple(_merged(spans)), unit)


def meter(stored: Stored, known: Rates | None, spans: Calendar, now: int) -> Meter:
    """The meter of what is stored, as far as it is."""
    samples = stored.samples()
    start = min(spans.day.start, spans.month.start)
    if known is None:
        pieces = [Piece(*sample, None, 0) for sample in samples if sample.at >= start]
    else:
        pieces = list(priced(samples, known.spans, start))
    counts = []
    for span in (spans.day, spans.month):
        inside = pieces[bisect_left(pieces, span.start, key=_at) :]
        counts.append(Count(span, Tally().plus(inside), stored.complete_to(span.start, now)))
    return Meter(
        kind=stored.kind,
        unit=stored.field.unit,
        rates=None if known is None else _from(known, min(spans.day.start, stored.to)),
        counts=tuple(counts),
        stored_to=stored.to,
        block=_block(samples, None if known is None else known.rule(stored.to)),
    )


def live(resource: Resource, field: Field, kind: Kind, newest: Reading, held: Sequence[Held], now: int) -> Live:
    """The source of power that a field is, and what it held in the half hours but the newest one."""
    each = watts(1, field.unit) / 10**field.decimals
    found = {one.at: Held(one.at, round(one.positive * each), round(one.negative * each), one.known) for one in held}
    slot = newest.at - newest.at % HALF_HOUR
    source = Source(
        resource_id=resource.resource_id,
        field=field,
        exports=kind is Kind.EXPORTED,
        at=newest.at,
        watts=watts(field.number(newest.value), field.unit),
        held=found.pop(slot, Held(slot, 0, 0, 0)),
        held_to=max(newest.at, min(now, newest.at + HOLDS)),
    )
    return source, list(found.values())


def estimated(meter: Meter, energy: Stored, sources: Mapping[str, Live], now: int) -> Meter:
    """The meter with what live power comes to in the half hours that are not stored yet but over.

    Power of its own resource tells it; of what goes out also the power below zero of the one that tells what comes in.
    """
    inward = [place for place, (source, _) in enumerate(sources.values()) if not source.exports]
    if energy.resource_id in sources:
        place, reverse = list(sources).index(energy.resource_id), False
    elif meter.kind is Kind.EXPORTED and len(inward) == 1 and len(sources) == 1:
        place, reverse = inward[0], True
    else:
        return meter
    if not energy.can_be_estimated:
        return meter
    meter = replace(meter, source=place, reverse=reverse)
    _, halves = list(sources.values())[place]
    for held in halves:
        if is_estimate(held, now):
            meter = meter.estimating(held, held.at + HALF_HOUR)
    return meter


def standing(known: Rates, days: Calendar) -> list[tuple[int, Decimal]]:
    """The charge with VAT of each day of a home's calendar up to tomorrow, by its midnight."""
    begun = timeline.standing(known.tariffs, min(days.month.start, days.day.start), days.tomorrow.end)
    return [(at, with_vat(tariff, tariff.standing_charge)) for at, tariff in begun]


def usual(electricity: Sequence[Stored], today: int, zone: ZoneInfo) -> list[float | None]:
    """The mean power (W) that came in at each half hour of the wall clock, over the days before today."""
    days: dict[date, list[float | None]] = {}
    edges = electricity[0].grid.edges if electricity else [today]
    for place in range(bisect_left(edges, _days_before(today, zone)), bisect_left(edges, today)):
        local = from_ms(edges[place]).astimezone(zone)
        known = [_watts(one, place) for one in electricity]
        times = days.setdefault(local.date(), [None] * (DAY // HALF_HOUR))
        times[local.hour * 2 + local.minute // 30] = None if None in known else sum(filter(None, known))
    return learned(list(days.values())) if days else [None] * (DAY // HALF_HOUR)


def wish(attributes: Mapping[str, Any]) -> Wish:
    """What a home's attributes say that its owner wishes; what cannot be understood is passed over."""
    said = attributes.get(SETTINGS)
    if not isinstance(said, Mapping):
        return Wish()
    basis = said.get("ambientBasis")
    known = AmbientBasis(basis) if basis in [one.value for one in AmbientBasis] else None
    return Wish(known, _pence(said.get("dailyBudget")))


def _days_before(today: int, zone: ZoneInfo) -> int:
    """The midnight from which it is learned what is usual."""
    return buckets.midnight(from_ms(today).astimezone(zone).date() - timedelta(days=DAYS), zone)


def _pence(pounds: Any) -> Decimal | None:
    try:
        amount = Decimal(str(pounds)) * 100
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None


def _watts(stored: Stored, place: int) -> float | None:
    """The mean power of a half hour; None where it is not complete."""
    field, amounts, edges = stored.field, stored.amounts, stored.grid.edges
    expected = field.expected(edges[place], edges[place + 1])
    if not amounts.count[place] or (expected and amounts.count[place] < expected):
        return None
    return field.number(amounts.sum[place]) * _KWH_TO_W


def _two(now: datetime, period: Period, zone: ZoneInfo) -> tuple[Span, Span]:
    first, second = timeline.calendar(to_ms(now), to_ms(now) + 1, period, zone)
    third = timeline.calendar(second, second + 1, period, zone)[1]
    return Span(first, second), Span(second, third)


def _merged(spans: Sequence[timeline.Span]) -> list[timeline.Span]:
    """Of spans that begin at the same instant the last one."""
    return list({span.start: span for span in spans}.values())


def _from(known: Rates, start: int) -> Rates:
    """What holds from an instant on: what came before it is not kept."""
    place = max(bisect_right(known.spans, start, key=lambda span: span.start) - 1, 0)
    first = max(bisect_right(known.tariffs, start, key=lambda tariff: to_ms(tariff.valid_from)) - 1, 0)
    return Rates(known.tariffs[first:], known.spans[place:], known.unit)


def _block(samples: Sequence[Sample], rule: timeline.Rate | timeline.Blocks | None) -> tuple[int, int]:
    if not isinstance(rule, timeline.Blocks):
        return 0, 0
    return rule.since, sum(sample.energy for sample in samples[bisect_left(samples, rule.since, key=_at) :])


def _at(sample: Sample | Piece) -> int:
    return sample.at
