"""The npm clients of docs/reference/realtime.md: they lose the link and resume at their position."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.support.link import RECOVERED, Client, Link, link, running, values_until
from tests.support.node import Node
from tests.support.redis_server import redis_server

CLIENTS = {
    "graphql-ws": ["follow-ws.mjs"],
    "graphql-sse, a stream for each subscription": ["follow-sse.mjs"],
    "graphql-sse, one stream for all": ["follow-sse.mjs", "--single"],
}
each_client = pytest.mark.parametrize("arguments", CLIENTS.values(), ids=CLIENTS.keys())


@asynccontextmanager
async def client(node: Node, arguments: list[str], setup: Link, resource_id: str) -> AsyncIterator[Client]:
    """Start a client behind the link, and wait until its subscription receives readings."""
    script, *options = arguments
    token = setup.tenant.headers["account"]["token"]
    process = await node.start(
        *(script, f"{setup.relay.url}/graphql", token, resource_id, *options), stdout=PIPE, stderr=PIPE
    )
    async with running(process) as running_client:
        first = asyncio.create_task(running_client.next())
        while not first.done():
            await setup.post(resource_id)
            await asyncio.sleep(0.2)
        await setup.post(resource_id)  # after it, no reading of the first backfill is pending
        await values_until(running_client, until=setup.posted - 1)
        yield running_client


@each_client
async def test_client_resumes_without_gaps_or_duplicates_after_a_lost_link(
    node_scripts: Node, arguments: list[str], tmp_path: Path
) -> None:
    async with link(tmp_path) as setup:
        resource_id = await setup.tenant.add_resource()
        async with client(node_scripts, arguments, setup, resource_id) as follower:
            for _ in range(3):
                await setup.post(resource_id, 3)
                await setup.relay.cut()
                await setup.post(resource_id, 3)
                await setup.relay.open()
                received = await values_until(follower, until=setup.posted - 1)
                assert RECOVERED in received
                values = [item for item in received if item != RECOVERED]
                assert values == list(range(setup.posted - 6, setup.posted))


@pytest.mark.long("starts further gateways and outlasts their limits; a lost link stays in the short form")
@each_client
async def test_client_resumes_at_another_gateway_on_the_same_redis(
    node_scripts: Node, arguments: list[str], tmp_path: Path
) -> None:
    (tmp_path / "redis").mkdir()
    async with redis_server(tmp_path / "redis") as redis, link(tmp_path, redis_url=redis.url) as setup:
        resource_id = await setup.tenant.add_resource()
        async with client(node_scripts, arguments, setup, resource_id) as follower:
            first_value = setup.posted
            await setup.post(resource_id, 3)
            await setup.relay.cut()
            await setup.restart()
            await setup.post(resource_id, 3)
            await setup.relay.open()
            received = await values_until(follower, until=setup.posted - 1)
            assert RECOVERED in received
            assert [item for item in received if item != RECOVERED] == list(range(first_value, setup.posted))


@pytest.mark.long("starts further gateways and outlasts their limits; a lost link stays in the short form")
@each_client
async def test_client_learns_that_its_position_is_gone_and_continues(
    node_scripts: Node, arguments: list[str], tmp_path: Path
) -> None:
    async with link(tmp_path) as setup:
        resource_id = await setup.tenant.add_resource()
        async with client(node_scripts, arguments, setup, resource_id) as follower:
            await setup.relay.cut()
            await setup.restart()  # a restart loses the events in memory
            await setup.post(resource_id, 3)
            await setup.relay.open()
            assert await follower.next() == {"recovered": False}
            await setup.post(resource_id, 2)
            received = await values_until(follower, until=setup.posted - 1)
            assert received[-2:] == [setup.posted - 2, setup.posted - 1]
