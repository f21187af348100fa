"""Event streams in the single-connection mode of graphql-sse.

A client reserves a stream by one request, opens it by a second one, and starts and stops operations by further ones.
These requests may reach different gateways. The gateway that serves the stream listens to a topic that is named after
the digest of the token, and other gateways publish the operations on it.
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
"""Maximum number of reservations without a stream. Above it, the oldest one is dropped."""

TOKEN_BYTES = 32


class EventStreamRegistry:
    """The streams and reservations of a process, by the digests of their tokens."""

    def __init__(self, runtime: RealtimeRuntime, hub: Hub, bus: Bus) -> None:
        self._runtime = runtime
        self._hub = hub
        self._bus = bus
        self._reservations: dict[str, Principal] = {}
        self._streams: dict[str, EventStream] = {}

    def reserve(self, principal: Principal) -> str:
        """Return the token of a stream that the caller may open. Raise Unauthenticated for an anonymous caller."""
        if principal.role is Role.ANONYMOUS:
            raise Unauthenticated("Access denied")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._reservations[_token_digest(token)] = principal
        if len(self._reservations) > MAX_RESERVATIONS:
            del self._reservations[next(iter(self._reservations))]
        return token

    @asynccontextmanager
    async def open_stream(self, token: str, principal: Principal) -> AsyncIterator[EventStream]:
        """Provide the stream of a token until its response ends.

        The stream belongs to the caller that reserved it. If another gateway has the reservation, it belongs to
        `principal`. Raise NotFound if that one is anonymous, and Conflict if the stream is already open.
        """
        digest = _token_digest(token)
        if digest in self._streams:
            raise Conflict("The stream is already open. Use its token on one connection only.")
        caller = self._reservations.pop(digest, principal)
        if caller.role is Role.ANONYMOUS:
            raise NotFound("The stream does not exist. Reserve one by a PUT request, or send credentials.")
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
        """Start an operation on a stream. Raise Conflict if its id is in use.

        If another gateway serves the stream, only subscriptions can start: the bus must not carry the variables of
        mutations, such as a password. Raise NotFound for other operations.
        """
        stream = self._streams.get(_token_digest(token))
        if stream is not None:
            if operation_id in stream.operations:
                raise Conflict(f"The operation id {operation_id!r} is in use. Choose another one.")
            stream.operations.start(operation_id, request, prepared=prepared, trace_id=TRACE_ID.get())
        elif not prepared.is_subscription:
            raise NotFound(
                "Another gateway serves this stream. Send queries and mutations by POST without a stream token."
            )
        else:
            await self._publish_operation(token, StreamOperation(operation_id, request))

    async def stop_operation(self, token: str, operation_id: str) -> None:
        """Stop an operation on a stream of any gateway. Raise BadInput without an operation id."""
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
    """Start and stop the operations of a stream that other gateways received."""

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
        """Do nothing: the lost operations are unknown. Clients retry operations without a reply."""


def _token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
