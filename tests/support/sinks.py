"""Servers that webhooks are sent to: what they were sent, and how they answer."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network

from wattgate.delivery.http.egress import EgressPolicy

HERE = EgressPolicy(allowed_networks=(ip_network("127.0.0.0/8"),), allow_http=True)
"""What tests may reach: servers on this machine."""


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def answering(status: int, *, headers: str = "", body: bytes = b"") -> Behaviour:
    """A sink that answers each request so."""

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status} Told\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return behave


async def closing(received: Received, writer: asyncio.StreamWriter) -> None:
    """A sink that closes the connection instead of answering."""


async def hanging(received: Received, writer: asyncio.StreamWriter) -> None:
    """A sink that never answers."""
    await asyncio.Event().wait()


@dataclass
class Sink:
    """A running server: its port, what it received, and how it behaves, which may change."""

    port: int = 0
    behave: Behaviour = field(default_factory=lambda: answering(204))
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    sent: int = 0
    """Bytes that were handed to the connections of `flooding`."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    async def flooding(self, received: Received, writer: asyncio.StreamWriter) -> None:
        """Answer with 10 MB."""
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n")
        for _ in range(1_000):
            writer.write(bytes(10_000))
            await writer.drain()
            self.sent += 10_000

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._take(reader, writer)
            writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")[:-2]
        method, target, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        received = Received(method, target, headers, body)
        self.received.append(received)
        await self.behave(received, writer)


@asynccontextmanager
async def sink(behave: Behaviour | None = None, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Sink]:
    """A sink on a free port of this machine."""
    started = Sink()
    if behave is not None:
        started.behave = behave
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(started.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    started.port = server.sockets[0].getsockname()[1]
    try:
        yield started
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
