"""Workers as processes of their own: none takes what another has, and one that is killed loses nothing."""

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlmodel import col

from tests.app.test_cli import wattgate
from tests.support.house import tenant_on
from tests.support.outbox import Post
from tests.support.processes import Process, gateway, process
from tests.support.servers import Databases
from tests.support.sinks import Received, Sink, answering, hanging, sink
from wattgate.clock import utc_now
from wattgate.db.models import Notification
from wattgate.enums import DeliveryState, NotificationState
from wattgate.graphql.types.alerts import Channel

LEASE = "2"


@dataclass
class Depot:
    """An outbox on a database, a push provider, and where processes run that bring things from one to the other."""

    post: Post
    provider: Sink
    folder: Path
    url: str

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": self.url, "PUSH_URL": self.provider.url, "DELIVERY_LEASE": LEASE}

    @asynccontextmanager
    async def worker(self, **changed: str) -> AsyncIterator[Process]:
        async with process("worker", folder=self.folder, **self.settings | changed) as made:
            await made.logs("delivering as")
            yield made

    async def received(self, count: int) -> list[Received]:
        """What the provider has received, once it is so much."""
        async with asyncio.timeout(40):
            while True:
                await asyncio.sleep(0.02)
                if len(self.provider.received) >= count:
                    return self.provider.received

    async def all_sent(self, alert_ids: list[str]) -> None:
        """Wait until all of these alerts have arrived."""
        async with asyncio.timeout(80):
            while True:
                waiting = await self.post.rows(Notification, col(Notification.state) != NotificationState.SENT)
                if not {one.alert_id for one in waiting}.intersection(alert_ids):
                    return
                await asyncio.sleep(0.1)


@pytest.fixture
async def depot(databases: Databases, tmp_path: Path) -> AsyncIterator[Depot]:
    async with databases() as url, tenant_on(url) as tenant, sink() as provider:
        post = Post(tenant)
        post.clock.now = utc_now()
        await post.tokens("fcm:abc")
        yield Depot(post, provider, tmp_path, url)


def ids(received: list[Received]) -> list[str]:
    return [json.loads(one.body)["id"] for one in received]


async def test_what_a_worker_had_when_it_was_killed_another_delivers_under_the_same_id(
    depot: Depot, unused_tcp_port: int
) -> None:
    depot.provider.behave = hanging
    alert_id = await depot.post.send(Channel.PUSH)
    async with depot.worker() as first:
        await depot.received(1)
        first.signal(signal.SIGKILL)
        await first.ends()
    (delivery,) = await depot.post.deliveries(alert_id)
    assert delivery.state is DeliveryState.LEASED
    depot.provider.behave = answering(204)
    async with depot.worker(METRICS_PORT=str(unused_tcp_port)), httpx.AsyncClient() as inside:
        await depot.all_sent([alert_id])
        told = (await inside.get(f"http://127.0.0.1:{unused_tcp_port}/metrics")).text
    assert 'wattgate_deliveries_total{kind="push",outcome="sent"} 1.0' in told
    (delivery,) = await depot.post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 2)
    assert ids(depot.provider.received) == [delivery.delivery_id] * 2
    assert [step[1] for step in await depot.post.log(alert_id)] == ["Added Notification Record", "Sent"]


@pytest.mark.timeout(300)
async def test_workers_that_are_killed_again_and_again_lose_nothing(depot: Depot) -> None:
    depot.provider.behave = slowly
    alerts = [await depot.post.send(Channel.PUSH) for _ in range(30)]
    for n in range(1, 4):
        async with depot.worker() as made:
            await depot.received(n * 6)
            made.signal(signal.SIGKILL)
            await made.ends()
    async with depot.worker():
        await depot.all_sent(alerts)
    expected = {(await depot.post.deliveries(one))[0].delivery_id for one in alerts}
    assert set(ids(depot.provider.received)) == expected


async def slowly(received: Received, writer: Any) -> None:
    """A provider that takes its time."""
    await asyncio.sleep(0.05)
    await answering(204)(received, writer)


async def test_workers_beside_each_other_deliver_each_once(depot: Depot) -> None:
    alerts = [await depot.post.send(Channel.PUSH) for _ in range(30)]
    async with AsyncExitStack() as stack:
        await asyncio.gather(*[stack.enter_async_context(depot.worker(DELIVERY_LEASE="60")) for _ in range(3)])
        await depot.all_sent(alerts)
    assert len(depot.provider.received) == 30
    assert set(Counter(ids(depot.provider.received)).values()) == {1}


async def test_a_worker_that_is_told_to_end_finishes_what_it_has(depot: Depot) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def held(received: Received, writer: Any) -> None:
        begun.set()
        await end.wait()
        await answering(204)(received, writer)

    depot.provider.behave = held
    alert_id = await depot.post.send(Channel.PUSH)
    async with depot.worker() as made:
        await begun.wait()
        made.signal(signal.SIGTERM)
        await made.logs("ending")
        end.set()
        assert await made.ends() == 0
    (delivery,) = await depot.post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 1)


async def test_serve_delivers_unless_it_is_told_not_to(depot: Depot) -> None:
    headers = depot.post.tenant.headers["application"]
    body = {"userId": depot.post.tenant.user_id, "alertTypeId": "CM01", "send2Push": "yes"}
    async with gateway(folder=depot.folder, DELIVER="false", **depot.settings) as made:
        alert_id = await sent_through(made, headers, body)
        async with gateway(folder=depot.folder, DRAIN_PAUSE="0", DRAIN_SECONDS="0", **depot.settings) as other:
            await depot.all_sent([alert_id, await sent_through(other, headers, body)])
            assert "worker" not in made.log
    assert len(depot.provider.received) == 2


async def sent_through(made: Process, headers: dict[str, str], body: dict[str, Any]) -> str:
    async with httpx.AsyncClient(base_url=made.url, headers=headers) as client:
        answer = await client.post("/api/v0-1/alert", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["ns_alert_id"])


def test_a_worker_on_an_old_database_says_what_to_do(tmp_path: Path) -> None:
    told = wattgate("worker", folder=tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert told.returncode == 1
    assert "wattgate db upgrade" in told.stderr
