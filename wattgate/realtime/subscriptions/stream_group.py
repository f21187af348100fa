"""Subscribers to a stream of events: each event is one payload, and reconnecting subscribers receive missed ones.

A group executes and encodes each event once and sends the same bytes to all its subscribers. Each message carries a
position: the positions of all topics of the group after this event, in the order of `topics`, joined by commas. A
client that reconnects passes its last position as `since`.

Execution: if the selection needs only the payload, the group executes an event synchronously, within the dispatch of
the hub. At the first event that needs more, the group starts a queue and a task, and uses them for all later events.
One task keeps the events in order.

A subscriber that passed `since` (`resumes`) is in one of three states:

    RECOVERING  `buffer` is a list. `_recover` sends the payloads missed before it joined.
    LIVE        `buffer` is None. It receives each message immediately.
    REFILLING   `buffer` is a list, and the subscriber is in `_refilling`. The bus has lost events, and
                `_refill_after_loss` sends payloads from the database.

In the first and the last state, new messages are appended to `buffer`. `_go_live` then sends the buffer and sets it to
None. A subscriber without `since` is always LIVE.

Recovery of a joining subscriber:

- `since` is empty: backfill from the database with the newest payloads.
- The bus retains the events since the position: send them (`recovered: true`). Events after the position at which the
  subscriber joined are skipped, because they are in the buffer.
- The bus does not retain them, readings were withdrawn since, or the position is invalid: backfill from the database
  (`recovered: false`).

After a loss of events (`on_events_lost`), LIVE and REFILLING subscribers are refilled together, from the position
before the first loss. All other subscribers end with an error: those without `since`, because nothing can report the
gap to them, and those in RECOVERING, which resume from their own position when they reconnect.

Consent: `_consent` knows the topics whose payloads are withheld. Subscribers keep the other topics, and receive the
error of each withheld one when they join and when its consent ends. The positions have all topics, so that a client can
resume after its consent is renewed. When every topic is withheld, the subscription ends.

Invariants:

- The buffer object identifies a refill. A later loss gives the subscriber a new buffer, and every coroutine that sends
  to a subscriber stops when `subscriber.buffer` is no longer the list that it started with.
- In a backfill, only the last message has the new position. A client that disconnects earlier repeats the backfill: it
  may receive payloads twice, but misses none.
- Messages of a recovery are sent as fast as the client reads (`wait_until_writable`), so that none of them replaces
  another one in the backlog of a slow client.

See `group` for broadcasting, `backfill` for the database queries, and `snapshot_group` for the other kind of group.
docs/explanation/decisions/0012-resume-with-positions.md explains the design.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from wattgate.clock import from_ms
from wattgate.errors import GatewayError
from wattgate.metrics import RECOVERIES
from wattgate.realtime.bus import is_position, parse_position
from wattgate.realtime.event_queue import EventQueue, events_lost_error
from wattgate.realtime.events import Event, MeterPointConsentRevoked, ResourceChanged
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.consent_watch import ConsentWatch
from wattgate.realtime.subscriptions.subscriber_group import Group, consent_revoked_error
from wattgate.realtime.subscriptions.subscription import Message, RequiresAsync, Subscriber, Subscription, build_message

POSITION_SEPARATOR = ","
"""Separator of the topic positions in the position of a payload."""

INITIAL_KEY = ("", "")
"""The key of the first payload, which has the current position and no data."""


CONSENT_KEY = "consent"
"""The first part of the key of the message that a topic is withheld. The second part is the topic."""


class StreamGroup(Group):
    """Send the payload of each event with its position. The module docstring explains the algorithm."""

    def __init__(self, hub: Hub, subscription: Subscription) -> None:
        super().__init__(hub, subscription)
        self._backfill = subscription.source.backfill
        self._positions: dict[str, str] = {}
        self._queue: EventQueue | None = None
        self._refilling: set[Subscriber] = set()
        self._position_before_loss = ""
        """The position of the `_refilling` subscribers before the first loss of events."""
        find_withheld = subscription.source.find_withheld
        self._consent = (
            None
            if find_withheld is None
            else ConsentWatch(partial(self._read, find_withheld), self._withhold, self._start_task)
        )

        if self._selection.execute_sync is None:
            self._start_queue()

    async def add_subscriber(self, subscription: Subscription, subscriber: Subscriber) -> None:
        opened = await self._hub.open_topics(self.topics)
        for topic, position in zip(self.topics, opened, strict=True):
            self._positions.setdefault(topic, position)
        if self._consent is not None:
            await self._consent.load()
        self._require_readable_topic()
        self._subscribers[subscriber] = None
        if self._withheld and not subscription.resumes:
            subscriber.send(build_message(INITIAL_KEY, self._first_result(), position=self._current_position))
        if subscription.resumes:
            subscriber.buffer = []
            await self._recover(subscription, subscriber, self._current_position)
            await self._go_live(subscriber)

    def on_event(self, event: Event) -> None:
        """Handle an event. A withdrawn consent ends the part of its topic."""
        if type(event.payload) is not MeterPointConsentRevoked:
            self._handle_event(event)
        elif self._consent is None:
            super().on_event(event)
        else:
            self._positions[event.topic] = str(event.position)
            self._consent.revoke(event.topic, consent_revoked_error(event.payload))

    def close(self) -> None:
        super().close()
        if self._consent is not None:
            self._consent.close()

    def on_events_lost(self, topic: str, position: str) -> None:
        if self._consent is not None:
            self._consent.request_check()
        up_to_date = {
            subscriber for subscriber in self._subscribers if subscriber.buffer is None or subscriber in self._refilling
        }
        resumable = {subscriber for subscriber in up_to_date if subscriber.resumes}
        others = [subscriber for subscriber in self._subscribers if subscriber not in resumable]
        self._end_subscribers(events_lost_error(), others)
        if resumable and not resumable & self._refilling:
            self._position_before_loss = self._current_position
        self._positions[topic], self._refilling = position, resumable
        if resumable:
            buffers: dict[Subscriber, list[Message]] = {subscriber: [] for subscriber in resumable}
            for subscriber, buffer in buffers.items():
                subscriber.buffer = buffer
            self._start_task(
                partial(self._refill_after_loss, buffers, self._position_before_loss, self._current_position)
            )

    def _handle_event(self, event: Event) -> None:
        consent, execute_sync = self._consent, self._selection.execute_sync
        if type(event.payload) is ResourceChanged:
            if consent is not None:  # it may have left the home of a display
                consent.request_check()
            return None
        if consent is not None and event.topic in consent.errors:
            self._positions[event.topic] = str(event.position)
            return None
        if self._queue is None and execute_sync is not None:
            try:
                return self._broadcast_event(event, execute_sync(event.payload))
            except RequiresAsync:
                return self._start_queue().on_event(event)
        return self._start_queue().on_event(event)

    def _broadcast_event(self, event: Event, result: bytes) -> None:
        position = self._positions[event.topic] = str(event.position)
        if self._subscribers:  # without subscribers, the other topics may not be open and have no position yet
            if len(self.topics) > 1:
                position = self._current_position
            self._broadcast(build_message((event.topic, event.key), result, position=position))

    # asynchronous selections

    def _start_queue(self) -> EventQueue:
        if self._queue is None:
            self._queue = EventQueue()
            self._start_task(partial(self._process_queue, self._queue))
        return self._queue

    async def _process_queue(self, queue: EventQueue) -> None:
        while True:
            event = await queue.get()
            result = await self._execute(event.payload)
            if event.topic not in self._positions or _is_later(event, self._positions):
                if event.topic in self._withheld:
                    self._positions[event.topic] = str(event.position)
                else:
                    self._broadcast_event(event, result)

    # consent

    @property
    def _withheld(self) -> Mapping[str, GatewayError]:
        """The errors of the topics whose payloads are withheld."""
        return {} if self._consent is None else self._consent.errors

    def _require_readable_topic(self) -> None:
        """Raise the error of the first topic if the payloads of all topics are withheld."""
        if len(self._withheld) == len(self.topics):
            raise self._withheld[self.topics[0]]

    def _withhold(self, topic: str, error: GatewayError) -> None:
        """Notify the subscribers that a topic is withheld from now on, and drop its buffered messages."""
        if len(self._withheld) == len(self.topics):
            self._end_subscribers(error, tuple(self._subscribers))
            return
        for subscriber in self._subscribers:
            if subscriber.buffer is not None:
                subscriber.buffer[:] = [message for message in subscriber.buffer if message.key[0] != topic]
        if self._subscribers:
            result = self._selection.build_error_result([error])
            self._broadcast(build_message((CONSENT_KEY, topic), result, position=self._current_position))

    def _first_result(self) -> bytes:
        """Return the result of the first payload: no data, and the errors of the withheld topics."""
        return self._selection.build_error_result(self._withheld.values())

    # positions and recovery

    @property
    def _current_position(self) -> str:
        return POSITION_SEPARATOR.join([self._positions[topic] for topic in self.topics])

    async def _recover(self, subscription: Subscription, subscriber: Subscriber, current_position: str) -> None:
        """Send a joining subscriber the newest payloads, or those since its position.

        Events after `current_position` are already in its buffer.
        """
        if not subscription.since:
            return await self._send_all(subscriber, await self._build_backfill_messages("", current_position))
        positions = self._parse_position(subscription.since)
        results = await self._hub.read_since(list(positions.items())) if positions else [None]
        results = [None if _has_withdrawal(events) else events for events in results]
        missed = [event for events in results for event in events or ()]
        RECOVERIES.labels(str(None not in results).lower()).inc()
        if None in results:
            old_position = subscription.since if positions else ""
            return await self._send_all(
                subscriber, await self._build_backfill_messages(old_position, current_position, recovered=False)
            )
        first = build_message(INITIAL_KEY, self._first_result(), position=subscription.since, recovered=True)
        await self._send_all(subscriber, [first])
        group_positions = self._parse_position(current_position)
        for event in sorted(missed, key=lambda event: parse_position(str(event.position))):
            is_payload = not isinstance(event.payload, ResourceChanged | MeterPointConsentRevoked)
            if _is_later(event, group_positions) or event.topic in self._withheld or not is_payload:
                continue
            positions[event.topic] = str(event.position)
            result = await self._execute(event.payload)
            message = build_message(
                (event.topic, event.key), result, position=POSITION_SEPARATOR.join(positions.values())
            )
            await self._send_all(subscriber, [message])
        return None

    async def _refill_after_loss(
        self, buffers: Mapping[Subscriber, list[Message]], old_position: str, current_position: str
    ) -> None:
        """Send payloads from the database to subscribers for which the bus has lost events.

        Skip subscribers whose buffer is no longer that in `buffers`: after another loss, a later refill serves them.
        """
        if not any(subscriber.buffer is buffer for subscriber, buffer in buffers.items()):
            return
        messages = await self._build_backfill_messages(old_position, current_position, recovered=False)

        async def refill(subscriber: Subscriber, buffer: list[Message]) -> None:
            if subscriber.buffer is buffer:
                await self._send_all(subscriber, messages)
            if subscriber.buffer is buffer:
                await self._go_live(subscriber)

        await asyncio.gather(*(refill(subscriber, buffer) for subscriber, buffer in buffers.items()))

    async def _build_backfill_messages(
        self, old_position: str, current_position: str, **extensions: bool
    ) -> list[Message]:
        """Build messages from the database: all payloads since a position or, if it is empty, the newest ones.

        Only the last message has the current position, so that a client that disconnects earlier repeats all.
        """
        payloads = await self._load_backfill(_oldest_instant(old_position))
        results = [await self._execute(payload) for payload in payloads]
        messages = [
            build_message(
                INITIAL_KEY,
                self._first_result(),
                position=old_position if results else current_position,
                **extensions,
            )
        ]
        for count, result in enumerate(results, 1):
            key = ("missed", str(count))
            messages.append(
                build_message(key, result, position=current_position if count == len(results) else old_position)
            )
        return messages

    async def _load_backfill(self, since: datetime | None) -> Sequence[Any]:
        backfill = self._backfill
        if backfill is None:
            return ()
        payloads: Sequence[Any] = await self._read(lambda rows: backfill(rows, since))
        return payloads

    async def _send_all(self, subscriber: Subscriber, messages: Iterable[Message]) -> None:
        """Send messages as fast as the client reads them, so that none replaces another in its backlog.

        Stop after another loss of events, which gives the subscriber a new buffer.
        """
        buffer = subscriber.buffer
        for message in messages:
            if subscriber.buffer is not buffer:
                return
            self._send_to(subscriber, message)
            await subscriber.wait_until_writable()

    async def _go_live(self, subscriber: Subscriber) -> None:
        """Send the buffered messages. From then on, the subscriber receives messages immediately."""
        buffer = subscriber.buffer
        while buffer and subscriber.buffer is buffer:
            await self._send_all(subscriber, [buffer.pop(0)])
        if subscriber.buffer is buffer:
            subscriber.buffer = None
            self._refilling.discard(subscriber)

    def _parse_position(self, text: str) -> dict[str, str]:
        """Return the position in each topic, or an empty dict if the text is no position of this group."""
        parts = text.split(POSITION_SEPARATOR)
        if len(parts) != len(self.topics) or not all(map(is_position, parts)):
            return {}
        return dict(zip(self.topics, parts, strict=True))


def _is_later(event: Event, positions: Mapping[str, str]) -> bool:
    return parse_position(str(event.position)) > parse_position(positions[event.topic])


def _has_withdrawal(events: Sequence[Event] | None) -> bool:
    """Return whether events before one of these may have values that were withdrawn since."""
    return any(isinstance(event.payload, ResourceChanged) and event.payload.withdrawn for event in events or ())


def _oldest_instant(position: str) -> datetime | None:
    """Return the time of the oldest topic position, since when events may be missing. None without a position."""
    if not position:
        return None
    return from_ms(min(parse_position(part)[0] for part in position.split(POSITION_SEPARATOR)))
