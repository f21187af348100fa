"""HTTP connections on real sockets: slow heads and bodies, unread bodies, trailers, idle and too many connections."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_network
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.typing import Subprotocol

from tests.support.schema import bring_up
from tests.support.servers import running_server, serving
from tests.support.waiting import until
from wattgate.app.server.edge.connection_guard import ConnectionGuard, HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedHttpProtocol
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.rate_limit.address_limits import NETWORK_FACTOR

SHORT = HttpLimits(head_seconds=0.3, body_seconds=0.3)
PATIENCE_SECONDS = 60
"""The time after which a connection counts as never closed. The limits of the tests are far below it."""

BY_HAND = HttpLimits(body_seconds=3600, min_body_bytes_per_second=1)
"""Limits whose windows a test ends. Each window of a body must bring 3,600 bytes."""

HEAD = b"POST /read HTTP/1.1\r\nHost: gateway\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
HANDSHAKE = (
    b"GET /read HTTP/1.1\r\nHost: gateway\r\n%bSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" % UPGRADE
)
"""A handshake without the blank line at its end."""


async def read_body(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def ignore_body(request: Request) -> Response:
    return PlainTextResponse("done")


async def name_token(request: Request) -> Response:
    await request.body()
    return PlainTextResponse(f"token: {request.headers.get('token')}")


async def wait_before_answer(request: Request) -> Response:
    await asyncio.sleep(4 * SHORT.head_seconds)
    return PlainTextResponse("late")


APP = Starlette(
    routes=[
        Route("/read", read_body, methods=["GET", "POST"]),
        Route("/token", name_token, methods=["POST"]),
        Route("/ignore", ignore_body, methods=["GET", "POST"]),
        Route("/slow", wait_before_answer),
    ]
)


@asynccontextmanager
async def connection(sent: bytes = b"") -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection to a server with short limits, on which these bytes arrive with the connection.

    So the server reads them before a limit passes, also if a busy machine lets this process wait for longer.
    """
    async with serving(APP, limits=SHORT) as url:
        opened = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        opened.sendall(sent)
        reader, writer = await asyncio.open_connection(sock=opened)
        try:
            yield reader, writer
        finally:
            writer.close()


async def read_until_closed(reader: asyncio.StreamReader) -> bytes:
    """Return what the server sends until it closes or resets the connection. Fail if it does neither."""
    received = bytearray()
    async with asyncio.timeout(PATIENCE_SECONDS):
        with suppress(ConnectionResetError):  # `read()` without a size would lose what came before a reset
            while chunk := await reader.read(65_536):
                received += chunk
    return bytes(received)


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        pytest.param(b"POST /re", "head", id="half a request line"),
        pytest.param(HEAD + b"X-One: 1\r\n", "head", id="half the headers"),
        pytest.param(HEAD + b"Content-Length: 10\r\n\r\n", "body", id="headers without the body"),
        pytest.param(HEAD + b"Content-Length: 10\r\n\r\n12345", "body", id="half the body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", "body", id="half the chunks"),
        pytest.param(HEAD + UPGRADE + b"Content-Length: 10\r\n\r\n", "body", id="upgrade by POST without the body"),
        pytest.param(HANDSHAKE + b"Content-Length: 10\r\n\r\n12345", "body", id="handshake with half a body"),
        pytest.param(HANDSHAKE + b"Transfer-Encoding: chunked\r\n\r\n5\r\n", "body", id="handshake with half a chunk"),
    ],
)
async def test_unfinished_request_gets_408_and_is_closed(sent: bytes, part: str) -> None:
    async with connection(sent) as (reader, _):
        answer = await read_until_closed(reader)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"The %s of the request arrived too slowly." % part.encode() in answer
    assert b'"code":"TIMED_OUT"' in answer


async def test_connection_without_a_byte_is_closed() -> None:
    async with connection() as (reader, _):
        assert await read_until_closed(reader) == b""


async def trickle(writer: asyncio.StreamWriter, piece: bytes) -> None:
    """Send a piece again and again until the connection ends."""
    try:
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)
    except ConnectionError:
        return


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        pytest.param(HEAD, b"X-More: 1\r\n", id="endless headers"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", id="endless small chunks"),
        pytest.param(b"\r\n", b"\r\n", id="endless blank lines"),
    ],
)
async def test_trickle_is_closed(head: bytes, piece: bytes) -> None:
    async with connection(head) as (reader, writer):
        task = asyncio.create_task(trickle(writer, piece))
        await read_until_closed(reader)
        task.cancel()


@pytest.mark.long("waits for windows of time; unfinished and slow requests stay in the short form")
async def test_endless_body_that_nobody_reads_is_closed() -> None:
    head = b"POST /ignore HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connection(head) as (reader, writer):
        task = asyncio.create_task(trickle(writer, b"3e8\r\n" + b"x" * 1000 + b"\r\n"))
        answer = await read_until_closed(reader)
        task.cancel()
    assert answer.startswith(b"HTTP/1.1 200 ")


def end_window(protocol: GuardedHttpProtocol) -> None:
    """Let the window of a body pass, and run the timer of the connection."""
    protocol._deadline = asyncio.get_running_loop().time()
    protocol._on_timer()


@pytest.mark.parametrize("last_bytes", [3600, 3599])
async def test_body_with_progress_may_take_longer_than_a_window(last_bytes: int) -> None:
    async with running_server(APP, limits=BY_HAND) as (url, server):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(HEAD + b"Content-Length: 40000\r\nConnection: close\r\n\r\n")
        await until(lambda: bool(server.server_state.connections))
        (protocol,) = server.server_state.connections
        assert isinstance(protocol, GuardedHttpProtocol)
        for size in [*[3600] * 9, last_bytes]:
            writer.write(b"x" * size)
            await until(lambda size=size: protocol._window_bytes == size)  # type: ignore[misc]
            end_window(protocol)
        writer.write(b"x" * (40_000 - 9 * 3600 - last_bytes))
        answer = await read_until_closed(reader)
        writer.close()
    if last_bytes == 3600:
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"40000")
    else:
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_next_request_on_a_connection_has_a_limit_too() -> None:
    async with connection(b"GET /ignore HTTP/1.1\r\nHost: gateway\r\n\r\n") as (reader, writer):
        assert b"200 OK" in await reader.readuntil(b"done")
        writer.write(b"GET /ign")
        assert (await read_until_closed(reader)).startswith(b"HTTP/1.1 408 ")


async def test_slow_answer_is_not_cut() -> None:
    async with connection(b"GET /slow HTTP/1.1\r\nHost: gateway\r\n\r\nGET /sl") as (reader, _):
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b"200 OK" in await reader.readuntil(b"late")
        assert (await read_until_closed(reader)).startswith(b"HTTP/1.1 408 ")


async def test_connections_of_an_address_are_bounded() -> None:
    async with serving(APP, limits=HttpLimits(max_address_connections=2)) as url:
        port = int(url.rpartition(":")[2])
        first = await asyncio.open_connection("127.0.0.1", port)
        second = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = await read_until_closed(reader)
        writer.close()
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"retry-after: 10\r\n" in answer
        assert b'"code":"RATE_LIMITED"' in answer
        assert b'"retryAfter":10' in answer
        first[1].write(b"GET /ignore HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
        assert (await read_until_closed(first[0])).startswith(b"HTTP/1.1 200 ")
        first[1].close()
        again = await answered(port)
        second[1].close()
    assert again.startswith(b"HTTP/1.1 200 ")


def test_connections_of_an_ipv6_network_and_of_its_site_are_bounded() -> None:
    """A site can have 65,536 networks, so that a bound for each network alone would leave it all connections."""
    guard = ConnectionGuard(HttpLimits(max_address_connections=2))
    opened = [asyncio.Transport(extra={"peername": (f"2001:db8:1:{n // 3}::{n}", 0, 0, 0)}) for n in range(30)]
    admitted = [number for number, transport in enumerate(opened) if guard.admit(transport)]
    assert admitted == [number for number in range(3 * NETWORK_FACTOR) if number % 3 < 2]
    assert guard.admit(asyncio.Transport(extra={"peername": ("2001:db8:2:0::1", 0, 0, 0)}))
    for number in admitted:
        guard.release(opened[number])
    assert guard.admit(opened[-1])
    assert guard.count == 2


async def answered(port: int, path: str = "/ignore") -> bytes:
    """Return the answer on a new connection. Repeat while the server has not noticed yet that another one is closed."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET %s HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n" % path.encode())
            answer = await read_until_closed(reader)
            writer.close()
            if answer.startswith(b"HTTP/1.1 200 "):
                return answer
            await asyncio.sleep(0.01)


async def test_all_connections_are_bounded_for_trusted_proxies_too() -> None:
    trusted = (ip_network("127.0.0.0/8"),)
    limits = HttpLimits(max_address_connections=1, max_connections=2, trusted_proxies=trusted)
    async with serving(APP, limits=limits) as url:
        port = int(url.rpartition(":")[2])
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await read_until_closed(reader)).startswith(b"HTTP/1.1 429 ")
        for _, open_writer in [*opened, (reader, writer)]:
            open_writer.close()


async def test_websockets_count_until_they_are_closed(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'wattgate.sqlite3'}")
    app = create_app(settings)
    await bring_up(app.state.gateway.database)
    async with serving(app, limits=HttpLimits(max_connections=1)) as url:
        port = int(url.rpartition(":")[2])
        opened = connect(f"ws://127.0.0.1:{port}/graphql", subprotocols=[Subprotocol("graphql-transport-ws")])
        async with opened:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert (await read_until_closed(reader)).startswith(b"HTTP/1.1 429 ")
            writer.close()
        assert (await answered(port, "/healthz")).startswith(b"HTTP/1.1 200 ")


async def opened_socket(address: str) -> ClientConnection:
    """Open a WebSocket. Repeat while a busy machine sends the handshake later than the limit of its head."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(InvalidMessage, ConnectionClosed, OSError):
                return await connect(address, subprotocols=[Subprotocol("graphql-transport-ws")])


@pytest.mark.long("waits for windows of time; unfinished and slow requests stay in the short form")
async def test_open_websocket_has_no_limit_of_requests(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'wattgate.sqlite3'}")
    app = create_app(settings)
    await bring_up(app.state.gateway.database)
    async with serving(app, limits=SHORT) as url:
        address = url.replace("http", "ws", 1).partition("/api")[0] + "/graphql"
        async with await opened_socket(address) as websocket:
            await asyncio.sleep(4 * SHORT.head_seconds)
            await asyncio.wait_for(await websocket.ping(), PATIENCE_SECONDS)


@pytest.mark.parametrize("options", [b"Connection: close", b"Connection: close, upgrade\r\nUpgrade: h2c"])
async def test_trailers_of_a_body_are_no_headers(options: bytes) -> None:
    """A proxy that removes or sets the headers of credentials may not read trailers."""
    head = b"POST /token HTTP/1.1\r\nHost: gateway\r\n" + options + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connection(head + b"2\r\n{}\r\n0\r\nToken: smuggled\r\n\r\n") as (reader, _):
        assert (await read_until_closed(reader)).endswith(b"token: None")
