"""The connection to Redis that all callers share: storms, forgotten scripts, restarts and a silent server."""

import asyncio
import contextlib
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
import trustme
from redis.exceptions import RedisError, ResponseError

from tests.support.redis_server import RedisServer
from tests.support.tls import trusting
from wattgate.clock import utc_now
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.bus.redis_client import RedisClient, ScriptCall
from wattgate.realtime.connections.connection_slots import ConnectionSlot
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots

STORM = 500
INCREMENT = "return redis.call('INCRBY', KEYS[1], ARGV[1])"


@pytest.fixture
async def client(own_redis: RedisServer) -> AsyncIterator[RedisClient]:
    client = RedisClient(create_finder(own_redis.url))
    yield client
    await client.close()


def increment(key: str, by: int = 1) -> ScriptCall:
    return ScriptCall(INCREMENT, (key,), (by,))


async def test_storm_of_callers_gets_its_own_replies_over_one_connection(
    own_redis: RedisServer, client: RedisClient
) -> None:
    before = await connections_received(own_redis)
    replies = await asyncio.gather(
        *(client.run([increment(f"key{n}", n), ScriptCall(f"return {n % 7}", (), ())]) for n in range(STORM))
    )
    assert replies == [[n, n % 7] for n in range(STORM)]
    assert await connections_received(own_redis) - before == 2, "the client's, and that of connections_received"


async def test_error_of_one_call_is_not_that_of_its_neighbours(client: RedisClient) -> None:
    wrong = ScriptCall("return redis.call('NOSUCHCOMMAND')", (), ())
    calls = [increment("a")], [wrong], [increment("a")]
    outcomes = await asyncio.gather(*map(client.run, calls), return_exceptions=True)
    assert (outcomes[0], outcomes[2]) == ([1], [2])
    assert isinstance(outcomes[1], ResponseError)


async def test_scripts_that_redis_forgets_in_a_storm_are_loaded_again(
    own_redis: RedisServer, client: RedisClient
) -> None:
    assert await client.run([increment("count")]) == [1]
    running = [asyncio.create_task(client.run([increment("count")])) for _ in range(STORM // 2)]
    await own_redis.command("SCRIPT", "FLUSH")
    running += [asyncio.create_task(client.run([increment("count")])) for _ in range(STORM // 2)]
    assert sorted(reply for (reply,) in await asyncio.gather(*running)) == list(range(2, STORM + 2))


async def test_seats_are_exact_after_redis_restarts_in_a_storm(own_redis: RedisServer, client: RedisClient) -> None:
    """Seats taken before, during and after the restart count once each, and the limit holds."""
    store = RedisConnectionSlots(BestEffortRedis(client), utc_now)
    scope, limit = f"account:{uuid4()}", STORM // 2
    slots = [ConnectionSlot(scope, limit, f"slot{n:03}", 1_000 + n) for n in range(STORM)]
    before = await asyncio.gather(*(store.acquire([slot]) for slot in slots[:limit]))
    assert sum(len(displaced) for (displaced,) in before) == 0
    during = [asyncio.create_task(store.acquire([slot])) for slot in slots[limit:]]
    await asyncio.sleep(0)
    await own_redis.kill()
    await asyncio.gather(*during)
    await own_redis.start()
    store = RedisConnectionSlots(BestEffortRedis(client), utc_now)  # one that does not wait for its next probe
    await store.renew(slots[limit:])
    (displaced,) = await store.acquire([slots[-1]])
    held = await own_redis.command("ZRANGE", f"{{wattgate}}:seats:{scope}:age", "0", "-1")
    assert held == [slot.slot_id for slot in slots[limit:]]
    assert not set(displaced) & set(held)


async def test_silent_server_fails_all_callers_and_the_next_ones_succeed(
    own_redis: RedisServer, client: RedisClient
) -> None:
    await client.run([increment("count")])
    own_redis.pause()
    failed = await asyncio.gather(*(client.run([increment("count")]) for _ in range(STORM)), return_exceptions=True)
    assert Counter(type(error).__name__ for error in failed) == {"TimeoutError": STORM}
    assert all(isinstance(error, RedisError) for error in failed)
    own_redis.go_on()
    assert len(await client.run([increment("count")])) == 1


async def test_command_of_a_cancelled_caller_still_runs_and_shifts_no_reply(client: RedisClient) -> None:
    await client.run([increment("other", 0)])
    cancelled = [asyncio.create_task(client.run([increment("cancelled")])) for _ in range(20)]
    kept = [asyncio.create_task(client.run([increment("kept")])) for _ in range(20)]
    await asyncio.sleep(0)
    for task in cancelled:
        task.cancel()
    assert [reply for (reply,) in await asyncio.gather(*kept)] == list(range(1, 21))
    assert await client.run([increment("cancelled", 0)]) == [20]


async def test_closed_client_opens_no_connection(own_redis: RedisServer, client: RedisClient) -> None:
    await client.run([increment("count")])
    await client.close()
    before = await connections_received(own_redis)
    with pytest.raises(RedisError, match="the client is closed"):
        await client.run([increment("count")])
    assert await connections_received(own_redis) - before == 1, "that of connections_received"


async def test_tls_context_is_loaded_once_for_all_connections(
    own_redis: RedisServer, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading the certificates of the system blocks the event loop for many milliseconds."""
    loaded, context = [], trusting(authority)

    def load(*arguments: Any, **options: Any) -> ssl.SSLContext:
        loaded.append(arguments)
        return context

    monkeypatch.setattr(ssl, "create_default_context", load)
    async with TlsProxy.before(own_redis, authority) as proxy:
        url = f"rediss://localhost:{proxy.port}"
        async with RedisBus(create_finder(url)) as bus, asyncio.timeout(60):
            await bus.open_topics(["first"])
            await proxy.wait_for_connections(2)
            proxy.cut()
            await proxy.wait_for_connections(4)
            await bus.open_topics(["second"])
    assert len(loaded) == 1


class TlsProxy:
    """A server on localhost that speaks TLS in front of a Redis server."""

    def __init__(self, redis_port: int) -> None:
        self.port = 0
        self._redis_port = redis_port
        self._accepted = 0
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    @classmethod
    @asynccontextmanager
    async def before(cls, redis: RedisServer, authority: trustme.CA) -> AsyncIterator["TlsProxy"]:
        proxy, context = cls(redis.port), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=context)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            server.close()
            proxy.cut()

    def cut(self) -> None:
        """Cut all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def wait_for_connections(self, count: int) -> None:
        """Wait until this many connections were accepted since the start."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._accepted >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies, commands = await asyncio.open_connection("127.0.0.1", self._redis_port)
        self._writers |= {writer, commands}
        async with self._changed:
            self._accepted += 1
            self._changed.notify_all()
        await asyncio.gather(pump(reader, commands), pump(replies, writer))
        self._writers -= {writer, commands}


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until either side ends."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def connections_received(redis: RedisServer) -> int:
    """Return the number of connections that Redis has accepted since its start."""
    info = await redis.command("INFO", "stats")
    return int(info["total_connections_received"])
