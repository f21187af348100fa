"""Metrics of HTTP requests, and the endpoints that serve metrics to Prometheus."""

import asyncio
import logging
from functools import lru_cache

from prometheus_client import Histogram, start_http_server
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Scope

from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.metrics import HTTP_SECONDS, build_registry, render_metrics

log = logging.getLogger(__name__)

KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
OTHER_LABEL = "other"
"""Label of unknown methods and of paths without a route, so that callers cannot create arbitrary label values."""


def method_label(method: str) -> str:
    """Return the label of the method of a request."""
    return method if method in KNOWN_METHODS else OTHER_LABEL


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Measure a request that was answered."""
    _request_seconds(method, route, status).observe(seconds)
    log.debug("%s %s responded with %d in %.1f ms", method, route, status, seconds * 1000)


@lru_cache(4096)
def _request_seconds(method: str, route: str, status: int) -> Histogram:
    """Return the histogram of these labels. The library would convert the labels for each request."""
    return HTTP_SECONDS.labels(method, route, status)


def route_template(scope: Scope) -> str:
    """Return the path template of the route of a request, such as /api/v0-1/resource/{resourceId}."""
    route = scope.get("route")
    if route is None:
        return OTHER_LABEL
    root: str = scope["root_path"].removeprefix(scope.get("app_root_path", ""))
    return root if isinstance(route, Mount) else root + str(route.path)


async def metrics_endpoint(request: Request) -> Response:
    """Return all metrics in the format that the request accepts. A thread renders them, because they can be many.

    Other spellings of the path, such as /metrics/, are not served: a proxy may refuse only this one.
    """
    if request.scope["raw_path"] != b"/metrics":
        raise HTTPException(404)
    content, media_type = await asyncio.to_thread(render_metrics, request.headers.get("accept", ""))
    return Response(content, media_type=media_type)


def serves_metrics_on_main_port(settings: Settings) -> bool:
    """Return whether the main port serves /metrics: in development, or if WATTGATE_METRICS_PORT is WATTGATE_PORT."""
    return settings.environment == "development" or settings.metrics_port == settings.port


def start_metrics_server(settings: Settings, directory: str | None = None) -> None:
    """Serve the metrics on their own port if the settings have one, until the process exits.

    With `directory`, serve the sum of the metrics that several processes write there. Raise Unavailable if the port
    cannot be bound.
    """
    host, port = settings.metrics_host, settings.metrics_port
    if port is None or port == settings.port:
        return
    try:
        start_http_server(port, host, build_registry(directory))
    except OSError as error:
        raise Unavailable(
            f"Cannot serve metrics on {host}, port {port}: {error.strerror}. Stop the program that listens there, or "
            "set WATTGATE_METRICS_PORT to a free port."
        ) from None
