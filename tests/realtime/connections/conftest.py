"""Gateways for tests of connections."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from tests.support.live import LiveHouse, Settled, live_house, settled_in
from tests.support.redis_server import RedisServer

OpenHouse = Callable[..., AbstractAsyncContextManager[LiveHouse]]
"""Runs a gateway with the given limits and settings until the context ends."""


@pytest.fixture(scope="session")
async def settled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Settled]:
    """Create a database with two tenants, which all gateways share. Its ids are its own, because some use Redis."""
    async with settled_in(tmp_path_factory.mktemp("live"), is_shared=False) as value:
        yield value


@pytest.fixture
def open_house(settled: Settled) -> OpenHouse:
    return partial(live_house, settled)


@pytest.fixture(scope="session")
async def live(settled: Settled) -> AsyncIterator[LiveHouse]:
    """A gateway with the default limits, which tests share. They must not change its time."""
    async with live_house(settled) as value:
        yield value


@pytest.fixture
async def resource_id(live: LiveHouse) -> str:
    """Add a resource of the first tenant."""
    return await live.one.add_resource()


@pytest.fixture(scope="session")
def open_gateway(settled: Settled, redis: RedisServer) -> OpenHouse:
    """Return a function like `open_house`, for gateways that share a Redis."""
    return partial(live_house, settled, redis_url=redis.url)
