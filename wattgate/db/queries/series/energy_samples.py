"""The energy of a resource as samples for pricing, and the number of them that a caller pays for."""

from collections.abc import Sequence

from wattgate.clock import to_ms
from wattgate.db.models import Resource
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import DAY_MS, BucketGrid, BucketRun
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import INCLUDED_READINGS_PER_DAY, EnergySample
from wattgate.energy.costs.tariffs import TariffTerms
from wattgate.energy.storage_fields import ReadingField
from wattgate.errors import BadInput
from wattgate.pauses import slices

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


def _one_bucket(start: int, stop: int) -> BucketGrid:
    return BucketGrid((BucketRun(start, stop - start, 1),))
