"""The configuration that all connections of a process share, and the WebSockets that it counts as connections.

The classes depend on internals of uvicorn, whose version is therefore pinned.
"""

import asyncio
from typing import Any

import uvicorn

from wattgate.app.server.edge.connection_guard import DEFAULT_HTTP_LIMITS, ConnectionGuard, HttpLimits
from wattgate.app.server.edge.direct_graphql import DirectGraphQL
from wattgate.app.server.edge.socket_upgrade import SocketUpgrade
from wattgate.realtime.connections.wires.uvicorn_wire import UvicornWire


class GuardedConfig(uvicorn.Config):
    """A uvicorn configuration with the limits of connections, which all connections of the process share."""

    def __init__(self, *arguments: Any, http_limits: HttpLimits = DEFAULT_HTTP_LIMITS, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.guard = ConnectionGuard(http_limits)
        state = getattr(self.app, "state", None)
        self.direct_graphql: DirectGraphQL | None = getattr(state, "direct_graphql", None)
        self.socket_upgrade: SocketUpgrade | None = getattr(state, "socket_upgrade", None)


class GuardedWire(UvicornWire):
    """A WebSocket that is counted as a connection until it is lost."""

    config: GuardedConfig

    def connection_lost(self, exc: Exception | None) -> None:
        self.release(self.transport)
        super().connection_lost(exc)

    def release(self, transport: asyncio.BaseTransport) -> None:
        self.config.guard.release(transport)
