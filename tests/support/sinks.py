"""Webhook receivers that record requests and respond as a test configures."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network

from wattgate.delivery.egress import EgressPolicy

HERE = EgressPolicy(allowed_networks=(ip_network("127.0.0.0/8"),), allow_http=True)
"""Egress policy for tests: only servers on this machine, and plain HTTP."""


@dataclass(frozen=True)
class Received:
    """A received request. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def answering(status: int, *, headers: str = "", body: bytes = b"") -> Behaviour:
    """Return a behaviour that sends this response to every request."""

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status} Status\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return behave


async def closing(received: Received, writer: asyncio.StreamWriter) -> None:
    """Close the connection without a response."""


async def hanging(received: Received, writer: asyncio.StreamWriter) -> None:
    """Never respond."""
    await asyncio.Event().wait()


@dataclass
class Sink:
    """A running receiver. A test may replace its behaviour at any time."""

    port: int = 0
    behave: Behaviour = field(default_factory=lambda: answering(204))
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    sent: int = 0
    """Bytes that `flooding` has written to connections."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    async def flooding(self, received: Received, writer: asyncio.StreamWriter) -> None:
        """Respond with a body of 10 MB."""
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
    """Yield a receiver on a free local port."""
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
