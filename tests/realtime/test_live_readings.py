"""Live readings over a real socket, with common clients."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gql import Client, gql
from gql.transport.httpx import HTTPXAsyncTransport
from gql.transport.websockets import WebsocketsTransport
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.support.house import House
from wattgate.errors import Unavailable
from wattgate.realtime import topics
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.event_queue import EventQueue
from wattgate.realtime.events import Event
from wattgate.realtime.hub import Hub

pytestmark = pytest.mark.both_databases("a main path of its area")

SDL = Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql"
SUBSCRIBE = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { resourceId field unit at value } }"


def socket_url(house: House) -> str:
    return house.url.replace("http", "ws") + "/graphql"


@asynccontextmanager
async def socket(house: House, **headers: str) -> AsyncIterator[ClientConnection]:
    async with connect(
        socket_url(house), subprotocols=[Subprotocol("graphql-transport-ws")], additional_headers=headers
    ) as connection:
        yield connection


async def send_message(connection: ClientConnection, **message: Any) -> None:
    await connection.send(json.dumps(message))


async def receive_message(connection: ClientConnection) -> Any:
    return json.loads(await asyncio.wait_for(connection.recv(), 60))


async def post_power(house: House, resource_id: str, value: int, at: datetime) -> None:
    body = {"field": "POWER", "readings": [{"at": at.isoformat(), "value": value}]}
    response = await house.call("POST", f"/resource/{resource_id}/readings", house.one.headers["account"], json=body)
    assert response.status_code == 200, response.text


async def test_gql_client_queries_writes_and_receives_readings_posted_over_rest(served: House) -> None:
    resource_id = await served.one.add_resource()
    headers = served.one.headers["account"]
    http = HTTPXAsyncTransport(url=f"{served.url}/graphql", headers=headers)
    async with Client(transport=http, schema=SDL.read_text()) as session:
        homes = await session.execute(gql("{ viewer { homes { edges { node { name resources { name } } } } } }"))
        assert homes["viewer"]["homes"]["edges"][0]["node"]["name"] == "Home"
        mutation = gql("mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } } }")
        series = [{"resourceId": resource_id, "readings": [{"at": "2026-04-01T00:00:00Z", "value": "0.5"}]}]
        mutation.variable_values = {"s": series}
        assert await session.execute(mutation) == {"recordReadings": {"recorded": 1}}
    ws = WebsocketsTransport(url=socket_url(served), init_payload=headers)
    async with Client(transport=ws) as session:
        subscription = gql(SUBSCRIBE)
        subscription.variable_values = {"ids": [resource_id]}
        received = asyncio.create_task(_first(session.subscribe(subscription), 3))
        now = datetime.now(UTC).replace(microsecond=0)
        sent = 0
        while not received.done():  # readings before the start of the subscription do not arrive
            await post_power(served, resource_id, sent, now - timedelta(minutes=10) + timedelta(seconds=sent))
            sent += 1
            await asyncio.sleep(0.02)
        values = [payload["readings"]["value"] for payload in received.result()]
        assert values == [values[0], values[0] + 1, values[0] + 2]
        first = received.result()[0]["readings"]
        assert (first["resourceId"], first["field"], first["unit"]) == (resource_id, "POWER", "W")


async def _first(source: Any, count: int) -> list[Any]:
    payloads = []
    async for payload in source:
        payloads.append(payload)
        if len(payloads) == count:
            break
    return payloads


async def subscribed(house: House, connection: ClientConnection, resource_id: str) -> None:
    """Subscribe, and wait until the subscription receives readings."""
    await send_message(connection, type="connection_init", payload=house.one.headers["account"])
    assert (await receive_message(connection))["type"] == "connection_ack"
    variables = {"ids": [resource_id]}
    await send_message(connection, id="1", type="subscribe", payload={"query": SUBSCRIBE, "variables": variables})
    await house.until_subscribed(topics.readings(resource_id))


async def test_batch_arrives_completely_and_in_order(served: House) -> None:
    resource_id = await served.one.add_resource()
    async with socket(served) as connection:
        await subscribed(served, connection, resource_id)
        start = datetime.now(UTC) - timedelta(minutes=5)
        readings = [{"at": (start + timedelta(seconds=n)).isoformat(), "value": n} for n in range(200)]
        body = {"field": "POWER", "readings": readings}
        await served.call("POST", f"/resource/{resource_id}/readings", served.one.headers["account"], json=body)
        values: list[float] = []
        while len(values) < 200:
            values.append((await receive_message(connection))["payload"]["data"]["readings"]["value"])
        assert values == list(range(200))


async def test_rejected_readings_are_not_sent(served: House) -> None:
    resource_id = await served.one.add_resource()
    async with socket(served) as connection:
        await subscribed(served, connection, resource_id)
        valid = {"at": "2026-01-01T00:00:00Z", "value": 1}
        body = {"readings": [valid, {**valid, "at": "2999-01-01T00:00:00Z"}]}
        path = f"/resource/{resource_id}/readings"
        response = await served.call("POST", path, served.one.headers["account"], json=body)
        assert response.status_code == 400
        await post_power(served, resource_id, 77, datetime.now(UTC))
        message = await receive_message(connection)
        assert message["payload"]["data"]["readings"]["value"] == 77


async def test_hub_removes_the_listener_of_a_closed_queue() -> None:
    bus = MemoryBus()
    hub = Hub(bus)
    async with hub.open_queue(["a", "b"]) as queue, hub.open_queue(["a"]):
        assert hub.listener_count == 3
        await bus.publish([Event("a", "k", 1), Event("c", "k", 2), Event("b", "k", 3)])
        assert [(await queue.get()).payload, (await queue.get()).payload] == [1, 3]
    assert hub.listener_count == 0


async def test_only_a_queue_with_lost_events_ends_after_its_queued_events() -> None:
    bus = MemoryBus()
    hub = Hub(bus)
    async with hub.open_queue(["a", "b"]) as lossy, hub.open_queue(["b"]) as complete:
        await bus.publish([Event("a", "k", 1)])
        hub._on_resync("b", True, "1-1")
        hub._on_resync("a", False, "1-1")
        await bus.publish([Event("b", "k", 2)])
        assert (await lossy.get()).payload == 1
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"Some events were lost\. Subscribe again\."):
                await lossy.get()
        assert (await complete.get()).payload == 2


async def test_full_queue_keeps_the_newest_event_of_each_key() -> None:
    queue = EventQueue(max_events=10)
    for n in range(1000):
        queue.on_event(Event("a", f"key {n % 3}", n))
    received = [(await queue.get()).payload]
    while queue.pending_count:
        received.append((await queue.get()).payload)
    assert len(received) <= 10
    assert received == sorted(received)
    assert received[-3:] == [997, 998, 999]
