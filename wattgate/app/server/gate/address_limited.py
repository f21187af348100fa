"""The limit of each client address for requests that need no credentials: pages, files, and the OpenAPI document."""

from collections.abc import Iterable
from copy import copy

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from wattgate.errors import RateLimited
from wattgate.requests.client import AddressLimiter, AddressPolicy, current_client
from wattgate.rest_compat.error_responses import error_response


class AddressLimited:
    """An ASGI application that charges each HTTP request to the client's address before it serves it.

    Above the limit, the response is 429 with `Retry-After`.
    """

    def __init__(self, app: ASGIApp, limits: AddressLimiter) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._limits.charge(AddressPolicy.REQUEST, current_client())
        except RateLimited as error:
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def limit_by_address(routes: Iterable[BaseRoute], limits: AddressLimiter) -> list[BaseRoute]:
    """Return copies of routes that charge each request to the client's address. The given ones stay as they are.

    Raise TypeError for a kind of route that cannot be limited, because it would serve without a limit.
    """
    return [_limited(route, limits) for route in routes]


def _limited(route: BaseRoute, limits: AddressLimiter) -> Route | Mount:
    if not isinstance(route, Route | Mount):
        raise TypeError(f"the route {route!r} has no limit by address: use Route or Mount")
    limited = copy(route)
    limited.app = AddressLimited(route.app, limits)
    return limited
