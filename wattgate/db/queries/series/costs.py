"""Batch loaders of energy costs, computed from readings and the tariffs that applied.

A resource with `cost_of` has no readings of its own. Its values are the costs of the energy of that other resource,
which is called the priced resource.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec
from sqlmodel import col

from wattgate.clock import TimeRange, from_ms, to_ms
from wattgate.db.models import Resource
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.ownership import load_ownerships, load_with_sources
from wattgate.db.queries.series.tariffs import (
    count_prices,
    extra_prices,
    in_force,
    last_tariff_changes,
    load_timelines,
    priced_resource_id,
)
from wattgate.db.readings.aggregates import Aggregates, ExactSums, SeriesKey
from wattgate.db.readings.reading_series import stored_share
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import (
    DAY_MS,
    MINUTE_MS,
    BucketGrid,
    BucketRun,
    build_grid,
    check_bucket_count,
    resolve_range,
)
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import (
    BUCKET_DECIMALS,
    INCLUDED_READINGS_PER_DAY,
    Bill,
    BucketCost,
    EnergySample,
    PricedPart,
    add_standing_charge,
    build_bill,
    cost_by_bucket,
    cost_by_sample,
    divide_half_up,
    price_samples,
    round_half_up,
    round_scaled,
)
from wattgate.energy.costs.tariffs import MAX_PRICE_MS, PEAK_MINUTES, CostBasis, TariffTerms
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.energy.ownership import NO_END, Ownership
from wattgate.energy.quantities import PENCE, STORED_DECIMALS, cost_unit, energy_unit, kwh_exponent, minor_unit_decimals
from wattgate.energy.storage_fields import ReadingField, parse_fields
from wattgate.enums import EnergyUnit, NoValueReason, Period, TariffKind
from wattgate.errors import BadInput, ConsentRevoked, GatewayError, Problem
from wattgate.pauses import convert_all, pause_for, slices
from wattgate.values import terms
from wattgate.values.annotations import Described

MAX_RANGE = timedelta(days=2_000)
"""100,000 half hours are 2,083 days."""

PRICES_AHEAD_MS = 2 * DAY_MS
"""How far ahead prices are usually known: day-ahead prices reach to the end of tomorrow."""

_AMOUNT_DECIMALS = BUCKET_DECIMALS + STORED_DECIMALS
"""Decimal places of the amounts of a bucket, in the major unit."""


class CostExplanation(Bill, gc=False, kw_only=True):
    """The bill of a resource's energy for a range. `completeness` is the stored share of its samples (0 to 1).

    Days and samples of times in which another household lives at the meter point do not count.
    """

    start: datetime
    end: datetime
    completeness: float | None


class CostBucket(msgspec.Struct, gc=False):
    """The cost of one span so far in the major unit, with VAT, by the rule of `add_standing_charge`.

    `no_value_reason` says why the energy has no cost.
    """

    start: datetime
    end: datetime
    energy_cost_with_vat: Decimal | None
    standing_charges_with_vat: Decimal
    total: Decimal | None
    unpriced: Decimal
    estimated: bool
    no_value_reason: NoValueReason | None


class CostSeries(msgspec.Struct, gc=False):
    """The costs of a resource's energy, in buckets of one period. `unit` is that of the energy without a price."""

    resource: Resource
    period: Period
    unit: EnergyUnit
    buckets: list[CostBucket]
    currency: str


@dataclass(frozen=True, slots=True)
class _PricedEnergy:
    """The energy of a resource in a range, priced by the tariffs that apply there. `tariffs` may be empty.

    `paid` is the time in which the resource pays standing charges, and `peaks` are those of its months.
    """

    source: Resource
    ownership: Ownership
    paid: Ownership
    field: ReadingField
    tariffs: list[TariffTerms]
    parts: list[PricedPart]
    peaks: timeline.Peaks

    @property
    def currency(self) -> str:
        """The currency of the tariffs, of which there must be one at least. They all have the same."""
        return self.tariffs[0].currency

    @property
    def series_key(self) -> SeriesKey:
        return series_key(self.source, self.field)


async def explain_costs(
    rows: Rows, resources: Sequence[Resource], *, range: Annotated[TimeRange, Described("Time range of the bill.")]
) -> list[CostExplanation | GatewayError | None]:
    """Return the cost of each resource's energy in a range; None if no tariff applies in it."""
    start, end = _check_range(range, rows.now)
    energy_by_resource = await _load_priced_energy(rows, resources, to_ms(start), to_ms(end))
    return [
        priced if isinstance(priced, GatewayError) else _build_explanation(priced, to_ms(start), to_ms(end), rows.now)
        for priced in (energy_by_resource[priced_resource_id(resource)] for resource in resources)
    ]


async def no_cost_reasons(
    rows: Rows, resources: Sequence[Resource], *, range: Annotated[TimeRange, Described("Time range of the cost.")]
) -> list[NoValueReason | None]:
    """Return why `explain_costs` and `cost_series` return None for each resource; None if a tariff applies."""
    _, end = _check_range(range, rows.now)
    tariffs = await in_force(rows, resources, from_ms(to_ms(end) - 1))
    return [NoValueReason.NO_TARIFF if tariff is None else None for tariff in tariffs]


async def cost_series(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    range: terms.BucketRange,
    period: terms.BucketLength,
    time_zone: terms.BucketTimeZone = UTC,
) -> list[CostSeries | GatewayError | None]:
    """Return the costs of each resource's energy in the buckets of a range; None if no tariff applies.

    Buckets are whole periods of the zone's wall clock. Energy counts in the bucket in which its sample begins. The
    standing charge of a day that has begun counts in the bucket that contains its midnight, if the household lives
    there then and no resource that follows a closed one pays for it.
    """
    start, end = _check_range(range, rows.now)
    check_bucket_count(start, end, period)
    edges = timeline.period_edges(to_ms(start), to_ms(end), period, time_zone)
    energy_by_resource = await _load_priced_energy(rows, resources, edges[0], edges[-1])
    results: list[CostSeries | GatewayError | None] = []
    for resource in resources:
        priced = energy_by_resource[priced_resource_id(resource)]
        if isinstance(priced, GatewayError):
            results.append(priced)
        elif not priced.tariffs:
            results.append(None)
        else:
            buckets = await _build_buckets(priced, edges, rows.now)
            results.append(CostSeries(resource, period, energy_unit(priced.field.unit), buckets, priced.currency))
    return results


async def compute_cost_aggregates(
    rows: Rows, resource_fields: Sequence[tuple[Resource, ReadingField]], grid: BucketGrid
) -> list[Aggregates | GatewayError]:
    """Aggregate the costs of resources with `cost_of` in each bucket: with VAT, without standing charge.

    Samples without a price are left out. Revisions are those of the consumption. A change of the tariffs counts as a
    new receipt of all samples. The caller pays for the readings and prices of the range before they are loaded.
    """
    resources = [resource for resource, _ in resource_fields]
    stored: dict[SeriesKey, Aggregates] = {}

    async def count_work(sources: Mapping[str, Resource], timelines: Mapping[str, Sequence[TariffTerms]]) -> int:
        fields = {key: parse_fields(source.storage)[0] for key, source in sources.items()}
        keys = {key: series_key(source, fields[key]) for key, source in sources.items()}
        stored.update(
            await rows.readings.aggregates({keys[key]: field.interval_ms for key, field in fields.items()}, grid)
        )
        counts = {key: sum(stored[keys[key]].count) for key in sources}
        return sum(_readings_to_pay(rows, counts[key], timelines[key], grid) for key in sources if timelines[key])

    energy_by_resource = await _load_priced_energy(rows, resources, grid.start, grid.stop, count_work)
    changed_at = await last_tariff_changes(rows, map(priced_resource_id, resources))
    results: list[Aggregates | GatewayError] = []
    for resource, field in resource_fields:
        priced = energy_by_resource[priced_resource_id(resource)]
        if isinstance(priced, GatewayError):
            results.append(priced)
        elif priced.tariffs and _is_other_currency(field.unit, priced.currency):
            results.append(_other_currency(field.unit, priced.currency))
        else:
            changed = changed_at.get(priced.source.resource_id, 0)
            results.append(await _aggregate_costs(priced, field, grid, stored[priced.series_key], changed))
    return results


def _is_other_currency(unit: str, currency: str) -> bool:
    """Return whether the unit of stored costs is that of another currency. Other texts say nothing of the currency."""
    is_unit_of_currency = unit == PENCE or minor_unit_decimals(unit) is not None
    return is_unit_of_currency and unit != cost_unit(currency) and unit != currency


def _other_currency(unit: str, currency: str) -> BadInput:
    return BadInput(
        f"The resource has costs in {unit}, and its tariff is in {currency}. Add a resource of costs whose unit is "
        f"{cost_unit(currency)}."
    )


def _readings_to_pay(rows: Rows, readings: int, tariffs: Sequence[TariffTerms], grid: BucketGrid) -> int:
    """Return how many readings the costs of a series are charged as. A reading includes the price of half an hour.

    Prices of half hours without a reading cost as much, as far as such prices are usually known.
    """
    extra = extra_prices(tariffs, grid.start, grid.stop)
    prices = count_prices(tariffs, grid.start, min(grid.stop, to_ms(rows.now) + PRICES_AHEAD_MS))
    return max(readings, prices - extra) + extra


async def _aggregate_costs(
    priced: _PricedEnergy, field: ReadingField, grid: BucketGrid, stored: Aggregates, changed_at: int
) -> Aggregates:
    in_major_unit = minor_unit_decimals(field.unit) is not None
    unit = 10 ** (timeline.VAT_DECIMALS - field.decimals + (STORED_DECIMALS if in_major_unit else 0))
    exact_sums = [0] * grid.count
    costs, samples = Aggregates.empty(grid.count), dict[int, int]()
    position, edges = 0, grid.edges
    async for part in slices(cost_by_sample(priced.parts)):
        for at, amount, estimated in part:
            while at >= edges[position + 1]:
                position += 1
            value = samples[at] = divide_half_up(amount, unit)
            costs.add(position, (1, 0, value, value, at, at, int(estimated), 0, 0))
            exact_sums[position] += amount
    costs.samples = samples
    costs.cost_basis, costs.energy_count = CostBasis.from_tariffs(priced.tariffs), stored.count
    costs.exact = ExactSums(exact_sums, unit)
    costs.sum = costs.exact.rounded
    costs.revision = stored.revision
    costs.received_at = [max(at, changed_at) for at in stored.received_at]
    return costs


CountWork = Callable[[Mapping[str, Resource], Mapping[str, Sequence[TariffTerms]]], Awaitable[int]]
"""Return how many readings the caller pays for, from the priced resources and their tariffs, by id."""


async def _load_priced_energy(
    rows: Rows, resources: Sequence[Resource], start: int, stop: int, count_work: CountWork | None = None
) -> dict[str, _PricedEnergy | GatewayError]:
    """Return, by id of the priced resource, its priced energy or the error that prevents it.

    Charge the caller first: for the readings that the price of the days does not include, or for those of `count_work`.
    """
    sources = await load_priced_resources(rows, resources)
    errors = await _find_consent_errors(rows, resources, sources)
    following = await load_following(rows, sources.values())
    others = {other.resource_id: other for each in following.values() for other in each}
    histories = await load_timelines(rows, sources | others, from_ms(start), from_ms(stop - 1))
    ownerships = await load_ownerships(rows, (sources | others).values())
    tariffs_by_resource = {
        key: [tariff for tariff, _, _ in timeline.tariffs_in_force(histories[key], start, stop)] for key in sources
    }
    allowed = {key: source for key, source in sources.items() if key not in errors}
    if count_work is not None:
        count = await count_work(allowed, histories)
    elif rows.charge_readings is not None:
        count = await _count_beyond_days(rows, allowed, histories, start, stop)
    if rows.charge_readings is not None:
        rows.charge_readings(count)
    dynamic_ids = dynamic_tariff_ids(tariff for tariffs in tariffs_by_resource.values() for tariff in tariffs)
    prices = await rows.prices.list_between(dynamic_ids, start - MAX_PRICE_MS + 1, stop + MAX_PRICE_MS)
    results: dict[str, _PricedEnergy | GatewayError] = {**errors}
    for key, source in sources.items():
        if key in errors:
            continue
        field, tariffs = parse_fields(source.storage)[0], tariffs_by_resource[key]
        if len(currencies := dict.fromkeys(tariff.currency for tariff in tariffs)) > 1:
            results[key] = several_currencies(currencies)
            continue
        try:
            samples = await load_energy(rows, source, field, tariffs, start, stop) if tariffs else []
        except BadInput as error:
            results[key] = error
            continue
        paid = days_to_pay(key, following.get(key, ()), ownerships, histories)
        parts = await _price_samples(samples, tariffs, prices, start, field.interval_ms or 0)
        peaks = await load_peaks(rows, source, field, tariffs, start, stop)
        results[key] = _PricedEnergy(source, ownerships[key], paid, field, tariffs, parts, peaks)
    return results


async def _count_beyond_days(
    rows: Rows,
    sources: Mapping[str, Resource],
    timelines: Mapping[str, Sequence[TariffTerms]],
    start: int,
    stop: int,
) -> int:
    """Return how many readings and prices the price of the days does not include."""
    priced = [key for key in sources if any(timeline.tariffs_in_force(timelines[key], start, stop))]
    fields = [(sources[key], parse_fields(sources[key].storage)[0]) for key in priced]
    counts = [await count_extra_readings(rows, source, field, start, stop) for source, field in fields]
    return sum(counts) + sum(extra_prices(timelines[key], start, stop) for key in priced)


async def _price_samples(
    energy_samples: list[EnergySample],
    tariffs: list[TariffTerms],
    prices: timeline.PricesByTariff,
    start: int,
    length: int,
) -> list[PricedPart]:
    """Price the samples from start on, which last `length` ms; 0 if that is not known.

    Rates are computed only between the first and the last stored sample.
    """
    if not energy_samples:
        return []
    since = max(start, energy_samples[0].at)
    spans = timeline.rate_spans(tariffs, prices, since, energy_samples[-1].at + max(length, 1))
    parts: list[PricedPart] = []
    async for priced in slices(price_samples(energy_samples, spans, since, length)):
        parts += priced
    return parts


async def load_priced_resources(rows: Rows, resources: Sequence[Resource]) -> dict[str, Resource]:
    """Return the priced resources by id."""
    loaded = await load_with_sources(rows, resources)
    return {resource_id: resource for resource_id, resource in loaded.items() if not resource.cost_of}


async def _find_consent_errors(
    rows: Rows, resources: Sequence[Resource], sources: dict[str, Resource]
) -> dict[str, ConsentRevoked]:
    """Return, by id of the priced resource, the error if consent to it or to its cost is missing."""
    errors = await find_consent_errors(rows, [*sources.values(), *resources])
    return {
        priced_resource_id(resource): error
        for resource in resources
        if (error := _consent_error_of(errors, resource)) is not None
    }


def _consent_error_of(errors: dict[str, ConsentRevoked], resource: Resource) -> ConsentRevoked | None:
    return errors.get(priced_resource_id(resource)) or errors.get(resource.resource_id)


def dynamic_tariff_ids(tariffs: Iterable[TariffTerms]) -> set[str]:
    """Return the ids of the dynamic tariffs, which have prices."""
    return {tariff.tariff_id for tariff in tariffs if tariff.kind is TariffKind.DYNAMIC}


def several_currencies(currencies: Iterable[str]) -> BadInput:
    problem = Problem(("range",), "contains tariffs in different currencies")
    return BadInput(
        f"The range has tariffs in {' and '.join(currencies)}, which cannot be added. Ask for each part alone.",
        problems=[problem],
    )


def _build_explanation(priced: _PricedEnergy, start: int, stop: int, now: datetime) -> CostExplanation | None:
    if not priced.tariffs:
        return None
    days = timeline.begun_days(priced.tariffs, start, stop, priced.paid, to_ms(now))
    return CostExplanation(
        **msgspec.structs.asdict(build_bill(priced.parts, days, priced.field.unit, priced.currency, priced.peaks)),
        start=from_ms(start),
        end=from_ms(stop),
        completeness=_completeness(priced, start, stop),
    )


def _completeness(priced: _PricedEnergy, start: int, stop: int) -> float | None:
    """Return the stored share of a range's samples; None without regular sampling or expected samples."""
    expected = priced.ownership.expected_samples(priced.field, start, stop)
    return stored_share(len({part.at for part in priced.parts}), expected)


async def _build_buckets(priced: _PricedEnergy, edges: Sequence[int], now: datetime) -> list[CostBucket]:
    await pause_for(len(priced.parts))
    cost_by_position = cost_by_bucket(priced.parts, edges)
    standing_charges = _standing_charges_by_bucket(priced, edges, to_ms(now))
    basis = CostBasis.from_tariffs(priced.tariffs)

    def build(position: int) -> CostBucket:
        start, end = edges[position], edges[position + 1]
        bucket_cost = cost_by_position.get(position, BucketCost())
        is_priced = bucket_cost.count > bucket_cost.unpriced
        energy_cost = round_half_up(bucket_cost.exact, _AMOUNT_DECIMALS) if is_priced else None
        standing_charge = round_scaled(
            standing_charges.get(position, 0), timeline.VAT_DECIMALS + STORED_DECIMALS, _AMOUNT_DECIMALS
        )
        return CostBucket(
            start=from_ms(start),
            end=from_ms(end),
            energy_cost_with_vat=energy_cost,
            standing_charges_with_vat=standing_charge,
            total=add_standing_charge(energy_cost, standing_charge),
            unpriced=bucket_cost.unpriced_kwh,
            estimated=bucket_cost.estimated > 0,
            no_value_reason=None
            if is_priced
            else basis.no_value_reason(start, end, has_readings=bucket_cost.count > 0),
        )

    await pause_for(len(edges))
    return await convert_all(range(len(edges) - 1), build)


def _standing_charges_by_bucket(priced: _PricedEnergy, edges: Sequence[int], now: int) -> dict[int, int]:
    """Return, by position of the bucket, the charges beside energy of the own days that have begun in it.

    They have VAT, and are in 10^-23 hundredths.
    """
    charges: dict[int, int] = {}
    position = 0
    for midnight, tariff in timeline.begun_days(priced.tariffs, edges[0], edges[-1], priced.paid, now):
        while midnight >= edges[position + 1]:
            position += 1
        charges[position] = charges.get(position, 0) + timeline.day_cost(tariff, midnight, priced.peaks)
    return charges


def _check_range(range: TimeRange, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and end of a range. Raise BadInput if it is empty or too long."""
    start, end = resolve_range(range, now)
    if end - start > MAX_RANGE:
        problem = Problem(("range",), f"is longer than {MAX_RANGE.days:,} days")
        raise BadInput(f"The range is too long. Request at most {MAX_RANGE.days:,} days.", problems=[problem])
    return start, end


# Which resource pays the standing charge of a day, of several that a household has at a meter point.
#
# A day is due once for a meter point and a classifier. A closed resource pays for a day only if no resource that
# follows it has a tariff then: the open ones, and those that were added later.


async def load_following(rows: Rows, resources: Iterable[Resource]) -> dict[str, list[Resource]]:
    """Return the resources that follow each closed one at its meter point, by the id of the closed one.

    They are those of the same household and classifier that the caller may see. It needs no statement if all resources
    are open or have no meter point.
    """
    closed = [one for one in resources if one.mpxn and not one.active and one.cost_of is None]
    if not closed:
        return {}
    numbers = {canonical_meter_point(one.mpxn or "") for one in closed}
    others = await rows.all(
        Resource,
        col(Resource.owner_id).in_({one.owner_id for one in closed}),
        col(Resource.mpxn).in_([spelling for number in numbers for spelling in meter_point_spellings(number)]),
        col(Resource.classifier).in_({one.classifier for one in closed}),
        col(Resource.cost_of).is_(None),
    )
    return {one.resource_id: [other for other in others if _follows(other, one)] for one in closed}


def days_to_pay(
    resource_id: str,
    following: Iterable[Resource],
    ownerships: Mapping[str, Ownership],
    tariffs: Mapping[str, Sequence[TariffTerms]],
) -> Ownership:
    """Return the time in which a resource pays standing charges: the own one without that of those that follow it."""
    paid = ownerships[resource_id]
    for other in following:
        if tariffs[other.resource_id]:
            since = to_ms(tariffs[other.resource_id][0].valid_from)
            paid = paid.without(ownerships[other.resource_id].within(since, NO_END))
    return paid


def _follows(other: Resource, closed: Resource) -> bool:
    """Return whether a resource follows a closed one of the same household, meter point and classifier."""
    of_closed, of_other = (
        (one.owner_id, canonical_meter_point(one.mpxn or ""), one.classifier) for one in (closed, other)
    )
    return of_other == of_closed and (other.active, other.number) > (closed.active, closed.number)


# The energy of a resource as samples for pricing, and the number of them that a caller pays for.

MAX_SAMPLES = 100_000


async def count_extra_readings(rows: Rows, resource: Resource, field: ReadingField, start: int, stop: int) -> int:
    """Return how many readings `load_energy` lists in [start, stop), above those that the price of the days includes.

    Regular sampling is counted by its interval until now, without a statement.
    """
    first, last = max(start, field.start_ms), min(stop, to_ms(rows.now))
    count = field.expected_samples(first, max(first, last))
    if count is None:
        key = series_key(resource, field)
        stored = await rows.readings.aggregates({key: None}, _one_bucket(start, stop), values_only=True)
        count = stored[key].count[0]
    included = INCLUDED_READINGS_PER_DAY * ((stop - start) // DAY_MS + 1)
    return max(0, min(count, MAX_SAMPLES + 1) - included)


async def load_energy(
    rows: Rows, resource: Resource, field: ReadingField, tariffs: Sequence[TariffTerms], start: int, stop: int
) -> list[EnergySample]:
    """Return a resource's readings of a field in [start, stop) as energy samples. Raise BadInput for too many.

    The period of a block tariff may begin earlier. Its earlier energy precedes them, as one sample for each of its
    parts: rollups have its sum, and the limits of blocks need no more.
    """
    samples = await _sum_earlier(rows, resource, field, timeline.earlier_block_starts(tariffs, start, stop), start)
    readings = await rows.readings.list_readings(series_key(resource, field), start, stop, limit=MAX_SAMPLES + 1)
    if len(readings) > MAX_SAMPLES:
        raise BadInput(f"The range has more than {MAX_SAMPLES:,} readings. Request a shorter range.")
    scale = 10 ** (timeline.ENERGY_DECIMALS - field.decimals)
    async for part in slices(readings):
        samples += [EnergySample(reading.at, reading.value * scale, reading.quality != 0) for reading in part]
    return samples


async def _sum_earlier(
    rows: Rows, resource: Resource, field: ReadingField, block_starts: Sequence[int], stop: int
) -> list[EnergySample]:
    """Return the energy between the starts of block periods, and from the last one to `stop`, as samples."""
    if not block_starts:
        return []
    ends = (*block_starts[1:], stop)
    grid = BucketGrid(tuple(BucketRun(at, end - at, 1) for at, end in zip(block_starts, ends, strict=True)))
    key, scale = series_key(resource, field), 10 ** (timeline.ENERGY_DECIMALS - field.decimals)
    stored = (await rows.readings.aggregates({key: field.interval_ms}, grid, values_only=True))[key]
    sums = zip(block_starts, stored.count, stored.sum, strict=True)
    return [EnergySample(at, energy * scale, False) for at, count, energy in sums if count]


async def load_peaks(
    rows: Rows, resource: Resource, field: ReadingField, tariffs: Sequence[TariffTerms], start: int, stop: int
) -> timeline.Peaks:
    """Return the peaks of the months in [start, stop) that tariffs charge for, so far. Charge the caller first.

    Readings that are longer than the minutes of a peak stand for its power.
    """
    peaks = dict[timeline.PeakKey, int]()
    now = to_ms(rows.now)
    for tariff, begin, end in timeline.tariffs_in_force(tariffs, start, min(stop, now + 1)):
        zone = ZoneInfo(tariff.time_zone)
        for component in timeline.peak_components(tariff):
            for month, following in pairwise(timeline.period_edges(begin, end, Period.P1M, zone)):
                wanted = timeline.peak_key(tariff, component, month)
                if wanted not in peaks and timeline.has_peak(tariff, component, month):
                    peaks[wanted] = await _load_peak(rows, resource, field, wanted, min(following, now + 1), zone)
    return peaks


async def _load_peak(
    rows: Rows, resource: Resource, field: ReadingField, wanted: timeline.PeakKey, stop: int, zone: ZoneInfo
) -> int:
    """Return the peak of a month until `stop`, in billionths of a kW."""
    shortest = max(wanted.minutes, -(-(field.interval_ms or 0) // MINUTE_MS))
    minutes, period = next(((each, _PEAK_PERIODS[each]) for each in PEAK_MINUTES if each >= shortest), _LONGEST_PEAK)
    grid = build_grid(from_ms(wanted.month), from_ms(stop), period, zone)
    if rows.charge_readings is not None:
        rows.charge_readings(grid.count)
    key = series_key(resource, field)
    stored = (await rows.readings.aggregates({key: field.interval_ms}, grid, values_only=True))[key]
    exponent = timeline.ENERGY_DECIMALS - field.decimals + (kwh_exponent(field.unit) or 0)
    energies = [
        (start, energy * 10**exponent if exponent >= 0 else energy // 10**-exponent)
        for start, energy, count in zip(grid.starts, stored.sum, stored.count, strict=True)
        if count
    ]
    return timeline.find_peak(energies, zone, minutes, wanted.days, wanted.window)


_PEAK_PERIODS = {15: Period.PT15M, 30: Period.PT30M, 60: Period.PT1H}
_LONGEST_PEAK = 60, Period.PT1H


def _one_bucket(start: int, stop: int) -> BucketGrid:
    return BucketGrid((BucketRun(start, stop - start, 1),))
