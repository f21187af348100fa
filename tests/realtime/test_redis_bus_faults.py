"""The bus on Redis while things break: no gap that is not told, no duplicate, everything in order."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.redis_server import RedisServer
from tests.support.watching import Watcher, reading, since, values, watching
from wattgate.errors import Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import TOPIC_LEASE_SECONDS, event_publisher
from wattgate.realtime.bus import redis as redis_bus
from wattgate.realtime.bus.event_publisher import EventPublisher
from wattgate.realtime.bus.redis import MAX_PENDING_ENTRIES, RedisBus
from wattgate.realtime.bus.redis_client import RESET_STREAM_SCRIPT, RedisClient, ScriptCall, open_calls, stream_key
from wattgate.realtime.hub import Hub
from wattgate.realtime.server_address import ServerAddress

TOPICS = [f"readings:{n}" for n in range(20)]
QUICKLY = Backoff(min_seconds=0.02, max_seconds=0.1)


@asynccontextmanager
async def gateway(redis: RedisServer, *, ping_every: float = 5) -> AsyncIterator[Watcher]:
    async with watching(
        RedisBus(ServerAddress.from_redis_url(redis.url), ping_seconds=ping_every, backoff=QUICKLY)
    ) as watcher:
        yield watcher


class Meters:
    """Publishes rising values on every topic until it is told to stop; `sent` is how many rounds there were."""

    def __init__(self, through: Watcher) -> None:
        self._through = through
        self._stopping = False
        self._sent = asyncio.Condition()
        self.sent = 0

    async def run(self) -> None:
        while not self._stopping:
            await self._through.bus.publish([reading(topic, self.sent) for topic in TOPICS])
            self.sent += 1
            async with self._sent:
                self._sent.notify_all()
            await asyncio.sleep(0.005)

    async def more(self, rounds: int) -> None:
        """Wait for so many more rounds."""
        enough = self.sent + rounds
        async with asyncio.timeout(15), self._sent:
            await self._sent.wait_for(lambda: self.sent >= enough)

    def stop(self) -> None:
        self._stopping = True


@asynccontextmanager
async def meters(through: Watcher) -> AsyncIterator[Meters]:
    running = Meters(through)
    task = asyncio.create_task(running.run())
    try:
        yield running
    finally:
        running.stop()
        await task


async def test_a_connection_that_is_killed_again_and_again_loses_and_doubles_nothing(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(TOPICS)
        async with meters(publisher) as running:
            for kills in range(1, 6):
                await running.more(10)
                await own_redis.command("CLIENT", "KILL", "TYPE", "pubsub")
                await display.until(lambda kills=kills: len(display.told) == kills * len(TOPICS))  # type: ignore[misc]
        await display.until(lambda: len(display.events) >= running.sent * len(TOPICS))
        for topic in TOPICS:
            assert display.values(topic) == list(range(running.sent))
        assert all(recovered for _, recovered in display.told)
        assert publisher.bus.lost_events == 0  # type: ignore[attr-defined]


async def test_a_redis_that_comes_back_with_its_data_has_lost_nothing(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(TOPICS)
        async with meters(publisher) as running:
            await running.more(10)
            await own_redis.kill()
            await own_redis.start()
            await display.until(lambda: len(display.told) >= len(TOPICS))
            restarted = running.sent
            await display.until(lambda: all(display.values(topic)[-1] > restarted for topic in TOPICS))
        await display.until(lambda: all(display.values(topic)[-1] == running.sent - 1 for topic in TOPICS))
        gaps = {topic for topic in TOPICS if display.values(topic) != list(range(running.sent))}
        assert gaps <= {topic for topic, recovered in display.told if not recovered}
        for topic in TOPICS:
            assert display.values(topic) == sorted(set(display.values(topic)))
        if not publisher.bus.lost_events:  # type: ignore[attr-defined]
            assert not gaps


async def test_a_redis_that_comes_back_empty_is_told_to_everybody(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as one, gateway(own_redis) as other:
        (await one.bus.open_topics(TOPICS), await other.bus.open_topics(TOPICS))
        await publisher.bus.publish([reading(topic, 0) for topic in TOPICS])
        await other.until(lambda: len(other.events) == len(TOPICS))
        before = other.events[0].position or ""
        await own_redis.kill(keep_data=False)
        await own_redis.start()
        for watcher in (one, other):
            await watcher.until(lambda watcher=watcher: {(topic, False) for topic in TOPICS} <= set(watcher.told))  # type: ignore[misc]
            assert await since(watcher.bus, other.events[0].topic, before) is None
        await publisher.bus.publish([reading(topic, 1) for topic in TOPICS])
        for watcher in (one, other):
            await watcher.until(lambda watcher=watcher: len(watcher.events) == 2 * len(TOPICS))  # type: ignore[misc]
            assert [watcher.values(topic) for topic in TOPICS] == [[0, 1]] * len(TOPICS)


async def test_a_redis_that_comes_back_with_old_data_lets_nobody_go_on_from_them(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 1)])
        await display.until(lambda: len(display.events) == 1)
        await own_redis.command("SAVE")
        await publisher.bus.publish([reading("topic", 2)])
        await display.until(lambda: len(display.events) == 2)
        await own_redis.kill()
        await own_redis.start("--appendonly", "no")
        await display.until(lambda: display.told == [("topic", False)])
        first, second = (event.position or "" for event in display.events)
        assert await since(publisher.bus, "topic", first) is None  # the second one is missing after it
        assert await since(publisher.bus, "topic", second) is None
        await publisher.bus.publish([reading("topic", 3)])
        await display.until(lambda: display.values("topic") == [1, 2, 3])


async def test_a_hole_that_nobody_has_seen_is_gone_on_over_by_nobody(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        position = (await display.bus.open_topics(["topic"]))["topic"]
        display.bus.close_topics(["topic"])  # its display is away, and the stream is kept for it
        await publisher.bus.publish([reading("topic", 1)])
        assert values(await since(display.bus, "topic", position) or []) == [1]
        await own_redis.command("SAVE")
        await publisher.bus.publish([reading("topic", 2)])
        await own_redis.kill()
        await own_redis.start("--appendonly", "no")
        await publisher.bus.publish([reading("topic", 3)])
        assert publisher.bus.lost_events == 0  # type: ignore[attr-defined]
        assert await own_redis.command("XLEN", stream_key("topic")) == 3  # where it began, and two events of three
        assert await since(display.bus, "topic", position) is None


async def test_events_that_are_lost_while_redis_is_away_are_told_once_it_is_back(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        opened = await display.bus.open_topics(["hit", "spared"])
        await publisher.bus.publish([reading("hit", 1), reading("spared", 1)])
        await own_redis.kill()
        begun = asyncio.get_running_loop().time()
        await publisher.bus.publish([reading("hit", 2)])
        assert asyncio.get_running_loop().time() - begun < event_publisher.PUBLISH_TIMEOUT_SECONDS + 0.5
        begun = asyncio.get_running_loop().time()
        for n in range(100):  # while it is known to be away, nobody waits
            await publisher.bus.publish([reading("hit", n)])
        assert asyncio.get_running_loop().time() - begun < 0.5
        assert publisher.bus.lost_events == 101  # type: ignore[attr-defined]
        await own_redis.start()
        await display.until(lambda: ("hit", False) in display.told and ("spared", True) in display.told)
        assert ("spared", False) not in display.told
        assert await since(display.bus, "hit", opened["hit"]) is None
        assert await since(display.bus, "spared", opened["spared"]) is None  # who can say what Redis has lost
        again = (await display.bus.open_topics(["spared"]))["spared"]
        await publisher.bus.publish([reading("spared", 2)])
        await display.until(lambda: display.values("spared") == [1, 2])
        (newest,) = {event.position or "" for event in display.events if event.payload.value == 2}
        assert (await since(display.bus, "spared", again), await since(display.bus, "spared", newest)) == (None, [])
        async with asyncio.timeout(10):
            while 7 not in display.values("hit"):
                await publisher.bus.publish([reading("hit", 7)])
                await asyncio.sleep(0.02)


async def test_a_peer_that_falls_silent_is_noticed_and_what_came_meanwhile_is_read(own_redis: RedisServer) -> None:
    async with gateway(own_redis, ping_every=0.2) as display, gateway(own_redis) as publisher:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 1)])
        await display.until(lambda: len(display.events) == 1)
        own_redis.pause()
        pubsub = display.bus._pubsub  # type: ignore[attr-defined]
        assert await asyncio.wait_for(asyncio.shield(pubsub.closed), 2) == "Redis does not answer"
        own_redis.go_on()
        await publisher.bus.publish([reading("topic", 2)])
        await display.until(lambda: ("topic", True) in display.told and len(display.events) == 2)
        assert display.values("topic") == [1, 2]


async def test_a_quiet_connection_stays(own_redis: RedisServer) -> None:
    async with gateway(own_redis, ping_every=0.05) as display:
        await display.bus.open_topics(["topic"])
        pubsub = display.bus._pubsub  # type: ignore[attr-defined]
        await asyncio.wait([pubsub.closed], timeout=0.5)
        assert (pubsub.is_alive, display.told) == (True, [])


async def test_watching_begins_only_while_redis_is_there_but_waits_for_it(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own_redis.kill()
    async with gateway(own_redis) as display:
        with pytest.raises(Unavailable, match="does not answer"):
            await display.bus.check()
        opening = asyncio.create_task(display.bus.open_topics(["topic"]))
        await own_redis.start()
        assert set(await opening) == {"topic"}
        await own_redis.kill()
        monkeypatch.setattr(redis_bus, "OPEN_TIMEOUT_SECONDS", 0.3)
        for asked in (display.bus.open_topics(["another"]), since(display.bus, "topic", "1-1")):
            with pytest.raises(Unavailable, match="Live events are unavailable"):
                await asked
        hub = Hub(display.bus)
        with pytest.raises(Unavailable, match="Live events are unavailable"):
            async with hub.open_queue(["another"]):
                pass
        assert hub.listener_count == 0


async def test_a_flood_while_a_topic_is_read_again_is_bounded_and_told(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 0)])
        await display.until(lambda: len(display.events) == 1)
        display.bus._pubsub.abort()  # type: ignore[attr-defined]
        for _ in range(5):  # turns of the loop, in which the loss is noticed
            await asyncio.sleep(0)
        (topic,) = display.bus._topics.values()  # type: ignore[attr-defined]
        for n in range(3 * MAX_PENDING_ENTRIES):
            display.bus._on_message(topic.key.encode(), b"99999999999999-%d " % n)  # type: ignore[attr-defined]
        assert len(topic.pending) == MAX_PENDING_ENTRIES
        await display.until(lambda: ("topic", False) in display.told)


async def test_leases_are_renewed_and_a_stream_that_is_gone_is_noticed(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_bus, "RENEW_SECONDS", 0.05)
    async with gateway(own_redis) as one, gateway(own_redis) as other:
        (await one.bus.open_topics(["topic"]), await other.bus.open_topics(["topic"]))
        await own_redis.command("PEXPIRE", stream_key("topic"), "400")
        await own_redis.command("BLPOP", "nothing", "0.5")  # longer than what was left of the lease
        assert await own_redis.command("TTL", stream_key("topic")) > TOPIC_LEASE_SECONDS - 5
        assert (one.told, other.told) == ([], [])
        await own_redis.command("FLUSHALL")
        for watcher in (one, other):
            await watcher.until(lambda watcher=watcher: watcher.told == [("topic", False)])  # type: ignore[misc]


async def test_whoever_is_cancelled_while_redis_is_asked_leaves_at_once(own_redis: RedisServer) -> None:
    commands = RedisClient(ServerAddress.from_redis_url(own_redis.url))

    async def ask() -> None:
        while True:
            await commands.run(open_calls(["stream"]))

    for turns in range(100):
        asking = asyncio.create_task(ask())
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking], timeout=1)
        assert asking.cancelled()
    await commands.close()


async def test_when_too_many_topics_have_lost_events_every_stream_begins_anew(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_publisher, "MAX_PENDING_RESETS", 10)
    async with gateway(own_redis) as display:
        opened = await display.bus.open_topics(TOPICS)
        await own_redis.kill()
        commands = RedisClient(ServerAddress.from_redis_url(own_redis.url))
        sending = EventPublisher(commands, QUICKLY)
        await sending.publish([(f"unwatched:{n}", b"x") for n in range(11)])
        assert (sending.lost_events, sending.pending_resets) == (11, 0)
        await own_redis.start()
        await display.until(lambda: {(topic, False) for topic in TOPICS} <= set(display.told))
        assert await since(display.bus, TOPICS[0], opened[TOPICS[0]]) is None
        await sending.close()
        await commands.close()


class LateCommands(RedisClient):
    """Commands whose answers come late: `meanwhile` is done before that to a stream which begins anew is here."""

    def __init__(self, address: ServerAddress, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(address)
        self._meanwhile = meanwhile
        self.anew: list[str] = []
        """The keys of the streams that have begun anew."""

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        answers = await super().run(calls)
        begun = [key for call in calls if call.script == RESET_STREAM_SCRIPT for key in call.keys]
        if begun:
            self.anew += begun
            await self._meanwhile()
        return answers


async def test_an_event_that_is_lost_while_others_are_told_of_is_told_of_too(own_redis: RedisServer) -> None:
    twice = asyncio.Event()

    async def lose_another() -> None:
        if len(commands.anew) == 1:
            await sending.publish([("topic", b"x")])
        else:
            twice.set()

    commands = LateCommands(ServerAddress.from_redis_url(own_redis.url), lose_another)
    sending = EventPublisher(commands, QUICKLY)
    await own_redis.kill()
    await sending.publish([("topic", b"x")])
    await own_redis.start()
    await asyncio.wait_for(twice.wait(), 15)
    assert (sending.lost_events, sending.pending_resets, commands.anew) == (2, 0, [stream_key("topic")] * 2)
    await sending.close()
    await commands.close()


async def test_an_error_is_taken_from_whoever_has_left_before_it_came(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    commands = RedisClient(ServerAddress.from_redis_url(own_redis.url))
    own_redis.pause()
    asking = asyncio.create_task(commands.list_stream_keys())
    await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait([asking], timeout=1)
    await commands.close()  # waits for the error, which is that no answer came
    own_redis.go_on()
    del asking
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_publisher_that_ends_tells_what_it_has_lost(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        publisher = RedisBus(ServerAddress.from_redis_url(own_redis.url), backoff=Backoff(60, 60))
        async with publisher:
            await own_redis.kill()
            await publisher.publish([reading("topic", 1)])
            await own_redis.start()
        await display.until(lambda: ("topic", False) in display.told)
