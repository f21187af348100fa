"""The documented REST interface: one Starlette route for each path of the catalogue."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from wattgate.clock import Clock, utc_now
from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import JSON, Operation, Rest
from wattgate.graphql.core.runner import Runner, permit
from wattgate.graphql.cost.estimate import cost_of_call
from wattgate.graphql.execution.argument_binder import ArgumentBinder
from wattgate.graphql.execution.schema import Schema
from wattgate.graphql.transport.bulk import Run
from wattgate.principal import Authenticate, Principal
from wattgate.realtime.rate_limit.budgets import UNLIMITED, Balance, Budgets, rate_limit_headers, spent
from wattgate.rest_compat.arguments import arguments_of, body_of, form_of
from wattgate.rest_compat.bulk_intake import record_stream
from wattgate.rest_compat.error_responses import json_response, refusal
from wattgate.rest_compat.formats import BODY, SHAPES, UNIFORM
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange
from wattgate.rest_compat.row_renderer import name_of, render_field, renderer

OPERATION_HEADER = "x-graphql-operation"


def routes(
    operations: Iterable[Operation],
    *,
    runner: Runner,
    schema: Schema,
    authenticate: Authenticate,
    budgets: Budgets = UNLIMITED,
    clock: Clock = utc_now,
) -> list[BaseRoute]:
    """A route for each path, with the methods that the catalogue has for it."""
    places: dict[str, dict[str, ByMedia]] = defaultdict(lambda: defaultdict(dict))
    for operation in operations:
        for rest in operation.rest:
            places[rest.path][rest.method][rest.media] = Place.of(operation, rest, schema)
    door = Door(runner, authenticate, budgets, clock)
    # "~" is above every letter: what is written out comes before a parameter that would match it too
    in_order = sorted(places.items(), key=lambda place: place[0].replace("{", "~"))
    return [Route(path, partial(door.serve, by_method), methods=list(by_method)) for path, by_method in in_order]


@dataclass(frozen=True, slots=True)
class Place:
    """A method and path, with everything about its operation that does not change from request to request."""

    operation: Operation
    rest: Rest
    shape: Shape
    binder: ArgumentBinder
    render: Callable[[Any], Any]
    edges: tuple[tuple[Any, Edge], ...]

    @classmethod
    def of(cls, operation: Operation, rest: Rest, schema: Schema) -> "Place":
        fields = {name_of(field): field for field in operation.shape.__strawberry_definition__.fields}
        edges = [(fields[name], edge_of(fields[name])) for name in rest.edges]
        return cls(
            operation=operation,
            rest=rest,
            shape=SHAPES.get(rest.place, UNIFORM),
            binder=ArgumentBinder(schema, operation),
            render=renderer(operation),
            edges=tuple((field, edge) for field, edge in edges if edge is not None),
        )


ByMedia = dict[str, Place]
"""The places of one method and path, by the media type of their answer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a request, and the request itself; or what records a body that is still arriving."""

    arguments: dict[str, Any]
    by: Exchange | Callable[[Run], Awaitable[dict[str, Any]]]


class Door:
    """Serves places: authenticates, gathers arguments, charges, runs the operation, renders what it gave."""

    def __init__(self, runner: Runner, authenticate: Authenticate, budgets: Budgets, clock: Clock) -> None:
        self._runner = runner
        self._authenticate = authenticate
        self._budgets = budgets
        self._clock = clock

    async def serve(self, places: Mapping[str, ByMedia], request: Request) -> Response:
        place = _wanted(places["GET" if request.method == "HEAD" else request.method], request)
        balance: Balance | None = None
        try:
            principal = await self._authenticate(request.headers)
            if place.rest.scheme not in (None, principal.scheme):
                raise Unauthenticated("Access denied")
            permit(principal, place.operation.needs)
            asked = await self._asked(place, request)
            edges = [edge for _, edge in place.edges]
            cost = cost_of_call(place.operation, asked.arguments, edges, self._clock)
            balance = await self._budgets.charge(principal, cost)
            if balance and not balance.granted:
                raise spent(balance)
            response = await self._answer(place, principal, asked)
        except GatewayError as error:
            more = place.shape.refused if isinstance(error, RateLimited | Unauthenticated) else {}
            response = refusal(error, more, {**BODY, **place.shape.places}, place.shape.error)
        response.headers.update(rate_limit_headers(balance))
        return response

    async def _asked(self, place: Place, request: Request) -> Asked:
        if take := place.shape.streams.get(_content_type(request)):
            return Asked({}, partial(record_stream, take, request.stream()))
        exchange = Exchange(
            path=request.path_params,
            query=request.query_params,
            body=await _body(place, request),
            now=self._clock(),
        )
        convert = place.shape.given
        raw = arguments_of(exchange, place.binder.arguments) if convert is None else convert(exchange)
        return Asked(place.binder.bind(raw), exchange)

    async def _answer(self, place: Place, principal: Principal, asked: Asked) -> Response:
        headers = {OPERATION_HEADER: place.operation.name}
        run = partial(self._run, principal)
        if not isinstance(asked.by, Exchange):
            return json_response(await asked.by(run), place.rest.status, headers)
        result = await run(place.operation, asked.arguments)
        rows = result if place.operation.many else [result]
        edges = {
            name: await self._runner.load(edge, principal, rows, {})
            for name, (_, edge) in zip(place.rest.edges, place.edges, strict=True)
        }
        for found in chain.from_iterable(edges.values()):
            if isinstance(found, GatewayError):  # an edge may refuse one parent and answer the others
                raise found
        answer = Answer(asked.by, result, edges, place.render)
        if place.shape.stream is None:
            return json_response(_told(place, answer), place.rest.status, headers)

        async def again(**replaced: Any) -> Any:
            return await run(place.operation, {**asked.arguments, **replaced})

        parts = place.shape.stream(answer, again)
        return StreamingResponse(parts, place.rest.status, headers, media_type=place.rest.media)

    async def _run(self, principal: Principal, operation: Operation, arguments: dict[str, Any]) -> Any:
        return await self._runner.run(operation, principal, arguments)


def _wanted(places: ByMedia, request: Request) -> Place:
    """The place of another type than JSON that the request's Accept names; else the one of JSON, or the only one."""
    named = {part.split(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")}
    found = next((place for media, place in places.items() if media in named and media != JSON), None)
    return found or places.get(JSON) or next(iter(places.values()))


async def _body(place: Place, request: Request) -> Any:
    is_form = place.shape.form and _content_type(request) == "application/x-www-form-urlencoded"
    return (form_of if is_form else body_of)(await request.body())


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _told(place: Place, answer: Answer) -> Any:
    if place.shape.body:
        return place.shape.body(answer)
    if place.rest.acknowledges:
        return {"status": "OK", **{name: answer.told[name] for name in place.rest.acknowledges}}
    told = answer.told if place.operation.many else [answer.told]
    for name, (field, _) in zip(place.rest.edges, place.edges, strict=True):
        for one, value in zip(told, answer.edges[name], strict=True):
            one[name] = render_field(field, value)
    return answer.told
