"""Publishing to Redis: what is lost while it is away is counted, and told to those who watch once it is back."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence

from redis.exceptions import RedisError

from wattgate.metrics import EVENTS_LOST
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus.redis_client import RedisClient, publish_calls, reset_calls, stream_key

log = logging.getLogger(__name__)

PUBLISH_TIMEOUT_SECONDS = 1.0
"""How long a publish may take, with all its attempts: the operation that caused it waits."""

RETRY_BACKOFF = Backoff(min_seconds=0.1, max_seconds=0.2)
MAX_PENDING_RESETS = 10_000
"""How many topics with a lost event are remembered one by one; when there are more, every stream begins anew."""


class EventPublisher:
    """Sends batches within a limit of time. While Redis is known to be away, they are lost at once.

    A stream in which an event is missing begins anew, so that nobody takes what it holds for complete.
    """

    def __init__(self, commands: RedisClient, backoff: Backoff) -> None:
        self._commands = commands
        self._backoff = backoff
        self._topics_to_reset: dict[str, None] = {}
        self._reset_all_topics = False
        self._unavailable = False
        self._reset_task: asyncio.Task[None] | None = None
        self.lost_events = 0
        """How many events were not sent."""

    async def publish(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send events (topic, body)."""
        if self._unavailable:
            return self._record_lost(events)
        try:
            async with asyncio.timeout(PUBLISH_TIMEOUT_SECONDS):
                await self._publish_with_retries(events)
        except asyncio.CancelledError:  # nobody knows whether it was sent
            self._record_lost(events)
            raise
        except (RedisError, OSError) as error:  # a TimeoutError is an OSError
            if not self._unavailable:
                log.warning("Redis takes no events: %s; until it does, live events are lost", error or "no answer")
            self._unavailable = True
            self._record_lost(events)

    async def close(self) -> None:
        """Tell what is owed, if Redis takes it now, and end."""
        if self._reset_task is not None:
            self._reset_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reset_task
        if self._has_pending_resets:
            try:
                async with asyncio.timeout(PUBLISH_TIMEOUT_SECONDS):
                    await self._reset_streams()
            except (RedisError, OSError):
                log.warning("%d live events are lost, and those who watch are not told", self.lost_events)

    @property
    def pending_resets(self) -> int:
        """How many topics are remembered as missing an event."""
        return len(self._topics_to_reset)

    @property
    def _has_pending_resets(self) -> bool:
        return self._reset_all_topics or bool(self._topics_to_reset)

    async def _publish_with_retries(self, events: Sequence[tuple[str, bytes]]) -> None:
        calls, attempt = publish_calls(events), 0
        while True:
            try:
                await self._commands.run(calls)
                return
            except (RedisError, OSError):
                await asyncio.sleep(RETRY_BACKOFF.delay_seconds(attempt))
                attempt += 1

    def _record_lost(self, events: Iterable[tuple[str, bytes]]) -> None:
        for topic, _ in events:
            self.lost_events += 1
            EVENTS_LOST.inc()
            self._topics_to_reset[topic] = None
        if len(self._topics_to_reset) > MAX_PENDING_RESETS:
            self._reset_all_topics = True
            self._topics_to_reset.clear()
        if self._reset_task is None or self._reset_task.done():
            self._reset_task = asyncio.create_task(self._retry_resets())

    async def _retry_resets(self) -> None:
        """Tell those who watch that events are missing, as soon as Redis is back."""
        attempt = 0
        while self._has_pending_resets:
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            try:
                await self._reset_streams()
                attempt = 0
            except (RedisError, OSError):
                attempt += 1
        log.info("Redis takes events again; %d were lost so far", self.lost_events)

    async def _reset_streams(self) -> None:
        """Tell what is owed now. What is lost while Redis is asked is owed anew: it may have come too late for that."""
        reset_all, topics = self._reset_all_topics, self._topics_to_reset
        self._reset_all_topics, self._topics_to_reset = False, {}
        try:
            keys = await self._commands.list_stream_keys() if reset_all else [stream_key(topic) for topic in topics]
            await self._commands.run(reset_calls(keys))
        except BaseException:
            self._reset_all_topics, self._topics_to_reset = (
                reset_all or self._reset_all_topics,
                topics | self._topics_to_reset,
            )
            raise
        self._unavailable = False
