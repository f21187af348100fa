"""What happens to every request before it reaches a route. Plain ASGI: (scope, receive, send)."""

import re
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.enums import TRACE_ID
from wattgate.errors import TooLarge
from wattgate.request_context import new_trace_id, traced_as
from wattgate.rest_compat.error_responses import refusal

ANSWERS = {"http.response.start", "websocket.accept"}
"""Messages by which an answer begins, with its headers."""


class Trace:
    """Gives each request an id, which stands in the answer's header, in errors and in the log. It is the caller's own
    where that has one (`traceparent`). A connection that stays has that of the request that opened it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        trace_id = traced_as(Headers(scope=scope).get("traceparent", "")) or new_trace_id()
        TRACE_ID.set(trace_id)

        async def traced(message: Message) -> None:
            if message["type"] in ANSWERS:
                MutableHeaders(scope=message)["X-Trace-Id"] = trace_id
            await send(message)

        await self._app(scope, receive, traced)


class PlainPaths:
    """Serves `/auth/` and `//auth` as `/auth`: a redirect would lose the body of a POST."""

    _slashes = re.compile(r"/{2,}")

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            plain = self._slashes.sub("/", scope["path"])
            scope = {**scope, "path": plain.rstrip("/") or "/"}
        await self._app(scope, receive, send)


class BodyLimit:
    """Refuses a request body of more than `limit` bytes, by its announced length or as it arrives.

    `streamed` are the paths whose bodies may be of any size, for they are not kept but worked on as they arrive, with
    the media types of those bodies.
    """

    def __init__(self, app: ASGIApp, limit: int, streamed: Mapping[str, Collection[str]]) -> None:
        self._app = app
        self._limit = limit
        self._streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _content_type(scope) in self._streamed.get(scope["path"], ()):
            await self._app(scope, receive, send)
            return
        seen, started = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise TooLarge(f"the body is larger than {self._limit} bytes")
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if _announced(scope) > self._limit:
                raise TooLarge(f"the body is larger than {self._limit} bytes")
            await self._app(scope, counted, watched)
        except TooLarge as error:
            if started:
                raise
            await refusal(error)(scope, receive, send)


def _announced(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isdigit() else 0


def _content_type(scope: Scope) -> str:
    return Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
