"""The protocol of the HTTP server: uvicorn's, with the limits of `connection_guard`.

The module `request_heads` has the rules for heads. A head that breaks one is answered after the requests before it.

The classes depend on internals of uvicorn, whose version is therefore pinned. Methods that run for each request do not
call `super()`, as in `pipelined_requests`.
"""

import asyncio
import logging
import sys
from typing import Any

import httptools
import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from wattgate.app.server.edge.connection_guard import DEFAULT_HTTP_LIMITS, LINGER_SECONDS, ConnectionGuard, HttpLimits
from wattgate.app.server.edge.direct_graphql import METHOD, PATH, DirectCycle, DirectGraphQL
from wattgate.app.server.edge.http_deadlines import DeadlineProtocol, Stage
from wattgate.app.server.edge.lingering_close import LingeringProtocol, ResponseTransport, has_hung_up
from wattgate.app.server.edge.pipelined_requests import END_OF_HEAD
from wattgate.app.server.edge.socket_upgrade import SocketUpgrade, UpgradeRequest, build_wire
from wattgate.app.server.gate.request_heads import (
    CHECKED,
    CHUNK_BYTES,
    LINE_BYTES,
    MIN_PIECE_BYTES,
    RefusedHead,
    body_parser,
    check_coding,
    check_credentials,
    check_framing_bytes,
    check_head,
    check_host,
    check_pieces,
    check_protocol,
    head_of_body,
    is_handshake,
    malformed,
    parse_length,
    too_large,
)
from wattgate.app.server.gate.response_headers import API
from wattgate.errors import GatewayError, RateLimited, TimedOut
from wattgate.metrics import REFUSED_CONNECTIONS
from wattgate.realtime.connections.wires.uvicorn_wire import UvicornWire
from wattgate.requests.client import CLIENT_HAS_GONE
from wattgate.requests.request_context import client_fields, new_trace_id

# The configuration that all connections of a process share, and the WebSockets that it counts as connections.


class GuardedConfig(uvicorn.Config):
    """A uvicorn configuration with the limits of connections, which all connections of the process share."""

    def __init__(self, *arguments: Any, http_limits: HttpLimits = DEFAULT_HTTP_LIMITS, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.guard = ConnectionGuard(http_limits)
        state = getattr(self.app, "state", None)
        self.direct_graphql: DirectGraphQL | None = getattr(state, "direct_graphql", None)
        self.socket_upgrade: SocketUpgrade | None = getattr(state, "socket_upgrade", None)


class GuardedWire(UvicornWire):
    """A WebSocket that is counted as a connection until it is lost."""

    config: GuardedConfig

    def connection_lost(self, exc: Exception | None) -> None:
        self.release(self.transport)
        super().connection_lost(exc)

    def release(self, transport: asyncio.BaseTransport) -> None:
        self.config.guard.release(transport)


log = logging.getLogger(__name__)

CONNECTION_RETRY_SECONDS = 10
"""Value of Retry-After for a connection above the limits."""

DIRECT_METHOD, DIRECT_TARGET = METHOD.encode(), PATH.encode()


class GuardedHttpProtocol(LingeringProtocol):
    """An HTTP connection with limits."""

    config: GuardedConfig

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._guard = self.config.guard
        self._limits = self._guard.limits
        self._max_head_bytes, self._max_head_lines, self._max_line_bytes = self._limits.head
        self._length = 0
        self._has_progress = False
        self._head_bytes = self._unread_bytes = self._hosts = self._types = 0
        self._is_handshake = self._is_chunked = False
        self._framing_bytes = self._missing_bytes = 0
        self._chunks: list[bytes] = []
        self._head_start = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._guard.admit(transport):
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)
        else:
            error = RateLimited(
                f"Too many open connections. Retry in {CONNECTION_RETRY_SECONDS} s.",
                retry_after=CONNECTION_RETRY_SECONDS,
            )
            # closed at once: a connection that is not counted must not stay
            self._respond(b"HTTP/1.1 429 Too Many Requests\r\n", error)
            self.transport.close()
            self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_timer()
        self._guard.release(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_lingering:
            self._discard(len(data))
            return
        if self.transport.is_closing() or self._refusal is not None:  # the client sent it before it noticed
            return
        DeadlineProtocol.data_received(self, data)
        if self.transport.get_protocol() is not self:  # it is a WebSocket now, which has deadlines of its own
            return
        # blank lines before a request end the keep-alive time, but do not begin a message
        if self._deadline is None and self.timeout_keep_alive_task is None and self._is_between_requests():
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)

    def _feed_piece(self, piece: bytes) -> None:
        self._has_progress = False
        self._head_start = self._head_start + piece if self._in_head and not self.headers else piece
        if len(piece) < MIN_PIECE_BYTES:
            self._missing_bytes += MIN_PIECE_BYTES - len(piece)
        is_in_chunks = self._is_chunked and self._in_body
        if is_in_chunks:
            self._framing_bytes += len(piece)
        self._feed(self.parser, piece)
        if not self._in_head or self.headers:  # the first line is complete; a connection at rest keeps no piece
            self._head_start = b""
        self._pass_chunks()
        if self._is_chunked and self._in_body and not is_in_chunks:  # the first chunks behind a head
            self._framing_bytes += len(piece) - piece.find(END_OF_HEAD) - len(END_OF_HEAD)
        if (self._in_head or self._in_body) and self._refusal is None:
            self._count_unread(len(piece))

    def _feed(self, parser: httptools.HttpRequestParser, data: bytes) -> None:
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
            if self._should_upgrade():
                self._await_turn(rest)
            else:
                self.parser = body_parser(self)
                self._feed(self.parser, head_of_body(self.scope["headers"]))  # type: ignore[arg-type]
                self._feed(self.parser, rest)
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, RefusedHead) else malformed())

    def _count_unread(self, size: int) -> None:
        """Bound the bytes that belong to no body: a part of a head, and the lines of chunks and trailers.

        The parser reports only whole lines, and no line of a chunk. Bytes that arrive with the begin of a head, or with
        a part of a body, are not counted.
        """
        self._unread_bytes = 0 if self._has_progress else self._unread_bytes + size
        try:
            check_pieces(self._missing_bytes)
            if self._has_progress:
                check_framing_bytes(self._framing_bytes)
            elif self._unread_bytes > self._max_head_bytes:
                raise too_large("head" if self._in_head else "trailer", self._max_head_bytes, "bytes")
        except RefusedHead as refusal:
            self._refuse(refusal)

    def _should_upgrade(self) -> bool:
        return self._is_handshake

    def handle_websocket_upgrade(self) -> None:
        self._clear_timer()
        if not self._upgrade_directly():
            super().handle_websocket_upgrade()

    def _upgrade_directly(self) -> bool:
        """Accept a plain WebSocket handshake without uvicorn. Return whether it was one."""
        upgrade = self.config.socket_upgrade if self.ws_protocol_class is GuardedWire else None
        if upgrade is None or self.scope["http_version"] != "1.1" or self.root_path:
            return False
        request = UpgradeRequest(
            self.parser.get_method(), self.url, self.headers, self.client, is_secure=self.scheme == "https"
        )
        headers = upgrade.find_headers(request)
        if headers is None:
            return False
        self.connections.discard(self)
        wire = build_wire(self.transport, self.connections, self._guard.release, self.config.ws_max_size)
        upgrade.start(request, headers, self.server_state.default_headers, wire)
        return True

    def on_message_begin(self) -> None:
        self._in_head = self._has_progress = True
        self._head_bytes = self._unread_bytes = self._hosts = self._types = self._length = self._missing_bytes = 0
        self._is_handshake = self._is_chunked = False
        if self._stage is not Stage.HEAD or self._deadline is None:
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)
        HttpToolsProtocol.on_message_begin(self)

    def on_url(self, url: bytes) -> None:
        HttpToolsProtocol.on_url(self, url)
        self._head_bytes += len(url)
        if len(self.url) > self._max_line_bytes or self._head_bytes > self._max_head_bytes:
            self._refuse_size("address", len(self.url))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in CHECKED:
            self._check_header(name, value)
        headers = self.headers
        if not headers:  # the first line is complete
            check_protocol(self.parser.get_method(), self.url, self._head_start)
        headers.append((name, value))
        line = len(name) + len(value) + LINE_BYTES
        self._head_bytes += line
        if (
            line > self._max_line_bytes
            or self._head_bytes > self._max_head_bytes
            or len(headers) > self._max_head_lines
        ):
            self._refuse_size("header", line)

    def _check_header(self, name: bytes, value: bytes) -> None:
        """Check and count a header that is in CHECKED."""
        if name == b"host":
            check_host(value)
            self._hosts += 1
        elif name == b"content-type":
            self._types += 1
        elif name == b"content-length":
            self._length = parse_length(value)
        elif name == b"transfer-encoding":
            check_coding(value)
            self._is_chunked = True
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True

    def _refuse_size(self, part: str, line: int) -> None:
        """Raise RefusedHead for a head above a bound: its number of lines, the bytes of this line, or all its bytes."""
        if len(self.headers) > self._max_head_lines:
            raise too_large("head", self._max_head_lines, "headers")
        if line > self._max_line_bytes:
            raise too_large(part, self._max_line_bytes, "bytes")
        raise too_large("head", self._max_head_bytes, "bytes")

    def on_headers_complete(self) -> None:
        parser = self.parser
        version, method = parser.get_http_version(), parser.get_method()
        if not self.headers:
            check_protocol(self.parser.get_method(), self.url, self._head_start)
        check_head(version, method, self._hosts, self._types)
        self._has_progress = True
        self._window_bytes, self._framing_bytes, self._body_left = 0, 0, self._length
        self._is_handshake = parser.should_upgrade() and is_handshake(version, method, self.headers)
        self._set_deadline(Stage.BODY, self._limits.body_seconds)
        if not self._begin_direct(version, method):  # a plain request has no header twice
            check_credentials(self.headers)
            self.scope[CLIENT_HAS_GONE] = self._has_gone  # type: ignore[literal-required]
            super().on_headers_complete()
        if self._is_chunked or self._length:
            response_transport: Any = ResponseTransport(self, self.cycle)
            self.cycle.transport = response_transport
        self._in_head, self._in_body = False, True  # only now: until here, the request before it is the last one
        # uvicorn would add the trailers of the body to the headers of the request
        self.headers = []

    def _has_gone(self) -> bool:
        self.client_has_gone = self.client_has_gone or has_hung_up(self.transport)
        return self.client_has_gone

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle.scope["http_version"] == HTTP_1_0:
            app = WithoutChunks(cycle, app)
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._has_progress = True
        self._window_bytes += size
        self._body_left -= size
        self._framing_bytes -= size
        self._missing_bytes -= size
        if self._is_chunked:
            self._chunks.append(body)
        else:
            HttpToolsProtocol.on_body(self, body)

    def on_chunk_header(self) -> None:
        self._framing_bytes -= CHUNK_BYTES
        self._missing_bytes += MIN_PIECE_BYTES
        check_pieces(self._missing_bytes)

    def _pass_chunks(self) -> None:
        """Pass the chunks of a read to the application at once. To append each would copy those before it."""
        if self._chunks:
            chunks, self._chunks = self._chunks, []
            HttpToolsProtocol.on_body(self, b"".join(chunks))

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade() and not self._is_handshake:
            return  # the upgrade is ignored, and the body follows
        if self._is_chunked:
            check_framing_bytes(self._framing_bytes)
            self._pass_chunks()
        self._in_body, self._deadline = False, None
        self.headers = self.scope["headers"]  # type: ignore[assignment]  # it is the list of `on_message_begin`
        LingeringProtocol.on_message_complete(self)

    def on_response_complete(self) -> None:
        LingeringProtocol.on_response_complete(self)
        if self._is_lingering:
            return
        if self.transport.is_closing():
            self._watch_close()
        elif not (self._in_body or self._refusal) or self._is_stalled or not self.cycle.response_complete:
            return
        elif self._refusal is not None:
            self._reject(self._refusal.status_line, self._refusal.error)
        else:
            self._set_deadline(Stage.LINGER, LINGER_SECONDS)

    def _advance(self) -> None:
        is_refused = self._refusal is not None and self._in_body and len(self.pipeline) == 1
        if self._refusal is not None and is_refused and not self.flow.write_paused:
            self._reject(self._refusal.status_line, self._refusal.error)  # in the turn of the request whose body it is
        else:
            super()._advance()

    def _begin_direct(self, version: str, method: bytes) -> bool:
        """Begin the direct answer to a plain request for GraphQL, as uvicorn begins one. Return whether it is plain."""
        direct, parser = self.config.direct_graphql, self.parser
        if (
            direct is None
            or self.root_path
            or self.limit_concurrency is not None
            or self.url != DIRECT_TARGET
            or method != DIRECT_METHOD
            or version != "1.1"
            or parser.should_upgrade()
            or (headers := direct.find_headers(self.headers)) is None
        ):
            return False
        self.scope |= {"method": METHOD, "path": PATH, "raw_path": self.url, "query_string": b""}
        self.scope[CLIENT_HAS_GONE] = self._has_gone  # type: ignore[literal-required]
        previous = self.cycle
        self.cycle = cycle = DirectCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        cycle.direct, cycle.request_headers = direct, headers
        if previous is None or previous.response_complete:
            DeadlineProtocol._start_asgi_task(self, cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))
        return True

    def _time_out(self) -> None:
        if self._is_lingering:
            return
        if self._stage is Stage.HEAD:  # without a byte of a request, there is nothing to answer
            needs_no_answer, part = self.scope is None, "head"
        else:
            needs_no_answer, part = self.cycle.response_started, "body"
        if needs_no_answer:
            self._close()
        else:
            error = TimedOut(f"The {part} of the request arrived too slowly.")
            self._reject(b"HTTP/1.1 408 Request Timeout\r\n", error)

    def _refuse(self, refusal: RefusedHead) -> None:
        """Answer a head that is not accepted, and close the connection. First, the requests before it are answered."""
        REFUSED_CONNECTIONS.labels("message").inc()
        self._refusal = refusal
        if self._in_body and self.cycle is not None and self.cycle.response_started:
            self._log_refusal(refusal.status_line, refusal.error, new_trace_id())
            self._close()  # an answer cannot follow in the middle of another one
        elif self._is_answered() or (self._in_body and not self._is_in_pipeline()):
            self._reject(refusal.status_line, refusal.error)
        else:
            self._clear_timer()
            self.flow.hold()

    def _reject(self, status_line: bytes, error: GatewayError) -> None:
        """Send an error in the format of the REST interface and close the connection.

        Its trace ID is its own: the present context can be that of the request before it.
        """
        self._respond(status_line, error)
        self._close()

    def _respond(self, status_line: bytes, error: GatewayError) -> None:
        trace_id = new_trace_id()
        self._log_refusal(status_line, error, trace_id)
        self.transport.write(encode_refusal(status_line, error, trace_id))

    def _log_refusal(self, status_line: bytes, error: GatewayError, trace_id: str) -> None:
        """Log a security event with the address of the peer, because no header of the request is trusted."""
        status = status_line.split(b" ")[1].decode()
        fields = client_fields(f"HTTP connection refused with {status}", self.client[0] if self.client else None)
        fields["trace_id"] = trace_id
        log.info("HTTP connection refused with %s: %s", status, error.message, extra=fields)


def encode_refusal(status_line: bytes, error: GatewayError, trace_id: str) -> bytes:
    """Return the response with an error in the format of the REST interface, after which the connection closes."""
    content = msgspec.json.encode({"error": error.message, **error.rest_members, "traceId": trace_id})
    head = [status_line, b"content-type: application/json\r\nconnection: close\r\n"]
    head += [b"%b: %b\r\n" % field for field in (*API.headers, API.cache_header)]
    head.append(b"x-trace-id: %b\r\n" % trace_id.encode())
    if error.retry_after is not None:
        head.append(b"retry-after: %d\r\n" % error.retry_after)
    return b"".join([*head, b"content-length: %d\r\n\r\n" % len(content), content])


# Responses to requests of HTTP/1.0, whose clients read no chunks (RFC 9112, section 6.1).
#
# A response without a length ends with its connection. uvicorn would send it in chunks.

HTTP_1_0 = "1.0"


class WithoutChunks:
    """An application for one request, which keeps its response from chunks. The connection closes after it."""

    def __init__(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._cycle = cycle
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        cycle, has_length = self._cycle, False

        async def send_without_chunks(message: Any) -> None:
            nonlocal has_length
            if message["type"] == "http.response.start":
                has_length = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
                if not has_length:
                    cycle.chunked_encoding, cycle.expected_content_length = False, sys.maxsize
            elif not has_length and not message.get("more_body", False):
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, send_without_chunks)
