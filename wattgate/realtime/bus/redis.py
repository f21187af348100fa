"""The bus of several processes: events travel through Redis streams and channels.

Each topic is a Redis stream and a pub/sub channel of the same name. A publish appends the event to the stream and sends
it on the channel, in one script. The channel delivers events quickly, but Redis forgets a message that no connection
receives. The stream retains the newest entries, so that a process can read the events that it has missed. The id that
Redis assigns to an entry is the position of the event.

The bus keeps these guarantees for each topic that a process has open:

1. A process delivers events in the order of the stream, and each at most once.
2. It delivers every event after the position that `open_topics` returned, or calls the resync callback with False. This
   call means: events are missing, and the topic continues after the given position.
3. `read_since` returns all events after a position, or None. A position is trusted only while its entry exists.

Opening a topic first subscribes to the channel and then creates or reads the stream. Messages between the two steps may
have an id up to the returned position; `WatchedTopic.known_until` filters them.

When the connection is lost, each topic collects new messages in `pending` (`_on_disconnected`). After reconnecting, the
bus subscribes again, reads each stream from the last delivered position, and delivers these entries and then the
pending messages (`_resync`). `known_until` removes messages that occur in both.

A stream can have gaps in five cases. Each leads to the resync callback or to None:

- A publisher could not reach Redis. Its `EventPublisher` resets the stream later. A reset deletes all entries and adds
  a marker, which is an entry without an event. It publishes the marker on the channel, so that open topics learn of the
  gap.
- The stream has expired, or its oldest entries were trimmed. The entry of the position no longer exists.
- Redis has restarted with an old state, or a replica has replaced it. The run id changes. Positions from before the
  first sight of the new run are not trusted (`RedisClient.lossless_since`), and each open topic reports a gap. If the
  stream ends before the last delivered position, it is reset, because an old position could otherwise seem current
  (`_restart_positions`).
- A publisher was still connected to the old primary when others already used the new one. When it learns of the new
  primary, its `EventPublisher` resets the streams of its last events there. `primary.py` finds the primary.
- More messages arrive during a resync than `MAX_PENDING_ENTRIES`.

A lease limits the life of a stream: Redis deletes it when no process has renewed it for `TOPIC_LEASE_SECONDS`.

See `redis_client.py` for the scripts, `event_publisher.py` for publishing, `pubsub.py` for the connection that receives
messages, and docs/explanation/decisions/0012-resume-with-positions.md for the reasons. tests/realtime/test_bus.py runs
the same tests on this bus and the memory bus; tests/realtime/test_redis_bus_faults.py covers the faults.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import time
from typing import Any, Self, TypeVar

from redis.exceptions import RedisError

from wattgate.clock import describe_clock_offset
from wattgate.errors import Unavailable
from wattgate.metrics import PUB_SUB_LAG_SECONDS, REDIS_DISCONNECTED
from wattgate.pauses import raise_if_cancelled
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import TOPIC_LEASE_SECONDS, DeliverCallback, ResyncCallback, is_position, parse_position
from wattgate.realtime.bus.codec import EventDecoder, encode_event
from wattgate.realtime.bus.event_publisher import EventPublisher
from wattgate.realtime.bus.primary import PrimaryFinder
from wattgate.realtime.bus.pubsub import PubSub
from wattgate.realtime.bus.redis_client import (
    MIN_REDIS_VERSION,
    RedisClient,
    StreamEntry,
    exists_call,
    in_batches,
    open_calls,
    reset_calls,
    stream_key,
)
from wattgate.realtime.events import Event
from wattgate.realtime.redis_url import RedisMode

NO_EVICTION = "noeviction"


def find_state_problems(info: Mapping[str, str], mode: RedisMode = RedisMode.SINGLE) -> list[str]:
    """Return what in the fields of INFO keeps the gateways from working, with what to do."""
    problems = []
    if info.get("role") == "slave":
        problems.append("is a replica, which accepts no changes: set WATTGATE_REDIS_URL to the primary")
    if info.get("cluster_enabled") == "1" and mode is RedisMode.SINGLE:
        problems.append("is a node of a cluster: write WATTGATE_REDIS_URL with redis+cluster://")
    policy = info.get("maxmemory_policy", NO_EVICTION)
    if policy != NO_EVICTION:
        problems.append(
            f"has the eviction policy {policy}, which can delete live events, budgets and connection counts: set "
            f"maxmemory-policy to {NO_EVICTION}"
        )
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if limit and used >= limit:
        problems.append(f"uses {used} of {limit} bytes of memory and rejects changes: increase maxmemory")
    return problems


class WatchedTopic:
    """An open topic.

    `last_position` is the position of the last delivered entry, or the one that `open_topics` returned. It is None
    until then. Messages up to `known_until` are duplicates; it is None when no duplicate can arrive. `pending` collects
    messages during an interruption; it is None while messages are delivered directly.
    """

    __slots__ = ("key", "known_until", "last_position", "name", "pending")

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = stream_key(name)
        self.last_position: str | None = None
        self.known_until: str | None = None
        self.pending: deque[StreamEntry] | None = None


T = TypeVar("T")

log = logging.getLogger(__name__)

OPEN_TIMEOUT_SECONDS = 5.0
"""Maximum wait of a subscription for Redis. Then it fails with Unavailable."""

RESYNC_TIMEOUT_SECONDS = 30.0
"""Maximum time to connect, subscribe and read all topics again."""

PING_SECONDS = 5.0
RENEW_SECONDS = TOPIC_LEASE_SECONDS / 3
MAX_PENDING_ENTRIES = 1_000
"""Maximum pending messages of a topic during a resync. When it is reached, messages may have been dropped."""

LAG_SAMPLE_INTERVAL = 16
"""The lag is measured for one in this many messages, from the clock of Redis to the clock of this machine."""

RETRY_BACKOFF = Backoff(min_seconds=0.1, max_seconds=0.5)
"""Short, because subscribers learn of lost events only after it. A process opens two connections for all clients."""


class RedisBus:
    """Carry events through Redis 6.2 or later. The module docstring explains the algorithm."""

    is_shared = True

    def __init__(
        self, primary: PrimaryFinder, *, ping_seconds: float = PING_SECONDS, backoff: Backoff = RETRY_BACKOFF
    ) -> None:
        self._primary = primary
        self._ping_seconds = ping_seconds
        self._backoff = backoff
        self.client = RedisClient(primary)
        """The client for commands. Other shared state of the gateways uses it too."""
        self._publisher = EventPublisher(self.client, backoff)
        self._decoder = EventDecoder()
        self._deliver: DeliverCallback = _discard
        self._on_resync: ResyncCallback = _discard
        self._topics: dict[bytes, WatchedTopic] = {}
        self._pubsub: PubSub | None = None
        self._connected = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._message_count = 0
        self._run_id: bytes | None = None
        """The run of Redis at the last connection."""
        primary.add_listener(self._on_primary_changed)

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        self._deliver, self._on_resync = deliver, on_resync

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        REDIS_DISCONNECTED.set(0)
        self._tasks.clear()
        await self._publisher.close()
        await self.client.close()

    @property
    def lost_events(self) -> int:
        """The number of events that were not published because Redis was unavailable."""
        return self._publisher.lost_events

    async def publish(self, events: Sequence[Event]) -> None:
        if events:
            await self._publisher.publish([(event.topic, encode_event(event)) for event in events])

    async def open_topics(self, topics: Sequence[str]) -> dict[str, str]:
        self._start_tasks()
        watched = [
            self._topics.setdefault(stream_key(name).encode(), WatchedTopic(name)) for name in dict.fromkeys(topics)
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

    async def forget(self, topics: Sequence[str]) -> None:
        for batch in in_batches(topics):
            calls = reset_calls(map(stream_key, batch))
            await self._retry_until_timeout(lambda calls=calls: self.client.run(calls))  # type: ignore[misc]

    @property
    def is_connected(self) -> bool:
        return self._connected.is_set()

    async def has_topic(self, topic: str) -> bool:
        (exists,) = await self._retry_until_timeout(lambda: self.client.run([exists_call(stream_key(topic))]))
        return bool(exists)

    async def check(self) -> None:
        try:
            version = await self.client.server_version()
        except (RedisError, OSError) as error:
            raise Unavailable(f"Redis at {self._primary.servers} does not answer: {error}", retry_after=1) from error
        if version < MIN_REDIS_VERSION:
            raise Unavailable(
                f"Redis at {self._primary.servers} has version {'.'.join(map(str, version))}. "
                f"Install {'.'.join(map(str, MIN_REDIS_VERSION))} or later."
            )

    async def find_problems(self) -> list[str]:
        try:
            info, offset = await self.client.read_server_info()
        except (RedisError, OSError) as error:
            raise Unavailable(f"Redis at {self._primary.servers} does not answer: {error}", retry_after=1) from error
        problems = find_state_problems(info, self._primary.servers.mode)
        if clock := describe_clock_offset(offset):
            problems.append(f"has another time; the clocks {clock}")
        return problems

    async def _subscribe_and_open(self, watched: Sequence[WatchedTopic]) -> dict[str, str]:
        """Subscribe, then create the streams. Raise ConnectionError if messages in between may be lost."""
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
        """Return the entries after each position, or None where entries may be missing."""
        results = [entries for batch in in_batches(stream_positions) for entries in await self.client.read_since(batch)]
        # queried last, so that no entries are from a later run
        _, lossless_since = await self.client.lossless_since() if stream_positions else (b"", 0)
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

    async def _open_streams(self, topics: Sequence[WatchedTopic]) -> list[str]:
        """Create missing streams and renew the leases. Return the newest position of each topic."""
        return [position.decode() for position in await self.client.run(open_calls(topic.key for topic in topics))]

    async def _retry_until_timeout(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work` and return its result. Retry it on errors; raise Unavailable after `OPEN_TIMEOUT_SECONDS`."""
        attempt = 0
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_SECONDS):
                while True:
                    try:
                        return await work()
                    except (RedisError, ConnectionError) as error:
                        log.info("Redis does not answer: %s; retrying", error)
                        await asyncio.sleep(self._backoff.delay_seconds(attempt))
                        attempt += 1
        except TimeoutError as error:
            raise Unavailable("Live events are unavailable at the moment. Try again.", retry_after=1) from error

    # the pub/sub connection

    def _start_tasks(self) -> None:
        """Start the background tasks when the first topic is opened."""
        if not self._tasks:
            REDIS_DISCONNECTED.set(1)
            self._tasks = [asyncio.create_task(self._run_connection_loop()), asyncio.create_task(self._renew_leases())]

    async def _run_connection_loop(self) -> None:
        """Connect, resync and wait for the end of the connection, in a loop."""
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(RESYNC_TIMEOUT_SECONDS):
                    address = await self._primary.find()
                    self._pubsub = pubsub = await PubSub.connect(
                        address, self._primary.tls_context, self._on_message, self._ping_seconds
                    )
                    # record a new run of Redis before `open_topics` returns any position of it
                    run_id, _ = await self.client.lossless_since()
                    self._primary.require_current(address)
                    is_same_run, self._run_id = self._run_id in (None, run_id), run_id
                    await self._resync(pubsub, is_same_run)
                attempt = 0
                log.warning("Lost the connection to Redis: %s", await pubsub.closed)
            except (RedisError, OSError) as error:
                log.warning("Cannot connect to Redis at %s: %s", self._primary.servers, error or "no answer")
            except Exception:  # supervisor: an error must not end live events until a restart
                log.exception("The connection to Redis failed with an unexpected error")
            finally:
                self._on_disconnected()
            raise_if_cancelled()
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    def _on_primary_changed(self) -> None:
        """Close the connection to the server that was the primary. It would stay open and silent."""
        if self._pubsub is not None:
            self._pubsub.abort("another server is the primary")

    def _on_disconnected(self) -> None:
        """Let each topic collect messages until the next resync."""
        if self._pubsub is not None:
            self._pubsub.abort()
        self._pubsub = None
        self._connected.clear()
        REDIS_DISCONNECTED.set(1)
        for topic in self._topics.values():
            if topic.last_position is not None:
                topic.pending = deque(maxlen=MAX_PENDING_ENTRIES)

    async def _resync(self, pubsub: PubSub, is_same_run: bool) -> None:
        """Subscribe to all topics, and deliver the events that were missed during the interruption.

        Another run of Redis may lack events that its streams do not show to be missing.
        """
        self._connected.set()
        REDIS_DISCONNECTED.set(0)
        await pubsub.subscribe(topic.key for topic in self._topics.values())
        outdated = [topic for topic in self._topics.values() if topic.pending is not None]
        for batch in in_batches(outdated):
            results = await self.client.read_since([(topic.key, str(topic.last_position)) for topic in batch])
            expired = [topic for topic, entries in zip(batch, results, strict=True) if entries is None]
            restart_positions = await self._restart_positions(expired)
            for topic, entries in zip(batch, results, strict=True):
                self._replay(topic, entries or (), restart_positions.get(topic), is_same_run)

    async def _restart_positions(self, topics: Sequence[WatchedTopic]) -> dict[WatchedTopic, str]:
        """Return the positions at which topics continue whose last delivered entry no longer exists.

        A stream that ends before that entry is from an old state of Redis. Reset it: a client that resumes from one of
        its entries would otherwise learn of no gap.
        """
        newest = dict(zip(topics, await self._open_streams(topics), strict=True))
        rolled_back = [
            topic
            for topic, position in newest.items()
            if parse_position(position) < parse_position(str(topic.last_position))
        ]
        await self.client.run(reset_calls(topic.key for topic in rolled_back))
        return newest | dict(zip(rolled_back, await self._open_streams(rolled_back), strict=True))

    def _replay(
        self, topic: WatchedTopic, missed: Iterable[StreamEntry], restart_position: str | None, is_same_run: bool
    ) -> None:
        """Deliver missed entries, then pending messages. If `restart_position` is set, events are lost: start there."""
        pending, topic.pending = topic.pending or (), None
        if self._topics.get(topic.key.encode()) is not topic:
            return
        if restart_position is not None:
            topic.last_position = restart_position
        recovered = is_same_run and restart_position is None and len(pending) < MAX_PENDING_ENTRIES
        if not recovered:
            self._on_resync(topic.name, False, str(topic.last_position))
        for position, body in (*missed, *pending):
            topic.known_until = topic.last_position  # a pending message may also be among the missed entries
            self._dispatch(topic, position, body)
        topic.known_until = topic.last_position
        if recovered:
            self._on_resync(topic.name, True, str(topic.last_position))

    def _on_message(self, channel: bytes, message: bytes) -> None:
        topic = self._topics.get(channel)
        if topic is None:
            return
        encoded_position, _, body = message.partition(b" ")
        position = encoded_position.decode()
        self._message_count += 1
        if self._message_count % LAG_SAMPLE_INTERVAL == 0:
            PUB_SUB_LAG_SECONDS.observe(max(0.0, time() - parse_position(position)[0] / 1000))
        if topic.pending is None:
            self._dispatch(topic, position, body)
        else:
            topic.pending.append((position, body))

    def _dispatch(self, topic: WatchedTopic, position: str, body: bytes) -> None:
        if topic.known_until is not None:
            if parse_position(position) <= parse_position(topic.known_until):
                return
            topic.known_until = None
        previous_position, topic.last_position = topic.last_position, position
        if body:
            event = self._decoder.decode(topic.name, position, body)
            if event is not None:
                self._deliver(event)
        elif previous_position is not None:  # a marker: the stream was created or reset
            self._on_resync(topic.name, False, position)

    async def _renew_leases(self) -> None:
        """Renew the leases of open topics. A stream that is gone is created again, and its marker reports the gap."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for batch in in_batches(list(self._topics.values())):
                try:
                    await self._open_streams(batch)
                except (RedisError, OSError) as error:
                    log.warning("Could not renew the leases of topics: %s", error)


def _discard(*arguments: Any) -> None:
    """Ignore events until `set_callbacks` is called."""
