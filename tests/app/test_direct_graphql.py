"""Requests for GraphQL that the protocol answers directly: the same bytes as through ASGI."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from tests.support.chance import examples
from tests.support.plain_gateway import (
    FAILING_TOKEN,
    HELD_ANSWERS,
    MAX_BODY_BYTES,
    PEER,
    TOKEN,
    TRACE,
    Connection,
    head_of,
    measured_requests,
    plain_gateway,
    protocol_config,
    repeatable,
)
from wattgate.app.observability.http_metrics import KNOWN_METHODS
from wattgate.app.server.edge.connection_guard import ConnectionGuard, HttpLimits
from wattgate.app.server.edge.direct_graphql import MAX_CACHED_FRAMES
from wattgate.app.server.edge.serving import KEEP_ALIVE_SECONDS
from wattgate.graphql.transport.http import LARGE_BODY_BYTES

Header = tuple[str, str]

CIRCUMSTANCES = b'{"query":"{ circumstances }"}'
HOST_HEADER = ("Host", "gateway.example")
JSON_HEADER = ("content-type", "application/json")
PROXY = ("192.0.2.1", 40_000)
"""A peer that is a trusted proxy."""

BODIES = (
    CIRCUMSTANCES,
    b'{"query":"{ __typename }"}',
    b'{"query":"{ missing }"}',
    b'{"query":"mutation { remember { ... on Device { name } } }"}',
    b'{"query":"subscription { never }"}',
    b'{"query":"{ unknown }"}',
    b'{"query":"query ($t: String!) { echo(text: $t, times: 900) }","variables":{"t":"abc"}}',
    b'{"query":"query ($t: String!) { echo(text: $t) }","variables":{}}',
    b'{"query":"{ circumstances }","extensions":{"dryRun":true}}',
    b'{"query":"{ echo(text: \\"' + b"a" * MAX_BODY_BYTES + b'\\") }"}',
    b'[{"query":"{ circumstances }"}]',
    b'{"query":',
    b"",
)
HEADERS: tuple[Header, ...] = (
    ("Accept", "application/graphql-response+json"),
    ("Accept", "text/html"),
    ("Accept", "text/event-stream;q=0.1, application/json"),
    ("Accept-Encoding", "gzip"),
    ("Token", TOKEN),
    ("Token", "wrong"),
    ("Token", FAILING_TOKEN),
    ("Authorization", f"Bearer {TOKEN}"),
    ("Authorization", "Own credentials"),
    ("ApplicationId", "other"),
    ("UserId", "one"),
    ("Origin", "https://page.example"),
    ("Origin", "http://gateway.example"),
    ("Cookie", "wattgate_device=old-device"),
    ("Traceparent", f"00-{TRACE}-b7ad6b7169203331-01"),
    ("X-Access-Purpose", "billing"),
    ("X-Forwarded-For", "203.0.113.9, 192.0.2.8"),
    ("X-Forwarded-Proto", "https"),
    ("Connection", "close"),
    ("Connection", "keep-alive"),
    ("Connection", "upgrade"),
    ("Upgrade", "h2c"),
    ("Expect", "100-continue"),
    ("X-Odd", "\x80\xff"),
)
TARGETS = ("/graphql",) * 12 + (
    "/graphql/",
    "//graphql",
    "/graphql?a=1",
    "/graph%71l",
    "http://a.example/graphql",
    "/no",
)
METHODS = ("POST",) * 12 + ("GET", "DELETE", "HEAD", "OPTIONS", "PROPFIND")


@dataclass(frozen=True)
class Sent:
    """The pieces that a client sends, each with whether the gateway settles before the next one arrives."""

    pieces: tuple[tuple[bytes, bool], ...]
    peer: tuple[str, int] = PEER


@dataclass(frozen=True)
class Answered:
    """The answers that a client gets, and the number of answered requests."""

    answers: bytes
    is_closed: bool
    total_requests: int


def chunks_of(body: bytes, size: int, trailer: bytes) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Draw a request: usually plain, sometimes odd, sometimes malformed."""
    headers: list[Header] = [("Host", "gateway.example")]
    headers.append(draw(st.sampled_from((JSON_HEADER,) * 6 + (("Content-Type", "text/plain"),))))
    headers += draw(st.lists(st.sampled_from(HEADERS), max_size=3))
    body = draw(st.one_of(st.sampled_from(BODIES), st.binary(max_size=40)))
    match draw(
        st.sampled_from(("exact",) * 10 + ("chunked", "chunked", "long", "short", "none", "twice", "both", "odd"))
    ):
        case "exact":
            headers.append(("Content-Length", str(len(body))))
        case "chunked":
            headers.append(("Transfer-Encoding", "chunked"))
            trailer = draw(st.sampled_from((b"", b"Token: known\r\n", b"Origin: https://page.example\r\n")))
            body = chunks_of(body, draw(st.integers(1, 50)), trailer)
        case "long":
            headers.append(("Content-Length", str(len(body) + draw(st.integers(1, 2 * MAX_BODY_BYTES)))))
        case "short":
            headers.append(("Content-Length", str(max(0, len(body) - draw(st.integers(1, 20))))))
        case "twice":
            headers += [("Content-Length", str(len(body)))] * 2
        case "both":
            headers += [("Content-Length", str(len(body))), ("Transfer-Encoding", "chunked")]
        case "odd":
            headers.append(("Content-Length", draw(st.sampled_from(("+5", "0x5", "-1", "5 5", "")))))
        case _:
            pass
    head = head_of(draw(st.sampled_from(TARGETS)), draw(st.sampled_from(METHODS)), draw(st.permutations(headers)))
    if draw(st.integers(0, 9)) == 0:
        head = head.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(head) - 1))
        head = head[:place] + draw(st.binary(max_size=2)) + head[place + 1 :]
    return head + body


@st.composite
def conversations(draw: st.DrawFn) -> Sent:
    """Draw requests on one connection, split anywhere."""
    sent = b"".join(draw(st.lists(requests(), min_size=1, max_size=4)))
    cuts = sorted(draw(st.sets(st.integers(1, len(sent) - 1), max_size=6)))
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    return Sent(tuple((piece, draw(st.booleans())) for piece in pieces), draw(st.sampled_from((PEER, PROXY))))


async def answers_to(app: Any, sent: Sent, *, is_direct: bool) -> Answered:
    """Return the answers to a client that sends this, and then closes its half of the connection."""
    connection = Connection(protocol_config(app, is_direct=is_direct), sent.peer)
    for piece, settles in sent.pieces:
        if connection.wire.is_closing():
            break
        connection.protocol.data_received(piece)
        if settles:
            await connection.settle()
    await connection.settle()
    is_closed = connection.wire.is_closing()
    await connection.close()
    answers = repeatable(bytes(connection.wire.written))
    return Answered(answers, is_closed, connection.state.total_requests)


plain_app = cache(plain_gateway)
"""The gateway of all tests of this module."""


def plain(body: bytes = CIRCUMSTANCES, *more: Header) -> bytes:
    """Return a plain request."""
    return head_of(headers=[("host", "gateway.example"), JSON_HEADER, ("content-length", str(len(body))), *more]) + body


@settings(max_examples=examples(250))
@given(sent=conversations())
@example(sent=Sent(((plain() * 3, False),)))
@example(sent=Sent(((plain(CIRCUMSTANCES, ("Token", "wrong"))[:-5], True), (b'le }"}', True), (plain(), True))))
async def test_protocol_answers_as_through_the_middleware(sent: Sent) -> None:
    direct = await answers_to(plain_app(), sent, is_direct=True)
    assert direct == await answers_to(plain_app(), sent, is_direct=False)


@pytest.mark.parametrize("peer", [PEER, PROXY])
async def test_each_header_and_body_has_the_same_effect(peer: tuple[str, int]) -> None:
    for body in BODIES:
        for header in HEADERS:
            sent = Sent(((plain(body, header), True), (plain(), True)), peer)
            assert await answers_to(plain_app(), sent, is_direct=True) == await answers_to(
                plain_app(), sent, is_direct=False
            ), header


async def stock_only(scope: Scope, receive: Receive, send: Send) -> None:
    """Say that a request came through ASGI."""
    await send({"type": "http.response.start", "status": 418, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


class Recognizable:
    """The gateway's direct way, in front of an application that only says that it was called."""

    def __init__(self, app: Starlette) -> None:
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await stock_only(scope, receive, send)


async def status_of(*pieces: bytes, peer: tuple[str, int] = PEER) -> bytes:
    connection = Connection(protocol_config(Recognizable(plain_app()), is_direct=True), peer)
    answer = await connection.send(*pieces)
    await connection.close()
    return answer[9:12]


@pytest.mark.parametrize("peer", [PEER, PROXY])
@pytest.mark.parametrize(
    "more",
    [
        (),
        (("Token", TOKEN),),
        (("Accept", "application/graphql-response+json, application/json;q=0.9"),),
        (("Accept", "*/*"), ("Accept-Encoding", "gzip, br"), ("User-Agent", "app"), ("Connection", "keep-alive")),
        (("Origin", "https://page.example"), ("Cookie", "a=b"), ("X-Forwarded-For", "203.0.113.9")),
        (("Expect", "100-continue"),),
    ],
)
async def test_plain_request_is_answered_directly(more: Sequence[Header], peer: tuple[str, int]) -> None:
    assert await status_of(plain(CIRCUMSTANCES, *more), peer=peer) in (b"200", b"100")


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(plain().replace(b"/graphql", b"/graphql/", 1), id="another path"),
        pytest.param(plain().replace(b"/graphql", b"/graphql?token=a", 1), id="parameters"),
        pytest.param(plain().replace(b"/graphql", b"http://a.example/graphql", 1), id="address of a proxy"),
        *(
            pytest.param(plain().replace(b"POST", method.encode(), 1), id=method)
            for method in sorted(KNOWN_METHODS - {"POST"})
        ),
        pytest.param(plain().replace(b"HTTP/1.1", b"HTTP/1.0", 1), id="HTTP 1.0"),
        pytest.param(plain(CIRCUMSTANCES, ("Accept", "text/event-stream")), id="event stream"),
        pytest.param(plain(CIRCUMSTANCES, ("X-GraphQL-Event-Stream-Token", "a")), id="operation of an event stream"),
        pytest.param(plain(CIRCUMSTANCES, ("Accept", "*/*"), ("Accept", "*/*")), id="a header twice"),
        pytest.param(plain(CIRCUMSTANCES, ("Connection", "upgrade"), ("Upgrade", "h2c")), id="upgrade"),
        pytest.param(plain(CIRCUMSTANCES, ("Origin", "https://" + "a" * 300)), id="long origin"),
        pytest.param(plain(b"a" * (MAX_BODY_BYTES + 1)), id="long body"),
        pytest.param(head_of(headers=[HOST_HEADER, JSON_HEADER]), id="no body"),
        pytest.param(
            head_of(headers=[HOST_HEADER, JSON_HEADER, ("Transfer-Encoding", "chunked")])
            + chunks_of(CIRCUMSTANCES, 9, b""),
            id="chunks",
        ),
    ],
)
async def test_other_request_goes_through_the_middleware(request_: bytes) -> None:
    assert await status_of(request_) == b"418"


async def test_body_with_a_length_in_chunks_is_refused_by_the_parser() -> None:
    for encoding in ("chunked", "identity", "gzip"):
        head = head_of(headers=[JSON_HEADER, ("Content-Length", "29"), ("Transfer-Encoding", encoding)])
        assert await status_of(head + CIRCUMSTANCES) == b"400"


@pytest.mark.parametrize("is_split", [False, True])
async def test_trailers_of_a_body_are_no_headers(is_split: bool) -> None:
    """A proxy that removes or sets the headers of credentials may not read trailers."""
    head = head_of(headers=[("Host", "gateway.example"), JSON_HEADER, ("Transfer-Encoding", "chunked")])
    body = chunks_of(CIRCUMSTANCES, 50, f"Token: {TOKEN}\r\n".encode())
    pieces = ((head, True), (body, True)) if is_split else ((head + body, True),)
    answered = await answers_to(plain_app(), Sent(pieces), is_direct=True)
    assert b"200 OK" in answered.answers
    assert b"Role.ANONYMOUS" in answered.answers


async def test_encoded_headers_are_kept_for_a_bounded_number_of_origins() -> None:
    app = plain_gateway(allowed_origins=[f"https://{number}.example" for number in range(3)])
    direct, stock = (Connection(protocol_config(app, is_direct=is_direct)) for is_direct in (True, False))
    for number in [*range(MAX_CACHED_FRAMES + 5), 0, 1, 2, 3]:
        for connection in (direct, stock):
            await connection.send(plain(CIRCUMSTANCES, ("Origin", f"https://{number}.example")))
    assert repeatable(bytes(direct.wire.written)) == repeatable(bytes(stock.wire.written))
    assert bytes(direct.wire.written).count(b"access-control-allow-origin: https://") == 6
    assert len(app.state.direct_graphql._frames) <= MAX_CACHED_FRAMES
    await direct.close()
    await stock.close()


@pytest.mark.parametrize("is_direct", [True, False])
async def test_request_is_measured_with_its_status(is_direct: bool) -> None:
    connection, before = Connection(protocol_config(plain_app(), is_direct=is_direct)), measured_requests()
    await connection.send(plain(), plain(), plain(b"{"), plain(CIRCUMSTANCES, ("Token", FAILING_TOKEN)))
    await connection.close()
    labels = [("POST", "/graphql", status) for status in ("200", "400", "500")]
    assert measured_requests() - before == dict(zip(labels, (2, 1, 1), strict=True))


async def test_answer_is_one_write() -> None:
    connection = Connection(protocol_config(plain_app(), is_direct=True))
    await connection.send(plain())
    assert connection.wire.writes == 1
    await connection.close()


async def test_large_answer_is_written_in_parts_when_the_client_reads() -> None:
    body = b'{"query":"{ echo(text: \\"%b\\", times: 500) }"}' % (b"a" * 2_000)
    answers = []
    for is_direct in (True, False):
        connection = Connection(protocol_config(plain_app(), is_direct=is_direct))
        connection.protocol.pause_writing()
        connection.protocol.data_received(plain(body))
        await connection.proceed()
        assert not connection.wire.written
        connection.protocol.resume_writing()
        await connection.settle()
        assert connection.wire.writes > 1_000_000 // LARGE_BODY_BYTES
        answers.append(repeatable(bytes(connection.wire.written)))
        await connection.close()
    assert len(answers[0]) > 1_000_000
    assert answers[0] == answers[1]


@pytest.fixture
async def held() -> AsyncIterator[asyncio.Event]:
    """The event that lets the operation `held` answer."""
    HELD_ANSWERS["test"] = asyncio.Event()
    yield HELD_ANSWERS["test"]
    del HELD_ANSWERS["test"]


HELD = plain(b'{"query":"{ held(name: \\"test\\") }"}')


async def test_pipelined_requests_are_answered_in_order_one_at_a_time(held: asyncio.Event) -> None:
    connection = Connection(protocol_config(plain_app(), is_direct=True))
    other = head_of("/nothing", "GET", [HOST_HEADER])
    connection.protocol.data_received(HELD)
    await connection.proceed()
    connection.protocol.data_received(plain() + other + plain(b'{"query":"{ missing }"}'))
    await connection.proceed()
    assert not connection.wire.written
    assert connection.protocol.flow.read_paused
    held.set()
    await connection.settle()
    answers = bytes(connection.wire.written)
    places = [answers.index(part) for part in (b'"held":', b'"circumstances":', b" 404 ", b'"missing":')]
    assert places == sorted(places)
    assert not connection.protocol.flow.read_paused
    await connection.close()


async def test_running_request_is_answered_while_the_gateway_drains(held: asyncio.Event) -> None:
    connection = Connection(protocol_config(plain_app(), is_direct=True))
    connection.protocol.data_received(HELD)
    await connection.proceed()
    connection.protocol.shutdown()
    assert connection.state.tasks, "the drain waits for the tasks of the server"
    assert not connection.wire.is_closing()
    held.set()
    await connection.settle()
    assert b"connection: close\r\n" in connection.wire.written
    assert connection.wire.written.endswith(b"}}}")
    assert connection.wire.is_closing()
    await connection.close()


async def test_idle_connection_is_closed_by_the_keep_alive_timer() -> None:
    connection = Connection(protocol_config(plain_app(), is_direct=True))
    await connection.send(plain())
    timer = connection.protocol.timeout_keep_alive_task
    assert timer is not None
    assert timer.when() <= asyncio.get_running_loop().time() + KEEP_ALIVE_SECONDS
    connection.protocol.timeout_keep_alive_handler()
    assert connection.wire.is_closing()
    await connection.close()


@pytest.mark.parametrize("part", [b"", CIRCUMSTANCES[:9]])
async def test_unfinished_body_gets_408_and_is_closed(part: bytes) -> None:
    config = protocol_config(plain_app(), is_direct=True)
    config.guard = ConnectionGuard(HttpLimits(body_seconds=0.01))
    connection = Connection(config)
    await connection.send(plain().removesuffix(CIRCUMSTANCES) + part)
    async with asyncio.timeout(60):
        await connection.wire.closed.wait()
    assert connection.wire.written.startswith(b"HTTP/1.1 408 ")
    await connection.close()


async def test_lost_client_is_not_written_to(held: asyncio.Event) -> None:
    connection = Connection(protocol_config(plain_app(), is_direct=True))
    connection.protocol.data_received(HELD)
    await connection.proceed()
    connection.protocol.connection_lost(ConnectionResetError())
    held.set()
    await connection.settle()
    assert not connection.wire.written
    await connection.close()


async def test_cancelled_request_gets_the_answer_of_the_server(held: asyncio.Event) -> None:
    answers = []
    for is_direct in (True, False):
        connection = Connection(protocol_config(plain_app(), is_direct=is_direct))
        connection.protocol.data_received(HELD)
        await connection.proceed()
        for task in connection.state.tasks:
            task.cancel()
        await connection.settle()
        answers.append(repeatable(bytes(connection.wire.written)))
        await connection.close()
    assert answers[0].startswith(b"HTTP/1.1 500 ")
    assert answers[0] == answers[1]
