"""Read the HTML pages in `static/`, and serve the fixed ones: the same encoded response for everybody."""

import gzip
import hashlib
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wattgate.app.settings import Settings
from wattgate.graphql.transport.http import MIN_COMPRESSED_BYTES
from wattgate.requests.accept import has_tag

# Responses that are the same for everybody: encoded and compressed once, with an entity tag for each encoding.

GZIP_LEVEL = 9
"""The level of the best compression: the work is done once."""

REVALIDATED = "no-cache"
"""Clients may store the response, and ask with its entity tag whether it has changed."""


class ConstantAnswer:
    """A response without parts that depend on the request, as the endpoint of a route.

    A client that accepts gzip gets the compressed content, and one that sends the entity tag of its copy gets 304.
    """

    def __init__(self, content: bytes, media_type: str, headers: dict[str, str] | None = None) -> None:
        digest = hashlib.sha256(content).hexdigest()[:32]
        self._content = content
        self._gzipped = gzip.compress(content, GZIP_LEVEL, mtime=0) if len(content) >= MIN_COMPRESSED_BYTES else None
        self._tags = f'"{digest}"', f'"{digest}-gzip"'
        self._media_type = media_type
        self._headers = {"Cache-Control": REVALIDATED, "Vary": "Accept-Encoding", **(headers or {})}

    async def __call__(self, request: Request) -> Response:
        is_gzipped = self._gzipped is not None and accepts_gzip(request.headers.get("accept-encoding", ""))
        headers = {**self._headers, "ETag": self._tags[is_gzipped]}
        if has_tag(request.headers.get("if-none-match", ""), self._tags[is_gzipped]):
            return Response(status_code=304, headers=headers)
        if not is_gzipped:
            return Response(self._content, media_type=self._media_type, headers=headers)
        headers["Content-Encoding"] = "gzip"
        return Response(self._gzipped, media_type=self._media_type, headers=headers)


def html_answer(content: str) -> ConstantAnswer:
    """Return the response with a constant page."""
    return ConstantAnswer(content.encode(), "text/html")


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a header Accept-Encoding allows gzip (RFC 9110, section 12.5.3)."""
    weights = dict(map(_coding, accept_encoding.lower().split(",")))
    weight = weights.get("gzip", weights.get("*", "q=0"))
    return weight.replace(" ", "").rstrip("0").rstrip(".") not in ("q=", "q=0")


def _coding(element: str) -> tuple[str, str]:
    name, _, weight = element.partition(";")
    return name.strip(), weight.strip()


# Read the HTML pages in `static/` and serve the fixed ones.


STATIC_DIRECTORY = Path(__file__).parents[2] / "static"


def page_route(path: str, file: str) -> Route:
    """Return the route of a page of `static/` that is the same for everybody."""
    return constant_route(path, html_answer(read_template(file).substitute()))


def constant_route(path: str, answer: ConstantAnswer) -> Route:
    """Return the route of a response that is the same for everybody."""

    async def serve(request: Request) -> Response:
        return await answer(request)

    return Route(path, serve)


def serves_ide(settings: Settings) -> bool:
    """Return whether browsers get the GraphQL IDE: as the setting says, else in development only."""
    return settings.environment == "development" if settings.graphql_ide is None else settings.graphql_ide


def read_template(file: str) -> Template:
    """Return a file of `static/` whose placeholders begin with a dollar sign."""
    return Template((STATIC_DIRECTORY / file).read_text())
