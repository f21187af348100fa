"""Concurrent writers on both databases: no reading is lost, counted twice, or missing in the rollups."""

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from sqlmodel import col, select

from tests.support.house import House
from tests.support.refusals import refusals
from tests.support.tables import check_rollups
from wattgate.access_log import ReadCounter, ReadData, Reader
from wattgate.db.models import AccessRecord
from wattgate.operations.consent.access_log import store_accesses
from wattgate.operations.readings import bulk_recorder
from wattgate.rest_compat.bulk_intake import NDJSON

DAY = datetime(2026, 4, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
RECORD = (
    "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
    " ... on Recorded { recorded } ...Refused } }"
)
COLUMNS = """
mutation ($series: [NewReadingColumns!]!) { recordReadingColumns(series: $series) {
    ... on RecordedColumns { recorded refused { reason } }
    ...Refused } }
"""
DAYS = """
query ($id: ID!, $field: String!, $range: TimeRange!, $period: Period!) {
  resource(resourceId: $id) { readings(field: $field, range: $range, period: $period) {
    mean count revision buckets { start value revision }
  } }
}
"""


async def send(house: House, query: str, series: list[dict[str, Any]]) -> None:
    answer = await house.graphql(query, house.one.headers["account"], series=series)
    assert not refusals(answer), answer


async def read(house: House, resource_id: str, field: str = "ENERGY", period: str = "PT30M") -> Any:
    range_ = {"start": DAY.isoformat(), "end": (DAY + timedelta(days=1)).isoformat()}
    variables = {"id": resource_id, "field": field, "range": range_, "period": period}
    answer = await house.graphql(DAYS, house.one.headers["account"], **variables)
    return answer["data"]["resource"]["readings"]


async def check(house: House, resource_ids: list[str]) -> None:
    async with house.gateway.database.engine.connect() as connection:
        assert await connection.run_sync(check_rollups, resource_ids) > 0


async def test_twenty_concurrent_writers_of_the_same_resources_and_day_lose_nothing(served: House) -> None:
    resource_ids = [await served.one.add_resource() for _ in range(3)]
    shared = DAY + 47 * HALF_HOUR

    async def write(number: int) -> None:
        own = {"at": (DAY + number * HALF_HOUR).isoformat(), "value": f"0.{number:03d}"}
        same = {"at": (DAY + 46 * HALF_HOUR).isoformat(), "value": 7}
        differs = {"at": shared.isoformat(), "value": 100 + number}
        order = Random(number).sample(resource_ids, 3)
        energy = [{"resourceId": one, "readings": [own, same, differs]} for one in order]
        live = {"at": [(DAY + timedelta(seconds=number)).isoformat(), DAY.isoformat()], "value": [number, -number]}
        await send(served, RECORD, energy)
        await send(served, COLUMNS, [{"resourceId": one, "field": "POWER", **live} for one in order])

    await asyncio.gather(*map(write, range(1, 21)))
    for resource_id in resource_ids:
        series = await read(served, resource_id)
        values = {bucket["start"][11:16]: (bucket["value"], bucket["revision"]) for bucket in series["buckets"]}
        last, revisions = values["23:30"]
        assert last in range(101, 121)
        assert revisions == 19  # twenty different values: nineteen replaced the previous one
        assert values["23:00"] == (7, 0)
        assert [values[f"{n // 2:02d}:{n % 2 * 30:02d}"] for n in range(1, 21)] == [(n / 1000, 0) for n in range(1, 21)]
        (day,) = (await read(served, resource_id, period="P1D"))["buckets"]
        assert (day["value"], day["revision"]) == (pytest.approx(0.21 + 7 + last), 19)
        power = await read(served, resource_id, "POWER", "PT1H")
        assert (power["count"], power["revision"]) == (21, 19)
    await check(served, resource_ids)


async def test_gateways_that_store_the_same_entries_of_the_access_log_do_not_block_each_other(served: House) -> None:
    at = datetime(2026, 4, 1, 12, tzinfo=UTC)
    reader = Reader(served.one.application_id, "concurrent", "service", "application", "application", None, at)
    reads = [(reader, ReadData(served.one.user_id, f"resource {n}"), ReadCounter(1, at, at)) for n in range(300)]

    async def store(number: int) -> int:
        order = Random(number).sample(reads, len(reads))
        stored: int = await served.gateway.runner.run(store_accesses, served.one.system, {"reads": order})
        return stored

    assert await asyncio.gather(*map(store, range(8))) == [len(reads)] * 8
    async with served.gateway.database.engine.connect() as connection:
        query = select(col(AccessRecord.count)).where(col(AccessRecord.operation) == "concurrent")
        assert [count for (count,) in await connection.execute(query)] == [8] * len(reads)


async def test_bulk_upload_and_concurrent_single_calls_lose_nothing(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 400)  # so that other writes run between batches
    resource_ids = [await served.one.add_resource() for _ in range(2)]
    count, contested = 4000, range(0, 4000, 50)
    instants = [(DAY + timedelta(seconds=20 * n)).isoformat() for n in range(count)]
    lines = [{"resourceId": one, "field": "POWER", "at": at, "value": 1} for at in instants for one in resource_ids]

    async def stream() -> None:
        answer = await served.http.post(
            "/api/v0-1/readings",
            content="\n".join(map(json.dumps, lines)).encode(),
            headers=served.one.headers["account"] | {"Content-Type": NDJSON},
        )
        assert answer.json() == {"status": "OK", "recorded": 2 * count, "refused": 0}

    async def single(part: int) -> None:
        for n in contested[part::4]:
            readings = [{"at": instants[n], "value": 2}]
            await send(
                served, RECORD, [{"resourceId": one, "field": "POWER", "readings": readings} for one in resource_ids]
            )

    await asyncio.gather(stream(), *map(single, range(4)))
    async with served.gateway.database.engine.connect() as connection:
        for resource_id in resource_ids:
            rows = await connection.exec_driver_sql(
                "SELECT r.at, r.value, r.revision FROM reading r JOIN resource o ON o.number = r.resource_number "
                f"WHERE o.resource_id = '{resource_id}' ORDER BY r.at"
            )
            stored = [tuple(row) for row in rows]
            assert len(stored) == count
            assert [n for n, (_, _, revision) in enumerate(stored) if revision] == list(contested)
            assert {revision for _, _, revision in stored} == {0, 1}
            assert Counter(value for _, value, _ in stored).keys() <= {1, 2}
            series = await read(served, resource_id, "POWER", "P1D")
            assert (series["count"], series["revision"]) == (count, len(contested))
            assert series["mean"] == pytest.approx(sum(value for _, value, _ in stored) / count)
    await check(served, resource_ids)
