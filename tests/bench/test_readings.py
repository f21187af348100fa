"""The benchmark of readings: the statements that it repeats with the plain driver."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np
import orjson
import pytest

from bench import bare_bulk, mqtt
from bench.database_driver import open_driver
from bench.gateway import SeededGateway, seeded_gateway
from bench.readings import QUERIES, capture_statements
from tests.support.servers import Databases
from wattgate.app.settings import Settings
from wattgate.clock import format_iso_ms, to_ms
from wattgate.energy.buckets import HOUR_MS
from wattgate.enums import Period
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, record_reading_arrays

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

HOURS = 24
BUCKETS = {Period.PT30M: HOURS, Period.P1D: 2, Period.P1M: 2}
"""The buckets with readings by the period of the query, in each of which the driver reads one aggregate."""


@pytest.fixture
async def seeded(databases: Databases) -> AsyncIterator[tuple[SeededGateway, str]]:
    async with databases() as url, seeded_gateway(Settings(_env_file=None, database_url=url), count=1) as gateway:
        yield gateway, url


async def record_hours(gateway: SeededGateway) -> None:
    """Record the first hours of each query."""
    for start in {query.start for query in QUERIES}:
        at, zeros = to_ms(start) + np.arange(HOURS) * HOUR_MS, np.zeros(HOURS, np.int64)
        batch = BulkReadingBatch([(gateway.resource_ids[0], None)], zeros, at, np.ones(HOURS), zeros)
        await gateway.gateway.runner.run(record_reading_arrays, gateway.system, {"batch": batch})


def count_buckets(rows: Sequence[Sequence[Any]]) -> int:
    """Count the buckets in rows: one in a row of SQLite, and a column of all in a row of PostgreSQL."""
    columns = [row[2] for row in rows]
    return sum(len(column) // 8 if isinstance(column, bytes) else np.size(column) for column in columns)


async def test_driver_reads_the_same_buckets_with_the_captured_statements(seeded: tuple[SeededGateway, str]) -> None:
    gateway, url = seeded
    await record_hours(gateway)
    async with open_driver(url) as driver:
        await driver.set_scope(gateway.application_id)
        for query in QUERIES:
            statements = await capture_statements(gateway, query)
            counts = [count_buckets(await driver.fetch(*statement)) for statement in statements]
            assert sum(counts) == BUCKETS[query.period]


async def test_capture_fails_if_the_gateway_sends_no_statement_on_readings(
    seeded: tuple[SeededGateway, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def query_nothing(*arguments: object) -> None: ...

    gateway, _ = seeded
    monkeypatch.setattr(type(gateway.gateway.runner), "run", query_nothing)
    with pytest.raises(RuntimeError, match="no statement on readings"):
        await capture_statements(gateway, QUERIES[0])


async def test_intake_and_its_floor_take_all_messages(seeded: tuple[SeededGateway, str]) -> None:
    gateway, url = seeded
    assert await mqtt.intake_rate(gateway, gateway.resource_ids[0], count=30) > 0  # fails unless all are stored
    async with open_driver(url) as driver:
        assert await mqtt.floor_rate(driver, count=30) > 0
        (row,) = await driver.fetch("SELECT count(*) FROM reading WHERE resource_number = 30000000", ())
    assert row[0] == 30


async def test_floor_of_ndjson_loads_all_lines(seeded: tuple[SeededGateway, str]) -> None:
    gateway, url = seeded
    await record_hours(gateway)  # creates the partition of the month
    start = to_ms(QUERIES[0].start)
    expected = [(start, 1250), (start + 1, 2500)]
    lines = b"\n".join(
        orjson.dumps({"resourceId": "one", "at": format_iso_ms(at), "value": value / 1000}) for at, value in expected
    )
    async with open_driver(url) as driver:
        assert await bare_bulk.load_lines(driver, lines) == len(expected)
        rows = await driver.fetch("SELECT at, value FROM reading WHERE resource_number = 20000000 ORDER BY at", ())
    assert [tuple(row) for row in rows] == expected
