"""The WebSocket endpoint: check the origin and the subprotocol, accept the socket, and start its session."""

import logging
from collections.abc import Collection

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from wattgate.realtime.connections.protocol import CLOSE_CODE_MEANINGS, SUBPROTOCOL, CloseCode
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.session import Session
from wattgate.realtime.connections.wires.uvicorn_wire import ASGI_EXTENSION, UvicornWire
from wattgate.requests.client import is_origin_allowed
from wattgate.requests.request_context import client_fields

log = logging.getLogger(__name__)


class WebSocketEndpoint:
    """An application for sockets that use the graphql-transport-ws protocol, on the server of the gateway alone.

    The handshake headers or the `connection_init` payload authenticate a socket. The payload members are read as
    headers (`token`, `authorization`, `applicationId`). The handshake of a page from a foreign origin is rejected.
    """

    def __init__(self, runtime: RealtimeRuntime, allowed_origins: Collection[str]) -> None:
        self._runtime = runtime
        self._allowed_origins = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        if scope.get("http_version") == "1.0" or len(socket.headers.getlist("host")) != 1:
            message = "WebSocket rejected: a handshake needs HTTP/1.1 and one header Host"
            log.info(message, extra=client_fields(message))
            await socket.close()
            return
        if not is_origin_allowed(socket.headers, self._allowed_origins):
            fields = client_fields("WebSocket rejected: the origin is not allowed")
            log.info("WebSocket rejected: the origin %.100r is not allowed", socket.headers["origin"], extra=fields)
            await socket.close()
            return
        if SUBPROTOCOL not in scope["subprotocols"]:
            await socket.accept()
            code = CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE
            await socket.close(code, CLOSE_CODE_MEANINGS[code][0])
            return
        headers = dict(socket.headers)
        await socket.accept(SUBPROTOCOL)
        wire: UvicornWire = scope["extensions"][ASGI_EXTENSION]
        wire.attach(lambda frames: Session(self._runtime, frames, headers))
