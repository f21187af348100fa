"""Operations told as server-sent events, as the npm package graphql-sse understands them (its PROTOCOL.md)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, Unauthenticated
from wattgate.principal import Principal
from wattgate.realtime.connections.close_log import disconnected
from wattgate.realtime.connections.connection_limits import Seat
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.operations import Operations
from wattgate.realtime.connections.protocol import Close, Request
from wattgate.realtime.connections.send_backlog import Held
from wattgate.realtime.connections.service import PreparedOperation
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, told

HEARTBEAT = b":\n\n"
HEARTBEAT_SECONDS = 15.0
"""A comment goes out so often: proxies and clients take silence for the end."""

MOST_UNSENT = 32 * 1024
"""Bytes that wait for the client before it counts as slow."""

ONLY = "only"
"""The id of the one operation of a stream that has no others."""


class StreamSubscriber:
    """An operation of a stream that is told payloads."""

    __slots__ = ("buffer", "group", "id", "over", "resumes", "stream")

    def __init__(self, stream: "EventStream", operation_id: str, resumes: bool) -> None:
        self.stream = stream
        self.id = operation_id
        self.resumes = resumes
        self.buffer: list[Message] | None = None
        self.group: Group | None = None
        self.over = False

    def next(self, message: Message) -> None:
        self.stream.push(self.stream.next(self.id, message.payload, message.position), (self.id, message.key))

    async def room(self) -> None:
        await self.stream.room()

    def fail(self, error: GatewayError) -> None:
        self.over = True
        self.stream.operations.end(self.id, told(error))


class EventStream:
    """The stream of one response.

    In the distinct mode it tells one operation and ends with it; in the single-connection mode it tells any number,
    each event with the operation's id, and ends when either side leaves.
    """

    def __init__(self, live: Live, principal: Principal, *, single: bool) -> None:
        self.principal = principal
        self.seats: tuple[Seat, ...] = ()
        self.slot: int | None = None
        self.trace_id = TRACE_ID.get()
        self.operations = Operations(live, self)
        self._live = live
        self._single = single
        self._waiting: deque[bytes] = deque()
        self._unsent = 0
        self._held: Held | None = None
        self._slow_due: float | None = None
        self._token_due: float | None = None
        self._heartbeat_due = 0.0
        self._arrived = asyncio.Event()
        self._over = False

    async def open(self) -> None:
        """Take the stream's place among the connections of its caller."""
        live, until = self._live, self.principal.expires_at
        live.sockets.add(self)
        now = live.wheel.now()
        if until is not None:
            self._token_due = now + (until - live.service.now()).total_seconds()
        self._heartbeat_due = now + HEARTBEAT_SECONDS
        live.wheel.place(self, min(self._heartbeat_due, self._token_due or self._heartbeat_due))
        await live.sockets.seat(self)

    def begin(self, request: Request, since: str | None, prepared: PreparedOperation | None = None) -> None:
        """Begin the one operation of the distinct mode. `since` is the value of Last-Event-ID."""
        self.operations.begin(ONLY, request, prepared=prepared, since=since, trace_id=self.trace_id)

    async def events(self) -> AsyncIterator[bytes]:
        """The stream, until it ends or nobody takes it any more."""
        try:
            yield HEARTBEAT  # so that the client sees at once that it stands
            while True:
                while self._waiting:
                    chunk = self._waiting.popleft()
                    self._unsent -= len(chunk)
                    yield chunk
                if self._held is not None:
                    self._resume()
                elif self._over:
                    return
                else:
                    self._arrived.clear()
                    await self._arrived.wait()
        finally:
            self.leave()

    # what is told

    def subscriber(self, operation_id: str, resumes: bool) -> StreamSubscriber:
        return StreamSubscriber(self, operation_id, resumes)

    def answer(self, operation_id: str, payload: bytes) -> None:
        self.push(self.next(operation_id, payload), object())
        self._complete(operation_id)

    def refuse(self, operation_id: str, errors: bytes) -> None:
        self.push(self.next(operation_id, b'{"errors":' + errors + b"}"), object())
        self._complete(operation_id)

    def next(self, operation_id: str, payload: bytes, position: str = "") -> bytes:
        """The event that tells a payload. Its id is a position, which clients send back as Last-Event-ID."""
        if self._single:
            payload = b'{"id":' + msgspec.json.encode(operation_id) + b',"payload":' + payload + b"}"
        place = b"id: " + position.encode() + b"\n" if position else b""
        return b"event: next\n" + place + b"data: " + payload + b"\n\n"

    def push(self, event: bytes, key: object) -> None:
        """Send an event; the client gets it when it can, or a later one of the same key instead."""
        if self._over:
            return
        if self._held is not None:
            if not self._held.keep(key, event):
                self.close(Close.TOO_SLOW, "")
            return
        self._waiting.append(event)
        self._unsent += len(event)
        self._arrived.set()
        if self._unsent > MOST_UNSENT:
            self._held = Held(self._live.limits)
            self._slow_due = self._live.wheel.now() + self._live.limits.slow_seconds
            self._live.wheel.place(self, self._slow_due)

    async def room(self) -> None:
        """Wait until the client takes what was pushed, or is gone."""
        while self._held is not None:
            await self._held.over.wait()

    def _complete(self, operation_id: str) -> None:
        if self._single:
            data = msgspec.json.encode({"id": operation_id})
            self.push(b"event: complete\ndata: " + data + b"\n\n", object())
        else:
            self.push(b"event: complete\ndata: \n\n", object())
            self._end()

    def _resume(self) -> None:
        """All that waited has been taken: now comes what was held."""
        held, self._slow_due = self._let_go(), None
        for event in held or ():
            self.push(event, object())

    def _let_go(self) -> Held | None:
        """What was held, which waits no longer."""
        held, self._held = self._held, None
        if held is not None:
            held.over.set()
        return held

    # how it ends

    def visit(self, now: float) -> float | None:
        """Do what is due."""
        if self._over:
            return None
        if self._token_due is not None and now >= self._token_due:
            self.close(Close.FORBIDDEN, "the token has expired")
            return None
        if self._slow_due is not None and now >= self._slow_due:
            self.close(Close.TOO_SLOW, "")
            return None
        if now >= self._heartbeat_due:
            self._heartbeat_due = now + HEARTBEAT_SECONDS
            if self._held is None:
                self.push(HEARTBEAT, HEARTBEAT)
        return min(due for due in (self._heartbeat_due, self._token_due, self._slow_due) if due is not None)

    def close(self, code: Close, reason: str) -> None:
        """End the stream. Whoever has to bring new credentials is told so; others just come back."""
        disconnected(code, reason, self.principal, self.trace_id)
        if code is Close.FORBIDDEN:
            for operation_id in tuple(self.operations):
                self.operations.end(operation_id, told(Unauthenticated(reason)))
        if code is Close.TOO_SLOW:  # who takes nothing may never do so again, and holds nothing any more
            self._waiting.clear()
            self.leave()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._arrived.set()

    def leave(self) -> None:
        """Nobody takes the stream any more."""
        self._over = True
        self._let_go()
        self.operations.clear()
        self._live.wheel.remove(self)
        self._live.sockets.remove(self)
