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
from wattgate.db.queries.alerts import count_unread_alerts_by_user
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.display_inputs import LivePower, StoredEnergy
from wattgate.db.queries.tariffs import load_timelines
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows import Rows
from wattgate.energy import timeline
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, HOUR_MS, BucketGrid, BucketRun
from wattgate.energy.display.frame import Display, render_frame
from wattgate.energy.display.home import Home, HomeCalendar
from wattgate.energy.display.meter import Meter, MeterKind
from wattgate.energy.freshness import ABANDONED_AFTER_MS, FreshnessSnapshot
from wattgate.energy.storage_fields import POWER_FIELD, ReadingField, find_field, parse_fields
from wattgate.energy.tariffs import MAX_AHEAD
from wattgate.enums import TariffKind
from wattgate.errors import GatewayError

MAX_ESTIMATED_MS = 36 * HOUR_MS
"""For how long before the present energy is estimated at most: the meter network delivers a day by the next noon."""

DEFAULT_ZONE = "Europe/London"
"""The wall clock of homes that name none, as of tariffs."""

_KIND_BY_CLASSIFIER = {kind.value: kind for kind in MeterKind}
_BILLED_KINDS = (MeterKind.ELECTRICITY, MeterKind.GAS)
_ELECTRICITY_KINDS = (MeterKind.ELECTRICITY, MeterKind.EXPORTED)


async def displays(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Display | GatewayError]:
    """What the display of each home draws now."""
    found = await load_homes(rows, virtual_entities)
    return [one if isinstance(one, GatewayError) else render_frame(one, rows.now) for one in found]


async def load_homes(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Home | GatewayError]:
    """What the displays of homes are drawn from; the refusal of a home where consent to some of its data is gone."""
    owned = await home_queries.resources(rows, virtual_entities)
    refused = await find_consent_errors(rows, [resource for some in owned for resource in some])
    plans = [_HomePlan.build(entity, some, rows.now) for entity, some in zip(virtual_entities, owned, strict=True)]
    known = await _StoredInputs.load(rows, plans)
    live = await _load_live_power(rows, plans, known)
    made: list[Home | GatewayError] = []
    for plan, some in zip(plans, owned, strict=True):
        refusal = next((refused[one.resource_id] for one in some if one.resource_id in refused), None)
        made.append(refusal or _build_home(plan, known, live, to_ms(rows.now)))
    return made


def display_resources(resources: Sequence[Resource]) -> list[Resource]:
    """Of a home's resources those from which its display is drawn: electricity, then what is exported, then gas."""
    known = [one for one in resources if one.classifier in _KIND_BY_CLASSIFIER and not one.cost_of]
    return sorted(known, key=lambda one: list(_KIND_BY_CLASSIFIER).index(one.classifier))


class _DisplayResource(NamedTuple):
    """A resource of a home, and its fields of energy and of live power."""

    resource: Resource
    kind: MeterKind
    energy: ReadingField | None
    power: ReadingField | None

    @classmethod
    def from_resource(cls, resource: Resource) -> "_DisplayResource":
        kind, (first, *others) = _KIND_BY_CLASSIFIER[resource.classifier], parse_fields(resource.storage)
        power = find_field((first, *others), POWER_FIELD) if kind in _ELECTRICITY_KINDS else None
        return cls(resource, kind, None if first.name == POWER_FIELD else first, power)


class _EnergySeries(NamedTuple):
    """A series of energy of a home."""

    resource: Resource
    kind: MeterKind
    field: ReadingField


@dataclass(frozen=True, slots=True)
class _HomePlan:
    """A home, what of it is measured, its time, and the half hours from which it is told."""

    entity: VirtualEntity
    resources: list[_DisplayResource]
    zone: ZoneInfo
    calendar: HomeCalendar
    grid: BucketGrid

    @classmethod
    def build(cls, entity: VirtualEntity, resources: Sequence[Resource], now: datetime) -> "_HomePlan":
        zone = ZoneInfo(entity.time_zone or DEFAULT_ZONE)
        days = display_inputs.build_calendar(now, zone)
        return cls(
            entity,
            [*map(_DisplayResource.from_resource, display_resources(resources))],
            zone,
            days,
            display_inputs.build_half_hour_grid(now, days, zone),
        )

    @property
    def energy_series(self) -> list[_EnergySeries]:
        return [_EnergySeries(one, kind, energy) for one, kind, energy, _ in self.resources if energy]

    @property
    def billed_series(self) -> list[_EnergySeries]:
        return [one for one in self.energy_series if one.kind in _BILLED_KINDS]


@dataclass(frozen=True, slots=True)
class _StoredInputs:
    """What is stored of homes: by resource id their energy and tariffs, prices by tariff id, how fresh all is, and by
    user the count of unread alerts.
    """

    energy: Mapping[str, StoredEnergy]
    tariffs: Mapping[str, list[Tariff]]
    prices: timeline.PricesByTariff
    freshness_snapshot: FreshnessSnapshot
    unread_alerts: Mapping[str, int]

    @classmethod
    async def load(cls, rows: Rows, plans: Sequence[_HomePlan]) -> "_StoredInputs":
        resources = {one.resource.resource_id: one.resource for plan in plans for one in plan.resources}
        tariffs = await load_timelines(
            rows, [one.resource.resource_id for plan in plans for one in plan.billed_series], rows.now + MAX_AHEAD
        )
        dynamic = {one.tariff_id for some in tariffs.values() for one in some if one.kind is TariffKind.DYNAMIC}
        start = min((plan.grid.start for plan in plans), default=0)
        prices = await rows.prices.list_between(dynamic, start - HALF_HOUR_MS + 1, to_ms(rows.now) + 3 * DAY_MS)
        picture = await freshness.load_snapshot(rows, list(resources.values()))
        unread = await count_unread_alerts_by_user(rows, {plan.entity.owner_id for plan in plans})
        return cls(await _load_energy(rows, plans, tariffs), tariffs, prices, picture, unread)


async def _load_energy(
    rows: Rows, plans: Sequence[_HomePlan], tariffs: Mapping[str, Sequence[Tariff]]
) -> dict[str, StoredEnergy]:
    """The energy of each resource in the half hours of its home, and what a block tariff has counted before them."""
    now = to_ms(rows.now)
    before: dict[str, BucketGrid] = {}
    for plan in plans:
        for one in plan.billed_series:
            since = timeline.energy_needed_from(tariffs[one.resource.resource_id], plan.grid.start, now)
            if since < plan.grid.start:
                before[one.resource.resource_id] = BucketGrid((BucketRun(since, plan.grid.start - since, 1),))
    every = [(one, plan.grid) for plan in plans for one in plan.energy_series]
    inside = await _load_aggregates(rows, every)
    earlier = await _load_aggregates(
        rows, [(one, before[one.resource.resource_id]) for one, _ in every if one.resource.resource_id in before]
    )
    found: dict[str, StoredEnergy] = {}
    for (resource, kind, field), grid in every:
        key, span = series_key(resource, field), before.get(resource.resource_id)
        counted = (span.start, earlier[key, span].sum[0]) if span else (grid.start, 0)
        found[resource.resource_id] = StoredEnergy(resource.resource_id, kind, field, grid, inside[key, grid], *counted)
    return found


async def _load_aggregates(
    rows: Rows, series_grids: Sequence[tuple[_EnergySeries, BucketGrid]]
) -> dict[tuple[SeriesKey, BucketGrid], Aggregates]:
    """What series amount to in the buckets of grids; equal grids share their statements."""
    together: dict[BucketGrid, dict[SeriesKey, int | None]] = defaultdict(dict)
    for (resource, _, field), grid in series_grids:
        together[grid][series_key(resource, field)] = field.interval_ms
    return {
        (key, grid): amounts
        for grid, some in together.items()
        for key, amounts in (await rows.readings.aggregates(some, grid)).items()
    }


async def _load_live_power(rows: Rows, plans: Sequence[_HomePlan], inputs: _StoredInputs) -> dict[str, LivePower]:
    """By resource id, where live power comes from, and what it held in each half hour that may be estimated."""
    now = to_ms(rows.now)
    sources: dict[SeriesKey, tuple[Resource, MeterKind, ReadingField]] = {}
    since: dict[SeriesKey, int] = {}
    for plan in plans:
        told = [
            inputs.energy[one.resource.resource_id].stored_to
            for one in plan.energy_series
            if one.kind in _ELECTRICITY_KINDS
        ]
        start = max(min([*told, now - HALF_HOUR_MS]), now - MAX_ESTIMATED_MS)
        for resource, kind, _, power in plan.resources:
            as_of = (
                inputs.freshness_snapshot.resource_heartbeat(resource.resource_id, power, now).as_of if power else None
            )
            if power and as_of is not None and now - as_of <= ABANDONED_AFTER_MS:
                sources[series_key(resource, power)] = (resource, kind, power)
                since[series_key(resource, power)] = start - start % HALF_HOUR_MS
    if not sources:
        return {}
    latest = await rows.readings.latest(list(sources))
    held = await rows.readings.power_integrals([(*key, at) for key, at in since.items()], now)
    return {
        one.resource_id: display_inputs.build_live_power(one, power, kind, latest[key], held[key], now)
        for key, (one, kind, power) in sources.items()
    }


def _build_home(plan: _HomePlan, inputs: _StoredInputs, live: Mapping[str, LivePower], now: int) -> Home:
    own = {
        one.resource.resource_id: live[one.resource.resource_id]
        for one in plan.resources
        if one.resource.resource_id in live
    }
    meters: list[Meter] = []
    standing: list[tuple[int, Decimal]] = []
    for resource, _, field in plan.energy_series:
        tariffs, energy = inputs.tariffs.get(resource.resource_id, ()), inputs.energy[resource.resource_id]
        rates = display_inputs.build_rate_schedule(
            tariffs, inputs.prices, field.unit, energy.counted_since, plan.calendar
        )
        meter = display_inputs.build_meter(energy, rates, plan.calendar, now)
        meters.append(display_inputs.add_estimates(meter, energy, own, now))
        standing += display_inputs.standing_charges(rates, plan.calendar) if rates else []
    electricity = [
        inputs.energy[one.resource.resource_id] for one in plan.energy_series if one.kind is MeterKind.ELECTRICITY
    ]
    return Home(
        ve_id=plan.entity.ve_id,
        name=plan.entity.name,
        zone=plan.zone,
        calendar=plan.calendar,
        meters=tuple(meters),
        sources=tuple(source for source, _ in own.values()),
        standing_charges=tuple(standing),
        learned_power=display_inputs.usual_power(electricity, plan.calendar.day.start, plan.zone),
        preferences=display_inputs.parse_preferences(plan.entity.attributes),
        freshness_snapshot=inputs.freshness_snapshot,
        main_resource_id=next((one.resource.resource_id for one in plan.resources), None),
        input_fields=frozenset(
            (one.resource_id, field.name)
            for one, _, energy, power in plan.resources
            for field in (energy, power)
            if field
        ),
        unread_alerts=inputs.unread_alerts[plan.entity.owner_id],
    )
