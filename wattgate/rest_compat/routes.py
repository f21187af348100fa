"""The REST interface: one Starlette route for each path in the catalogue.

A `Dispatcher` serves all routes. It authenticates the caller, parses the arguments, charges the cost to the caller's
budgets, runs the operation, and renders the result in the endpoint's format.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from wattgate.clock import Clock, utc_now
from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import JSON, Operation, RestRoute
from wattgate.graphql.core.runner import Runner, check_permission
from wattgate.graphql.cost.estimate import cost_of_call
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.json_encoding import LARGE_COST, encode_large_json
from wattgate.graphql.execution.schema import Schema
from wattgate.graphql.transport.bulk_recorder import RunOperation
from wattgate.graphql.transport.http import send_body
from wattgate.principal import Authenticate, Principal
from wattgate.realtime.rate_limit.budgets import (
    UNLIMITED_BUDGETS,
    Balance,
    Budgets,
    rate_limit_headers,
    rate_limited_error,
)
from wattgate.rest_compat.arguments import parse_form_body, parse_json_body, request_arguments
from wattgate.rest_compat.bulk_intake import record_stream
from wattgate.rest_compat.error_responses import NO_STORE, error_response, json_response
from wattgate.rest_compat.formats import DEFAULT_FORMAT, INPUT_REQUEST_PATHS, LEGACY_FORMATS
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.row_renderer import build_renderer, render_field, wire_name

OPERATION_HEADER = "x-graphql-operation"


def build_routes(
    operations: Iterable[Operation],
    *,
    runner: Runner,
    schema: Schema,
    authenticate: Authenticate,
    budgets: Budgets = UNLIMITED_BUDGETS,
    clock: Clock = utc_now,
) -> list[BaseRoute]:
    """Return one route for each path, with the methods that the catalogue lists for the path."""
    endpoints: dict[str, dict[str, EndpointsByMedia]] = defaultdict(lambda: defaultdict(dict))
    for operation in operations:
        for rest in operation.rest:
            endpoints[rest.path][rest.method][rest.media_type] = Endpoint.create(operation, rest, schema)
    dispatcher = Dispatcher(runner, authenticate, budgets, clock)
    # "~" sorts after every letter: a literal segment precedes a parameter that would match it too
    sorted_paths = sorted(endpoints.items(), key=lambda entry: entry[0].replace("{", "~"))
    return [
        Route(path, partial(dispatcher.dispatch, by_method), methods=list(by_method))
        for path, by_method in sorted_paths
    ]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation at one method, path and media type, with all values that are the same for every request."""

    operation: Operation
    rest: RestRoute
    legacy_format: LegacyFormat
    binder: ArgumentBinder
    render: Callable[[Any], Any]
    edges: tuple[tuple[Any, EdgeField], ...]

    @classmethod
    def create(cls, operation: Operation, rest: RestRoute, schema: Schema) -> "Endpoint":
        fields = {wire_name(field): field for field in operation.result_type.__strawberry_definition__.fields}
        edges = [(fields[name], edge_of(fields[name])) for name in rest.edges]
        return cls(
            operation=operation,
            rest=rest,
            legacy_format=LEGACY_FORMATS.get(rest.route_key, DEFAULT_FORMAT),
            binder=ArgumentBinder(schema, operation),
            render=build_renderer(operation),
            edges=tuple((field, edge) for field, edge in edges if edge is not None),
        )


EndpointsByMedia = dict[str, Endpoint]
"""The endpoints of one method and path, by the media type of the response."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The bound arguments of a request, and their source.

    The source is the request, or, for a streamed body, a function that records the body while it arrives.
    """

    arguments: dict[str, Any]
    source: LegacyRequest | Callable[[RunOperation], Awaitable[dict[str, Any]]]


class Dispatcher:
    """Serve endpoints: authenticate, parse arguments, charge the cost, run the operation and render its result."""

    def __init__(self, runner: Runner, authenticate: Authenticate, budgets: Budgets, clock: Clock) -> None:
        self._runner = runner
        self._authenticate = authenticate
        self._budgets = budgets
        self._clock = clock

    async def dispatch(self, endpoints: Mapping[str, EndpointsByMedia], request: Request) -> Response:
        endpoint = _select_endpoint(endpoints["GET" if request.method == "HEAD" else request.method], request)
        balance: Balance | None = None
        try:
            principal = await self._authenticate(request.headers)
            if endpoint.rest.scheme not in (None, principal.scheme):
                raise Unauthenticated("Access denied")
            check_permission(principal, endpoint.operation.needs)
            parsed = await self._parse_request(endpoint, request)
            edges = [edge for _, edge in endpoint.edges]
            cost = cost_of_call(endpoint.operation, parsed.arguments, edges, self._clock)
            balance = await self._budgets.charge(principal, cost)
            if balance and not balance.granted:
                raise rate_limited_error(balance)
            response = await self._execute(endpoint, principal, parsed, is_large=cost >= LARGE_COST)
        except GatewayError as error:
            legacy_format = endpoint.legacy_format
            is_rejection = isinstance(error, RateLimited | Unauthenticated)
            response = error_response(
                error,
                legacy_format.rejection_members if is_rejection else {},
                {**INPUT_REQUEST_PATHS, **legacy_format.request_paths},
                legacy_format.transform_error,
            )
        response.headers.update(rate_limit_headers(balance))
        return response

    async def _parse_request(self, endpoint: Endpoint, request: Request) -> ParsedRequest:
        if read_body := endpoint.legacy_format.body_readers.get(_content_type(request)):
            return ParsedRequest({}, partial(record_stream, read_body, request.stream()))
        legacy_request = LegacyRequest(
            path=request.path_params,
            query=request.query_params,
            body=await _read_body(endpoint, request),
            now=self._clock(),
        )
        parse_arguments = endpoint.legacy_format.parse_arguments
        raw = (
            request_arguments(legacy_request, endpoint.binder.arguments)
            if parse_arguments is None
            else parse_arguments(legacy_request)
        )
        return ParsedRequest(endpoint.binder.bind(raw), legacy_request)

    async def _execute(
        self, endpoint: Endpoint, principal: Principal, parsed: ParsedRequest, *, is_large: bool
    ) -> Response:
        headers = {OPERATION_HEADER: endpoint.operation.name}
        run = partial(self._run, principal)
        if not isinstance(parsed.source, LegacyRequest):
            return json_response(await parsed.source(run), endpoint.rest.status, headers)
        result = await run(endpoint.operation, parsed.arguments)
        rows = result if endpoint.operation.returns_list else [result]
        edges = {
            name: await self._runner.load(edge, principal, rows, {})
            for name, (_, edge) in zip(endpoint.rest.edges, endpoint.edges, strict=True)
        }
        for value in chain.from_iterable(edges.values()):
            if isinstance(value, GatewayError):  # the edge of one row may fail while those of the others succeed
                raise value
        rest_result = RestResult(parsed.source, result, edges, endpoint.render)
        if endpoint.legacy_format.render_stream is None:
            if is_large:
                body = await encode_large_json(await asyncio.to_thread(_response_body, endpoint, rest_result))
                return EncodedResponse(body, endpoint.rest.status, {**NO_STORE, **headers}, JSON)
            return json_response(_response_body(endpoint, rest_result), endpoint.rest.status, headers)

        async def rerun(**replaced: Any) -> Any:
            return await run(endpoint.operation, {**parsed.arguments, **replaced})

        chunks = endpoint.legacy_format.render_stream(rest_result, rerun)
        return StreamingResponse(chunks, endpoint.rest.status, headers, media_type=endpoint.rest.media_type)

    async def _run(self, principal: Principal, operation: Operation, arguments: dict[str, Any]) -> Any:
        return await self._runner.run(operation, principal, arguments)


class EncodedResponse(Response):
    """A response whose body is written in parts if it is large."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_body(send, bytes(self.body))


def _select_endpoint(endpoints: EndpointsByMedia, request: Request) -> Endpoint:
    """Return the endpoint for the Accept header.

    A media type other than JSON must be named in the header. The default is JSON, or the only endpoint.
    """
    accepted = {part.split(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")}
    selected = next((endpoint for media, endpoint in endpoints.items() if media in accepted and media != JSON), None)
    return selected or endpoints.get(JSON) or next(iter(endpoints.values()))


async def _read_body(endpoint: Endpoint, request: Request) -> Any:
    is_form = endpoint.legacy_format.accepts_form and _content_type(request) == "application/x-www-form-urlencoded"
    return (parse_form_body if is_form else parse_json_body)(await request.body())


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _response_body(endpoint: Endpoint, result: RestResult) -> Any:
    if endpoint.legacy_format.render_body:
        return endpoint.legacy_format.render_body(result)
    if endpoint.rest.acknowledged_fields:
        return {"status": "OK", **{name: result.rendered[name] for name in endpoint.rest.acknowledged_fields}}
    rows = result.rendered if endpoint.operation.returns_list else [result.rendered]
    for name, (field, _) in zip(endpoint.rest.edges, endpoint.edges, strict=True):
        for row, value in zip(rows, result.edges[name], strict=True):
            row[name] = render_field(field, value)
    return result.rendered
