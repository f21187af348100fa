"""Requests that arrive before the responses to those before them: their number, their order, and unread responses."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.framing import HOST
from tests.support.schema import bring_up
from tests.support.servers import running_server, serving
from tests.support.waiting import until
from wattgate.app.server.edge.connection_guard import HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedHttpProtocol
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings

PATIENCE_SECONDS = 60

MAX_WAITING = 16
"""The bound of `pipelined_requests`, written again: a greater one is a decision."""

LAST = b"GET /named/last HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


class Served:
    """A connection to a server whose requests wait until the test opens the gate."""

    def __init__(self) -> None:
        self.gate, self.has_begun = asyncio.Event(), asyncio.Event()
        self.begun: list[str] = []
        self.begun_while_unread = 0
        self.app = Starlette(
            routes=[
                Route("/named/{name}", self.name, methods=["GET", "POST"]),
                Route("/large", self.answer_at_length),
                Route("/huge", self.answer_at_once),
                Route("/endless", self.answer_without_end),
                Route("/broken", self.break_off),
            ]
        )
        self.server: uvicorn.Server
        self.protocol: GuardedHttpProtocol
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def name(self, request: Request) -> Response:
        self.begun.append(request.path_params["name"])
        self.has_begun.set()
        await self.gate.wait()
        return PlainTextResponse(f"<{request.path_params['name']}>")

    async def answer_at_length(self, request: Request) -> Response:
        self.begun_while_unread += self.protocol.flow.write_paused
        self.begun.append("large")
        return PlainTextResponse("x" * 20_000)

    async def answer_at_once(self, request: Request) -> Response:
        return Response(bytes(20_000_000))

    async def answer_without_end(self, request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield bytes(20_000)
                await asyncio.sleep(0)  # it ends when it learns that the client has gone

        return StreamingResponse(pieces())

    async def break_off(self, request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            self.protocol.transport.set_write_buffer_limits(2**30)  # no piece waits for the client
            yield bytes(20_000_000)
            raise ConnectionError("the application fails in the middle of its response")

        return StreamingResponse(pieces())

    def end_window(self) -> None:
        """End the window in which the client must read."""
        self.protocol._unread_deadline = asyncio.get_running_loop().time()
        if self.protocol._unread_timer is not None:
            self.protocol._unread_timer.cancel()
        self.protocol._on_unread_timer()

    async def rest(self) -> bytes:
        """Return what arrives until the server closes the connection."""
        return await asyncio.wait_for(self.reader.read(-1), PATIENCE_SECONDS)


@asynccontextmanager
async def connection(limits: HttpLimits | None = None) -> AsyncIterator[Served]:
    served = Served()
    async with running_server(served.app, limits=limits or HttpLimits()) as (url, server):
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        opened.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        served.reader, served.writer = await asyncio.open_connection(sock=opened, limit=4_096)
        await until(lambda: bool(server.server_state.connections))
        (protocol,) = server.server_state.connections
        assert isinstance(protocol, GuardedHttpProtocol)
        served.protocol, served.server = protocol, server
        try:
            yield served
        finally:
            served.gate.set()
            served.writer.transport.abort()


def get(name: str, fields: bytes = b"") -> bytes:
    return b"GET /named/%b HTTP/1.1\r\n" % name.encode() + HOST + fields + b"\r\n"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(b"", id="plain"),
        pytest.param(b"Connection: Upgrade\r\nUpgrade: h2c\r\n", id="with an upgrade that is ignored"),
        pytest.param(b"Content-Length: 4\r\n\r\n\r\n", id="with blank lines as a body"),
    ],
)
async def test_few_requests_are_parsed_ahead_and_all_are_answered_in_order(fields: bytes) -> None:
    names = [str(number) for number in range(2_500)]
    async with connection() as served:
        served.writer.write(b"".join(get(name, fields) for name in names) + LAST)
        await asyncio.wait_for(served.has_begun.wait(), PATIENCE_SECONDS)
        waiting, is_held = len(served.protocol.pipeline), served.protocol.flow.read_paused
        served.gate.set()
        answers = await served.rest()
    assert waiting <= MAX_WAITING
    assert is_held
    bodies = [part.partition(b">")[0].decode() for part in answers.split(b"<")[1:]]
    assert bodies == [*names, "last"]


async def test_no_request_begins_while_responses_are_unread() -> None:
    async with connection() as served:
        served.writer.write(b"GET /large HTTP/1.1\r\n%b\r\n" % HOST * 400 + LAST)
        served.gate.set()
        await until(lambda: served.protocol.flow.write_paused)
        assert len(served.begun) < 400
        answers = await served.rest()
    assert served.begun_while_unread == 0
    assert answers.count(b"HTTP/1.1 200 ") == 401
    assert answers.endswith(b"<last>")


CLOSE = b"Connection: close\r\n"

LARGE = b"GET /large HTTP/1.1\r\n%b\r\n" % HOST
ENDLESS = b"GET /endless HTTP/1.1\r\n%b\r\n" % HOST

UNREAD = {
    "responses before further requests": LARGE * 400 + LAST,
    "a response in progress": ENDLESS,
    "a response in progress, and an unfinished request": ENDLESS + b"GET /named/n",
    "the response before a close": b"GET /huge HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n",
}


@pytest.mark.parametrize("name", UNREAD)
async def test_client_that_reads_nothing_is_cut_and_one_that_reads_goes_on(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Windows pass by hand. The first one has progress, the second one has none."""
    async with connection(HttpLimits(response_seconds=3_600, min_body_bytes_per_second=1)) as served:
        served.writer.write(UNREAD[name])
        served.gate.set()
        await until(lambda: served.protocol._unread_deadline is not None and served.protocol.flow.write_paused)
        served.protocol._unsent_bytes += 3_600  # as if so many more bytes had waited at the begin of the window
        served.end_window()
        assert served.protocol._unread_deadline is not None
        assert not served.protocol.transport.is_closing() or name == "the response before a close"
        with caplog.at_level(logging.INFO, "wattgate"):
            served.end_window()
        await until(lambda: not served.server.server_state.connections)
        await until(lambda: not served.server.server_state.tasks)  # the application does not wait any more
    (record,) = [record for record in caplog.records if "does not read" in record.getMessage()]
    assert record.__dict__["client_address"] == "127.0.0.1"


async def test_connection_that_ends_after_its_idle_time_does_not_wait_for_a_client() -> None:
    """Its response is small, so that no application waits for the client."""
    async with connection(HttpLimits(response_seconds=3_600)) as served:
        served.writer.write(b"GET /huge HTTP/1.1\r\n%b\r\n" % HOST)
        served.gate.set()
        await until(lambda: served.protocol.timeout_keep_alive_task is not None)
        served.protocol.flow.resume_writing()
        served.protocol._unread_deadline = None  # as after a response below the mark above which writing pauses
        served.protocol.timeout_keep_alive_handler()
        assert served.protocol._unread_deadline is not None
        served.end_window()
        await until(lambda: not served.server.server_state.connections)


async def test_response_that_breaks_off_does_not_wait_for_a_client(caplog: pytest.LogCaptureFixture) -> None:
    """uvicorn closes the connection, but its last bytes would wait without end."""
    async with connection(HttpLimits(response_seconds=3_600)) as served:
        with caplog.at_level(logging.CRITICAL, "uvicorn.error"):
            served.writer.write(b"GET /broken HTTP/1.1\r\n%b\r\n" % HOST)
            await until(lambda: served.protocol.transport.is_closing() and not served.server.server_state.tasks)
        assert served.protocol._unread_deadline is not None
        served.end_window()
        await until(lambda: not served.server.server_state.connections)


async def test_client_that_reads_at_last_gets_the_whole_response() -> None:
    async with connection() as served:
        served.writer.write(LARGE * 400 + LAST)
        served.gate.set()
        await until(lambda: served.protocol._is_stalled)
        assert (await served.rest()).endswith(b"<last>")
        assert served.protocol._unread_deadline is None
        assert served.protocol._unread_timer is None


async def test_lost_connection_ends_the_request_in_progress_too(caplog: pytest.LogCaptureFixture) -> None:
    """The request in progress is not the last one that is parsed."""
    async with connection() as served:
        served.writer.write(get("first") + get("second"))
        await asyncio.wait_for(served.has_begun.wait(), PATIENCE_SECONDS)
        task = served.protocol._running
        served.protocol.transport.abort()
        await until(lambda: served.protocol.parser is None)
        assert task is not None
        assert task.disconnected
        served.gate.set()
        await until(lambda: not served.protocol.tasks)
    assert served.begun == ["first"]
    assert "Exception in ASGI application" not in caplog.text


CHUNKED = b"POST /named/bad HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    "a malformed line": b"GET /a HTTP/1.1\r\nnonsense\r\n\r\n",
    "a malformed chunk": CHUNKED + b"nonsense\r\n",
    "a malformed chunk after a chunk": CHUNKED + b"1\r\na\r\nnonsense\r\n",
    "an address without a path": b"GET http://gateway HTTP/1.1\r\n" + HOST + b"\r\n",
    "an address with a wrong port": b"GET http://gateway:99999/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "a length with many zeros": b"POST /named/bad HTTP/1.1\r\n%bContent-Length: %b5\r\n\r\nabcde"
    % (HOST, b"0" * 4_400),
    "a length with twenty digits": b"POST /named/bad HTTP/1.1\r\n%bContent-Length: %b\r\n\r\n" % (HOST, b"1" * 20),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("before", [0, 1, 2])
async def test_refusal_comes_in_its_turn(name: str, before: int) -> None:
    """Requests before a malformed one are answered first, and the malformed one is not executed."""
    async with connection() as served:
        served.writer.write(b"".join(get(str(number)) for number in range(before)) + REFUSED[name] + get("after"))
        if before:
            await asyncio.wait_for(served.has_begun.wait(), PATIENCE_SECONDS)
        served.gate.set()
        answers = await served.rest()
    statuses = [int(part[1:4]) for part in answers.split(b"HTTP/1.1")[1:]]
    assert statuses == [*(200 for _ in range(before)), 400]
    assert [begun for begun in served.begun if begun != "bad"] == [str(number) for number in range(before)]


async def test_slow_body_of_a_waiting_request_is_not_answered_before_its_turn() -> None:
    async with connection() as served:
        served.writer.write(get("first") + b"POST /named/second HTTP/1.1\r\n%bContent-Length: 9\r\n\r\nabc" % HOST)
        await asyncio.wait_for(served.has_begun.wait(), PATIENCE_SECONDS)
        served.protocol.flow.resume_reading()  # as an application that asks for its body
        served.protocol._window_bytes, served.protocol._deadline = 0, asyncio.get_running_loop().time()
        served.protocol._on_timer()
        served.gate.set()
        assert b"200 OK" in await asyncio.wait_for(served.reader.readuntil(b"<first>"), PATIENCE_SECONDS)


HANDSHAKE = (
    b"GET /graphql HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n"
)
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
QUERY = b'{"query":"{__typename}"}'
GRAPHQL = b"POST /graphql HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    HOST,
    len(QUERY),
    QUERY,
)
PING = b"\x89\x80\x00\x00\x00\x00"
"""A ping without content, whose mask is zero."""
PONG = b"\x8a\x00"


async def test_handshake_is_answered_after_the_requests_before_it(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A handshake with two lines of a header takes the way through ASGI."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'wattgate.sqlite3'}")
    app = create_app(settings)
    await bring_up(app.state.gateway.database)
    async with serving(app) as url:
        port = int(url.split(":")[2].partition("/")[0])
        for before in ([], [HEALTH], [HEALTH, HEALTH], [GRAPHQL], [HEALTH, GRAPHQL], 40 * [HEALTH]):
            for fields in (b"", b"X-Any: 1\r\nX-Any: 2\r\n"):
                for cut in (0, 40):
                    with subtests.test(f"{len(before)} {fields!r} {cut}"):
                        stream = b"".join(before) + HANDSHAKE + fields + b"\r\n"
                        split = len(stream) - cut
                        received = await answers_until_pong(port, stream[:split], stream[split:])
                        statuses = [int(part[1:4]) for part in received.split(b"HTTP/1.1")[1:]]
                        assert statuses == [*(200 for _ in before), 101]


async def answers_until_pong(port: int, *parts: bytes) -> bytes:
    """Send a stream with a handshake, and a ping after its answer. Return what arrives until the pong."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(PATIENCE_SECONDS):
            received = await reader.readuntil(b" 101 Switching Protocols\r\n")
            writer.write(PING)
            return received + await reader.readuntil(PONG)
    finally:
        writer.transport.abort()
