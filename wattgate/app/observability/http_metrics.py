"""Metrics of requests, and where Prometheus reads metrics."""

import logging
from time import perf_counter

from prometheus_client import start_http_server
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.metrics import HTTP_SECONDS, summed, told

log = logging.getLogger(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
OTHER = "other"
"""Any other method, and any path that no route has: a caller may send whatever it likes."""


class Measured:
    """Measures each request until its answer is sent; an event stream is no request that takes long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, streams = 500, False

        async def watched(message: Message) -> None:
            nonlocal status, streams
            if message["type"] == "http.response.start":
                status = message["status"]
                streams = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
            await send(message)

        begun = perf_counter()
        try:
            await self._app(scope, receive, watched)
        finally:
            if not streams:
                method = scope["method"] if scope["method"] in METHODS else OTHER
                seconds, route = perf_counter() - begun, route_of(scope)
                HTTP_SECONDS.labels(method, route, status).observe(seconds)
                log.debug("%s %s was answered with %d in %.1f ms", method, route, status, seconds * 1000)


def route_of(scope: Scope) -> str:
    """The template of the route that took a request, such as /api/v0-1/resource/{resourceId}."""
    route = scope.get("route")
    if route is None:
        return OTHER
    root: str = scope["root_path"].removeprefix(scope.get("app_root_path", ""))
    return root if isinstance(route, Mount) else root + str(route.path)


async def metrics(request: Request) -> Response:
    """What Prometheus asks for."""
    content, media_type = told(request.headers.get("accept", ""))
    return Response(content, media_type=media_type)


def on_the_gateways_port(settings: Settings) -> bool:
    """Whether /metrics stands beside the interface: in development, or where its port is the same."""
    return settings.environment == "development" or settings.metrics_port == settings.port


def open_metrics_port(settings: Settings, folder: str | None = None) -> None:
    """Serve the metrics on a port of their own where the settings name one, for as long as the process lives.

    `folder` is that of several processes, whose sum is told. Unavailable where the port cannot be had.
    """
    host, port = settings.metrics_host, settings.metrics_port
    if port is None or port == settings.port:
        return
    try:
        start_http_server(port, host, summed(folder))
    except OSError as error:
        raise Unavailable(f"cannot tell metrics on {host}, port {port}: {error.strerror}") from None
