"""All displays of a gateway lose their connections at once, and come back at once."""

import asyncio
import gc
import logging
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.faults.displays import FINAL_CODES, Connection
from tests.faults.scale import selected_scale
from tests.support.live import NEVER, RESUMING, LiveHouse, live_house, settled_in
from tests.support.redis_server import RedisServer
from wattgate.app.server.edge.serving import tune_garbage_collection
from wattgate.metrics import OPEN_SUBSCRIPTIONS
from wattgate.realtime.connections.limits import ConnectionLimits

LONG = selected_scale().long
DISPLAYS = 10_000 if LONG else 150
RESOURCES = 20
MAX_RETRY_SECONDS = 5.0 if LONG else 0.2
STORM_SECONDS = 600
SPARE_FILES = 1_000
GOING_AWAY = 4503


class ReturningDisplay:
    """A display that reconnects until it is stopped. It resumes at its last position and keeps the values it shows."""

    def __init__(self, house: LiveHouse, resource_id: str, codes: Counter[int | None], waiting: list[int]) -> None:
        self._house, self._resource_id, self._codes, self._waiting = house, resource_id, codes, waiting
        self._uri = house.url.replace("http", "ws") + "/graphql"
        self._port = int(house.url.rpartition(":")[2])
        self._since: str | None = None
        self.connection: Connection | None = None
        self.is_live = False
        self.values: list[float] = []

    async def run(self) -> None:
        while True:
            code = await self._connect()
            self.is_live = False
            self._codes[code] += 1
            assert code not in FINAL_CODES, code
            await asyncio.sleep(random.uniform(0, MAX_RETRY_SECONDS if code else 0))

    async def _connect(self) -> int | None:
        """Return the close code of the next connection when it has ended. The listener may refuse it for a moment."""
        try:
            _, self.connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._uri, self._on_message), "127.0.0.1", self._port
            )
        except OSError:
            await asyncio.sleep(MAX_RETRY_SECONDS)
            return None
        return await self.connection.closed

    def _on_message(self, connection: Connection, message: dict[str, Any]) -> None:
        self._waiting.append(self._house.gateway.realtime.login_queue.slots.waiting_count)
        match message:
            case {"type": "opened"}:
                connection.send({"type": "connection_init", "payload": self._house.one.headers["account"]})
            case {"type": "connection_ack"}:
                variables = {"ids": [self._resource_id], "since": self._since or ""}
                payload = {"query": RESUMING, "variables": variables}
                connection.send({"type": "subscribe", "id": "1", "payload": payload})
            case {"type": "next", "payload": payload}:
                assert "errors" not in payload, payload
                self._since = payload["extensions"]["position"]
                self.is_live = True
                reading = payload["data"]["readings"]
                if reading is not None:
                    self.values.append(reading["value"])
            case {"type": "ping"}:
                connection.send({"type": "pong"})
            case {"type": "error" | "complete"}:
                raise AssertionError(message)


def displays_within_limits() -> int:
    """Return the number of displays whose sockets this process may open at both ends."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(DISPLAYS, (hard - SPARE_FILES) // 2)


async def wait_until_all_back(house: LiveHouse, displays: list[ReturningDisplay], value: float) -> None:
    """Wait until each display shows a value, and the gateway has exactly their connections."""
    connections = house.gateway.realtime.connections
    await wait_until(
        lambda: (
            connections.count == len(displays)
            and all(display.is_live and display.values[-1:] == [value] for display in displays)
        )
    )


async def wait_until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(STORM_SECONDS):
        while not reached():  # noqa: ASYNC110 (no event signals the change)
            await asyncio.sleep(0.05)


async def seats_in_redis(redis: RedisServer, house: LiveHouse) -> set[int]:
    """Return the numbers of slots in the scopes of the displays."""
    scopes = (f"application:{house.one.application_id}", f"account:{house.sessions[0].principal.account_id}")
    return {int(await redis.command("ZCARD", f"{{wattgate}}:seats:{scope}:age")) for scope in scopes}


@pytest.fixture
def gateway_garbage_collection() -> Iterator[None]:
    """Collect garbage as `wattgate serve` does. With Python's thresholds, 10,000 connections spend their time in it."""
    thresholds = gc.get_threshold()
    tune_garbage_collection()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.long("hundreds of displays")
@pytest.mark.usefixtures("gateway_garbage_collection")
async def test_displays_that_return_at_once_wait_in_a_bounded_queue(
    tmp_path: Path, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    count, codes, waiting = displays_within_limits(), Counter[int | None](), [0]
    limits = ConnectionLimits(max_account_connections=2 * count, ping_seconds=NEVER)
    if not LONG:  # the default limits are for more displays
        limits = replace(limits, max_concurrent_logins=8, max_waiting_logins=count // 4)
    caplog.set_level(logging.WARNING)
    async with (
        settled_in(tmp_path, is_shared=False) as settled,
        live_house(settled, limits=limits, caller_budget=0, redis_url=redis.url) as house,
    ):
        resource_ids = [await house.one.add_resource() for _ in range(RESOURCES)]
        traces, subscriptions = house.traces(), OPEN_SUBSCRIPTIONS._value.get()
        displays = [ReturningDisplay(house, resource_ids[n % RESOURCES], codes, waiting) for n in range(count)]
        async with asyncio.TaskGroup() as running:
            tasks = [running.create_task(display.run()) for display in displays]
            await wait_until(lambda: all(display.is_live for display in displays))
            await publish(house, resource_ids, 1)
            await wait_until_all_back(house, displays, 1)
            for session in house.sessions:
                session.wire.abort()
            await publish(house, resource_ids, 2)
            await wait_until_all_back(house, displays, 2)
            assert OPEN_SUBSCRIPTIONS._value.get() - subscriptions == count
            await house.quiet(count)
            assert await seats_in_redis(redis, house) == {count}
            for task in tasks:
                task.cancel()
        for display in displays:
            assert display.connection is not None
            display.connection.abort()
        await house.quiet()
        assert house.traces() == traces
    assert {tuple(display.values) for display in displays} == {(1.0, 2.0)}  # none is lost, and none is twice
    assert 0 < max(waiting) <= limits.max_waiting_logins
    assert codes[GOING_AWAY] > 0, codes
    assert "No connection available" not in caplog.text


async def publish(house: LiveHouse, resource_ids: list[str], value: float) -> None:
    for resource_id in resource_ids:
        await house.publish_readings(resource_id, value)
