"""Subscribers to a state that many events change: each receives the whole state first, and after each change.

A `SnapshotReducer` loads the state and computes the next one from an event or from time. The group keeps the last one,
the snapshot, and broadcasts it when the reducer returns another one. If the reducer cannot compute the next state, the
group reloads it. Two small state machines control this.

`SnapshotPhase` says whether the group has a snapshot and may change it:

    EMPTY     --first load-->                   CURRENT
    CURRENT   --consent withdrawn-->            WITHHELD
    WITHHELD  --load that is not outdated-->    CURRENT

In WITHHELD, neither events nor time change the snapshot: a withdrawn consent can concern a part of it, and only a load
can decide which one.

`ReloadState` says whether a load runs, and whether the state that it reads may be older than an event that arrived
since. `RELOAD_TRANSITIONS` has all transitions. In EMPTY, the first load runs, and subscribers that join wait for it.
In the other phases, a background task runs the reloads. It repeats them until one is not outdated.

The topics of the group follow the resources and devices behind the state. After an event that may have changed these
(`TOPIC_CHANGES`), the next reload asks the reducer for the topics, opens new ones before it reads the state, and closes
the others. Reloads that time or a loss of events causes do so too, because such an event may have been missed.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from types import MappingProxyType
from typing import Any

from wattgate.clock import Clock, to_ms
from wattgate.errors import Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.events import (
    DeviceChanged,
    Event,
    MeterPointConsentRevoked,
    ResourceChanged,
    VirtualEntityChanged,
)
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.subscriber_group import Group
from wattgate.realtime.subscriptions.subscription import Message, RequiresAsync, Subscriber, Subscription, build_message
from wattgate.realtime.subscriptions.subscription_source import SnapshotReducer
from wattgate.realtime.timer_wheel import TimerWheel
from wattgate.requests.fair_share import FairShare

LOAD_SPREAD_SECONDS = 3.0
"""Reloads that one event causes are spread over this time: the half hours of all homes are stored at once.

A change of TOPIC_CHANGES concerns one home and is loaded at once: what left the home is not shown any longer.
"""

RETRY_BACKOFF = Backoff(min_seconds=1.0, max_seconds=30.0)
"""Delay before the next reload when the database is unavailable."""

RECHECK_SECONDS = 5.0
"""Delay before time is applied again while the state is reloaded: the database may be unavailable for long."""

MAX_EVENTS_DURING_READ = 1_000
"""Events after these are not kept while the state is read. The next reload has them."""

STATE_KEY = ("state", "")

TOPIC_CHANGES = (DeviceChanged, ResourceChanged, VirtualEntityChanged)
"""Payloads of events after which the topics of a state may be others."""


class SnapshotPhase(Enum):
    """Whether the group has a snapshot, and whether events and time may change it."""

    EMPTY = "no snapshot is loaded"
    CURRENT = "events and time update the snapshot"
    WITHHELD = "a consent was withdrawn: only a reload may change the snapshot"


class ReloadState(Enum):
    """The state of the first load or of the reload task."""

    IDLE = "no load runs"
    RUNNING = "a load runs, and no event has arrived since its read began"
    RUNNING_OUTDATED = "a load runs or waits, and the state must be read again"


class ReloadEvent(Enum):
    """An event that changes the `ReloadState`."""

    REQUESTED = "the state must be loaded"
    CHANGED = "an event arrived that a read in progress may miss"
    READ_STARTED = "the database is read"
    READ_FAILED = "the database was unavailable"
    ENDED = "the load or the reload task has ended"


RELOAD_TRANSITIONS: Mapping[ReloadState, Mapping[ReloadEvent, ReloadState]] = MappingProxyType(
    {
        ReloadState.IDLE: {
            ReloadEvent.REQUESTED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.CHANGED: ReloadState.IDLE,
            ReloadEvent.READ_STARTED: ReloadState.RUNNING,
            ReloadEvent.ENDED: ReloadState.IDLE,  # the first load was cancelled before its read
        },
        ReloadState.RUNNING: {
            ReloadEvent.REQUESTED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.CHANGED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.READ_FAILED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.ENDED: ReloadState.IDLE,
        },
        ReloadState.RUNNING_OUTDATED: {
            ReloadEvent.REQUESTED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.CHANGED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.READ_STARTED: ReloadState.RUNNING,
            ReloadEvent.READ_FAILED: ReloadState.RUNNING_OUTDATED,
            ReloadEvent.ENDED: ReloadState.IDLE,
        },
    }
)
"""The next state after each event. A missing pair cannot occur."""


def phase_after_revocation(phase: SnapshotPhase) -> SnapshotPhase:
    """Return the phase after a consent was withdrawn. Without a snapshot, there is nothing to withhold."""
    return SnapshotPhase.EMPTY if phase is SnapshotPhase.EMPTY else SnapshotPhase.WITHHELD


def phase_after_load(phase: SnapshotPhase, reload: ReloadState) -> SnapshotPhase:
    """Return the phase after a load. An outdated one may have read the state before the consent was withdrawn."""
    withheld = phase is SnapshotPhase.WITHHELD and reload is ReloadState.RUNNING_OUTDATED
    return SnapshotPhase.WITHHELD if withheld else SnapshotPhase.CURRENT


class SnapshotGroup(Group):
    """Keep the snapshot of a reducer and broadcast its changes. The module docstring explains the states."""

    def __init__(
        self,
        hub: Hub,
        subscription: Subscription,
        reducer: SnapshotReducer,
        wheel: TimerWheel,
        clock: Clock,
        loads: FairShare,
    ) -> None:
        super().__init__(hub, subscription)
        self._reducer = reducer
        self._wheel = wheel
        self._clock = clock
        self._loads = loads
        self._owner = subscription.owner
        self._phase = SnapshotPhase.EMPTY
        self._reload = ReloadState.IDLE
        self._state: Any = None
        """The snapshot. None in the phase EMPTY only."""
        self._message: Message | None = None
        """The newest encoded snapshot. None in the phase EMPTY only."""
        self._first_load: asyncio.Task[None] | None = None
        self._rendering = False
        """Whether a task executes an asynchronous selection. It broadcasts until the newest state is sent."""
        self._events_during_read: list[Event] = []
        """Events that arrived since the last read began, so that the state which it returns may lack them."""
        self._topics_outdated = False
        self._topics_changed = asyncio.Event()
        """Set by an event of TOPIC_CHANGES, until the next load."""
        self.timer_slot: int | None = None

    async def add_subscriber(self, subscription: Subscription, subscriber: Subscriber) -> None:
        if not set(subscription.source.topics) <= set(self.topics):
            self._request_reload(with_topics=True)
        await self._hub.open_topics(self.topics)
        if self._phase is SnapshotPhase.EMPTY:
            if self._first_load is None or self._first_load.done():
                self._first_load = asyncio.create_task(self._load_first())
                self._first_load.add_done_callback(_consume_exception)
            await asyncio.shield(self._first_load)
        first = await self._message_for_join()
        self._subscribers[subscriber] = None
        subscriber.send(first)

    async def _message_for_join(self) -> Message:
        """Return the first message of a new subscriber, with ages as of now."""
        state = self._state
        refreshed = self._reducer.refresh_for_join(state, self._clock())
        if refreshed is not state:
            result = await self._execute(refreshed)
            if self._state is state:
                return build_message(STATE_KEY, result)
        assert self._message is not None  # the phase is not EMPTY
        return self._message

    def on_event(self, event: Event) -> None:
        """Handle an event. A withdrawn consent withholds the snapshot until a reload."""
        if isinstance(event.payload, MeterPointConsentRevoked):
            self._phase = phase_after_revocation(self._phase)
            self._request_reload()
        else:
            self._handle_event(event)

    def on_events_lost(self, topic: str, position: str) -> None:
        self._request_reload(with_topics=True)

    def close(self) -> None:
        super().close()
        self._wheel.cancel(self)
        if self._first_load is not None:
            self._first_load.cancel()

    def on_timer(self, now: float) -> float | None:
        """Apply the passage of time to the snapshot."""
        if self._phase is not SnapshotPhase.CURRENT:
            return None
        changed = self._reducer.advance(self._state, self._clock())
        if changed is None:
            self._request_reload(with_topics=True)
            return now + RECHECK_SECONDS
        self._update_state(changed)
        return None

    def _handle_event(self, event: Event) -> None:
        self._on_reload(ReloadEvent.CHANGED)
        if self._reload is not ReloadState.IDLE and len(self._events_during_read) < MAX_EVENTS_DURING_READ:
            self._events_during_read.append(event)
        if isinstance(event.payload, TOPIC_CHANGES):
            self._topics_outdated = True
            self._topics_changed.set()
        if self._phase is not SnapshotPhase.CURRENT:
            return
        changed = self._reducer.apply_event(self._state, event, self._clock())
        if changed is None:
            self._request_reload()
        else:
            self._update_state(changed)

    def _update_state(self, state: Any) -> None:
        """Store a state, and broadcast it if it is another object."""
        before = self._state
        self._store_state(state)
        if state is before:
            return
        execute_sync = self._selection.execute_sync
        try:
            if execute_sync is None:
                raise RequiresAsync
            self._broadcast_state(execute_sync(state))
        except RequiresAsync:
            if not self._rendering:
                self._start_task(self._broadcast_pending)

    def _store_state(self, state: Any) -> None:
        """Store a state, and schedule its next change by time."""
        self._state = state
        ms = self._reducer.next_change(state) - to_ms(self._clock())
        self._wheel.schedule(self, self._wheel.now() + max(ms, 0) / 1000)

    async def _broadcast_pending(self) -> None:
        """Execute and broadcast the newest state until there is no newer one."""
        self._rendering = True
        try:
            state = None
            while state is not self._state:
                state = self._state
                self._broadcast_state(await self._execute(state))
        finally:
            self._rendering = False

    def _broadcast_state(self, result: bytes) -> None:
        """Broadcast a result, unless subscribers have it already: a reload often changes nothing that they select."""
        message = build_message(STATE_KEY, result)
        if message != self._message:
            self._message = message
            self._broadcast(message)

    # loading

    def _on_reload(self, event: ReloadEvent) -> None:
        self._reload = RELOAD_TRANSITIONS[self._reload][event]
        if event in (ReloadEvent.READ_STARTED, ReloadEvent.ENDED):
            self._events_during_read.clear()

    def _request_reload(self, *, with_topics: bool = False) -> None:
        """Load the state, and the topics if needed, in a background task. In EMPTY, only mark the load as outdated."""
        self._topics_outdated |= with_topics
        if self._phase is SnapshotPhase.EMPTY:
            self._on_reload(ReloadEvent.CHANGED)
            return
        is_idle = self._reload is ReloadState.IDLE
        self._on_reload(ReloadEvent.REQUESTED)
        if is_idle:
            self._start_task(self._reload_until_current)

    async def _read_state(self) -> Any:
        """Read the state from the database. Events that arrive meanwhile make it outdated."""
        async with self._loads.slot(self._owner):
            self._on_reload(ReloadEvent.READ_STARTED)
            return await self._read(self._reducer.load)

    async def _load_first(self) -> None:
        """Load the first snapshot. If it is outdated, request a reload."""
        try:
            state = await self._read_state()
            self._message = build_message(STATE_KEY, await self._execute(state))
            self._store_state(state)
            self._phase = phase_after_load(self._phase, self._reload)
        finally:
            is_outdated = self._reload is ReloadState.RUNNING_OUTDATED
            self._on_reload(ReloadEvent.ENDED)
        if is_outdated:
            self._request_reload()

    async def _reload_until_current(self) -> None:
        """Reload the state until it is not outdated. Retry while the database is unavailable.

        An outdated load lacks an event that the snapshot may already have. It is repeated at once instead of shown, but
        only once: else a state with an event in each load would never be shown. The second one is shown with the events
        that arrived since its read began.
        """
        attempt, is_repeated = 0, False
        try:
            while self._reload is ReloadState.RUNNING_OUTDATED:
                if not is_repeated:
                    await self._wait_for_turn()
                try:
                    if self._topics_outdated:
                        await self._update_topics()
                    state = await self._read_state()
                    is_outdated = self._reload is ReloadState.RUNNING_OUTDATED
                    is_repeated = is_outdated and not is_repeated and self._phase is SnapshotPhase.CURRENT
                    if is_repeated:
                        continue
                    self._phase = phase_after_load(self._phase, self._reload)
                    if self._phase is SnapshotPhase.CURRENT:
                        self._update_state(self._with_missed_events(state) if is_outdated else state)
                except Unavailable:
                    await asyncio.sleep(RETRY_BACKOFF.delay_seconds(attempt))
                    attempt += 1
                    self._on_reload(ReloadEvent.READ_FAILED)
        finally:
            self._on_reload(ReloadEvent.ENDED)

    def _with_missed_events(self, state: Any) -> Any:
        """Return a state after the events that its read may lack. Another reload follows for the other events."""
        for event in self._events_during_read:
            changed = self._reducer.apply_event(state, event, self._clock())
            state = state if changed is None else changed
        return state

    async def _wait_for_turn(self) -> None:
        """Wait for a random part of LOAD_SPREAD_SECONDS, or until the topics may have changed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(random.uniform(0, LOAD_SPREAD_SECONDS)):  # noqa: S311 (jitter, not a secret)
                await self._topics_changed.wait()
        self._topics_changed.clear()

    async def _update_topics(self) -> None:
        """Listen to the present topics of the state, and to no others."""
        self._topics_outdated = False
        try:
            async with self._loads.slot(self._owner):
                found = set(await self._read(self._reducer.find_topics))
            added, removed = sorted(found - set(self.topics)), sorted(set(self.topics) - found)
            self._hub.add_listener(self, added)
            self.topics = (*self.topics, *added)
            await self._hub.open_topics(added)
        except BaseException:
            self._topics_outdated = True
            raise
        self.topics = tuple(sorted(found))
        self._hub.remove_listener(self, removed)


def _consume_exception(task: "asyncio.Task[None]") -> None:
    """Mark the exception as retrieved, even if all callers that waited for the task were cancelled."""
    if not task.cancelled():
        task.exception()
