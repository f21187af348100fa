"""The pages: plain HTML, CSS and ES modules from `static/`, served under a strict content security policy."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parents[1] / "static"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

PREVIEW_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; "
        "font-src 'self'; connect-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
}
"""A mail in a frame of the page inherits its policy: it may have styles and pictures, and no scripts."""


class _Assets(StaticFiles):
    """Static files that carry the pages' headers."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


def page(path: str, file: str, headers: Mapping[str, str] = HEADERS, *, welcome: str = "") -> Route:
    """A page of `static/` at a path. `welcome` is what its log-in form says, where it has one."""
    login = _read("shared/login.html").substitute(welcome=welcome)
    content = _read(file).substitute(login=login)

    async def serve(request: object) -> HTMLResponse:
        return HTMLResponse(content, headers=headers)

    return Route(path, serve)


def _read(file: str) -> Template:
    return Template((STATIC / file).read_text())


def pages(base_path: str) -> list[BaseRoute]:
    """The routes of the pages and of what they load; the REST interface's reference stands under its base path."""
    return [
        page(f"{base_path}/docs", "reference/index.html"),
        page("/", "index.html"),
        page("/display", "display/index.html", welcome="Log in to see what your home is using."),
        page(
            "/preview",
            "preview/index.html",
            PREVIEW_HEADERS,
            welcome="Log in as an administrator to write what alerts say.",
        ),
        Mount("/static", _Assets(directory=STATIC)),
    ]
