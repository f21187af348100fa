"""Those who are told the same: each event is executed and made into bytes once for all of them."""

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
"""How many payloads may come while a subscriber is caught up."""


MIN_MEASURED_SUBSCRIBERS = 10
"""From so many subscribers on it is measured how long telling them takes: for fewer, measuring would be what takes."""


class Group(ABC):
    """The subscribers of equal subscriptions. It belongs to `Groups`, which makes it and lets it go."""

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
        """Whether somebody is in it, or about to be."""
        return bool(self._subscribers or self.joining_count)

    @property
    def size(self) -> int:
        """How many subscribers are in it."""
        return len(self._subscribers)

    @abstractmethod
    async def add_subscriber(self, subscription: Subscription, subscriber: Subscriber) -> None:
        """Tell a subscriber where it stands, and then all that comes. GatewayError where that cannot be."""

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Tell a subscriber nothing more."""
        self._subscribers.pop(subscriber, None)

    def on_event(self, event: Event) -> None:
        """Take an event on one of the topics."""
        if isinstance(event.payload, MeterPointConsentRevoked):
            self._end_subscribers(consent_revoked_error(event.payload), tuple(self._subscribers))
        else:
            self._handle_event(event)

    @abstractmethod
    def on_events_lost(self, topic: str, position: str) -> None:
        """Take note that events of the topic were lost, and that it goes on from a position."""

    def close(self) -> None:
        """End what works for the group, in which nobody is left."""
        for task in self._tasks:
            task.cancel()

    @abstractmethod
    def _handle_event(self, event: Event) -> None:
        """Tell what an event brings."""

    async def _execute(self, payload: Any) -> bytes:
        """The result of the selection, for what does not have to be told at once."""
        return await self._selection.execute_async(payload)

    def _send_to(self, subscriber: Subscriber, message: Message) -> None:
        """Tell one subscriber something, unless it has left."""
        if subscriber in self._subscribers:
            subscriber.send(message)

    def _broadcast(self, message: Message) -> None:
        count, overflowing = len(self._subscribers), []
        started = perf_counter() if count >= MIN_MEASURED_SUBSCRIBERS else 0.0
        for subscriber in tuple(self._subscribers):  # one that is cut because it does not read leaves at once
            if subscriber.buffer is None:
                subscriber.send(message)
            elif len(subscriber.buffer) < MAX_BUFFERED_PAYLOADS:
                subscriber.buffer.append(message)
            else:
                overflowing.append(subscriber)
        MESSAGES_SENT.add(count)
        MESSAGES_SENT_BYTES.add(count * len(message.payload))
        if count >= MIN_MEASURED_SUBSCRIBERS:
            BROADCAST_SECONDS.observe(perf_counter() - started)
        if overflowing:
            self._end_subscribers(
                Unavailable("more came than could be caught up with; ask again", retry_after=1), overflowing
            )

    def _end_subscribers(self, error: GatewayError, subscribers: Collection[Subscriber]) -> None:
        """End the subscription of some."""
        for subscriber in subscribers:
            if subscriber in self._subscribers:
                del self._subscribers[subscriber]
                subscriber.fail(error)

    def _start_task(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that takes time, for as long as the group is needed."""
        task = asyncio.create_task(self._supervise(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except GatewayError as error:
            self._end_subscribers(error, tuple(self._subscribers))
        except Exception:  # the supervisor of a group: its subscribers must hear of it
            log.exception("a subscription ended by a fault")
            self._end_subscribers(Internal("an unexpected error has occurred"), tuple(self._subscribers))


def consent_revoked_error(payload: MeterPointConsentRevoked) -> ConsentRevoked:
    """The error that ends a stream of readings."""
    return ConsentRevoked(f"the consent for meter point {payload.mpxn} was revoked")
