"""The ASGI application around the routes of the gateway: its gate, and its responses for unexpected errors."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from wattgate.app.observability.tracing import TracingBackend
from wattgate.app.server.gate.gate import Gate, GateRules
from wattgate.app.server.gate.response_headers import API, HSTS
from wattgate.app.settings import Settings
from wattgate.errors import Internal
from wattgate.operations.catalogue import OPERATIONS
from wattgate.rest_compat.error_responses import error_response, http_error_handler

PATHS = tuple(dict.fromkeys(rest.path for operation in OPERATIONS for rest in operation.rest))
"""The paths of the REST interface."""


def build_application(
    settings: Settings,
    routes: Sequence[BaseRoute],
    rules: GateRules,
    tracing: TracingBackend,
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """Return an application with the routes, behind the gate of every request."""
    application = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, rules=rules, around=tracing.middleware)],
        exception_handlers={
            HTTPException: http_error_handler(settings.base_path, PATHS),
            Exception: unexpected_error_response,
        },
        lifespan=lifespan,
    )
    # A path is served with and without a slash at its end. Redirects of the router led from /static/ to /static/.
    application.router.redirect_slashes = False
    return application


async def unexpected_error_response(request: Request, error: Exception) -> Response:
    """Return a masked error with the trace ID, under which the log contains the exception.

    Starlette sends it outside the gate, so it gets the security headers here.
    """
    response = error_response(Internal("An error has occurred"))
    response.raw_headers += [*API.headers, *([HSTS] if request.url.scheme == "https" else [])]
    return response
