"""Streams of HTTP requests, good and malformed, and a strict parser (h11) that says where each request ends."""

import asyncio
import hashlib
import json
import random
import re
import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import h11
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]


async def echo(request: Request) -> Response:
    """Return what arrived: the method, the target, the token and the body."""
    body = await request.body()
    token = ",".join(value.strip() for value in request.headers.getlist("token"))
    return JSONResponse([request.method, request.url.path, token, *fingerprint(body)])


async def name_upgrade(request: Request) -> Response:
    return JSONResponse(", ".join(request.headers.getlist("upgrade")) or None)


async def begin_answer(request: Request) -> Response:
    """Answer with a first part before the body has arrived."""

    async def parts() -> AsyncIterator[bytes]:
        yield b"begin"
        await request.body()
        yield b"end"

    return StreamingResponse(parts())


async def answer_in_parts(request: Request) -> Response:
    """Answer with a body whose length is not known at its begin."""

    async def parts() -> AsyncIterator[bytes]:
        yield b"begin"
        yield b"end"

    return StreamingResponse(parts())


APP = Starlette(
    routes=[
        Route("/parts", answer_in_parts),
        Route("/upgrade", name_upgrade, methods=["GET", "POST"]),
        Route("/stream", begin_answer, methods=["POST"]),
        Route("/{rest:path}", echo, methods=METHODS),
    ]
)


def strictly_parsed(stream: bytes) -> tuple[list[list[Any]], bool]:
    """Return the requests that h11 reads in a stream, and whether it reads the stream to its end."""
    requests: list[list[Any]] = []
    while stream:
        # h11 refuses empty lines before a request, which RFC 9112 (2.2) asks servers to ignore
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=200_000)
        connection.receive_data(stream.lstrip(b"\r\n"))
        try:
            request = next_request(connection)
        except h11.RemoteProtocolError:
            return requests, False
        if request is None:
            return requests, False
        requests.append(request)
        stream = connection.trailing_data[0]
        if connection.their_state is h11.MUST_CLOSE or connection.their_http_version == b"1.0":
            break  # the gateway keeps no connection of HTTP/1.0 alive
    return requests, True


def next_request(connection: h11.Connection) -> list[Any] | None:
    """Return the next request, as the application of these tests echoes it. None if the stream ends before it."""
    request, body = None, b""
    while isinstance(event := connection.next_event(), h11.Event):
        if isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            token = ",".join(value.decode("latin-1") for name, value in request.headers if name == b"token")
            return [request.method.decode(), request.target.decode(), token, *fingerprint(body)]
    return None


def fingerprint(body: bytes) -> tuple[int, str]:
    return len(body), hashlib.sha256(body).hexdigest()[:16]


async def answers_of(url: str, *chunks: bytes, context: ssl.SSLContext | None = None) -> tuple[list[Any], list[int]]:
    """Send a stream, and return the echoes that arrive until the connection is quiet or closed, and all statuses."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, ssl=context)
    try:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        received = await asyncio.wait_for(reader.read(-1), 30)
    finally:
        writer.close()
    return parsed_answers(received)


def parsed_answers(received: bytes) -> tuple[list[Any], list[int]]:
    """Return the echoes and all statuses in the bytes that a client has received."""
    echoes: list[Any] = []
    statuses: list[int] = []
    while received.startswith(b"HTTP/1"):  # a proxy answers HTTP/0.9 without a head
        head, _, received = received.partition(b"\r\n\r\n")
        if (status := int(head.split(b" ")[1])) < 200:
            continue
        statuses.append(status)
        length = CONTENT_LENGTH.search(head)
        size = int(length[1]) if length else len(received)  # a proxy closes after its own errors
        body, received = received[:size], received[size:]
        if JSON_TYPE.search(head) and status == 200:
            try:
                echoes.append(json.loads(body))
            except ValueError:
                raise AssertionError(f"no JSON after the head {head!r}: {body!r}") from None
    return echoes, statuses


JSON_TYPE = re.compile(rb"(?i)\r\ncontent-type: application/json")
CONTENT_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
HOST = b"Host: gateway\r\n"
POST = b"POST /a HTTP/1.1\r\n" + HOST
HANDSHAKE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
NEXT = b"GET /next HTTP/1.1\r\n" + HOST + b"token: next\r\n\r\n"

STREAMS: dict[str, bytes] = {
    "plain": POST + b"Content-Length: 3\r\n\r\nabc" + NEXT,
    "chunked": POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + NEXT,
    **{
        f"upgrade to {protocol.decode()} with {how}": POST
        + b"Connection: %b\r\nUpgrade: %b\r\n%b" % (connection, protocol, body)
        + NEXT
        for protocol in (b"foo", b"h2c", b"websocket", b"websocket, foo", b"TLS/1.0")
        for connection in (b"Upgrade", b"keep-alive, Upgrade")
        for how, body in (
            ("a length", b"Content-Length: 5\r\n\r\nhello"),
            ("chunks", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
            ("an empty body", b"Content-Length: 0\r\n\r\n"),
        )
    },
    "a handshake with a second protocol": b"GET /a HTTP/1.1\r\n" + HOST + HANDSHAKE + b"Upgrade: h2c\r\n\r\n" + NEXT,
    "curl --http2": POST
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    + b"Content-Length: 4\r\n\r\n{} {"
    + NEXT,
    "upgrade without a body": b"GET /a HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: foo\r\n\r\n" + NEXT,
    "a request inside the body": POST
    + b"Connection: Upgrade\r\nUpgrade: foo\r\nContent-Length: %d\r\n\r\n" % len(NEXT)
    + NEXT
    + NEXT,
    "two lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd" + NEXT,
    "a length twice": POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + NEXT,
    "a list of lengths": POST + b"Content-Length: 3, 3\r\n\r\nabc" + NEXT,
    "a length with a sign": POST + b"Content-Length: +3\r\n\r\nabc" + NEXT,
    "a length in hexadecimal": POST + b"Content-Length: 0x3\r\n\r\nabc" + NEXT,
    "a huge length": POST + b"Content-Length: 99999999999999999999999\r\n\r\nabc" + NEXT,
    "a length and chunks": POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + NEXT,
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + NEXT,
    "chunked twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "chunked in quotes": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n' + NEXT,
    "a tab before chunked": POST + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + NEXT,
    "a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + NEXT,
    "a space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "a folded line": POST + b"A: b\r\n Content-Length: 3\r\n\r\n" + NEXT,
    "bare line feeds": POST.replace(b"\r\n", b"\n") + b"Content-Length: 3\n\nabc" + NEXT,
    "a bare carriage return": POST + b"A: b\rContent-Length: 3\r\n\r\n" + NEXT,
    "a null": POST + b"A: b\x00c\r\n\r\n" + NEXT,
    "a chunk size with a sign": POST + b"Transfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n" + NEXT,
    "a chunk size with 0x": POST + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n" + NEXT,
    "a chunk size with a space": POST + b"Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n" + NEXT,
    "a chunk extension": POST + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n" + NEXT,
    "a chunk extension with a line feed": POST + b"Transfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n0\r\n\r\n" + NEXT,
    "a chunk that is too long": POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n" + NEXT,
    "trailers": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\ntoken: thief\r\nContent-Length: 9\r\n\r\n" + NEXT,
    "no host": b"GET /a HTTP/1.1\r\n\r\n" + NEXT,
    "two hosts": b"GET /a HTTP/1.1\r\n" + HOST + HOST + b"\r\n" + NEXT,
    "HTTP/1.0": b"POST /a HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + NEXT,
    "HTTP/1.0 with chunks": b"POST /a HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    "RTSP": b"GET /a RTSP/1.0\r\n" + HOST + b"\r\n" + NEXT,
    "RTSP with the version of HTTP": b"GET /a RTSP/1.1\r\n" + HOST + b"\r\n" + NEXT,
    "a good request before one of RTSP": NEXT + NEXT.replace(b"HTTP/1.1", b"RTSP/1.1"),
    "a body before a request of RTSP": POST + b"Content-Length: 3\r\n\r\nabcGET /a RTSP/1.1\r\n" + HOST + b"\r\n",
    "a body that looks like RTSP": POST + b"Content-Length: 15\r\n\r\nGET /a RTSP/1.1" + NEXT,
    "RTSP without headers": b"OPTIONS * RTSP/1.0\r\n\r\n" + NEXT,
    "HTTP/2.0": b"GET /a HTTP/2.0\r\n" + HOST + b"\r\n" + NEXT,
    "HTTP/1.2": b"GET /a HTTP/1.2\r\n" + HOST + b"\r\n" + NEXT,
    "HTTP/0.9": b"GET /a\r\n\r\n" + NEXT,
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "connect": b"CONNECT gateway:443 HTTP/1.1\r\n" + HOST + b"\r\n" + NEXT,
    "a good request before a bad one": NEXT + b"GET /a HTTP/1.1\r\nnonsense\r\n\r\n",
    "three good requests before a bad one": 3 * NEXT + b"\x00\x01",
    "close": b"GET /a HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n" + NEXT,
    "an empty name": b"GET /a HTTP/1.1\r\n" + HOST + b": x\r\n\r\n" + NEXT,
    "expect": POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc" + NEXT,
}
LAST = b"GET /last HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
"""A request after which the gateway closes the connection, so that a test knows that nothing follows."""


def mutated(chance: random.Random, stream: bytes) -> bytes:
    """Return a stream with one to three changes: a part that is removed, doubled, moved or replaced."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(max(1, len(stream)))
        end = min(len(stream), start + chance.choice((1, 1, 2, 8, 40)))
        part, change = stream[start:end], chance.choice((b"", None, *PIECES))
        stream = stream[:start] + (2 * part if change is None else change) + stream[end:]
    return stream


def check_framing(stream: bytes, echoes: list[Any], statuses: list[int]) -> None:
    """Assert that the gateway has read the same requests, or has refused one after the same requests."""
    expected, is_complete = strictly_parsed(stream)
    refused = statuses[len(echoes) :]
    assert statuses[: len(echoes)] == [200] * len(echoes), statuses
    assert echoes == expected[: len(echoes)], (stream, statuses)
    assert len(refused) == (len(echoes) < len(expected) or not is_complete), (stream, statuses)
    assert set(refused) <= REFUSALS, (stream, statuses)


REFUSALS = {400, 408, 431, 501, 505}

PIECES = (
    *(b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"9", b"\xff", b"chunked", b"HTTP/1.0"),
    *(b"Upgrade: foo\r\n", b"Connection: Upgrade\r\n"),
    *(b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n"),
)
"""Texts that replace a part of a stream."""
