"""Requests that a client sends before it has the responses to those before them.

The answers keep the order of the requests. At most MAX_WAITING_REQUESTS wait for their turn. The bytes behind them are
kept as they arrived, at most those of one read, and reading pauses. So a client cannot make the gateway hold thousands
of parsed requests, or spend a long time on one connection while others wait.

A client that does not read its responses gets no further ones: no request begins while the buffer of the transport is
above its high-water mark. No request begins either when its client has closed the connection, or its direction of it.

Methods that run for each request name the class of the next one instead of calling `super()`: its look-up costs more
than the methods themselves.
"""

import asyncio
from contextvars import Context, copy_context
from typing import Any

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from wattgate.app.server.gate.request_heads import RefusedHead

MAX_WAITING_REQUESTS = 16
"""Maximum requests of a connection that are parsed and wait for the response before theirs."""

CHUNKED = b"hunked"
"""A part of nearly every head whose body comes in chunks: the lines of chunks are counted apart from the head."""

END_OF_HEAD = b"\r\n\r\n"
"""The bytes that end a head, and a body in chunks with its trailers."""


class UnparsedBytes:
    """The bytes of a connection that the parser has not read yet."""

    def __init__(self) -> None:
        self._data = self._tail = b""
        self._start = 0

    def __bool__(self) -> bool:
        return bool(self._data)

    def passes(self, data: bytes, body_bytes: int = 0) -> bool:
        """Return whether `take` would return exactly these bytes if they were added. Then they need not be added.

        Bytes that are all of a body whose length is known are not searched for ends.
        """
        if self._data or (body_bytes < len(data) and (data.count(END_OF_HEAD) > 1 or CHUNKED in data)):
            return False
        self._tail = data[-3:] if len(data) > 2 else (self._tail + data)[-3:]
        return True

    def add(self, data: bytes) -> None:
        self._data, self._start = self._data[self._start :] + data, 0

    def take(self, body_bytes: int = 0) -> bytes:
        """Remove and return the bytes until the next end of a head or of a body; usually all, with one request.

        So a piece has the end of few requests. `body_bytes` is the number of bytes that the body of the request still
        lacks; not above 0 in a head, and in a body in chunks.
        """
        data, start = self._data, self._start
        if not start and data.count(END_OF_HEAD) <= 1 and CHUNKED not in data:
            end = len(data)
        else:
            end = start + body_bytes if body_bytes > 0 else self._find_end()
        if end < len(data):
            self._start = end
            return data[start:end]
        self._tail = (self._tail + data[-3:])[-3:]
        self._data, self._start = b"", 0
        return data[start:]

    def take_all(self) -> bytes:
        return self.take(len(self._data) or 1)

    def put_back(self, data: bytes) -> None:
        """Add bytes in front of the others."""
        self._data, self._start = data + self._data[self._start :], 0

    def _find_end(self) -> int:
        data, start = self._data, self._start
        if not start and self._tail and (found := (self._tail + data[:3]).find(END_OF_HEAD)) >= 0:
            return found + len(END_OF_HEAD) - len(self._tail)  # the end arrives in two reads
        found = data.find(END_OF_HEAD, start)
        return len(data) if found < 0 else found + len(END_OF_HEAD)


class HeldFlow(FlowControl):
    """The flow of a connection, whose reading nobody resumes while unparsed bytes are stored.

    uvicorn resumes it whenever an application asks for a body.
    """

    is_held = False

    def hold(self) -> None:
        self.is_held = True
        self.pause_reading()

    def resume_reading(self) -> None:
        if self.read_paused and not self.is_held:
            super().resume_reading()


class RunningCycle:
    """A request whose application runs. When it ends too early, uvicorn closes the connection and notifies nobody."""

    __slots__ = ("_cycle", "_protocol")

    def __init__(self, protocol: "PipelinedProtocol", cycle: RequestResponseCycle) -> None:
        self._protocol, self._cycle = protocol, cycle

    async def run_asgi(self, app: Any) -> None:
        cycle = self._cycle
        await cycle.run_asgi(app)
        if not (cycle.response_complete or cycle.disconnected):
            self._protocol.on_unfinished_response()


class PipelinedProtocol(HttpToolsProtocol):
    """An HTTP connection that parses a bounded number of requests ahead, and answers them in their order.

    A subclass sets `_in_body`, `_body_left` and `_refusal`, and calls `_await_turn` for a handshake of a WebSocket.
    """

    flow: HeldFlow

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._unparsed = UnparsedBytes()
        self._context: Context = copy_context()
        self._in_body = self._is_stalled = self._has_handshake = False
        self._body_left = 0
        self._refusal: RefusedHead | None = None
        self._running: RequestResponseCycle | None = None
        self.client_has_gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = HeldFlow(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unparsed.take_all()
        self.pipeline.clear()
        running = self._running
        # uvicorn notifies only the last request that is parsed
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        body_bytes = self._body_left if self._in_body else 0
        if self._can_parse() and self._unparsed.passes(data, body_bytes):  # nearly always: a read has one request
            self._feed_piece(data)
            if not self._has_handshake:
                return
        else:
            self._unparsed.add(data)
        self._parse()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_stalled:
            self._is_stalled = False
            self._end_stall()
            self._context.run(self._advance)

    def on_response_complete(self) -> None:
        if not (self.pipeline or self._unparsed or self._has_handshake) or self.transport.is_closing():
            HttpToolsProtocol.on_response_complete(self)
            return
        self.server_state.total_requests += 1
        # not in the context of the task that has answered: it has the trace ID and the client of its request
        self._context.run(self._advance)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        HttpToolsProtocol._start_asgi_task(self, RunningCycle(self, cycle), app)  # type: ignore[arg-type]

    def _feed_piece(self, piece: bytes) -> None:
        """Parse a piece that has the end of few requests."""
        raise NotImplementedError

    def on_unfinished_response(self) -> None:
        """Note that an application has ended before its response, so that the connection closes."""

    def _begin_stall(self) -> None:
        """Note that nothing goes on until the client has read responses."""

    def _end_stall(self) -> None:
        """Note that the client has read responses."""

    def _is_answered(self) -> bool:
        """Return whether each request that is parsed has its response."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _is_in_pipeline(self) -> bool:
        """Return whether the last request that is parsed waits for the response before its own."""
        return bool(self.pipeline) and self.pipeline[0][0] is self.cycle

    def _can_parse(self) -> bool:
        has_room = len(self.pipeline) < MAX_WAITING_REQUESTS and not self._has_handshake
        return has_room and not self._is_stalled and (self._in_body or not self.flow.write_paused)

    def _advance(self) -> None:
        """Begin the next response, and parse further requests. No response is in progress."""
        if self.client_has_gone:  # nobody reads the responses to the requests that wait
            self.transport.close()
            return
        if self.flow.write_paused:
            self._stall()
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        self._parse()
        # the application of a request with many unread bytes resumes the reading when it takes them
        if self._is_answered() or len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    def _parse(self) -> None:
        """Parse as many requests as may wait, and hold the bytes behind them."""
        while self._unparsed and self._can_parse():
            self._feed_piece(self._unparsed.take(self._body_left if self._in_body else 0))
            if self._refusal is not None or self.transport.is_closing():
                self._unparsed.take_all()
        if self._refusal is not None:
            return
        if self._has_handshake and self._is_answered() and not self.flow.write_paused:
            self._upgrade()
        elif self._unparsed or self._has_handshake:
            self.flow.hold()
            if self._is_answered() and self.flow.write_paused:
                self._stall()
        else:
            self.flow.is_held = False

    def _stall(self) -> None:
        self._is_stalled = True
        self._begin_stall()

    def _await_turn(self, rest: bytes) -> None:
        """Upgrade the connection to a WebSocket after the responses in progress. `rest` follows the handshake."""
        self._has_handshake = True
        self._unparsed.put_back(rest)

    def _upgrade(self) -> None:
        self._has_handshake = False
        rest = self._unparsed.take_all()
        self.flow.is_held = False
        self.flow.resume_reading()
        self.handle_websocket_upgrade()
        if rest and not self.transport.is_closing():
            self.transport.get_protocol().data_received(rest)  # type: ignore[attr-defined]
