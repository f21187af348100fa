"""Sockets whose frames are written straight to the transport, which is far cheaper than sending through ASGI.

The application accepts a socket and hands it over by `attach`; from then on no task is left for it. This builds on the
inside of one release of uvicorn, which is pinned.
"""

import socket
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame
from websockets.http11 import Request

from wattgate.realtime.connections import frames
from wattgate.realtime.connections.session import Session

EXTENSION = "wattgate.wire"
"""The member of an ASGI scope's extensions by which a socket can be handed over."""

MOST_UNSENT = 32 * 1024
LEAST_UNSENT = 8 * 1024
"""Bytes that wait for the peer before it counts as slow, and until it reads again."""

KERNEL_BUFFER = 32 * 1024
"""Bytes that the kernel keeps besides. Its default of megabytes would hide thousands of old readings."""


class DirectWire(WebSocketsSansIOProtocol):
    """uvicorn's connection until a session is attached, and the session's wire after that."""

    session: Session | None = None

    # handing over

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            extensions: Any = self.scope["extensions"]
            extensions[EXTENSION] = self

    def attach(self, session: Session) -> None:
        """Give the connection to a session. The application returns in the same turn of the loop."""
        self.session = session
        self.transport.set_write_buffer_limits(MOST_UNSENT, LEAST_UNSENT)
        connected = self.transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER)
        self.stop_keepalive()
        # uvicorn closes the transport when the application returns, but not while this timer is set
        self.close_timer = self.loop.call_later(0, _nothing)
        self.request.headers.clear()  # the parser keeps the request for as long as the connection lasts
        del self.scope, self.request, self.response, self.queue, self.writable

    # from the peer

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
            self.session.paused()

    def resume_writing(self) -> None:
        if self.session is None:
            super().resume_writing()
        else:
            self.session.resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.session is None:
            super().connection_lost(exc)
            return
        self.connections.discard(self)
        self.close_sent = True
        self.session.gone()

    # to the peer

    def write(self, message: bytes) -> None:
        if not (self.close_sent or self.transport.is_closing()):
            self.transport.write(frames.text(message))

    def close(self, code: int, reason: str) -> None:
        if self.close_sent:
            return
        self.close_sent = True
        try:
            self.conn.send_close(code, reason)
        except InvalidState:  # the peer was first
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
        """Answer that the connection is closed, and wait no longer than the session does for what is unsent."""
        self.close_sent = True
        self._write()
        self.transport.close()
        if self.session is not None:
            self.session.closing()

    def _write(self) -> None:
        output = b"".join(self.conn.data_to_send())
        if output and not self.transport.is_closing():
            self.transport.write(output)


def _nothing() -> None:
    """What is left to do when the application has returned."""
