"""Origins of requests: the page of a browser that sends a request, or opens a socket."""

from collections.abc import Collection, Mapping

from starlette.requests import HTTPConnection


def foreign_origin(connection: HTTPConnection) -> str | None:
    """Return the origin of the page that sends the request; None for a page of the gateway, and without a page.

    Browsers send the header with every request to another origin. To the own origin, they send it only with some
    methods.
    """
    return foreign_origin_of(connection.headers)


def foreign_origin_of(headers: Mapping[str, str]) -> str | None:
    """Return the foreign origin in the headers of a request, or None."""
    origin = headers.get("origin")
    is_own = origin is not None and origin.partition("://")[2] == headers.get("host")
    return None if is_own else origin


def is_origin_allowed(headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    """Return whether the page that opens a socket is allowed. Clients other than browsers send no origin."""
    origin = foreign_origin_of(headers)
    return origin is None or origin in allowed or "*" in allowed
