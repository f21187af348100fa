"""Two gateways on one Redis: what is decided at one holds for the connections of both."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.realtime.connections.test_lifecycle import connected, there
from tests.realtime.test_server_sent_events import ASKED, TOKEN, begin, stream
from tests.support.live import NEVER, READINGS, LiveHouse, Settled, live_house
from tests.support.redis_server import redis_server
from tests.support.socket import socket
from wattgate.clock import to_ms
from wattgate.realtime.connections.connection_slots import SLOT_LEASE_SECONDS, ConnectionSlot
from wattgate.realtime.connections.limits import ConnectionLimits


@pytest.fixture
async def gateways(open_gateway: OpenHouse) -> AsyncIterator[tuple[LiveHouse, LiveHouse]]:
    """Two gateways, with two seats for each account."""
    limits = ConnectionLimits(max_account_connections=2, ping_seconds=NEVER)
    async with open_gateway(limits=limits) as one, open_gateway(limits=limits) as other:
        yield one, other


async def test_a_token_that_is_deleted_at_one_gateway_ends_its_connections_at_the_other(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    here, elsewhere = gateways
    lost = await here.one.add_token()
    async with elsewhere.socket(token=lost) as one, elsewhere.socket() as other:
        answer = await here.call("DELETE", "/auth/deleteToken", {"token": lost})
        assert answer.status_code == 200
        assert await one.closed() == (4403, "the credentials were revoked")
        await there(other)


async def test_the_oldest_connection_gives_way_wherever_it_is(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    here, elsewhere = gateways
    async with here.socket() as first, elsewhere.socket() as second, here.socket() as third:
        assert await first.closed() == (4509, "newer connections took its place")
        await there(second, third)
        async with elsewhere.socket(**here.one.headers["administrator"]) as stranger:
            async with here.socket() as fourth:
                assert (await second.closed())[0] == 4509
                await there(third, fourth, stranger)


async def test_a_seat_that_is_left_is_free_for_all(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    here, elsewhere = gateways
    async with here.socket() as first:
        async with here.socket():
            pass
        await here.quiet(but=1)
        async with elsewhere.socket() as third:
            await there(first, third)


async def test_the_seats_of_a_gateway_that_died_are_free_after_their_lease(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    here, dead = gateways
    bench, now = f"account:{here.one.account_id}", to_ms(here.clock.utc())
    async with here.socket() as first:
        await dead.gateway.connections._slots.acquire([ConnectionSlot(bench, 2, "dead:1", now + 1_000)])
        for _ in range(2):
            here.pass_time(SLOT_LEASE_SECONDS * 0.6)
            await here.gateway.connections._renew_slots()
        async with here.socket() as second:
            await there(first, second)
            async with here.socket() as third:  # the first has kept its seat all the time, and is the oldest
                assert (await first.closed())[0] == 4509
                await there(second, third)


async def test_while_redis_is_away_nobody_gives_way(settled: Settled, tmp_path: Path) -> None:
    async with redis_server(tmp_path) as server, AsyncExitStack() as stack:
        limits = ConnectionLimits(max_account_connections=1)
        house = await stack.enter_async_context(live_house(settled, redis_url=server.url, limits=limits))
        first = await stack.enter_async_context(house.socket())
        await server.kill()
        async with connected(house, {}, {}) as others:
            await there(first, *others)


async def test_an_event_stream_is_steered_by_requests_to_another_gateway(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    here, elsewhere = gateways
    resource_id = await here.one.add_resource()
    reserved = await here.http.put("/graphql", headers=here.one.headers["account"])
    token = reserved.text
    caller = {"token": here.one.headers["account"]["token"]}
    async with stream(elsewhere, "GET", headers={TOKEN: token, **ASKED, **caller}) as one:
        await elsewhere.until(lambda: elsewhere.gateway.connections.count == 1)
        for operation_id in ("a", "b", "a"):  # one that runs is not begun again
            assert (await begin(here, token, operation_id, READINGS, ids=[resource_id])).status_code == 202
        await elsewhere.until(lambda: elsewhere.listening(resource_id) == 2)
        await here.publish_readings(resource_id, 1)
        told = [await one.told() for _ in range(2)]  # which of them began first, nobody has said
        assert {(each["id"], each["payload"]["data"]["readings"]["value"]) for each in told} == {("a", 1), ("b", 1)}
        stopped = await here.http.delete("/graphql", params={"operationId": "a"}, headers={TOKEN: token})
        assert stopped.status_code == 200
        await elsewhere.until(lambda: elsewhere.listening(resource_id) == 1)
        await here.publish_readings(resource_id, 2)
        assert (await one.told())["id"] == "b"
        refused = await begin(here, token, "q", "{ __typename }")
        assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (404, "NOT_FOUND")
        assert (await begin(elsewhere, token, "q", "{ __typename }")).status_code == 202
        assert (await one.told())["payload"]["data"] == {"__typename": "Query"}
    await elsewhere.quiet()


async def test_a_position_of_one_gateway_is_good_at_the_other(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    here, elsewhere = gateways
    resource_id = await here.one.add_resource()
    query = "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"
    async with here.socket() as one:
        await one.subscribe(query, ids=[resource_id], since=None)
        position = (await one.payload())["extensions"]["position"]
    await elsewhere.publish_readings(resource_id, 1, 2)
    async with elsewhere.socket() as one:
        await one.subscribe(query, ids=[resource_id], since=position)
        assert (await one.payload())["extensions"] == {"position": position, "recovered": True}
        assert await one.values(2) == [1, 2]


async def test_a_drain_of_one_gateway_leaves_the_others_connections_alone(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    here, elsewhere = gateways
    async with here.socket() as one, elsewhere.socket() as other, socket(here.url) as third:
        await here.gateway.connections.drain(0)
        assert (await one.closed())[0] == (await third.closed())[0] == 4503
        await there(other)
