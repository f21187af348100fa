"""The charge of streamed uploads: every line and byte is charged, stored or refused, and other tasks run meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tests.graphql.test_intake_costs import Clock, build_charge
from tests.rest_compat.test_bulk_intake import arrow_stream, lines, table
from tests.support.house import Tenant
from wattgate.errors import MAX_LISTED_PROBLEMS, RateLimited
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.bulk_recorder import YIELD_EVERY_LINES
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary.cost_weights import BULK_READINGS_PER_UNIT
from wattgate.rate_limit.scopes import Allowance
from wattgate.rest_compat.arrow.frames import MESSAGE_LINES
from wattgate.rest_compat.bulk_intake import BODY_READERS, MAX_REASON_CHARACTERS, NDJSON, record_stream
from wattgate.rest_compat.call_charge import (
    BYTES_PER_UNIT,
    LINES_PER_UNIT,
    MAX_PACE_SECONDS,
    PORTION,
    REFUSED_LINES_PER_UNIT,
    WAIT_CHECK_SECONDS,
    UploadCharge,
    WaitEnds,
    cost_of_call,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
CHUNK_BYTES = 60_000
NO_ENDS = WaitEnds()


class Upload:
    """An upload of a tenant. `turns` is the number of turns that another task had meanwhile."""

    def __init__(self, tenant: Tenant, allowance: Allowance, ends: WaitEnds = NO_ENDS) -> None:
        self.clock = Clock()
        self.call = build_charge(self.clock, allowance)
        self.charge = UploadCharge(self.call, ends)
        self.turns = 0
        self._tenant = tenant

    async def send(self, media_type: str, content: bytes) -> dict[str, Any]:
        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(content), CHUNK_BYTES):
                yield content[start : start + CHUNK_BYTES]

        other = asyncio.create_task(self._count_turns())
        try:
            return await record_stream(BODY_READERS[media_type], chunks(), self._run, self.charge)
        finally:
            other.cancel()

    async def _run(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        await self.charge.add_paced(cost_of_call(operation, arguments))
        return await self._tenant.gateway.runner.run(operation, self._tenant.account, arguments)

    async def _count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.turns += 1


def off_the_grid(resource_id: str, count: int, **changes: Any) -> bytes:
    at = [START + timedelta(minutes=7, milliseconds=number) for number in range(count)]
    return arrow_stream(table(resource_id, count, timestamp=pa.array(at, pa.timestamp("us", tz="UTC")), **changes))


def many_batches(resource_id: str, texts: int, batches: int) -> bytes:
    """Return a stream of batches with one row each, after a dictionary with many texts."""
    dictionary = pa.array([resource_id, *(f"{number:0100}" for number in range(texts))])
    ids = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), dictionary)
    return arrow_stream(*[table(resource_id, 1, resourceId=ids)] * batches)


REFUSED = 2_000
"""Lines of an upload that are all refused."""


async def test_lines_that_are_not_stored_are_charged_and_let_other_tasks_run(
    settled: Tenant, subtests: pytest.Subtests
) -> None:
    resource_id = settled.ids["resource"]
    invalid = REFUSED // REFUSED_LINES_PER_UNIT
    stored = REFUSED // BULK_READINGS_PER_UNIT
    line = {"resourceId": resource_id, "at": START.isoformat(), "value": 1}
    nulls = pa.array([None] * REFUSED, pa.float64())
    odd = pa.array([f"quality {number}" for number in range(REFUSED)])
    long_ids = pa.array([f"{number:0300}" for number in range(REFUSED)])
    cases: dict[str, tuple[str, bytes, int, int]] = {
        "no JSON": (NDJSON, b"x\n" * REFUSED, REFUSED, invalid),
        "a wrong value": (NDJSON, lines(*[{**line, "value": "x" * 90}] * REFUSED), REFUSED, invalid),
        "a long ID": (NDJSON, lines(*[{**line, "resourceId": "x" * 300}] * REFUSED), REFUSED, invalid),
        "empty": (NDJSON, b"\n" * 200_000, 0, 200_000 // LINES_PER_UNIT),
        "white space": (NDJSON, b" \r\n" * 100_000, 0, 100_000 // LINES_PER_UNIT),
        "a line without an end": (NDJSON, b"x" * 500_000, 1, 500_000 // BYTES_PER_UNIT),
        "off the grid": (NDJSON, lines(*[{**line, "at": "2026-01-01T00:07:00Z"}] * REFUSED), REFUSED, stored),
        "unknown resources": (
            NDJSON,
            lines(*({**line, "resourceId": f"nobody-{number}"} for number in range(REFUSED))),
            REFUSED,
            stored,
        ),
        "Arrow off the grid": (ARROW, off_the_grid(resource_id, REFUSED), REFUSED, stored),
        "Arrow without values": (ARROW, arrow_stream(table(resource_id, REFUSED, value=nulls)), REFUSED, invalid),
        "Arrow with odd qualities": (ARROW, arrow_stream(table(resource_id, REFUSED, quality=odd)), REFUSED, invalid),
        "Arrow with long IDs": (ARROW, arrow_stream(table("", REFUSED, resourceId=long_ids)), REFUSED, invalid),
        "Arrow batches after a dictionary": (
            ARROW,
            many_batches(resource_id, 2_000, 20),
            0,
            20 * (2_000 * 100 // BYTES_PER_UNIT + MESSAGE_LINES // LINES_PER_UNIT),
        ),
    }
    for name, (media_type, content, refused, least) in cases.items():
        with subtests.test(name):
            upload = Upload(settled, Allowance(1_000_000, 1.0))
            report = await upload.send(media_type, content)
            assert report["refused"] == refused
            assert report.get("moreProblems", 0) == max(0, refused - MAX_LISTED_PROBLEMS)
            assert all(len(problem["message"]) <= MAX_REASON_CHARACTERS for problem in report.get("problems", ()))
            assert least <= upload.charge.total < 2 * least + 500
            assert upload.call.charged > upload.charge.total - PORTION
            if media_type == NDJSON:
                assert upload.turns >= max(len(content) // CHUNK_BYTES, refused // YIELD_EVERY_LINES)


async def test_valid_readings_cost_no_more_than_before(settled: Tenant) -> None:
    resource_id = await settled.add_resource()
    half_hours = [(START + number * timedelta(minutes=30)).isoformat() for number in range(4_000)]
    for media_type, content in (
        (NDJSON, lines(*({"resourceId": resource_id, "at": at, "value": 0.5} for at in half_hours))),
        (ARROW, arrow_stream(table(resource_id, 4_000))),
    ):
        upload = Upload(settled, Allowance(100_000, 1.0))
        assert (await upload.send(media_type, content))["recorded"] == 4_000
        assert upload.charge.total == 101 + 4_000 // BULK_READINGS_PER_UNIT + 2_000 // 4


async def test_refused_lines_wait_for_the_budget_or_end_with_a_retry_time(settled: Tenant) -> None:
    paced = Upload(settled, Allowance(500, 50.0))
    assert (await paced.send(NDJSON, b"x\n" * 5_000))["refused"] == 5_000
    assert sum(paced.clock.slept) >= (5_000 // REFUSED_LINES_PER_UNIT - 500) / 50
    ended = Upload(settled, Allowance(500, 1.0))
    with pytest.raises(RateLimited) as refused:
        await ended.send(NDJSON, b"x\n" * 5_000)
    assert refused.value.retry_after
    assert "0 readings before this point are recorded" in refused.value.message
    assert len(refused.value.problems) == MAX_LISTED_PROBLEMS
    assert sum(ended.clock.slept) <= MAX_PACE_SECONDS


async def test_exhausted_budget_waits_for_the_batch_that_is_being_stored(settled: Tenant) -> None:
    good = table(await settled.add_resource(), 10)
    bad = table("x", REFUSED, value=pa.array([None] * REFUSED, pa.float64()))
    upload = Upload(settled, Allowance(300, 0.01))
    with pytest.raises(RateLimited) as refused:
        await upload.send(ARROW, arrow_stream(good, *[bad] * 3))
    assert "10 readings before this point are recorded" in refused.value.message


async def test_waits_of_an_upload_without_a_recorded_reading_have_one_bound(settled: Tenant) -> None:
    upload = Upload(settled, Allowance(500, 20.0))
    with pytest.raises(RateLimited):
        await upload.send(NDJSON, b"x\n" * 20_000)  # each part waits for a few seconds
    assert MAX_PACE_SECONDS / 2 < sum(upload.clock.slept) <= MAX_PACE_SECONDS


async def test_recorded_readings_begin_the_bound_of_the_waits_again(settled: Tenant) -> None:
    batch = table(await settled.add_resource(), 100)
    waiting = table("x", REFUSED, value=pa.array([None] * REFUSED, pa.float64()))
    upload = Upload(settled, Allowance(2_000, 25.0))
    report = await upload.send(ARROW, arrow_stream(*[batch, waiting] * 4))
    assert (report["recorded"], report["refused"]) == (400, 4 * REFUSED)
    assert sum(upload.clock.slept) > MAX_PACE_SECONDS


@pytest.mark.parametrize("reason", ["client", "drain"])
async def test_upload_does_not_wait_for_nothing(settled: Tenant, reason: str) -> None:
    """The wait ends within a second after the client has gone or the gateway shuts down. Stored readings stay."""
    good = table(await settled.add_resource(), 10)
    bad = table("x", REFUSED, value=pa.array([None] * REFUSED, pa.float64()))
    slept: list[float] = []
    ended = WaitEnds(**{"client_has_gone" if reason == "client" else "is_draining": lambda: len(slept) > 2})
    upload = Upload(settled, Allowance(500, 50.0), ended)
    slept = upload.clock.slept
    with pytest.raises(RateLimited) as refused:
        await upload.send(ARROW, arrow_stream(good, *[bad] * 3))
    assert len(slept) == 3
    assert sum(slept) <= 3 * WAIT_CHECK_SECONDS
    assert "10 readings before this point are recorded" in refused.value.message
