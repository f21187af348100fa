"""A TCP proxy in front of a gateway that can close, reset or freeze each connection."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: closing sends a reset."""


class _LinkSide(asyncio.Protocol):
    """One side of a link. It passes received data to the other side."""

    def __init__(self, link: "Link") -> None:
        self._link = link
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._link.carry(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._link.dangling:
            self._link.cut()


class Link:
    """A connection through the proxy, with a client side and a gateway side."""

    def __init__(self, links: set["Link"]) -> None:
        self._links = links
        self._buffered = bytearray()
        self.client_side = _LinkSide(self)
        self.gateway_side = _LinkSide(self)
        self.dangling = False

    @property
    def port(self) -> int:
        """The port of the client."""
        assert self.client_side.transport is not None
        port: int = self.client_side.transport.get_extra_info("peername")[1]
        return port

    def carry(self, origin: _LinkSide, data: bytes) -> None:
        if self.dangling:
            return
        target = self.gateway_side if origin is self.client_side else self.client_side
        if target.transport is None:  # not connected to the gateway yet
            self._buffered += data
        else:
            target.transport.write(data)

    def on_gateway_connected(self) -> None:
        """Send the buffered data to the gateway."""
        assert self.gateway_side.transport is not None
        self.gateway_side.transport.write(bytes(self._buffered))
        self._buffered.clear()

    def cut(self) -> None:
        """Close both sides. Data in transit is lost."""
        for side in (self.client_side, self.gateway_side):
            if side.transport is not None:
                side.transport.abort()
        self._links.discard(self)

    def reset(self) -> None:
        """Close both sides with a reset, as a host does for an unknown connection."""
        for side in (self.client_side, self.gateway_side):
            if side.transport is not None:
                side.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.cut()

    def dangle(self) -> None:
        """Stop carrying data without closing: neither side detects that the other is gone."""
        self.dangling = True
        if self.gateway_side.transport is not None:
            self.gateway_side.transport.pause_reading()


class Proxy:
    """Accept connections on a port and carry them to the target port."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._connect_tasks: set[asyncio.Task[None]] = set()
        self._frozen = False
        self.links: set[Link] = set()
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(self._on_client, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for link in list(self.links):
            link.cut()
        await self._server.wait_closed()

    def freeze(self) -> None:
        """Stop carrying data, on open connections and on new ones, without closing any."""
        self._frozen = True
        for link in self.links:
            link.dangle()

    def thaw(self) -> None:
        """Carry the data of new connections again."""
        self._frozen = False

    def _on_client(self) -> asyncio.Protocol:
        link = Link(self.links)
        link.dangling = self._frozen
        self.links.add(link)
        task = asyncio.get_running_loop().create_task(self._connect(link))
        self._connect_tasks.add(task)
        task.add_done_callback(self._connect_tasks.discard)
        return link.client_side

    async def _connect(self, link: Link) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: link.gateway_side, "127.0.0.1", self._target)
        except OSError:
            link.cut()
        else:
            link.on_gateway_connected()


@asynccontextmanager
async def proxy(target: int) -> AsyncIterator[Proxy]:
    """Run a proxy in front of a port."""
    opened = Proxy(target)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()
