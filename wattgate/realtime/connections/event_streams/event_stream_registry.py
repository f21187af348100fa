"""Event streams in the single-connection mode of graphql-sse.

A client reserves a stream by one request, opens it by a second one, and starts and stops operations by further ones.
These requests may reach different gateways. All gateways share the reservations. The gateway that serves the stream
listens to a topic, and other gateways publish the operations on it.

A stream is bound to the caller that reserved it and to the origin of that request. For any other caller or origin it
does not exist: the name of its topic is a digest of the token, the caller and the origin. Only the request that opens
a stream may come without credentials, because EventSource in browsers cannot send any.
"""

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from wattgate.enums import TRACE_ID
from wattgate.errors import NO_CREDENTIALS, BadInput, Conflict, NotFound, Unauthenticated
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.event_streams.event_stream import EventStream
from wattgate.realtime.connections.event_streams.stream_reservations import (
    StreamReservation,
    StreamReservations,
    digest_of_token,
)
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.events import Event, StreamOperation
from wattgate.realtime.hub import Hub
from wattgate.realtime.operation_request import OperationRequest

TOKEN_BYTES = 32

NO_STREAM = "The stream does not exist for this caller and origin. Reserve one by a PUT request, and open it in time."


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request for a stream: its token, the caller, and the origin of the page. The own origin is None."""

    token: str
    principal: Principal
    origin: str | None

    @property
    def topic(self) -> str:
        """The topic of the stream for this caller and origin."""
        bound = msgspec.json.encode([self.token, self.principal.identity, self.origin])
        return topics.event_stream(hashlib.sha256(bound).hexdigest())

    def require_caller(self) -> None:
        """Raise Unauthenticated without credentials."""
        if self.principal.role is Role.ANONYMOUS:
            raise Unauthenticated(NO_CREDENTIALS)

    def may_open(self, owner: Principal, origin: str | None) -> bool:
        """Return whether the request may open a stream of this owner and origin."""
        is_owner = self.principal.role is Role.ANONYMOUS or self.principal.identity == owner.identity
        return is_owner and self.origin == origin


@dataclass(frozen=True, slots=True)
class _OpenStream:
    """A stream that this process serves, and the topic of its owner and origin."""

    stream: EventStream
    reservation: StreamReservation
    topic: str


class EventStreamRegistry:
    """The streams of a process by the digests of their tokens, and the reservations of all gateways."""

    def __init__(self, runtime: RealtimeRuntime, hub: Hub, bus: Bus, reservations: StreamReservations) -> None:
        self._runtime = runtime
        self._hub = hub
        self._bus = bus
        self._reservations = reservations
        self._streams: dict[str, _OpenStream] = {}

    async def reserve(self, principal: Principal, origin: str | None) -> str:
        """Return the token of a stream that the caller may open from this origin."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        await self._reservations.add(StreamReservation(digest_of_token(token), principal, origin))
        return token

    @asynccontextmanager
    async def open_stream(self, request: StreamRequest) -> AsyncIterator[EventStream]:
        """Provide the stream of a reservation until its response ends. It belongs to the caller that reserved it.

        Raise NotFound for another caller or origin, or if the credentials of the reservation are no longer valid. Raise
        Conflict if the stream is already open here.
        """
        digest = digest_of_token(request.token)
        reservation = await self._take_reservation(request, digest)
        owner = reservation.principal
        topic = StreamRequest(request.token, owner, reservation.origin).topic
        stream = EventStream(self._runtime, owner, single_connection=True)
        self._streams[digest] = _OpenStream(stream, reservation, topic)
        remote_listener = _RemoteOperationListener(stream)
        self._hub.add_listener(remote_listener, [topic])
        try:
            await self._hub.open_topics([topic])
            await stream.open()
            yield stream
        finally:
            self._hub.remove_listener(remote_listener, [topic])
            del self._streams[digest]
            stream.release()

    async def start_operation(
        self, request: StreamRequest, operation_id: str, operation: OperationRequest, prepared: PreparedOperation
    ) -> None:
        """Start an operation on a stream of the caller. Raise Conflict if its id is in use.

        If another gateway serves the stream, only subscriptions can start: the bus must not carry the variables of
        mutations, such as a password. Raise NotFound for other operations, and if the caller has no such stream.
        """
        stream = await self._find_stream(request)
        if stream is not None:
            if operation_id in stream.operations:
                raise Conflict(f"The operation id {operation_id!r} is in use. Choose another one.")
            stream.operations.start(operation_id, operation, prepared=prepared, trace_id=TRACE_ID.get())
        elif not prepared.is_subscription:
            raise NotFound(
                "Another gateway serves this stream. Send queries and mutations by POST without a stream token."
            )
        else:
            await self._publish_operation(request, StreamOperation(operation_id, operation))

    async def stop_operation(self, request: StreamRequest, operation_id: str) -> None:
        """Stop an operation on a stream of any gateway. Raise BadInput without an operation id."""
        if not operation_id:
            raise BadInput("operationId is missing")
        stream = await self._find_stream(request)
        if stream is not None:
            stream.operations.stop(operation_id)
        else:
            await self._publish_operation(request, StreamOperation(operation_id, None))

    async def _take_reservation(self, request: StreamRequest, digest: str) -> StreamReservation:
        """Return the reservation of a stream to open, which can be opened once."""
        served = self._streams.get(digest)
        if served is not None and request.may_open(served.reservation.principal, served.reservation.origin):
            raise Conflict("The stream is already open. Use its token on one connection only.")
        reservation = await self._reservations.get(digest)
        if reservation is None or not request.may_open(reservation.principal, reservation.origin):
            raise NotFound(NO_STREAM)
        revoked = await self._runtime.service.find_revoked([reservation.principal])
        if not await self._reservations.take(reservation) or revoked:
            raise NotFound(NO_STREAM)
        return reservation

    async def _find_stream(self, request: StreamRequest) -> EventStream | None:
        """Return the stream of a request, or None if another gateway may serve it. Raise NotFound if there is none.

        Also raise NotFound, and end the stream, if the credentials that reserved it are no longer valid.
        """
        request.require_caller()
        topic, served = request.topic, self._streams.get(digest_of_token(request.token))
        if served is None:
            if not await self._bus.has_topic(topic):
                raise NotFound(NO_STREAM)
            return None
        if served.topic != topic:
            raise NotFound(NO_STREAM)
        if await self._runtime.service.find_revoked([served.stream.principal]):
            has_expired = served.stream.principal.has_expired(self._runtime.service.now())
            reason = "the token has expired" if has_expired else "the credentials were revoked"
            served.stream.close(CloseCode.FORBIDDEN, reason)
            raise NotFound(NO_STREAM)
        return served.stream

    async def _publish_operation(self, request: StreamRequest, operation: StreamOperation) -> None:
        await self._bus.publish([Event(request.topic, operation.operation_id, operation)])


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
            operations.start(operation.operation_id, operation.request, checks_credentials=True)

    def on_events_lost(self, topic: str, position: str) -> None:
        """Do nothing: the lost operations are unknown. Clients retry operations without a reply."""
