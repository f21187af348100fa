"""The gate: what happens to each request before its endpoint and to each response after it, as one ASGI application.

The effects on a request are, in this order: its trace ID, its client behind trusted proxies, its path, the preflight
requests of CORS, metrics, the maximum of parameters in its query, and the size limit of its body. A response gets the
headers of CORS, the security headers, the cookie of a new device, and the trace ID.

`GateRules` has these effects as functions of a request. Code that answers a request without ASGI calls them too.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.app.observability.http_metrics import method_label, observe_request, route_template
from wattgate.app.server.gate.client_addresses import SECURE_SCHEMES, IPNetwork, begin_client, device_cookie
from wattgate.app.server.gate.request_heads import MAX_LENGTH_DIGITS
from wattgate.app.server.gate.response_headers import CorsPolicy, HeaderPolicies, SecurityHeaders
from wattgate.app.settings import Settings
from wattgate.enums import TRACE_ID
from wattgate.errors import BadInput, TooLarge
from wattgate.rate_limit.budgets import CURRENT_BALANCE
from wattgate.requests.bodies import media_type_of
from wattgate.requests.client import Client
from wattgate.requests.request_context import REPEATED_HASH, new_trace_id, parse_traceparent
from wattgate.requests.request_limits import check_parameters
from wattgate.requests.request_path import normalize_path
from wattgate.rest_compat.bulk_intake import BODY_READERS
from wattgate.rest_compat.error_responses import error_response
from wattgate.rest_compat.file_intake import FILE_PATHS, FILE_TYPES

Field = tuple[bytes, bytes]

READINGS_PATH = "/readings"
"""Path of the bulk intake under the base path. Its request bodies are streamed and have no size limit."""

EVENT_STREAM = b"text/event-stream"


class Entry(NamedTuple):
    """A request that has passed the gate: its ASGI scope, trace ID and client, and the page that sends it."""

    scope: Scope
    trace_id: str
    client: Client
    origin: str | None


@dataclass(frozen=True, slots=True)
class GateRules:
    """The rules of a gate.

    `streamed` has the paths whose bodies have no limit, with the media types to which that applies: these bodies are
    processed as they arrive and are not buffered.
    """

    trusted_proxies: tuple[IPNetwork, ...]
    cors: CorsPolicy
    security: SecurityHeaders
    max_body_bytes: int
    streamed: Mapping[str, Collection[str]]

    @classmethod
    def from_settings(cls, settings: Settings) -> "GateRules":
        """Return the rules of these settings."""
        https_only = (settings.public_url or "").startswith("https:")
        return cls(
            trusted_proxies=tuple(settings.trusted_proxies),
            cors=CorsPolicy(settings.allowed_origins),
            security=SecurityHeaders(HeaderPolicies(settings.base_path), https_only),
            max_body_bytes=settings.max_body_bytes,
            streamed={
                f"{settings.base_path}{READINGS_PATH}": frozenset(BODY_READERS),
                **{f"{settings.base_path}{path}": frozenset(FILE_TYPES) for path in FILE_PATHS},
            },
        )

    def begin(self, scope: Scope, first: Mapping[str, str], joined: Mapping[str, str]) -> Entry:
        """Set the trace ID and the client of the current request, which is not charged yet, and return it.

        `first` has the first line of each header, and `joined` all lines of a header as one list.
        """
        CURRENT_BALANCE.set(None)
        REPEATED_HASH.set(None)
        trace_id = begin_trace(first.get("traceparent", ""))
        scope, client = begin_client(scope, joined, self.trusted_proxies)
        return Entry(scope, trace_id, client, first.get("origin"))

    def check_length(self, length: int) -> None:
        """Raise TooLarge if a request body of this many bytes is above the limit."""
        if length > self.max_body_bytes:
            raise TooLarge(f"The request body is larger than {self.max_body_bytes} bytes.")

    def has_limit(self, path: str, content_type: str) -> bool:
        """Return whether the body of a request has a limit."""
        streamed = self.streamed.get(path)
        return streamed is None or media_type_of(content_type) not in streamed

    def shared_fields(self, entry: Entry, own: Iterable[Field]) -> list[Field]:
        """Return the headers of a response with those that are the same for all requests of an origin and scheme."""
        fields = list(own)
        self.cors.extend(entry.origin, fields)
        self.security.extend(entry.scope["path"], entry.scope["scheme"], fields)
        return fields

    def extend_preflight(self, entry: Entry, fields: list[Field]) -> None:
        """Add the headers of the gate to those of the response to a preflight request, which has those of CORS."""
        self.security.extend(entry.scope["path"], entry.scope["scheme"], fields)
        fields += entry_fields(entry)


def entry_fields(entry: Entry) -> list[Field]:
    """Return the headers of a response that belong to its request: the cookie of a new device, and the trace ID."""
    trace_field = b"x-trace-id", entry.trace_id.encode()
    if entry.client.new_device is None:
        return [trace_field]
    is_secure = entry.scope["scheme"] in SECURE_SCHEMES
    return [(b"set-cookie", device_cookie(entry.client.new_device, is_secure=is_secure).encode("latin-1")), trace_field]


class Gate:
    """The application behind the gate. `around` are layers between the gate and the application, outermost first."""

    def __init__(self, app: ASGIApp, rules: GateRules, around: Sequence[Middleware] = ()) -> None:
        self._app = app
        self._rules = rules
        self._around = around

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        first, joined = read_headers(scope["headers"])
        path = normalize_path(scope["path"], scope.get("raw_path") or b"")
        entry = self._rules.begin({**scope, "path": path}, first, joined)
        if scope["type"] != "http":
            await self._surrounded(self._app)(entry.scope, receive, _with_entry_fields(entry, send))
            return
        preflight = self._rules.cors.answer_preflight(scope["method"], first)
        if preflight is not None:
            self._rules.extend_preflight(entry, preflight.raw_headers)
            await preflight(entry.scope, receive, send)
            return
        await self._surrounded(Exchange(self._app, self._rules, entry, first).serve)(entry.scope, receive, send)

    def _surrounded(self, app: ASGIApp) -> ASGIApp:
        for layer, arguments, keywords in reversed(self._around):
            app = layer(app, *arguments, **keywords)
        return app


class Exchange:
    """A request over HTTP behind the gate, and its response."""

    __slots__ = (
        "_app",
        "_entry",
        "_headers",
        "_is_stream",
        "_receive",
        "_received_bytes",
        "_rules",
        "_send",
        "_status",
    )

    _receive: Receive
    _send: Send

    def __init__(self, app: ASGIApp, rules: GateRules, entry: Entry, headers: Mapping[str, str]) -> None:
        self._app = app
        self._rules = rules
        self._entry = entry
        self._headers = headers
        self._received_bytes = 0
        self._status: int | None = None
        self._is_stream = False

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, and measure it unless the response is an event stream, which stays open."""
        self._receive, self._send = receive, send
        started_at = perf_counter()
        try:
            await self._serve_within_limits(scope)
        finally:
            if not self._is_stream:
                status = 500 if self._status is None else self._status
                seconds = perf_counter() - started_at
                observe_request(method_label(scope["method"]), route_template(scope), status, seconds)

    async def _serve_within_limits(self, scope: Scope) -> None:
        try:
            check_parameters(scope["query_string"])
        except BadInput as error:
            await error_response(error)(scope, self._receive, self._send_with_fields)
            return
        if not self._rules.has_limit(scope["path"], self._headers.get("content-type", "")):
            await self._app(scope, self._receive, self._send_with_fields)
            return
        try:
            self._rules.check_length(content_length(self._headers))
            await self._app(scope, self._receive_within_limit, self._send_with_fields)
        except TooLarge as error:
            if self._status is not None:
                raise
            await error_response(error)(scope, self._receive, self._send_with_fields)

    async def _receive_within_limit(self) -> Message:
        message = await self._receive()
        self._received_bytes += len(message.get("body", b""))
        self._rules.check_length(self._received_bytes)
        return message

    async def _send_with_fields(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message.get("headers", ())
            self._status = message["status"]
            self._is_stream = any(name == b"content-type" and value.startswith(EVENT_STREAM) for name, value in own)
            message = {
                **message,
                "headers": [*self._rules.shared_fields(self._entry, own), *entry_fields(self._entry)],
            }
        await self._send(message)


def _with_entry_fields(entry: Entry, send: Send) -> Send:
    """Return the channel of a WebSocket that accepts it with the headers of its request."""

    async def send_with_fields(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "headers": [*message.get("headers", ()), *entry_fields(entry)]}
        await send(message)

    return send_with_fields


def read_headers(fields: Sequence[Field]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the headers by name: the first line of each, and all lines of each as one list (RFC 9110, section 5.2)."""
    first = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(fields)}
    if len(first) == len(fields):
        return first, first
    lines: dict[str, list[str]] = {}
    for name, value in fields:
        lines.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return first, {name: ("; " if name == "cookie" else ",").join(values) for name, values in lines.items()}


def begin_trace(traceparent: str) -> str:
    """Give the current request a trace ID, and return it: that of the header `traceparent`, or a new one."""
    trace_id = (traceparent and parse_traceparent(traceparent)) or new_trace_id()
    TRACE_ID.set(trace_id)
    return trace_id


def content_length(headers: Mapping[str, str]) -> int:
    """Return the length that a request announces; 0 without one, and `sys.maxsize` for a number of many digits."""
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        return 0
    return int(length) if len(length) <= MAX_LENGTH_DIGITS else sys.maxsize
