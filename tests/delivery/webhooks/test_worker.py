"""`wattgate worker` as an operator runs it, killed while it delivers webhooks."""

import asyncio
import json
import signal
from pathlib import Path

from tests.delivery.webhooks.test_deliveries import records, register, tell, told
from tests.support.house import tenant_on
from tests.support.outbox import Post
from tests.support.processes import process
from tests.support.servers import Databases
from tests.support.sinks import Received, Sink, answering
from wattgate.clock import utc_now

SETTINGS = {"CALLOUT_NETWORKS": '["127.0.0.0/8"]', "CALLOUT_HTTP": "true", "DELIVERY_LEASE": "2"}
EVENTS = 12


async def test_workers_that_are_killed_in_mid_delivery_lose_nothing_and_keep_order_and_ids(
    databases: Databases, tmp_path: Path, there: Sink
) -> None:
    deadly, died, done = [2, 7], asyncio.Event(), asyncio.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        if len(there.received) in deadly:
            died.set()
            await asyncio.Event().wait()  # it was received, but nobody lives to hear of it
        await answering(200)(received, writer)
        if json.loads(received.body)["n"] == EVENTS - 1:
            done.set()

    there.behave = behave
    async with databases() as url, tenant_on(url) as tenant:
        post = Post(tenant)
        post.clock.now = utc_now()
        endpoint_id = (await register(post, there.url)).endpoint.endpoint_id
        await post.run(tell, count=EVENTS)
        for _ in deadly:
            async with process("worker", folder=tmp_path, DATABASE_URL=url, **SETTINGS) as worker:
                await asyncio.wait_for(died.wait(), 60)
                died.clear()
                worker.signal(signal.SIGKILL)
                await worker.ends()
        async with process("worker", folder=tmp_path, DATABASE_URL=url, **SETTINGS):
            await asyncio.wait_for(done.wait(), 60)
        assert [one.status for one in await records(post, endpoint_id)] == ["complete"] * EVENTS
    assert list(dict.fromkeys(told(there))) == list(range(EVENTS))
    assert len(there.received) == EVENTS + len(deadly)
    ids = {(one.headers["webhook-id"], one.body) for one in there.received}
    assert len(ids) == EVENTS
