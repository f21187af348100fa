"""Connection slots in Redis: limits that hold during outages and storms, and one connection for all slots."""

import asyncio

import pytest

from tests.support.redis_server import RedisServer
from wattgate.clock import utc_now
from wattgate.realtime.bus import command_connection
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis_client import RedisClient, ScriptCall
from wattgate.realtime.connections.connection_slots import ConnectionSlot
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots


def build_slots(scope: str, count: int, *, limit: int) -> list[ConnectionSlot]:
    return [ConnectionSlot(scope, limit, f"{scope}:{number}", 1_000 + number) for number in range(count)]


async def test_limits_hold_while_redis_does_not_answer(own_redis: RedisServer) -> None:
    client = RedisClient(create_finder(own_redis.url))
    store = RedisConnectionSlots(BestEffortRedis(client), utc_now)
    first, second, third, fourth = build_slots("account:outage", 4, limit=2)
    assert await store.acquire([first]) == [[]]
    await own_redis.kill(keep_data=False)
    assert await store.acquire([second]) == [[]]
    assert await store.acquire([third]) == [[first.slot_id]], "the slot that was taken before the outage is the oldest"
    await store.release([second])
    assert await store.acquire([fourth]) == [[]]
    await client.close()


async def test_limits_hold_while_redis_does_not_read(own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers wait for a place in the queue of unsent commands, and none is refused."""
    monkeypatch.setattr(command_connection, "MAX_UNSENT_BYTES", 1)
    client = RedisClient(create_finder(own_redis.url))
    store = RedisConnectionSlots(BestEffortRedis(client), utc_now)
    await client.run([ScriptCall("return 1", (), ())])
    own_redis.pause()
    large = [ScriptCall("return #ARGV[1]", (), (b"x" * 100_000,))] * 200  # more than the buffers of the kernel hold
    sent = asyncio.create_task(client.run(large))
    await asyncio.sleep(0)
    assert client._connection is not None
    assert not client._connection.is_writable
    slots = build_slots("account:full", 5, limit=2)
    acquired = [asyncio.create_task(store.acquire([slot])) for slot in slots]
    await asyncio.sleep(0)
    own_redis.go_on()
    displaced = await asyncio.gather(*acquired)
    assert sorted(slot_id for ((*slot_ids,),) in displaced for slot_id in slot_ids) == [
        slot.slot_id for slot in slots[:3]
    ]
    assert await sent == [100_000] * 200
    await client.close()


async def test_many_connections_at_once_share_the_calls_to_redis(redis: RedisServer) -> None:
    client = RedisClient(create_finder(redis.url))
    store = RedisConnectionSlots(BestEffortRedis(client), utc_now)
    before = await connections_received(redis)
    slots = build_slots("application:storm", 300, limit=1_000)
    assert await asyncio.gather(*(store.acquire([slot]) for slot in slots)) == [[[]]] * 300
    own_connections = 1  # that of connections_received
    assert await connections_received(redis) - before <= 1 + own_connections
    await client.close()


async def connections_received(redis: RedisServer) -> int:
    """Return the number of connections that Redis has accepted since its start."""
    info = await redis.command("INFO", "stats")
    return int(info["total_connections_received"])
