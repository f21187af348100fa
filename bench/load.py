"""A cheap load generator for HTTP/1.1: persistent connections, each with one request at a time."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import orjson

RESPONSE_TIMEOUT_SECONDS = 60.0
"""The timeout of the last responses of a run."""

SUCCESS_PREFIX = b'{"data":{"'
"""The start of a response body with data."""

ERRORS_MEMBER = b'"errors":['
"""The errors of a response body, which servers write before or after the data. No type here has such a field."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class BenchQuery:
    """A document, the variables that requests use in turn, and the number of connections that send it."""

    name: str
    document: str
    variables: Sequence[Mapping[str, Any]]
    connections: int

    def requests(self, tokens: Sequence[str]) -> list[bytes]:
        """Return the bytes of requests that together use all variables and all tokens."""
        count = max(len(self.variables), len(tokens))
        headers = [{"token": token} for token in tokens] or [{}]
        return [
            _post(self.document, self.variables[n % len(self.variables)], headers[n % len(headers)])
            for n in range(count)
        ]


def _post(document: str, variables: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    body = orjson.dumps({"query": document, "variables": variables})
    all_headers = {
        "Host": "127.0.0.1",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Content-Length": str(len(body)),
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    return f"POST /graphql HTTP/1.1\r\n{lines}\r\n".encode() + body


@dataclass(frozen=True)
class LoadResult:
    """The number of responses in a run, and its duration in seconds."""

    count: int
    seconds: float


class LoadGenerator:
    """Connections to a server that send the requests in turn."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.requests = cycle(requests)
        self.connections: list[Connection] = []
        self.until = 0.0
        self._busy = 0
        self._count = 0
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, seconds: float) -> LoadResult:
        """Send requests for some seconds and wait for the last responses. No request is pending before or after."""
        self._count, self._busy = 0, len(self.connections)
        self._done = asyncio.get_running_loop().create_future()
        started_at = time.monotonic()
        self.until = started_at + seconds
        for connection in self.connections:
            connection.send_request()
        async with asyncio.timeout(seconds + RESPONSE_TIMEOUT_SECONDS):
            await self._done
        return LoadResult(self._count, time.monotonic() - started_at)

    def on_response(self, connection: "Connection") -> None:
        """Count a response. Send the next request if there is time."""
        self._count += 1
        if time.monotonic() < self.until:
            connection.send_request()
            return
        self._busy -= 1
        if not self._busy and not self._done.done():
            self._done.set_result(None)

    def fail(self, reason: str) -> None:
        """End the run with an error, because the rate of failed requests means nothing."""
        if not self._done.done():
            self._done.set_exception(RuntimeError(reason))


@asynccontextmanager
async def open_load(port: int, requests: Sequence[bytes], *, connections: int) -> AsyncIterator[LoadGenerator]:
    """Open connections to a port of this machine."""
    generator, loop = LoadGenerator(requests), asyncio.get_running_loop()
    try:
        for _ in range(connections):
            _, connection = await loop.create_connection(lambda: Connection(generator), "127.0.0.1", port)
            generator.connections.append(connection)
        yield generator
    finally:
        for connection in generator.connections:
            connection.close()


class Connection(asyncio.Protocol):
    """A connection, and the received part of the response that it waits for."""

    transport: Any

    def __init__(self, generator: LoadGenerator) -> None:
        self._generator = generator
        self._data = b""
        self._whole = self._body = 0
        self._left = False

    def connection_made(self, transport: Any) -> None:  # uvloop's transports are not subclasses of asyncio's
        self.transport = transport

    def send_request(self) -> None:
        """Send the next request."""
        self.transport.write(next(self._generator.requests))

    def data_received(self, data: bytes) -> None:
        self._data = data = self._data + data if self._data else data
        if not self._whole:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(data, 0, end + 2)
            if not length or data[9:12] != b"200":
                self._generator.fail(f"The server refused a request: {data[:400]!r}")
                return
            self._whole, self._body = end + 4 + int(length[1]), end + 4
        if len(data) == self._whole:
            if not data.startswith(SUCCESS_PREFIX, self._body) or data.find(ERRORS_MEMBER, self._body) >= 0:
                self._generator.fail(f"A response has errors: {data[self._body : self._body + 400]!r}")
                return
            self._data, self._whole = b"", 0
            self._generator.on_response(self)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._left:
            self._generator.fail(f"A connection was lost: {error}")

    def close(self) -> None:
        """Close the connection."""
        self._left = True
        self.transport.abort()
