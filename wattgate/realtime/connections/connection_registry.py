"""All connections of a process: who may stay, who has to go, and the end of all."""

import asyncio
import contextlib
import itertools
import logging
import math
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from wattgate.clock import to_ms
from wattgate.errors import GatewayError, Unavailable
from wattgate.metrics import CLIENTS, CONNECTION_LIMIT_REACHED
from wattgate.principal import Principal
from wattgate.realtime import topics
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_limits import LEASE_SECONDS, Seat, Seats
from wattgate.realtime.connections.limits import Limits
from wattgate.realtime.connections.protocol import Close
from wattgate.realtime.connections.service import Service
from wattgate.realtime.events import CredentialsRevoked, Displaced, Event
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

CONTROL = (topics.revocations(), topics.displacements())
AGAIN = Backoff(shortest=0.5, longest=30.0)
BATCHES_PER_SECOND = 10
"""In so many batches a second connections are closed when the gateway goes away."""


_UNKNOWN = object()


class Connection(Protocol):
    """A socket or a stream of one caller."""

    principal: Principal
    seats: tuple[Seat, ...]

    def close(self, code: Close, reason: str) -> None:
        """End it, and say why."""


class Sockets:
    """Knows every connection of the process, and ends those that may not go on."""

    def __init__(self, hub: Hub, bus: Bus, seats: Seats, service: Service, limits: Limits) -> None:
        self._hub = hub
        self._bus = bus
        self._seats = seats
        self._service = service
        self._limits = limits
        self._connections: dict[Connection, object] = {}
        self._seated: dict[str, Connection] = {}
        self._numbers = itertools.count()
        self._process = uuid4().hex[:12]
        self._empty = asyncio.Event()
        self._empty.set()
        self._work: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to listen to what ends connections, and to look after those that there are."""
        self._hub.listen(self, CONTROL)
        self._start(self._follow())
        self._start(self._every(self._limits.recheck_seconds, self.recheck))
        self._start(self._every(LEASE_SECONDS / 3, self._keep_seats))

    async def stop(self) -> None:
        self._hub.leave(self, CONTROL)
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    # who is here

    @property
    def count(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    def add(self, connection: Connection) -> None:
        self._connections[connection] = None
        self._empty.clear()
        CLIENTS.inc()

    def remove(self, connection: Connection) -> None:
        """Take note that a connection is gone."""
        if self._connections.pop(connection, _UNKNOWN) is _UNKNOWN:
            return
        CLIENTS.dec()
        if connection.seats:
            for seat in connection.seats:
                self._seated.pop(seat.number, None)
            self._start(self._seats.leave(connection.seats))
        if not self._connections:
            self._empty.set()

    async def seat(self, connection: Connection) -> None:
        """Count a connection for its account and its application; the oldest ones give way to it."""
        caller, since = connection.principal, to_ms(self._service.now())
        log.debug("a connection is open", extra={"caller": caller})
        benches = (
            ("account", caller.account_id, self._limits.account_connections),
            ("application", caller.application_id, self._limits.application_connections),
        )
        connection.seats = tuple(
            Seat(f"{kind}:{name}", limit, f"{self._process}:{next(self._numbers)}", since)
            for kind, name, limit in benches
            if name is not None
        )
        for seat in connection.seats:
            self._seated[seat.number] = connection
        displaced = []
        for seat, numbers in zip(connection.seats, await self._seats.take(connection.seats), strict=False):
            displaced += numbers
            CONNECTION_LIMIT_REACHED.labels(seat.bench.partition(":")[0]).inc(len(numbers))
        if displaced:
            event = Event(topics.displacements(), displaced[0], Displaced(tuple(displaced)))
            self.take(event)
            await self._bus.publish([event])

    # who has to go

    def take(self, event: Event) -> None:
        """End the connections that an event on a topic of CONTROL is about."""
        match event.payload:
            case CredentialsRevoked() as revoked:
                self._revoke(partial(_is_of, revoked))
            case Displaced(seats=numbers):
                for number in numbers:
                    if number in self._seated:
                        self._seated[number].close(Close.DISPLACED, "newer connections took its place")

    def lost(self, topic: str, position: str) -> None:
        """Look for what nobody has told."""
        self._start(self.recheck())

    async def recheck(self) -> None:
        """End the connections whose token or account is good no longer, as the database says."""
        callers = {one.principal for one in self._connections if one.principal.account_id is not None}
        if callers:
            ended = await self._service.ended(callers)
            self._revoke(ended.__contains__)

    async def drain(self, seconds: float) -> None:
        """End all connections, evenly over so many seconds, because the process goes away. Return when all are gone.

        Those that come meanwhile are ended as well.
        """
        batches = max(1, round(seconds * BATCHES_PER_SECOND))
        waiting = list(self._connections)
        random.shuffle(waiting)
        size = max(1, math.ceil(len(waiting) / batches))
        for start in range(0, len(waiting), size):
            self._send_away(waiting[start : start + size])
            await asyncio.sleep(1 / BATCHES_PER_SECOND)
        while self._connections:
            self._send_away(tuple(self._connections))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), self._limits.close_seconds)

    def _send_away(self, some: Iterable[Connection]) -> None:
        for connection in some:
            connection.close(Close.GOING_AWAY, "the gateway goes away")

    def _revoke(self, is_ended: Callable[[Principal], bool]) -> None:
        for connection in [one for one in self._connections if is_ended(one.principal)]:
            connection.close(Close.FORBIDDEN, "the credentials were revoked")

    # what goes on beside

    async def _follow(self) -> None:
        """Listen, as soon as the bus is there."""
        attempt = 0
        while True:
            try:
                await self._hub.open(CONTROL)
                return
            except Unavailable:
                await asyncio.sleep(AGAIN.seconds(attempt))
                attempt += 1

    async def _keep_seats(self) -> None:
        await self._seats.keep([seat for one in self._connections for seat in one.seats])

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except GatewayError as error:
                log.warning("connections could not be looked after: %s", error.message)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what looks after connections ended by a fault", exc_info=error)


def _is_of(revoked: CredentialsRevoked, caller: Principal) -> bool:
    """Whether a caller's credentials are among those that were revoked."""
    named = revoked.token_ids is None or caller.token_id in revoked.token_ids
    spared = revoked.but is not None and caller.token_id == revoked.but
    return caller.account_id == revoked.account_id and named and not spared
