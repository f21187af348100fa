"""Two gateways on one Redis: a decision of one applies to the connections of both."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.realtime.connections.test_lifecycle import assert_open, connected
from tests.realtime.test_server_sent_events import (
    EVENT_STREAM_HEADERS,
    TOKEN,
    operation_headers,
    start_operation,
    stream,
)
from tests.support.live import NEVER, READINGS, LiveHouse, Settled, live_house
from tests.support.redis_server import redis_server
from tests.support.socket import socket
from wattgate.clock import to_ms
from wattgate.realtime.connections.connection_slots import SLOT_LEASE_SECONDS, ConnectionSlot
from wattgate.realtime.connections.limits import ConnectionLimits


@pytest.fixture
async def gateways(open_gateway: OpenHouse) -> AsyncIterator[tuple[LiveHouse, LiveHouse]]:
    """Two gateways, with two connection slots for each account."""
    limits = ConnectionLimits(max_account_connections=2, ping_seconds=NEVER)
    async with open_gateway(limits=limits) as first, open_gateway(limits=limits) as second:
        yield first, second


async def test_deleting_a_token_closes_its_connections_at_other_gateways(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    first_gateway, second_gateway = gateways
    token = await first_gateway.one.add_token()
    async with second_gateway.socket(token=token) as revoked, second_gateway.socket() as valid:
        response = await first_gateway.call("DELETE", "/auth/deleteToken", {"token": token})
        assert response.status_code == 200
        assert await revoked.closed() == (4403, "the credentials were revoked")
        await assert_open(valid)


async def test_oldest_connection_is_displaced_at_any_gateway(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    first_gateway, second_gateway = gateways
    async with first_gateway.socket() as first, second_gateway.socket() as second, first_gateway.socket() as third:
        assert await first.closed() == (4509, "newer connections replaced it")
        await assert_open(second, third)
        async with second_gateway.socket(**first_gateway.one.headers["administrator"]) as stranger:
            async with first_gateway.socket() as fourth:
                assert (await second.closed())[0] == 4509
                await assert_open(third, fourth, stranger)


async def test_released_slot_is_free_at_all_gateways(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    first_gateway, second_gateway = gateways
    async with first_gateway.socket() as first:
        async with first_gateway.socket():
            pass
        await first_gateway.quiet(but=1)
        async with second_gateway.socket() as third:
            await assert_open(first, third)


async def test_slots_of_a_dead_gateway_expire_with_their_lease(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    first_gateway, dead_gateway = gateways
    scope, now = f"account:{first_gateway.one.account_id}", to_ms(first_gateway.clock.utc())
    async with first_gateway.socket() as first:
        await dead_gateway.gateway.connections._slots.acquire([ConnectionSlot(scope, 2, "dead:1", now + 1_000)])
        for _ in range(2):
            first_gateway.pass_time(SLOT_LEASE_SECONDS * 0.6)
            await first_gateway.gateway.connections._renew_slots()
        async with first_gateway.socket() as second:
            await assert_open(first, second)
            async with first_gateway.socket() as third:  # the first has kept its slot, and is the oldest
                assert (await first.closed())[0] == 4509
                await assert_open(second, third)


async def test_no_connection_is_displaced_while_redis_is_unavailable(settled: Settled, tmp_path: Path) -> None:
    async with redis_server(tmp_path) as server, AsyncExitStack() as stack:
        limits = ConnectionLimits(max_account_connections=1)
        house = await stack.enter_async_context(live_house(settled, redis_url=server.url, limits=limits))
        first = await stack.enter_async_context(house.socket())
        await server.kill()
        async with connected(house, {}, {}) as others:
            await assert_open(first, *others)


async def test_event_stream_accepts_operations_through_another_gateway(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    first_gateway, second_gateway = gateways
    resource_id = await first_gateway.one.add_resource()
    reserved = await first_gateway.http.put("/graphql", headers=first_gateway.one.headers["account"])
    token = reserved.text
    caller = {"token": first_gateway.one.headers["account"]["token"]}
    async with stream(second_gateway, "GET", headers={TOKEN: token, **EVENT_STREAM_HEADERS, **caller}) as events:
        await second_gateway.until(lambda: second_gateway.gateway.connections.count == 1)
        for operation_id in ("a", "b", "a"):  # a running operation does not start again
            assert (
                await start_operation(first_gateway, token, operation_id, READINGS, ids=[resource_id])
            ).status_code == 202
        await second_gateway.until(lambda: second_gateway.listening(resource_id) == 2)
        await first_gateway.publish_readings(resource_id, 1)
        received = [await events.next_data() for _ in range(2)]  # their order is undefined
        assert {(event["id"], event["payload"]["data"]["readings"]["value"]) for event in received} == {
            ("a", 1),
            ("b", 1),
        }
        headers = operation_headers(first_gateway, token)
        stopped = await first_gateway.http.delete("/graphql", params={"operationId": "a"}, headers=headers)
        assert stopped.status_code == 200
        await second_gateway.until(lambda: second_gateway.listening(resource_id) == 1)
        await first_gateway.publish_readings(resource_id, 2)
        assert (await events.next_data())["id"] == "b"
        rejected = await start_operation(first_gateway, token, "q", "{ __typename }")
        assert (rejected.status_code, rejected.json()["errors"][0]["extensions"]["code"]) == (404, "NOT_FOUND")
        assert (await start_operation(second_gateway, token, "q", "{ __typename }")).status_code == 202
        assert (await events.next_data())["payload"]["data"] == {"__typename": "Query"}
    await second_gateway.quiet()


async def test_client_resumes_at_the_other_gateway(gateways: tuple[LiveHouse, LiveHouse]) -> None:
    first_gateway, second_gateway = gateways
    resource_id = await first_gateway.one.add_resource()
    query = "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"
    async with first_gateway.socket() as client:
        await client.subscribe(query, ids=[resource_id], since=None)
        position = (await client.payload())["extensions"]["position"]
    await second_gateway.publish_readings(resource_id, 1, 2)
    async with second_gateway.socket() as client:
        await client.subscribe(query, ids=[resource_id], since=position)
        assert (await client.payload())["extensions"] == {"position": position, "recovered": True}
        assert await client.values(2) == [1, 2]


async def test_drain_closes_only_connections_of_its_own_gateway(
    gateways: tuple[LiveHouse, LiveHouse],
) -> None:
    first_gateway, second_gateway = gateways
    async with (
        first_gateway.socket() as first,
        second_gateway.socket() as at_second_gateway,
        socket(first_gateway.url) as unauthenticated,
    ):
        await first_gateway.gateway.connections.drain(0)
        assert (await first.closed())[0] == (await unauthenticated.closed())[0] == 4503
        await assert_open(at_second_gateway)
