"""Gateways for the tests of what is live: each test is run on both wires."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from tests.support.live import WIRES, LiveHouse, Settled, live_house, settled_in
from tests.support.redis_server import RedisServer

OpenHouse = Callable[..., AbstractAsyncContextManager[LiveHouse]]
"""Serves a gateway with the limits and settings that are given, by name, for as long as its context lasts."""


@pytest.fixture(scope="session")
async def settled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Settled]:
    """A database with two tenants, which all gateways share."""
    async with settled_in(tmp_path_factory.mktemp("live")) as value:
        yield value


@pytest.fixture(scope="session", params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> str:
    """How sockets are served."""
    return str(request.param)


@pytest.fixture
def open_house(settled: Settled, wire: str) -> OpenHouse:
    return partial(live_house, settled, wire=wire)


@pytest.fixture(scope="session")
async def live(settled: Settled, wire: str) -> AsyncIterator[LiveHouse]:
    """A gateway with the usual limits, shared by the tests of a run: its time is left alone."""
    async with live_house(settled, wire=wire) as value:
        yield value


@pytest.fixture
async def resource_id(live: LiveHouse) -> str:
    """A resource of the first tenant."""
    return await live.one.add_resource()


@pytest.fixture(scope="session")
def open_gateway(settled: Settled, redis: RedisServer) -> OpenHouse:
    """Serves one of several gateways on one Redis, as `open_house` does one by itself."""
    return partial(live_house, settled, redis_url=redis.url)
