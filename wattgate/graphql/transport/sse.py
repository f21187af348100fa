"""The endpoint for server-sent events: both modes of graphql-sse, on the path of the GraphQL endpoint."""

from collections.abc import Mapping

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from wattgate.errors import BadInput, GatewayError
from wattgate.graphql.cost.operation_charge import BudgetExhausted
from wattgate.graphql.transport.http import (
    accept_content,
    error_response,
    read_query_string,
    read_request,
    refusal_response,
)
from wattgate.graphql.transport.subscriptions import SubscriptionService
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT
from wattgate.principal import Authenticate, Principal
from wattgate.rate_limit.budgets import CURRENT_BALANCE, Budgets, rate_limit_headers, rate_limited_error
from wattgate.realtime.connections.event_streams.event_stream import EventStream
from wattgate.realtime.connections.event_streams.event_stream_registry import EventStreamRegistry, StreamRequest
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.service import OperationRejected, PreparedOperation
from wattgate.realtime.operation_request import OperationRequest
from wattgate.requests.accept import EVENT_STREAM, prefers_event_stream
from wattgate.requests.bodies import BodyReader
from wattgate.requests.client import foreign_origin

TOKEN_HEADER = "x-graphql-event-stream-token"  # noqa: S105 (not a credential)
LAST_EVENT_ID = "last-event-id"

RESERVATION_COST = MUTATION_WEIGHT
"""Cost of the reservation of a stream."""

EVENT_STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
"""Headers that stop proxies from buffering events."""


class EventStreamEndpoint:
    """An ASGI application that serves event streams and passes all other requests to the next application."""

    def __init__(
        self,
        runtime: RealtimeRuntime,
        streams: EventStreamRegistry,
        service: SubscriptionService,
        authenticate: Authenticate,
        budgets: Budgets,
        next_app: ASGIApp,
        bodies: BodyReader,
    ) -> None:
        self._runtime = runtime
        self._streams = streams
        self._service = service
        self._authenticate = authenticate
        self._budgets = budgets
        self._next_app = next_app
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        try:
            if (token := _stream_token(request)) or request.method in ("PUT", "DELETE"):
                await self._serve_single(token, request, scope, receive, send)
            elif prefers_event_stream(request.headers.get("accept", "")):
                await self._serve_distinct(request, scope, receive, send)
            else:
                await self._next_app(scope, receive, send)
        except GatewayError as error:
            await error_response(error)(scope, receive, send)
        except OperationRejected as rejected:
            await refusal_response(orjson.Fragment(rejected.errors), 400)(scope, receive, send)

    async def _serve_distinct(self, request: HttpRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one operation on a stream of its own ("distinct connections" mode)."""
        principal = await self._authenticate(request.headers)
        operation_request = await self._read_request(request, principal)
        prepared = await self._prepare_or_none(principal, operation_request) if request.method == "GET" else None
        if prepared is not None and prepared.is_mutation:
            await PlainTextResponse("Send a mutation with POST", 405, {"Allow": "POST"})(scope, receive, send)
            return
        stream = EventStream(self._runtime, principal, single_connection=False)
        try:
            await stream.open()
            stream.start_operation(operation_request, request.headers.get(LAST_EVENT_ID), prepared)
            await _stream_response(stream)(scope, receive, send)
        finally:
            stream.release()

    async def _read_request(self, request: HttpRequest, principal: Principal) -> OperationRequest:
        """Return the operation in the body of a request, or in the query of a GET."""
        pipeline = self._service.pipeline
        try:
            if request.method == "GET":
                return await read_query_string(request.scope["query_string"], principal, pipeline)
            await accept_content(request.headers, principal, pipeline)
            operation, hold = await read_request(request.headers, request.receive, principal, pipeline, self._bodies)
        except BudgetExhausted as exhausted:
            raise exhausted.error from None
        if hold is not None:
            hold.release()  # a stream may stay open for days
        return operation

    async def _prepare_or_none(self, principal: Principal, request: OperationRequest) -> PreparedOperation | None:
        """Return the operation of a request, or None if its document is wrong: the stream then reports the errors."""
        try:
            return await self._service.prepare(principal, request)
        except (OperationRejected, GatewayError):
            return None

    async def _serve_single(self, token: str, request: HttpRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream for many operations ("single connection" mode): reserve, open, add or stop an operation."""
        response: Response
        asked = StreamRequest(token, await self._authenticate(request.headers), foreign_origin(request.headers))
        match request.method:
            case "PUT":
                response = await self._reserve(asked)
            case "GET":
                await self._service.charge_request(asked.principal, 0)  # before the look-up of the token
                async with self._streams.open_stream(asked) as stream:
                    await _stream_response(stream)(scope, receive, send)
                return
            case "POST":
                await self._start_operation(asked, await self._read_request(request, asked.principal))
                response = Response(status_code=202, headers=_budget_headers())
            case _:
                await self._streams.stop_operation(asked, request.query_params.get("operationId", ""))
                response = Response(status_code=200)
        await response(scope, receive, send)

    async def _reserve(self, asked: StreamRequest) -> Response:
        """Charge the caller for a reservation, and return its token."""
        asked.require_caller()
        balance = await self._budgets.charge(asked.principal, RESERVATION_COST, paid=0)
        if balance is not None and not balance.granted:
            raise rate_limited_error(balance)
        token = await self._streams.reserve(asked.principal, asked.origin)
        return PlainTextResponse(token, 201, {**rate_limit_headers(balance), "Cache-Control": "no-store"})

    async def _start_operation(self, asked: StreamRequest, operation: OperationRequest) -> None:
        asked.require_caller()
        operation_id = (operation.extensions or {}).get("operationId")
        if not isinstance(operation_id, str) or not operation_id:
            raise BadInput("extensions.operationId is missing")
        prepared = await self._service.prepare(asked.principal, operation)
        await self._streams.start_operation(asked, operation_id, operation, prepared)


def _stream_token(request: HttpRequest) -> str:
    return request.headers.get(TOKEN_HEADER) or request.query_params.get("token", "")


def _stream_response(stream: EventStream) -> Response:
    headers = {**EVENT_STREAM_HEADERS, **_budget_headers()}
    return StreamingResponse(stream.events(), media_type=EVENT_STREAM, headers=headers)


def _budget_headers() -> Mapping[str, str]:
    """Return the headers that state the budget of the caller, if something was charged."""
    return rate_limit_headers(CURRENT_BALANCE.get())
