"""Operations told as server-sent events, as the npm package graphql-sse understands them (its PROTOCOL.md)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, Unauthenticated
from wattgate.principal import Principal
from wattgate.realtime.connections.close_log import log_close
from wattgate.realtime.connections.connection_slots import ConnectionSlot
from wattgate.realtime.connections.operations import Operations
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.send_backlog import ConflatingBuffer
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, encode_errors

HEARTBEAT = b":\n\n"
HEARTBEAT_SECONDS = 15.0
"""A comment goes out so often: proxies and clients take silence for the end."""

HIGH_WATER_BYTES = 32 * 1024
"""Bytes that wait for the client before it counts as slow."""

SINGLE_OPERATION_ID = "only"
"""The id of the one operation of a stream that has no others."""


class StreamSubscriber:
    """An operation of a stream that is told payloads."""

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
    """The stream of one response.

    In the distinct mode it tells one operation and ends with it; in the single-connection mode it tells any number,
    each event with the operation's id, and ends when either side leaves.
    """

    def __init__(self, runtime: RealtimeRuntime, principal: Principal, *, single_connection: bool) -> None:
        self.principal = principal
        self.slots: tuple[ConnectionSlot, ...] = ()
        self.timer_slot: int | None = None
        self.trace_id = TRACE_ID.get()
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
        """Take the stream's place among the connections of its caller."""
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
        """Begin the one operation of the distinct mode. `since` is the value of Last-Event-ID."""
        self.operations.start(SINGLE_OPERATION_ID, request, prepared=prepared, since=since, trace_id=self.trace_id)

    async def events(self) -> AsyncIterator[bytes]:
        """The stream, until it ends or nobody takes it any more."""
        try:
            yield HEARTBEAT  # so that the client sees at once that it stands
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

    # what is told

    def create_subscriber(self, operation_id: str, resumes: bool) -> StreamSubscriber:
        return StreamSubscriber(self, operation_id, resumes)

    def send_result(self, operation_id: str, payload: bytes) -> None:
        self.send_event(self.encode_next(operation_id, payload), object())
        self._send_complete(operation_id)

    def send_errors(self, operation_id: str, errors: bytes) -> None:
        self.send_event(self.encode_next(operation_id, b'{"errors":' + errors + b"}"), object())
        self._send_complete(operation_id)

    def encode_next(self, operation_id: str, payload: bytes, position: str = "") -> bytes:
        """The event that tells a payload. Its id is a position, which clients send back as Last-Event-ID."""
        if self._single_connection:
            payload = b'{"id":' + msgspec.json.encode(operation_id) + b',"payload":' + payload + b"}"
        id_line = b"id: " + position.encode() + b"\n" if position else b""
        return b"event: next\n" + id_line + b"data: " + payload + b"\n\n"

    def send_event(self, event: bytes, key: object) -> None:
        """Send an event; the client gets it when it can, or a later one of the same key instead."""
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
        """Wait until the client takes what was pushed, or is gone."""
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
        """All that waited has been taken: now comes what was held."""
        backlog, self._slow_deadline = self._release_backlog(), None
        for event in backlog or ():
            self.send_event(event, object())

    def _release_backlog(self) -> ConflatingBuffer | None:
        """What was held, which waits no longer."""
        backlog, self._backlog = self._backlog, None
        if backlog is not None:
            backlog.released.set()
        return backlog

    # how it ends

    def on_timer(self, now: float) -> float | None:
        """Do what is due."""
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
        """End the stream. Whoever has to bring new credentials is told so; others just come back."""
        log_close(code, reason, self.principal, self.trace_id)
        if code is CloseCode.FORBIDDEN:
            for operation_id in tuple(self.operations):
                self.operations.end_with_errors(operation_id, encode_errors(Unauthenticated(reason)))
        if code is CloseCode.TOO_SLOW:  # who takes nothing may never do so again, and holds nothing any more
            self._pending.clear()
            self.release()
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._wakeup.set()

    def release(self) -> None:
        """Nobody takes the stream any more."""
        self._ended = True
        self._release_backlog()
        self.operations.stop_all()
        self._runtime.timer_wheel.cancel(self)
        self._runtime.connections.remove(self)
