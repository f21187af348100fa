"""All connections of a process: their slots, revoked credentials, and the drain at shutdown."""

import asyncio
import contextlib
import itertools
import logging
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from wattgate.clock import to_ms
from wattgate.db.ttl_cache import TtlCache
from wattgate.errors import GatewayError, Unavailable
from wattgate.metrics import CONNECTION_LIMIT_REACHED, OPEN_CONNECTIONS
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_slots import SLOT_LEASE_SECONDS, ConnectionSlot, ConnectionSlots
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.realtime.connections.service import OperationService
from wattgate.realtime.events import CREDENTIALS_CHANGED, ConnectionsDisplaced, CredentialsRevoked, Event
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

CONTROL_TOPICS = (topics.revocations(), topics.displacements())
RETRY_BACKOFF = Backoff(min_seconds=0.5, max_seconds=30.0)
RECENT_SECONDS = 30.0
MAX_RECENT_REVOCATIONS = 1_000
"""Age and number of the revocations that a connection is compared with when it is authenticated."""

HANDLED_SECONDS = 60.0
MAX_HANDLED_EVENTS = 10_000
"""Age and number of the events about credentials that are known, because they arrive by two ways."""

DRAIN_BATCHES_PER_SECOND = 10
"""A drain closes this many batches of connections a second."""


ReadShared = Callable[[], Awaitable[Sequence[Event]]]
"""Returns the events that were stored in the database since the last call: of other processes, and own revocations."""


class ClientConnection(Protocol):
    """A WebSocket or an event stream of one caller."""

    principal: Principal
    slots: tuple[ConnectionSlot, ...]

    def close(self, code: CloseCode, reason: str) -> None:
        """Close the connection with a code and a reason."""


class ConnectionRegistry:
    """Register all connections of the process, and close those that must not continue."""

    def __init__(
        self,
        hub: Hub,
        bus: Bus,
        slots: ConnectionSlots,
        service: OperationService,
        limits: ConnectionLimits,
        read_shared: ReadShared,
    ) -> None:
        self._hub = hub
        self._bus = bus
        self._slots = slots
        self._service = service
        self._limits = limits
        self._read_shared = read_shared
        self._can_read_shared = False
        self._unchecked_changes: list[CredentialsRevoked] = []
        self._handled = TtlCache[str, bool](max_entries=MAX_HANDLED_EVENTS, ttl_seconds=HANDLED_SECONDS)
        self._connections: dict[ClientConnection, None] = {}
        self._connections_by_slot: dict[str, ClientConnection] = {}
        self._slot_counter = itertools.count()
        self._process_id = uuid4().hex[:12]
        self._empty = asyncio.Event()
        self._empty.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_credentials_changed: Callable[[], None] = _ignore
        """Called when another process has changed credentials, or may have done so."""
        self._recent_revocations: deque[tuple[datetime, CredentialsRevoked]] = deque(maxlen=MAX_RECENT_REVOCATIONS)

    def start(self) -> None:
        """Listen to revocations and displacements, and start the periodic tasks."""
        self._hub.add_listener(self, CONTROL_TOPICS)
        self._start_task(self._open_control_topics())
        self._start_task(self._run_periodically(self._limits.credential_recheck_seconds, self.recheck_credentials))
        self._start_task(self._follow_shared_events())
        self._start_task(self._run_periodically(SLOT_LEASE_SECONDS / 3, self._renew_slots))

    async def stop(self) -> None:
        self._hub.remove_listener(self, CONTROL_TOPICS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # registration

    @property
    def count(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def add(self, connection: ClientConnection) -> None:
        self._connections[connection] = None
        self._empty.clear()
        OPEN_CONNECTIONS.inc()

    def remove(self, connection: ClientConnection) -> None:
        """Remove a connection and free its slots. Do nothing if it was removed before."""
        if connection not in self._connections:
            return
        del self._connections[connection]
        OPEN_CONNECTIONS.dec()
        if connection.slots:
            for slot in connection.slots:
                self._connections_by_slot.pop(slot.slot_id, None)
            self._start_task(self._slots.release(connection.slots))
        if not self._connections:
            self._empty.set()

    async def acquire_slots(self, connection: ClientConnection) -> None:
        """Take the slots of an authenticated connection, and close the connections that it displaces."""
        caller, opened_at_ms = connection.principal, to_ms(self._service.now())
        log.debug("A connection is authenticated", extra={"caller": caller})
        scopes = (
            ("display", caller.token_id, self._limits.max_display_connections)
            if caller.role is Role.DISPLAY
            else ("account", caller.account_id, self._limits.max_account_connections),
            ("application", caller.application_id, self._limits.max_application_connections),
        )
        connection.slots = tuple(
            ConnectionSlot(f"{kind}:{name}", limit, f"{self._process_id}:{next(self._slot_counter)}", opened_at_ms)
            for kind, name, limit in scopes
            if name is not None
        )
        for slot in connection.slots:
            self._connections_by_slot[slot.slot_id] = connection
        displaced = []
        for slot, slot_ids in zip(connection.slots, await self._slots.acquire(connection.slots), strict=False):
            displaced += slot_ids
            CONNECTION_LIMIT_REACHED.labels(slot.scope.partition(":")[0]).inc(len(slot_ids))
        if displaced:
            event = Event(topics.displacements(), displaced[0], ConnectionsDisplaced(tuple(displaced)))
            self.on_event(event)
            await self._bus.publish([event])
        await self.close_if_revoked(connection)

    async def close_if_revoked(self, connection: ClientConnection) -> None:
        """Close a connection whose credentials were revoked while they were authenticated.

        The revocation may have been dispatched after the credentials were read and before the connection had them.
        """
        oldest = self._service.now() - timedelta(seconds=RECENT_SECONDS)
        caller = connection.principal
        if any(at >= oldest and revoked.may_apply_to(caller) for at, revoked in self._recent_revocations):
            await self._close_invalid([connection])

    # closing

    @property
    def hears_revocations(self) -> bool:
        """Whether the revocations of other processes arrive at the moment."""
        return self._can_read_shared and self._bus.is_connected and self._hub.is_open(topics.revocations())

    def on_event(self, event: Event) -> None:
        """Close the connections that an event on one of `CONTROL_TOPICS` concerns."""
        match event.payload:
            case CredentialsRevoked() as revoked if self._is_new(event):
                self.on_credentials_changed()
                if revoked != CREDENTIALS_CHANGED:
                    self._recent_revocations.append((self._service.now(), revoked))
                    self._close_revoked(revoked.applies_to)
                if revoked.changed_account_id is not None:
                    self._start_task(self._check_changed(revoked))
            case ConnectionsDisplaced(slot_ids=slot_ids):
                for slot_id in slot_ids:
                    if slot_id in self._connections_by_slot:
                        self._connections_by_slot[slot_id].close(CloseCode.DISPLACED, "newer connections replaced it")

    def on_events_lost(self, topic: str, position: str) -> None:
        """Check all credentials, because a revocation may be among the lost events."""
        self.on_credentials_changed()
        self._start_task(self.recheck_credentials())

    async def recheck_credentials(self) -> None:
        """Close the connections whose credentials are no longer valid in the database."""
        await self._close_invalid(self._connections)

    async def _check_changed(self, revoked: CredentialsRevoked) -> None:
        """Check the credentials of the connections of a changed account."""
        concerned = [connection for connection in self._connections if revoked.may_apply_to(connection.principal)]
        try:
            await self._close_invalid(concerned)
        except GatewayError as error:
            log.warning("A check of the connections of a changed account failed: %s", error.message)

    async def read_shared_events(self) -> None:
        """Apply the events that were stored since the last call.

        Check the connections whose credentials have changed. The bus may have delivered the same changes. One that
        cannot be checked is checked with the next ones. Publish the other events here, unless the bus is shared.
        """
        events = await self._read_shared()
        if not self._bus.is_shared:
            await self._bus.publish([event for event in events if not isinstance(event.payload, CredentialsRevoked)])
        new = [
            event.payload for event in events if isinstance(event.payload, CredentialsRevoked) and self._is_new(event)
        ]
        if new:
            self.on_credentials_changed()
            now = self._service.now()
            self._recent_revocations.extend((now, revoked) for revoked in new if revoked != CREDENTIALS_CHANGED)
            self._unchecked_changes += new
        if self._unchecked_changes:
            await self._close_invalid(self._concerned_by(self._unchecked_changes))
            self._unchecked_changes.clear()

    def _concerned_by(self, changes: Collection[CredentialsRevoked]) -> list[ClientConnection]:
        """Return the connections of the accounts, users, applications and members of homes in some changes."""
        accounts, users, names = set[str | None](), set[str | None](), set[str | None]()
        memberships = {change.membership_id for change in changes} - {None}
        for change in changes:
            accounts |= {change.account_id, change.changed_account_id}
            users.add(change.user_id)
            names.add(change.credential_name)
        accounts -= {None, ""}
        return [
            connection
            for connection in self._connections
            if (caller := connection.principal).account_id in accounts
            or (caller.user_id is not None and caller.user_id in users)
            or (caller.credential_name is not None and caller.credential_name in names)
            or caller.membership_id in memberships
        ]

    def _is_new(self, event: Event) -> bool:
        """Return whether an event about credentials arrives for the first time, by the bus or from the database."""
        is_new = self._handled.get(event.key) is None
        self._handled.put(event.key, True)
        return is_new

    async def _close_invalid(self, connections: Iterable[ClientConnection]) -> None:
        callers = {connection.principal for connection in connections}
        principals = {caller for caller in callers if caller.role is not Role.ANONYMOUS}
        if principals:
            revoked = await self._service.find_revoked(principals)
            now = self._service.now()  # the connection itself ends after its token has expired, with its grace period
            self._close_revoked({caller for caller in revoked if not caller.has_expired(now)}.__contains__)

    async def drain(self, seconds: float) -> None:
        """Close all connections before a shutdown, evenly over `seconds`. Return when all are closed.

        Connections that open meanwhile are closed as well.
        """
        batches = max(1, round(seconds * DRAIN_BATCHES_PER_SECOND))
        connections = list(self._connections)
        random.shuffle(connections)
        size = max(1, math.ceil(len(connections) / batches))
        for start in range(0, len(connections), size):
            self._close_going_away(connections[start : start + size])
            await asyncio.sleep(1 / DRAIN_BATCHES_PER_SECOND)
        while self._connections:
            self._close_going_away(tuple(self._connections))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), self._limits.close_timeout_seconds)

    def _close_going_away(self, connections: Iterable[ClientConnection]) -> None:
        for connection in connections:
            connection.close(CloseCode.GOING_AWAY, "the gateway is shutting down")

    def _close_revoked(self, is_revoked: Callable[[Principal], bool]) -> None:
        for connection in [connection for connection in self._connections if is_revoked(connection.principal)]:
            connection.close(CloseCode.FORBIDDEN, "the credentials were revoked")

    # background tasks

    async def _open_control_topics(self) -> None:
        """Open the control topics. Retry until the bus is available."""
        attempt = 0
        while True:
            try:
                await self._hub.open_topics(CONTROL_TOPICS)
                return
            except Unavailable:
                await asyncio.sleep(RETRY_BACKOFF.delay_seconds(attempt))
                attempt += 1

    async def _follow_shared_events(self) -> None:
        """Read the stored events until cancelled. Of failures in a row, log the first, because reads are frequent."""
        while True:
            try:
                await self.read_shared_events()
                self._can_read_shared = True
            except GatewayError as error:
                if self._can_read_shared:
                    log.warning("Reading the events of other processes failed: %s", error.message)
                self._can_read_shared = False
            await asyncio.sleep(self._limits.shared_event_seconds)

    async def _renew_slots(self) -> None:
        await self._slots.renew([slot for connection in self._connections for slot in connection.slots])

    async def _run_periodically(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except GatewayError as error:
                log.warning("A periodic check of connections failed: %s", error.message)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A task of the connection registry failed with an unexpected error", exc_info=error)


def _ignore() -> None:
    return
