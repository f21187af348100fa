"""The headers that every response gets: those for security, by one table of paths, and those of CORS."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from starlette.responses import PlainTextResponse, Response

from wattgate.enums import Audience
from wattgate.rest_compat.known_members import IGNORED_HEADER
from wattgate.rest_compat.routes import OPERATION_HEADER

Field = tuple[bytes, bytes]

ALLOW_ORIGIN = "Access-Control-Allow-Origin"

ALLOWED_METHODS = ("GET", "POST", "PUT", "DELETE")
"""The methods that pages may use.

They may send each header: the gateway ignores unknown ones, and uses no cookies for callers. A fixed list would stop
all requests of a page whose monitoring adds a header of its own.
"""

EXPOSED_HEADERS = (
    *("X-Trace-Id", OPERATION_HEADER, IGNORED_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After"),
    *("ETag", "Allow"),
)
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


BASE = "{base_path}"
"""The place of the REST base path in the paths of the table."""

HSTS = (b"strict-transport-security", b"max-age=31536000")
"""Browsers use only https for a year. Subdomains are left out, because they may belong to other services."""

CLOSED = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The policy of an answer that is data: as a document, it may load and run nothing."""

OWN_FILES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The policy of a page: only files of the gateway, without scripts and styles in the page."""

NO_FEATURES = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "publickey-credentials-get",
        "serial",
        "usb",
        "xr-spatial-tracking",
    )
)
"""The browser features that no page uses."""


@dataclass(frozen=True)
class HeaderPolicy:
    """The security headers of a kind of response, with the reason where it differs from the strictest one.

    `cache_control` applies to responses that set no `Cache-Control`. `is_document` adds the headers that have an effect
    only on pages.
    """

    content_security_policy: str
    cache_control: str = "no-store"
    is_document: bool = False
    reason: str = ""

    @cached_property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers without `Cache-Control`, as ASGI sends them."""
        fields = {
            "content-security-policy": self.content_security_policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
        }
        if self.is_document:
            fields |= {"cross-origin-opener-policy": "same-origin", "permissions-policy": NO_FEATURES}
        return tuple((name.encode(), value.encode()) for name, value in fields.items())

    @cached_property
    def cache_header(self) -> tuple[bytes, bytes]:
        """The header `Cache-Control` of responses that set none."""
        return b"cache-control", self.cache_control.encode()


API = HeaderPolicy(CLOSED)
PAGE = HeaderPolicy(OWN_FILES, "no-cache", is_document=True)
STATIC = HeaderPolicy(OWN_FILES, "no-cache", reason="Browsers revalidate the files, and get 304 if they are the same.")
MAIL_PAGE = HeaderPolicy(
    OWN_FILES.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
        "img-src 'self' data:", "img-src 'self' data: https:"
    ),
    "no-cache",
    is_document=True,
    reason="The mail in the sandboxed frame inherits the policy. Mails contain styles, and images of any site.",
)
MAIL_HTML = HeaderPolicy(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; font-src https: data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    is_document=True,
    reason="The HTML of a mail contains styles, and images of any site. It runs nothing, in a frame of the outbox.",
)
SHARED_PREVIEW = HeaderPolicy(
    "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    is_document=True,
    reason="The page of a shared preview runs no scripts. A sandboxed frame shows the HTML of the mail.",
)
HEADER_POLICIES: Mapping[str, HeaderPolicy] = MappingProxyType(
    {
        "/": PAGE,
        "/display": PAGE,
        "/display/worker.js": STATIC,
        "/display/manifest.webmanifest": STATIC,
        "/pair": PAGE,
        "/add-data": PAGE,
        "/your-data": PAGE,
        "/verify": PAGE,
        "/reset": PAGE,
        "/confirm-email": PAGE,
        "/register": PAGE,
        "/errors": PAGE,
        "/preview": MAIL_PAGE,
        "/outbox": MAIL_PAGE,
        "/outbox/mails": API,
        "/outbox/mails/{application_id}/{delivery_id}": API,
        "/outbox/mails/{application_id}/{delivery_id}/html": MAIL_HTML,
        "/unsubscribe/{token}": PAGE,
        "/preview/shared/{token}": SHARED_PREVIEW,
        "/preview/shared/{token}/html": MAIL_HTML,
        "/static": STATIC,
        "/graphql": API,
        "/schema.graphql": API,
        **dict.fromkeys((f"/schema.{audience.value}.graphql" for audience in Audience), API),
        "/healthz": API,
        "/readyz": API,
        "/metrics": API,
        f"{BASE}/docs": PAGE,
        f"{BASE}/openapi.json": API,
        f"{BASE}": API,
        f"{BASE}/ns": API,
    }
)
"""The policy of each route. A route with `/` after its path, such as a file, has the policy of the longest prefix."""

MOUNTS = frozenset({"/static", BASE, f"{BASE}/ns"})
"""The paths of the table that also stand for all paths below them."""

HTML_POLICIES: Mapping[str, HeaderPolicy] = MappingProxyType({"/graphql": PAGE})
"""The policies of responses with HTML, for paths that return both data and a page."""


def _accepts(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    """Return whether a route with parameters accepts the segments of a path."""
    return len(pattern) == len(segments) and all(
        expected == segment or (expected.startswith("{") and segment != "")
        for expected, segment in zip(pattern, segments, strict=True)
    )


class HeaderPolicies:
    """The table for a REST base path."""

    def __init__(self, base_path: str) -> None:
        paths = {path.replace(BASE, base_path): policy for path, policy in HEADER_POLICIES.items()}
        self._exact = {path: policy for path, policy in paths.items() if "{" not in path}
        self._patterns = [(path.split("/"), policy) for path, policy in paths.items() if "{" in path]
        mounts = sorted((path.replace(BASE, base_path) for path in MOUNTS), key=len, reverse=True)
        self._mounts = [(f"{path}/", paths[path]) for path in mounts]

    def find(self, path: str, content_type: bytes = b"") -> HeaderPolicy:
        """Return the policy of a path without repeated slashes. A path that no route has gets the strictest one."""
        if content_type.startswith(b"text/html") and path in HTML_POLICIES:
            return HTML_POLICIES[path]
        known = self._exact.get(path)
        if known is not None:
            return known
        for prefix, policy in self._mounts:
            if path.startswith(prefix):
                return policy
        segments = path.split("/")
        return next((policy for pattern, policy in self._patterns if _accepts(pattern, segments)), API)


class SecurityHeaders:
    """The security headers of the responses of a gateway.

    With `https_only`, or if the request came by https, the response also has `Strict-Transport-Security`. No response
    sets these headers itself, except for `Cache-Control`, which it keeps.
    """

    def __init__(self, policies: HeaderPolicies, https_only: bool) -> None:
        self._policies = policies
        self._https_only = https_only

    def extend(self, path: str, scheme: str, fields: list[tuple[bytes, bytes]]) -> None:
        """Add the security headers to those of a response. The path of its request has no repeated slashes."""
        values = dict(fields)
        policy = self._policies.find(path, values.get(b"content-type", b""))
        fields += policy.headers
        if b"cache-control" not in values:
            fields.append(policy.cache_header)
        if self._https_only or scheme == "https":
            fields.append(HSTS)
