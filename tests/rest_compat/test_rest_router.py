"""The router of the REST paths: the same routes as Starlette's router finds, in fewer comparisons."""

from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Mount, Route, Router
from starlette.types import ASGIApp, Message, Scope

from tests.support.chance import examples
from tests.support.house import House
from wattgate.operations.catalogue import OPERATIONS
from wattgate.rest_compat.routes import Endpoint, RestRouter, build_routes

BASE = "/base"
PATHS = sorted({rest.path for operation in OPERATIONS for rest in operation.rest})
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
SEGMENTS = sorted({segment for path in PATHS for segment in path.split("/") if segment and "{" not in segment})
ODD_SEGMENTS = ("", " ", "\n", "{resourceId}", "é", "%2F", "..")


async def show_route(path: str, request: Request) -> Response:
    """Return the path and the parameters of the route."""
    return PlainTextResponse(repr((path, dict(request.path_params), request.scope["route"].path, request.url.path)))


def routes() -> list[Route]:
    """Return the routes of the catalogue, and of paths that overlap with each other."""
    methods: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        for rest in operation.rest:
            methods.setdefault(rest.path, set()).add(rest.method)
    overlapping = ("/{any}/fixed", "/fixed/{any}", "/fixed", "/{any}", "/{one}-{two}")
    methods |= {path: {"PUT"} for path in overlapping}
    return [Route(path, partial(show_route, path), methods=sorted(names)) for path, names in methods.items()]


ROUTERS = RestRouter(routes()), Router(routes())
INDEXED, STOCK = (Starlette(routes=[Mount(BASE, router)]) for router in ROUTERS)


async def answer_of(app: ASGIApp, method: str, path: str) -> list[Any]:
    """Return what the application sends."""
    sent: list[Any] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": b"",
        "headers": [(b"host", b"gateway.example")],
        "scheme": "http",
        "server": ("gateway.example", 80),
        "client": ("198.51.100.7", 1),
        "root_path": "",
    }
    await app(scope, receive, send)
    return sent


@st.composite
def requested_paths(draw: st.DrawFn) -> str:
    """Draw a path: one of the catalogue with drawn parameters, or drawn segments."""
    segment = st.one_of(st.sampled_from(SEGMENTS), st.sampled_from(ODD_SEGMENTS), st.text("ab-1", max_size=3))
    if draw(st.booleans()):
        parts = [draw(segment) if "{" in part else part for part in draw(st.sampled_from(PATHS)).split("/")]
        return "/".join(parts) + draw(st.sampled_from(("", "", "", "/", "\n")))
    return "/" + "/".join(draw(st.lists(segment, max_size=4)))


@settings(max_examples=examples(300))
@given(method=st.sampled_from(METHODS), path=requested_paths())
@example(method="GET", path="")
@example(method="PUT", path="/fixed\n")
@example(method="PUT", path="/fixed/fixed")
@example(method="PUT", path="/a-b")
@example(method="POST", path="/resource/a")
async def test_router_answers_as_that_of_starlette(method: str, path: str) -> None:
    assert await answer_of(INDEXED, method, BASE + path) == await answer_of(STOCK, method, BASE + path)
    indexed, stock = ROUTERS
    assert await answer_of(indexed, method, path) == await answer_of(stock, method, path)


async def test_every_path_of_the_catalogue_is_compared_with_few_routes() -> None:
    compared = 0

    class CountedRoute(Route):
        def matches(self, scope: Scope) -> tuple[Match, Scope]:
            nonlocal compared
            compared += 1
            return super().matches(scope)

    counted = [CountedRoute(path, partial(show_route, path), methods=["GET"]) for path in PATHS]
    app = Starlette(routes=[Mount(BASE, RestRouter(counted))])
    for path in PATHS:
        assert (await answer_of(app, "GET", BASE + path))[0]["status"] == 200
    assert compared < len(PATHS) * len(PATHS) / 8


def test_route_without_a_fixed_number_of_segments_is_refused() -> None:
    with pytest.raises(TypeError, match="no fixed number of segments"):
        RestRouter([Route("/files/{name:path}", partial(show_route, ""))])


def endpoints_of(house: House) -> list[Endpoint]:
    """Return the endpoints of new routes for the gateway of a house."""
    gateway = house.gateway
    authenticate = gateway.authenticator.authenticate
    built = build_routes(OPERATIONS, runner=gateway.runner, schema=gateway.schema, authenticate=authenticate)
    handlers = [route.endpoint for route in built if isinstance(route, Route)]
    by_method = [handler.args[0] for handler in handlers if isinstance(handler, partial)]
    return [endpoint for methods in by_method for by_media in methods.values() for endpoint in by_media.values()]


async def test_applications_with_the_same_schema_share_their_endpoints(served: House) -> None:
    """The tests create hundreds of applications, and to create all endpoints takes some tens of milliseconds."""
    first, second = endpoints_of(served), endpoints_of(served)
    assert len(first) == sum(len(operation.rest) for operation in OPERATIONS)
    assert all(one is other for one, other in zip(first, second, strict=True))
