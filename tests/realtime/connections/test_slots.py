"""Connection slots in Redis: the answers of the store in memory, limits that hold during outages and storms, and one
connection for all slots.
"""

import asyncio
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.redis_server import RedisServer
from wattgate.clock import utc_now
from wattgate.realtime.bus import command_connection
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis_client import RedisClient, ScriptCall
from wattgate.realtime.connections.connection_slots import ConnectionSlot, LocalConnectionSlots
from wattgate.realtime.connections.redis_connection_slots import RedisConnectionSlots


def build_slots(scope: str, count: int, *, limit: int) -> list[ConnectionSlot]:
    return [ConnectionSlot(scope, limit, f"{scope}:{number}", 1_000 + number) for number in range(count)]


STEPS = st.lists(
    st.tuples(st.sampled_from(("acquire", "acquire", "release", "renew")), st.integers(0, 9)), min_size=1, max_size=25
)
"""What happens to connections with these numbers, in order."""


@settings(max_examples=examples(50))
@given(steps=STEPS, limit=st.integers(1, 4))
async def test_redis_displaces_the_same_slots_as_the_store_in_memory(
    steps: list[tuple[str, int]], limit: int, redis: RedisServer
) -> None:
    """A connection acquires its slots once, and ends when one of them is displaced."""
    client = RedisClient(create_finder(redis.url))
    shared, local = RedisConnectionSlots(BestEffortRedis(client), utc_now), LocalConnectionSlots()
    run = uuid4().hex
    scopes = [(f"account:{run}", limit), (f"application:{run}", 2 * limit)]
    opened: dict[int, list[ConnectionSlot]] = {}
    for count, (step, number) in enumerate(steps):
        if step == "acquire" and number not in opened:
            opened[number] = [ConnectionSlot(scope, bound, f"{run}:{count}", 1_000 + count) for scope, bound in scopes]
            displaced = await shared.acquire(opened[number])
            assert displaced == await local.acquire(opened[number])
            ended = [one for one, slots in opened.items() if any(slots[0].slot_id in ids for ids in displaced)]
        else:
            ended = [number] if step == "release" and number in opened else []
        for one in ended:
            slots = opened.pop(one)
            await shared.release(slots)
            await local.release(slots)
        if step == "renew" and number in opened:
            await shared.renew(opened[number])
            await local.renew(opened[number])
    await client.close()


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
