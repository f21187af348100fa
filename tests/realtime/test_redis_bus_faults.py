"""The bus on Redis and on Valkey under faults: gaps are reported; events arrive in order and without duplicates."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.redis_server import WHEELS, RedisServer, redis_server
from tests.support.watching import Watcher, reading, since, values, watching
from wattgate.errors import Unavailable
from wattgate.metrics import REDIS_DISCONNECTED
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import TOPIC_LEASE_SECONDS, command_connection, event_publisher
from wattgate.realtime.bus import redis as redis_bus
from wattgate.realtime.bus.event_publisher import EventPublisher
from wattgate.realtime.bus.primary import PrimaryFinder, create_finder
from wattgate.realtime.bus.redis import MAX_PENDING_ENTRIES, RedisBus
from wattgate.realtime.bus.redis_client import RESET_STREAM_SCRIPT, RedisClient, ScriptCall, open_calls, stream_key
from wattgate.realtime.hub import Hub

TOPICS = [f"readings:{n}" for n in range(20)]
SHORT_BACKOFF = Backoff(min_seconds=0.02, max_seconds=0.1)

WAIT_SECONDS = 60
"""Maximum wait for an event, in seconds. It only ends a broken test."""


@pytest.fixture(params=WHEELS)
async def own_redis(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RedisServer]:
    """A server of each product, of one test, which may stop and restart it."""
    async with redis_server(tmp_path_factory.mktemp("redis"), product=request.param) as server:
        yield server


@pytest.fixture
def patient_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands wait for a Redis that is slow on a busy machine, in tests in which it is not silent."""
    monkeypatch.setattr(command_connection, "RESPONSE_TIMEOUT_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(event_publisher, "PUBLISH_TIMEOUT_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(redis_bus, "OPEN_TIMEOUT_SECONDS", WAIT_SECONDS)


@asynccontextmanager
async def gateway(redis: RedisServer, *, ping_seconds: float = 5) -> AsyncIterator[Watcher]:
    async with watching(
        RedisBus(create_finder(redis.url), ping_seconds=ping_seconds, backoff=SHORT_BACKOFF)
    ) as watcher:
        yield watcher


class MeterSimulator:
    """Publish rising values on every topic until `stop` is called. `rounds` counts the values of each topic."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._stopping = False
        self._round_sent = asyncio.Condition()
        self.rounds = 0

    async def run(self) -> None:
        while not self._stopping:
            await self._watcher.bus.publish([reading(topic, self.rounds) for topic in TOPICS])
            self.rounds += 1
            async with self._round_sent:
                self._round_sent.notify_all()
            await asyncio.sleep(0.005)

    async def wait_for_rounds(self, count: int) -> None:
        """Wait for this many more rounds."""
        target = self.rounds + count
        async with asyncio.timeout(WAIT_SECONDS), self._round_sent:
            await self._round_sent.wait_for(lambda: self.rounds >= target)

    def stop(self) -> None:
        self._stopping = True


@asynccontextmanager
async def running_meters(through: Watcher) -> AsyncIterator[MeterSimulator]:
    simulator = MeterSimulator(through)
    task = asyncio.create_task(simulator.run())
    try:
        yield simulator
    finally:
        simulator.stop()
        await task


def disconnected_processes() -> float:
    (metric,) = REDIS_DISCONNECTED.collect()
    (sample,) = metric.samples
    return sample.value


async def test_metric_shows_that_the_connection_of_live_events_is_missing(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as display:
        assert disconnected_processes() == 0
        await display.bus.open_topics(TOPICS)
        await display.until(lambda: disconnected_processes() == 0)
        await own_redis.kill()
        await display.until(lambda: disconnected_processes() == 1)
        await own_redis.start()
        await display.until(lambda: disconnected_processes() == 0)


@pytest.mark.usefixtures("patient_commands")
async def test_repeatedly_killed_connection_causes_no_gap_and_no_duplicate(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(TOPICS)
        async with running_meters(publisher) as meters:
            for kills in range(1, 6):
                await meters.wait_for_rounds(10)
                await own_redis.command("CLIENT", "KILL", "TYPE", "pubsub")
                await display.until(lambda kills=kills: len(display.resyncs) == kills * len(TOPICS))  # type: ignore[misc]
        await display.until(lambda: len(display.events) >= meters.rounds * len(TOPICS))
        for topic in TOPICS:
            assert display.values(topic) == list(range(meters.rounds))
        assert all(recovered for _, recovered in display.resyncs)
        assert publisher.bus.lost_events == 0  # type: ignore[attr-defined]


async def test_restart_of_redis_with_its_data_loses_nothing(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(TOPICS)
        async with running_meters(publisher) as meters:
            await meters.wait_for_rounds(10)
            await own_redis.kill()
            await own_redis.start()
            await display.until(lambda: len(display.resyncs) >= len(TOPICS))
            restarted = meters.rounds
            await display.until(lambda: all(display.values(topic)[-1] > restarted for topic in TOPICS))
        await display.until(lambda: all(display.values(topic)[-1] == meters.rounds - 1 for topic in TOPICS))
        gaps = {topic for topic in TOPICS if display.values(topic) != list(range(meters.rounds))}
        assert gaps <= {topic for topic, recovered in display.resyncs if not recovered}
        for topic in TOPICS:
            assert display.values(topic) == sorted(set(display.values(topic)))
        if not publisher.bus.lost_events:  # type: ignore[attr-defined]
            assert not gaps


async def test_restart_of_redis_without_data_is_reported_to_all(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as first, gateway(own_redis) as second:
        (await first.bus.open_topics(TOPICS), await second.bus.open_topics(TOPICS))
        await publisher.bus.publish([reading(topic, 0) for topic in TOPICS])
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: len(watcher.events) == len(TOPICS))  # type: ignore[misc]
        before = second.events[0].position or ""
        await own_redis.kill(keep_data=False)
        await own_redis.start()
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: {(topic, False) for topic in TOPICS} <= set(watcher.resyncs))  # type: ignore[misc]
            assert await since(watcher.bus, second.events[0].topic, before) is None
        await publisher.bus.publish([reading(topic, 1) for topic in TOPICS])
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: len(watcher.events) == 2 * len(TOPICS))  # type: ignore[misc]
            assert [watcher.values(topic) for topic in TOPICS] == [[0, 1]] * len(TOPICS)


async def test_restart_of_redis_with_old_data_invalidates_all_positions(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 1)])
        await display.until(lambda: len(display.events) == 1)
        await own_redis.command("SAVE")
        await publisher.bus.publish([reading("topic", 2)])
        await display.until(lambda: len(display.events) == 2)
        await own_redis.kill()
        await own_redis.start("--appendonly", "no")
        await display.until(lambda: display.resyncs == [("topic", False)])
        first, second = (event.position or "" for event in display.events)
        assert await since(publisher.bus, "topic", first) is None  # the second event is missing after it
        assert await since(publisher.bus, "topic", second) is None
        await publisher.bus.publish([reading("topic", 3)])
        await display.until(lambda: display.values("topic") == [1, 2, 3])


async def test_position_before_a_lost_event_is_invalid_though_no_gateway_saw_the_loss(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        position = (await display.bus.open_topics(["topic"]))["topic"]
        display.bus.close_topics(["topic"])  # its display is disconnected, and the stream is retained for it
        await publisher.bus.publish([reading("topic", 1)])
        assert values(await since(display.bus, "topic", position) or []) == [1]
        await own_redis.command("SAVE")
        await publisher.bus.publish([reading("topic", 2)])
        await own_redis.kill()
        await own_redis.start("--appendonly", "no")
        await publisher.bus.publish([reading("topic", 3)])
        assert publisher.bus.lost_events == 0  # type: ignore[attr-defined]
        assert await own_redis.command("XLEN", stream_key("topic")) == 3  # the marker, and two events of three
        assert await since(display.bus, "topic", position) is None


async def wait_until_published(publisher: Watcher, topic: str) -> None:
    """Publish until the bus loses no event, because its connection to Redis is open again."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            lost = publisher.bus.lost_events  # type: ignore[attr-defined]
            await publisher.bus.publish([reading(topic, 0)])
            if publisher.bus.lost_events == lost:  # type: ignore[attr-defined]
                return
            await asyncio.sleep(0.02)


def ends_without_waiting(coroutine: Coroutine[Any, Any, None]) -> bool:
    """Start a coroutine, and return whether it ends before it waits for anything. If it waits, end it."""
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    coroutine.close()
    return False


async def test_events_lost_while_redis_is_unavailable_are_reported_afterwards(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        opened = await display.bus.open_topics(["hit", "spared"])
        await publisher.bus.publish([reading("hit", 1), reading("spared", 1)])
        await own_redis.kill()
        await asyncio.wait_for(publisher.bus.publish([reading("hit", 2)]), WAIT_SECONDS)
        for n in range(100):  # while Redis is known to be unavailable
            assert ends_without_waiting(publisher.bus.publish([reading("hit", n)]))
        assert publisher.bus.lost_events == 101  # type: ignore[attr-defined]
        await own_redis.start()
        # it is unknown which events the new run of Redis lacks
        await display.until(lambda: {("hit", False), ("spared", False)} <= set(display.resyncs))
        assert await since(display.bus, "hit", opened["hit"]) is None
        assert (
            await since(display.bus, "spared", opened["spared"]) is None
        )  # it is unknown whether Redis has lost events
        await wait_until_published(publisher, "probe")
        reopened_at = (await display.bus.open_topics(["spared"]))["spared"]
        await publisher.bus.publish([reading("spared", 2)])
        await display.until(lambda: display.values("spared") == [1, 2])
        (newest,) = {event.position or "" for event in display.events if event.payload.value == 2}
        assert (await since(display.bus, "spared", reopened_at), await since(display.bus, "spared", newest)) == (
            None,
            [],
        )
        async with asyncio.timeout(WAIT_SECONDS):
            while 7 not in display.values("hit"):
                await publisher.bus.publish([reading("hit", 7)])
                await asyncio.sleep(0.02)


async def test_silent_redis_is_detected_and_missed_events_are_read(own_redis: RedisServer) -> None:
    async with gateway(own_redis, ping_seconds=0.5) as display, gateway(own_redis) as publisher:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 1)])
        await display.until(lambda: len(display.events) == 1)
        own_redis.pause()
        pubsub = display.bus._pubsub  # type: ignore[attr-defined]
        assert await asyncio.wait_for(asyncio.shield(pubsub.closed), WAIT_SECONDS) == "Redis does not answer"
        own_redis.go_on()
        await publisher.bus.publish([reading("topic", 2)])
        await display.until(lambda: ("topic", True) in display.resyncs and len(display.events) == 2)
        assert display.values("topic") == [1, 2]


async def test_connection_without_messages_stays_open(own_redis: RedisServer) -> None:
    async with gateway(own_redis, ping_seconds=3600) as display:
        await display.bus.open_topics(["topic"])
        pubsub = display.bus._pubsub  # type: ignore[attr-defined]
        for _ in range(5):  # as its timer does
            pubsub._ping()
            await display.until(lambda: not pubsub._awaiting_pong)
        assert (pubsub.is_alive, display.resyncs) == (True, [])


async def test_opening_a_topic_waits_for_redis_up_to_a_timeout(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own_redis.kill()
    monkeypatch.setattr(redis_bus, "OPEN_TIMEOUT_SECONDS", WAIT_SECONDS)  # it includes the start of the server
    async with gateway(own_redis) as display:
        with pytest.raises(Unavailable, match="does not answer"):
            await display.bus.check()
        opening = asyncio.create_task(display.bus.open_topics(["topic"]))
        await own_redis.start()
        assert set(await opening) == {"topic"}
        await own_redis.kill()
        monkeypatch.setattr(redis_bus, "OPEN_TIMEOUT_SECONDS", 0.3)
        for request in (display.bus.open_topics(["another"]), since(display.bus, "topic", "1-1")):
            with pytest.raises(Unavailable, match="Live events are unavailable"):
                await request
        hub = Hub(display.bus)
        with pytest.raises(Unavailable, match="Live events are unavailable"):
            async with hub.open_queue(["another"]):
                pass
        assert hub.listener_count == 0


async def test_pending_messages_during_a_resync_have_a_bound(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as publisher, gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        await publisher.bus.publish([reading("topic", 0)])
        await display.until(lambda: len(display.events) == 1)
        display.bus._pubsub.abort()  # type: ignore[attr-defined]
        for _ in range(5):  # iterations of the event loop, in which the loss is detected
            await asyncio.sleep(0)
        (topic,) = display.bus._topics.values()  # type: ignore[attr-defined]
        for n in range(3 * MAX_PENDING_ENTRIES):
            display.bus._on_message(topic.key.encode(), b"99999999999999-%d " % n)  # type: ignore[attr-defined]
        assert len(topic.pending) == MAX_PENDING_ENTRIES
        await display.until(lambda: ("topic", False) in display.resyncs)


async def test_leases_are_renewed_and_a_deleted_stream_is_reported(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_bus, "RENEW_SECONDS", 0.05)
    async with gateway(own_redis) as first, gateway(own_redis) as second:
        (await first.bus.open_topics(["topic"]), await second.bus.open_topics(["topic"]))
        for _ in range(2):  # the second time, it is renewed again
            await own_redis.command("EXPIRE", stream_key("topic"), str(TOPIC_LEASE_SECONDS // 2))
            async with asyncio.timeout(WAIT_SECONDS):
                while (await own_redis.command("TTL", stream_key("topic"))) <= TOPIC_LEASE_SECONDS // 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        assert (first.resyncs, second.resyncs) == ([], [])
        await own_redis.command("FLUSHALL")
        for watcher in (first, second):
            await watcher.until(lambda watcher=watcher: watcher.resyncs == [("topic", False)])  # type: ignore[misc]


async def test_cancelled_caller_returns_immediately(own_redis: RedisServer) -> None:
    commands = RedisClient(create_finder(own_redis.url))

    async def open_repeatedly() -> None:
        while True:
            await commands.run(open_calls(["stream"]))

    for iterations in range(100):
        task = asyncio.create_task(open_repeatedly())
        for _ in range(iterations):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=WAIT_SECONDS)
        assert task.cancelled()
    await commands.close()


async def test_all_streams_are_reset_when_too_many_topics_have_lost_events(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_publisher, "MAX_PENDING_RESETS", 10)
    async with gateway(own_redis) as display:
        opened = await display.bus.open_topics(TOPICS)
        await own_redis.kill()
        commands = RedisClient(create_finder(own_redis.url))
        publisher = EventPublisher(commands, SHORT_BACKOFF)
        await publisher.publish([(f"unwatched:{n}", b"x") for n in range(11)])
        assert (publisher.lost_events, publisher.pending_resets) == (11, 0)
        await own_redis.start()
        await display.until(lambda: {(topic, False) for topic in TOPICS} <= set(display.resyncs))
        assert await since(display.bus, TOPICS[0], opened[TOPICS[0]]) is None
        await publisher.close()
        await commands.close()


class InterruptedRedisClient(RedisClient):
    """A client that awaits `after_reset` between a reset of streams and its reply."""

    def __init__(self, primary: PrimaryFinder, after_reset: Callable[[], Awaitable[None]]) -> None:
        super().__init__(primary)
        self._after_reset = after_reset
        self.reset_keys: list[str] = []
        """The keys of the streams that were reset."""

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        replies = await super().run(calls)
        reset_keys = [key for call in calls if call.script == RESET_STREAM_SCRIPT for key in call.keys]
        if reset_keys:
            self.reset_keys += reset_keys
            await self._after_reset()
        return replies


async def test_event_lost_during_a_reset_causes_another_reset(own_redis: RedisServer) -> None:
    reset_twice = asyncio.Event()

    async def lose_another() -> None:
        if len(commands.reset_keys) == 1:
            await publisher.publish([("topic", b"x")])
        else:
            reset_twice.set()

    commands = InterruptedRedisClient(create_finder(own_redis.url), lose_another)
    publisher = EventPublisher(commands, SHORT_BACKOFF)
    await own_redis.kill()
    await publisher.publish([("topic", b"x")])
    await own_redis.start()
    await asyncio.wait_for(reset_twice.wait(), 60)
    assert (publisher.lost_events, publisher.pending_resets, commands.reset_keys) == (2, 0, [stream_key("topic")] * 2)
    await publisher.close()
    await commands.close()


async def test_error_after_a_cancellation_is_not_logged_by_asyncio(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    commands = RedisClient(create_finder(own_redis.url))
    own_redis.pause()
    task = asyncio.create_task(commands.list_stream_keys())
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task], timeout=WAIT_SECONDS)
    await commands.close()  # waits for the timeout of the command
    own_redis.go_on()
    del task
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_closing_bus_reports_its_lost_events(own_redis: RedisServer) -> None:
    async with gateway(own_redis) as display:
        await display.bus.open_topics(["topic"])
        publisher = RedisBus(create_finder(own_redis.url), backoff=Backoff(60, 60))
        async with publisher:
            await own_redis.kill()
            await publisher.publish([reading("topic", 1)])
            await own_redis.start()
        await display.until(lambda: ("topic", False) in display.resyncs)
