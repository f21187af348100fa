"""The close of a connection whose client still sends: the client reads its response, and has a bounded time."""

import asyncio
import select
import socket
from contextlib import closing
from functools import partial
from urllib.parse import urlsplit

import pytest
from uvicorn.server import ServerState

from tests.app.test_slow_connections import APP
from tests.fuzz.event_loop import MemoryTransport, SteppedLoop
from tests.support.framing import HOST
from tests.support.servers import serving
from wattgate.app.server.edge.connection_guard import LINGER_SECONDS, HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedHttpProtocol
from wattgate.app.server.edge.lingering_close import MAX_DISCARDED_BYTES
from wattgate.app.server.edge.serving import build_uvicorn_config

CLOSE, LENGTH = b"Connection: close\r\n", b"Content-Length: 100000\r\n"

REFUSED = {
    "an answer that does not read the body": (200, b"POST /ignore HTTP/1.1\r\n" + HOST + CLOSE + LENGTH + b"\r\n"),
    "an unknown path": (404, b"POST /unknown HTTP/1.1\r\n" + HOST + CLOSE + LENGTH + b"\r\n"),
    "HTTP/1.0": (404, b"POST /unknown HTTP/1.0\r\n" + LENGTH + b"\r\n"),
    "a malformed chunk": (400, b"POST /read HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab\r\n"),
    "a refused head": (400, b"POST /read HTTP/1.1\r\n" + 2 * HOST + LENGTH + b"\r\n"),
    "a large head": (431, b"POST /read HTTP/1.1\r\n" + HOST + b"a: " + 40_000 * b"b" + b"\r\n"),
}
"""Requests that are answered before their body has arrived, with the status. The connection closes."""


class Server:
    """An HTTP connection in memory, and the loop on which it runs."""

    def __init__(self, loop: SteppedLoop) -> None:
        config = build_uvicorn_config(APP, HttpLimits())
        config.load()
        self.loop, self.transport = loop, MemoryTransport(loop)
        self.protocol = GuardedHttpProtocol(config, ServerState(), {}, loop)
        self.transport.set_protocol(self.protocol)
        self.protocol.connection_made(self.transport)

    def feed(self, data: bytes) -> None:
        self.protocol.data_received(data)
        self.loop.settle()

    @property
    def status(self) -> int:
        return int(self.transport.received.split(b" ", 2)[1])


@pytest.mark.parametrize("name", REFUSED)
def test_rest_of_a_refused_request_is_discarded_for_a_bounded_time(name: str) -> None:
    status, head = REFUSED[name]
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        transport = server.transport
        server.feed(head + 1_000 * b"x")
        assert server.status == status
        assert b"connection: close" in transport.received.lower()
        for _ in range(100):
            server.feed(1_000 * b"x")
        assert (transport.has_ended, transport.is_closing(), server.status) == (True, False, status)
        assert transport.received.count(b"HTTP/1.1 ") == 1
        loop.settle(LINGER_SECONDS - 0.1)
        server.feed(1_000 * b"x")
        assert not transport.is_closing(), "a client that sends has the whole time"
        loop.settle(0.2)
        assert transport.is_closing(), "a client that never stops has no longer time"


@pytest.mark.parametrize("name", REFUSED)
def test_client_that_sends_very_much_is_no_longer_read(name: str) -> None:
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        server.feed(REFUSED[name][1] + 1_000 * b"x")
        for _ in range(MAX_DISCARDED_BYTES // 65_536):
            server.feed(65_536 * b"x")
            assert not server.transport.is_reading_paused
        server.feed(65_536 * b"x")
        assert server.transport.is_reading_paused
        loop.settle(LINGER_SECONDS + 0.1)
        assert server.transport.is_closing()


@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_early_answer_waits_for_the_body_and_then_closes(method: bytes) -> None:
    """A proxy that gets an answer while it sends a body may lose the content of the answer."""
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        request = method + b" /ignore HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + 100_000 * b"x"
        server.feed(request[:1_000])
        assert server.transport.received == b""
        server.feed(request[1_000:])
        assert (server.status, server.transport.has_ended) == (200, False)
        server.transport.received.clear()
        server.feed(request[:1_000])
        loop.settle(LINGER_SECONDS + 0.1)
        assert (server.status, server.transport.has_ended, server.transport.is_closing()) == (200, True, False)
        server.feed(1_000 * b"x")
        loop.settle(LINGER_SECONDS + 0.1)
        assert server.transport.is_closing()


@pytest.mark.parametrize("length", [b"Content-Length: 300000", b"Expect: 100-continue\r\nContent-Length: 100000"])
def test_answer_to_a_client_that_sends_much_or_waits_is_not_kept(length: bytes) -> None:
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        server.feed(b"POST /ignore HTTP/1.1\r\n" + HOST + length + b"\r\n\r\n")
        assert server.status == 200


def test_body_that_has_arrived_needs_no_wait() -> None:
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        server.feed(b"POST /read HTTP/1.1\r\n" + HOST + CLOSE + b"Content-Length: 3\r\n\r\nabc")
        assert (server.status, server.transport.is_closing()) == (200, True)


@pytest.mark.parametrize("name", REFUSED)
async def test_client_can_write_its_body_and_reads_the_response(name: str) -> None:
    status, head = REFUSED[name]
    async with serving(APP, limits=HttpLimits()) as url:
        received = await asyncio.to_thread(partial(write_slowly, urlsplit(url).port or 0, head))
    head, _, body = received.partition(b"\r\n\r\n")
    assert int(head.split(b" ", 2)[1]) == status
    assert body


def write_slowly(port: int, head: bytes) -> bytes:
    """Send a body after the response has arrived. Return the response up to the end of the stream."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head + 1_000 * b"x")
        select.select([client], [], [], 60)
        for _ in range(20):
            client.sendall(5_000 * b"x")
        return b"".join(iter(partial(client.recv, 65_536), b""))


def test_connection_at_rest_keeps_no_bytes_of_its_last_request() -> None:
    with closing(SteppedLoop()) as loop:
        server = Server(loop)
        server.feed(b"POST /read HTTP/1.1\r\n" + HOST + b"Content-Length: 60000\r\n\r\n")
        server.feed(60_000 * b"x")
        assert (server.status, server.transport.is_closing()) == (200, False)
        kept = {name: len(value) for name, value in vars(server.protocol).items() if isinstance(value, bytes)}
        assert sum(kept.values()) < 1_000, kept
