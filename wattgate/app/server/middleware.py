"""ASGI middleware for trace IDs, path normalization and the size limit of request bodies."""

import re
import sys
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.app.server.request_heads import MAX_LENGTH_DIGITS
from wattgate.enums import TRACE_ID
from wattgate.errors import TooLarge
from wattgate.request_content import media_type_of
from wattgate.request_context import new_trace_id, parse_traceparent
from wattgate.rest_compat.error_responses import error_response

RESPONSE_START_TYPES = {"http.response.start", "websocket.accept"}
"""ASGI messages that start a response and carry its headers."""


_SLASHES = re.compile(r"/{2,}")


def normalize_path(path: str) -> str:
    """Return a path without repeated slashes and without one at the end."""
    return _SLASHES.sub("/", path).rstrip("/") or "/"


def begin_trace(traceparent: str) -> str:
    """Give the current request a trace ID, and return it: that of the header `traceparent`, or a new one."""
    trace_id = (traceparent and parse_traceparent(traceparent)) or new_trace_id()
    TRACE_ID.set(trace_id)
    return trace_id


class TraceIdMiddleware:
    """Middleware that gives each request a trace ID, for the response header, errors and log records.

    The trace ID is that of the request header `traceparent`, or a new one. A WebSocket connection or event stream has
    the trace ID of the request that opened it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        trace_id = begin_trace(Headers(scope=scope).get("traceparent", ""))

        async def send_with_trace_id(message: Message) -> None:
            if message["type"] in RESPONSE_START_TYPES:
                MutableHeaders(scope=message)["X-Trace-Id"] = trace_id
            await send(message)

        await self._app(scope, receive, send_with_trace_id)


class PathNormalizationMiddleware:
    """Middleware that serves `/auth/` and `//auth` as `/auth`. A redirect would lose the body of a POST."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope = {**scope, "path": normalize_path(scope["path"])}
        await self._app(scope, receive, send)


class BodyLimitMiddleware:
    """Middleware that rejects a request body of more than `limit` bytes.

    It checks the header Content-Length, and counts the bytes as they arrive. `streamed` has the paths without a limit,
    with the media types to which that applies: their bodies are processed as they arrive and are not buffered.
    """

    def __init__(self, app: ASGIApp, limit: int, streamed: Mapping[str, Collection[str]]) -> None:
        self._app = app
        self._limit = limit
        self._streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _media_type(scope) in self._streamed.get(scope["path"], ()):
            await self._app(scope, receive, send)
            return
        received_bytes, has_response = 0, False

        async def receive_within_limit() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self._limit:
                raise TooLarge(f"The request body is larger than {self._limit} bytes.")
            return message

        async def note_response(message: Message) -> None:
            nonlocal has_response
            has_response = True
            await send(message)

        try:
            if content_length(Headers(scope=scope)) > self._limit:
                raise TooLarge(f"The request body is larger than {self._limit} bytes.")
            await self._app(scope, receive_within_limit, note_response)
        except TooLarge as error:
            if has_response:
                raise
            await error_response(error)(scope, receive, send)


def content_length(headers: Mapping[str, str]) -> int:
    """Return the length that a request announces; 0 without one, and `sys.maxsize` for a number of many digits."""
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        return 0
    return int(length) if len(length) <= MAX_LENGTH_DIGITS else sys.maxsize


def _media_type(scope: Scope) -> str:
    return media_type_of(Headers(scope=scope).get("content-type", ""))
