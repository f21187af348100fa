"""The short way for WebSocket handshakes: its answers and sessions are those of the way through the application."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import Message

from tests.support.live import LiveHouse, Settled, live_house
from wattgate.app.server.edge.connection_guard import HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedWire
from wattgate.app.server.edge.socket_upgrade import SocketUpgrade, UpgradeRequest
from wattgate.app.server.gate.gate import GateRules
from wattgate.app.settings import Settings
from wattgate.graphql.transport.websocket import WebSocketEndpoint
from wattgate.realtime.connections.session import Session

ALLOWED_ORIGIN = "https://allowed.example"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
KEY = "AAAAAAAAAAAAAAAAAAAAAA=="
PLAIN = {
    "Host": "energy.example",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "graphql-transport-ws",
    "Sec-WebSocket-Key": KEY,
}
START = "GET /graphql HTTP/1.1"
BROWSER: dict[str, str | None] = {
    "Connection": "keep-alive, Upgrade",
    "Origin": ALLOWED_ORIGIN,
    "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits",
    "Cookie": "wattgate_device=known",
    "User-Agent": "Mozilla/5.0 (\xe9)",
    "traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01",
    "X-Forwarded-For": "203.0.113.7, 198.51.100.4",
    "X-Forwarded-Proto": "https",
    "X-Access-Purpose": "support",
}
SHORT: dict[str, tuple[str, dict[str, str | None]]] = {
    "plain": (START, {}),
    "browser": (START, BROWSER),
    "own page": (START, {"Origin": "https://energy.example"}),
    "query": ("GET /graphql?token=x HTTP/1.1", {}),
    "upper case": (START, {"Upgrade": "WebSocket", "Connection": "UPGRADE"}),
    "several protocols": (START, {"Sec-WebSocket-Protocol": "other, graphql-transport-ws"}),
    "invalid trace": (START, {"traceparent": "00-zz"}),
    "spoofed proxy": (START, {"X-Forwarded-For": "nobody"}),
}
"""Handshakes on the short way: the request line, and the headers that differ from PLAIN. None leaves one out."""

LONG: dict[str, tuple[str, dict[str, str | None]]] = {
    "foreign page": (START, {"Origin": "https://evil.example"}),
    "page without origin": (START, {"Origin": "null"}),
    "no protocol": (START, {"Sec-WebSocket-Protocol": None}),
    "other protocol": (START, {"Sec-WebSocket-Protocol": "graphql-ws"}),
    "malformed protocol": (START, {"Sec-WebSocket-Protocol": "graphql-transport-ws;"}),
    "other version": (START, {"Sec-WebSocket-Version": "8"}),
    "no version": (START, {"Sec-WebSocket-Version": None}),
    "no key": (START, {"Sec-WebSocket-Key": None}),
    "short key": (START, {"Sec-WebSocket-Key": "AAAA"}),
    "malformed key": (START, {"Sec-WebSocket-Key": "?" * 24}),
    "no upgrade": (START, {"Upgrade": None}),
    "other upgrade": (START, {"Upgrade": "h2c"}),
    "other path": ("GET /graphql/ HTTP/1.1", {}),
    "no such path": ("GET /nothing HTTP/1.1", {}),
    "other method": ("POST /graphql HTTP/1.1", {}),
    "old version of HTTP": ("GET /graphql HTTP/1.0", {}),
    "repeated origin": (START, {"Origin": f"{ALLOWED_ORIGIN}\r\nOrigin: https://evil.example"}),
    "repeated key": (START, {"Sec-WebSocket-Key": f"{KEY}\r\nSec-WebSocket-Key: {KEY}"}),
    "repeated cookie": (START, {"Cookie": "a=1\r\nCookie: wattgate_device=known"}),
    "empty body": (START, {"Content-Length": "0"}),
}
"""Handshakes that take the way through the application."""

UNANSWERED: dict[str, list[tuple[bytes, bytes]]] = {
    "chunked body": [(b"transfer-encoding", b"chunked")],
    "long header": [(b"x-long", b"x" * 8_000)],
    "many headers": [(b"x-%d" % n, b"x") for n in range(130)],
}
"""Further headers with which uvicorn leaves a handshake without an answer."""


class HandoverWire(GuardedWire):
    """The wire behind the application: only its own class takes the short way."""


@pytest.fixture(scope="module")
async def houses(settled: Settled) -> AsyncIterator[tuple[LiveHouse, LiveHouse]]:
    """Two gateways of the same settings: one with the short way, and one without it."""
    proxies = ["127.0.0.0/8", "198.51.100.0/24"]
    settings: dict[str, Any] = {"trusted_proxies": proxies, "allowed_origins": [ALLOWED_ORIGIN]}
    async with live_house(settled, **settings) as short, live_house(settled, ws=HandoverWire, **settings) as long:
        yield short, long


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the key of each handshake that the short way accepts."""
    keys: list[str] = []
    start = SocketUpgrade.start

    def record(self: SocketUpgrade, request: object, headers: dict[str, str], *rest: object) -> None:
        keys.append(headers["sec-websocket-key"])
        start(self, request, headers, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(SocketUpgrade, "start", record)
    return keys


@pytest.mark.parametrize("name", [*SHORT, *LONG])
async def test_both_ways_give_the_same_answer_and_session(
    houses: tuple[LiveHouse, LiveHouse], accepted: list[str], name: str
) -> None:
    start, changes = (SHORT | LONG)[name]
    headers = {**PLAIN, **changes}
    head = "\r\n".join([start, *(f"{key}: {value}" for key, value in headers.items() if value is not None), "", ""])
    short, long = [await exchange(house, head.encode("latin-1")) for house in houses]
    assert accepted == ([headers["Sec-WebSocket-Key"]] if name in SHORT else []), "which way it took"
    assert short == long
    assert (short[1] is not None) == (b" 101 " in short[0] and name not in ("no protocol", "other protocol"))


async def test_a_handshake_needs_http_1_1_and_one_host(
    houses: tuple[LiveHouse, LiveHouse], subtests: pytest.Subtests
) -> None:
    cases: dict[str, tuple[str, str | None]] = {
        "HTTP/1.0": ("GET /graphql HTTP/1.0", PLAIN["Host"]),
        "HTTP/1.0 without a host": ("GET /graphql HTTP/1.0", None),
        "no host": (START, None),
        "two hosts": (START, "energy.example\r\nHost: other.example"),
        "one host twice": (START, "energy.example\r\nHost: energy.example"),
    }
    for name, (start, host) in cases.items():
        for house in houses:
            with subtests.test(f"{name} at {house.url}"):
                headers = PLAIN | {"Host": host}
                lines = [start, *(f"{key}: {value}" for key, value in headers.items() if value is not None), "", ""]
                answer, session = await exchange(house, "\r\n".join(lines).encode())
                assert (answer.split()[1], session) == (b"400", None)


async def test_the_application_rejects_such_a_handshake_of_another_server(houses: tuple[LiveHouse, LiveHouse]) -> None:
    host, protocols = (b"host", b"energy.example"), [PLAIN["Sec-WebSocket-Protocol"]]
    for version, headers in (("1.0", [host]), ("1.1", []), ("1.1", [host, host]), ("2", [])):
        sent: list[str] = []

        async def send(message: Message, sent: list[str] = sent) -> None:
            sent.append(message["type"])

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        scope = {"type": "websocket", "http_version": version, "headers": headers, "subprotocols": protocols}
        await WebSocketEndpoint(houses[0].gateway.realtime, [])(scope, receive, send)
        assert sent == ["websocket.close"], (version, headers)


@pytest.mark.parametrize("name", UNANSWERED)
def test_short_way_leaves_to_uvicorn_what_it_does_not_answer(houses: tuple[LiveHouse, LiveHouse], name: str) -> None:
    upgrade = SocketUpgrade(
        houses[0].gateway.realtime, [ALLOWED_ORIGIN], GateRules.from_settings(Settings(_env_file=None))
    )
    plain = [(key.lower().encode(), value.encode()) for key, value in PLAIN.items()]
    assert upgrade.find_headers(UpgradeRequest(b"GET", b"/graphql", plain, None, is_secure=False)) is not None
    other = UpgradeRequest(b"GET", b"/graphql", [*plain, *UNANSWERED[name]], None, is_secure=False)
    assert upgrade.find_headers(other) is None


async def test_session_of_the_short_way_has_the_trace_and_the_client_behind_the_proxy(
    houses: tuple[LiveHouse, LiveHouse], accepted: list[str]
) -> None:
    head = "\r\n".join([START, *(f"{key}: {value}" for key, value in {**PLAIN, **BROWSER}.items()), "", ""])
    answer, session = await exchange(houses[0], head.encode("latin-1"))
    assert len(accepted) == 1
    assert session is not None
    trace_id, client, headers = session
    assert f"x-trace-id: {TRACE_ID}".encode() in answer
    assert trace_id == TRACE_ID
    assert "host='203.0.113.7'" in client
    assert "origin='https://energy.example'" in client
    assert "purpose='support'" in client
    assert headers["cookie"] == "wattgate_device=known"


async def test_lost_connections_of_the_short_way_are_counted_no_longer(settled: Settled, accepted: list[str]) -> None:
    """The server takes one connection at a time, and the next one after the loss of the last."""
    head = "\r\n".join([START, *(f"{key}: {value}" for key, value in PLAIN.items()), "", ""]).encode()
    async with live_house(settled, http_limits=HttpLimits(max_connections=1)) as house:
        for number in range(1, 4):
            answer, _ = await exchange(house, head)
            assert b" 101 " in answer
            assert len(accepted) == number


async def exchange(house: LiveHouse, head: bytes) -> tuple[bytes, tuple[str, str, dict[str, str]] | None]:
    """Send a head. Return all that the gateway sends until it closes the connection, and the session if there is one.

    An open socket receives a malformed message, which ends it.
    """
    address = urlsplit(house.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    async with asyncio.timeout(60):
        writer.write(head)
        answer = b""
        while b"\r\n\r\n" not in answer and (data := await reader.read(65_536)):
            answer += data
        (session,) = [*house.gateway.connections._connections, None][:1]
        seen = describe(session) if isinstance(session, Session) else None
        if b" 101 " in answer:
            writer.write(b"\x81\x82\x00\x00\x00\x00no" + b"\x88\x82\x00\x00\x00\x00\x03\xe8")
        else:
            writer.write_eof()
        while data := await reader.read(65_536):
            answer += data
        writer.close()
        await house.until(lambda: house.gateway.connections.count == 0)
    return without_time(answer, keeps_trace=TRACE_ID.encode() in head), seen


def describe(session: Session) -> tuple[str, str, dict[str, str]]:
    """Return the trace id if the client has sent it, the client and the headers of a session."""
    trace_id = session.trace_id if session.trace_id == TRACE_ID else ""
    return trace_id, repr(session._client), dict(session._headers or {})


def without_time(answer: bytes, *, keeps_trace: bool) -> bytes:
    """Return an answer without the time, and without a random trace id."""
    answer = re.sub(rb"(?i)(\r\ndate: )[^\r]*", rb"\1", answer)
    answer = re.sub(rb'"traceId":"[0-9a-f]*"', b"", answer)
    return answer if keeps_trace else re.sub(rb"(\r\nx-trace-id: )[0-9a-f]*", rb"\1", answer)
