"""Cross-origin resource sharing (CORS): which pages of other origins may read the responses of the gateway."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from starlette.responses import PlainTextResponse, Response

from wattgate.rest_compat.routes import OPERATION_HEADER

Field = tuple[bytes, bytes]

ALLOW_ORIGIN = "Access-Control-Allow-Origin"

ALLOWED_METHODS = ("GET", "POST", "PUT", "DELETE")
"""The methods that pages may use.

They may send each header: the gateway ignores unknown ones, and uses no cookies for callers. A fixed list would stop
all requests of a page whose monitoring adds a header of its own.
"""

EXPOSED_HEADERS = ("X-Trace-Id", OPERATION_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After")
"""The headers of responses that pages may read beside those that browsers always allow."""

MAX_AGE_SECONDS = 600
"""The time for which a browser keeps the response to a preflight request."""

PREFLIGHT_VARY = ", ".join(
    ("Origin", *(f"Access-Control-Request-{part}" for part in ("Method", "Headers", "Private-Network")))
)

PREFLIGHT_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Access-Control-Allow-Methods": ", ".join(ALLOWED_METHODS),
        "Access-Control-Max-Age": str(MAX_AGE_SECONDS),
    }
)

_EXPOSED: Field = b"access-control-expose-headers", ", ".join(EXPOSED_HEADERS).encode()
_ALLOW_ORIGIN = ALLOW_ORIGIN.lower().encode()
_VARY = b"vary"


class CorsPolicy:
    """The origins whose pages may use the gateway. `*` allows each."""

    def __init__(self, allowed_origins: Collection[str]) -> None:
        self._origins = frozenset(allowed_origins)
        self._allows_all = "*" in self._origins
        any_origin = {ALLOW_ORIGIN: "*"} if self._allows_all else {}
        self._preflight = {"Vary": PREFLIGHT_VARY, **any_origin, **PREFLIGHT_HEADERS}

    def extend(self, origin: str | None, fields: list[Field]) -> None:
        """Add the headers of CORS to those of a response to a request with this header Origin, or with none."""
        if origin is not None:
            if self._allows_all:
                fields.append((_ALLOW_ORIGIN, b"*"))
            fields.append(_EXPOSED)
            if not self._allows_all and origin in self._origins:
                fields.append((_ALLOW_ORIGIN, origin.encode("latin-1")))
        _vary_by_origin(fields)

    def answer_preflight(self, method: str, headers: Mapping[str, str]) -> Response | None:
        """Return the response to a preflight request. Return None for another request.

        The status is 400 if the policy does not allow the request that the page wants to send.
        """
        origin, wanted = headers.get("origin"), headers.get("access-control-request-method")
        if method != "OPTIONS" or origin is None or wanted is None:
            return None
        answered, refused = dict(self._preflight), list[str]()
        if origin in self._origins and not self._allows_all:
            answered[ALLOW_ORIGIN] = origin
        elif not self._allows_all:
            refused.append("origin")
        if wanted not in ALLOWED_METHODS:
            refused.append("method")
        if (names := headers.get("access-control-request-headers")) is not None:
            answered["Access-Control-Allow-Headers"] = names
        if "access-control-request-private-network" in headers:
            refused.append("private-network")
        if refused:
            return PlainTextResponse(f"Disallowed CORS {', '.join(refused)}", 400, answered)
        return PlainTextResponse("OK", headers=answered)


def _vary_by_origin(fields: list[Field]) -> None:
    """Add Origin to the header Vary: caches must not give the response for one origin to pages of another one."""
    values = [value for name, value in fields if name == _VARY]
    field = _VARY, b", ".join([*values, b"Origin"])
    if not values:
        fields.append(field)
        return
    place = next(place for place, (name, _) in enumerate(fields) if name == _VARY)
    fields[:] = [*fields[:place], field, *(other for other in fields[place + 1 :] if other[0] != _VARY)]
