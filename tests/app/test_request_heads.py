"""The bounds of request heads, while they arrive: bytes, lines, and bytes of a line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fuzz.http_streams import answers_of
from tests.support.framing import APP, HOST
from tests.support.scaling import check_linear
from tests.support.servers import serving
from wattgate.app.server.edge.connection_guard import HttpLimits
from wattgate.app.server.gate.request_heads import HeadLimits
from wattgate.app.settings import Settings

LIMITS = HeadLimits(max_bytes=8_000, max_lines=20, max_line_bytes=4_000)
START = b"GET /a HTTP/1.1\r\n" + HOST
CHUNKED = b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"

LENGTH = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: "
EXTENDED = b"1;" + 200 * b"a" + b"\r\nx\r\n"
"""A chunk of one byte with an extension."""


@pytest.fixture(scope="module")
async def url() -> AsyncIterator[str]:
    async with serving(APP, limits=HttpLimits(head=LIMITS)) as served:
        yield served


async def status_of(url: str, *chunks: bytes) -> int:
    """Send a head in chunks until there is an answer. Return its status."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    answer = asyncio.ensure_future(reader.readline())
    try:
        with suppress(ConnectionError):  # the gateway has answered, and closed the connection
            for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
        return int((await asyncio.wait_for(answer, 60)).split(b" ")[1])
    finally:
        writer.close()


HEADS: dict[str, tuple[int, list[bytes]]] = {
    "a small head": (200, [START + b"\r\n"]),
    "all lines": (200, [START + 19 * b"a: b\r\n" + b"\r\n"]),
    "two content types": (400, [START + b"Content-Type: application/json\r\nContent-Type: text/plain\r\n\r\n"]),
    "one content type twice": (400, [START + 2 * b"content-type: application/json\r\n" + b"\r\n"]),
    "a line too many": (431, [START + 20 * b"a: b\r\n" + b"\r\n"]),
    "a long line": (431, [START + b"a: " + 4_100 * b"b" + b"\r\n\r\n"]),
    "a long address": (431, [b"GET /" + 4_100 * b"a" + b" HTTP/1.1\r\n" + HOST + b"\r\n"]),
    "many bytes": (431, [START + 3 * (b"a: " + 3_000 * b"b" + b"\r\n") + b"\r\n"]),
    "a line without an end": (431, [START + b"a: ", *(100 * [1_000 * b"b"])]),
    "an address without an end": (431, [b"GET /", *(100 * [1_000 * b"b"])]),
    "lines without an end": (431, [START, *(100 * [b"a: b\r\n"])]),
    "a name without an end": (431, [START, *(100 * [1_000 * b"b"])]),
    "a trailer without an end": (431, [CHUNKED + b"0\r\na: ", *(100 * [1_000 * b"b"])]),
    "a chunk extension without an end": (431, [CHUNKED + b"3;a=", *(100 * [1_000 * b"b"])]),
    "many trailers": (431, [CHUNKED + b"0\r\n", *(100 * [b"a: b\r\n"])]),
    "many trailers at once": (400, [CHUNKED + b"0\r\n" + 2 * (b"a: " + 2_100 * b"b" + b"\r\n") + b"\r\n"]),
    "many small chunks": (200, [CHUNKED, *(20 * [100 * b"1\r\na\r\n"]), b"0\r\n\r\n"]),
    "sizes of eight digits": (200, [CHUNKED + 2_000 * b"00000001\r\na\r\n" + b"0\r\n\r\n"]),
    "tiny chunks": (400, [CHUNKED + 5_000 * b"1\r\na\r\n" + b"0\r\n\r\n"]),
    "tiny chunks in several reads": (400, [CHUNKED, *(100 * [100 * b"2\r\nab\r\n"]), b"0\r\n\r\n"]),
    "tiny chunks before a large one": (400, [CHUNKED + 5_000 * b"1\r\na\r\n", b"ffff\r\n" + 65_535 * b"a" + b"\r\n"]),
    "tiny chunks behind an upgrade that is ignored": (
        400,
        [CHUNKED[:-2] + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 5_000 * b"1\r\na\r\n"],
    ),
    "as many tiny chunks as a small device sends": (200, [CHUNKED + 4_000 * b"1\r\na\r\n" + b"0\r\n\r\n"]),
    "chunks of some hundred bytes": (200, [CHUNKED, *(200 * [100 * (b"64\r\n" + 100 * b"a" + b"\r\n")]), b"0\r\n\r\n"]),
    "few chunk extensions": (200, [CHUNKED + 10 * EXTENDED + b"0\r\n\r\n"]),
    "many chunk extensions": (400, [CHUNKED, *(40 * [EXTENDED]), b"0\r\n\r\n"]),
    "many chunk extensions at once": (400, [CHUNKED + 40 * EXTENDED + b"0\r\n\r\n"]),
    "a long extension of the last chunk": (400, [CHUNKED + b"0;" + 5_000 * b"a" + b"\r\n\r\n"]),
    "zeros before chunk sizes": (400, [CHUNKED, *(40 * [200 * b"0" + b"1\r\na\r\n"]), b"0\r\n\r\n"]),
    "chunk extensions behind an upgrade that is ignored": (
        400,
        [CHUNKED[:-2] + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", *(40 * [EXTENDED]), b"0\r\n\r\n"],
    ),
    **{
        f"the host {host.decode('latin-1')!r}": (status, [b"GET /a HTTP/%b\r\nHost: %b\r\n\r\n" % (version, host)])
        for status, version, hosts in (
            (
                200,
                b"1.1",
                (
                    b"",
                    b"a_b.example",
                    b"A.EXAMPLE:8000",
                    b"192.0.2.1:80",
                    b"[2001:db8::1]:443",
                    b"a%20b",
                    b"a:",
                    b"a \t",
                    b"[fe80::1%25eth0]",
                ),
            ),
            (
                400,
                b"1.1",
                (
                    b"a, b",
                    b"a b",
                    b"a\tb",
                    b"a/b",
                    b"me@a",
                    b"a#b",
                    b"a?b",
                    b"a\\b",
                    b"\xff",
                    b"[::1",
                    b"a:b",
                    b"a:1:2",
                ),
            ),
            (400, b"1.0", (b"a,\tb",)),
        )
        for host in hosts
    },
    "a length of many zeros": (400, [LENGTH + 3_900 * b"0" + b"5\r\n\r\nabcde"]),
    "a length of twenty digits": (400, [LENGTH + 19 * b"0" + b"5\r\n\r\nabcde"]),
    "a length of nineteen digits": (200, [LENGTH + 18 * b"0" + b"5\r\n\r\nabcde"]),
    "a length of another script": (400, [LENGTH + "²".encode("latin-1") + b"\r\n\r\nab"]),
}
"""Heads in chunks, with the status of the answer."""


@pytest.mark.parametrize("name", HEADS)
async def test_head_is_bounded_while_it_arrives(url: str, name: str) -> None:
    status, chunks = HEADS[name]
    assert await status_of(url, *chunks) == status


def test_each_limit_comes_from_its_setting() -> None:
    chosen: dict[str, Any] = {
        "head_seconds": 3.0,
        "body_seconds": 4.0,
        "response_seconds": 5.0,
        "max_address_connections": 6,
        "max_connections": 7,
        "trusted_proxies": ["192.0.2.0/24"],
        "head_bytes": 8_192,
        "head_lines": 33,
        "head_line_bytes": 4_096,
    }
    limits = HttpLimits.from_settings(Settings(_env_file=None, **chosen))
    assert limits == HttpLimits(
        head_seconds=3.0,
        body_seconds=4.0,
        response_seconds=5.0,
        max_address_connections=6,
        max_connections=7,
        trusted_proxies=(ip_network("192.0.2.0/24"),),
        head=HeadLimits(max_bytes=8_192, max_lines=33, max_line_bytes=4_096),
    )
    assert HttpLimits.from_settings(Settings(_env_file=None)).head == HeadLimits()


SINGLE_BYTES: dict[str, tuple[int, bytes, int]] = {
    "a body of a length": (400, LENGTH + b"9000\r\n\r\n", 6_000),
    "one chunk": (400, CHUNKED + b"ffff\r\n", 6_000),
    "a head": (400, START + b"a: ", 6_000),
    "a body of a small device": (200, LENGTH + b"2000\r\n\r\n", 2_000),
}
"""Requests whose last bytes arrive one by one."""


@pytest.mark.parametrize("name", SINGLE_BYTES)
def test_pieces_of_a_request_are_bounded(name: str) -> None:
    status, start, count = SINGLE_BYTES[name]
    answers = answers_of(start, *(count * [b"a"]))
    assert answers is not None
    assert answers[1] == [status]


def test_chunks_of_a_read_take_linear_time() -> None:
    def read(chunks: bytes) -> None:
        assert answers_of(CHUNKED + chunks + b"0\r\n\r\n") is not None

    check_linear(read, lambda count: count * (b"20\r\n" + 32 * b"a" + b"\r\n"), 1_500)
