"""Clients of npm, as docs/reference/realtime.md shows them: they lose the link and go on where they were."""

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
each_client = pytest.mark.parametrize("words", CLIENTS.values(), ids=CLIENTS.keys())


@asynccontextmanager
async def client(node: Node, words: list[str], there: Link, resource_id: str) -> AsyncIterator[Client]:
    """A client behind the link that has been told some readings: its subscription stands."""
    script, *options = words
    token = there.tenant.headers["account"]["token"]
    process = await node.start(
        *(script, f"{there.relay.url}/graphql", token, resource_id, *options), stdout=PIPE, stderr=PIPE
    )
    async with running(process) as started:
        first = asyncio.create_task(started.next())
        while not first.done():
            await there.post(resource_id)
            await asyncio.sleep(0.2)
        await there.post(resource_id)  # after it there is nothing left of what the database had at the beginning
        await values_until(started, until=there.posted - 1)
        yield started


@each_client
async def test_a_client_that_loses_its_link_misses_nothing_and_is_told_nothing_twice(
    node_scripts: Node, words: list[str], tmp_path: Path
) -> None:
    async with link(tmp_path) as there:
        resource_id = await there.tenant.add_resource()
        async with client(node_scripts, words, there, resource_id) as shown:
            for _ in range(3):
                await there.post(resource_id, 3)
                await there.relay.cut()
                await there.post(resource_id, 3)
                await there.relay.open()
                heard = await values_until(shown, until=there.posted - 1)
                assert RECOVERED in heard
                values = [one for one in heard if one != RECOVERED]
                assert values == list(range(there.posted - 6, there.posted))


@each_client
async def test_a_client_goes_on_at_another_gateway_where_redis_joins_them(
    node_scripts: Node, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "redis").mkdir()
    async with redis_server(tmp_path / "redis") as redis, link(tmp_path, redis_url=redis.url) as there:
        resource_id = await there.tenant.add_resource()
        async with client(node_scripts, words, there, resource_id) as shown:
            begun = there.posted
            await there.post(resource_id, 3)
            await there.relay.cut()
            await there.restart()
            await there.post(resource_id, 3)
            await there.relay.open()
            heard = await values_until(shown, until=there.posted - 1)
            assert RECOVERED in heard
            assert [one for one in heard if one != RECOVERED] == list(range(begun, there.posted))


@each_client
async def test_a_client_is_told_that_its_place_is_gone_and_goes_on(
    node_scripts: Node, words: list[str], tmp_path: Path
) -> None:
    async with link(tmp_path) as there:
        resource_id = await there.tenant.add_resource()
        async with client(node_scripts, words, there, resource_id) as shown:
            await there.relay.cut()
            await there.restart()  # what was in its memory is gone with it
            await there.post(resource_id, 3)
            await there.relay.open()
            assert await shown.next() == {"recovered": False}
            await there.post(resource_id, 2)
            heard = await values_until(shown, until=there.posted - 1)
            assert heard[-2:] == [there.posted - 2, there.posted - 1]
