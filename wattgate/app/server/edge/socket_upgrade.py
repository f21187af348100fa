"""The short way for the WebSocket handshake of /graphql: from the parsed head of the request to the session.

It accepts a handshake that is right in every respect, with the response of the application behind the gate: its
path and method, the fields of the handshake, the subprotocol, and the origin of the page. Everything else takes the way
through uvicorn, which knows the answer to each fault. On both ways, the session gets the same headers, trace id and
client.
"""

import asyncio
import binascii
import contextvars
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from websockets.protocol import SERVER, Protocol
from websockets.utils import accept_key

from wattgate.app.server.gate.gate import GateRules, entry_fields
from wattgate.realtime.connections.protocol import SUBPROTOCOL
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.session import Session
from wattgate.realtime.connections.wires.frame_wire import FrameWire, Release
from wattgate.requests.client import is_origin_allowed

PATH, VERSION = b"/graphql", "13"

MAX_HEADERS, MAX_HEADER_BYTES = 100, 4_096
"""Maximum headers, and bytes of each of them, on the short way. They are below those of websockets."""

BODY_HEADERS = {"content-length", "transfer-encoding", "expect"}

_SUBPROTOCOLS = re.compile(r"[A-Za-z0-9._-]+(?:, ?[A-Za-z0-9._-]+)*")

_CONNECTION = re.compile(r"[A-Za-z-]+(?:, ?[A-Za-z-]+)*")

Header = tuple[bytes, bytes]


class UpgradeRequest(NamedTuple):
    """The parsed head of a request. The names of headers are in lower case."""

    method: bytes
    target: bytes
    headers: list[Header]
    client: tuple[str, int] | None
    is_secure: bool


class SocketUpgrade:
    """Accepts plain handshakes, and starts their sessions."""

    def __init__(self, runtime: RealtimeRuntime, allowed_origins: Collection[str], rules: GateRules) -> None:
        self._runtime = runtime
        self._allowed_origins = frozenset(allowed_origins)
        self._rules = rules

    def find_headers(self, request: UpgradeRequest) -> dict[str, str] | None:
        """Return the headers of a handshake that this way accepts, or None."""
        if request.method != b"GET" or request.target.partition(b"?")[0] != PATH or len(request.headers) > MAX_HEADERS:
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
        is_plain = (
            len(headers) == len(request.headers)  # none is repeated
            and BODY_HEADERS.isdisjoint(headers)
            and all(len(name) + len(value) < MAX_HEADER_BYTES for name, value in request.headers)
            and _is_handshake(headers)
            and is_origin_allowed(headers, self._allowed_origins)
        )
        return headers if is_plain else None

    def start(
        self, request: UpgradeRequest, headers: Mapping[str, str], default_headers: list[Header], wire: FrameWire
    ) -> None:
        """Send the response, and start the session of a handshake with these headers.

        It begins in a context of its own, so that its trace id and client are not those of other work.
        """
        contextvars.copy_context().run(self._start, request, headers, default_headers, wire)

    def _start(
        self, request: UpgradeRequest, headers: Mapping[str, str], default_headers: list[Header], wire: FrameWire
    ) -> None:
        scheme = "wss" if request.is_secure else "ws"
        scope = {"type": "websocket", "scheme": scheme, "client": request.client}
        entry = self._rules.begin(scope, headers, headers)
        fields = [*default_headers, *entry_fields(entry)]
        wire.attach(Session(self._runtime, wire, headers), _response(headers["sec-websocket-key"], fields))


def build_wire(
    transport: asyncio.Transport, connections: set[Any], release: Release, max_message_bytes: int
) -> FrameWire:
    """Return the wire of a socket whose handshake is done."""
    return FrameWire(Protocol(SERVER, max_size=max_message_bytes), transport, connections, release)


def _is_handshake(headers: Mapping[str, str]) -> bool:
    """Return whether the fields of the handshake are right and plain."""
    connection, subprotocols = headers.get("connection", ""), headers.get("sec-websocket-protocol", "")
    return (
        headers.get("upgrade", "").lower() == "websocket"
        and _CONNECTION.fullmatch(connection) is not None
        and "upgrade" in connection.lower().replace(" ", "").split(",")
        and headers.get("sec-websocket-version") == VERSION
        and _SUBPROTOCOLS.fullmatch(subprotocols) is not None
        and SUBPROTOCOL in subprotocols.replace(" ", "").split(",")
        and _is_key(headers.get("sec-websocket-key", ""))
    )


def _is_key(key: str) -> bool:
    """Return whether a key of a handshake encodes 16 bytes."""
    try:
        return len(binascii.a2b_base64(key, strict_mode=True)) == 16
    except ValueError:
        return False


def _response(key: str, fields: list[Header]) -> bytes:
    """Return the response that uvicorn sends for the application."""
    lines = [
        b"HTTP/1.1 101 Switching Protocols",
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Accept: " + accept_key(key).encode(),
        *(b"%b: %b" % header for header in fields),
        b"Sec-WebSocket-Protocol: " + SUBPROTOCOL.encode(),
    ]
    return b"\r\n".join([*lines, b"", b""])
