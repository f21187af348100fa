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
from wattgate.realtime.bus import LEASE_SECONDS, Deliver, Resynced, is_position, place
from wattgate.realtime.bus.codec import STAYS, Decoder, encode
from wattgate.realtime.bus.commands import (
    AT_ONCE,
    OLDEST,
    Commands,
    Entry,
    breaking,
    key_of,
    opening,
)
from wattgate.realtime.bus.outgoing import Outgoing
from wattgate.realtime.bus.pubsub import PubSub
from wattgate.realtime.events import Event
from wattgate.realtime.server_address import Address

T = TypeVar("T")

log = logging.getLogger(__name__)

OPEN_SECONDS = 5.0
"""How long a subscription may wait for Redis before it is told that live events are away."""

RESYNC_SECONDS = 30.0
"""How long reading all topics again may take after a new connection."""

PING_SECONDS = 5.0
RENEW_SECONDS = LEASE_SECONDS / 3
MAX_HELD = 1_000
"""How many events of a topic wait while it is read again. With so many, some are taken for lost."""

LAG_SAMPLE = 16
"""Of one in so many messages the way is timed, by the clocks of Redis and of this machine."""

BETWEEN_ATTEMPTS = Backoff(shortest=0.1, longest=0.5)
"""Short, because what is lost is told only then; a process makes two connections for all its clients."""


class _Topic:
    """A watched topic.

    `last` is the newest position that was handed on, or from which it is watched. What is not newer than `floor` is
    already known. `held` are the messages that wait while the topic is read again.
    """

    __slots__ = ("floor", "held", "key", "last", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = key_of(name)
        self.last: str | None = None
        self.floor: str | None = None
        self.held: deque[Entry] | None = None


class RedisBus:
    """Carries events through Redis 6.2 or later."""

    def __init__(
        self, address: Address, *, ping_every: float = PING_SECONDS, backoff: Backoff = BETWEEN_ATTEMPTS
    ) -> None:
        self._address = address
        self._ping_every = ping_every
        self._backoff = backoff
        self.commands = Commands(address)
        """What else the gateways keep together goes on these connections."""
        self._outgoing = Outgoing(self.commands, backoff)
        self._decoder = Decoder()
        self._deliver: Deliver = _nowhere
        self._resynced: Resynced = _nowhere
        self._topics: dict[bytes, _Topic] = {}
        self._pubsub: PubSub | None = None
        self._connected = asyncio.Event()
        self._work: list[asyncio.Task[None]] = []
        self._seen = 0

    def connect(self, deliver: Deliver, resynced: Resynced) -> None:
        self._deliver, self._resynced = deliver, resynced

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._work.clear()
        await self._outgoing.close()
        await self.commands.close()

    @property
    def lost(self) -> int:
        """How many events were not published because Redis was away."""
        return self._outgoing.lost

    async def publish(self, events: Sequence[Event]) -> None:
        travelling = []
        for event in events:
            if type(event.payload) in STAYS:
                self._deliver(event)
            else:
                travelling.append((event.topic, encode(event)))
        if travelling:
            await self._outgoing.send(travelling)

    async def open(self, topics: Sequence[str]) -> dict[str, str]:
        self._begin()
        watched = [self._topics.setdefault(key_of(name).encode(), _Topic(name)) for name in dict.fromkeys(topics)]
        return await self._patiently(lambda: self._open(watched))

    def unwatch(self, topics: Sequence[str]) -> None:
        keys = [key for name in topics if self._topics.pop((key := key_of(name)).encode(), None) is not None]
        if self._pubsub is not None:
            self._pubsub.unsubscribe(keys)

    async def read_since(self, wanted: Sequence[tuple[str, str]]) -> list[list[Event] | None]:
        good = {one for one in wanted if is_position(one[1])}
        asked = [(key_of(topic), position) for topic, position in good]
        found = dict(zip(good, await self._patiently(lambda: self._read(asked)), strict=True))
        return [self._events(one[0], found.get(one)) for one in wanted]

    async def check(self) -> None:
        try:
            version = await self.commands.version()
        except (RedisError, OSError) as error:
            raise Unavailable(f"Redis at {self._address} does not answer: {error}", retry_after=1) from error
        if version < OLDEST:
            raise Unavailable(f"Redis at {self._address} is older than {'.'.join(map(str, OLDEST))}")

    async def _open(self, watched: Sequence[_Topic]) -> dict[str, str]:
        """Subscribe, then make the streams. ConnectionError where what comes in between could be missed."""
        await self._connected.wait()
        pubsub = self._pubsub
        if pubsub is None:
            raise ConnectionError("the connection was lost")
        await pubsub.subscribe(topic.key for topic in watched)
        positions = await self._newest(watched)
        if not pubsub.alive:
            raise ConnectionError("the connection was lost")
        for topic, position in zip(watched, positions, strict=True):
            if topic.last is None:
                topic.last = topic.floor = position
        return {topic.name: position for topic, position in zip(watched, positions, strict=True)}

    async def _read(self, asked: Sequence[tuple[str, str]]) -> list[list[Entry] | None]:
        """What follows each position of a stream. None also where Redis may have lost what followed it."""
        answers = [answer for some in _portions(asked) for answer in await self.commands.read(some)]
        since = await self.commands.since() if asked else 0  # asked last: the answers are of no later run
        positions = (position for _, position in asked)
        return [answer if place(one)[0] >= since else None for answer, one in zip(answers, positions, strict=True)]

    def _events(self, topic: str, entries: Iterable[Entry] | None) -> list[Event] | None:
        if entries is None:
            return None
        found = (self._decoder.decode(topic, at, body) for at, body in entries if body)
        return [event for event in found if event is not None]

    async def _newest(self, topics: Sequence[_Topic]) -> list[str]:
        """The newest position of each topic, whose lease begins anew."""
        return [told.decode() for told in await self.commands.run(opening(topic.key for topic in topics))]

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work answers, which is tried again for a while. Unavailable where that does not help."""
        attempt = 0
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                while True:
                    try:
                        return await work()
                    except (RedisError, ConnectionError) as error:
                        log.info("Redis did not answer: %s", error)
                        await asyncio.sleep(self._backoff.seconds(attempt))
                        attempt += 1
        except TimeoutError as error:
            raise Unavailable("live events are away for the moment", retry_after=1) from error

    # the connection on which events come

    def _begin(self) -> None:
        """Connect, the first time that somebody watches anything."""
        if not self._work:
            self._work = [asyncio.create_task(self._stay_connected()), asyncio.create_task(self._renew())]

    async def _stay_connected(self) -> None:
        """Connect again whenever the connection is lost."""
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(RESYNC_SECONDS):
                    pubsub = await PubSub.connect(self._address, self._on_message, self._ping_every)
                    await self.commands.since()  # before anybody is given a position in this run of Redis
                    await self._resync(pubsub)
                attempt = 0
                log.warning("the connection to Redis was lost: %s", await pubsub.lost)
            except (RedisError, OSError) as error:
                log.warning("Redis at %s is away: %s", self._address, error or "no answer")
            except Exception:  # the supervisor: one fault must not end live events for good
                log.exception("the connection to Redis ended by a fault")
            finally:
                self._disconnected()
            await asyncio.sleep(self._backoff.seconds(attempt))
            attempt += 1

    def _disconnected(self) -> None:
        """Let every topic be read again once there is a connection."""
        if self._pubsub is not None:
            self._pubsub.abort()
        self._pubsub = None
        self._connected.clear()
        for topic in self._topics.values():
            if topic.last is not None:
                topic.held = deque(maxlen=MAX_HELD)

    async def _resync(self, pubsub: PubSub) -> None:
        """Bring every topic to where it would be if the connection had held."""
        self._pubsub = pubsub
        self._connected.set()
        await pubsub.subscribe(topic.key for topic in self._topics.values())
        behind = [topic for topic in self._topics.values() if topic.held is not None]
        for some in _portions(behind):
            found = await self.commands.read([(topic.key, str(topic.last)) for topic in some])
            gone = [topic for topic, missed in zip(some, found, strict=True) if missed is None]
            anew = await self._anew(gone)
            for topic, missed in zip(some, found, strict=True):
                self._catch_up(topic, missed or (), anew.get(topic))

    async def _anew(self, gone: Sequence[_Topic]) -> dict[_Topic, str]:
        """Where to go on with topics whose last entries are gone.

        A stream that ends before what was handed on is from an old state of Redis. It begins anew, because whoever
        names one of its entries would be told that nothing has come since.
        """
        newest = dict(zip(gone, await self._newest(gone), strict=True))
        old = [topic for topic, position in newest.items() if place(position) < place(str(topic.last))]
        await self.commands.run(breaking(topic.key for topic in old))
        return newest | dict(zip(old, await self._newest(old), strict=True))

    def _catch_up(self, topic: _Topic, missed: Iterable[Entry], anew: str | None) -> None:
        """Hand on what was missed and then held; or go on at the position `anew`, because some is lost."""
        held, topic.held = topic.held or (), None
        if self._topics.get(topic.key.encode()) is not topic:
            return
        if anew is not None:
            topic.last = anew
        recovered = anew is None and len(held) < MAX_HELD
        if not recovered:
            self._resynced(topic.name, False, str(topic.last))
        for position, body in (*missed, *held):
            topic.floor = topic.last  # what was held may have been among the missed
            self._hand_on(topic, position, body)
        topic.floor = topic.last
        if recovered:
            self._resynced(topic.name, True, str(topic.last))

    def _on_message(self, channel: bytes, message: bytes) -> None:
        topic = self._topics.get(channel)
        if topic is None:
            return
        position, _, body = message.partition(b" ")
        self._seen += 1
        if self._seen % LAG_SAMPLE == 0:
            PUB_SUB_LAG_SECONDS.observe(max(0.0, time() - int(position.partition(b"-")[0]) / 1000))
        if topic.held is None:
            self._hand_on(topic, position.decode(), body)
        else:
            topic.held.append((position.decode(), body))

    def _hand_on(self, topic: _Topic, position: str, body: bytes) -> None:
        if topic.floor is not None:
            if place(position) <= place(topic.floor):
                return
            topic.floor = None
        before, topic.last = topic.last, position
        if body:
            event = self._decoder.decode(topic.name, position, body)
            if event is not None:
                self._deliver(event)
        elif before is not None:  # the stream began anew
            self._resynced(topic.name, False, position)

    async def _renew(self) -> None:
        """Renew the leases of what is watched. A stream that is gone is made anew, which its channel tells."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            for some in _portions(list(self._topics.values())):
                try:
                    await self._newest(some)
                except (RedisError, OSError) as error:
                    log.warning("leases could not be renewed: %s", error)


def _portions(some: Sequence[T]) -> Iterable[Sequence[T]]:
    return (some[start : start + AT_ONCE] for start in range(0, len(some), AT_ONCE))


def _nowhere(*told: Any) -> None:
    """Where events go before anybody listens."""
