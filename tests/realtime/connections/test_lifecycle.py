"""The life of a connection on both wires: heartbeats, credentials that end, seats, and the end of a gateway."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import httpx
import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import NEVER, READINGS, LiveHouse, Settled
from tests.support.socket import Socket, socket
from wattgate.graphql.resolvers import tokens
from wattgate.graphql.services.login import TOKEN_LIFETIME
from wattgate.realtime.connections.limits import ConnectionLimits

CALM = ConnectionLimits(ping_seconds=NEVER)
EXPIRED = {"type": "ping", "payload": {"expired": True, "graceSeconds": 25}}


@asynccontextmanager
async def connected(house: LiveHouse, *callers: dict[str, str]) -> AsyncIterator[list[Socket]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(house.socket(**caller)) for caller in callers]


async def there(*sockets: Socket) -> None:
    for one in sockets:
        assert await one.heard() == []


async def pinged(one: Socket) -> None:
    assert await one.hear(pings=True) == {"type": "ping"}


async def test_whoever_answers_pings_stays_and_whoever_does_not_is_cut(open_house: OpenHouse) -> None:
    async with open_house() as house, house.socket() as one, house.socket() as other, house.socket() as third:
        for _ in range(3):
            house.pass_time(20.25)
            for each in (one, other, third):
                await pinged(each)
            await one.say(type="pong")
            await other.say(type="pong", payload={"any": "thing"})
            await third.say(type="complete", id="unknown")  # whatever is said is a sign of life
            await there(one, other, third)
        house.pass_time(20.25)
        for each in (one, other):
            await pinged(each)
        await one.say(type="pong")
        await there(one)
        house.pass_time(10.25)
        assert (await other.closed())[0] in (4503, 1006)  # it may be cut before it is told
        assert (await third.closed())[0] in (4503, 1006)
        await there(one)


async def test_pings_are_spread(open_house: OpenHouse) -> None:
    async with open_house() as house, connected(house, *[{}] * 20):
        house.pass_time(15.75)
        house.pass_time(2.25)
        waiting = [one._pong_deadline is None for one in house.sessions]
        assert 0 < sum(waiting) < 20


async def test_a_token_that_expires_is_asked_for_anew_and_nothing_is_interrupted(open_house: OpenHouse) -> None:
    async with open_house(limits=CALM) as house:
        resource_id = await house.one.add_resource()
        async with house.socket(token=await house.dying_token(seconds=60)) as one:
            await one.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 1)
            house.pass_time(59)
            await there(one)
            house.pass_time(1.5)
            assert await one.hear(pings=True) == EXPIRED
            await house.publish_readings(resource_id, 1)
            assert await one.values(1) == [1]
            house.pass_time(24)
            await there(one)
            until = await refreshed(one, await house.one.add_token())
            assert abs(until - house.clock.utc() - TOKEN_LIFETIME) < timedelta(minutes=1)
            house.pass_time(1_000)
            await house.publish_readings(resource_id, 2)
            assert await one.values(1) == [2]
            await there(one)


async def refreshed(one: Socket, token: str) -> datetime:
    """Until when a token is good that was brought in a ping."""
    await one.say(type="ping", payload={"token": token})
    message = await one.hear(pings=True)
    assert message["type"] == "pong"
    return datetime.fromisoformat(message["payload"]["expiresAt"])


async def test_a_token_may_be_renewed_before_it_expires_and_expires_again(open_house: OpenHouse) -> None:
    async with open_house(limits=CALM) as house:
        async with house.socket(token=await house.dying_token(seconds=60)) as one:
            await refreshed(one, await house.dying_token(seconds=500))
            house.pass_time(100)
            await there(one)
            house.pass_time(401)
            assert await one.hear(pings=True) == EXPIRED
            await refreshed(one, await house.dying_token(seconds=50))
            house.pass_time(51)
            assert await one.hear(pings=True) == EXPIRED
            house.pass_time(25.5)
            assert await one.closed() == (4403, "the token has expired")


async def test_without_a_new_token_the_connection_ends_after_the_grace(open_house: OpenHouse) -> None:
    async with open_house(limits=CALM) as house:
        resource_id = await house.one.add_resource()
        async with house.socket(token=await house.dying_token(seconds=60)) as one, house.socket() as other:
            await one.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 1)
            house.pass_time(61)
            assert await one.hear(pings=True) == EXPIRED
            house.pass_time(24)
            await there(one)
            house.pass_time(1.5)
            assert await one.closed() == (4403, "the token has expired")
            await there(other)
        await house.until(lambda: house.listening(resource_id) == 0)


async def test_a_token_that_has_expired_opens_nothing(open_house: OpenHouse) -> None:
    async with open_house() as house, socket(house.url) as one:
        await one.say(type="connection_init", payload={"token": await house.dying_token(seconds=-1)})
        assert (await one.closed())[0] == 4403


@pytest.mark.parametrize("whose", ["another user's", "another tenant's", "forged", "an application's"])
async def test_only_the_same_caller_may_bring_new_credentials(live: LiveHouse, whose: str) -> None:
    brought = {
        "another user's": live.one.headers["administrator"],
        "another tenant's": live.other.headers["account"],
        "forged": {"token": "forged"},
        "an application's": {"authorization": live.one.headers["application"]["Authorization"]},
    }[whose]
    async with live.socket() as one:
        await one.say(type="ping", payload=brought)
        assert await one.closed() == (4403, "Forbidden")


async def test_of_credentials_that_are_brought_together_the_last_hold(live: LiveHouse) -> None:
    async with live.socket() as one:
        good = {"type": "ping", "payload": live.one.headers["account"]}
        one.say_at_once({"type": "ping", "payload": {"token": "forged"}}, good)
        assert (await one.hear())["payload"].keys() == {"expiresAt"}
        await there(one)


async def test_a_password_does_not_expire(live: LiveHouse) -> None:
    basic = live.one.headers["account basic"]
    async with live.socket(**basic) as one:
        await one.say(type="ping", payload=basic)
        assert await one.hear() == {"type": "pong", "payload": {"expiresAt": None}}


async def test_a_token_whose_end_nobody_has_told_is_found_in_the_database(
    open_house: OpenHouse, settled: Settled
) -> None:
    async with open_house(limits=ConnectionLimits(credential_recheck_seconds=0.05)) as house:
        lost = await house.one.add_token()
        async with house.socket(token=lost) as one, house.socket() as other:
            elsewhere = settled.one.gateway  # whose bus is no other's
            caller = await elsewhere.authenticator.authenticate({"token": lost})
            await elsewhere.runner.run(tokens.delete_token, caller, {})
            assert await one.closed() == (4403, "the credentials were revoked")
            await there(other)


async def test_of_an_accounts_connections_the_oldest_gives_way(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=2)) as house:
        user, administrator = house.one.headers["account"], house.one.headers["administrator"]
        async with connected(house, user, administrator, user) as (first, stranger, second):
            async with connected(house, user) as (third,):
                assert await first.closed() == (4509, "newer connections took its place")
                await there(stranger, second, third)
            await house.until(lambda: house.gateway.connections.count == 2)
            async with connected(house, user) as (fourth,):  # the third has left its seat
                await there(stranger, second, fourth)


async def test_of_an_applications_connections_the_oldest_gives_way(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_application_connections=3)) as house:
        one, other = house.one.headers, house.other.headers
        callers = one["account"], other["account"], one["application"], one["administrator"]
        async with connected(house, *callers) as (first, stranger, second, third):
            async with connected(house, one["acting"]) as (fourth,):
                assert (await first.closed())[0] == 4509
                await there(stranger, second, third, fourth)


async def test_event_streams_have_seats_as_sockets_do(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=1)) as house:
        resource_id, caller = await house.one.add_resource(), house.one.headers["account"]
        headers = {**caller, "Accept": "text/event-stream"}
        body = {"query": READINGS, "variables": {"ids": [resource_id]}}
        async with house.socket() as one, httpx.AsyncClient(base_url=house.url) as http:
            async with http.stream("POST", "/graphql", json=body, headers=headers) as stream:
                assert (await one.closed())[0] == 4509
                async with house.socket() as other:
                    assert [chunk async for chunk in stream.aiter_raw()][1:] == []
                    await there(other)


async def test_credentials_without_an_account_have_a_seat_of_their_application_alone(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=1)) as house:
        async with connected(house, *[house.one.headers["application"]] * 3) as sockets:
            await there(*sockets)


async def test_a_drain_closes_everybody_with_4503_and_returns_when_they_are_gone(open_house: OpenHouse) -> None:
    async with open_house() as house, connected(house, *[{}] * 5) as sockets, socket(house.url) as silent:
        await house.gateway.connections.drain(0.2)
        assert house.gateway.connections.count == 0
        for one in (*sockets, silent):
            assert await one.closed() == (4503, "the gateway goes away")


async def test_whoever_comes_during_a_drain_is_sent_away_as_well(open_house: OpenHouse) -> None:
    async with open_house() as house, house.socket() as one:
        draining = asyncio.create_task(house.gateway.connections.drain(0.5))
        async with house.socket() as other:
            assert (await other.closed())[0] == 4503
        assert (await one.closed())[0] == 4503
        await draining


async def test_whoever_does_not_answer_a_close_is_cut(open_house: OpenHouse) -> None:
    async with open_house() as house, mute(house.url) as (reader, _):
        house.pass_time(11)  # nobody has said who it is
        await reader.readuntil(b"Connection initialisation timeout")
        house.pass_time(2.5)
        await house.quiet()


@asynccontextmanager
async def mute(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A socket of a client that says nothing once it stands."""
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    lines = (
        "GET /graphql HTTP/1.1",
        "Host: gateway",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: graphql-transport-ws",
        "\r\n",
    )
    writer.write("\r\n".join(lines).encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def test_nothing_is_left_of_connections_that_have_gone(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=500)) as house:
        resource_ids = [await house.one.add_resource() for _ in range(3)]
        before = house.traces()
        for _ in range(4):
            async with connected(house, *[{}] * 50) as sockets:
                await follow(house, sockets, resource_ids)
                for number, one in enumerate(sockets):
                    await leave(one, number)
        await house.quiet()
        await house.until(lambda: house.traces() == before)
        assert before["channels"] == 5  # revocations, displacements; what there is to deliver, to retrieve and to judge


async def follow(house: LiveHouse, sockets: Sequence[Socket], resource_ids: Sequence[str]) -> None:
    """Let each follow two of the resources, and be told something."""
    for number, one in enumerate(sockets):
        ids = [resource_ids[number % 3], resource_ids[(number + 1) % 3]]
        await one.subscribe(READINGS, ids=ids)
        await one.subscribe("subscription { alerts(since: null) { alertId } }", "2")
    await house.until(lambda: sum(map(house.listening, resource_ids)) == 2 * len(sockets))
    for resource_id in resource_ids:
        await house.publish_readings(resource_id, 1)


async def leave(one: Socket, number: int) -> None:
    """Leave in one of the ways in which clients do."""
    match number % 4:
        case 0:
            await one.complete()
            await one.connection.close()
        case 1:
            one.connection.transport.abort()
        case 2:
            await one.send("no message")
            await one.closed()
