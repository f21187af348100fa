"""Operations over server-sent events, in the protocol of the npm package graphql-sse (its PROTOCOL.md)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.principal import Principal
from wattgate.realtime.connections.connection_slots import ConnectionSlot
from wattgate.realtime.connections.operations import Operations
from wattgate.realtime.connections.protocol import CloseCode, log_close
from wattgate.realtime.connections.reconnection import RECONNECTIONS, ReconnectAction
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.send_backlog import ConflatingBuffer
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.subscriber_group import Group
from wattgate.realtime.subscriptions.subscription import Message, encode_errors
from wattgate.requests.client import current_client

HEARTBEAT = b":\n\n"
HEARTBEAT_SECONDS = 15.0
"""Interval of comments. Proxies and clients take a silent connection for a dead one."""

HIGH_WATER_BYTES = 32 * 1024
"""Unsent bytes above which the client counts as slow."""

DISPLACED = "Newer connections of the same account or application replaced this stream."

SINGLE_OPERATION_ID = "only"
"""The internal id of the operation of a stream in the distinct mode."""


class StreamSubscriber:
    """A subscription of an event stream."""

    __slots__ = ("buffer", "ended", "group", "id", "resumes", "stream")

    def __init__(self, stream: "EventStream", operation_id: str, resumes: bool) -> None:
        self.stream = stream
        self.id = operation_id
        self.resumes = resumes
        self.buffer: list[Message] | None = None
        self.group: Group | None = None
        self.ended = False

    def send(self, message: Message) -> None:
        self.stream.send_event(
            self.stream.encode_next(self.id, message.payload, message.position), (self.id, message.key)
        )

    async def wait_until_writable(self) -> None:
        await self.stream.wait_until_writable()

    def fail(self, error: GatewayError) -> None:
        self.ended = True
        self.stream.operations.end_with_errors(self.id, encode_errors(error))


class EventStream:
    """The events of one HTTP response.

    In the distinct mode, the stream carries one operation and ends with it. In the single-connection mode, it carries
    any number of operations, each event has the id of its operation, and the stream ends when either side closes it.
    """

    def __init__(self, runtime: RealtimeRuntime, principal: Principal, *, single_connection: bool) -> None:
        self.principal = principal
        self.slots: tuple[ConnectionSlot, ...] = ()
        self.timer_slot: int | None = None
        self.trace_id = TRACE_ID.get()
        self._address = current_client().host
        self.operations = Operations(runtime, self)
        self._runtime = runtime
        self._single_connection = single_connection
        self._pending: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._backlog: ConflatingBuffer | None = None
        self._slow_deadline: float | None = None
        self._token_deadline: float | None = None
        self._heartbeat_deadline = 0.0
        self._wakeup = asyncio.Event()
        self._ended = False

    async def open(self) -> None:
        """Register the stream, schedule its deadlines, and take its connection slots."""
        runtime, expires_at = self._runtime, self.principal.expires_at
        runtime.connections.add(self)
        now = runtime.timer_wheel.now()
        if expires_at is not None:
            self._token_deadline = now + (expires_at - runtime.service.now()).total_seconds()
        self._heartbeat_deadline = now + HEARTBEAT_SECONDS
        runtime.timer_wheel.schedule(
            self, min(self._heartbeat_deadline, self._token_deadline or self._heartbeat_deadline)
        )
        await runtime.connections.acquire_slots(self)

    def start_operation(
        self, request: OperationRequest, since: str | None, prepared: PreparedOperation | None = None
    ) -> None:
        """Start the operation of the distinct mode. `since` is the value of Last-Event-ID."""
        self.operations.start(SINGLE_OPERATION_ID, request, prepared=prepared, since=since, trace_id=self.trace_id)

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the response until the stream ends or the client disconnects."""
        try:
            yield HEARTBEAT  # shows the client immediately that the stream is open
            while True:
                while self._pending:
                    chunk = self._pending.popleft()
                    self._unsent_bytes -= len(chunk)
                    yield chunk
                if self._backlog is not None:
                    self._flush_backlog()
                elif self._ended:
                    return
                else:
                    self._wakeup.clear()
                    await self._wakeup.wait()
        finally:
            self.release()

    # sending

    def create_subscriber(self, operation_id: str, resumes: bool) -> StreamSubscriber:
        return StreamSubscriber(self, operation_id, resumes)

    def send_result(self, operation_id: str, payload: bytes) -> None:
        self.send_event(self.encode_next(operation_id, payload), object())
        self._send_complete(operation_id)

    def send_errors(self, operation_id: str, errors: bytes) -> None:
        self.send_event(self.encode_next(operation_id, b'{"errors":' + errors + b"}"), object())
        self._send_complete(operation_id)

    def encode_next(self, operation_id: str, payload: bytes, position: str = "") -> bytes:
        """Return the event of a payload. Its id is the position, which clients send back as Last-Event-ID."""
        if self._single_connection:
            payload = b'{"id":' + msgspec.json.encode(operation_id) + b',"payload":' + payload + b"}"
        id_line = b"id: " + position.encode() + b"\n" if position else b""
        return b"event: next\n" + id_line + b"data: " + payload + b"\n\n"

    def send_event(self, event: bytes, key: object) -> None:
        """Queue an event. For a slow client, a later event with the same key replaces it."""
        if self._ended:
            return
        if self._backlog is not None:
            if not self._backlog.add(key, event):
                self.close(CloseCode.TOO_SLOW, "")
            return
        self._pending.append(event)
        self._unsent_bytes += len(event)
        self._wakeup.set()
        if self._unsent_bytes > HIGH_WATER_BYTES:
            self._backlog = ConflatingBuffer(self._runtime.limits)
            self._slow_deadline = self._runtime.timer_wheel.now() + self._runtime.limits.slow_reader_seconds
            self._runtime.timer_wheel.schedule(self, self._slow_deadline)

    async def wait_until_writable(self) -> None:
        """Wait until the client has read the queued events or is gone."""
        while self._backlog is not None:
            await self._backlog.released.wait()

    def _send_complete(self, operation_id: str) -> None:
        if self._single_connection:
            data = msgspec.json.encode({"id": operation_id})
            self.send_event(b"event: complete\ndata: " + data + b"\n\n", object())
        else:
            self.send_event(b"event: complete\ndata: \n\n", object())
            self._end()

    def _flush_backlog(self) -> None:
        """Send the events of the backlog. The client has read all earlier events."""
        backlog, self._slow_deadline = self._release_backlog(), None
        for event in backlog or ():
            self.send_event(event, object())

    def _release_backlog(self) -> ConflatingBuffer | None:
        """Remove the backlog, if there is one, and wake the tasks that wait for its end."""
        backlog, self._backlog = self._backlog, None
        if backlog is not None:
            backlog.released.set()
        return backlog

    # deadlines and closing

    def on_timer(self, now: float) -> float | None:
        """Handle the deadlines that have passed, and return the next one."""
        if self._ended:
            return None
        if self._token_deadline is not None and now >= self._token_deadline:
            self.close(CloseCode.FORBIDDEN, "the token has expired")
            return None
        if self._slow_deadline is not None and now >= self._slow_deadline:
            self.close(CloseCode.TOO_SLOW, "")
            return None
        if now >= self._heartbeat_deadline:
            self._heartbeat_deadline = now + HEARTBEAT_SECONDS
            if self._backlog is None:
                self.send_event(HEARTBEAT, HEARTBEAT)
        return min(
            deadline
            for deadline in (self._heartbeat_deadline, self._token_deadline, self._slow_deadline)
            if deadline is not None
        )

    def close(self, code: CloseCode, reason: str) -> None:
        """End the stream, and send the time after which the client may connect again.

        On FORBIDDEN, first end its operations with an error, so that the client gets a new token. On DISPLACED as well:
        clients that connect again at once would displace each other without end.
        """
        log_close(code, reason, self.principal, self.trace_id, self._address)
        reconnection = RECONNECTIONS[code]
        if reconnection.action is ReconnectAction.WAIT and not self._ended:
            self._pending.append(b"retry: %d\n\n" % reconnection.random_milliseconds())
        if code is CloseCode.FORBIDDEN:
            self._end_operations(Unauthenticated(reason))
        if code is CloseCode.DISPLACED:
            pause = int(reconnection.minimum_seconds)
            self._end_operations(RateLimited(f"{DISPLACED} Connect again in {pause} s.", retry_after=pause))
        if code is CloseCode.TOO_SLOW:  # it may never read again, so drop the queued events
            self._pending.clear()
            self.release()
        self._end()

    def _end_operations(self, error: GatewayError) -> None:
        for operation_id in tuple(self.operations):
            self.operations.end_with_errors(operation_id, encode_errors(error))

    def _end(self) -> None:
        self._ended = True
        self._wakeup.set()

    def release(self) -> None:
        """Free everything that the stream uses. The response has ended."""
        self._ended = True
        self._release_backlog()
        self.operations.stop_all()
        self._runtime.timer_wheel.cancel(self)
        self._runtime.connections.remove(self)
