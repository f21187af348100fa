"""Set-wise loaders of what resources' energy costs: computed from their readings and the tariffs in force."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from itertools import pairwise

import msgspec

from wattgate.clock import TimeRange, from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.queries.consent import withheld
from wattgate.db.queries.tariffs import histories, in_force, source_id, timelines
from wattgate.db.queries.time_ranges import check_buckets, closed
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import key_of
from wattgate.db.rows import Rows
from wattgate.energy import buckets, timeline
from wattgate.energy.buckets import HALF_HOUR, Grid
from wattgate.energy.pricing import (
    BUCKET_DECIMALS,
    VAT_DECIMALS,
    Bill,
    BucketCost,
    Piece,
    Sample,
    by_bucket,
    by_sample,
    explain,
    half_up,
    priced,
    reached,
    rounded,
    with_vat,
)
from wattgate.energy.storage_fields import Field, fields_of
from wattgate.energy.tariffs import TariffTerms
from wattgate.enums import Period, TariffKind
from wattgate.errors import BadInput, ConsentRevoked, GatewayError, Problem

MAX_SAMPLES = 100_000
MAX_RANGE = timedelta(days=2_000)
"""100,000 half hours are 2,083 days."""


class CostExplanation(Bill, gc=False, kw_only=True):
    """The bill of a resource's energy for a range, and how much of the range's samples is stored (0 to 1)."""

    start: datetime
    end: datetime
    completeness: float | None
    currency: str = "GBP"


class CostBucket(msgspec.Struct, gc=False):
    """What one span costs, in pence with VAT; `energy` and `total` are None where no energy of it could be priced."""

    start: datetime
    end: datetime
    energy: Decimal | None
    standing_charge: Decimal
    total: Decimal | None
    unpriced: Decimal
    estimated: bool


class CostSeries(msgspec.Struct, gc=False):
    """What a resource's energy costs, in buckets of one period."""

    resource: Resource
    period: Period
    buckets: list[CostBucket]
    currency: str = "GBP"


class CurrentRates(msgspec.Struct, gc=False):
    """What energy costs at present, in pence with VAT; `rate` is None where no price is known."""

    rate: Decimal | None
    standing_charge: Decimal
    band: str | None


@dataclass(frozen=True, slots=True)
class _Priced:
    """The energy of a resource in a range, priced by its tariffs there (none where there are none)."""

    source: Resource
    field: Field
    tariffs: list[TariffTerms]
    pieces: list[Piece]

    @property
    def key(self) -> SeriesKey:
        return key_of(self.source, self.field)


async def explained(
    rows: Rows, resources: Sequence[Resource], *, range: TimeRange
) -> list[CostExplanation | GatewayError | None]:
    """For each resource what its energy in a range costs; None where no tariff holds in it."""
    start, end = _checked(range, rows.now)
    found = await _priced_of(rows, resources, to_ms(start), to_ms(end))
    return [
        one if isinstance(one, GatewayError) else _explanation(one, to_ms(start), to_ms(end))
        for one in (found[source_id(resource)] for resource in resources)
    ]


async def series(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    range: TimeRange,
    period: Period,
    time_zone: tzinfo = UTC,
) -> list[CostSeries | GatewayError | None]:
    """For each resource what its energy costs in the buckets of a range; None where no tariff holds.

    Buckets are whole ones of the zone's wall clock. Energy is in the bucket in which its sample begins, the charge of
    a day in the bucket that holds its midnight.
    """
    start, end = _checked(range, rows.now)
    check_buckets(start, end, period)
    edges = timeline.calendar(to_ms(start), to_ms(end), period, time_zone)
    found = await _priced_of(rows, resources, edges[0], edges[-1])
    made: list[CostSeries | GatewayError | None] = []
    for resource in resources:
        one = found[source_id(resource)]
        if isinstance(one, GatewayError):
            made.append(one)
        else:
            made.append(CostSeries(resource, period, _buckets(one, edges)) if one.tariffs else None)
    return made


async def computed(rows: Rows, wanted: Sequence[tuple[Resource, Field]], grid: Grid) -> list[Aggregates | GatewayError]:
    """What the readings of resources that tell a cost amount to in each bucket: with VAT, without standing charge.

    A sample without a price is not there. Revisions are those of the consumption; after a change of the tariffs all
    counts as received anew.
    """
    resources = [resource for resource, _ in wanted]
    found = await _priced_of(rows, resources, grid.start, grid.stop)
    changed = await _changed(rows, resources)
    keys = {one.key: one.field.interval_ms for one in found.values() if isinstance(one, _Priced)}
    stored = await rows.series.aggregates(keys, grid)
    return [
        one
        if isinstance(one, GatewayError)
        else _aggregated(one, field, grid, stored[one.key], changed.get(one.source.resource_id, 0))
        for one, field in ((found[source_id(resource)], field) for resource, field in wanted)
    ]


async def _changed(rows: Rows, resources: Sequence[Resource]) -> dict[str, int]:
    """By id of the resource whose energy is meant, when (ms) its tariffs last changed."""
    known = await histories(rows, resources, upcoming=True, superseded=True)
    return {
        source_id(resource): max(to_ms(one.superseded_at or one.created_at) for one in some)
        for resource, some in zip(resources, known, strict=True)
        if some
    }


def _aggregated(one: _Priced, field: Field, grid: Grid, stored: Aggregates, changed: int) -> Aggregates:
    unit = 10 ** (VAT_DECIMALS - field.decimals)
    exact = [0] * grid.count
    found, samples = Aggregates.empty(grid.count), dict[int, int]()
    position, edges = 0, grid.edges
    for at, amount, estimated in by_sample(one.pieces):
        while at >= edges[position + 1]:
            position += 1
        value = samples[at] = half_up(amount, unit)
        found.add(position, (1, 0, value, value, at, at, int(estimated), 0, 0))
        exact[position] += amount
    found.samples = samples
    found.sum = [half_up(amount, unit) for amount in exact]
    found.revision = stored.revision
    found.received_at = [max(at, changed) for at in stored.received_at]
    return found


async def current_rates(rows: Rows, resources: Sequence[Resource]) -> list[CurrentRates | None]:
    """What energy costs each resource at this moment; None where no tariff holds."""
    tariffs = await in_force(rows, resources)
    now = to_ms(rows.now)
    prices = await rows.prices.between(_dynamic(filter(None, tariffs)), now - HALF_HOUR + 1, now + 1)
    sources = await _sources(rows, resources)
    refused = await withheld(rows, list(sources.values()))
    found: list[CurrentRates | None] = []
    for resource, tariff in zip(resources, tariffs, strict=True):
        if tariff is None:
            found.append(None)
            continue
        key = source_id(resource)
        rule = timeline.spans([tariff], prices, now, now + 1)[-1].rule
        if isinstance(rule, timeline.Blocks):  # which one holds tells of consumption
            rule = None if key in refused else await _reached(rows, sources[key], rule)
        found.append(_current(tariff, rule))
    return found


async def samples(rows: Rows, resource: Resource, field: Field, start: int, stop: int) -> list[Sample]:
    """A resource's readings of a field from start to before stop, as energy to be priced. BadInput where too many."""
    found = await rows.series.raw(key_of(resource, field), start, stop, limit=MAX_SAMPLES + 1)
    if len(found) > MAX_SAMPLES:
        raise BadInput(f"that are more than {MAX_SAMPLES:,} readings: ask a shorter range")
    scale = 10 ** (timeline.ENERGY_DECIMALS - field.decimals)
    return [Sample(one.at, one.value * scale, one.quality != 0) for one in found]


async def counted(rows: Rows, resource: Resource, field: Field, start: int, stop: int) -> int:
    """All energy of a resource from start to before stop."""
    key = key_of(resource, field)
    grid = buckets.Grid((buckets.Run(start, stop - start, 1),))
    (total,) = (await rows.series.aggregates({key: field.interval_ms}, grid))[key].sum
    return int(total * 10 ** (timeline.ENERGY_DECIMALS - field.decimals))


async def _priced_of(
    rows: Rows, resources: Sequence[Resource], start: int, stop: int
) -> dict[str, _Priced | GatewayError]:
    """By id of the resource whose energy is meant, that energy priced, or why that cannot be had."""
    sources = await _sources(rows, resources)
    refused = await _refusals(rows, resources, sources)
    histories = await timelines(rows, sources, from_ms(stop - 1))
    held = {key: [one for one, _, _ in timeline.in_force(some, start, stop)] for key, some in histories.items()}
    dynamic = _dynamic(tariff for some in held.values() for tariff in some)
    prices = await rows.prices.between(dynamic, start - HALF_HOUR + 1, stop)
    found: dict[str, _Priced | GatewayError] = {**refused}
    for key, source in sources.items():
        if key in refused:
            continue
        field, tariffs = fields_of(source.storage)[0], held[key]
        try:
            known = await samples(rows, source, field, timeline.reach(tariffs, start, stop), stop) if tariffs else []
        except BadInput as error:
            found[key] = error
            continue
        found[key] = _Priced(source, field, tariffs, _pieces(known, tariffs, prices, start))
    return found


def _pieces(known: list[Sample], tariffs: list[TariffTerms], prices: timeline.Prices, start: int) -> list[Piece]:
    """The samples from start on, priced. A range may be far longer than what is stored of it: that is left out."""
    if not known:
        return []
    since = max(start, known[0].at)
    return list(priced(known, timeline.spans(tariffs, prices, since, known[-1].at + 1), since))


async def _sources(rows: Rows, resources: Sequence[Resource]) -> dict[str, Resource]:
    """By id, the resources whose energy is meant."""
    known = {resource.resource_id: resource for resource in resources if not resource.cost_of}
    others = {resource.cost_of for resource in resources if resource.cost_of} - set(known)
    return known | (await rows.many(Resource, others) if others else {})


async def _refusals(
    rows: Rows, resources: Sequence[Resource], sources: dict[str, Resource]
) -> dict[str, ConsentRevoked]:
    """By id of the resource whose energy is meant, the refusal where consent to it, or to its cost, holds no longer."""
    gone = await withheld(rows, [*sources.values(), *resources])
    return {
        source_id(resource): refusal for resource in resources if (refusal := _either_of(gone, resource)) is not None
    }


def _either_of(gone: dict[str, ConsentRevoked], resource: Resource) -> ConsentRevoked | None:
    return gone.get(source_id(resource)) or gone.get(resource.resource_id)


def _dynamic(tariffs: Iterable[TariffTerms]) -> set[str]:
    """The ids of those that have prices."""
    return {tariff.tariff_id for tariff in tariffs if tariff.kind is TariffKind.DYNAMIC}


def _current(tariff: Tariff, rate: timeline.Rate | None) -> CurrentRates:
    standing = with_vat(tariff, tariff.standing_charge)
    if rate is None:
        return CurrentRates(None, standing, None)
    return CurrentRates(with_vat(tariff, timeline.unscaled(rate.rate)), standing, rate.charge.band)


async def _reached(rows: Rows, source: Resource, blocks: timeline.Blocks) -> timeline.Rate:
    """The rate of the block that the energy of the period has reached."""
    field = fields_of(source.storage)[0]
    return reached(await counted(rows, source, field, blocks.since, to_ms(rows.now) + 1), blocks)


def _explanation(one: _Priced, start: int, stop: int) -> CostExplanation | None:
    if not one.tariffs:
        return None
    days = (tariff for _, tariff in timeline.standing(one.tariffs, start, stop))
    return CostExplanation(
        **msgspec.structs.asdict(explain(one.pieces, days, one.field.unit)),
        start=from_ms(start),
        end=from_ms(stop),
        completeness=_completeness(one, start, stop),
    )


def _completeness(one: _Priced, start: int, stop: int) -> float | None:
    """The share of a range's samples that is stored; None without a sampling grid, or where no sample is expected."""
    expected = one.field.expected(max(start, one.field.start_ms), stop)
    return len({piece.at for piece in one.pieces}) / expected if expected is not None and expected > 0 else None


def _buckets(one: _Priced, edges: Sequence[int]) -> list[CostBucket]:
    found = by_bucket(one.pieces, edges)
    days = _days(one.tariffs, edges)
    made = []
    for position, (start, end) in enumerate(pairwise(edges)):
        inside = found.get(position, BucketCost())
        known = inside.count > inside.unpriced
        energy = rounded(inside.pence, BUCKET_DECIMALS) if known else None
        standing = rounded(days.get(position, Decimal(0)), BUCKET_DECIMALS)
        made.append(
            CostBucket(
                start=from_ms(start),
                end=from_ms(end),
                energy=energy,
                standing_charge=standing,
                total=None if energy is None else energy + standing,
                unpriced=inside.unpriced_kwh,
                estimated=inside.estimated > 0,
            )
        )
    return made


def _days(tariffs: Sequence[TariffTerms], edges: Sequence[int]) -> dict[int, Decimal]:
    """By position of the bucket, the standing charges of the days that begin in it, with VAT."""
    found: dict[int, Decimal] = {}
    position = 0
    for midnight, tariff in timeline.standing(tariffs, edges[0], edges[-1]):
        while midnight >= edges[position + 1]:
            position += 1
        found[position] = found.get(position, Decimal(0)) + with_vat(tariff, tariff.standing_charge)
    return found


def _checked(range: TimeRange, now: datetime) -> tuple[datetime, datetime]:
    """The start and end of a range. BadInput where it is empty, or too long to be priced."""
    start, end = closed(range, now)
    if end - start > MAX_RANGE:
        problem = Problem(("range",), f"is longer than {MAX_RANGE.days:,} days")
        raise BadInput(f"the range is too long: ask at most {MAX_RANGE.days:,} days", problems=[problem])
    return start, end
