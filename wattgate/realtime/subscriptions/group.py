"""Those who are told the same: each event is executed and made into bytes once for all of them."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection
from time import perf_counter
from typing import Any

from wattgate.errors import ConsentRevoked, GatewayError, Internal, Unavailable
from wattgate.metrics import BROADCAST_SECONDS, MESSAGES_SENT, MESSAGES_SENT_BYTES
from wattgate.realtime.events import Event, Revoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.subscription import Message, Subscriber, Subscription

log = logging.getLogger(__name__)

MAX_BUFFERED = 1_000
"""How many payloads may come while a subscriber is caught up."""


BROADCAST = 10
"""From so many subscribers on it is measured how long telling them takes: for fewer, measuring would be what takes."""


class Group(ABC):
    """The subscribers of equal subscriptions. It belongs to `Groups`, which makes it and lets it go."""

    def __init__(self, hub: Hub, subscription: Subscription) -> None:
        self.key = subscription.key
        self.topics = tuple(sorted(set(subscription.watch.topics)))
        self.joining = 0
        self._hub = hub
        self._selection = subscription.selection
        self._read = subscription.read
        self._subscribers: dict[Subscriber, None] = {}
        self._work: set[asyncio.Task[None]] = set()

    @property
    def needed(self) -> bool:
        """Whether somebody is in it, or about to be."""
        return bool(self._subscribers or self.joining)

    @property
    def size(self) -> int:
        """How many subscribers are in it."""
        return len(self._subscribers)

    @abstractmethod
    async def admit(self, subscription: Subscription, subscriber: Subscriber) -> None:
        """Tell a subscriber where it stands, and then all that comes. GatewayError where that cannot be."""

    def leave(self, subscriber: Subscriber) -> None:
        """Tell a subscriber nothing more."""
        self._subscribers.pop(subscriber, None)

    def take(self, event: Event) -> None:
        """Take an event on one of the topics."""
        if isinstance(event.payload, Revoked):
            self._fail(revoked(event.payload), tuple(self._subscribers))
        else:
            self._change(event)

    @abstractmethod
    def lost(self, topic: str, position: str) -> None:
        """Take note that events of the topic were lost, and that it goes on from a position."""

    def close(self) -> None:
        """End what works for the group, in which nobody is left."""
        for task in self._work:
            task.cancel()

    @abstractmethod
    def _change(self, event: Event) -> None:
        """Tell what an event brings."""

    async def _execute(self, payload: Any) -> bytes:
        """The result of the selection, for what does not have to be told at once."""
        return await self._selection.in_time(payload)

    def _say(self, subscriber: Subscriber, message: Message) -> None:
        """Tell one subscriber something, unless it has left."""
        if subscriber in self._subscribers:
            subscriber.next(message)

    def _tell(self, message: Message) -> None:
        told, overrun = len(self._subscribers), []
        begun = perf_counter() if told >= BROADCAST else 0.0
        for subscriber in tuple(self._subscribers):  # one that is cut because it does not read leaves at once
            if subscriber.buffer is None:
                subscriber.next(message)
            elif len(subscriber.buffer) < MAX_BUFFERED:
                subscriber.buffer.append(message)
            else:
                overrun.append(subscriber)
        MESSAGES_SENT.add(told)
        MESSAGES_SENT_BYTES.add(told * len(message.payload))
        if told >= BROADCAST:
            BROADCAST_SECONDS.observe(perf_counter() - begun)
        if overrun:
            self._fail(Unavailable("more came than could be caught up with; ask again", retry_after=1), overrun)

    def _fail(self, error: GatewayError, some: Collection[Subscriber]) -> None:
        """End the subscription of some."""
        for subscriber in some:
            if subscriber in self._subscribers:
                del self._subscribers[subscriber]
                subscriber.fail(error)

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that takes time, for as long as the group is needed."""
        task = asyncio.create_task(self._supervise(work))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _supervise(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except GatewayError as error:
            self._fail(error, tuple(self._subscribers))
        except Exception:  # the supervisor of a group: its subscribers must hear of it
            log.exception("a subscription ended by a fault")
            self._fail(Internal("an unexpected error has occurred"), tuple(self._subscribers))


def revoked(payload: Revoked) -> ConsentRevoked:
    """The error that ends a stream of readings."""
    return ConsentRevoked(f"the consent for meter point {payload.mpxn} was revoked")
