"""Where requests end: the gateway compared with a strict parser (h11)."""

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from tests.support.framing import APP, HOST, LAST, STREAMS, answers_of, check_framing, mutated
from tests.support.servers import running_server
from wattgate.app.server.edge.connection_guard import HttpLimits

SEED, MUTATIONS = (int(os.environ["WATTGATE_TEST_FUZZ"]), 100_000) if "WATTGATE_TEST_FUZZ" in os.environ else (37, 300)
"""The seed of the changes by chance, and how many streams have them. `make fuzz` sends more."""

SPACES = re.compile(rb"[A-Z]  |  HTTP")
"""Two spaces in a line of a request. RFC 9112 (3) lets servers accept them. h11 does not."""


@pytest.fixture(scope="module")
async def echo_url() -> AsyncIterator[str]:
    async with running_server(APP, limits=HttpLimits(head_seconds=0.5, body_seconds=0.5)) as (url, server):
        server.config.timeout_keep_alive = 5  # the trailers of a body can contain LAST, so that nobody closes
        yield url


async def test_gateway_reads_the_requests_that_a_strict_parser_reads(echo_url: str, subtests: pytest.Subtests) -> None:
    """Each stream arrives at once, and in two parts."""
    for name, start in STREAMS.items():
        stream = start + LAST
        middle = len(start) // 2
        for parts in ((stream,), (stream[:middle], stream[middle:])):
            with subtests.test(f"{name} in {len(parts)}"):
                check_framing(stream, *await answers_of(echo_url, *parts))


async def test_gateway_reads_the_requests_that_a_strict_parser_reads_in_mutated_streams(echo_url: str) -> None:
    chance = random.Random(SEED)
    for _ in range(MUTATIONS):
        stream = mutated(chance, chance.choice(list(STREAMS.values()))) + LAST
        if SPACES.search(stream) is None:
            check_framing(stream, *await answers_of(echo_url, stream))


async def test_a_malformed_body_ends_a_response_that_has_begun(echo_url: str) -> None:
    """The application of `/stream` answers before it has the body."""
    head = b"POST /stream HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    reader, writer = await asyncio.open_connection(urlsplit(echo_url).hostname, urlsplit(echo_url).port)
    writer.write(head + b"3\r\nabc\r\n")
    begin = await reader.readuntil(b"begin")
    writer.write(b"nonsense\r\n\r\n")
    rest = await asyncio.wait_for(reader.read(-1), 60)
    writer.close()
    assert begin.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1" not in rest


async def test_clients_of_http_1_0_get_no_chunks(echo_url: str) -> None:
    """A response without a length ends with the connection, also after a pipelined request of HTTP/1.1."""
    where = urlsplit(echo_url)
    stream = b"GET /parts HTTP/%b\r\n" + HOST + b"\r\n"
    for before in (b"", b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n"):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(before + stream % b"1.0")
        *_, head, body = (await asyncio.wait_for(reader.read(-1), 60)).split(b"\r\n\r\n")
        writer.close()
        assert b"transfer-encoding" not in head.lower()
        assert b"connection: close" in head.lower()
        assert body == b"beginend"
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(stream % b"1.1")
    assert b"transfer-encoding: chunked" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    writer.close()
