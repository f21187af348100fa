"""What the displays of homes draw: one result for each home, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from wattgate.clock import to_ms
from wattgate.db import timeline
from wattgate.db.aggregates import Aggregates, SeriesKey
from wattgate.db.buckets import DAY, HALF_HOUR, HOUR, Grid, Run
from wattgate.db.display import stored
from wattgate.db.display.frame import Display, draw
from wattgate.db.display.home import Calendar, Home
from wattgate.db.display.meter import Kind, Meter
from wattgate.db.display.stored import Live, Stored
from wattgate.db.freshness import GIVEN_UP, Picture
from wattgate.db.models import Resource, Tariff, VirtualEntity
from wattgate.db.queries import freshness
from wattgate.db.queries import homes as home_queries
from wattgate.db.queries.consent import withheld
from wattgate.db.queries.resources import POWER_FIELD
from wattgate.db.queries.tariffs import timelines
from wattgate.db.rows import Rows
from wattgate.db.series_keys import key_of
from wattgate.db.storage import Field, field_named, fields_of
from wattgate.db.tariffs import AHEAD
from wattgate.errors import GatewayError
from wattgate.names import TariffKind

ESTIMATED = 36 * HOUR
"""For how long before the present energy is estimated at most: the meter network delivers a day by the next noon."""

DEFAULT_ZONE = "Europe/London"
"""The wall clock of homes that name none, as of tariffs."""

_KINDS = {kind.value: kind for kind in Kind}
_PAID = (Kind.ELECTRICITY, Kind.GAS)
_ELECTRIC = (Kind.ELECTRICITY, Kind.EXPORTED)


async def displays(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Display | GatewayError]:
    """What the display of each home draws now."""
    found = await homes(rows, virtual_entities)
    return [one if isinstance(one, GatewayError) else draw(one, rows.now) for one in found]


async def homes(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Home | GatewayError]:
    """What the displays of homes are drawn from; the refusal of a home where consent to some of its data is gone."""
    owned = await home_queries.resources(rows, virtual_entities)
    refused = await withheld(rows, [resource for some in owned for resource in some])
    plans = [_Plan.of(entity, some, rows.now) for entity, some in zip(virtual_entities, owned, strict=True)]
    known = await _Known.read(rows, plans)
    live = await _sources(rows, plans, known)
    made: list[Home | GatewayError] = []
    for plan, some in zip(plans, owned, strict=True):
        refusal = next((refused[one.resource_id] for one in some if one.resource_id in refused), None)
        made.append(refusal or _home(plan, known, live, to_ms(rows.now)))
    return made


@dataclass(frozen=True, slots=True)
class _Plan:
    """A home, and what of it is measured: its resources with what they count and the field that says so."""

    entity: VirtualEntity
    measured: list[tuple[Resource, Kind, Field]]
    zone: ZoneInfo
    calendar: Calendar
    grid: Grid

    @classmethod
    def of(cls, entity: VirtualEntity, resources: Sequence[Resource], now: datetime) -> "_Plan":
        zone = ZoneInfo(entity.time_zone or DEFAULT_ZONE)
        days = stored.calendar(now, zone)
        measured = [
            (one, _KINDS[one.classifier], fields_of(one.storage)[0])
            for one in resources
            if one.classifier in _KINDS and not one.cost_of
        ]
        measured.sort(key=lambda one: list(Kind).index(one[1]))
        return cls(entity, measured, zone, days, stored.half_hours(now, days, zone))

    @property
    def paid(self) -> list[tuple[Resource, Field]]:
        return [(resource, field) for resource, kind, field in self.measured if kind in _PAID]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is stored of homes: by resource id their energy and tariffs, prices by tariff id, and how fresh all is."""

    energy: Mapping[str, Stored]
    tariffs: Mapping[str, list[Tariff]]
    prices: timeline.Prices
    picture: Picture

    @classmethod
    async def read(cls, rows: Rows, plans: Sequence[_Plan]) -> "_Known":
        resources = {one.resource_id: one for plan in plans for one, _, _ in plan.measured}
        paid = [resource.resource_id for plan in plans for resource, _ in plan.paid]
        tariffs = await timelines(rows, paid, rows.now + AHEAD)
        dynamic = {one.tariff_id for some in tariffs.values() for one in some if one.kind is TariffKind.DYNAMIC}
        start = min((plan.grid.start for plan in plans), default=0)
        prices = await rows.prices.between(dynamic, start - HALF_HOUR + 1, to_ms(rows.now) + 3 * DAY)
        picture = await freshness.picture(rows, list(resources.values()))
        energy = await _energy(rows, plans, tariffs)
        return cls(energy, tariffs, prices, picture)


async def _energy(rows: Rows, plans: Sequence[_Plan], tariffs: Mapping[str, Sequence[Tariff]]) -> dict[str, Stored]:
    """The energy of each resource in the half hours of its home, and what a block tariff has counted before them."""
    now = to_ms(rows.now)
    since = {
        resource.resource_id: min(timeline.reach(tariffs[resource.resource_id], plan.grid.start, now), plan.grid.start)
        for plan in plans
        for resource, _ in plan.paid
    }
    found: dict[str, Stored] = {}
    inside = await _amounts(rows, [(one, field, plan.grid) for plan in plans for one, _, field in plan.measured])
    earlier = await _amounts(
        rows,
        [
            (one, field, _whole(since[one.resource_id], plan.grid.start))
            for plan in plans
            for one, field in plan.paid
            if since[one.resource_id] < plan.grid.start
        ],
    )
    for plan in plans:
        for resource, kind, field in plan.measured:
            start = since.get(resource.resource_id, plan.grid.start)
            key = key_of(resource, field)
            before = sum(earlier[key, _whole(start, plan.grid.start)].sum) if start < plan.grid.start else 0
            found[resource.resource_id] = Stored(kind, field, plan.grid, inside[key, plan.grid], start, before)
    return found


async def _amounts(
    rows: Rows, wanted: Sequence[tuple[Resource, Field, Grid]]
) -> dict[tuple[SeriesKey, Grid], Aggregates]:
    """What fields of resources amount to in the buckets of grids; equal grids share their statements."""
    together: dict[Grid, dict[SeriesKey, int | None]] = defaultdict(dict)
    for resource, field, grid in wanted:
        together[grid][key_of(resource, field)] = field.interval_ms
    return {
        (key, grid): amounts
        for grid, some in together.items()
        for key, amounts in (await rows.series.aggregates(some, grid)).items()
    }


def _whole(start: int, stop: int) -> Grid:
    return Grid((Run(start, stop - start, 1),))


async def _sources(rows: Rows, plans: Sequence[_Plan], known: _Known) -> dict[str, Live]:
    """By resource id, where live power comes from, and what it held in each half hour that may be estimated."""
    now = to_ms(rows.now)
    fields: dict[SeriesKey, tuple[Resource, Kind, Field]] = {}
    since: dict[SeriesKey, int] = {}
    for plan in plans:
        electric = [one for one in plan.measured if one[1] in _ELECTRIC]
        stored_to = min((known.energy[one.resource_id].to for one, _, _ in electric), default=now)
        start = max(min(stored_to, now - HALF_HOUR), now - ESTIMATED)
        for resource, kind, _ in electric:
            field = field_named(fields_of(resource.storage), POWER_FIELD)
            as_of = known.picture.pulse(resource.resource_id, field, now).as_of if field else None
            if field and as_of is not None and now - as_of <= GIVEN_UP:
                fields[key_of(resource, field)] = (resource, kind, field)
                since[key_of(resource, field)] = start - start % HALF_HOUR
    if not fields:
        return {}
    latest = await rows.series.latest(list(fields))
    held = await rows.series.held_power([(*key, at) for key, at in since.items()], now)
    return {
        one.resource_id: stored.live(one, field, kind, latest[key], held[key], now)
        for key, (one, kind, field) in fields.items()
    }


def _home(plan: _Plan, known: _Known, live: Mapping[str, Live], now: int) -> Home:
    own = {one.resource_id: live[one.resource_id] for one, _, _ in plan.measured if one.resource_id in live}
    meters: list[Meter] = []
    standing: list[tuple[int, Decimal]] = []
    for resource, _, field in plan.measured:
        tariffs, energy = known.tariffs.get(resource.resource_id, ()), known.energy[resource.resource_id]
        rates = stored.rates(tariffs, known.prices, field.unit, energy.since, plan.calendar)
        meter = stored.meter(energy, rates, plan.calendar, now)
        meters.append(stored.estimated(meter, energy, resource.resource_id, own, now))
        standing += stored.standing(rates, plan.calendar) if rates else []
    electricity = [known.energy[one.resource_id] for one, kind, _ in plan.measured if kind is Kind.ELECTRICITY]
    return Home(
        ve_id=plan.entity.ve_id,
        name=plan.entity.name,
        zone=plan.zone,
        calendar=plan.calendar,
        meters=tuple(meters),
        sources=tuple(source for source, _ in own.values()),
        standing=tuple(standing),
        learned=stored.usual(electricity, plan.calendar.day.start, plan.zone),
        wish=stored.wish(plan.entity.attributes),
        picture=known.picture,
        main=next((one.resource_id for one, _, _ in plan.measured), None),
        unread_alerts=0,
    )
