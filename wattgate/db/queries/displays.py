"""What the displays of homes draw: one result for each home, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wattgate.clock import to_ms
from wattgate.db.models import Resource, Tariff, VirtualEntity
from wattgate.db.queries import display_inputs, freshness
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.alerts import unread_alerts_of
from wattgate.db.queries.consent import withheld
from wattgate.db.queries.display_inputs import Live, Stored
from wattgate.db.queries.tariffs import timelines
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import key_of
from wattgate.db.rows import Rows
from wattgate.energy import timeline
from wattgate.energy.buckets import DAY, HALF_HOUR, HOUR, Grid, Run
from wattgate.energy.display.frame import Display, draw
from wattgate.energy.display.home import Calendar, Home
from wattgate.energy.display.meter import Kind, Meter
from wattgate.energy.freshness import GIVEN_UP, Picture
from wattgate.energy.storage_fields import POWER_FIELD, Field, field_named, fields_of
from wattgate.energy.tariffs import AHEAD
from wattgate.enums import TariffKind
from wattgate.errors import GatewayError

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
    live = await _live(rows, plans, known)
    made: list[Home | GatewayError] = []
    for plan, some in zip(plans, owned, strict=True):
        refusal = next((refused[one.resource_id] for one in some if one.resource_id in refused), None)
        made.append(refusal or _home(plan, known, live, to_ms(rows.now)))
    return made


def measured(resources: Sequence[Resource]) -> list[Resource]:
    """Of a home's resources those from which its display is drawn: electricity, then what is exported, then gas."""
    known = [one for one in resources if one.classifier in _KINDS and not one.cost_of]
    return sorted(known, key=lambda one: list(_KINDS).index(one.classifier))


class _Measured(NamedTuple):
    """A resource of a home, and its fields of energy and of live power."""

    resource: Resource
    kind: Kind
    energy: Field | None
    power: Field | None

    @classmethod
    def of(cls, resource: Resource) -> "_Measured":
        kind, (first, *others) = _KINDS[resource.classifier], fields_of(resource.storage)
        power = field_named((first, *others), POWER_FIELD) if kind in _ELECTRIC else None
        return cls(resource, kind, None if first.name == POWER_FIELD else first, power)


class _Metered(NamedTuple):
    """A series of energy of a home."""

    resource: Resource
    kind: Kind
    field: Field


@dataclass(frozen=True, slots=True)
class _Plan:
    """A home, what of it is measured, its time, and the half hours from which it is told."""

    entity: VirtualEntity
    measured: list[_Measured]
    zone: ZoneInfo
    calendar: Calendar
    grid: Grid

    @classmethod
    def of(cls, entity: VirtualEntity, resources: Sequence[Resource], now: datetime) -> "_Plan":
        zone = ZoneInfo(entity.time_zone or DEFAULT_ZONE)
        days = display_inputs.calendar(now, zone)
        return cls(
            entity, [*map(_Measured.of, measured(resources))], zone, days, display_inputs.half_hours(now, days, zone)
        )

    @property
    def metered(self) -> list[_Metered]:
        return [_Metered(one, kind, energy) for one, kind, energy, _ in self.measured if energy]

    @property
    def paid(self) -> list[_Metered]:
        return [one for one in self.metered if one.kind in _PAID]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is stored of homes: by resource id their energy and tariffs, prices by tariff id, how fresh all is, and by
    user the count of unread alerts.
    """

    energy: Mapping[str, Stored]
    tariffs: Mapping[str, list[Tariff]]
    prices: timeline.Prices
    picture: Picture
    unread: Mapping[str, int]

    @classmethod
    async def read(cls, rows: Rows, plans: Sequence[_Plan]) -> "_Known":
        resources = {one.resource.resource_id: one.resource for plan in plans for one in plan.measured}
        tariffs = await timelines(
            rows, [one.resource.resource_id for plan in plans for one in plan.paid], rows.now + AHEAD
        )
        dynamic = {one.tariff_id for some in tariffs.values() for one in some if one.kind is TariffKind.DYNAMIC}
        start = min((plan.grid.start for plan in plans), default=0)
        prices = await rows.prices.between(dynamic, start - HALF_HOUR + 1, to_ms(rows.now) + 3 * DAY)
        picture = await freshness.picture(rows, list(resources.values()))
        unread = await unread_alerts_of(rows, {plan.entity.owner_id for plan in plans})
        return cls(await _energy(rows, plans, tariffs), tariffs, prices, picture, unread)


async def _energy(rows: Rows, plans: Sequence[_Plan], tariffs: Mapping[str, Sequence[Tariff]]) -> dict[str, Stored]:
    """The energy of each resource in the half hours of its home, and what a block tariff has counted before them."""
    now = to_ms(rows.now)
    before: dict[str, Grid] = {}
    for plan in plans:
        for one in plan.paid:
            since = timeline.reach(tariffs[one.resource.resource_id], plan.grid.start, now)
            if since < plan.grid.start:
                before[one.resource.resource_id] = Grid((Run(since, plan.grid.start - since, 1),))
    every = [(one, plan.grid) for plan in plans for one in plan.metered]
    inside = await _amounts(rows, every)
    earlier = await _amounts(
        rows, [(one, before[one.resource.resource_id]) for one, _ in every if one.resource.resource_id in before]
    )
    found: dict[str, Stored] = {}
    for (resource, kind, field), grid in every:
        key, span = key_of(resource, field), before.get(resource.resource_id)
        counted = (span.start, earlier[key, span].sum[0]) if span else (grid.start, 0)
        found[resource.resource_id] = Stored(resource.resource_id, kind, field, grid, inside[key, grid], *counted)
    return found


async def _amounts(rows: Rows, wanted: Sequence[tuple[_Metered, Grid]]) -> dict[tuple[SeriesKey, Grid], Aggregates]:
    """What series amount to in the buckets of grids; equal grids share their statements."""
    together: dict[Grid, dict[SeriesKey, int | None]] = defaultdict(dict)
    for (resource, _, field), grid in wanted:
        together[grid][key_of(resource, field)] = field.interval_ms
    return {
        (key, grid): amounts
        for grid, some in together.items()
        for key, amounts in (await rows.series.aggregates(some, grid)).items()
    }


async def _live(rows: Rows, plans: Sequence[_Plan], known: _Known) -> dict[str, Live]:
    """By resource id, where live power comes from, and what it held in each half hour that may be estimated."""
    now = to_ms(rows.now)
    sources: dict[SeriesKey, tuple[Resource, Kind, Field]] = {}
    since: dict[SeriesKey, int] = {}
    for plan in plans:
        told = [known.energy[one.resource.resource_id].to for one in plan.metered if one.kind in _ELECTRIC]
        start = max(min([*told, now - HALF_HOUR]), now - ESTIMATED)
        for resource, kind, _, power in plan.measured:
            as_of = known.picture.pulse(resource.resource_id, power, now).as_of if power else None
            if power and as_of is not None and now - as_of <= GIVEN_UP:
                sources[key_of(resource, power)] = (resource, kind, power)
                since[key_of(resource, power)] = start - start % HALF_HOUR
    if not sources:
        return {}
    latest = await rows.series.latest(list(sources))
    held = await rows.series.held_power([(*key, at) for key, at in since.items()], now)
    return {
        one.resource_id: display_inputs.live(one, power, kind, latest[key], held[key], now)
        for key, (one, kind, power) in sources.items()
    }


def _home(plan: _Plan, known: _Known, live: Mapping[str, Live], now: int) -> Home:
    own = {
        one.resource.resource_id: live[one.resource.resource_id]
        for one in plan.measured
        if one.resource.resource_id in live
    }
    meters: list[Meter] = []
    standing: list[tuple[int, Decimal]] = []
    for resource, _, field in plan.metered:
        tariffs, energy = known.tariffs.get(resource.resource_id, ()), known.energy[resource.resource_id]
        rates = display_inputs.rates(tariffs, known.prices, field.unit, energy.since, plan.calendar)
        meter = display_inputs.meter(energy, rates, plan.calendar, now)
        meters.append(display_inputs.estimated(meter, energy, own, now))
        standing += display_inputs.standing(rates, plan.calendar) if rates else []
    electricity = [known.energy[one.resource.resource_id] for one in plan.metered if one.kind is Kind.ELECTRICITY]
    return Home(
        ve_id=plan.entity.ve_id,
        name=plan.entity.name,
        zone=plan.zone,
        calendar=plan.calendar,
        meters=tuple(meters),
        sources=tuple(source for source, _ in own.values()),
        standing=tuple(standing),
        learned=display_inputs.usual(electricity, plan.calendar.day.start, plan.zone),
        wish=display_inputs.wish(plan.entity.attributes),
        picture=known.picture,
        main=next((one.resource.resource_id for one in plan.measured), None),
        drawn_from=frozenset(
            (one.resource_id, field.name)
            for one, _, energy, power in plan.measured
            for field in (energy, power)
            if field
        ),
        unread_alerts=known.unread[plan.entity.owner_id],
    )
