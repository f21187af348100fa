"""The bus: guarantees that the memory bus and the Redis bus share, and those of each one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from tests.support.redis_server import RedisServer, redis_server
from tests.support.watching import AT, Watcher, reading, since, values, watching
from wattgate.db.models import NetworkState
from wattgate.enums import CatchUpState
from wattgate.errors import Unavailable
from wattgate.realtime import events as all_events
from wattgate.realtime.bus import MIN_RETAINED_ENTRIES, MIN_RETAINED_SECONDS, TOPIC_LEASE_SECONDS, Bus
from wattgate.realtime.bus.codec import MAX_LOGGED_KINDS, PAYLOAD_TYPES, EventDecoder, encode_event
from wattgate.realtime.bus.memory import MAX_ENTRIES, MAX_UNWATCHED_TOPICS, MemoryBus
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.bus.redis_client import (
    BATCH_SIZE,
    RedisClient,
    open_calls,
    publish_calls,
    stream_key,
)
from wattgate.realtime.events import (
    AlertSent,
    AlertsRead,
    CatchUpStateChanged,
    DeviceStateChanged,
    Event,
    IntakeHeartbeat,
    MeterPointConsentRevoked,
)


@pytest.fixture(params=["memory", "redis"])
async def watcher(request: pytest.FixtureRequest, redis: RedisServer) -> AsyncIterator[Watcher]:
    bus: Bus = MemoryBus() if request.param == "memory" else RedisBus(create_finder(redis.url))
    async with watching(bus) as watcher:
        yield watcher


@pytest.fixture
def topic() -> str:
    return f"readings:{uuid4()}"


async def test_events_arrive_in_order_with_rising_positions(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open_topics([topic]))[topic]
    for n in range(0, 50, 5):
        await watcher.bus.publish([reading(topic, n + offset) for offset in range(5)])
    await watcher.until(lambda: len(watcher.events) == 50)
    assert watcher.values(topic) == list(range(50))
    positions = [event.position or "" for event in watcher.events]
    parsed = [[int(part) for part in position.split("-")] for position in (opened, *positions)]
    assert parsed == sorted(parsed)
    assert len(set(positions)) == 50
    assert watcher.events[0] == msgspec.structs.replace(reading(topic, 0), position=positions[0])


async def test_bus_opens_many_topics_at_once(watcher: Watcher, topic: str) -> None:
    topics = [f"{topic}:{n}" for n in range(1_200)]
    assert set(await watcher.bus.open_topics(topics)) == set(topics)
    await watcher.bus.publish([reading(name, n) for n, name in enumerate(topics)])
    await watcher.until(lambda: len(watcher.events) == len(topics))
    assert {event.topic: event.payload.value for event in watcher.events} == {name: n for n, name in enumerate(topics)}


async def test_bus_knows_the_topics_that_are_open(watcher: Watcher, topic: str) -> None:
    await watcher.bus.open_topics([topic])
    assert watcher.bus.is_connected
    assert await watcher.bus.has_topic(topic)
    assert not await watcher.bus.has_topic(f"{topic}:other")


async def test_events_on_topics_that_are_not_open_do_not_arrive(watcher: Watcher, topic: str) -> None:
    await watcher.bus.publish([reading(topic, 1)])
    await watcher.bus.open_topics([topic, "left"])
    watcher.bus.close_topics(["left", "never watched"])
    await watcher.bus.publish([reading("left", 2), reading("other", 3), reading(topic, 4)])
    await watcher.until(lambda: bool(watcher.values(topic)))
    assert values(watcher.events) == [4]


async def test_topic_can_be_closed_and_opened_again_immediately(watcher: Watcher, topic: str) -> None:
    await watcher.bus.open_topics([topic])
    watcher.bus.close_topics([topic])
    await watcher.bus.open_topics([topic])
    await watcher.bus.publish([reading(topic, 1)])
    await watcher.until(lambda: watcher.values(topic) == [1])


async def test_read_since_returns_all_events_after_a_retained_position(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open_topics([topic]))[topic]
    assert await since(watcher.bus, topic, opened) == []
    await watcher.bus.publish([reading(topic, n) for n in range(30)])
    await watcher.until(lambda: len(watcher.events) == 30)
    assert await since(watcher.bus, topic, opened) == watcher.events
    assert await since(watcher.bus, topic, watcher.events[9].position or "") == watcher.events[10:]
    assert await since(watcher.bus, topic, watcher.events[-1].position or "") == []
    assert await watcher.bus.open_topics([topic]) == {topic: watcher.events[-1].position}


async def test_events_on_a_closed_topic_are_retained(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open_topics([topic]))[topic]
    watcher.bus.close_topics([topic])
    await watcher.bus.publish([reading(topic, 1)])
    assert values(await since(watcher.bus, topic, opened) or []) == [1]
    assert watcher.events == []


@pytest.mark.parametrize("position", ["1-1", "", "what", "99999999999999-0", "1-1 COUNT", "$"])
async def test_read_since_returns_none_for_an_unknown_position(watcher: Watcher, topic: str, position: str) -> None:
    assert await since(watcher.bus, topic, position) is None
    await watcher.bus.open_topics([topic])
    await watcher.bus.publish([reading(topic, 1)])
    assert await since(watcher.bus, topic, position) is None


async def test_bus_retains_the_newest_of_many_events(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open_topics([topic]))[topic]
    await watcher.bus.publish([reading(topic, n) for n in range(1_000)])
    await watcher.until(lambda: len(watcher.events) == 1_000)
    assert await since(watcher.bus, topic, opened) is None
    newest = watcher.events[-MIN_RETAINED_ENTRIES:]
    assert await since(watcher.bus, topic, newest[0].position or "") == newest[1:]


async def test_publishing_an_empty_batch_does_nothing(watcher: Watcher) -> None:
    await watcher.bus.publish([])
    await watcher.bus.check()
    assert watcher.events == []


async def test_two_processes_receive_the_same_events_at_the_same_positions(redis: RedisServer, topic: str) -> None:
    async with (
        watching(RedisBus(create_finder(redis.url))) as first,
        watching(RedisBus(create_finder(redis.url))) as second,
    ):
        await asyncio.gather(first.bus.open_topics([topic]), second.bus.open_topics([topic]))
        await asyncio.gather(*(bus.publish([reading(topic, n)]) for n in range(20) for bus in (first.bus, second.bus)))
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: len(watcher.events) == 40)  # type: ignore[misc]
        assert first.events == second.events
        assert sorted(values(first.events)) == sorted([*range(20), *range(20)])
        assert (first.resyncs, second.resyncs) == ([], [])


async def test_repeated_publish_call_adds_no_event_twice(redis: RedisServer, topic: str) -> None:
    commands = RedisClient(create_finder(redis.url))
    await commands.run(open_calls([stream_key(topic)]))
    calls = publish_calls([(topic, encode_event(reading(topic, n))) for n in range(3)])
    assert [await commands.run(calls), await commands.run(calls)] == [[1], [0]]
    assert await redis.command("XLEN", stream_key(topic)) == 4
    await commands.close()


async def test_client_loads_scripts_again_that_redis_has_dropped(redis: RedisServer, topic: str) -> None:
    async with watching(RedisBus(create_finder(redis.url))) as watcher:
        await redis.command("SCRIPT", "FLUSH")
        await watcher.bus.open_topics([topic])
        await redis.command("SCRIPT", "FLUSH")
        await watcher.bus.publish([reading(topic, 1)])
        await watcher.until(lambda: watcher.values(topic) == [1])


async def test_only_open_topics_have_a_stream_and_it_has_a_lease_and_a_bound(redis: RedisServer, topic: str) -> None:
    async with watching(RedisBus(create_finder(redis.url))) as watcher:
        await watcher.bus.publish([reading(topic, 1)])
        assert await redis.command("EXISTS", stream_key(topic)) == 0
        await watcher.bus.open_topics([topic])
        assert TOPIC_LEASE_SECONDS - 5 < await redis.command("TTL", stream_key(topic)) <= TOPIC_LEASE_SECONDS
        await watcher.bus.publish([reading(topic, n) for n in range(5_000)])
        assert await redis.command("XLEN", stream_key(topic)) < 3 * MIN_RETAINED_ENTRIES


async def test_all_gateways_learn_that_a_stream_was_deleted(redis: RedisServer, topic: str) -> None:
    async with (
        watching(RedisBus(create_finder(redis.url))) as first,
        watching(RedisBus(create_finder(redis.url))) as second,
    ):
        (await first.bus.open_topics([topic]), await second.bus.open_topics([topic]))
        await redis.command("DEL", stream_key(topic))
        await first.bus.open_topics([topic])  # as the renewal of the lease does
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: watcher.resyncs == [(topic, False)])  # type: ignore[misc]


def test_publish_call_has_one_hash_tag_and_a_maximum_of_events() -> None:
    calls = publish_calls([(f"readings:{n % 300}", b"x") for n in range(100 * BATCH_SIZE)])
    for call in calls:
        assert all(key.startswith("{wattgate}:") for key in call.keys)
        assert len(call.keys) <= BATCH_SIZE + 1
    assert sum(len(call.keys) - 1 for call in calls) == 100 * BATCH_SIZE


def test_every_payload_type_is_either_encoded_or_local() -> None:
    payloads = {
        value
        for value in vars(all_events).values()
        if isinstance(value, type) and value.__module__ == all_events.__name__ and value is not Event
    }
    assert payloads == set(PAYLOAD_TYPES.values())


@pytest.mark.parametrize(
    "payload",
    [
        MeterPointConsentRevoked("1234567890123"),
        CatchUpStateChanged("id", "resource", CatchUpState.RUNNING, 5, None, AT, AT, None),
        reading("", 0.1).payload,
        DeviceStateChanged("device", NetworkState(at=AT, rssi=-88, status="joined")),
        IntakeHeartbeat("intake", AT, True),
        AlertSent("alert", "app", "user", "type", "CM01", ["push"], "High", None, {"use": [1.5, None]}, AT),
        AlertsRead("user", 3),
    ],
)
def test_decoded_event_equals_the_encoded_one(payload: msgspec.Struct) -> None:
    event = Event("topic", "key", payload)
    assert EventDecoder().decode("topic", "1-1", encode_event(event)) == msgspec.structs.replace(event, position="1-1")


def test_decoder_ignores_unknown_kinds_and_logs_each_once(caplog: pytest.LogCaptureFixture) -> None:
    decoder = EventDecoder()
    for body in (b'["weather","key",{}]', b'["weather","key",{"rain":1}]', b'["revoked","key",{}]', b"not ours"):
        assert decoder.decode("topic", "1-1", body) is None
    assert len(logged_by_decoder(caplog)) == 3
    assert "'weather'" in logged_by_decoder(caplog)[0]
    decoded = decoder.decode("topic", "1-1", b'["revoked","key",{"mpxn":"1","since":"2027"}]')
    assert decoded is not None
    assert decoded.payload == MeterPointConsentRevoked("1")
    for n in range(2 * MAX_LOGGED_KINDS):
        decoder.decode("topic", "1-1", f'["{n}","key",{{}}]'.encode())
    assert len(logged_by_decoder(caplog)) == MAX_LOGGED_KINDS


def logged_by_decoder(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages of the decoder. Gateways of the process may log that a test blocks their loop."""
    return [record.getMessage() for record in caplog.records if record.name == "wattgate.realtime.bus.codec"]


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_memory_bus_retains_events_for_minutes_up_to_a_maximum() -> None:
    clock = ManualClock()
    bus = MemoryBus(clock)
    opened = (await bus.open_topics(["topic"]))["topic"]

    async def publish(count: int, seconds: float) -> list[Event]:
        before = (await bus.open_topics(["topic"]))["topic"]
        for n in range(count):
            await bus.publish([reading("topic", n)])
            clock.seconds += seconds
        return await since(bus, "topic", before) or []

    assert len(await publish(MIN_RETAINED_ENTRIES - 1, 3600)) == MIN_RETAINED_ENTRIES - 1
    assert await since(bus, "topic", opened) is not None
    assert len(await publish(int(MIN_RETAINED_SECONDS), 0.9)) == MIN_RETAINED_SECONDS
    assert await since(bus, "topic", opened) is None
    assert await publish(MAX_ENTRIES, 0) == []


async def test_memory_bus_drops_topics_that_are_not_open() -> None:
    clock = ManualClock()
    bus = MemoryBus(clock)
    topics = [str(n) for n in range(MAX_UNWATCHED_TOPICS + 50)]
    await bus.open_topics(topics)
    bus.close_topics(topics)
    assert bus.retained_topic_count == MAX_UNWATCHED_TOPICS
    clock.seconds += TOPIC_LEASE_SECONDS + 1
    await bus.open_topics(["another"])
    assert bus.retained_topic_count == 1


async def test_bus_authenticates_with_the_password_of_its_url(tmp_path: Path, topic: str) -> None:
    async with redis_server(tmp_path, "--appendonly", "no") as server:
        await server.command("CONFIG", "SET", "requirepass", "secret")
        with_password = server.url.replace("//", "//:secret@")
        async with watching(RedisBus(create_finder(with_password))) as watcher:
            await watcher.bus.open_topics([topic])
            await watcher.bus.publish([reading(topic, 1)])
            await watcher.until(lambda: watcher.values(topic) == [1])
        async with RedisBus(create_finder(server.url)) as refused:
            with pytest.raises(Unavailable, match="does not answer: Authentication required"):
                await refused.check()
