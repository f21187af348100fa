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
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.events import Event, StreamOperation
from wattgate.realtime.hub import Hub
from wattgate.realtime.operation_request import OperationRequest

MAX_RESERVATIONS = 10_000
"""How many reservations wait for their streams; the oldest gives way."""

TOKEN_BYTES = 32


class EventStreamRegistry:
    """The streams of a process that tell many operations, by the digest of their tokens."""

    def __init__(self, runtime: RealtimeRuntime, hub: Hub, bus: Bus) -> None:
        self._runtime = runtime
        self._hub = hub
        self._bus = bus
        self._reservations: dict[str, Principal] = {}
        self._streams: dict[str, EventStream] = {}

    def reserve(self, principal: Principal) -> str:
        """The token of a stream that the caller may open. Unauthenticated where nobody calls."""
        if principal.role is Role.ANONYMOUS:
            raise Unauthenticated("Access denied")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._reservations[_token_digest(token)] = principal
        if len(self._reservations) > MAX_RESERVATIONS:
            del self._reservations[next(iter(self._reservations))]
        return token

    @asynccontextmanager
    async def open_stream(self, token: str, principal: Principal) -> AsyncIterator[EventStream]:
        """The stream of a token, for as long as its response lasts.

        One that was reserved at another gateway belongs to whoever calls. NotFound where nobody does, Conflict where
        the stream is open.
        """
        digest = _token_digest(token)
        if digest in self._streams:
            raise Conflict("the stream is open already")
        caller = self._reservations.pop(digest, principal)
        if caller.role is Role.ANONYMOUS:
            raise NotFound("there is no such stream")
        stream = self._streams[digest] = EventStream(self._runtime, caller, single_connection=True)
        remote_listener, topic = _RemoteOperationListener(stream), [topics.event_stream(digest)]
        self._hub.add_listener(remote_listener, topic)
        try:
            await self._hub.open_topics(topic)
            await stream.open()
            yield stream
        finally:
            self._hub.remove_listener(remote_listener, topic)
            del self._streams[digest]
            stream.release()

    async def start_operation(
        self, token: str, operation_id: str, request: OperationRequest, prepared: PreparedOperation
    ) -> None:
        """Begin an operation on a stream. Conflict where its id is in use.

        At another gateway than that of the stream only subscriptions can begin: what others carry, such as a password,
        is not for the bus.
        """
        stream = self._streams.get(_token_digest(token))
        if stream is not None:
            if operation_id in stream.operations:
                raise Conflict("an operation of this id is running")
            stream.operations.start(operation_id, request, prepared=prepared, trace_id=TRACE_ID.get())
        elif not prepared.is_subscription:
            raise NotFound("the stream is not here; queries and mutations go by a plain POST")
        else:
            await self._publish_operation(token, StreamOperation(operation_id, request))

    async def stop_operation(self, token: str, operation_id: str) -> None:
        """Stop an operation on a stream, wherever that is."""
        if not operation_id:
            raise BadInput("operationId is missing")
        stream = self._streams.get(_token_digest(token))
        if stream is not None:
            stream.operations.stop(operation_id)
        else:
            await self._publish_operation(token, StreamOperation(operation_id, None))

    async def _publish_operation(self, token: str, operation: StreamOperation) -> None:
        await self._bus.publish([Event(topics.event_stream(_token_digest(token)), operation.operation_id, operation)])


class _RemoteOperationListener:
    """Does on a stream what other gateways were asked for."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    def on_event(self, event: Event) -> None:
        operation: StreamOperation = event.payload
        operations = self._stream.operations
        if operation.request is None:
            operations.stop(operation.operation_id)
        elif operation.operation_id not in operations:
            operations.start(operation.operation_id, operation.request)

    def on_events_lost(self, topic: str, position: str) -> None:
        """Nothing can be said of operations that were never known; clients ask again after a while."""


def _token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
