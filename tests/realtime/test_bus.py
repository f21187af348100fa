"""The bus: one set of promises, kept by the one in memory and by the one on Redis."""

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
from wattgate.realtime.bus import KEPT_ENTRIES, KEPT_SECONDS, LEASE_SECONDS, Bus
from wattgate.realtime.bus.codec import KINDS, MAX_TOLD, STAYS, Decoder, encode
from wattgate.realtime.bus.commands import AT_ONCE, Commands, key_of, opening, publishing, shard_of
from wattgate.realtime.bus.memory import MAX_ENTRIES, MAX_LEFT, MemoryBus
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.events import (
    AlertSent,
    AlertsRead,
    CatchUpMoved,
    DeviceStateChanged,
    Event,
    IntakeHeard,
    OneTimeCodeMade,
    Revoked,
)
from wattgate.realtime.server_address import Address


@pytest.fixture(scope="module")
async def redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RedisServer]:
    async with redis_server(tmp_path_factory.mktemp("redis"), "--appendonly", "no") as server:
        yield server


@pytest.fixture(params=["memory", "redis"])
async def watcher(request: pytest.FixtureRequest, redis: RedisServer) -> AsyncIterator[Watcher]:
    bus: Bus = MemoryBus() if request.param == "memory" else RedisBus(Address.at(redis.url))
    async with watching(bus) as watcher:
        yield watcher


@pytest.fixture
def topic() -> str:
    return f"readings:{uuid4()}"


async def test_events_come_in_order_with_rising_positions(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open([topic]))[topic]
    for n in range(0, 50, 5):
        await watcher.bus.publish([reading(topic, n + more) for more in range(5)])
    await watcher.until(lambda: len(watcher.events) == 50)
    assert watcher.values(topic) == list(range(50))
    positions = [event.position or "" for event in watcher.events]
    places = [[int(part) for part in position.split("-")] for position in (opened, *positions)]
    assert places == sorted(places)
    assert len(set(positions)) == 50
    assert watcher.events[0] == msgspec.structs.replace(reading(topic, 0), position=positions[0])


async def test_many_topics_are_watched_at_once(watcher: Watcher, topic: str) -> None:
    topics = [f"{topic}:{n}" for n in range(1_200)]
    assert set(await watcher.bus.open(topics)) == set(topics)
    await watcher.bus.publish([reading(one, n) for n, one in enumerate(topics)])
    await watcher.until(lambda: len(watcher.events) == len(topics))
    assert {event.topic: event.payload.value for event in watcher.events} == {one: n for n, one in enumerate(topics)}


async def test_nothing_comes_of_what_is_not_watched(watcher: Watcher, topic: str) -> None:
    await watcher.bus.publish([reading(topic, 1)])
    await watcher.bus.open([topic, "left"])
    watcher.bus.unwatch(["left", "never watched"])
    await watcher.bus.publish([reading("left", 2), reading("other", 3), reading(topic, 4)])
    await watcher.until(lambda: bool(watcher.values(topic)))
    assert values(watcher.events) == [4]


async def test_a_topic_that_is_left_and_watched_again_at_once_is_watched(watcher: Watcher, topic: str) -> None:
    await watcher.bus.open([topic])
    watcher.bus.unwatch([topic])
    await watcher.bus.open([topic])
    await watcher.bus.publish([reading(topic, 1)])
    await watcher.until(lambda: watcher.values(topic) == [1])


async def test_all_that_came_after_a_kept_position_is_read_again(watcher: Watcher, topic: str) -> None:
    opened = (await watcher.bus.open([topic]))[topic]
    assert await since(watcher.bus, topic, opened) == []
    await watcher.bus.publish([reading(topic, n) for n in range(30)])
    await watcher.until(lambda: len(watcher.events) == 30)
    assert await since(watcher.bus, topic, opened) == watcher.events
    assert await since(watcher.bus, topic, watcher.events[9].position or "") == watcher.events[10:]
    assert await since(watcher.bus, topic, watcher.events[-1].position or "") == []
    assert await watcher.bus.open([topic]) == {topic: watcher.events[-1].position}


async def test_events_are_kept_for_those_who_come_back_to_a_topic_that_nobody_watched(
    watcher: Watcher, topic: str
) -> None:
    opened = (await watcher.bus.open([topic]))[topic]
    watcher.bus.unwatch([topic])
    await watcher.bus.publish([reading(topic, 1)])
    assert values(await since(watcher.bus, topic, opened) or []) == [1]
    assert watcher.events == []


@pytest.mark.parametrize("position", ["1-1", "", "what", "99999999999999-0", "1-1 COUNT", "$"])
async def test_a_position_that_is_not_kept_is_not_recovered(watcher: Watcher, topic: str, position: str) -> None:
    assert await since(watcher.bus, topic, position) is None
    await watcher.bus.open([topic])
    await watcher.bus.publish([reading(topic, 1)])
    assert await since(watcher.bus, topic, position) is None


async def test_of_many_events_the_newest_are_kept_and_an_older_position_is_not_recovered(
    watcher: Watcher, topic: str
) -> None:
    opened = (await watcher.bus.open([topic]))[topic]
    await watcher.bus.publish([reading(topic, n) for n in range(1_000)])
    await watcher.until(lambda: len(watcher.events) == 1_000)
    assert await since(watcher.bus, topic, opened) is None
    newest = watcher.events[-KEPT_ENTRIES:]
    assert await since(watcher.bus, topic, newest[0].position or "") == newest[1:]


async def test_a_batch_of_no_events_is_nothing(watcher: Watcher) -> None:
    await watcher.bus.publish([])
    await watcher.bus.check()
    assert watcher.events == []


async def test_a_code_stays_in_the_process_that_made_it(redis: RedisServer, topic: str) -> None:
    code = Event(topic, "code", OneTimeCodeMade("verification", "account", "ada", "ada@example.org", "123456", AT))
    async with watching(RedisBus(Address.at(redis.url))) as one, watching(RedisBus(Address.at(redis.url))) as other:
        (await one.bus.open([topic]), await other.bus.open([topic]))
        await one.bus.publish([code, reading(topic, 1)])
        await other.until(lambda: bool(other.events))
    assert one.events[0] == code
    assert values(other.events) == [1]
    assert await redis.command("XLEN", key_of(topic)) == 2  # the marker and the reading


async def test_two_processes_on_one_redis_see_the_same_events_at_the_same_positions(
    redis: RedisServer, topic: str
) -> None:
    async with watching(RedisBus(Address.at(redis.url))) as one, watching(RedisBus(Address.at(redis.url))) as other:
        await asyncio.gather(one.bus.open([topic]), other.bus.open([topic]))
        await asyncio.gather(*(bus.publish([reading(topic, n)]) for n in range(20) for bus in (one.bus, other.bus)))
        for watcher in (one, other):
            await watcher.until(lambda watcher=watcher: len(watcher.events) == 40)  # type: ignore[misc]
        assert one.events == other.events
        assert sorted(values(one.events)) == sorted([*range(20), *range(20)])
        assert (one.told, other.told) == ([], [])


async def test_a_call_that_comes_again_adds_nothing_twice(redis: RedisServer, topic: str) -> None:
    commands = Commands(Address.at(redis.url))
    await commands.run(opening([key_of(topic)]))
    calls = publishing([(topic, encode(reading(topic, n))) for n in range(3)])
    assert [await commands.run(calls), await commands.run(calls)] == [[1], [0]]
    assert await redis.command("XLEN", key_of(topic)) == 4
    await commands.close()


async def test_scripts_that_redis_has_forgotten_are_loaded_again(redis: RedisServer, topic: str) -> None:
    async with watching(RedisBus(Address.at(redis.url))) as watcher:
        await redis.command("SCRIPT", "FLUSH")
        await watcher.bus.open([topic])
        await redis.command("SCRIPT", "FLUSH")
        await watcher.bus.publish([reading(topic, 1)])
        await watcher.until(lambda: watcher.values(topic) == [1])


async def test_what_nobody_watches_costs_no_memory_and_what_is_watched_has_a_lease(
    redis: RedisServer, topic: str
) -> None:
    async with watching(RedisBus(Address.at(redis.url))) as watcher:
        await watcher.bus.publish([reading(topic, 1)])
        assert await redis.command("EXISTS", key_of(topic)) == 0
        await watcher.bus.open([topic])
        assert LEASE_SECONDS - 5 < await redis.command("TTL", key_of(topic)) <= LEASE_SECONDS
        await watcher.bus.publish([reading(topic, n) for n in range(5_000)])
        assert await redis.command("XLEN", key_of(topic)) < 3 * KEPT_ENTRIES


async def test_a_stream_that_vanished_under_those_who_watch_is_told_to_all_of_them(
    redis: RedisServer, topic: str
) -> None:
    async with watching(RedisBus(Address.at(redis.url))) as one, watching(RedisBus(Address.at(redis.url))) as other:
        (await one.bus.open([topic]), await other.bus.open([topic]))
        await redis.command("DEL", key_of(topic))
        await one.bus.open([topic])  # what the renewal of the lease does
        for watcher in (one, other):
            await watcher.until(lambda watcher=watcher: watcher.told == [(topic, False)])  # type: ignore[misc]


def test_a_call_stays_within_one_hash_tag_and_has_a_bound() -> None:
    calls = publishing([(f"readings:{n % 300}", b"x") for n in range(100 * AT_ONCE)])
    for call in calls:
        assert len({key.split("}")[0] for key in call.keys}) == 1
        assert len(call.keys) <= AT_ONCE + 1
    assert sum(len(call.keys) - 1 for call in calls) == 100 * AT_ONCE
    assert len({shard_of(f"readings:{n}") for n in range(10_000)}) == 64


def test_every_payload_either_travels_or_stays() -> None:
    payloads = {
        value
        for value in vars(all_events).values()
        if isinstance(value, type) and value.__module__ == all_events.__name__ and value is not Event
    }
    assert payloads == {*KINDS.values(), *STAYS}
    assert not STAYS.intersection(KINDS.values())


@pytest.mark.parametrize(
    "payload",
    [
        Revoked("1234567890123"),
        CatchUpMoved("id", "resource", CatchUpState.RUNNING, 5, None, AT, AT, None),
        reading("", 0.1).payload,
        DeviceStateChanged("device", NetworkState(at=AT, rssi=-88, status="joined")),
        IntakeHeard("intake", AT, True),
        AlertSent("alert", "app", "user", "type", "CM01", ["push"], "High", None, {"use": [1.5, None]}, AT),
        AlertsRead("user", 3),
    ],
)
def test_an_event_is_read_as_it_was_written(payload: msgspec.Struct) -> None:
    event = Event("topic", "key", payload)
    assert Decoder().decode("topic", "1-1", encode(event)) == msgspec.structs.replace(event, position="1-1")


def test_what_a_newer_gateway_sends_is_passed_over_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    decoder = Decoder()
    for body in (b'["weather","key",{}]', b'["weather","key",{"rain":1}]', b'["revoked","key",{}]', b"not ours"):
        assert decoder.decode("topic", "1-1", body) is None
    assert len(caplog.records) == 3
    assert "'weather'" in caplog.records[0].getMessage()
    more = decoder.decode("topic", "1-1", b'["revoked","key",{"mpxn":"1","since":"2027"}]')
    assert more is not None
    assert more.payload == Revoked("1")
    for n in range(2 * MAX_TOLD):
        decoder.decode("topic", "1-1", f'["{n}","key",{{}}]'.encode())
    assert len(caplog.records) == MAX_TOLD


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_memory_keeps_events_for_minutes_but_not_without_bound() -> None:
    clock = Hand()
    bus = MemoryBus(clock)
    opened = (await bus.open(["topic"]))["topic"]

    async def came(count: int, every: float) -> list[Event]:
        before = (await bus.open(["topic"]))["topic"]
        for n in range(count):
            await bus.publish([reading("topic", n)])
            clock.seconds += every
        return await since(bus, "topic", before) or []

    assert len(await came(KEPT_ENTRIES - 1, 3600)) == KEPT_ENTRIES - 1
    assert await since(bus, "topic", opened) is not None
    assert len(await came(int(KEPT_SECONDS), 0.9)) == KEPT_SECONDS
    assert await since(bus, "topic", opened) is None
    assert await came(MAX_ENTRIES, 0) == []


async def test_memory_forgets_topics_that_nobody_watches() -> None:
    clock = Hand()
    bus = MemoryBus(clock)
    topics = [str(n) for n in range(MAX_LEFT + 50)]
    await bus.open(topics)
    bus.unwatch(topics)
    assert bus.kept == MAX_LEFT
    clock.seconds += LEASE_SECONDS + 1
    await bus.open(["another"])
    assert bus.kept == 1


@pytest.mark.parametrize(
    "url",
    ["localhost", "http://localhost", "redis://", "redis://localhost/one", "redis://localhost/0?ssl=no", "redis://h:x"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address|could not be cast"):
        Address.at(url)


def test_an_address_says_who_the_gateway_is_and_is_told_without_its_password() -> None:
    address = Address.at("rediss://gate:pass%40word@redis.example/3")
    assert (address.host, address.port, address.tls, address.database) == ("redis.example", 6379, True, 3)
    assert (address.username, address.password) == ("gate", "pass@word")
    assert "pass@word" not in f"{address} {address!r}"


async def test_a_redis_that_wants_a_password_is_told_it(tmp_path: Path, topic: str) -> None:
    async with redis_server(tmp_path, "--appendonly", "no") as server:
        await server.command("CONFIG", "SET", "requirepass", "secret")
        with_password = server.url.replace("//", "//:secret@")
        async with watching(RedisBus(Address.at(with_password))) as watcher:
            await watcher.bus.open([topic])
            await watcher.bus.publish([reading(topic, 1)])
            await watcher.until(lambda: watcher.values(topic) == [1])
        async with RedisBus(Address.at(server.url)) as refused:
            with pytest.raises(Unavailable, match="does not answer: Authentication required"):
                await refused.check()
