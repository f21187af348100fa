"""Connections: pings, expiring credentials, connection slots, and the drain of a gateway."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import delete
from sqlmodel import col

from tests.realtime.connections.conftest import OpenHouse
from tests.support import people
from tests.support.live import NEVER, READINGS, LiveHouse, Settled
from tests.support.scopes import EVERYTHING
from tests.support.socket import Socket, socket
from wattgate.db.models import Token
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.operations.credentials import tokens
from wattgate.operations.credentials.login import TOKEN_LIFETIME
from wattgate.realtime.connections.limits import ConnectionLimits

NO_PINGS = ConnectionLimits(ping_seconds=NEVER)
EXPIRED = {"type": "ping", "payload": {"expired": True, "graceSeconds": 25}}


@asynccontextmanager
async def connected(house: LiveHouse, *callers: dict[str, str]) -> AsyncIterator[list[Socket]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(house.socket(**caller)) for caller in callers]


async def assert_open(*sockets: Socket) -> None:
    for client in sockets:
        assert await client.heard() == []


async def assert_pinged(client: Socket) -> None:
    assert await client.hear(pings=True) == {"type": "ping"}


async def test_connection_without_replies_to_pings_is_closed(open_house: OpenHouse) -> None:
    async with open_house() as house, house.socket() as first, house.socket() as second, house.socket() as third:
        for _ in range(3):
            house.pass_time(20.25)
            for client in (first, second, third):
                await assert_pinged(client)
            await first.say(type="pong")
            await second.say(type="pong", payload={"any": "thing"})
            await third.say(type="complete", id="unknown")  # any message counts as a reply
            await assert_open(first, second, third)
        house.pass_time(20.25)
        for client in (first, second):
            await assert_pinged(client)
        await first.say(type="pong")
        await assert_open(first)
        house.pass_time(10.25)
        assert (await second.closed())[0] in (4503, 1006)  # the abort may overtake the close frame
        assert (await third.closed())[0] in (4503, 1006)
        await assert_open(first)


async def test_pings_of_many_connections_are_spread_over_time(open_house: OpenHouse) -> None:
    async with open_house() as house, connected(house, *[{}] * 20):
        house.pass_time(15.75)
        house.pass_time(2.25)
        without_ping = [session._pong_deadline is None for session in house.sessions]
        assert 0 < sum(without_ping) < 20


async def test_client_renews_an_expired_token_without_interruption(open_house: OpenHouse) -> None:
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        resource_id = await house.one.add_resource()
        async with house.socket(token=await house.dying_token(seconds=60)) as client:
            await client.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 1)
            house.pass_time(59)
            await assert_open(client)
            house.pass_time(1.5)
            assert await client.hear(pings=True) == EXPIRED
            await house.publish_readings(resource_id, 1)
            assert await client.values(1) == [1]
            house.pass_time(24)
            await assert_open(client)
            expires_at = await renew_token(client, await house.one.add_token())
            assert abs(expires_at - house.clock.utc() - TOKEN_LIFETIME) < timedelta(minutes=1)
            house.pass_time(1_000)
            await house.publish_readings(resource_id, 2)
            assert await client.values(1) == [2]
            await assert_open(client)


async def renew_token(client: Socket, token: str) -> datetime:
    """Send a token in a ping, and return the time at which it expires."""
    await client.say(type="ping", payload={"token": token})
    message = await client.hear(pings=True)
    assert message["type"] == "pong"
    return datetime.fromisoformat(message["payload"]["expiresAt"])


async def test_client_renews_a_token_before_it_expires(open_house: OpenHouse) -> None:
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        async with house.socket(token=await house.dying_token(seconds=60)) as client:
            await renew_token(client, await house.dying_token(seconds=500))
            house.pass_time(100)
            await assert_open(client)
            house.pass_time(401)
            assert await client.hear(pings=True) == EXPIRED
            await renew_token(client, await house.dying_token(seconds=50))
            house.pass_time(51)
            assert await client.hear(pings=True) == EXPIRED
            house.pass_time(25.5)
            assert await client.closed() == (4403, "the token has expired")


async def test_connection_without_a_new_token_is_closed_after_the_grace_period(open_house: OpenHouse) -> None:
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        resource_id = await house.one.add_resource()
        async with house.socket(token=await house.dying_token(seconds=60)) as client, house.socket() as unaffected:
            await client.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 1)
            house.pass_time(61)
            assert await client.hear(pings=True) == EXPIRED
            house.pass_time(24)
            await assert_open(client)
            house.pass_time(1.5)
            assert await client.closed() == (4403, "the token has expired")
            await assert_open(unaffected)
        await house.until(lambda: house.listening(resource_id) == 0)


async def answer(client: Socket, query: str) -> tuple[Any, str | None]:
    """Return the data of an operation, and the code of its first error."""
    await client.subscribe(query, operation_id="asked")
    message = await client.hear()
    if message["type"] == "error":
        return None, message["payload"][0]["extensions"]["code"]
    assert (await client.hear())["type"] == "complete"
    errors = message["payload"].get("errors") or [{"extensions": {"code": None}}]
    return message["payload"]["data"], errors[0]["extensions"]["code"]


async def test_expired_token_only_renews_itself_within_the_grace_period(open_house: OpenHouse) -> None:
    """Queries, changes, nodes and new subscriptions are refused; newToken is executed, and its token is accepted."""
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        resource_id, dying = await house.one.add_resource(), await house.dying_token(seconds=60)
        refused = (
            "{ tokenStatus { valid } }",
            "{ viewer { user { userId } } }",
            f'{{ resource(resourceId: "{resource_id}") {{ name }} }}',
            'mutation { changeName(name: "Mallory") { __typename } }',
            'mutation { createToken { ... on IssuedToken { token } } changeName(name: "Mallory") { __typename } }',
            "mutation { deleteToken { __typename } }",
            f'subscription {{ readings(resourceIds: ["{resource_id}"]) {{ value }} }}',
        )
        async with house.socket(token=dying) as client:
            house.pass_time(60)
            assert await client.hear(pings=True) == EXPIRED
            answers = [await answer(client, query) for query in refused]
            assert [code for _, code in answers] == ["UNAUTHENTICATED"] * len(refused)
            by_http = await house.call("GET", "/auth/newToken", {"token": dying})
            assert by_http.status_code == 401
            house.pass_time(24)
            renewed, code = await answer(client, "mutation { createToken { ... on IssuedToken { token } } }")
            assert code is None
            await renew_token(client, renewed["createToken"]["token"])
            assert await answer(client, refused[0]) == ({"tokenStatus": {"valid": True}}, None)
            house.pass_time(1_000)
            await assert_open(client)


async def test_token_that_ended_in_the_grace_period_does_not_renew_itself(
    open_house: OpenHouse, settled: Settled
) -> None:
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        dying = await house.dying_token(seconds=60)
        caller = await house.gateway.authenticator.authenticate({"token": dying})
        async with house.socket(token=dying) as client:
            house.pass_time(60)
            assert await client.hear(pings=True) == EXPIRED
            async with settled.one.gateway.database.session(EVERYTHING) as session:  # without an event
                is_token = col(Token.token_id) == caller.token_id
                await session.execute(delete(Token).where(is_token), execution_options=SCOPED_OPTION)
                await session.commit()
            assert (await answer(client, "mutation { createToken { ... on IssuedToken { token } } }"))[
                1
            ] == "UNAUTHENTICATED"


async def test_expiry_is_no_revocation(open_house: OpenHouse) -> None:
    """Neither the periodic check nor another log-in of the account ends the grace period."""
    async with open_house(limits=NO_PINGS) as house:
        house.clock.stop()
        dying = await house.dying_token(seconds=60)
        async with house.socket(token=dying) as client, house.socket() as unaffected:
            house.pass_time(60)
            assert await client.hear(pings=True) == EXPIRED
            for _ in range(4):
                await house.gateway.realtime.connections.recheck_credentials()
                await house.one.add_token()
                house.pass_time(6)
                await assert_open(client)
            house.pass_time(1.5)
            assert await client.closed() == (4403, "the token has expired")
            await assert_open(unaffected)


async def test_expired_token_opens_no_connection(open_house: OpenHouse) -> None:
    async with open_house() as house, socket(house.url) as client:
        await client.say(type="connection_init", payload={"token": await house.dying_token(seconds=-1)})
        assert (await client.closed())[0] == 4403


@pytest.mark.parametrize("whose", ["another user's", "another tenant's", "forged", "an application's"])
async def test_credentials_of_another_caller_close_the_connection(live: LiveHouse, whose: str) -> None:
    credentials = {
        "another user's": live.one.headers["administrator"],
        "another tenant's": live.other.headers["account"],
        "forged": {"token": "forged"},
        "an application's": {"authorization": live.one.headers["application"]["Authorization"]},
    }[whose]
    async with live.socket() as client:
        await client.say(type="ping", payload=credentials)
        assert await client.closed() == (4403, "Forbidden")


async def test_last_of_several_new_credentials_applies(live: LiveHouse) -> None:
    async with live.socket() as client:
        valid = {"type": "ping", "payload": live.one.headers["account"]}
        client.say_at_once({"type": "ping", "payload": {"token": "forged"}}, valid)
        assert (await client.hear())["payload"].keys() == {"expiresAt"}
        await assert_open(client)


async def test_connection_with_a_password_does_not_expire(live: LiveHouse) -> None:
    basic = live.one.headers["account basic"]
    async with live.socket(**basic) as client:
        await client.say(type="ping", payload=basic)
        assert await client.hear() == {"type": "pong", "payload": {"expiresAt": None}}


async def test_periodic_check_finds_a_token_that_was_deleted_without_an_event(
    open_house: OpenHouse, settled: Settled
) -> None:
    async with open_house(limits=ConnectionLimits(credential_recheck_seconds=0.05)) as house:
        token = await house.one.add_token()
        async with house.socket(token=token) as client, house.socket() as unaffected:
            other_gateway = settled.one.gateway  # its bus is not shared
            caller = await other_gateway.authenticator.authenticate({"token": token})
            await other_gateway.runner.run(tokens.delete_token, caller, {})
            assert await client.closed() == (4403, "the credentials were revoked")
            await assert_open(unaffected)


async def test_oldest_connection_of_an_account_is_displaced(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=2)) as house:
        user, administrator = house.one.headers["account"], house.one.headers["administrator"]
        async with connected(house, user, administrator, user) as (first, stranger, second):
            async with connected(house, user) as (third,):
                assert await first.closed() == (4509, "newer connections replaced it")
                await assert_open(stranger, second, third)
            await house.until(lambda: house.gateway.connections.count == 2)
            async with connected(house, user) as (fourth,):  # the third has released its slot
                await assert_open(stranger, second, fourth)


async def test_oldest_connection_of_an_application_is_displaced(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_application_connections=3)) as house:
        headers, other_headers = house.one.headers, house.other.headers
        callers = headers["account"], other_headers["account"], headers["application"], headers["administrator"]
        async with connected(house, *callers) as (first, stranger, second, third):
            async with connected(house, headers["acting"]) as (fourth,):
                assert (await first.closed())[0] == 4509
                await assert_open(stranger, second, third, fourth)


async def test_event_streams_take_connection_slots(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=1)) as house:
        resource_id, caller = await house.one.add_resource(), house.one.headers["account"]
        headers = {**caller, "Accept": "text/event-stream"}
        body = {"query": READINGS, "variables": {"ids": [resource_id]}}
        async with house.socket() as first, httpx.AsyncClient(base_url=house.url) as http:
            async with http.stream("POST", "/graphql", json=body, headers=headers) as stream:
                assert (await first.closed())[0] == 4509
                async with house.socket() as second:
                    ended = b"".join([chunk async for chunk in stream.aiter_raw()])
                    assert ended.startswith(b":\n\nretry: ")
                    assert ended.endswith(b"event: complete\ndata: \n\n")
                    await assert_open(second)


async def test_each_display_has_connection_slots_of_its_own(open_house: OpenHouse) -> None:
    """Displays never displace the phone of their user, nor each other."""
    async with open_house(limits=ConnectionLimits(max_account_connections=1, max_display_connections=2)) as house:
        kitchen, hall = [(await people.paired_display(house.one))[0] for _ in range(2)]
        phone = house.one.headers["account"]
        query = f'subscription {{ display(homeId: "{house.one.ids["virtual_entity"]}") {{ homeId }} }}'
        async with connected(house, kitchen, phone, hall, kitchen) as (first, *others):
            await assert_open(first, *others)
            async with connected(house, kitchen) as (newest,):
                assert await first.closed() == (4509, "newer connections replaced it")
                await assert_open(*others, newest)
                headers = {**kitchen, "Accept": "text/event-stream"}
                async with httpx.AsyncClient(base_url=house.url) as http:
                    async with http.stream("POST", "/graphql", json={"query": query}, headers=headers) as stream:
                        assert stream.status_code == 200
                        assert (await others.pop().closed())[0] == 4509
                        await assert_open(*others, newest)


async def test_connection_without_an_account_takes_only_a_slot_of_its_application(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=1)) as house:
        async with connected(house, *[house.one.headers["application"]] * 3) as sockets:
            await assert_open(*sockets)


async def test_drain_closes_all_connections_with_4503_and_waits_for_them(open_house: OpenHouse) -> None:
    async with open_house() as house, connected(house, *[{}] * 5) as sockets, socket(house.url) as unauthenticated:
        await house.gateway.connections.drain(0.2)
        assert house.gateway.connections.count == 0
        for client in (*sockets, unauthenticated):
            assert await client.closed() == (4503, "the gateway is shutting down")


async def test_drain_closes_connections_that_open_meanwhile(open_house: OpenHouse) -> None:
    async with open_house() as house, house.socket() as first:
        draining = asyncio.create_task(house.gateway.connections.drain(0.5))
        async with house.socket() as second:
            assert (await second.closed())[0] == 4503
        assert (await first.closed())[0] == 4503
        await draining


async def test_connection_without_a_reply_to_close_is_aborted(open_house: OpenHouse) -> None:
    async with open_house() as house, silent_client(house.url) as (reader, _):
        house.pass_time(11)  # no connection_init was sent
        await reader.readuntil(b"Connection initialisation timeout")
        house.pass_time(2.5)
        await house.quiet()


@asynccontextmanager
async def silent_client(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a socket of a client that sends nothing after the handshake."""
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


@pytest.mark.long("opens and closes connections until nothing may grow; each kind of end stays in the short form")
async def test_closed_connections_leave_nothing_behind(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_account_connections=500)) as house:
        resource_ids = [await house.one.add_resource() for _ in range(3)]
        before = house.traces()
        for _ in range(4):
            async with connected(house, *[{}] * 50) as sockets:
                await subscribe_all(house, sockets, resource_ids)
                for number, client in enumerate(sockets):
                    await disconnect(client, number)
        await house.quiet()
        await house.until(lambda: house.traces() == before)
        # revocations, displacements, deliveries, queued catch-ups, erasures and exports, rule readings
        assert before["channels"] == 6


async def subscribe_all(house: LiveHouse, sockets: Sequence[Socket], resource_ids: Sequence[str]) -> None:
    """Subscribe each client to two of the resources, and publish readings."""
    for number, client in enumerate(sockets):
        ids = [resource_ids[number % 3], resource_ids[(number + 1) % 3]]
        await client.subscribe(READINGS, ids=ids)
        await client.subscribe("subscription { alerts(since: null) { alertId } }", "2")
    await house.until(lambda: sum(map(house.listening, resource_ids)) == 2 * len(sockets))
    for resource_id in resource_ids:
        await house.publish_readings(resource_id, 1)


async def disconnect(client: Socket, number: int) -> None:
    """Disconnect a client in one of several ways."""
    match number % 4:
        case 0:
            await client.complete()
            await client.connection.close()
        case 1:
            client.connection.transport.abort()
        case 2:
            await client.send("no message")
            await client.closed()
