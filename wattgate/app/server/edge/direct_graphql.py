"""Requests for GraphQL that are answered without ASGI: plain ones, which are nearly all of them.

A request has the same effects by the same functions of the gate, in the same order. A request that needs more than
these functions takes the way through ASGI.
"""

from collections.abc import Mapping, Sequence
from time import perf_counter

from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from wattgate.app.observability.http_metrics import observe_request
from wattgate.app.server.gate.application import unexpected_error_response
from wattgate.app.server.gate.gate import Entry, GateRules, content_length, entry_fields
from wattgate.graphql.transport.http import LARGE_BODY_BYTES, GraphQLEndpoint, send_body
from wattgate.graphql.transport.sse import TOKEN_HEADER
from wattgate.requests.accept import prefers_event_stream

Fields = Sequence[tuple[bytes, bytes]]

METHOD, PATH = "POST", "/graphql"

MAX_CACHED_FRAMES = 256
"""Maximum sets of headers that are kept encoded. There is one for each origin, media type and scheme."""

MAX_ORIGIN_LENGTH = 300
"""Maximum characters of an origin whose headers are kept. A name of a host has at most 253."""


class DirectGraphQL:
    """The GraphQL endpoint for plain POST requests."""

    def __init__(self, endpoint: GraphQLEndpoint, rules: GateRules) -> None:
        self._endpoint = endpoint
        self._rules = rules
        self._frames: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def find_headers(self, fields: Fields) -> Mapping[str, str] | None:
        """Return the headers of a plain request by name in lower case, or None if it is not plain.

        A plain request has one line for each header, a length within the limit and no long origin, and asks for no
        event stream. A body in chunks has no length: its trailers may be headers, so it is not plain.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
        if (
            len(headers) != len(fields)
            or "content-length" not in headers
            or content_length(headers) > self._rules.max_body_bytes
            or len(headers.get("origin", "")) > MAX_ORIGIN_LENGTH
            or TOKEN_HEADER in headers
            or prefers_event_stream(headers.get("accept", ""))
        ):
            return None
        return headers

    async def serve(self, cycle: "DirectCycle", scope: Scope, receive: Receive) -> None:
        """Answer a plain request."""
        headers = cycle.request_headers
        entry = self._rules.begin(scope, headers, headers)
        started_at, status = perf_counter(), 500
        try:
            response = await self._endpoint.answer(METHOD, headers, b"", receive)
            fields, body = await response.encode(headers.get("accept-encoding", ""))
            status = response.status
            before, after = self._frame(entry, fields[:2])
            head = [before, *encode_fields(fields[2:]), after, *encode_fields(entry_fields(entry))]
            await cycle.respond(status, head, body)
        finally:
            observe_request(METHOD, PATH, status, perf_counter() - started_at)

    def _frame(self, entry: Entry, first: Fields) -> tuple[bytes, bytes]:
        """Return the encoded headers before and after those that differ in each response.

        `first` are the first two headers of the response. The others have no effect on the result.
        """
        key = (*first, entry.origin, entry.scope["scheme"])
        frame = self._frames.get(key)
        if frame is None:
            extended = self._rules.shared_fields(entry, first)
            frame = b"".join(encode_fields(extended[: len(first)])), b"".join(encode_fields(extended[len(first) :]))
            if len(self._frames) >= MAX_CACHED_FRAMES:
                self._frames.clear()
            self._frames[key] = frame
        return frame


class DirectCycle(RequestResponseCycle):
    """A plain request on a connection, and its response."""

    direct: DirectGraphQL
    request_headers: Mapping[str, str]

    async def run_asgi(self, app: ASGI3Application) -> None:
        await super().run_asgi(self._serve)  # type: ignore[arg-type]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.direct.serve(self, scope, receive)
        except Exception as error:
            if not self.response_started:
                response = await unexpected_error_response(Request(scope), error)
                await response(scope, receive, send)
            raise

    async def respond(self, status: int, head: Sequence[bytes], body: bytes) -> None:
        """Write a response with its encoded headers. A client that reads too slowly is waited for."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = True
        self.chunked_encoding, self.expected_content_length = False, len(body)
        closing = () if self.keep_alive else (b"connection: close\r\n",)
        lines = [STATUS_LINE[status], *encode_fields(self.default_headers), *head, *closing, b"\r\n"]
        if len(body) > LARGE_BODY_BYTES:
            self.transport.write(b"".join(lines))
            await send_body(self.send, body)  # type: ignore[arg-type]
            return
        self.transport.write(b"".join([*lines, body]))
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def encode_fields(fields: Fields) -> list[bytes]:
    """Return headers as lines of HTTP."""
    return [b"%b: %b\r\n" % field for field in fields]
