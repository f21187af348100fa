"""`wattgate worker` processes that are killed while they deliver webhooks."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.delivery.webhooks.test_deliveries import emit_events, received_numbers, register_endpoint, webhook_records
from tests.support.house import tenant_on
from tests.support.outbox import Post
from tests.support.processes import process
from tests.support.servers import Databases
from tests.support.sinks import Received, Sink, answering
from wattgate.clock import utc_now

SETTINGS = {"CALLOUT_NETWORKS": '["127.0.0.0/8"]', "CALLOUT_HTTP": "true", "DELIVERY_LEASE": "2"}
EVENTS = 12


@pytest.mark.long("kills many workers; `test_worker_processes.py` kills one")
async def test_killed_workers_lose_no_events_and_keep_order_and_ids(
    databases: Databases, tmp_path: Path, receiver: Sink
) -> None:
    fatal_requests, request_received, done = [2, 7], asyncio.Event(), asyncio.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        if len(receiver.received) in fatal_requests:
            request_received.set()
            await asyncio.Event().wait()  # received, but the worker is killed before a response
        await answering(200)(received, writer)
        if json.loads(received.body)["n"] == EVENTS - 1:
            done.set()

    receiver.behave = behave
    async with databases() as url, tenant_on(url) as tenant:
        outbox = Post(tenant)
        outbox.clock.now = utc_now()
        endpoint_id = (await register_endpoint(outbox, receiver.url)).endpoint.endpoint_id
        await outbox.run(emit_events, count=EVENTS)
        for _ in fatal_requests:
            async with process("worker", folder=tmp_path, DATABASE_URL=url, **SETTINGS) as worker:
                await asyncio.wait_for(request_received.wait(), 60)
                request_received.clear()
                worker.signal(signal.SIGKILL)
                await worker.ends()
        async with process("worker", folder=tmp_path, DATABASE_URL=url, **SETTINGS):
            await asyncio.wait_for(done.wait(), 60)
        assert [item.status for item in await webhook_records(outbox, endpoint_id)] == ["complete"] * EVENTS
    assert list(dict.fromkeys(received_numbers(receiver))) == list(range(EVENTS))
    assert len(receiver.received) == EVENTS + len(fatal_requests)
    ids = {(item.headers["webhook-id"], item.body) for item in receiver.received}
    assert len(ids) == EVENTS
