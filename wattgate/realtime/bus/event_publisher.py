"""Publishing to Redis. Events lost while Redis is unavailable are counted, and subscribers are notified afterwards."""

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
"""Maximum time of a publish with all its retries. The operation that caused it waits for it."""

RETRY_BACKOFF = Backoff(min_seconds=0.1, max_seconds=0.2)
MAX_PENDING_RESETS = 10_000
"""Maximum number of topics with lost events that are recorded one by one. Above it, every stream is reset."""


class EventPublisher:
    """Publish batches of events within a time limit. While Redis is known to be unavailable, drop them immediately.

    When Redis is available again, each stream in which an event is missing is reset. A reset removes all entries, so
    that no reader takes the stream for complete, and notifies the subscribers of the topic.

    When another server becomes the primary, the same happens to the streams of the last events: the new primary may
    lack them, and its subscribers may have connected to it before. The last events are those since the last certain
    answer that the server was the primary, and since the one before it.
    """

    def __init__(self, commands: RedisClient, backoff: Backoff) -> None:
        self._commands = commands
        self._backoff = backoff
        self._topics_to_reset: dict[str, None] = {}
        self._reset_all_topics = False
        self._unavailable = False
        self._reset_task: asyncio.Task[None] | None = None
        self._recent_topics: set[str] = set()
        """Topics of events since the last certain answer. Empty if the primary never changes."""
        self._earlier_topics: set[str] = set()
        """Topics of events between the last two certain answers."""
        self._known_answers = 0
        self.lost_events = 0
        """The number of events that were not published."""
        commands.primary.add_listener(self._reset_recent_topics)

    async def publish(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Publish events, given as pairs of topic and body."""
        if self._unavailable:
            return self._record_lost(events)
        if not self._commands.primary.is_fixed:
            self._remember(events)
        try:
            async with asyncio.timeout(PUBLISH_TIMEOUT_SECONDS):
                await self._publish_with_retries(events)
        except asyncio.CancelledError:  # it is unknown whether Redis received the events
            self._record_lost(events)
            raise
        except (RedisError, OSError) as error:  # a TimeoutError is an OSError
            if not self._unavailable:
                log.warning("Redis accepts no events: %s. Live events are lost until it does.", error or "no answer")
            self._unavailable = True
            self._record_lost(events)

    async def close(self) -> None:
        """Stop. If streams still need a reset, try once to reset them."""
        if self._reset_task is not None:
            self._reset_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reset_task
        if self._has_pending_resets:
            try:
                async with asyncio.timeout(PUBLISH_TIMEOUT_SECONDS):
                    await self._reset_streams()
            except (RedisError, OSError):
                log.warning("%d live events were lost, and subscribers could not be notified", self.lost_events)

    @property
    def pending_resets(self) -> int:
        """The number of topics that are recorded as missing an event."""
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

    def _record_lost(self, events: Sequence[tuple[str, bytes]]) -> None:
        self.lost_events += len(events)
        EVENTS_LOST.inc(len(events))
        self._request_resets(topic for topic, _ in events)

    def _remember(self, events: Iterable[tuple[str, bytes]]) -> None:
        answers = self._commands.primary.certain_answers
        if answers != self._known_answers:
            self._known_answers = answers
            self._recent_topics, self._earlier_topics = set(), self._recent_topics
        self._recent_topics.update(topic for topic, _ in events)

    def _reset_recent_topics(self) -> None:
        recent = self._recent_topics | self._earlier_topics
        self._recent_topics, self._earlier_topics = set(), set()
        if recent:
            log.info("Another Redis server is the primary: %d topics of the last events are reset there", len(recent))
            self._request_resets(recent)

    def _request_resets(self, topics: Iterable[str]) -> None:
        self._topics_to_reset.update(dict.fromkeys(topics))
        if len(self._topics_to_reset) > MAX_PENDING_RESETS:
            self._reset_all_topics = True
            self._topics_to_reset.clear()
        if self._reset_task is None or self._reset_task.done():
            self._reset_task = asyncio.create_task(self._retry_resets())

    async def _retry_resets(self) -> None:
        """Reset the streams with missing events as soon as Redis is available."""
        attempt = 0
        while self._has_pending_resets:
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            try:
                await self._reset_streams()
                attempt = 0
            except (RedisError, OSError):
                attempt += 1
        log.info("Redis accepts events again. %d events were lost since the start.", self.lost_events)

    async def _reset_streams(self) -> None:
        """Reset the recorded streams. An event that is lost meanwhile is recorded for another reset."""
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
