"""Batch loader of the current rates of resources."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from wattgate.clock import to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.series.costs import dynamic_tariff_ids, load_priced_resources
from wattgate.db.queries.series.tariffs import in_force, priced_resource_id
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import buckets
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import add_vat, current_block_rate
from wattgate.energy.storage_fields import ReadingField, parse_fields


class CurrentRates(msgspec.Struct, gc=False):
    """The current rates of energy, in pence with VAT. `rate` is None if no price is known."""

    rate: Decimal | None
    standing_charge: Decimal
    band: str | None


async def current_rates(rows: Rows, resources: Sequence[Resource]) -> list[CurrentRates | None]:
    """Return the current rates of each resource; None if no tariff applies."""
    tariffs = await in_force(rows, resources)
    now = to_ms(rows.now)
    prices = await rows.prices.list_between(dynamic_tariff_ids(filter(None, tariffs)), now - HALF_HOUR_MS + 1, now + 1)
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
        results.append(_build_current_rates(tariff, rule))
    return results


def _build_current_rates(tariff: Tariff, rate: timeline.Rate | None) -> CurrentRates:
    standing_charge = add_vat(tariff, tariff.standing_charge)
    if rate is None:
        return CurrentRates(None, standing_charge, None)
    return CurrentRates(add_vat(tariff, timeline.from_scaled(rate.rate)), standing_charge, rate.charge.band)


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
