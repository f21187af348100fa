"""The bus of several processes: events go through Redis, and what a lost connection has missed is read again."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from time import time
from typing import Any, Self, TypeVar

from redis.exceptions import RedisError

from wattgate.errors import Unavailable
from wattgate.metrics import PUB_SUB_LAG_SECONDS
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import TOPIC_LEASE_SECONDS, DeliverCallback, ResyncCallback, is_position, parse_position
from wattgate.realtime.bus.codec import LOCAL_ONLY_TYPES, EventDecoder, encode_event
from wattgate.realtime.bus.event_publisher import EventPublisher
from wattgate.realtime.bus.pubsub import PubSub
from wattgate.realtime.bus.redis_client import (
    BATCH_SIZE,
    MIN_REDIS_VERSION,
    RedisClient,
    StreamEntry,
    open_calls,
    reset_calls,
    stream_key,
)
from wattgate.realtime.events import Event
from wattgate.realtime.server_address import ServerAddress

T = TypeVar("T")

log = logging.getLogger(__name__)

OPEN_TIMEOUT_SECONDS = 5.0
"""How long a subscription may wait for Redis before it is told that live events are away."""

RESYNC_TIMEOUT_SECONDS = 30.0
"""How long reading all topics again may take after a new connection."""

PING_SECONDS = 5.0
RENEW_SECONDS = TOPIC_LEASE_SECONDS / 3
MAX_PENDING_ENTRIES = 1_000
"""How many events of a topic wait while it is read again. With so many, some are taken for lost."""

LAG_SAMPLE_INTERVAL = 16
"""Of one in so many messages the way is timed, by the clocks of Redis and of this machine."""

RETRY_BACKOFF = Backoff(min_seconds=0.1, max_seconds=0.5)
"""Short, because what is lost is told only then; a process makes two connections for all its clients."""


class _WatchedTopic:
    """A watched topic.

    `last` is the newest position that was handed on, or from which it is watched. What is not newer than `floor` is
    already known. `held` are the messages that wait while the topic is read again.
    """

    __slots__ = ("key", "known_until", "last_position", "name", "pending")

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = stream_key(name)
        self.last_position: str | None = None
        self.known_until: str | None = None
        self.pending: deque[StreamEntry] | None = None


class RedisBus:
    """Carries events through Redis 6.2 or later."""

    def __init__(
        self, address: ServerAddress, *, ping_seconds: float = PING_SECONDS, backoff: Backoff = RETRY_BACKOFF
    ) -> None:
        self._address = address
        self._ping_seconds = ping_seconds
        self._backoff = backoff
        self.client = RedisClient(address)
        """What else the gateways keep together goes on these connections."""
        self._publisher = EventPublisher(self.client, backoff)
        self._decoder = EventDecoder()
        self._deliver: DeliverCallback = _discard
        self._on_resync: ResyncCallback = _discard
        self._topics: dict[bytes, _WatchedTopic] = {}
        self._pubsub: PubSub | None = None
        self._connected = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._message_count = 0

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        self._deliver, self._on_resync = deliver, on_resync

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._publisher.close()
        await self.client.close()

    @property
    def lost_events(self) -> int:
        """How many events were not published because Redis was away."""
        return self._publisher.lost_events

    async def publish(self, events: Sequence[Event]) -> None:
        encoded_events = []
        for event in events:
            if type(event.payload) in LOCAL_ONLY_TYPES:
                self._deliver(event)
            else:
                encoded_events.append((event.topic, encode_event(event)))
        if encoded_events:
            await self._publisher.publish(encoded_events)

    async def open_topics(self, topics: Sequence[str]) -> dict[str, str]:
        self._start_tasks()
        watched = [
            self._topics.setdefault(stream_key(name).encode(), _WatchedTopic(name)) for name in dict.fromkeys(topics)
        ]
        return await self._retry_until_timeout(lambda: self._subscribe_and_open(watched))

    def close_topics(self, topics: Sequence[str]) -> None:
        keys = [key for name in topics if self._topics.pop((key := stream_key(name)).encode(), None) is not None]
        if self._pubsub is not None:
            self._pubsub.unsubscribe(keys)

    async def read_since(self, topic_positions: Sequence[tuple[str, str]]) -> list[list[Event] | None]:
        valid = {(topic, position) for topic, position in topic_positions if is_position(position)}
        stream_positions = [(stream_key(topic), position) for topic, position in valid]
        entries_by_position = dict(
            zip(valid, await self._retry_until_timeout(lambda: self._read_since(stream_positions)), strict=True)
        )
        return [
            self._decode_entries(topic, entries_by_position.get((topic, position)))
            for topic, position in topic_positions
        ]

    async def check(self) -> None:
        try:
            version = await self.client.server_version()
        except (RedisError, OSError) as error:
            raise Unavailable(f"Redis at {self._address} does not answer: {error}", retry_after=1) from error
        if version < MIN_REDIS_VERSION:
            raise Unavailable(f"Redis at {self._address} is older than {'.'.join(map(str, MIN_REDIS_VERSION))}")

    async def _subscribe_and_open(self, watched: Sequence[_WatchedTopic]) -> dict[str, str]:
        """Subscribe, then make the streams. ConnectionError where what comes in between could be missed."""
        await self._connected.wait()
        pubsub = self._pubsub
        if pubsub is None:
            raise ConnectionError("the connection was lost")
        await pubsub.subscribe(topic.key for topic in watched)
        positions = await self._open_streams(watched)
        if not pubsub.is_alive:
            raise ConnectionError("the connection was lost")
        for topic, position in zip(watched, positions, strict=True):
            if topic.last_position is None:
                topic.last_position = topic.known_until = position
        return {topic.name: position for topic, position in zip(watched, positions, strict=True)}

    async def _read_since(self, stream_positions: Sequence[tuple[str, str]]) -> list[list[StreamEntry] | None]:
        """What follows each position of a stream. None also where Redis may have lost what followed it."""
        results = [
            entries for batch in _in_batches(stream_positions) for entries in await self.client.read_since(batch)
        ]
        lossless_since = (
            await self.client.lossless_since() if stream_positions else 0
        )  # asked last: the answers are of no later run
        positions = (position for _, position in stream_positions)
        return [
            entries if parse_position(position)[0] >= lossless_since else None
            for entries, position in zip(results, positions, strict=True)
        ]

    def _decode_entries(self, topic: str, entries: Iterable[StreamEntry] | None) -> list[Event] | None:
        if entries is None:
            return None
        events = (self._decoder.decode(topic, position, body) for position, body in entries if body)
        return [event for event in events if event is not None]

    async def _open_streams(self, topics: Sequence[_WatchedTopic]) -> list[str]:
        """The newest position of each topic, whose lease begins anew."""
        return [position.decode() for position in await self.client.run(open_calls(topic.key for topic in topics))]

    async def _retry_until_timeout(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work answers, which is tried again for a while. Unavailable where that does not help."""
        attempt = 0
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                while True:
                    try:
                        return await work()
                    except (RedisError, ConnectionError) as error:
                        log.info("Redis did not answer: %s", error)
                        await asyncio.sleep(self._backoff.delay_seconds(attempt))
                        attempt += 1
        except TimeoutError as error:
            raise Unavailable("live events are away for the moment", retry_after=1) from error

    # the connection on which events come

    def _start_tasks(self) -> None:
        """Connect, the first time that somebody watches anything."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._run_connection_loop()), asyncio.create_task(self._renew_leases())]

    async def _run_connection_loop(self) -> None:
        """Connect again whenever the connection is lost."""
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(RESYNC_TIMEOUT_SECONDS):
                    pubsub = await PubSub.connect(self._address, self._on_message, self._ping_seconds)
                    await self.client.lossless_since()  # before anybody is given a position in this run of Redis
                    await self._resync(pubsub)
                attempt = 0
                log.warning("the connection to Redis was lost: %s", await pubsub.closed)
            except (RedisError, OSError) as error:
                log.warning("Redis at %s is away: %s", self._address, error or "no answer")
            except Exception:  # the supervisor: one fault must not end live events for good
                log.exception("the connection to Redis ended by a fault")
            finally:
                self._on_disconnected()
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    def _on_disconnected(self) -> None:
        """Let every topic be read again once there is a connection."""
        if self._pubsub is not None:
            self._pubsub.abort()
        self._pubsub = None
        self._connected.clear()
        for topic in self._topics.values():
            if topic.last_position is not None:
                topic.pending = deque(maxlen=MAX_PENDING_ENTRIES)

    async def _resync(self, pubsub: PubSub) -> None:
        """Bring every topic to where it would be if the connection had held."""
        self._pubsub = pubsub
        self._connected.set()
        await pubsub.subscribe(topic.key for topic in self._topics.values())
        outdated = [topic for topic in self._topics.values() if topic.pending is not None]
        for batch in _in_batches(outdated):
            results = await self.client.read_since([(topic.key, str(topic.last_position)) for topic in batch])
            expired = [topic for topic, entries in zip(batch, results, strict=True) if entries is None]
            restart_positions = await self._restart_positions(expired)
            for topic, entries in zip(batch, results, strict=True):
                self._replay(topic, entries or (), restart_positions.get(topic))

    async def _restart_positions(self, topics: Sequence[_WatchedTopic]) -> dict[_WatchedTopic, str]:
        """Where to go on with topics whose last entries are gone.

        A stream that ends before what was handed on is from an old state of Redis. It begins anew, because whoever
        names one of its entries would be told that nothing has come since.
        """
        newest = dict(zip(topics, await self._open_streams(topics), strict=True))
        rolled_back = [
            topic
            for topic, position in newest.items()
            if parse_position(position) < parse_position(str(topic.last_position))
        ]
        await self.client.run(reset_calls(topic.key for topic in rolled_back))
        return newest | dict(zip(rolled_back, await self._open_streams(rolled_back), strict=True))

    def _replay(self, topic: _WatchedTopic, missed: Iterable[StreamEntry], restart_position: str | None) -> None:
        """Hand on what was missed and then held; or go on at the position `anew`, because some is lost."""
        pending, topic.pending = topic.pending or (), None
        if self._topics.get(topic.key.encode()) is not topic:
            return
        if restart_position is not None:
            topic.last_position = restart_position
        recovered = restart_position is None and len(pending) < MAX_PENDING_ENTRIES
        if not recovered:
            self._on_resync(topic.name, False, str(topic.last_position))
        for position, body in (*missed, *pending):
            topic.known_until = topic.last_position  # what was held may have been among the missed
            self._dispatch(topic, position, body)
        topic.known_until = topic.last_position
        if recovered:
            self._on_resync(topic.name, True, str(topic.last_position))

    def _on_message(self, channel: bytes, message: bytes) -> None:
        topic = self._topics.get(channel)
        if topic is None:
            return
        position, _, body = message.partition(b" ")
        self._message_count += 1
        if self._message_count % LAG_SAMPLE_INTERVAL == 0:
            PUB_SUB_LAG_SECONDS.observe(max(0.0, time() - int(position.partition(b"-")[0]) / 1000))
        if topic.pending is None:
            self._dispatch(topic, position.decode(), body)
        else:
            topic.pending.append((position.decode(), body))

    def _dispatch(self, topic: _WatchedTopic, position: str, body: bytes) -> None:
        if topic.known_until is not None:
            if parse_position(position) <= parse_position(topic.known_until):
                return
            topic.known_until = None
        previous_position, topic.last_position = topic.last_position, position
        if body:
            event = self._decoder.decode(topic.name, position, body)
            if event is not None:
                self._deliver(event)
        elif previous_position is not None:  # the stream began anew
            self._on_resync(topic.name, False, position)

    async def _renew_leases(self) -> None:
        """Renew the leases of what is watched. A stream that is gone is made anew, which its channel tells."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for batch in _in_batches(list(self._topics.values())):
                try:
                    await self._open_streams(batch)
                except (RedisError, OSError) as error:
                    log.warning("leases could not be renewed: %s", error)


def _in_batches(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[start : start + BATCH_SIZE] for start in range(0, len(items), BATCH_SIZE))


def _discard(*arguments: Any) -> None:
    """Where events go before anybody listens."""
