"""A way to a gateway on which each connection may be cut, reset, or left dangling."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER for zero seconds: what closes is told as a reset."""


class _End(asyncio.Protocol):
    """One side of a link: what comes goes to the other."""

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
    """A connection through the proxy: `near` is the client's side, `far` the gateway's."""

    def __init__(self, links: set["Link"]) -> None:
        self._links = links
        self._waiting = bytearray()
        self.near = _End(self)
        self.far = _End(self)
        self.dangling = False

    @property
    def port(self) -> int:
        """The port of the client."""
        assert self.near.transport is not None
        port: int = self.near.transport.get_extra_info("peername")[1]
        return port

    def carry(self, origin: _End, data: bytes) -> None:
        if self.dangling:
            return
        target = self.far if origin is self.near else self.near
        if target.transport is None:  # the gateway's side is not there yet
            self._waiting += data
        else:
            target.transport.write(data)

    def joined(self) -> None:
        """The gateway's side is there."""
        assert self.far.transport is not None
        self.far.transport.write(bytes(self._waiting))
        self._waiting.clear()

    def cut(self) -> None:
        """Close both sides; what is under way is lost."""
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.abort()
        self._links.discard(self)

    def reset(self) -> None:
        """Close both sides as a machine does that knows of no such connection."""
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.cut()

    def dangle(self) -> None:
        """Carry nothing any more, and tell nobody: neither side knows that the other is gone."""
        self.dangling = True
        if self.far.transport is not None:
            self.far.transport.pause_reading()


class Proxy:
    """Listens on a port of its own for those who want to reach another."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._joining: set[asyncio.Task[None]] = set()
        self.links: set[Link] = set()
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(self._link, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for link in list(self.links):
            link.cut()
        await self._server.wait_closed()

    def _link(self) -> asyncio.Protocol:
        link = Link(self.links)
        self.links.add(link)
        task = asyncio.get_running_loop().create_task(self._join(link))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)
        return link.near

    async def _join(self, link: Link) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: link.far, "127.0.0.1", self._target)
        except OSError:
            link.cut()
        else:
            link.joined()


@asynccontextmanager
async def proxy(target: int) -> AsyncIterator[Proxy]:
    """A proxy in front of a port."""
    made = Proxy(target)
    await made.open()
    try:
        yield made
    finally:
        await made.close()
