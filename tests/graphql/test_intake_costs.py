"""Charges of bulk intake: by the readings of each batch and the hours that they change, before the batch is stored."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.support.house import house
from tests.support.servers import serving
from wattgate.app.server.factory import Gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import to_ms
from wattgate.errors import RateLimited
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, record_reading_arrays
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary.cost_weights import (
    BULK_READINGS_PER_UNIT,
    MUTATION_WEIGHT,
    RECORDED_HOURS_PER_UNIT,
    per_reading,
)
from wattgate.principal import Principal, Role
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.rest_compat.call_charge import MAX_PACE_SECONDS, CallCharge, cost_of_call

START = datetime(2026, 1, 5, tzinfo=UTC)
CALLER = Principal(Role.ACCOUNT, application_id="a", user_id="u", account_id="c")
NDJSON = {"content-type": "application/x-ndjson"}


def batch(count: int, interval: timedelta, series_count: int = 1) -> BulkReadingBatch:
    """Return a batch of readings at this interval, for each of some series."""
    at = np.tile(to_ms(START) + np.arange(count) * (interval // timedelta(milliseconds=1)), series_count)
    zeros = np.zeros(len(at), dtype=np.int64)
    index = np.repeat(np.arange(series_count), count)
    return BulkReadingBatch(
        [(str(number), None) for number in range(series_count)], index, at, zeros.astype(np.float64), zeros
    )


@pytest.mark.parametrize(
    ("readings", "rows", "hours"),
    [
        (batch(50_000, timedelta(milliseconds=1)), 50_000, 1),
        (batch(4_800, timedelta(minutes=30)), 4_800, 2_400),
        (batch(2_400, timedelta(days=1)), 2_400, 2_400),
        (batch(100, timedelta(minutes=30), 24), 2_400, 1_200),
        (batch(0, timedelta(hours=1)), 0, 0),
    ],
)
def test_batch_costs_its_readings_and_the_hours_that_it_changes(
    readings: BulkReadingBatch, rows: int, hours: int
) -> None:
    expected = 1 + MUTATION_WEIGHT + rows // BULK_READINGS_PER_UNIT + hours // RECORDED_HOURS_PER_UNIT
    assert cost_of_call(record_reading_arrays, {"batch": readings}) == expected


@pytest.mark.parametrize(
    ("interval", "hours"),
    [(timedelta(milliseconds=1), 1), (timedelta(minutes=30), 50), (timedelta(hours=1), 100), (timedelta(days=1), 100)],
)
def test_recorded_readings_cost_their_number_and_the_hours_that_they_change(interval: timedelta, hours: int) -> None:
    at = [START + number * interval for number in range(100)]
    rows = [{"resourceId": name, "readings": [{"at": instant, "value": 1} for instant in at]} for name in ("a", "b")]
    columns = [{"resourceId": name, "at": at, "value": [1] * 100} for name in ("a", "b")]
    touched = 2 * hours // RECORDED_HOURS_PER_UNIT
    assert per_reading(max_items=10_000).compute(START, rows) == MUTATION_WEIGHT + 200 + touched
    in_columns = per_reading(max_items=10_000, readings_per_unit=4)
    assert in_columns.compute(START, columns) == MUTATION_WEIGHT + 50 + touched


@pytest.mark.parametrize("series", [None, 5, [None], [{"at": [None, "x"]}], [{"readings": [{}]}], [{"readings": "x"}]])
def test_cost_of_invalid_readings_is_a_number(series: Any) -> None:
    assert per_reading(max_items=10_000).compute(START, series) >= MUTATION_WEIGHT


def test_cost_of_too_many_readings_is_that_of_the_maximum() -> None:
    assert per_reading(max_items=10).compute(START, [{"at": [START] * 1_000}]) == MUTATION_WEIGHT + 10


def lines(resource_id: str, count: int) -> bytes:
    """Return NDJSON with readings of power one millisecond apart."""
    text = '{"resourceId": "%s", "field": "POWER", "at": "%s", "value": 5}'
    return "\n".join(
        text % (resource_id, (START + timedelta(milliseconds=number)).isoformat()) for number in range(count)
    ).encode()


def remaining(answer: httpx.Response) -> int:
    return int(answer.headers["ratelimit"].split("r=")[1].split(";")[0])


async def test_dense_stream_is_charged_by_its_readings_or_refused_with_a_retry_time(tmp_path: Path) -> None:
    database_url = f"sqlite:///{tmp_path / 'intake.sqlite3'}"
    settings = Settings(_env_file=None, database_url=database_url, caller_budget=1_000, caller_budget_seconds=86_400)
    async with house(database_url) as served, serving(create_app(settings)) as url:
        body = lines(served.one.ids["resource"], 4_000)
        headers = {**served.one.headers["account"], **NDJSON}
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            first = await http.post("/api/v0-1/readings", content=body, headers=headers)
            assert first.json() == {"status": "OK", "recorded": 4_000, "refused": 0}
            assert remaining(first) <= 1_000 - 2 * MUTATION_WEIGHT - 4_000 // BULK_READINGS_PER_UNIT + 1
            second = await http.post("/api/v0-1/readings", content=body, headers=headers)
        assert second.status_code == 429
        assert int(second.headers["retry-after"]) > MAX_PACE_SECONDS
        assert "0 readings before this point are recorded" in second.text


@asynccontextmanager
async def waiting_upload(tmp_path: Path) -> AsyncIterator[tuple[Gateway, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Send refused lines that the budget does not cover, more than the gateway reads while it waits."""
    database_url = f"sqlite:///{tmp_path / 'waiting.sqlite3'}"
    settings = Settings(_env_file=None, database_url=database_url, caller_budget=2_000, caller_budget_seconds=300)
    async with house(database_url) as served:
        app = create_app(settings)
        async with serving(app) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
            head = (
                "POST /api/v0-1/readings HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
                f"Content-Length: 9000000\r\ntoken: {served.one.headers['account']['token']}\r\n\r\n"
            )
            writer.write(head.encode() + b"x\n" * 300_000)
            await asyncio.sleep(0)
            yield app.state.gateway, reader, writer
            writer.close()


async def test_upload_that_waits_ends_when_its_client_has_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of the connection is behind bytes that nobody reads while the upload waits."""
    caplog.set_level(logging.INFO)
    async with waiting_upload(tmp_path) as (_, _, writer):
        writer.close()
        async with asyncio.timeout(50):  # a wait for the budget is longer together with the next one
            while "The client has gone while its upload waited" not in caplog.text:  # noqa: ASYNC110 (no event)
                await asyncio.sleep(0.02)
    assert "0 readings before that are recorded" in caplog.text


async def test_upload_that_waits_ends_when_the_gateway_shuts_down(tmp_path: Path) -> None:
    async with waiting_upload(tmp_path) as (gateway, reader, _):
        gateway.readiness.draining = True
        async with asyncio.timeout(50):
            response = await reader.read()
    assert response.startswith(b"HTTP/1.1 429")
    assert b"retry-after" in response
    assert b"0 readings before this point are recorded" in response


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = START
        self.slept: list[float] = []

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


def build_charge(clock: Clock, allowance: Allowance | None) -> CallCharge:
    budgets = Budgets(BudgetLimits(allowance, None), LocalBucketStore(clock))
    return CallCharge(budgets, CALLER, sleep=clock.sleep)


async def test_part_of_a_stream_waits_for_the_budget() -> None:
    clock = Clock()
    charge = build_charge(clock, Allowance(100, 10.0))
    await charge.add_paced(80)
    assert clock.slept == []
    await charge.add_paced(60)
    assert sum(clock.slept) == 4
    assert charge.charged == 140


async def test_part_that_costs_more_than_a_full_budget_is_charged_in_portions() -> None:
    clock = Clock()
    charge = build_charge(clock, Allowance(100, 10.0))
    await charge.add_paced(350)
    assert charge.charged == 350
    assert sum(clock.slept) == 25


async def test_part_waits_for_a_limited_time() -> None:
    clock = Clock()
    charge = build_charge(clock, Allowance(1_000, 10.0))
    with pytest.raises(RateLimited) as refused:
        await charge.add_paced(1_000 + 10 * MAX_PACE_SECONDS + 10)
    assert refused.value.retry_after
    assert sum(clock.slept) <= MAX_PACE_SECONDS


async def test_callers_without_a_limit_do_not_wait() -> None:
    clock = Clock()
    charge = build_charge(clock, None)
    await charge.add_paced(10**9)
    assert clock.slept == []


@pytest.mark.long("reads every page of an exported stream; the charge of a dense stream stays in the short form")
async def test_each_page_of_an_exported_stream_is_charged(tmp_path: Path) -> None:
    database_url = f"sqlite:///{tmp_path / 'export.sqlite3'}"
    async with house(database_url) as served:
        resource_id = served.one.ids["resource"]
        readings: dict[str, Any] = {"batch": batch(25_000, timedelta(milliseconds=1))}
        readings["batch"].series[0] = (resource_id, "POWER")
        await served.gateway.runner.run(record_reading_arrays, served.one.system, readings)
        settings = Settings(
            _env_file=None, database_url=database_url, caller_budget=10_000, caller_budget_seconds=86_400
        )
        path = f"/api/v0-1/resource/{resource_id}/readings?field=POWER"
        headers = {**served.one.headers["account"], "accept": ARROW}
        async with serving(create_app(settings)) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
            first = await http.get(path, headers=headers)
            page_cost = 10_000 - remaining(first)
            later = await http.get(path, headers=headers)
        assert first.status_code == 200, first.text
        # each response reports the budget before its further pages: the second one shows those of the first
        assert 10_000 - remaining(later) >= 4 * page_cost
