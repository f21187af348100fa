"""Batch loaders of tariffs: one result for each parent, with one statement for all."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Annotated

import msgspec
from sqlalchemy import bindparam, func
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.queries.ownership import load_with_sources
from wattgate.db.rows.lookups import Lookup, json_length
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import BASIS_UNITS, add_vat, to_decimal, with_percent
from wattgate.energy.costs.tariffs import (
    MAX_AHEAD,
    RATE_DECIMALS,
    ComponentWindow,
    PriceFormula,
    TariffBand,
    TariffBlock,
    TariffComponent,
    TariffTerms,
    price_length_ms,
)
from wattgate.energy.costs.timeline import Price
from wattgate.energy.quantities import (
    STORED_DECIMALS,
    Energy,
    Rate,
    energy_unit,
    rate_of_hundredths,
    rate_unit,
    strip_zeros,
    to_major,
)
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import ComponentBasis, EnergyUnit, Period, RateUnit, TariffKind, Weekday
from wattgate.errors import BadInput
from wattgate.pauses import convert_all
from wattgate.values.annotations import Described

MAX_PRICES = 3_000
"""The maximum number of prices of a range: 31 days of quarter hours."""


TARIFF_AT = Lookup(
    Tariff,
    "resource_id",
    where=(col(Tariff.superseded_at).is_(None), col(Tariff.valid_from) <= bindparam("at")),
    order_by=(col(Tariff.valid_from).desc(),),
    only_first=True,
)
"""The tariff in force at an instant, of each resource."""

LATER_TARIFFS = Lookup(
    Tariff,
    "resource_id",
    where=(
        col(Tariff.superseded_at).is_(None),
        col(Tariff.valid_from) > bindparam("since"),
        col(Tariff.valid_from) <= bindparam("until"),
    ),
    order_by=(col(Tariff.valid_from),),
)
"""The tariffs of resources that are not superseded and come into force after `since`, until `until`, oldest first."""

TARIFFS_UNTIL = Lookup(
    Tariff,
    "resource_id",
    where=(col(Tariff.valid_from) <= bindparam("until"),),
    order_by=(col(Tariff.valid_from).desc(), col(Tariff.version).desc()),
)
"""All tariffs of resources that are valid from `until` or earlier, newest first."""

ACTIVE_TARIFFS_UNTIL = replace(TARIFFS_UNTIL, where=(*TARIFFS_UNTIL.where, col(Tariff.superseded_at).is_(None)))
"""The tariffs of TARIFFS_UNTIL that are not superseded."""

INCLUDED_TARIFFS = 5
"""Tariffs of a resource that the price of a field includes. Further ones are charged before they are loaded."""

TARIFF_READINGS, PART_READINGS = 2, 2
"""Number of priced readings that take as long as to load a tariff, and a band, block or component of it."""

SHOWN_TARIFF_READINGS, SHOWN_PART_READINGS = 12, 3
"""The same for a tariff of a list, whose rates are computed and written."""


COST_SUFFIX = ".cost"
"""Suffix of the classifier of a resource that holds the costs of another resource's energy."""


PAUSE_TARIFFS = 100
"""Number of tariffs whose rates are computed between two pauses. One with 50 bands takes 0.4 ms."""


class PeriodPrice(msgspec.Struct, gc=False):
    """The rate of a dynamic tariff (major unit, without and with VAT) from `at` to `end`."""

    at: datetime
    end: datetime
    rate: Decimal
    rate_with_vat: Decimal


# Tariffs as the API shows them: with the unit of the energy that they price, and rates with and without VAT.


class BandRates(msgspec.Struct, gc=False):
    """A band of a time-of-use tariff, with its rates."""

    name: str
    rate: Rate
    rate_with_vat: Rate
    weekdays: list[Weekday]
    start: str
    end: str
    season_start: str | None
    season_end: str | None


class BlockRates(msgspec.Struct, gc=False):
    """A block of a block tariff, with its rates. The last block has no limit."""

    up_to: Energy | None
    rate: Rate
    rate_with_vat: Rate


class StepRates(msgspec.Struct, gc=False):
    """A step of a peak, with its charge of a month. The last step has no limit."""

    up_to_kilowatts: Decimal | None
    rate: Rate
    rate_with_vat: Rate


class ComponentRates(msgspec.Struct, gc=False):
    """A component of a tariff, with its rates."""

    name: str
    basis: ComponentBasis
    rate: Rate
    rate_with_vat: Rate
    vat_percent: Decimal
    peak_minutes: int | None
    peak_days: int | None
    minimum_kilowatts: Decimal | None
    window: ComponentWindow | None
    steps: list[StepRates]
    in_limits: bool


class FormulaRates(msgspec.Struct, gc=False):
    """The formula of a dynamic tariff, with its floor and cap as rates."""

    factor: Decimal
    floor: Rate | None
    cap: Rate | None


class TariffRates(msgspec.Struct, gc=False):
    """A tariff with its rates. `stored` is the record, whose rates are in hundredths of the currency."""

    stored: Tariff
    tariff_id: str
    resource_id: str
    name: str
    kind: TariffKind
    currency: str
    per: RateUnit
    rate: Rate | None
    rate_with_vat: Rate | None
    bands: list[BandRates]
    blocks: list[BlockRates]
    block_period: Period | None
    price_period: Period | None
    price_formula: FormulaRates | None
    standing_charge: Rate
    standing_charge_with_vat: Rate
    components: list[ComponentRates]
    vat_percent: Decimal
    time_zone: str
    source: str
    valid_from: datetime
    version: int
    superseded_at: datetime | None
    created_at: datetime


def show_tariff(tariff: Tariff, resource: Resource) -> TariffRates:
    """Return a tariff of a resource with its rates. The resource is the priced one, whose energy has the unit.

    If the caller cannot see that one, it is the resource of the cost, and the unit is OTHER.
    """
    unit = parse_fields(resource.storage)[0].unit
    per = rate_unit(unit)
    return TariffRates(
        stored=tariff,
        per=per,
        rate=None if tariff.rate is None else rate_of_hundredths(tariff.rate, per, tariff.currency),
        rate_with_vat=None if tariff.rate is None else _with_vat(tariff, tariff.rate, per),
        bands=[_show_band(tariff, band, per) for band in tariff.bands],
        blocks=[_show_block(tariff, block, per, energy_unit(unit)) for block in tariff.blocks],
        price_formula=None if tariff.price_formula is None else _show_formula(tariff, tariff.price_formula, per),
        standing_charge=rate_of_hundredths(tariff.standing_charge, RateUnit.DAY, tariff.currency),
        standing_charge_with_vat=_with_vat(tariff, tariff.standing_charge, RateUnit.DAY),
        components=[_show_component(tariff, component, per) for component in tariff.components],
        vat_percent=strip_zeros(tariff.vat_rate),
        **{name: getattr(tariff, name) for name in _SHOWN_COLUMNS},
    )


_SHOWN_COLUMNS = (
    *("tariff_id", "resource_id", "name", "kind", "currency", "block_period", "price_period", "time_zone", "source"),
    *("valid_from", "version", "superseded_at", "created_at"),
)
"""Columns of a tariff that need no unit."""


def _show_band(tariff: Tariff, band: TariffBand, per: RateUnit) -> BandRates:
    return BandRates(
        name=band.name,
        rate=rate_of_hundredths(band.rate, per, tariff.currency),
        rate_with_vat=_with_vat(tariff, band.rate, per),
        weekdays=band.weekdays,
        start=band.start,
        end=band.end,
        season_start=band.season_start,
        season_end=band.season_end,
    )


def _show_block(tariff: Tariff, block: TariffBlock, per: RateUnit, unit: EnergyUnit) -> BlockRates:
    limit = None if block.up_to is None else Energy(strip_zeros(block.up_to), unit)
    rate = rate_of_hundredths(block.rate, per, tariff.currency)
    return BlockRates(limit, rate, _with_vat(tariff, block.rate, per))


def _show_component(tariff: Tariff, component: TariffComponent, energy: RateUnit) -> ComponentRates:
    per = BASIS_UNITS.get(component.basis, energy)
    vat = tariff.vat_rate if component.vat_rate is None else component.vat_rate
    return ComponentRates(
        name=component.name,
        basis=component.basis,
        rate=rate_of_hundredths(component.rate, per, tariff.currency),
        rate_with_vat=rate_of_hundredths(with_percent(component.rate, vat), per, tariff.currency),
        vat_percent=strip_zeros(vat),
        peak_minutes=component.peak_minutes,
        peak_days=component.peak_days,
        minimum_kilowatts=None if component.minimum is None else strip_zeros(component.minimum),
        window=component.window,
        steps=[
            StepRates(
                None if step.up_to is None else strip_zeros(step.up_to),
                rate_of_hundredths(step.rate, RateUnit.MONTH, tariff.currency),
                rate_of_hundredths(with_percent(step.rate, vat), RateUnit.MONTH, tariff.currency),
            )
            for step in component.steps
        ],
        in_limits=component.in_limits,
    )


def _show_formula(tariff: Tariff, formula: PriceFormula, per: RateUnit) -> FormulaRates:
    floor, cap = (
        None if limit is None else rate_of_hundredths(limit, per, tariff.currency)
        for limit in (formula.floor, formula.cap)
    )
    return FormulaRates(strip_zeros(formula.factor), floor, cap)


def _with_vat(tariff: Tariff, hundredths: Decimal, per: RateUnit) -> Rate:
    return rate_of_hundredths(add_vat(tariff, hundredths), per, tariff.currency)


async def current_tariffs(rows: Rows, resources: Sequence[Resource]) -> list[TariffRates | None]:
    """Return the tariff that applies to each resource now, with its rates, or None."""
    sources = await load_with_sources(rows, resources)
    return [
        None if tariff is None else show_tariff(tariff, sources.get(priced_resource_id(resource), resource))
        for resource, tariff in zip(resources, await in_force(rows, resources), strict=True)
    ]


async def tariff_histories(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    upcoming: Annotated[bool, Described("Whether to include tariffs that are not yet in force.")] = False,
    superseded: Annotated[bool, Described("Whether to include tariffs that were replaced or withdrawn.")] = False,
) -> list[list[TariffRates]]:
    """Return the tariffs of each resource with their rates, newest first. See `histories`.

    The caller pays for the tariffs, and for their bands and blocks, before they are loaded.
    """
    await _charge_histories(rows, resources, upcoming=upcoming, superseded=superseded)
    sources = await load_with_sources(rows, resources)
    tariffs = await histories(rows, resources, upcoming=upcoming, superseded=superseded)
    shown: list[list[TariffRates]] = []
    for resource, of_resource in zip(resources, tariffs, strict=True):
        show = partial(show_tariff, resource=sources.get(priced_resource_id(resource), resource))
        shown.append(await convert_all(of_resource, show, pause_items=PAUSE_TARIFFS))
    return shown


# Batch loaders of the records of tariffs.


def priced_resource_id(resource: Resource) -> str:
    """Return the id of the resource whose energy and tariff apply: `cost_of` if it is set, else its own id."""
    return resource.cost_of or resource.resource_id


def holds_costs(resource: Resource) -> bool:
    """Return whether the values of a resource are money: computed costs (`cost_of`) or recorded ones."""
    return resource.cost_of is not None or resource.classifier.endswith(COST_SUFFIX)


async def tariffs_at(rows: Rows, resource_ids: Iterable[str], at: datetime) -> dict[str, Tariff]:
    """Return the tariffs in force at an instant by resource id. Resources without one are left out."""
    found = await rows.find(TARIFF_AT, set(resource_ids), at=at)
    return {tariff.resource_id: tariff for tariff in found}


async def load_timelines(
    rows: Rows, resource_ids: Iterable[str], since: datetime, until: datetime
) -> dict[str, list[Tariff]]:
    """Return, by resource id, the tariffs in force at `since` or from a later instant until `until`, oldest first.

    The caller pays for those above INCLUDED_TARIFFS before they are loaded.
    """
    unique_ids = set(resource_ids)
    first = await tariffs_at(rows, unique_ids, min(since, until))
    by_resource = {
        resource_id: [first[resource_id]] if resource_id in first else list[Tariff]() for resource_id in unique_ids
    }
    for tariff in await _load_later(rows, unique_ids, since, until):
        by_resource[tariff.resource_id].append(tariff)
    return by_resource


async def _load_later(rows: Rows, resource_ids: set[str], since: datetime, until: datetime) -> list[Tariff]:
    """Return the tariffs of LATER_TARIFFS. Charge the caller first if there are more than the price includes."""
    included = INCLUDED_TARIFFS * len(resource_ids)
    if rows.charge_readings is None:
        return await rows.find(LATER_TARIFFS, resource_ids, since=since, until=until)
    tariffs = await rows.find(LATER_TARIFFS, resource_ids, since=since, until=until, limit=included + 1)
    if len(tariffs) <= included:
        return tariffs
    conditions = (
        col(Tariff.superseded_at).is_(None),
        col(Tariff.valid_from) > since,
        col(Tariff.valid_from) <= until,
    )
    rows.charge_readings(await _count_readings(rows, resource_ids, TARIFF_READINGS, PART_READINGS, *conditions))
    return await rows.find(LATER_TARIFFS, resource_ids, since=since, until=until)


async def _charge_histories(rows: Rows, resources: Sequence[Resource], *, upcoming: bool, superseded: bool) -> None:
    """Charge the caller for the tariffs that `histories` loads, above those that the price includes."""
    if rows.charge_readings is None:
        return
    resource_ids = {priced_resource_id(resource) for resource in resources}
    conditions: list[Condition] = [col(Tariff.valid_from) <= _history_end(rows, upcoming=upcoming)]
    conditions += [] if superseded else [col(Tariff.superseded_at).is_(None)]
    count = await _count_readings(rows, resource_ids, SHOWN_TARIFF_READINGS, SHOWN_PART_READINGS, *conditions)
    rows.charge_readings(max(0, count - INCLUDED_TARIFFS * SHOWN_TARIFF_READINGS * len(resource_ids)))


async def _count_readings(
    rows: Rows, resource_ids: Iterable[str], per_tariff: int, per_part: int, *where: Condition
) -> int:
    """Return how many priced readings take as long as the tariffs that meet the conditions."""
    parts = sum((json_length(col(of)) for of in (Tariff.blocks, Tariff.components)), json_length(col(Tariff.bands)))
    counted = await rows.aggregate_by(
        Tariff,
        "resource_id",
        func.sum(per_tariff + per_part * parts),
        col(Tariff.resource_id).in_(resource_ids),
        *where,
    )
    return int(sum(counted.values()))


def _history_end(rows: Rows, *, upcoming: bool) -> datetime:
    """Return the latest instant from which a listed tariff is valid. None is valid from later than MAX_AHEAD."""
    return rows.now + MAX_AHEAD if upcoming else rows.now


async def last_tariff_changes(rows: Rows, resource_ids: Iterable[str]) -> dict[str, int]:
    """Return the time (ms since 1970) of the last change of the tariffs of each resource that has had one."""
    changed_at = func.max(func.coalesce(col(Tariff.superseded_at), col(Tariff.created_at)))
    found = await rows.aggregate_by(Tariff, "resource_id", changed_at, col(Tariff.resource_id).in_(set(resource_ids)))
    return {resource_id: to_ms(instant) for resource_id, instant in found.items()}


def count_prices(history: Sequence[TariffTerms], start: int, stop: int) -> int:
    """Return how many prices of tariffs are in [start, stop)."""
    spans = timeline.tariffs_in_force(history, start, stop)
    return sum((end - begin) // price_length_ms(tariff) for tariff, begin, end in spans if tariff.price_period)


def extra_prices(history: Sequence[TariffTerms], start: int, stop: int) -> int:
    """Return how many prices of tariffs are in [start, stop), above those of half hours, which fields include.

    A price costs as much as a reading.
    """
    spans = timeline.tariffs_in_force(history, start, stop)
    short = ((price_length_ms(tariff), begin, end) for tariff, begin, end in spans if tariff.price_period)
    return sum(
        (end - begin) // length - (end - begin) // HALF_HOUR_MS for length, begin, end in short if length < HALF_HOUR_MS
    )


def charge_prices(rows: Rows, histories: Iterable[Sequence[TariffTerms]], start: int, stop: int) -> None:
    """Charge the caller for the extra prices of tariffs in [start, stop), before they are loaded."""
    if rows.charge_readings is not None:
        rows.charge_readings(sum(extra_prices(history, start, stop) for history in histories))


async def in_force(rows: Rows, resources: Sequence[Resource], at: datetime | None = None) -> list[Tariff | None]:
    """Return the tariff that applies to each resource at an instant, by default now, or None."""
    tariffs = await tariffs_at(rows, map(priced_resource_id, resources), at or rows.now)
    return [tariffs.get(priced_resource_id(resource)) for resource in resources]


async def histories(
    rows: Rows, resources: Sequence[Resource], *, upcoming: bool = False, superseded: bool = False
) -> list[list[Tariff]]:
    """Return the past and current tariffs of each resource, newest first.

    `upcoming` adds tariffs that are valid from a later time, `superseded` those that a later version replaces.
    """
    lookup = TARIFFS_UNTIL if superseded else ACTIVE_TARIFFS_UNTIL
    resource_ids = {priced_resource_id(resource) for resource in resources}
    tariffs = await rows.find(lookup, resource_ids, until=_history_end(rows, upcoming=upcoming))
    by_resource = defaultdict[str, list[Tariff]](list)
    for tariff in tariffs:
        by_resource[tariff.resource_id].append(tariff)
    return [by_resource[priced_resource_id(resource)] for resource in resources]


async def prices(
    rows: Rows, tariffs: Sequence[TariffRates], *, start: datetime, end: datetime
) -> list[list[PeriodPrice]]:
    """Return the known prices of each dynamic tariff for periods that begin in [start, end), in order."""
    tariff_ids = {tariff.tariff_id for tariff in tariffs}
    limit = len(tariff_ids) * MAX_PRICES + 1
    prices_by_tariff = await rows.prices.list_between(tariff_ids, to_ms(start), to_ms(end), limit=limit)
    if any(len(found) > MAX_PRICES for found in prices_by_tariff.values()):
        raise BadInput(f"The range has more than {MAX_PRICES:,} prices. Request a shorter range.")
    return [
        await convert_all(prices_by_tariff.get(tariff.tariff_id, ()), partial(_show_price, tariff.stored))
        for tariff in tariffs
    ]


def _show_price(tariff: Tariff, price: Price) -> PeriodPrice:
    at, rate = price
    return PeriodPrice(
        from_ms(at),
        from_ms(at + price_length_ms(tariff)),
        to_decimal(rate, RATE_DECIMALS + STORED_DECIMALS),
        to_major(add_vat(tariff, to_decimal(rate, RATE_DECIMALS))),
    )
