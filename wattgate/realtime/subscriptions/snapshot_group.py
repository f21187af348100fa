"""Subscribers to a state that many events change: each is told the whole of it, first and whenever it has changed."""

import asyncio
import random
from typing import Any

from wattgate.clock import Clock
from wattgate.errors import Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.events import Event, Revoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, NotAtOnce, Subscriber, Subscription, message
from wattgate.realtime.subscriptions.subscription_source import View
from wattgate.realtime.timer_wheel import Wheel

SPREAD_SECONDS = 3.0
"""Over how long the loads are spread that one event causes: the half hours of all homes are stored at once."""

AGAIN = Backoff(shortest=1.0, longest=30.0)
"""How long to wait before another load where the database is away."""

LOOK_AGAIN_SECONDS = 5.0
"""When time is asked again for what it changes while a state is to be loaded: the database may be away for long."""

STATE = ("state", "")


class ViewGroup(Group):
    """Keeps the state of a view, and tells it. The database is read at the beginning, and when the view asks for it."""

    def __init__(
        self, hub: Hub, subscription: Subscription, view: View, wheel: Wheel, clock: Clock, loads: asyncio.Semaphore
    ) -> None:
        super().__init__(hub, subscription)
        self._view = view
        self._wheel = wheel
        self._clock = clock
        self._loads = loads
        self._state: Any = None
        self._message: Message | None = None
        self._first: asyncio.Task[None] | None = None
        self._loading = False
        self._outdated = False
        self._rendering = False
        self._barred = False
        self.slot: int | None = None

    async def admit(self, subscription: Subscription, subscriber: Subscriber) -> None:
        await self._hub.open(self.topics)
        if self._message is None:
            if self._first is None or self._first.done():
                self._first = asyncio.create_task(self._load())
                self._first.add_done_callback(_seen)
            await asyncio.shield(self._first)
        first = await self._told_now()
        self._subscribers[subscriber] = None
        subscriber.next(first)

    async def _told_now(self) -> Message:
        """What is told to somebody who joins."""
        state, told = self._state, self._message
        assert told is not None  # it has been loaded
        seen = self._view.seen(state, self._clock())
        if seen is not state:
            result = await self._execute(seen)
            if self._state is state:
                return message(STATE, result)
        assert self._message is not None
        return self._message

    def take(self, event: Event) -> None:
        """Take an event.

        A consent that was withdrawn may be for one thing of several: the view is loaded, which says what that means,
        and nothing more is told until then.
        """
        if isinstance(event.payload, Revoked) and self._state is not None:
            self._barred = True
            self._load_soon()
        else:
            self._change(event)

    def lost(self, topic: str, position: str) -> None:
        self._load_soon()

    def close(self) -> None:
        super().close()
        self._wheel.remove(self)
        if self._first is not None:
            self._first.cancel()

    def visit(self, now: float) -> float | None:
        """Let time change the state."""
        if self._barred:
            return None
        changed = self._view.turn(self._state, self._clock())
        if changed is None:
            self._load_soon()
            return now + LOOK_AGAIN_SECONDS
        self._show(changed)
        return None

    def _change(self, event: Event) -> None:
        if self._state is None or self._barred:
            self._outdated = True
            return
        if self._loading:
            self._outdated = True  # what is being read may be from before the event
        changed = self._view.take(self._state, event, self._clock())
        if changed is None:
            self._load_soon()
        else:
            self._show(changed)

    def _show(self, state: Any) -> None:
        """Keep a state, and tell it if it is another one."""
        before = self._state
        self._keep(state)
        if state is before:
            return
        at_once = self._selection.at_once
        try:
            if at_once is None:
                raise NotAtOnce
            self._tell_state(at_once(state))
        except NotAtOnce:
            if not self._rendering:
                self._start(self._tell_in_time)

    def _keep(self, state: Any) -> None:
        self._state = state
        left = (self._view.next_turn(state) - self._clock()).total_seconds()
        self._wheel.place(self, self._wheel.now() + max(left, 0.0))

    async def _tell_in_time(self) -> None:
        """Tell the newest state until there is none newer."""
        self._rendering = True
        try:
            told = None
            while told is not self._state:
                told = self._state
                self._tell_state(await self._execute(told))
        finally:
            self._rendering = False

    def _tell_state(self, result: bytes) -> None:
        self._message = message(STATE, result)
        self._tell(self._message)

    async def _load(self) -> None:
        """Read the state. What comes meanwhile makes it outdated, and it is read again."""
        async with self._loads:
            self._outdated = False
            state = await self._read(self._view.load)
        self._barred = self._barred and self._outdated
        if self._message is None:  # nobody is in the group yet who could be told
            self._message = message(STATE, await self._execute(state))
            self._keep(state)
        elif not self._barred:
            self._show(state)
        if self._outdated:
            self._load_soon()

    def _load_soon(self) -> None:
        self._outdated = True
        if not self._loading:
            self._loading = True
            self._start(self._load_in_time)

    async def _load_in_time(self) -> None:
        attempt = 0
        try:
            while self._outdated:
                await asyncio.sleep(random.uniform(0, SPREAD_SECONDS))
                try:
                    await self._load()
                except Unavailable:
                    await asyncio.sleep(AGAIN.seconds(attempt))
                    attempt += 1
                    self._outdated = True
        finally:
            self._loading = False


def _seen(task: "asyncio.Task[None]") -> None:
    """Take note of how it ended, even where all who waited for it have left."""
    if not task.cancelled():
        task.exception()
