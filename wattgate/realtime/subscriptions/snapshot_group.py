"""Subscribers to a state that many events change: each is told the whole of it, first and whenever it has changed."""

import asyncio
import random
from typing import Any

from wattgate.clock import Clock
from wattgate.errors import Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.events import Event, MeterPointConsentRevoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, RequiresAsync, Subscriber, Subscription, build_message
from wattgate.realtime.subscriptions.subscription_source import SnapshotReducer
from wattgate.realtime.timer_wheel import TimerWheel

LOAD_SPREAD_SECONDS = 3.0
"""Over how long the loads are spread that one event causes: the half hours of all homes are stored at once."""

RETRY_BACKOFF = Backoff(min_seconds=1.0, max_seconds=30.0)
"""How long to wait before another load where the database is away."""

RECHECK_SECONDS = 5.0
"""When time is asked again for what it changes while a state is to be loaded: the database may be away for long."""

STATE_KEY = ("state", "")


class SnapshotGroup(Group):
    """Keeps the state of a view, and tells it. The database is read at the beginning, and when the view asks for it."""

    def __init__(
        self,
        hub: Hub,
        subscription: Subscription,
        reducer: SnapshotReducer,
        wheel: TimerWheel,
        clock: Clock,
        load_semaphore: asyncio.Semaphore,
    ) -> None:
        super().__init__(hub, subscription)
        self._reducer = reducer
        self._wheel = wheel
        self._clock = clock
        self._load_semaphore = load_semaphore
        self._state: Any = None
        self._message: Message | None = None
        self._first_load: asyncio.Task[None] | None = None
        self._loading = False
        self._outdated = False
        self._rendering = False
        self._suspended = False
        self.timer_slot: int | None = None

    async def add_subscriber(self, subscription: Subscription, subscriber: Subscriber) -> None:
        await self._hub.open_topics(self.topics)
        if self._message is None:
            if self._first_load is None or self._first_load.done():
                self._first_load = asyncio.create_task(self._load())
                self._first_load.add_done_callback(_consume_exception)
            await asyncio.shield(self._first_load)
        first = await self._message_for_join()
        self._subscribers[subscriber] = None
        subscriber.send(first)

    async def _message_for_join(self) -> Message:
        """What is told to somebody who joins."""
        state, told = self._state, self._message
        assert told is not None  # it has been loaded
        seen = self._reducer.refresh_for_join(state, self._clock())
        if seen is not state:
            result = await self._execute(seen)
            if self._state is state:
                return build_message(STATE_KEY, result)
        assert self._message is not None
        return self._message

    def on_event(self, event: Event) -> None:
        """Take an event.

        A consent that was withdrawn may be for one thing of several: the view is loaded, which says what that means,
        and nothing more is told until then.
        """
        if isinstance(event.payload, MeterPointConsentRevoked) and self._state is not None:
            self._suspended = True
            self._schedule_load()
        else:
            self._handle_event(event)

    def on_events_lost(self, topic: str, position: str) -> None:
        self._schedule_load()

    def close(self) -> None:
        super().close()
        self._wheel.cancel(self)
        if self._first_load is not None:
            self._first_load.cancel()

    def on_timer(self, now: float) -> float | None:
        """Let time change the state."""
        if self._suspended:
            return None
        changed = self._reducer.advance(self._state, self._clock())
        if changed is None:
            self._schedule_load()
            return now + RECHECK_SECONDS
        self._update_state(changed)
        return None

    def _handle_event(self, event: Event) -> None:
        if self._state is None or self._suspended:
            self._outdated = True
            return
        if self._loading:
            self._outdated = True  # what is being read may be from before the event
        changed = self._reducer.apply_event(self._state, event, self._clock())
        if changed is None:
            self._schedule_load()
        else:
            self._update_state(changed)

    def _update_state(self, state: Any) -> None:
        """Keep a state, and tell it if it is another one."""
        before = self._state
        self._store_state(state)
        if state is before:
            return
        at_once = self._selection.execute_sync
        try:
            if at_once is None:
                raise RequiresAsync
            self._broadcast_state(at_once(state))
        except RequiresAsync:
            if not self._rendering:
                self._start_task(self._broadcast_pending)

    def _store_state(self, state: Any) -> None:
        self._state = state
        left = (self._reducer.next_change(state) - self._clock()).total_seconds()
        self._wheel.schedule(self, self._wheel.now() + max(left, 0.0))

    async def _broadcast_pending(self) -> None:
        """Tell the newest state until there is none newer."""
        self._rendering = True
        try:
            told = None
            while told is not self._state:
                told = self._state
                self._broadcast_state(await self._execute(told))
        finally:
            self._rendering = False

    def _broadcast_state(self, result: bytes) -> None:
        self._message = build_message(STATE_KEY, result)
        self._broadcast(self._message)

    async def _load(self) -> None:
        """Read the state. What comes meanwhile makes it outdated, and it is read again."""
        async with self._load_semaphore:
            self._outdated = False
            state = await self._read(self._reducer.load)
        self._suspended = self._suspended and self._outdated
        if self._message is None:  # nobody is in the group yet who could be told
            self._message = build_message(STATE_KEY, await self._execute(state))
            self._store_state(state)
        elif not self._suspended:
            self._update_state(state)
        if self._outdated:
            self._schedule_load()

    def _schedule_load(self) -> None:
        self._outdated = True
        if not self._loading:
            self._loading = True
            self._start_task(self._load_with_retries)

    async def _load_with_retries(self) -> None:
        attempt = 0
        try:
            while self._outdated:
                await asyncio.sleep(random.uniform(0, LOAD_SPREAD_SECONDS))
                try:
                    await self._load()
                except Unavailable:
                    await asyncio.sleep(RETRY_BACKOFF.delay_seconds(attempt))
                    attempt += 1
                    self._outdated = True
        finally:
            self._loading = False


def _consume_exception(task: "asyncio.Task[None]") -> None:
    """Take note of how it ended, even where all who waited for it have left."""
    if not task.cancelled():
        task.exception()
