"""The wire of a WebSocket that writes frames directly to the transport. It is much cheaper than sending through ASGI.

The application accepts the socket and passes it to a session by `attach`. After that, the socket needs no task. The
class depends on internals of uvicorn, whose version is therefore pinned.
"""

import socket
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame
from websockets.http11 import Request

from wattgate.realtime.connections import frames
from wattgate.realtime.connections.session import Session

ASGI_EXTENSION = "wattgate.wire"
"""The key in the extensions of an ASGI scope that holds the `UvicornWire` of a socket."""

HIGH_WATER_BYTES = 32 * 1024
LOW_WATER_BYTES = 8 * 1024
"""Unsent bytes above which the client counts as slow, and below which it counts as reading again."""

KERNEL_BUFFER_BYTES = 32 * 1024
"""Send buffer of the kernel. Its default of megabytes could hold thousands of outdated readings."""


class UvicornWire(WebSocketsSansIOProtocol):
    """A connection of uvicorn until a session is attached, and the wire of the session after that."""

    session: Session | None = None

    # handover from uvicorn

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            extensions: Any = self.scope["extensions"]
            extensions[ASGI_EXTENSION] = self

    def attach(self, session: Session) -> None:
        """Pass the connection to a session. The application must return in the same iteration of the event loop."""
        self.session = session
        self.transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        tcp_socket = self.transport.get_extra_info("socket")
        if tcp_socket is not None:
            tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER_BYTES)
        self.stop_keepalive()
        # uvicorn closes the transport when the application returns, but not while this timer is set
        self.close_timer = self.loop.call_later(0, _noop)
        self.request.headers.clear()  # frees memory: the parser keeps the request until the connection ends
        del self.scope, self.request, self.response, self.queue, self.writable

    # from the client

    def send_receive_event_to_app(self) -> None:
        if self.session is None:
            super().send_receive_event_to_app()
            return
        data = b"".join(self.frames)
        self.frames = []
        if not self.close_sent:
            self.session.receive(data, text=self.curr_msg_data_type == "text")

    def handle_pong(self, event: Frame) -> None:
        if self.session is None:
            super().handle_pong(event)

    def handle_close(self, event: Frame) -> None:
        if self.session is None:
            super().handle_close(event)
        else:
            self._end()

    def handle_parser_exception(self) -> None:
        if self.session is None:
            super().handle_parser_exception()
        else:
            self._end()

    def pause_writing(self) -> None:
        if self.session is None:
            super().pause_writing()
        else:
            self.session.on_writing_paused()

    def resume_writing(self) -> None:
        if self.session is None:
            super().resume_writing()
        else:
            self.session.on_writing_resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.session is None:
            super().connection_lost(exc)
            return
        self.connections.discard(self)
        self.close_sent = True
        self.session.on_disconnected()

    # to the client

    def write(self, message: bytes) -> None:
        if not (self.close_sent or self.transport.is_closing()):
            self.transport.write(frames.text(message))

    def close(self, code: int, reason: str) -> None:
        if self.close_sent:
            return
        self.close_sent = True
        try:
            self.conn.send_close(code, reason)
        except InvalidState:  # the client has closed first
            return
        self._write()

    def abort(self) -> None:
        self.transport.abort()

    def shutdown(self) -> None:
        if self.session is None:
            super().shutdown()
        else:
            self.close(1012, "")
            self._end()

    def _end(self) -> None:
        """Reply to the close. The session limits the wait for unsent bytes."""
        self.close_sent = True
        self._write()
        self.transport.close()
        if self.session is not None:
            self.session.on_closing()

    def _write(self) -> None:
        output = b"".join(self.conn.data_to_send())
        if output and not self.transport.is_closing():
            self.transport.write(output)


def _noop() -> None:
    """Do nothing. It is the callback of the close timer of uvicorn."""
