"""Clients that do not read: their messages, their close codes, and no effect on others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import NEVER, LiveHouse
from tests.support.socket import Socket, socket
from wattgate.realtime.connections.limits import ConnectionLimits

FILLING = " ".join(f"a{number}: resourceId" for number in range(48))
"""Fields that make a payload about 2 KB, so that few payloads fill the buffers up to the client."""

READINGS = f"subscription ($ids: [ID!]!) {{ readings(resourceIds: $ids) {{ field value {FILLING} }} }}"
ALERTS = "subscription { alerts { alertId } }"
LIMITS = ConnectionLimits(ping_seconds=NEVER, max_backlog_messages=10, max_backlog_bytes=10**6)


@asynccontextmanager
async def slow_reader(house: LiveHouse, resource_id: str) -> AsyncIterator[Socket]:
    """Open a client with subscriptions to readings and alerts. It reads only when the test reads."""
    async with socket(house.url, window=4096) as client:
        await client.init(**house.one.headers["account"])
        await client.subscribe(ALERTS, "alerts")
        await client.subscribe(READINGS, "readings", ids=[resource_id])
        await house.until(lambda: house.listening(resource_id) == 1 and house.gateway.realtime.groups.count == 2)
        yield client


async def fill(house: LiveHouse, resource_id: str, fast: Socket | None = None) -> int:
    """Publish values from 0 on until the oldest client has a backlog. Return their number."""
    session = house.sessions[0]
    published = waited = 0
    while waited < 20:
        if session.backlog is None:
            await house.publish_readings(resource_id, published)
            published, waited = published + 1, 0
            if fast is not None:
                assert await fast.values(1) == [published - 1]
        else:
            waited += 1
        await asyncio.sleep(0.001 if waited else 0)
        assert published < 20_000
    return published


async def read(client: Socket, last: Any) -> list[Any]:
    """Read values of readings and ids of alerts, up to and including `last`."""
    received: list[Any] = []
    while not received or received[-1] != last:
        data = (await client.payload())["data"]
        received.append(data["readings"]["value"] if "readings" in data else data["alerts"]["alertId"])
    return received


async def test_slow_reader_receives_the_newest_of_each_field_and_every_alert(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client:
            count = await fill(house, resource_id)
            for number in range(1_000):
                await house.publish_readings(resource_id, 10**6 + number)
                if number % 250 == 0:
                    await house.alert(f"alert {number}")
            await house.publish_readings(resource_id, 10**7, field="ENERGY")
            received = await read(client, 10**7)
            assert received[:count] == list(range(count))
            assert received[count:] == ["alert 0", "alert 250", "alert 500", "alert 750", 10**6 + 999, 10**7]
            await house.publish_readings(resource_id, 1, 2, 3)  # it reads again, and receives each one
            assert await read(client, 3) == [1, 2, 3]


async def test_slow_reader_does_not_delay_others(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id), house.socket() as fast:
            await fast.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            await fill(house, resource_id, fast)
            for number in range(100):
                await house.publish_readings(resource_id, number)
                assert await fast.values(1) == [number]
            assert [session.backlog is not None for session in house.sessions] == [True, False]


async def test_batch_of_readings_makes_no_client_slow(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as client:
        await client.subscribe(READINGS.replace(FILLING, "resourceId unit at quality"), ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 1)
        await live.publish_readings(resource_id, *range(300))
        assert await client.values(300) == list(range(300))


async def test_closing_a_slow_reader_does_not_skip_the_next_subscriber(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(ping_seconds=NEVER, max_backlog_messages=1)) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client, house.socket() as fast:
            await fast.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            await fill(house, resource_id, fast)
            for field in "abc":
                await house.publish_readings(resource_id, 5, field=field)
                assert await fast.values(1) == [5]
            assert house.listening(resource_id) == 1
            await client.rest()
            assert (await client.closed())[0] == 4508


async def test_too_many_queued_alerts_close_the_socket_with_4508(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client:
            count = await fill(house, resource_id)
            for number in range(10):
                await house.alert(f"alert {number}")
            assert house.sessions[0].backlog is not None
            await house.alert("alert 11")
            assert house.listening(resource_id) == 0
            received = await client.rest()
            assert [message["id"] for message in received] == ["readings"] * count
            assert await client.closed() == (4508, "too many messages are unread")
        await house.quiet()


async def test_too_many_queued_bytes_close_the_socket_with_4508(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(ping_seconds=NEVER, max_backlog_bytes=7_000)) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client:
            await fill(house, resource_id)
            for _ in range(100):
                await house.publish_readings(resource_id, 1)
            assert house.sessions[0].backlog is not None
            for field in "abc":
                await house.publish_readings(resource_id, 1, field=field)
            await client.rest()
            assert (await client.closed())[0] == 4508


async def test_client_that_does_not_read_for_long_is_closed_with_4508(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client, house.socket() as fast:
            await fill(house, resource_id)
            house.pass_time(14)
            assert house.listening(resource_id) == 1
            house.pass_time(1.5)
            assert house.listening(resource_id) == 0
            house.pass_time(2.5)
            await house.quiet(but=1)
            assert await fast.heard() == []
            await client.rest()
            assert (await client.closed())[0] in (4508, 1006)


async def test_client_that_reads_again_in_time_stays(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client:
            count = await fill(house, resource_id)
            house.pass_time(14)
            await read(client, count - 1)
            await house.until(lambda: house.sessions[0].backlog is None)
            house.pass_time(14)
            assert await client.heard() == []


async def test_result_of_a_query_is_queued_for_a_slow_reader(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as client:
            count = await fill(house, resource_id)
            await client.subscribe("{ __typename }", "query")
            await house.until(lambda: len(house.sessions[0].backlog._messages) == 2)
            await house.publish_readings(resource_id, count)
            received = [await client.hear() for _ in range(count + 3)]
            assert [message["type"] for message in received[count:]] == ["next", "complete", "next"]
            assert [message["id"] for message in received[count:]] == ["query", "query", "readings"]
