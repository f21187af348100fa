"""The ASGI application around the routes of the gateway: its middleware, and its responses for unexpected errors."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from wattgate.app.observability.http_metrics import HttpMetricsMiddleware
from wattgate.app.observability.tracing import TracingBackend
from wattgate.app.server.client_middleware import ClientMiddleware
from wattgate.app.server.middleware import BodyLimitMiddleware, PathNormalizationMiddleware, TraceIdMiddleware
from wattgate.app.server.security_headers import API, HSTS, HeaderPolicies, SecurityHeaders, SecurityHeadersMiddleware
from wattgate.app.settings import Settings
from wattgate.errors import Internal
from wattgate.rest_compat.bulk_intake import BODY_READERS
from wattgate.rest_compat.error_responses import error_response, http_error_handler
from wattgate.rest_compat.routes import OPERATION_HEADER

ANY_HEADER = "*"
"""The header names that a browser may send: each. The gateway ignores unknown ones, and uses no cookies for callers.

A fixed list would stop all requests of a page whose monitoring adds a header of its own.
"""

READINGS_PATH = "/readings"
"""Path of the bulk intake under the base path. Its request bodies are streamed and have no size limit."""


def build_application(
    settings: Settings,
    routes: Sequence[BaseRoute],
    tracing: TracingBackend,
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """Return an application with the routes, behind the middleware of every request."""
    application = Starlette(
        routes=routes,
        middleware=_middleware(settings, tracing),
        exception_handlers={
            HTTPException: http_error_handler(settings.base_path),
            Exception: unexpected_error_response,
        },
        lifespan=lifespan,
    )
    # A path is served with and without a slash at its end. Redirects of the router led from /static/ to /static/.
    application.router.redirect_slashes = False
    return application


def _middleware(settings: Settings, tracing: TracingBackend) -> list[Middleware]:
    """Return the middleware of all requests, outermost first."""
    return [
        Middleware(TraceIdMiddleware),
        Middleware(ClientMiddleware, trusted_proxies=settings.trusted_proxies),
        Middleware(PathNormalizationMiddleware),
        Middleware(SecurityHeadersMiddleware, security=security_headers(settings)),
        Middleware(CORSMiddleware, **cors_rules(settings)),
        *tracing.middleware,
        Middleware(HttpMetricsMiddleware),
        Middleware(
            BodyLimitMiddleware,
            limit=settings.max_body_bytes,
            streamed={f"{settings.base_path}{READINGS_PATH}": frozenset(BODY_READERS)},
        ),
    ]


def security_headers(settings: Settings) -> SecurityHeaders:
    """Return the security headers of responses."""
    https_only = (settings.public_url or "").startswith("https:")
    return SecurityHeaders(HeaderPolicies(settings.base_path), https_only)


def cors_rules(settings: Settings) -> dict[str, Any]:
    """Return which pages of other origins may use the gateway, as arguments of the CORS middleware."""
    return {
        "allow_origins": settings.allowed_origins,
        "allow_methods": ["GET", "POST", "PUT", "DELETE"],
        "allow_headers": [ANY_HEADER],
        "expose_headers": ["X-Trace-Id", OPERATION_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After"],
        "max_age": 600,
    }


async def unexpected_error_response(request: Request, error: Exception) -> Response:
    """Return a masked error with the trace ID, under which the log contains the exception.

    Starlette sends it outside the middleware, so it gets the security headers here.
    """
    response = error_response(Internal("An error has occurred"))
    response.raw_headers += [*API.headers, *([HSTS] if request.url.scheme == "https" else [])]
    return response
