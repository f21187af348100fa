"""The documented REST interface: one Starlette route for each path of the catalogue."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wattgate.clock import Clock, utc_now
from wattgate.errors import GatewayError, Unauthenticated
from wattgate.graphql.edge import Edge
from wattgate.graphql.fields import edge_of
from wattgate.graphql.operation import Operation, Rest
from wattgate.graphql.runner import Runner, permit
from wattgate.graphql.schema import Schema
from wattgate.principal import Authenticate, Principal
from wattgate.rest_compat.arguments import Binder, body_of
from wattgate.rest_compat.exchange import Answer, Exchange
from wattgate.rest_compat.render import name_of, render_field, renderer
from wattgate.rest_compat.shapes import BODY, SHAPES, UNIFORM
from wattgate.rest_compat.shapes.shape import Shape
from wattgate.rest_compat.tell import json_response, refusal

OPERATION_HEADER = "x-graphql-operation"


def routes(
    operations: Iterable[Operation],
    *,
    runner: Runner,
    schema: Schema,
    authenticate: Authenticate,
    clock: Clock = utc_now,
) -> list[BaseRoute]:
    """A route for each path, with the methods that the catalogue has for it."""
    places: dict[str, dict[str, Place]] = defaultdict(dict)
    for operation in operations:
        for rest in operation.rest:
            places[rest.path][rest.method] = Place.of(operation, rest, schema)
    door = Door(runner, authenticate, clock)
    return [Route(path, partial(door.serve, by_method), methods=list(by_method)) for path, by_method in places.items()]


@dataclass(frozen=True, slots=True)
class Place:
    """A method and path, with everything about its operation that does not change from request to request."""

    operation: Operation
    rest: Rest
    shape: Shape
    binder: Binder
    render: Callable[[Any], Any]
    edges: tuple[tuple[Any, Edge], ...]

    @classmethod
    def of(cls, operation: Operation, rest: Rest, schema: Schema) -> "Place":
        fields = {name_of(field): field for field in operation.shape.__strawberry_definition__.fields}
        edges = [(fields[name], edge_of(fields[name])) for name in rest.edges]
        return cls(
            operation=operation,
            rest=rest,
            shape=SHAPES.get(f"{rest.method} {rest.path}", UNIFORM),
            binder=Binder(schema, operation),
            render=renderer(operation),
            edges=tuple((field, edge) for field, edge in edges if edge is not None),
        )


class Door:
    """Serves places: authenticates, gathers arguments, runs the operation, renders what it gave."""

    def __init__(self, runner: Runner, authenticate: Authenticate, clock: Clock) -> None:
        self._runner = runner
        self._authenticate = authenticate
        self._clock = clock

    async def serve(self, places: Mapping[str, Place], request: Request) -> Response:
        place = places["GET" if request.method == "HEAD" else request.method]
        try:
            principal = await self._authenticate(request.headers)
            told = await self._answer(place, principal, request)
        except GatewayError as error:
            more = place.shape.refused if isinstance(error, Unauthenticated) else {}
            return refusal(error, more, {**BODY, **place.shape.places})
        headers = {OPERATION_HEADER: place.operation.name}
        return json_response(told, place.rest.status, headers)

    async def _answer(self, place: Place, principal: Principal, request: Request) -> Any:
        if place.rest.scheme not in (None, principal.scheme):
            raise Unauthenticated("Access denied")
        permit(principal, place.operation.needs)
        exchange = Exchange(
            path=request.path_params,
            query=request.query_params,
            body=body_of(await request.body()),
            now=self._clock(),
        )
        given = (place.shape.given or place.binder.given)(exchange)
        arguments = place.binder.bind(given)
        result = await self._runner.run(place.operation, principal, arguments)
        rows = result if place.operation.many else [result]
        edges = {
            name: await self._runner.load(edge, principal, rows, {})
            for name, (_, edge) in zip(place.rest.edges, place.edges, strict=True)
        }
        return _told(place, Answer(exchange, result, edges, place.render))


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
