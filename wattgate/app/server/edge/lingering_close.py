"""Responses to clients that still send their body, so that each client reads its response (RFC 9112, 9.6).

A response that is early waits for the rest of a body of at most MAX_AWAITED_BYTES, for LINGER_SECONDS. Caddy and other
proxies that net/http of Go serves read no body any more when they send a response, and then lose its content.

A socket that is closed with unread bytes resets the connection. The reset can overtake the response, and a proxy that
still writes the body takes it for a failure. So the gateway first closes its own direction, and then reads and discards
for LINGER_SECONDS. Above MAX_DISCARDED_BYTES it stops to read, so that a client which never stops costs nothing more.
"""

import asyncio
import select
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from wattgate.app.server.edge.connection_guard import LINGER_SECONDS
from wattgate.app.server.edge.http_deadlines import DeadlineProtocol

MAX_AWAITED_BYTES = 256 * 1024
"""Maximum bytes of a body for which an early response waits, and maximum bytes of the response."""

MAX_DISCARDED_BYTES = 1024 * 1024
"""Maximum bytes that are read and discarded after the last response of a connection."""


_HANG_UP = getattr(select, "POLLRDHUP", 0)  # Linux alone has it; others see a reset only


def has_hung_up(transport: asyncio.Transport) -> bool:
    """Return whether the client has ended its direction, or the connection is lost. Unread bytes hide neither.

    While reading is paused, the event loop does not notice it.
    """
    connection = transport.get_extra_info("socket")
    if transport.is_closing() or connection is None:
        return True
    poller = select.poll()
    poller.register(connection.fileno(), _HANG_UP)
    return bool(poller.poll(0))


class ResponseTransport:
    """The transport of a request with a body, for its response. It closes when the client has read the response."""

    __slots__ = ("_cycle", "_protocol", "_write", "close", "is_closing")

    def __init__(self, protocol: "LingeringProtocol", cycle: RequestResponseCycle) -> None:
        self._write, self.is_closing = protocol.transport.write, protocol.transport.is_closing
        self.close = protocol.close_after_response
        self._protocol, self._cycle = protocol, cycle

    def write(self, data: bytes) -> None:
        if not (self._cycle.more_body and self._protocol.keeps_early(self._cycle, data)):
            self._write(data)


class LingeringProtocol(DeadlineProtocol):
    """An HTTP connection that reads on for a bounded time after its last response."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._is_lingering = False
        self._discarded_bytes = 0
        self._early = b""

    def keeps_early(self, cycle: RequestResponseCycle, data: bytes) -> bool:
        """Keep a part of a response until the rest of its request's body has arrived. Return whether it is kept.

        It is not if the body is long or of unknown length, or if the client may wait for the response first.
        """
        is_near = self._in_body and self.cycle is cycle and 0 < self._body_left <= MAX_AWAITED_BYTES
        if is_near and not (self.expect_100_continue or self._is_lingering):
            self._early += data
            if len(self._early) > MAX_AWAITED_BYTES:
                self._send_early()
            return True
        self._send_early()
        return False

    def _send_early(self) -> None:
        if self._early:
            early, self._early = self._early, b""
            self.transport.write(early)

    def on_message_complete(self) -> None:
        self._send_early()
        HttpToolsProtocol.on_message_complete(self)

    def close_after_response(self) -> None:
        """Close the connection after a response that ends it. Its client may still send the body."""
        if self._in_body or self._unparsed:
            self._linger(self._end_response)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        if self._is_lingering:
            self.server_state.total_requests += 1
        else:
            DeadlineProtocol.on_response_complete(self)

    def shutdown(self) -> None:
        if not self._is_lingering:  # it ends by itself, soon
            super().shutdown()

    def _close(self) -> None:
        """Close the connection, and cut it if the client does not read its response in time."""
        self._linger(self.transport.abort)

    def _linger(self, end: Callable[[], None]) -> None:
        """Close the direction of the gateway, and discard what arrives. Call `end` after LINGER_SECONDS."""
        self._clear_timer()
        if self._is_lingering or self.transport.is_closing():
            return
        self._send_early()
        self._is_lingering, self._is_stalled = True, False
        self._unparsed.take_all()
        self.pipeline.clear()
        if self.transport.can_write_eof():  # TLS has no half-closed connection
            self.transport.write_eof()
        self.flow.is_held = False
        self.flow.resume_reading()
        self.loop.call_later(LINGER_SECONDS, end)

    def _end_response(self) -> None:
        """Stop reading. A client that has not read a long response gets the time of `http_deadlines`."""
        self.transport.close()
        self._watch_close()

    def _discard(self, count: int) -> None:
        """Count bytes that nobody reads. Stop reading if the client sends too many."""
        self._discarded_bytes += count
        if self._discarded_bytes > MAX_DISCARDED_BYTES and not self.transport.is_closing():
            self.transport.pause_reading()
