"""The door for WebSockets: who may come in, and into whose hands a socket is given."""

import logging
from collections.abc import Collection

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from wattgate.realtime.connections.direct_wire import EXTENSION, DirectWire
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.portable_wire import PortableWire
from wattgate.realtime.connections.protocol import MEANINGS, SUBPROTOCOL, Close
from wattgate.realtime.connections.session import Session

log = logging.getLogger(__name__)


class SocketEndpoint:
    """An ASGI application for sockets that speak graphql-transport-ws.

    A socket is authenticated by its handshake's headers or by `connection_init`'s payload, whose members are read as
    headers (`token`, `authorization`, `applicationId`). A page of a foreign origin is refused at the handshake.
    """

    def __init__(self, live: Live, allowed_origins: Collection[str]) -> None:
        self._live = live
        self._allowed_origins = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        if not self._welcome(socket):
            await socket.close()
            return
        if SUBPROTOCOL not in scope["subprotocols"]:
            await socket.accept()
            code = Close.SUBPROTOCOL_NOT_ACCEPTABLE
            await socket.close(code, MEANINGS[code][0])
            return
        headers = dict(socket.headers)
        await socket.accept(SUBPROTOCOL)
        wire = scope.get("extensions", {}).get(EXTENSION)
        if isinstance(wire, DirectWire):
            wire.attach(Session(self._live, wire, headers))
        else:
            portable = PortableWire(receive, send)
            await portable.run(Session(self._live, portable, headers))

    def _welcome(self, socket: WebSocket) -> bool:
        """Whether the page that opens the socket may. What is no browser names no origin."""
        origin = socket.headers.get("origin")
        if origin is None or "*" in self._allowed_origins or origin in self._allowed_origins:
            return True
        if origin.partition("://")[2] == socket.headers.get("host"):
            return True
        log.info("a page of the origin %.100r may not open sockets here", origin)
        return False
