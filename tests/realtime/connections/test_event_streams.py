"""The bounds of event streams: heartbeats, tokens that expire, and clients that do not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.realtime.connections.test_slow_readers import FILLING, READINGS
from tests.realtime.test_server_sent_events import ASKED, Stream, stream
from tests.support.live import LiveHouse, Settled, live_house
from wattgate.realtime.connections.event_stream import HEARTBEAT_SECONDS
from wattgate.realtime.connections.limits import ConnectionLimits

SHORT = READINGS.replace(FILLING, "")
ALERTS = "subscription { alerts { alertId } }"
LIMITS = ConnectionLimits(max_backlog_messages=10)


@pytest.fixture
async def house(settled: Settled) -> AsyncIterator[LiveHouse]:
    async with live_house(settled, limits=LIMITS) as made:
        yield made


def asking(query: str, token: str, resource_id: str) -> dict[str, Any]:
    variables = {"ids": [resource_id]} if "$ids" in query else {}
    return {"headers": {"token": token, **ASKED}, "json": {"query": query, "variables": variables}}


def account(house: LiveHouse) -> str:
    return str(house.one.headers["account"]["token"])


async def fill(house: LiveHouse, resource_id: str) -> int:
    """Tell values from 0 on until the oldest stream is not taken any more; how many."""
    (slow,) = house.sessions
    told = waited = 0
    while waited < 20:
        if slow._backlog is None:
            await house.publish_readings(resource_id, told)
            told, waited = told + 1, 0
        else:
            waited += 1
        await asyncio.sleep(0.001 if waited else 0)
        assert told < 20_000
    return told


async def value(one: Stream) -> float:
    return float((await one.told())["data"]["readings"]["value"])


async def test_a_silent_stream_tells_that_it_lives(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **asking(SHORT, account(house), resource_id)) as one:
        assert await anext(one._chunks) == b":\n\n"
        for _ in range(3):
            house.pass_time(HEARTBEAT_SECONDS + 0.25)
            assert await anext(one._chunks) == b":\n\n"


async def test_a_stream_whose_token_expires_says_so_and_ends(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    token = await house.dying_token(seconds=10)
    async with stream(house, **asking(SHORT, token, resource_id)) as one:
        await house.until(lambda: house.listening(resource_id) == 1)
        await house.publish_readings(resource_id, 1)
        assert await value(one) == 1
        house.pass_time(10.25)
        (error,) = (await one.told())["errors"]
        assert error["extensions"]["code"] == "UNAUTHENTICATED"
        assert (await one.event())["event"] == "complete"
        assert await one.ended()
    await house.quiet()


async def test_a_stream_that_is_not_taken_is_given_the_newest_and_then_goes_on(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **asking(READINGS, account(house), resource_id)) as one:
        await house.until(lambda: house.listening(resource_id) == 1)
        count = await fill(house, resource_id)
        await house.publish_readings(resource_id, *range(10**6, 10**6 + 500))
        assert [await value(one) for _ in range(count)] == list(range(count))
        assert await value(one) == 10**6 + 499
        await house.publish_readings(resource_id, 1, 2)
        assert [await value(one), await value(one)] == [1, 2]


async def test_a_stream_that_is_not_taken_for_long_ends(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **asking(READINGS, account(house), resource_id)) as one:
        await house.until(lambda: house.listening(resource_id) == 1)
        count = await fill(house, resource_id)
        house.pass_time(LIMITS.slow_reader_seconds + 0.25)
        await house.quiet()  # nothing is left of it here, though the client has not noticed
        taken = [json.loads(line[6:]) for line in (await rest(one)).split("\n") if line.startswith("data: {")]
        assert len(taken) < count


async def rest(one: Stream) -> str:
    """What is left of a stream, up to its end."""
    async with asyncio.timeout(20):
        return b"".join([chunk async for chunk in one._chunks]).decode()


async def test_a_stream_for_which_too_much_is_held_ends(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    query = f"subscription {{ alerts {{ alertId {' '.join(f'a{n}: alertId' for n in range(48))} }} }}"
    async with stream(house, **asking(query, account(house), resource_id)) as one:
        await house.until(lambda: house.gateway.realtime.groups.count == 1)
        (slow,) = house.sessions
        sent = 0
        while house.gateway.realtime.groups.count:  # it is held, then more than ten, and then it is over
            await house.alert(f"alert {sent}")
            sent += 1
            await asyncio.sleep(0 if slow._backlog is None else 0.001)
            assert sent < 20_000
        await house.quiet()
        heard = (await rest(one)).count("event: next")
        assert 0 < heard < sent
