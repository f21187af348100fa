"""A group of equal subscriptions: each event is executed and encoded once for all its subscribers."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection
from time import perf_counter
from typing import Any

from wattgate.errors import ConsentRevoked, GatewayError, Internal, Unavailable
from wattgate.metrics import BROADCAST_SECONDS, MESSAGES_SENT, MESSAGES_SENT_BYTES
from wattgate.realtime.events import Event, MeterPointConsentRevoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.subscription import Message, Subscriber, Subscription

log = logging.getLogger(__name__)

MAX_BUFFERED_PAYLOADS = 1_000
"""Maximum number of new payloads that are buffered while a subscriber receives the missed ones."""


MIN_MEASURED_SUBSCRIBERS = 10
"""Measure broadcast duration only from this many subscribers. Below it, measuring would dominate."""


class Group(ABC):
    """The subscribers of equal subscriptions. `SubscriberGroups` creates and closes it."""

    def __init__(self, hub: Hub, subscription: Subscription) -> None:
        self.key = subscription.key
        self.topics = tuple(sorted(set(subscription.source.topics)))
        self.joining_count = 0
        self._hub = hub
        self._selection = subscription.selection
        self._read = subscription.read
        self._subscribers: dict[Subscriber, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_needed(self) -> bool:
        """Whether the group has subscribers, or some are about to join."""
        return bool(self._subscribers or self.joining_count)

    @property
    def size(self) -> int:
        """The number of subscribers in the group."""
        return len(self._subscribers)

    @abstractmethod
    async def add_subscriber(self, subscription: Subscription, subscriber: Subscriber) -> None:
        """Add a subscriber and send its first payloads. Raise GatewayError if that fails."""

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Remove a subscriber. It receives nothing more."""
        self._subscribers.pop(subscriber, None)

    def on_event(self, event: Event) -> None:
        """Handle an event on one of the topics."""
        if isinstance(event.payload, MeterPointConsentRevoked):
            self._end_subscribers(consent_revoked_error(event.payload), tuple(self._subscribers))
        else:
            self._handle_event(event)

    @abstractmethod
    def on_events_lost(self, topic: str, position: str) -> None:
        """Handle a loss of events on a topic, which continues after `position`."""

    def close(self) -> None:
        """Cancel the tasks of the group. It has no subscribers any more."""
        for task in self._tasks:
            task.cancel()

    @abstractmethod
    def _handle_event(self, event: Event) -> None:
        """Send the result of an event to the subscribers."""

    async def _execute(self, payload: Any) -> bytes:
        """Execute the selection on a payload and return the encoded result."""
        return await self._selection.execute_async(payload)

    def _send_to(self, subscriber: Subscriber, message: Message) -> None:
        """Send a message to one subscriber, unless it has left."""
        if subscriber in self._subscribers:
            subscriber.send(message)

    def _broadcast(self, message: Message) -> None:
        count, overflowing = len(self._subscribers), []
        started = perf_counter() if count >= MIN_MEASURED_SUBSCRIBERS else 0.0
        for subscriber in tuple(
            self._subscribers
        ):  # a copy: a subscriber that is closed for slow reading leaves during the loop
            if subscriber.buffer is None:
                subscriber.send(message)
            elif len(subscriber.buffer) < MAX_BUFFERED_PAYLOADS:
                subscriber.buffer.append(message)
            else:
                overflowing.append(subscriber)
        MESSAGES_SENT.add(count)
        MESSAGES_SENT_BYTES.add(count * message.size)
        if count >= MIN_MEASURED_SUBSCRIBERS:
            BROADCAST_SECONDS.observe(perf_counter() - started)
        if overflowing:
            self._end_subscribers(
                Unavailable("Too many events arrived during recovery. Subscribe again.", retry_after=1), overflowing
            )

    def _end_subscribers(self, error: GatewayError, subscribers: Collection[Subscriber]) -> None:
        """End the subscriptions of these subscribers with an error."""
        for subscriber in subscribers:
            if subscriber in self._subscribers:
                del self._subscribers[subscriber]
                subscriber.fail(error)

    def _start_task(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` in a task until it ends or the group is closed."""
        task = asyncio.create_task(self._supervise(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except GatewayError as error:
            self._end_subscribers(error, tuple(self._subscribers))
        except Exception:  # supervisor: the subscribers must receive the error
            log.exception("A subscription group failed with an unexpected error")
            self._end_subscribers(Internal("an unexpected error has occurred"), tuple(self._subscribers))


def consent_revoked_error(payload: MeterPointConsentRevoked) -> ConsentRevoked:
    """Return the error that ends a subscription to readings, or the part of one resource in it."""
    return ConsentRevoked(
        f"The consent for meter point {payload.mpxn} was revoked. Renew it to access this data.",
        mpxn=payload.mpxn,
        resource_id=payload.resource_id,
    )
