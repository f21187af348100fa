"""The documented REST interface: one Starlette route for each path of the catalogue."""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wattgate.clock import Clock, utc_now
from wattgate.errors import MAX_TOLD, BadInput, GatewayError, Internal, Path, Problem, Unauthenticated
from wattgate.graphql.edge import Edge
from wattgate.graphql.fields import edge_of
from wattgate.graphql.operation import Operation, Rest
from wattgate.graphql.runner import Runner, permit
from wattgate.graphql.schema import Schema
from wattgate.principal import Principal
from wattgate.rest_compat.arguments import Binder, body_of
from wattgate.rest_compat.exchange import Answer, Exchange
from wattgate.rest_compat.render import name_of, render_field, renderer
from wattgate.rest_compat.shapes import BODY, SHAPES, UNIFORM, Shape, placed

log = logging.getLogger(__name__)

Authenticate = Callable[[Mapping[str, str]], Awaitable[Principal]]
"""From request headers to the principal; Unauthenticated where credentials are shown and are not good."""

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
    many: bool
    edges: tuple[tuple[Any, Edge], ...]

    @classmethod
    def of(cls, operation: Operation, rest: Rest, schema: Schema) -> "Place":
        many = getattr(operation.returns, "__origin__", None) is list
        shown = operation.returns.__args__[0] if many else operation.returns
        fields = {name_of(field): field for field in shown.__strawberry_definition__.fields}
        edges = [(fields[name], edge_of(fields[name])) for name in rest.edges]
        return cls(
            operation=operation,
            rest=rest,
            shape=SHAPES.get(f"{rest.method} {rest.path}", UNIFORM),
            binder=Binder(schema, operation),
            render=renderer(operation.returns),
            many=many,
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
        return _json(told, place.rest.status, headers)

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
        rows = result if place.many else [result]
        edges = {
            name: await self._runner.load(edge, principal, rows, {})
            for name, (_, edge) in zip(place.rest.edges, place.edges, strict=True)
        }
        return _told(place, Answer(exchange, result, place.render(result), edges))


def _told(place: Place, answer: Answer) -> Any:
    if place.shape.body:
        return place.shape.body(answer)
    if place.rest.acknowledges:
        return {"status": "OK", **{name: answer.told[name] for name in place.rest.acknowledges}}
    told = answer.told if place.many else [answer.told]
    for name, (field, _) in zip(place.rest.edges, place.edges, strict=True):
        for one, value in zip(told, answer.edges[name], strict=True):
            one[name] = render_field(field, value)
    return answer.told


NOTHING_MORE: Mapping[Any, Any] = MappingProxyType({})


def refusal(
    error: GatewayError, more: Mapping[str, Any] = NOTHING_MORE, places: Mapping[Path, Path] = NOTHING_MORE
) -> Response:
    """The error contract as a REST answer. Bad input is told in the legacy words, with every problem beside."""
    problems = [replace(problem, path=placed(problem.path, places)) for problem in error.problems]
    body: dict[str, Any] = {**more, "error": error.message, **error.extensions}
    if isinstance(error, BadInput) and problems:
        body |= {
            "error": _legacy_words(problems),
            "description": error.message,
            "problems": [problem.told() for problem in problems[:MAX_TOLD]],
        }
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return _json(body, error.status, headers)


async def tell_http(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, in the form of every other error."""
    assert isinstance(error, HTTPException)
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "BAD_INPUT")
    told = {404: "Not found", 405: "Method not allowed"}.get(error.status_code, error.detail)
    body = {"error": told, **Internal("").extensions, "code": code}
    return _json(body, error.status_code, dict(error.headers or {}))


def _legacy_words(problems: list[Problem]) -> str:
    """`missing elements -a -b` where nothing else is wrong, else `incorrect elements -a -b`."""
    kind = "missing" if all(problem.missing for problem in problems) else "incorrect"
    places = dict.fromkeys(".".join(map(str, problem.path)) or "body" for problem in problems[:MAX_TOLD])
    return f"{kind} elements " + " ".join(f"-{place}" for place in places)


def _json(body: Any, status: int, headers: dict[str, str]) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type="application/json")
