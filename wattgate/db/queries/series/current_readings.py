"""Batch loaders of the current values of resources: power or the newest reading, the cost of an hour, and rates."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.resources import load_measured_resources
from wattgate.db.queries.series.costs import dynamic_tariff_ids, load_peaks, load_priced_resources
from wattgate.db.queries.series.tariffs import holds_costs, in_force, priced_resource_id
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import buckets
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import BUCKET_DECIMALS, current_block_rate, round_half_up, to_decimal
from wattgate.energy.costs.tariffs import MAX_PRICE_MS
from wattgate.energy.display.live_power import to_watts
from wattgate.energy.quantities import Rate, cost_unit, in_cost_unit, rate_of_hundredths, rate_unit
from wattgate.energy.storage_fields import POWER_FIELD, ReadingField, find_field, parse_fields
from wattgate.enums import NoValueReason, RateUnit
from wattgate.errors import ConsentRevoked

# Batch loader of the current rates of resources.

DAY_CHARGE_DECIMALS = timeline.VAT_DECIMALS - timeline.ENERGY_DECIMALS
"""Decimal places of the charge of a day in hundredths: those of a rate with VAT. Only shares of months have more."""


class CurrentRates(msgspec.Struct, gc=False):
    """The current rates. The rates of energy are None if no price is known."""

    rate: Rate | None
    rate_with_vat: Rate | None
    standing_charge: Rate
    standing_charge_with_vat: Rate
    band: str | None


async def current_rates(rows: Rows, resources: Sequence[Resource]) -> list[CurrentRates | None]:
    """Return the current rates of each resource; None if no tariff applies."""
    tariffs = await in_force(rows, resources)
    now = to_ms(rows.now)
    prices = await rows.prices.list_between(dynamic_tariff_ids(filter(None, tariffs)), now - MAX_PRICE_MS + 1, now + 1)
    sources = await load_priced_resources(rows, resources)
    errors = await find_consent_errors(rows, list(sources.values()))
    results: list[CurrentRates | None] = []
    for resource, tariff in zip(resources, tariffs, strict=True):
        if tariff is None:
            results.append(None)
            continue
        key = priced_resource_id(resource)
        rule = timeline.rate_spans([tariff], prices, now, now + 1)[-1].rule
        if isinstance(rule, timeline.BlockRates):  # the block in force reveals consumption, which needs consent
            rule = None if key in errors else await _load_block_rate(rows, sources[key], rule)
        source = sources.get(key, resource)
        field, peaks = parse_fields(source.storage)[0], timeline.NO_PEAKS
        if key not in errors:  # the peak reveals consumption, too
            peaks = await load_peaks(rows, source, field, [tariff], now, now + 1)
        results.append(
            _build_current_rates(tariff, rule, rate_unit(field.unit), timeline.day_charges(tariff, now, peaks))
        )
    return results


def _build_current_rates(
    tariff: Tariff, rate: timeline.Rate | None, per: RateUnit, day: Sequence[timeline.DayCharge]
) -> CurrentRates:
    def show(hundredths: Decimal, per: RateUnit) -> Rate:
        return rate_of_hundredths(hundredths, per, tariff.currency)

    without_vat = to_decimal(sum(charge.amount for charge in day), timeline.AMOUNT_DECIMALS)
    with_vat = to_decimal(sum(charge.with_vat for charge in day), timeline.VAT_DECIMALS)
    return CurrentRates(
        rate=None if rate is None else show(rate.hundredths, per),
        rate_with_vat=None if rate is None else show(rate.hundredths_with_vat, per),
        standing_charge=show(round_half_up(without_vat, DAY_CHARGE_DECIMALS), RateUnit.DAY),
        standing_charge_with_vat=show(round_half_up(with_vat, DAY_CHARGE_DECIMALS), RateUnit.DAY),
        band=None if rate is None else rate.charge.band,
    )


async def _load_block_rate(rows: Rows, source: Resource, blocks: timeline.BlockRates) -> timeline.Rate:
    """Return the rate of the block that the energy of the period has reached."""
    field = parse_fields(source.storage)[0]
    return current_block_rate(await _total_energy(rows, source, field, blocks.since, to_ms(rows.now) + 1), blocks)


async def _total_energy(rows: Rows, resource: Resource, field: ReadingField, start: int, stop: int) -> int:
    """Return the total energy of a resource in [start, stop), scaled by ENERGY_DECIMALS."""
    key = series_key(resource, field)
    grid = buckets.BucketGrid((buckets.BucketRun(start, stop - start, 1),))
    (total,) = (await rows.readings.aggregates({key: field.interval_ms}, grid))[key].sum
    return int(total * 10 ** (timeline.ENERGY_DECIMALS - field.decimals))


# Batch loaders of the current value of resources: power or the newest reading, and for costs the cost of an hour.


MAX_POWER_AGE_MS = 15 * 60 * 1000
"""An older power reading is not the current power."""

COST_PER_HOUR_FIELD = "COST_PER_HOUR"
"""Field of the current value of a resource with `cost_of`. Its unit is that of costs, such as pence, for an hour."""

ENERGY_UNIT = "kWh"
"""The unit of energy in which power for an hour can be priced."""


class CurrentReading(msgspec.Struct, gc=False):
    """The newest value of a resource, with its field, unit and instant.

    `includes_standing_charge` and `includes_vat` are None unless the value is a computed cost.
    """

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float
    includes_standing_charge: bool | None = None
    includes_vat: bool | None = None


async def current_readings(rows: Rows, resources: Sequence[Resource]) -> list[CurrentReading | ConsentRevoked | None]:
    """Return the current value of each resource, or None if there is none.

    It is the power if that is fresh, else the latest value of the first field. For a resource with `cost_of`, it is
    the cost of an hour at the present power and rate. For recorded costs, it is the latest cost.
    """
    return [None if isinstance(found, NoValueReason) else found for found in await _load(rows, resources)]


async def no_current_reasons(rows: Rows, resources: Sequence[Resource]) -> list[NoValueReason | ConsentRevoked | None]:
    """Return why the current value of each resource is None; None if there is a value."""
    return [None if isinstance(found, CurrentReading) else found for found in await _load(rows, resources)]


async def _load(rows: Rows, resources: Sequence[Resource]) -> list[CurrentReading | NoValueReason | ConsentRevoked]:
    sources = await load_measured_resources(rows, resources)
    pairs = list(zip(resources, sources, strict=True))
    fields = [_current_fields(resource, source) for resource, source in pairs]
    keys = [series_key(source, field) for (_, source), names in zip(pairs, fields, strict=True) for field in names]
    latest = await rows.readings.latest(keys, until=to_ms(rows.now)) if keys else {}
    costs = [resource for resource in resources if resource.cost_of]
    rates = (
        dict(zip([cost.resource_id for cost in costs], await current_rates(rows, costs), strict=True)) if costs else {}
    )
    errors = await find_consent_errors(rows, [*resources, *sources])
    fresh_from = to_ms(rows.now) - MAX_POWER_AGE_MS
    results: list[CurrentReading | NoValueReason | ConsentRevoked] = []
    for (resource, source), resource_fields in zip(pairs, fields, strict=True):
        error = errors.get(resource.resource_id) or errors.get(source.resource_id)
        newest = _newest(source, resource_fields, latest, fresh_from)
        if error is not None:
            results.append(error)
        elif resource.cost_of:
            results.append(_cost_per_hour(resource, newest, rates[resource.resource_id]))
        elif newest is not None:
            results.append(_to_current(resource, *newest))
        else:
            is_stale = any(series_key(source, field) in latest for field in resource_fields)
            results.append(NoValueReason.NO_POWER if is_stale else NoValueReason.NO_READINGS)
    return results


def _current_fields(resource: Resource, source: Resource) -> list[ReadingField]:
    """Return the fields of the source that may hold the current value, in order of preference."""
    fields = parse_fields(source.storage)
    power = find_field(fields, POWER_FIELD)
    if resource.cost_of:
        return [power] if power and fields[0].unit == ENERGY_UNIT else []
    return [power, fields[0]] if power and not holds_costs(resource) else [fields[0]]


def _newest(
    source: Resource, fields: Sequence[ReadingField], latest: dict[tuple[int, int], StoredReading], fresh_from: int
) -> tuple[ReadingField, StoredReading] | None:
    """Return the first of the fields that has a reading, and this reading. A power reading must be fresh."""
    for field in fields:
        stored = latest.get(series_key(source, field))
        if stored and (field.name != POWER_FIELD or stored.at >= fresh_from):
            return field, stored
    return None


def _to_current(resource: Resource, field: ReadingField, stored: StoredReading) -> CurrentReading:
    return CurrentReading(
        resource_id=resource.resource_id,
        field=field.name,
        unit=field.unit,
        at=from_ms(stored.at),
        value=field.from_stored(stored.value),
    )


def _cost_per_hour(
    resource: Resource, power: tuple[ReadingField, StoredReading] | None, rates: CurrentRates | None
) -> CurrentReading | NoValueReason:
    """Return the cost of an hour at a power. Negative power is not energy of the resource, so it costs nothing."""
    if rates is None:
        return NoValueReason.NO_TARIFF
    if (rate := rates.rate_with_vat) is None:
        return NoValueReason.NO_PRICE
    if power is None:
        return NoValueReason.NO_POWER
    field, stored = power
    kilowatts = Decimal(str(max(to_watts(field.from_stored(stored.value), field.unit), 0))) / 1000
    return CurrentReading(
        resource_id=resource.resource_id,
        field=COST_PER_HOUR_FIELD,
        unit=f"{cost_unit(rate.currency)}/hour",
        at=from_ms(stored.at),
        value=float(round_half_up(kilowatts * in_cost_unit(rate.amount, rate.currency), BUCKET_DECIMALS)),
        includes_standing_charge=False,
        includes_vat=True,
    )
