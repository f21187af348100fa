"""Publishing to Redis: what is lost while it is away is counted, and told to those who watch once it is back."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence

from redis.exceptions import RedisError

from wattgate.metrics import EVENTS_LOST
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus.commands import Commands, breaking, key_of, publishing

log = logging.getLogger(__name__)

PUBLISH_SECONDS = 1.0
"""How long a publish may take, with all its attempts: the operation that caused it waits."""

BETWEEN_ATTEMPTS = Backoff(shortest=0.1, longest=0.2)
MAX_OWED = 10_000
"""How many topics with a lost event are remembered one by one; when there are more, every stream begins anew."""


class Outgoing:
    """Sends batches within a limit of time. While Redis is known to be away, they are lost at once.

    A stream in which an event is missing begins anew, so that nobody takes what it holds for complete.
    """

    def __init__(self, commands: Commands, backoff: Backoff) -> None:
        self._commands = commands
        self._backoff = backoff
        self._owed: dict[str, None] = {}
        self._owed_all = False
        self._away = False
        self._telling: asyncio.Task[None] | None = None
        self.lost = 0
        """How many events were not sent."""

    async def send(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send events (topic, body)."""
        if self._away:
            return self._lose(events)
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await self._send(events)
        except asyncio.CancelledError:  # nobody knows whether it was sent
            self._lose(events)
            raise
        except (RedisError, OSError) as error:  # a TimeoutError is an OSError
            if not self._away:
                log.warning("Redis takes no events: %s; until it does, live events are lost", error or "no answer")
            self._away = True
            self._lose(events)

    async def close(self) -> None:
        """Tell what is owed, if Redis takes it now, and end."""
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling
        if self._owes:
            try:
                async with asyncio.timeout(PUBLISH_SECONDS):
                    await self._tell()
            except (RedisError, OSError):
                log.warning("%d live events are lost, and those who watch are not told", self.lost)

    @property
    def owed(self) -> int:
        """How many topics are remembered as missing an event."""
        return len(self._owed)

    @property
    def _owes(self) -> bool:
        return self._owed_all or bool(self._owed)

    async def _send(self, events: Sequence[tuple[str, bytes]]) -> None:
        calls, attempt = publishing(events), 0
        while True:
            try:
                await self._commands.run(calls)
                return
            except (RedisError, OSError):
                await asyncio.sleep(BETWEEN_ATTEMPTS.seconds(attempt))
                attempt += 1

    def _lose(self, events: Iterable[tuple[str, bytes]]) -> None:
        for topic, _ in events:
            self.lost += 1
            EVENTS_LOST.inc()
            self._owed[topic] = None
        if len(self._owed) > MAX_OWED:
            self._owed_all = True
            self._owed.clear()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._keep_telling())

    async def _keep_telling(self) -> None:
        """Tell those who watch that events are missing, as soon as Redis is back."""
        attempt = 0
        while self._owes:
            await asyncio.sleep(self._backoff.seconds(attempt))
            try:
                await self._tell()
                attempt = 0
            except (RedisError, OSError):
                attempt += 1
        log.info("Redis takes events again; %d were lost so far", self.lost)

    async def _tell(self) -> None:
        """Tell what is owed now. What is lost while Redis is asked is owed anew: it may have come too late for that."""
        everything, topics = self._owed_all, self._owed
        self._owed_all, self._owed = False, {}
        try:
            keys = await self._commands.streams() if everything else [key_of(topic) for topic in topics]
            await self._commands.run(breaking(keys))
        except BaseException:
            self._owed_all, self._owed = everything or self._owed_all, topics | self._owed
            raise
        self._away = False
