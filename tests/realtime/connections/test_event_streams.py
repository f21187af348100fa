"""Event streams: heartbeats, expired tokens, and clients that do not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.realtime.connections.test_slow_readers import FILLING, READINGS
from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS, Stream, reserve_stream, stream
from tests.support.live import LiveHouse, Settled, live_house
from wattgate.realtime.connections.event_streams.event_stream import HEARTBEAT_SECONDS
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.protocol import CloseCode

SHORT = READINGS.replace(FILLING, "")
ALERTS = "subscription { alerts { alertId } }"
LIMITS = ConnectionLimits(max_backlog_messages=10)


@pytest.fixture
async def house(settled: Settled) -> AsyncIterator[LiveHouse]:
    async with live_house(settled, limits=LIMITS) as started:
        yield started


def stream_request(query: str, token: str, resource_id: str) -> dict[str, Any]:
    variables = {"ids": [resource_id]} if "$ids" in query else {}
    return {"headers": {"token": token, **EVENT_STREAM_HEADERS}, "json": {"query": query, "variables": variables}}


def account_token(house: LiveHouse) -> str:
    return str(house.one.headers["account"]["token"])


async def fill(house: LiveHouse, resource_id: str) -> int:
    """Publish values from 0 on until the oldest stream has a backlog. Return their number."""
    (stream,) = house.sessions
    published = waited = 0
    while waited < 20:
        if stream._backlog is None:
            await house.publish_readings(resource_id, published)
            published, waited = published + 1, 0
        else:
            waited += 1
        await asyncio.sleep(0.001 if waited else 0)
        assert published < 20_000
    return published


async def value(events: Stream) -> float:
    return float((await events.next_data())["data"]["readings"]["value"])


async def test_idle_stream_sends_heartbeats(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **stream_request(SHORT, account_token(house), resource_id)) as events:
        assert await anext(events._chunks) == b":\n\n"
        for _ in range(3):
            house.pass_time(HEARTBEAT_SECONDS + 0.25)
            assert await anext(events._chunks) == b":\n\n"


async def test_stream_ends_with_an_error_when_its_token_expires(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    token = await house.dying_token(seconds=10)
    async with stream(house, **stream_request(SHORT, token, resource_id)) as events:
        await house.until(lambda: house.listening(resource_id) == 1)
        await house.publish_readings(resource_id, 1)
        assert await value(events) == 1
        house.pass_time(10.25)
        (error,) = (await events.next_data())["errors"]
        assert error["extensions"]["code"] == "UNAUTHENTICATED"
        assert (await events.event())["event"] == "complete"
        assert await events.ended()
    await house.quiet()


async def test_slow_stream_receives_the_newest_reading_and_continues(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **stream_request(READINGS, account_token(house), resource_id)) as events:
        await house.until(lambda: house.listening(resource_id) == 1)
        count = await fill(house, resource_id)
        await house.publish_readings(resource_id, *range(10**6, 10**6 + 500))
        assert [await value(events) for _ in range(count)] == list(range(count))
        assert await value(events) == 10**6 + 499
        await house.publish_readings(resource_id, 1, 2)
        assert [await value(events), await value(events)] == [1, 2]


async def test_stream_that_is_not_read_for_long_ends(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    async with stream(house, **stream_request(READINGS, account_token(house), resource_id)) as events:
        await house.until(lambda: house.listening(resource_id) == 1)
        count = await fill(house, resource_id)
        house.pass_time(LIMITS.slow_reader_seconds + 0.25)
        await house.quiet()  # the gateway has freed it, although the client has not noticed
        received = [
            json.loads(line[6:]) for line in (await read_to_end(events)).split("\n") if line.startswith("data: {")
        ]
        assert len(received) < count


async def read_to_end(events: Stream) -> str:
    """Read a stream up to its end."""
    async with asyncio.timeout(60):
        return b"".join([chunk async for chunk in events._chunks]).decode()


async def test_stream_with_a_full_backlog_ends(house: LiveHouse) -> None:
    resource_id = await house.one.add_resource()
    query = f"subscription {{ alerts {{ alertId {' '.join(f'a{n}: alertId' for n in range(48))} }} }}"
    async with stream(house, **stream_request(query, account_token(house), resource_id)) as events:
        await house.until(lambda: house.gateway.realtime.groups.count == 1)
        (session,) = house.sessions
        sent = 0
        while (
            house.gateway.realtime.groups.count
        ):  # events are queued, then there are more than ten, and the stream ends
            await house.alert(f"alert {sent}")
            sent += 1
            await asyncio.sleep(0 if session._backlog is None else 0.001)
            assert sent < 20_000
        await house.quiet()
        received = (await read_to_end(events)).count("event: next")
        assert 0 < received < sent


async def test_displaced_stream_gets_a_reason_and_a_pause(settled: Settled) -> None:
    """Streams of both modes. Clients that connect again at once would displace each other without end."""
    async with live_house(settled, limits=ConnectionLimits(max_account_connections=1)) as house:
        token, resource_id = account_token(house), await house.one.add_resource()
        async with stream(house, **stream_request(SHORT, token, resource_id)) as first:
            await house.until(lambda: house.listening(resource_id) == 1)
            async with stream(house, **stream_request(ALERTS, token, resource_id)) as second:
                pause = await retry_milliseconds(first)
                (error,) = (await first.next_data())["errors"]
                assert (error["extensions"]["code"], error["extensions"]["retryAfter"]) == ("RATE_LIMITED", 30)
                assert (await first.event())["event"] == "complete"
                assert await first.ended()
                assert 30_000 <= pause <= 60_000
                reserved = await reserve_stream(house)
                async with stream(house, "GET", params={"token": reserved}, headers=EVENT_STREAM_HEADERS) as third:
                    assert 30_000 <= await retry_milliseconds(second) <= 60_000
                    async with stream(house, **stream_request(ALERTS, token, resource_id)):
                        assert 30_000 <= await retry_milliseconds(third) <= 60_000
                        assert await third.ended(), "it has no operation"


async def test_stream_of_a_gateway_that_shuts_down_gets_a_pause_and_no_end(settled: Settled) -> None:
    """With an error or `complete`, clients would not connect to another gateway."""
    async with live_house(settled) as house:
        request = stream_request(ALERTS, account_token(house), "")
        async with stream(house, **request) as events:
            (open_stream,) = house.sessions
            open_stream.close(CloseCode.GOING_AWAY, "the gateway is shutting down")
            assert await retry_milliseconds(events) <= 5_000
            assert await events.ended()


async def retry_milliseconds(events: Stream) -> int:
    """Return the pause of the next event that has one."""
    while True:
        event = await events.event()
        if "retry" in event:
            return int(event["retry"])
