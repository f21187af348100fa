"""Frames of the displays of homes: one result for each home, with a fixed number of statements."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff, VirtualEntity
from wattgate.db.queries import display_inputs
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.alerts import count_unread_alerts_by_user
from wattgate.db.queries.consent import ConsentCheck, check_consent
from wattgate.db.queries.display_inputs import (
    LivePower,
    StoredEnergy,
    carbon_resources,
    find_carbon_series,
    load_carbon,
    load_locales,
)
from wattgate.db.queries.ownership import load_ownerships
from wattgate.db.queries.series import freshness
from wattgate.db.queries.series.costs import load_peaks
from wattgate.db.queries.series.tariffs import charge_prices, load_timelines
from wattgate.db.queries.tenancies import consent_gaps
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, HOUR_MS, BucketGrid, BucketRun
from wattgate.energy.consent_gaps import gaps_within
from wattgate.energy.costs import timeline
from wattgate.energy.costs.tariffs import MAX_AHEAD, MAX_PRICE_MS
from wattgate.energy.display.carbon import DisplayCarbon
from wattgate.energy.display.frame import Display, render_frame
from wattgate.energy.display.home import Home, HomeCalendar, WithheldMeter
from wattgate.energy.display.live_power import hold_of_interval
from wattgate.energy.display.meter import Meter, MeterKind
from wattgate.energy.freshness import ABANDONED_AFTER_MS, FreshnessSnapshot
from wattgate.energy.storage_fields import POWER_FIELD, ReadingField, find_field, parse_fields
from wattgate.enums import TariffKind
from wattgate.errors import GatewayError, NotSupported

MAX_ESTIMATED_MS = 36 * HOUR_MS
"""Energy is estimated for at most this long before now. The meter network delivers a day by the next noon."""

MAX_DISPLAY_RESOURCES = 12
"""Maximum number of metered resources of a home that has a display: its cost does not depend on their number."""

DEFAULT_ZONE = "Europe/London"
"""The time zone of homes without one. It is also the default of tariffs."""

_KIND_BY_CLASSIFIER = {kind.value: kind for kind in MeterKind}
_BILLED_KINDS = (MeterKind.ELECTRICITY, MeterKind.GAS)
_ELECTRICITY_KINDS = (MeterKind.ELECTRICITY, MeterKind.EXPORTED)


async def displays(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Display | GatewayError]:
    """Return the current frame of each home's display."""
    homes = await load_homes(rows, virtual_entities)
    return [home if isinstance(home, GatewayError) else render_frame(home, rows.now) for home in homes]


async def load_homes(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[Home | GatewayError]:
    """Load the inputs of the displays.

    A frame leaves out the meters whose data is withheld, and names them. The result is an error for a home whose
    meters are all withheld, or which has more resources than a display may have.
    """
    resources_by_home = await home_queries.resources(rows, virtual_entities)
    check = await check_consent(
        rows,
        [resource for found in resources_by_home for resource in (*display_resources(found), *carbon_resources(found))],
    )
    refusals = [_home_error(display_resources(resources), check) for resources in resources_by_home]
    plans = [
        _HomePlan.build(entity, resources if refusal is None else [], check, rows.now)
        for entity, resources, refusal in zip(virtual_entities, resources_by_home, refusals, strict=True)
    ]
    inputs = await _StoredInputs.load(rows, plans)
    live_power = await _load_live_power(rows, plans, inputs)
    return [
        refusal or _build_home(plan, inputs, live_power, to_ms(rows.now))
        for plan, refusal in zip(plans, refusals, strict=True)
    ]


def _home_error(resources: Sequence[Resource], check: ConsentCheck) -> GatewayError | None:
    """Return the error of a home without a frame: nothing of it may be shown, or it has too many resources."""
    errors = [check.errors[resource.resource_id] for resource in resources if resource.resource_id in check.errors]
    return errors[0] if errors and len(errors) == len(resources) else _size_error(resources)


def _size_error(resources: Sequence[Resource]) -> GatewayError | None:
    """Return an error if the display of a home would have more than MAX_DISPLAY_RESOURCES."""
    count = len(resources)
    if count <= MAX_DISPLAY_RESOURCES:
        return None
    return NotSupported(
        f"The home has {count:,} metered resources, and a display shows at most {MAX_DISPLAY_RESOURCES}. Divide them "
        "between several virtual entities."
    )


def display_resources(resources: Sequence[Resource]) -> list[Resource]:
    """Return the resources that a display uses: electricity, then exported electricity, then gas."""
    metered = [
        resource for resource in resources if resource.classifier in _KIND_BY_CLASSIFIER and not resource.cost_of
    ]
    return sorted(metered, key=lambda resource: list(_KIND_BY_CLASSIFIER).index(resource.classifier))


def _withheld_meters(resources: Sequence[Resource], check: ConsentCheck) -> tuple[WithheldMeter, ...]:
    pairs = [(resource, check.errors.get(resource.resource_id)) for resource in resources]
    return tuple(
        WithheldMeter(
            resource_id=resource.resource_id,
            name=resource.name,
            kind=_KIND_BY_CLASSIFIER[resource.classifier],
            mpxn=error.mpxn,
            reason=error.withheld,
            message=error.message,
        )
        for resource, error in pairs
        if error is not None
    )


class _DisplayResource(NamedTuple):
    """A resource of a home, with its fields for energy and live power."""

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
    """A home, its metered resources that may be shown and the others, its zone and calendar, and the half hours."""

    entity: VirtualEntity
    resources: list[_DisplayResource]
    carbon: tuple[Resource, ReadingField] | None
    withheld: tuple[WithheldMeter, ...]
    consent_until: int | None
    zone: ZoneInfo
    calendar: HomeCalendar
    grid: BucketGrid

    @classmethod
    def build(
        cls, entity: VirtualEntity, resources: Sequence[Resource], check: ConsentCheck, now: datetime
    ) -> "_HomePlan":
        zone = ZoneInfo(entity.time_zone or DEFAULT_ZONE)
        calendar = display_inputs.build_calendar(now, zone)
        metered = display_resources(resources)
        permitted = [resource for resource in resources if resource.resource_id not in check.errors]
        return cls(
            entity,
            [_DisplayResource.from_resource(resource) for resource in display_resources(permitted)],
            find_carbon_series(permitted),
            _withheld_meters(metered, check),
            None if check.valid_until is None else to_ms(check.valid_until),
            zone,
            calendar,
            display_inputs.build_half_hour_grid(now, calendar, zone),
        )

    @property
    def energy_series(self) -> list[_EnergySeries]:
        return [_EnergySeries(resource, kind, energy) for resource, kind, energy, _ in self.resources if energy]

    @property
    def billed_series(self) -> list[_EnergySeries]:
        return [series for series in self.energy_series if series.kind in _BILLED_KINDS]

    @property
    def input_fields(self) -> frozenset[tuple[str, str]]:
        """The resources and fields whose readings the energy and the cost need."""
        return frozenset(
            (series.resource_id, field.name)
            for series, _, energy, power in self.resources
            for field in (energy, power)
            if field
        )


@dataclass(frozen=True, slots=True)
class _StoredInputs:
    """The stored data of homes.

    Energy, tariffs and carbon intensities are by resource id, prices by tariff id, and the numbers of unread alerts and
    the languages and regions by user id.
    """

    energy: Mapping[str, StoredEnergy]
    tariffs: Mapping[str, list[Tariff]]
    prices: timeline.PricesByTariff
    peaks: Mapping[str, timeline.Peaks]
    freshness_snapshot: FreshnessSnapshot
    unread_alerts: Mapping[str, int]
    locales: Mapping[str, str]
    carbon: Mapping[str, DisplayCarbon]

    @classmethod
    async def load(cls, rows: Rows, plans: Sequence[_HomePlan]) -> "_StoredInputs":
        resources = {item.resource.resource_id: item.resource for plan in plans for item in plan.resources}
        start = min((plan.grid.start for plan in plans), default=0)
        billed = [series.resource.resource_id for plan in plans for series in plan.billed_series]
        tariffs = await load_timelines(rows, billed, from_ms(start), rows.now + MAX_AHEAD)
        dynamic_ids = {
            tariff.tariff_id
            for resource_tariffs in tariffs.values()
            for tariff in resource_tariffs
            if tariff.kind is TariffKind.DYNAMIC
        }
        stop = to_ms(rows.now) + 3 * DAY_MS
        charge_prices(rows, tariffs.values(), start, stop)
        prices = await rows.prices.list_between(dynamic_ids, start - MAX_PRICE_MS + 1, stop)
        snapshot = await freshness.load_snapshot(rows, list(resources.values()))
        owner_ids = {plan.entity.owner_id for plan in plans}
        return cls(
            energy=await _load_energy(rows, plans, tariffs, prices),
            tariffs=tariffs,
            prices=prices,
            peaks=await _load_peaks(rows, plans, tariffs),
            freshness_snapshot=snapshot,
            unread_alerts=await count_unread_alerts_by_user(rows, owner_ids),
            locales=await load_locales(rows, owner_ids),
            carbon=await load_carbon(rows, [plan.carbon for plan in plans if plan.carbon]),
        )


async def _load_peaks(
    rows: Rows, plans: Sequence[_HomePlan], tariffs: Mapping[str, Sequence[Tariff]]
) -> dict[str, timeline.Peaks]:
    """Return the peaks of the day and the month of each home that tariffs charge for, by resource id."""
    return {
        series.resource.resource_id: await load_peaks(
            rows, series.resource, series.field, of_resource, plan.calendar.month.start, plan.calendar.tomorrow.end
        )
        for plan in plans
        for series in plan.billed_series
        if (of_resource := tariffs[series.resource.resource_id])
    }


async def _load_energy(
    rows: Rows,
    plans: Sequence[_HomePlan],
    tariffs: Mapping[str, Sequence[Tariff]],
    prices: timeline.PricesByTariff,
) -> dict[str, StoredEnergy]:
    """Load the energy of each resource in its home's half hours, and the earlier energy that block tariffs need."""
    now = to_ms(rows.now)
    earlier_grids: dict[str, BucketGrid] = {}
    for plan in plans:
        for series in plan.billed_series:
            needed_from = timeline.energy_needed_from(tariffs[series.resource.resource_id], plan.grid.start, now)
            if needed_from < plan.grid.start:
                earlier_grids[series.resource.resource_id] = BucketGrid(
                    (BucketRun(needed_from, plan.grid.start - needed_from, 1),)
                )
    divide = display_inputs.divide_by_rate
    series_grids = [
        (series, divide(plan.grid, tariffs.get(series.resource.resource_id, ()), prices, series.field))
        for plan in plans
        for series in plan.energy_series
    ]
    aggregates = await _load_aggregates(rows, series_grids)
    earlier_aggregates = await _load_aggregates(
        rows,
        [
            (series, earlier_grids[series.resource.resource_id])
            for series, _ in series_grids
            if series.resource.resource_id in earlier_grids
        ],
    )
    energy: dict[str, StoredEnergy] = {}
    resources = [series.resource for series, _ in series_grids]
    gaps, ownerships = await consent_gaps(rows, resources), await load_ownerships(rows, resources)
    for (resource, kind, field), grid in series_grids:
        key, earlier_grid = series_key(resource, field), earlier_grids.get(resource.resource_id)
        counted_before = (
            (earlier_grid.start, earlier_aggregates[key, earlier_grid].sum[0]) if earlier_grid else (grid.start, 0)
        )
        energy[resource.resource_id] = StoredEnergy(
            resource.resource_id,
            kind,
            field,
            grid,
            aggregates[key, grid],
            *counted_before,
            gaps=tuple(gaps_within(gaps.get(resource.resource_id, ()), grid.start, grid.stop)),
            ownership=ownerships[resource.resource_id],
        )
    return energy


async def _load_aggregates(
    rows: Rows, series_grids: Sequence[tuple[_EnergySeries, BucketGrid]]
) -> dict[tuple[SeriesKey, BucketGrid], Aggregates]:
    """Aggregate series in the buckets of grids. Series with equal grids share their statements."""
    intervals_by_grid: dict[BucketGrid, dict[SeriesKey, int | None]] = defaultdict(dict)
    for (resource, _, field), grid in series_grids:
        intervals_by_grid[grid][series_key(resource, field)] = field.interval_ms
    return {
        (key, grid): aggregates
        for grid, intervals in intervals_by_grid.items()
        for key, aggregates in (await rows.readings.aggregates(intervals, grid)).items()
    }


async def _load_live_power(rows: Rows, plans: Sequence[_HomePlan], inputs: _StoredInputs) -> dict[str, LivePower]:
    """Return, by resource id, the source of live power and its integral in each half hour that may be estimated."""
    now = to_ms(rows.now)
    sources: dict[SeriesKey, tuple[Resource, MeterKind, ReadingField]] = {}
    since: dict[SeriesKey, tuple[int, int]] = {}
    for plan in plans:
        stored_to = [
            inputs.energy[series.resource.resource_id].stored_to
            for series in plan.energy_series
            if series.kind in _ELECTRICITY_KINDS
        ]
        start = max(min([*stored_to, now - HALF_HOUR_MS]), now - MAX_ESTIMATED_MS)
        for resource, kind, _, power in plan.resources:
            if power is None:
                continue
            as_of, interval_ms = inputs.freshness_snapshot.resource_heartbeat(resource.resource_id, power, now)
            if as_of is not None and now - as_of <= ABANDONED_AFTER_MS:
                sources[series_key(resource, power)] = (resource, kind, power)
                since[series_key(resource, power)] = start - start % HALF_HOUR_MS, hold_of_interval(interval_ms)
    if not sources:
        return {}
    latest = await rows.readings.latest(list(sources), until=now)
    integrals = await rows.readings.power_integrals([(*key, *span) for key, span in since.items()], now)
    return {
        resource.resource_id: display_inputs.build_live_power(
            resource, power, kind, latest[key], integrals[key], now, since[key][1]
        )
        for key, (resource, kind, power) in sources.items()
    }


def _build_home(plan: _HomePlan, inputs: _StoredInputs, live: Mapping[str, LivePower], now: int) -> Home:
    live_sources = {
        item.resource.resource_id: live[item.resource.resource_id]
        for item in plan.resources
        if item.resource.resource_id in live
    }
    meters: list[Meter] = []
    standing_charges: list[tuple[int, Decimal]] = []
    for resource, _, field in plan.energy_series:
        tariffs, energy = inputs.tariffs.get(resource.resource_id, ()), inputs.energy[resource.resource_id]
        rates = display_inputs.build_rate_schedule(
            tariffs,
            inputs.prices,
            inputs.peaks.get(resource.resource_id, timeline.NO_PEAKS),
            field.unit,
            energy.counted_since,
            plan.calendar,
        )
        meter = display_inputs.build_meter(energy, rates, plan.calendar, now)
        meters.append(display_inputs.add_estimates(meter, energy, live_sources, now))
        if rates:
            standing_charges += display_inputs.standing_charges(rates, plan.calendar, energy.ownership)
    electricity = [
        inputs.energy[series.resource.resource_id]
        for series in plan.energy_series
        if series.kind is MeterKind.ELECTRICITY
    ]
    return Home(
        ve_id=plan.entity.ve_id,
        name=plan.entity.name,
        zone=plan.zone,
        locale=inputs.locales[plan.entity.owner_id],
        calendar=plan.calendar,
        meters=tuple(meters),
        sources=tuple(source for source, _ in live_sources.values()),
        standing_charges=tuple(standing_charges),
        learned_power=display_inputs.learn_levels(electricity, plan.grid, plan.calendar.day.start, plan.zone),
        preferences=display_inputs.parse_preferences(plan.entity.attributes),
        freshness_snapshot=inputs.freshness_snapshot,
        main_resource_id=next((series.resource.resource_id for series in plan.resources), None),
        input_fields=plan.input_fields,
        unread_alerts=inputs.unread_alerts[plan.entity.owner_id],
        carbon_series=(plan.carbon[0].resource_id, plan.carbon[1]) if plan.carbon else None,
        carbon=inputs.carbon.get(plan.carbon[0].resource_id) if plan.carbon else None,
        withheld_meters=plan.withheld,
        consent_until=plan.consent_until,
    )
