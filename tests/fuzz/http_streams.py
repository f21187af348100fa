"""Streams of HTTP requests: the gateway's protocol reads the requests that a strict parser (h11) reads.

The protocol runs in memory, in front of the application of `tests.support.framing`. The stream arrives at once, and in
two parts, with the same answers.
"""

import re
from contextlib import closing
from functools import cache
from typing import Any

from uvicorn.server import ServerState

from tests.fuzz.event_loop import MemoryTransport, SteppedLoop
from tests.fuzz.harness import Harness
from tests.support.framing import APP, HOST, LAST, NEXT, PIECES, POST, STREAMS, check_framing, parsed_answers
from wattgate.app.server.edge.connection_guard import HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedConfig, GuardedHttpProtocol
from wattgate.app.server.edge.serving import build_uvicorn_config

SPACES = re.compile(rb"[A-Z]  |  HTTP")
"""Two spaces in a line of a request. RFC 9112 (3) lets servers accept them. h11 does not."""

LONGER_THAN_ANY_LIMIT = 30.0
"""Seconds after which each limit of a head, of a window of a body, and of a closed connection has passed."""


@cache
def _config() -> GuardedConfig:
    config = build_uvicorn_config(APP, HttpLimits())
    config.load()
    return config


def check(data: bytes) -> bool:
    stream = data + LAST
    if SPACES.search(stream):
        return False
    middle = len(data) // 2
    at_once, in_parts = answers_of(stream), answers_of(stream[:middle], stream[middle:])
    if at_once is None or in_parts is None:
        assert at_once == in_parts, "a WebSocket depends on the parts in which its handshake arrives"
        return False
    check_framing(stream, *at_once)
    check_framing(stream, *in_parts)
    return at_once[0] != []


def answers_of(*parts: bytes) -> tuple[list[Any], list[int]] | None:
    """Return the echoes and statuses of the gateway for a stream. None if it was a handshake of a WebSocket."""
    with closing(SteppedLoop()) as loop:
        transport = MemoryTransport(loop)
        protocol = GuardedHttpProtocol(_config(), ServerState(), {}, loop)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        for part in parts:
            if transport.get_protocol() is protocol:
                protocol.data_received(part)
            loop.settle()
        is_socket = transport.get_protocol() is not protocol
        for _ in range(3):
            if not transport.is_closing():
                loop.settle(LONGER_THAN_ANY_LIMIT)
        if is_socket:
            transport.abort()
        assert transport.is_closing(), "the connection stays open"
        loop.settle(LONGER_THAN_ANY_LIMIT)
        return None if is_socket else parsed_answers(bytes(transport.received))


_CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

HARNESS = Harness(
    "http",
    check,
    (*STREAMS.values(), NEXT, _CHUNKED + b"1\r\na\r\n" * 20 + b"0\r\n\r\n"),
    (*PIECES, HOST, b"Content-Length: 3\r\n", b"Upgrade: websocket\r\n", b"GET /a HTTP/1.1\r\n"),
    {
        "requests": lambda count: NEXT * count,
        "headers": lambda count: b"GET /a HTTP/1.1\r\n" + HOST + b"a: b\r\n" * count + b"\r\n",
        "chunks": lambda count: _CHUNKED + b"1\r\na\r\n" * count + b"0\r\n\r\n",
        "trailers": lambda count: _CHUNKED + b"0\r\n" + b"a: b\r\n" * count + b"\r\n",
    },
)
