"""Subscribers to events as they come: each has its place, and whoever was away is told what it has missed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from wattgate.clock import from_ms
from wattgate.errors import Unavailable
from wattgate.metrics import RECOVER
from wattgate.realtime.bus import is_position, place
from wattgate.realtime.events import Event, Revoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.event_queue import Feed
from wattgate.realtime.subscriptions.group import Group, revoked
from wattgate.realtime.subscriptions.subscription import Message, NotAtOnce, Subscriber, Subscription, message

BETWEEN = ","
"""Stands between the positions of several topics, which together are the position of a payload."""

ANSWER = ("", "")
"""The key of the first payload, which says where the subscriber stands."""


class StreamGroup(Group):
    """Tells each event by its payload, with its position in the topics."""

    def __init__(self, hub: Hub, subscription: Subscription) -> None:
        super().__init__(hub, subscription)
        self._missed = subscription.watch.missed
        self._places: dict[str, str] = {}
        self._feed: Feed | None = None
        self._behind: set[Subscriber] = set()
        self._stood = ""
        """Where those who are `_behind` stood before the bus lost what they are to be told of."""

        if self._selection.at_once is None:
            self._go_on_in_time()

    async def admit(self, subscription: Subscription, subscriber: Subscriber) -> None:
        opened = await self._hub.open(self.topics)
        for topic, position in zip(self.topics, opened, strict=True):
            self._places.setdefault(topic, position)
        self._subscribers[subscriber] = None
        if subscription.resumes:
            subscriber.buffer = []
            await self._catch_up(subscription, subscriber, self._position)
            await self._go_live(subscriber)

    def lost(self, topic: str, position: str) -> None:
        up_to_date = {one for one in self._subscribers if one.buffer is None or one in self._behind}
        told = {one for one in up_to_date if one.resumes}
        unaware = [one for one in self._subscribers if one not in told]
        self._fail(Unavailable("some events were lost; ask again", retry_after=1), unaware)
        if told and not told & self._behind:
            self._stood = self._position
        self._places[topic], self._behind = position, told
        if told:
            waiting: dict[Subscriber, list[Message]] = {one: [] for one in told}
            for one, buffer in waiting.items():
                one.buffer = buffer
            self._start(partial(self._refill, waiting, self._stood, self._position))

    def _change(self, event: Event) -> None:
        if self._feed is None and self._selection.at_once is not None:
            try:
                return self._tell_event(event, self._selection.at_once(event.payload))
            except NotAtOnce:
                return self._go_on_in_time().take(event)
        return self._go_on_in_time().take(event)

    def _tell_event(self, event: Event, result: bytes) -> None:
        self._places[event.topic] = str(event.position)
        if self._subscribers:  # before the first one the other topics may not be open, and have no position yet
            self._tell(message((event.topic, event.key), result, position=self._position))

    # selections that have to wait for something are executed one after the other

    def _go_on_in_time(self) -> Feed:
        if self._feed is None:
            self._feed = Feed()
            self._start(partial(self._tell_in_time, self._feed))
        return self._feed

    async def _tell_in_time(self, feed: Feed) -> None:
        while True:
            event = await feed.get()
            result = await self._execute(event.payload)
            if event.topic not in self._places or _later(event, self._places):
                self._tell_event(event, result)

    # where it stands, and how others come to be there

    @property
    def _position(self) -> str:
        return BETWEEN.join([self._places[topic] for topic in self.topics])

    async def _catch_up(self, subscription: Subscription, subscriber: Subscriber, stands: str) -> None:
        """Tell whoever begins what there is, and whoever comes back what it has missed.

        What came after `stands` waits in the buffer.
        """
        if not subscription.since:
            return await self._bring(subscriber, await self._fill("", stands))
        places = self._read_position(subscription.since)
        found = await self._hub.read_since(list(places.items())) if places else [None]
        missed = [event for events in found for event in events or ()]
        RECOVER.labels(str(None not in found).lower()).inc()
        if None in found:
            stood = subscription.since if places else ""
            return await self._bring(subscriber, await self._fill(stood, stands, recovered=False))
        answer = message(ANSWER, self._selection.nothing, position=subscription.since, recovered=True)
        await self._bring(subscriber, [answer])
        standing = self._read_position(stands)
        for event in sorted(missed, key=lambda one: place(str(one.position))):
            if _later(event, standing):
                continue
            if isinstance(event.payload, Revoked):
                raise revoked(event.payload)
            places[event.topic] = str(event.position)
            result = await self._execute(event.payload)
            one = message((event.topic, event.key), result, position=BETWEEN.join(places.values()))
            await self._bring(subscriber, [one])
        return None

    async def _refill(self, waiting: Mapping[Subscriber, list[Message]], stood: str, stands: str) -> None:
        """Tell those who were up to date what the database has, because the bus has lost some.

        Whoever has another buffer than it had then is left to another refill: more was lost in the meantime.
        """
        if not any(one.buffer is buffer for one, buffer in waiting.items()):
            return
        messages = await self._fill(stood, stands, recovered=False)

        async def refill(subscriber: Subscriber, buffer: list[Message]) -> None:
            if subscriber.buffer is buffer:
                await self._bring(subscriber, messages)
            if subscriber.buffer is buffer:
                await self._go_live(subscriber)

        await asyncio.gather(*(refill(*one) for one in waiting.items()))

    async def _fill(self, stood: str, stands: str, **said: bool) -> list[Message]:
        """What the database has, as it is told: all since a position, or the newest where that is empty.

        Only the last payload has the new position: whoever is cut off before it begins again from where it was.
        """
        payloads = await self._from_database(_instant(stood))
        results = [await self._execute(payload) for payload in payloads]
        messages = [message(ANSWER, self._selection.nothing, position=stood if results else stands, **said)]
        for count, result in enumerate(results, 1):
            key = ("missed", str(count))
            messages.append(message(key, result, position=stands if count == len(results) else stood))
        return messages

    async def _from_database(self, since: datetime | None) -> Sequence[Any]:
        missed = self._missed
        if missed is None:
            return ()
        found: Sequence[Any] = await self._read(lambda rows: missed(rows, since))
        return found

    async def _bring(self, subscriber: Subscriber, messages: Iterable[Message]) -> None:
        """Tell what has waited, as fast as it is read: none of it may give way to a later one.

        It ends where more is lost in the meantime, which gives the subscriber another buffer.
        """
        buffer = subscriber.buffer
        for one in messages:
            if subscriber.buffer is not buffer:
                return
            self._say(subscriber, one)
            await subscriber.room()

    async def _go_live(self, subscriber: Subscriber) -> None:
        """Tell what came meanwhile, and from now on everything at once."""
        buffer = subscriber.buffer
        while buffer and subscriber.buffer is buffer:
            await self._bring(subscriber, [buffer.pop(0)])
        if subscriber.buffer is buffer:
            subscriber.buffer = None
            self._behind.discard(subscriber)

    def _read_position(self, text: str) -> dict[str, str]:
        """The position in each topic; nothing where the text is none of this group."""
        parts = text.split(BETWEEN)
        if len(parts) != len(self.topics) or not all(map(is_position, parts)):
            return {}
        return dict(zip(self.topics, parts, strict=True))


def _later(event: Event, places: Mapping[str, str]) -> bool:
    return place(str(event.position)) > place(places[event.topic])


def _instant(position: str) -> datetime | None:
    """Since when something may be missing: the oldest of the positions. None where there is none."""
    if not position:
        return None
    return from_ms(min(place(one)[0] for one in position.split(BETWEEN)))
