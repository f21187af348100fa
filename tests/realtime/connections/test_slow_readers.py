"""Clients that do not read: what they get, when they are cut, and that nobody else notices; on both wires."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import NEVER, LiveHouse
from tests.support.socket import Socket, socket
from wattgate.realtime.connections.limits import ConnectionLimits

FILLING = " ".join(f"a{number}: resourceId" for number in range(48))
"""What makes a payload some 2 KB, so that few of them fill what lies between a gateway and its client."""

READINGS = f"subscription ($ids: [ID!]!) {{ readings(resourceIds: $ids) {{ field value {FILLING} }} }}"
ALERTS = "subscription { alerts { alertId } }"
LIMITS = ConnectionLimits(ping_seconds=NEVER, max_backlog_messages=10, max_backlog_bytes=10**6)


@asynccontextmanager
async def slow_reader(house: LiveHouse, resource_id: str) -> AsyncIterator[Socket]:
    """A client with subscriptions of readings and alerts, which reads nothing but what it is told to."""
    async with socket(house.url, window=4096) as one:
        await one.init(**house.one.headers["account"])
        await one.subscribe(ALERTS, "alerts")
        await one.subscribe(READINGS, "readings", ids=[resource_id])
        await house.until(lambda: house.listening(resource_id) == 1 and house.gateway.realtime.groups.count == 2)
        yield one


async def fill(house: LiveHouse, resource_id: str, fast: Socket | None = None) -> int:
    """Tell values from 0 on until the oldest client does not take them any more, though others do; how many."""
    slow = house.sessions[0]
    told = waited = 0
    while waited < 20:
        if slow.held is None:
            await house.publish_readings(resource_id, told)
            told, waited = told + 1, 0
            if fast is not None:
                assert await fast.values(1) == [told - 1]
        else:
            waited += 1
        await asyncio.sleep(0.001 if waited else 0)
        assert told < 20_000
    return told


async def read(one: Socket, last: Any) -> list[Any]:
    """Values of readings and ids of alerts, up to and with the last."""
    heard: list[Any] = []
    while not heard or heard[-1] != last:
        data = (await one.payload())["data"]
        heard.append(data["readings"]["value"] if "readings" in data else data["alerts"]["alertId"])
    return heard


async def test_a_slow_reader_gets_the_newest_of_each_field_and_every_alert(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one:
            count = await fill(house, resource_id)
            for number in range(1_000):
                await house.publish_readings(resource_id, 10**6 + number)
                if number % 250 == 0:
                    await house.alert(f"alert {number}")
            await house.publish_readings(resource_id, 10**7, field="ENERGY")
            heard = await read(one, 10**7)
            assert heard[:count] == list(range(count))
            assert heard[count:] == ["alert 0", "alert 250", "alert 500", "alert 750", 10**6 + 999, 10**7]
            await house.publish_readings(resource_id, 1, 2, 3)  # it reads again, and is told each
            assert await read(one, 3) == [1, 2, 3]


async def test_others_are_not_held_up(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id), house.socket() as fast:
            await fast.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            await fill(house, resource_id, fast)
            for number in range(100):
                await house.publish_readings(resource_id, number)
                assert await fast.values(1) == [number]
            assert [one.held is not None for one in house.sessions] == [True, False]


async def test_a_batch_of_readings_makes_nobody_slow(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as one:
        await one.subscribe(READINGS.replace(FILLING, "resourceId unit at quality"), ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 1)
        await live.publish_readings(resource_id, *range(300))
        assert await one.values(300) == list(range(300))


async def test_one_that_is_cut_does_not_keep_an_event_from_those_after_it(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(ping_seconds=NEVER, max_backlog_messages=1)) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one, house.socket() as fast:
            await fast.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            await fill(house, resource_id, fast)
            for field in "abc":
                await house.publish_readings(resource_id, 5, field=field)
                assert await fast.values(1) == [5]
            assert house.listening(resource_id) == 1
            await one.rest()
            assert (await one.closed())[0] == 4508


async def test_more_alerts_than_may_wait_close_the_socket_with_4508(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one:
            count = await fill(house, resource_id)
            for number in range(10):
                await house.alert(f"alert {number}")
            assert house.sessions[0].backlog is not None
            await house.alert("alert 11")
            assert house.listening(resource_id) == 0
            heard = await one.rest()
            assert [message["id"] for message in heard] == ["readings"] * count
            assert await one.closed() == (4508, "too much waits for it to be read")
        await house.quiet()


async def test_more_bytes_than_may_wait_close_the_socket_with_4508(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(ping_seconds=NEVER, max_backlog_bytes=7_000)) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one:
            await fill(house, resource_id)
            for _ in range(100):
                await house.publish_readings(resource_id, 1)
            assert house.sessions[0].backlog is not None
            for field in "abc":
                await house.publish_readings(resource_id, 1, field=field)
            await one.rest()
            assert (await one.closed())[0] == 4508


async def test_whoever_does_not_read_for_long_is_closed_with_4508_and_cut(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one, house.socket() as fast:
            await fill(house, resource_id)
            house.pass_time(14)
            assert house.listening(resource_id) == 1
            house.pass_time(1.5)
            assert house.listening(resource_id) == 0
            house.pass_time(2.5)
            await house.quiet(but=1)
            assert await fast.heard() == []
            await one.rest()
            assert (await one.closed())[0] in (4508, 1006)


async def test_whoever_reads_again_in_time_stays(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one:
            count = await fill(house, resource_id)
            house.pass_time(14)
            await read(one, count - 1)
            await house.until(lambda: house.sessions[0].backlog is None)
            house.pass_time(14)
            assert await one.heard() == []


async def test_an_answer_waits_as_well(open_house: OpenHouse) -> None:
    async with open_house(limits=LIMITS) as house:
        resource_id = await house.one.add_resource()
        async with slow_reader(house, resource_id) as one:
            count = await fill(house, resource_id)
            await one.subscribe("{ __typename }", "query")
            await house.until(lambda: len(house.sessions[0].backlog._messages) == 2)
            await house.publish_readings(resource_id, count)
            heard = [await one.hear() for _ in range(count + 3)]
            assert [message["type"] for message in heard[count:]] == ["next", "complete", "next"]
            assert [message["id"] for message in heard[count:]] == ["query", "query", "readings"]
