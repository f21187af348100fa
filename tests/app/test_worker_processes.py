"""Delivery workers as processes: each delivery has one worker, and a killed worker loses no delivery."""

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
from wattgate.enums import Channel, DeliveryState, NotificationState

pytestmark = pytest.mark.both_databases("a main path of its area")

LEASE = "2"


@dataclass
class DeliverySetup:
    """An outbox on a database, a push provider, and the folder in which worker processes run."""

    post: Post
    provider: Sink
    folder: Path
    url: str

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE_URL": self.url, "PUSH_URL": self.provider.url, "DELIVERY_LEASE": LEASE}

    @asynccontextmanager
    async def worker(self, **changed: str) -> AsyncIterator[Process]:
        async with process("worker", folder=self.folder, **self.settings | changed) as worker_process:
            await worker_process.logs("Delivering as worker")
            yield worker_process

    async def received(self, count: int) -> list[Received]:
        """Wait until the provider has received `count` requests, and return all of them."""
        async with asyncio.timeout(60):
            while True:
                await asyncio.sleep(0.02)
                if len(self.provider.received) >= count:
                    return self.provider.received

    async def all_sent(self, alert_ids: list[str]) -> None:
        """Wait until all of these alerts are sent."""
        async with asyncio.timeout(80):
            while True:
                waiting = await self.post.rows(Notification, col(Notification.state) != NotificationState.SENT)
                if not {notification.alert_id for notification in waiting}.intersection(alert_ids):
                    return
                await asyncio.sleep(0.1)


@pytest.fixture
async def setup(databases: Databases, tmp_path: Path) -> AsyncIterator[DeliverySetup]:
    async with databases() as url, tenant_on(url) as tenant, sink() as provider:
        post = Post(tenant)
        post.clock.now = utc_now()
        await post.tokens("fcm:abc")
        yield DeliverySetup(post, provider, tmp_path, url)


def delivery_ids(received: list[Received]) -> list[str]:
    return [json.loads(request.body)["id"] for request in received]


async def test_delivery_of_killed_worker_is_sent_by_another_with_same_id(
    setup: DeliverySetup, unused_tcp_port: int
) -> None:
    setup.provider.behave = hanging
    alert_id = await setup.post.send(Channel.PUSH)
    async with setup.worker() as first:
        await setup.received(1)
        first.signal(signal.SIGKILL)
        await first.ends()
    (delivery,) = await setup.post.deliveries(alert_id)
    assert delivery.state is DeliveryState.LEASED
    setup.provider.behave = answering(204)
    second = setup.worker(METRICS_PORT=str(unused_tcp_port), DELIVERY_LEASE="60")  # a slow answer is not sent again
    async with second, httpx.AsyncClient() as metrics_client:
        await setup.all_sent([alert_id])
        metrics_text = (await metrics_client.get(f"http://127.0.0.1:{unused_tcp_port}/metrics")).text
    assert 'wattgate_deliveries_total{kind="push",outcome="sent"} 1.0' in metrics_text
    (delivery,) = await setup.post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 2)
    assert delivery_ids(setup.provider.received) == [delivery.delivery_id] * 2
    assert [step[1] for step in await setup.post.log(alert_id)] == ["Added Notification Record", "Sent"]


@pytest.mark.long("kills many workers; one killed worker stays in the short form")
@pytest.mark.timeout(300)
async def test_repeatedly_killed_workers_lose_no_delivery(setup: DeliverySetup) -> None:
    setup.provider.behave = respond_slowly
    alert_ids = [await setup.post.send(Channel.PUSH) for _ in range(30)]
    for n in range(1, 4):
        async with setup.worker() as worker:
            await setup.received(n * 6)
            worker.signal(signal.SIGKILL)
            await worker.ends()
    async with setup.worker():
        await setup.all_sent(alert_ids)
    expected = {(await setup.post.deliveries(alert_id))[0].delivery_id for alert_id in alert_ids}
    assert set(delivery_ids(setup.provider.received)) == expected


async def respond_slowly(received: Received, writer: Any) -> None:
    """Respond with 204 after a delay."""
    await asyncio.sleep(0.05)
    await answering(204)(received, writer)


@pytest.mark.long("kills many workers; one killed worker stays in the short form")
async def test_parallel_workers_send_each_delivery_once(setup: DeliverySetup) -> None:
    alert_ids = [await setup.post.send(Channel.PUSH) for _ in range(30)]
    async with AsyncExitStack() as stack:
        await asyncio.gather(*[stack.enter_async_context(setup.worker(DELIVERY_LEASE="60")) for _ in range(3)])
        await setup.all_sent(alert_ids)
    assert len(setup.provider.received) == 30
    assert set(Counter(delivery_ids(setup.provider.received)).values()) == {1}


async def test_worker_finishes_current_delivery_on_sigterm(setup: DeliverySetup) -> None:
    request_received, released = asyncio.Event(), asyncio.Event()

    async def respond_when_released(received: Received, writer: Any) -> None:
        request_received.set()
        await released.wait()
        await answering(204)(received, writer)

    setup.provider.behave = respond_when_released
    alert_id = await setup.post.send(Channel.PUSH)
    async with setup.worker() as worker:
        await request_received.wait()
        worker.signal(signal.SIGTERM)
        await worker.logs("Stopping")
        released.set()
        assert await worker.ends() == 0
    (delivery,) = await setup.post.deliveries(alert_id)
    assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 1)


async def test_serve_delivers_unless_disabled(setup: DeliverySetup) -> None:
    headers = setup.post.tenant.headers["application"]
    body = {"userId": setup.post.tenant.user_id, "alertTypeId": "CM01", "send2Push": "yes"}
    async with gateway(folder=setup.folder, DELIVER="false", **setup.settings) as without_delivery:
        alert_id = await send_alert_through(without_delivery, headers, body)
        async with gateway(folder=setup.folder, DRAIN_PAUSE="0", DRAIN_SECONDS="0", **setup.settings) as with_delivery:
            await setup.all_sent([alert_id, await send_alert_through(with_delivery, headers, body)])
            assert "worker" not in without_delivery.log
    assert len(setup.provider.received) == 2


async def send_alert_through(process: Process, headers: dict[str, str], body: dict[str, Any]) -> str:
    async with httpx.AsyncClient(base_url=process.url, headers=headers) as client:
        response = await client.post("/api/v0-1/alert", json=body)
        assert response.status_code == 200, response.text
        return str(response.json()["ns_alert_id"])


def test_worker_on_outdated_database_names_command_to_run(tmp_path: Path) -> None:
    result = wattgate("worker", folder=tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert result.returncode == 1
    assert "wattgate db upgrade" in result.stderr
