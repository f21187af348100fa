"""Event streams in the single-connection mode: reserved by one request, told on another, steered by others yet.

The requests of one client may come to different gateways. Each finds the stream by the digest of its token: the
gateway that holds it listens to a topic of that name.
"""

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wattgate.enums import TRACE_ID
from wattgate.errors import BadInput, Conflict, NotFound, Unauthenticated
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.event_stream import EventStream
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.events import Event, StreamOperation
from wattgate.realtime.hub import Hub

MAX_RESERVED = 10_000
"""How many reservations wait for their streams; the oldest gives way."""

TOKEN_BYTES = 32


class EventStreams:
    """The streams of a process that tell many operations, by the digest of their tokens."""

    def __init__(self, live: Live, hub: Hub, bus: Bus) -> None:
        self._live = live
        self._hub = hub
        self._bus = bus
        self._reserved: dict[str, Principal] = {}
        self._streams: dict[str, EventStream] = {}

    def reserve(self, principal: Principal) -> str:
        """The token of a stream that the caller may open. Unauthenticated where nobody calls."""
        if principal.role is Role.ANONYMOUS:
            raise Unauthenticated("Access denied")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._reserved[_digest(token)] = principal
        if len(self._reserved) > MAX_RESERVED:
            del self._reserved[next(iter(self._reserved))]
        return token

    @asynccontextmanager
    async def opened(self, token: str, principal: Principal) -> AsyncIterator[EventStream]:
        """The stream of a token, for as long as its response lasts.

        One that was reserved at another gateway belongs to whoever calls. NotFound where nobody does, Conflict where
        the stream is open.
        """
        name = _digest(token)
        if name in self._streams:
            raise Conflict("the stream is open already")
        caller = self._reserved.pop(name, principal)
        if caller.role is Role.ANONYMOUS:
            raise NotFound("there is no such stream")
        stream = self._streams[name] = EventStream(self._live, caller, single=True)
        steering, topic = _Steering(stream), [topics.event_stream(name)]
        self._hub.listen(steering, topic)
        try:
            await self._hub.open(topic)
            await stream.open()
            yield stream
        finally:
            self._hub.leave(steering, topic)
            del self._streams[name]
            stream.leave()

    async def begin(self, token: str, operation_id: str, request: Request, prepared: PreparedOperation) -> None:
        """Begin an operation on a stream. Conflict where its id is in use.

        At another gateway than that of the stream only subscriptions can begin: what others carry, such as a password,
        is not for the bus.
        """
        stream = self._streams.get(_digest(token))
        if stream is not None:
            if operation_id in stream.operations:
                raise Conflict("an operation of this id is running")
            stream.operations.begin(operation_id, request, prepared=prepared, trace_id=TRACE_ID.get())
        elif not prepared.is_subscription:
            raise NotFound("the stream is not here; queries and mutations go by a plain POST")
        else:
            await self._steer(token, StreamOperation(operation_id, request))

    async def stop(self, token: str, operation_id: str) -> None:
        """Stop an operation on a stream, wherever that is."""
        if not operation_id:
            raise BadInput("operationId is missing")
        stream = self._streams.get(_digest(token))
        if stream is not None:
            stream.operations.stop(operation_id)
        else:
            await self._steer(token, StreamOperation(operation_id, None))

    async def _steer(self, token: str, operation: StreamOperation) -> None:
        await self._bus.publish([Event(topics.event_stream(_digest(token)), operation.operation_id, operation)])


class _Steering:
    """Does on a stream what other gateways were asked for."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    def take(self, event: Event) -> None:
        operation: StreamOperation = event.payload
        running = self._stream.operations
        if operation.request is None:
            running.stop(operation.operation_id)
        elif operation.operation_id not in running:
            running.begin(operation.operation_id, operation.request)

    def lost(self, topic: str, position: str) -> None:
        """Nothing can be said of operations that were never known; clients ask again after a while."""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
