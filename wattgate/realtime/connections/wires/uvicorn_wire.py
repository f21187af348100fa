"""The handover of a WebSocket from uvicorn to a `FrameWire`, which is much cheaper than messages through ASGI.

The application accepts the socket and passes it to a session by `attach`. The classes depend on internals of uvicorn,
whose version is therefore pinned.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from wattgate.realtime.connections.session import Session
from wattgate.realtime.connections.wires.frame_wire import FrameWire

ASGI_EXTENSION = "wattgate.wire"
"""The key in the extensions of an ASGI scope that holds the `UvicornWire` of a socket."""


class UvicornWire(WebSocketsSansIOProtocol):
    """A connection of uvicorn until a session is attached."""

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            extensions: Any = self.scope["extensions"]
            extensions[ASGI_EXTENSION] = self

    def attach(self, build_session: Callable[[FrameWire], Session]) -> None:
        """Pass the connection to a session. The application must return in the same iteration of the event loop."""
        self.stop_keepalive()
        # uvicorn closes the transport when the application returns, but not while this timer is set
        self.close_timer = self.loop.call_later(0, _noop)
        self.request.headers.clear()  # frees memory: the parser keeps the request until the connection ends
        self.connections.discard(self)
        wire = FrameWire(self.conn, self.transport, self.connections, self.release)
        wire.attach(build_session(wire))

    def release(self, transport: asyncio.BaseTransport) -> None:
        """Do what the loss of the connection requires, after the handover."""


def _noop() -> None:
    """Do nothing. It is the callback of the close timer of uvicorn."""
