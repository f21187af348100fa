"""The REST interface: one Starlette route for each path in the catalogue.

A `Dispatcher` serves all routes. It authenticates the caller, parses the arguments, charges the cost to the caller's
budgets, runs the operation, and renders the result in the endpoint's format.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from graphql import GraphQLInputObjectType, get_named_type
from starlette.convertors import StringConvertor
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send
from strawberry.types import get_object_definition

from wattgate.access_log import RequestReads
from wattgate.clock import Clock, has_passed, utc_now
from wattgate.errors import (
    ENDED_CREDENTIALS,
    CostTooHigh,
    Forbidden,
    GatewayError,
    RateLimited,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.json_encoding import LARGE_COST, encode_large_json
from wattgate.graphql.execution.schema import Schema
from wattgate.graphql.transport.http import send_body
from wattgate.operations.core.fields import edge_of
from wattgate.operations.core.input_limits import check_arguments
from wattgate.operations.core.operation import JSON, Operation, OperationKind, RestRoute
from wattgate.operations.core.row_reader import check_permission
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.bulk_recorder import RunOperation
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of
from wattgate.principal import Authenticate, AuthScheme, FindPayer, Principal, Role, pay_oneself
from wattgate.rate_limit.budgets import UNLIMITED_BUDGETS, Budgets, rate_limit_headers
from wattgate.requests.accept import entity_tag, has_tag
from wattgate.requests.bodies import (
    CREDENTIAL_CHECK_INTERVAL,
    DEFAULT_BODIES,
    BodyHold,
    BodyReader,
    InputWorker,
    announced_length,
    announces_body,
    check_content,
    media_type_of,
)
from wattgate.requests.client import (
    UNLIMITED_ADDRESSES,
    AddressLimiter,
    AddressPolicy,
    client_has_gone,
    current_client,
    never,
)
from wattgate.requests.fair_share import run_in_thread
from wattgate.requests.request_context import REQUEST_COST
from wattgate.requests.request_limits import FREE_BODY_BYTES, check_anonymous_size, size_cost
from wattgate.requests.request_path import decode_segment, has_encoded_slash
from wattgate.rest_compat.arguments import parse_form_body, parse_json_body, request_arguments
from wattgate.rest_compat.bulk_intake import NDJSON, record_stream
from wattgate.rest_compat.call_charge import (
    CallCharge,
    StrangerCharge,
    UploadCharge,
    WaitEnds,
    call_cost,
    cost_of_call,
    cost_of_edge_items,
    depends_on_arguments,
)
from wattgate.rest_compat.error_responses import NO_STORE, error_response, json_response
from wattgate.rest_compat.file_intake import (
    FILE_TYPES,
    UNBUFFERED,
    TakeFile,
    check_announced,
    file_arguments,
    report_progress,
    take_file,
)
from wattgate.rest_compat.formats import DEFAULT_FORMAT, INPUT_REQUEST_PATHS, LEGACY_FORMATS
from wattgate.rest_compat.formats.legacy_format import FORM, LegacyFormat
from wattgate.rest_compat.known_members import IGNORED_HEADER, KnownMembers
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.row_renderer import build_renderer, render_field

OPERATION_HEADER = "x-graphql-operation"

SCHEME_CREDENTIALS = {
    AuthScheme.BASIC: "a username and password in Authorization: Basic",
    AuthScheme.TOKEN: "a token in the header token or in Authorization: Bearer",
}
"""The credentials of each scheme, in words of error messages."""


def build_routes(
    operations: Iterable[Operation],
    *,
    runner: Runner,
    schema: Schema,
    authenticate: Authenticate,
    bodies: BodyReader = DEFAULT_BODIES,
    budgets: Budgets = UNLIMITED_BUDGETS,
    clock: Clock = utc_now,
    address_limits: AddressLimiter = UNLIMITED_ADDRESSES,
    find_payer: FindPayer = pay_oneself,
    is_draining: Callable[[], bool] = never,
) -> list[BaseRoute]:
    """Return one route for each path, with the methods that the catalogue lists for the path.

    `is_draining` returns whether the gateway shuts down.
    """
    endpoints: dict[str, dict[str, EndpointsByMedia]] = defaultdict(lambda: defaultdict(dict))
    for operation in operations:
        for rest in operation.rest:
            endpoints[rest.path][rest.method][rest.media_type] = _endpoint(operation, rest, schema)
    dispatcher = Dispatcher(runner, authenticate, bodies, budgets, clock, address_limits, find_payer, is_draining)
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
    known: KnownMembers

    @classmethod
    def create(cls, operation: Operation, rest: RestRoute, schema: Schema) -> "Endpoint":
        fields = {
            rest_name_of(field): field
            for field in get_object_definition(operation.rest_result_type, strict=True).fields
        }
        edges = [(fields[name], edge_of(fields[name])) for name in rest.edges]
        legacy_format = LEGACY_FORMATS.get(rest.route_key, DEFAULT_FORMAT)
        binder = ArgumentBinder(schema, operation)
        return cls(
            operation=operation,
            rest=rest,
            legacy_format=legacy_format,
            binder=binder,
            render=build_renderer(operation),
            edges=tuple((field, edge) for field, edge in edges if edge is not None),
            known=KnownMembers.of(rest, legacy_format, binder.arguments),
        )


@lru_cache(maxsize=1024)
def _endpoint(operation: Operation, rest: RestRoute, schema: Schema) -> Endpoint:
    """Return the endpoint of a route. Applications with the same schema share it, because it has no state."""
    return Endpoint.create(operation, rest, schema)


EndpointsByMedia = dict[str, Endpoint]
"""The endpoints of one method and path, by the media type of the response."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The bound arguments of a request, and their source.

    The source is the request, or, for a streamed body, a function that records the body while it arrives. `hold` is the
    memory of a body. `ignored` names the members that the endpoint does not know. With `reports_progress`, the function
    also takes `progress`, and the response is a stream of lines.
    """

    arguments: dict[str, Any]
    source: LegacyRequest | Callable[[RunOperation, UploadCharge], Awaitable[dict[str, Any]]]
    wait_ends: WaitEnds = WaitEnds()  # noqa: RUF009 (it is frozen)
    hold: BodyHold | None = None
    ignored: str = ""
    reports_progress: bool = False


class Dispatcher:
    """Serve endpoints: authenticate, parse arguments, charge the cost, run the operation and render its result."""

    def __init__(
        self,
        runner: Runner,
        authenticate: Authenticate,
        bodies: BodyReader,
        budgets: Budgets,
        clock: Clock,
        address_limits: AddressLimiter,
        find_payer: FindPayer,
        is_draining: Callable[[], bool],
    ) -> None:
        self._find_payer = find_payer
        self._is_draining = is_draining
        self._runner = runner
        self._address_limits = address_limits
        self._bodies = bodies
        self._find_revoked = bodies.find_revoked
        self._authenticate = authenticate
        self._budgets = budgets
        self._inputs = InputWorker()
        self._clock = clock

    async def dispatch(self, endpoints: Mapping[str, EndpointsByMedia], request: Request) -> Response:
        endpoint = _select_endpoint(endpoints["GET" if request.method == "HEAD" else request.method], request)
        charge: CallCharge | None = None
        parsed: ParsedRequest | None = None
        known_cost = REQUEST_COST.set(partial(expected_cost, endpoint, request, self._clock))
        try:
            if request.method not in ("GET", "HEAD") and announces_body(request.headers):
                await self._accept_content(request, endpoint.legacy_format.accepted_content)
            principal = await self._authenticate(request.headers)
            if principal.role is Role.ANONYMOUS:
                await self._charge_address(endpoint.operation.address_policy)
                charge = stranger = StrangerCharge(self._budgets, principal, self._address_limits)
                parsed = await self._accept(endpoint, request, principal, charge)
                await self._name_payer(endpoint.operation, principal, parsed.arguments, stranger)
            else:
                charge = CallCharge(self._budgets, principal)
                parsed = await self._accept(endpoint, request, principal, charge)
            response = _complete(endpoint, request, parsed, await self._execute(endpoint, principal, parsed, charge))
        except GatewayError as error:
            response = _render_error(endpoint, error)
        finally:
            if parsed is not None and parsed.hold is not None:
                parsed.hold.release()
            REQUEST_COST.reset(known_cost)
        response.headers.update(rate_limit_headers(None if charge is None else charge.balance))
        return response

    async def _charge_address(self, next_policy: AddressPolicy | None) -> None:
        """Charge a request without credentials to its address. Raise RateLimited with the longest wait.

        `next_policy` is the one that the operation then charges. A refusal states when the address has both.
        """
        client = current_client()
        try:
            await self._address_limits.charge(AddressPolicy.REQUEST, client)
        except RateLimited as refusal:
            if next_policy is not None:
                try:
                    await self._address_limits.charge(next_policy, client)
                except RateLimited as next_refusal:
                    raise max(refusal, next_refusal, key=lambda error: error.retry_after or 0) from None
                await self._address_limits.refund(next_policy, client)
            raise

    async def _name_payer(
        self, operation: Operation, principal: Principal, arguments: Mapping[str, Any], charge: StrangerCharge
    ) -> None:
        """Let the application that an argument names pay for a call without credentials, if there is one."""
        name = arguments.get(operation.naming_argument or "")
        if isinstance(name, str):
            charge.name_payer(await self._find_payer(principal, name))

    async def _accept_content(self, request: Request, accepted: Collection[str]) -> None:
        """Raise UnsupportedMediaType for a body of a wrong type.

        The caller is not authenticated yet, because a page of any origin can send such a body. So the address pays.
        """
        try:
            check_content(request.headers, accepted)
        except UnsupportedMediaType:
            await self._address_limits.charge(AddressPolicy.REQUEST, current_client())
            raise

    async def _accept(
        self, endpoint: Endpoint, request: Request, principal: Principal, charge: CallCharge
    ) -> ParsedRequest:
        """Check the permission, and parse the request.

        A known caller pays for a refusal as for a refused root field of GraphQL. Without credentials, the address pays.
        """
        try:
            _check_scheme(endpoint, principal)
            check_permission(principal, endpoint.operation.needs, is_read=endpoint.operation.is_read)
            return await self._parse_request(endpoint, request, principal, charge)
        except (RateLimited, CostTooHigh, Unavailable):  # the size is refused, or there is no memory for it
            raise
        except GatewayError:
            if principal.role is not Role.ANONYMOUS:
                await charge.add(STATEMENT_WEIGHT)
            raise

    async def _parse_request(
        self, endpoint: Endpoint, request: Request, principal: Principal, charge: CallCharge
    ) -> ParsedRequest:
        if read_stream := endpoint.legacy_format.body_readers.get(_media_type(request)):
            ends = WaitEnds(client_has_gone(request.scope), self._is_draining)
            return ParsedRequest({}, partial(record_stream, read_stream, request.stream()), ends)
        query_size = len(request.scope["query_string"])
        if principal.role is Role.ANONYMOUS:
            check_anonymous_size(query_size)
        await charge.add_size(query_size)
        endpoint.known.check_repeated(request.query_params)
        if endpoint.legacy_format.take_file is not None and _media_type(request) in FILE_TYPES:
            return self._parse_file_request(endpoint, endpoint.legacy_format.take_file, request)
        body, hold = await self._bodies.read(request.receive, principal, charge, announced_length(request.headers))
        try:
            legacy_request = LegacyRequest(
                path=request.path_params,
                query=request.query_params,
                body=_parse_body(endpoint, request, body),
                now=self._clock(),
            )
            arguments = await self._inputs.run(principal, len(body), _bind_arguments, endpoint, legacy_request)
        except BaseException:
            if hold is not None:
                hold.release()
            raise
        ignored = endpoint.known.ignored(request.query_params, legacy_request.body)
        return ParsedRequest(arguments, legacy_request, hold=hold, ignored=ignored)

    def _parse_file_request(self, endpoint: Endpoint, take: TakeFile, request: Request) -> ParsedRequest:
        """Return a request whose body is a file. Nothing of it is read yet."""
        check_announced(announced_length(request.headers))
        options = get_named_type(endpoint.binder.arguments["options"].type)
        assert isinstance(options, GraphQLInputObjectType)  # each operation on a file takes them
        arguments = endpoint.binder.bind(file_arguments(request.query_params, frozenset(options.fields)))
        check_arguments(endpoint.operation, arguments)  # no operation runs with them
        source = partial(take_file, take, request.stream(), arguments, endpoint.render)
        ends = WaitEnds(client_has_gone(request.scope), self._is_draining)
        ignored = endpoint.known.ignored(request.query_params, None)
        return ParsedRequest({}, source, ends, ignored=ignored, reports_progress=NDJSON in _accepted_types(request))

    async def _execute(
        self, endpoint: Endpoint, principal: Principal, parsed: ParsedRequest, charge: CallCharge
    ) -> Response:
        """Charge the estimate, run the operation, and charge the rest by the real size of its result."""
        headers = {OPERATION_HEADER: endpoint.operation.field_path}
        cost = call_cost(endpoint.operation, parsed.arguments, [edge for _, edge in endpoint.edges], self._clock)
        await charge.add(cost.estimate)
        if not isinstance(parsed.source, LegacyRequest):
            upload = UploadCharge(charge, parsed.wait_ends)
            take = partial(parsed.source, self._run_parts(principal, upload), upload)
            if parsed.reports_progress:
                lines = await report_progress(take, partial(_render_error, endpoint))
                headers |= {**NO_STORE, **UNBUFFERED}
                return StreamingResponse(lines, endpoint.rest.status, headers, media_type=NDJSON)
            return json_response(await take(), endpoint.rest.status, headers)
        run_part = self._run_parts(principal, charge)
        result = await self._runner.run(endpoint.operation, principal, parsed.arguments, charge=charge)
        if endpoint.operation.kind is OperationKind.MUTATION:
            charge.mark_mutation_executed()
        if endpoint.operation.rest_result is not None:
            result = endpoint.operation.rest_result
        rows = result if endpoint.operation.rest_returns_list else [result]
        if endpoint.operation.result_units is not None:
            await charge.add_done(endpoint.operation.result_units(result))
        await charge.raise_to(cost.for_rows(len(rows)), loaded_units=cost.row_units(len(rows)))
        edges = await self._load_edges(endpoint, principal, rows, charge)
        rest_result = RestResult(parsed.source, result, edges, endpoint.render)
        if endpoint.legacy_format.render_stream is None:
            if charge.charged >= LARGE_COST:
                body = await encode_large_json(await run_in_thread(partial(_response_body, endpoint, rest_result)))
                return EncodedResponse(body, endpoint.rest.status, {**NO_STORE, **headers}, JSON)
            return json_response(_response_body(endpoint, rest_result), endpoint.rest.status, headers)

        async def rerun(**replaced: Any) -> Any:
            return await run_part(endpoint.operation, {**parsed.arguments, **replaced})

        chunks = endpoint.legacy_format.render_stream(rest_result, rerun)
        return StreamingResponse(chunks, endpoint.rest.status, headers, media_type=endpoint.rest.media_type)

    async def _load_edges(
        self, endpoint: Endpoint, principal: Principal, rows: Sequence[Any], charge: CallCharge
    ) -> dict[str, list[Any]]:
        """Return the values of the included edges by name, one for each row."""
        edges, reads = {}, RequestReads()
        if endpoint.operation.kind is OperationKind.MUTATION:
            principal = principal.reading_own_changes()
        for name, (_, edge) in zip(endpoint.rest.edges, endpoint.edges, strict=True):
            values = edges[name] = await self._runner.load(edge, principal, rows, {}, reads, charge)
            if extra := cost_of_edge_items(values):
                await charge.add_loaded(extra, extra)
            for value in values:
                if isinstance(value, GatewayError):  # the edge of one row may fail while those of the others succeed
                    raise value
        return edges

    def _run_parts(self, principal: Principal, charge: CallCharge | UploadCharge) -> RunOperation:
        """Return a function that runs an operation for each part of a stream, in the body or in the response.

        It charges each part first, and waits for the budget if necessary. It raises Unauthenticated when the
        credentials are no longer valid, within CREDENTIAL_CHECK_INTERVAL.
        """
        checked_at = self._clock()

        async def run_part(operation: Operation, arguments: Mapping[str, Any]) -> Any:
            nonlocal checked_at
            await charge.add_paced(cost_of_call(operation, arguments, clock=self._clock))
            now = self._clock()
            if has_passed(CREDENTIAL_CHECK_INTERVAL, checked_at, now):
                if await self._find_revoked([principal]):
                    raise Unauthenticated(ENDED_CREDENTIALS)
                checked_at = now
            return await self._runner.run(operation, principal, arguments)

        return run_part


_EXCLUDED = ("q=0", "q=0.0", "q=0.00", "q=0.000")

MIN_ITEM_BYTES = 16
"""Minimum bytes of an item in a list of a body, such as a reading. An item costs one unit."""


def expected_cost(endpoint: Endpoint, request: Request, clock: Clock) -> int:
    """Return what a call costs besides the hash of its password, before its body is read.

    It is exact unless arguments in a body determine the cost. Then it is a cost that the call does not exceed. The work
    is that of a short query, which is free in each request.
    """
    query_size, length = len(request.scope["query_string"]), announced_length(request.headers) or 0
    arguments: dict[str, Any] = {}
    extra = 0
    if length and not endpoint.legacy_format.body_readers.get(_media_type(request)):
        extra = length // MIN_ITEM_BYTES if depends_on_arguments(endpoint.operation) else 0
    elif query_size <= FREE_BODY_BYTES and depends_on_arguments(endpoint.operation):
        legacy_request = LegacyRequest(path=request.path_params, query=request.query_params, body={}, now=clock())
        try:
            arguments = _bind_arguments(endpoint, legacy_request)
        except GatewayError:
            return size_cost(query_size) + STATEMENT_WEIGHT
    operation = cost_of_call(endpoint.operation, arguments, [edge for _, edge in endpoint.edges], clock)
    return size_cost(query_size) + size_cost(length) + operation + extra


class EncodedResponse(Response):
    """A response whose body is written in parts if it is large."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_body(send, bytes(self.body))


def _complete(endpoint: Endpoint, request: Request, parsed: ParsedRequest, response: Response) -> Response:
    """Add the names of ignored members, and the entity tag of the answer to a query. Return 304 for a present copy.

    A large answer has no tag, because its digest would take as long as its encoding.
    """
    if parsed.ignored:
        response.headers[IGNORED_HEADER] = parsed.ignored
    if type(response) is not Response or endpoint.operation.kind is not OperationKind.QUERY:
        return response
    response.headers["ETag"] = tag = entity_tag(bytes(response.body))
    if not has_tag(request.headers.get("if-none-match", ""), tag):
        return response
    kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return Response(status_code=304, headers=kept)


def _check_scheme(endpoint: Endpoint, principal: Principal) -> None:
    """Raise Unauthenticated without credentials, and Forbidden for those of a scheme that the path does not accept."""
    accepted = endpoint.rest.accepted_scheme
    if accepted is None or accepted is principal.scheme:
        return
    needed = SCHEME_CREDENTIALS[accepted]
    if principal.scheme is AuthScheme.NONE:
        raise Unauthenticated(f"The request has no credentials. This path needs {needed}.")
    raise Forbidden(f"This path accepts only {needed}.")


def _select_endpoint(endpoints: EndpointsByMedia, request: Request) -> Endpoint:
    """Return the endpoint for the Accept header.

    A media type other than JSON must be named in the header. The default is JSON, or the only endpoint.
    """
    accepted = _accepted_types(request)
    selected = next((endpoint for media, endpoint in endpoints.items() if media in accepted and media != JSON), None)
    return selected or endpoints.get(JSON) or next(iter(endpoints.values()))


def _accepted_types(request: Request) -> set[str]:
    """Return the media types that the header Accept names, without those that it excludes by `q=0`."""
    parts = (part.partition(";") for part in request.headers.get("accept", "").lower().split(","))
    return {media.strip() for media, _, quality in parts if quality.strip() not in _EXCLUDED}


def _render_error(endpoint: Endpoint, error: GatewayError) -> Response:
    legacy_format = endpoint.legacy_format
    is_rejection = isinstance(error, RateLimited | Unauthenticated)
    return error_response(
        error,
        legacy_format.rejection_members if is_rejection else {},
        {**INPUT_REQUEST_PATHS, **legacy_format.request_paths},
        legacy_format.transform_error,
    )


def _parse_body(endpoint: Endpoint, request: Request, body: bytes) -> Any:
    is_form = endpoint.legacy_format.accepts_form and _media_type(request) == FORM
    return (parse_form_body if is_form else parse_json_body)(body)


def _bind_arguments(endpoint: Endpoint, request: LegacyRequest) -> dict[str, Any]:
    parse_arguments = endpoint.legacy_format.parse_arguments
    raw = request_arguments(request, endpoint.binder.arguments) if parse_arguments is None else parse_arguments(request)
    return endpoint.binder.bind(raw)


def _media_type(request: Request) -> str:
    return media_type_of(request.headers.get("content-type", ""))


def _response_body(endpoint: Endpoint, result: RestResult) -> Any:
    if endpoint.legacy_format.render_body:
        return endpoint.legacy_format.render_body(result)
    if endpoint.rest.acknowledged_fields:
        return {"status": "OK", **{name: result.rendered[name] for name in endpoint.rest.acknowledged_fields}}
    rows = result.rendered if endpoint.operation.rest_returns_list else [result.rendered]
    for name, (field, _) in zip(endpoint.rest.edges, endpoint.edges, strict=True):
        for row, value in zip(rows, result.edges[name], strict=True):
            row[name] = render_field(field, value)
    return result.rendered


Key = tuple[int, str | None]
"""The number of segments of a path, and the first one; None for one that is a parameter."""


class RestRouter(Router):
    """A router that compares a request only with the routes of its number of segments and of its first segment.

    Starlette's router compares it with all of them, one after another. It still serves requests that no route accepts.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        super().__init__(routes)
        keyed = [(_key_of(route), route) for route in routes]
        firsts_by_count: dict[int, set[str | None]] = defaultdict(set)
        for (count, first), _ in keyed:
            firsts_by_count[count].add(first)
        self._routes_by_key: dict[Key, list[BaseRoute]] = defaultdict(list)
        for (count, first), route in keyed:
            for accepted in firsts_by_count[count] if first is None else (first,):
                self._routes_by_key[count, accepted].append(route)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the first route that accepts it."""
        if scope["type"] == "http":
            for route in self._candidates(scope["path"].removeprefix(scope.get("root_path", ""))):
                match, child_scope = route.matches(scope)
                if match is Match.FULL:
                    scope.setdefault("router", self)
                    scope["route"] = route
                    scope.update(child_scope)
                    if has_encoded_slash(scope.get("raw_path") or b""):
                        decoded = {name: decode_segment(text) for name, text in scope["path_params"].items()}
                        scope["path_params"] = decoded
                    await route.handle(scope, receive, send)
                    return
        await super().app(scope, receive, send)

    def _candidates(self, path: str) -> Sequence[BaseRoute]:
        """Return the routes that may accept a path, in their order.

        A pattern also accepts a newline after its end, which the segments of such a path do not show.
        """
        if "\n" in path:
            return self.routes
        _, _, segments = path.partition("/")
        count, first = segments.count("/"), segments.partition("/")[0]
        known = self._routes_by_key.get((count, first))
        return self._routes_by_key.get((count, None), ()) if known is None else known


def _key_of(route: BaseRoute) -> Key:
    """Return the key of a route. Raise TypeError for one whose parameters may contain slashes."""
    if not isinstance(route, Route) or any(type(one) is not StringConvertor for one in route.param_convertors.values()):
        raise TypeError(f"{route!r} has no fixed number of segments")
    segments = route.path.removeprefix("/").split("/")
    return len(segments) - 1, None if "{" in segments[0] else segments[0]
