"""The door for server-sent events: graphql-sse in both of its modes, on the path of the GraphQL endpoint."""

from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from wattgate.errors import BadInput, GatewayError
from wattgate.graphql.transport.accept import EVENT_STREAM, wants_events
from wattgate.graphql.transport.http import from_body, from_query, refusal
from wattgate.graphql.transport.subscriptions import LiveService
from wattgate.principal import Authenticate, Principal
from wattgate.realtime.connections.event_stream import EventStream
from wattgate.realtime.connections.event_streams import EventStreams
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.connections.service import PreparedOperation, Refused

TOKEN_HEADER = "x-graphql-event-stream-token"
LAST_EVENT_ID = "last-event-id"

HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
"""What keeps proxies from holding events back."""


class StreamEndpoint:
    """An ASGI application that serves event streams, and leaves every other request to the next one."""

    def __init__(
        self, live: Live, streams: EventStreams, service: LiveService, authenticate: Authenticate, following: ASGIApp
    ) -> None:
        self._live = live
        self._streams = streams
        self._service = service
        self._authenticate = authenticate
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        try:
            if (token := _token(request)) or request.method in ("PUT", "DELETE"):
                await self._single(token, request, scope, receive, send)
            elif wants_events(request.headers.get("accept", "")):
                await self._distinct(request, scope, receive, send)
            else:
                await self._following(scope, receive, send)
        except GatewayError as error:
            await refusal(error)(scope, receive, send)
        except Refused as refused:
            body = b'{"errors":' + refused.errors + b"}"
            await Response(body, 400, media_type="application/json")(scope, receive, send)

    async def _distinct(self, request: HttpRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """One operation, on a stream of its own."""
        principal = await self._authenticate(request.headers)
        asked = from_query(scope["query_string"]) if request.method == "GET" else from_body(await request.body())
        prepared = await self._prepared(principal, asked) if request.method == "GET" else None
        if prepared is not None and prepared.is_mutation:
            await PlainTextResponse("Send a mutation by POST", 405, {"Allow": "POST"})(scope, receive, send)
            return
        stream = EventStream(self._live, principal, single=False)
        try:
            await stream.open()
            stream.begin(asked, request.headers.get(LAST_EVENT_ID), prepared)
            await _streamed(stream)(scope, receive, send)
        finally:
            stream.leave()

    async def _prepared(self, principal: Principal, request: Request) -> PreparedOperation | None:
        """Return the operation of a request, or None if its document is wrong: the stream then reports the errors."""
        try:
            return await self._service.prepare(principal, request)
        except (Refused, GatewayError):
            return None

    async def _single(self, token: str, request: HttpRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """A stream for many operations: reserved, opened, and steered by requests of their own."""
        answer: Response
        principal = await self._authenticate(request.headers)
        match request.method:
            case "PUT":
                answer = PlainTextResponse(self._streams.reserve(principal), 201)
            case "GET":
                async with self._streams.opened(token, principal) as stream:
                    await _streamed(stream)(scope, receive, send)
                return
            case "POST":
                asked = from_body(await request.body())
                operation_id = (asked.extensions or {}).get("operationId")
                if not isinstance(operation_id, str) or not operation_id:
                    raise BadInput("extensions.operationId is missing")
                prepared = await self._service.prepare(principal, asked)
                await self._streams.begin(token, operation_id, asked, prepared)
                answer = Response(status_code=202)
            case _:
                await self._streams.stop(token, request.query_params.get("operationId", ""))
                answer = Response(status_code=200)
        await answer(scope, receive, send)


def _token(request: HttpRequest) -> str:
    return request.headers.get(TOKEN_HEADER) or request.query_params.get("token", "")


def _streamed(stream: EventStream) -> Response:
    return StreamingResponse(stream.events(), media_type=EVENT_STREAM, headers=HEADERS)
