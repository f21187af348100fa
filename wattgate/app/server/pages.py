"""Routes of the HTML pages, CSS and ES modules in `static/`, with a strict content security policy."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC_DIRECTORY = Path(__file__).parents[1] / "static"

PAGE_HEADERS = {
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
    **PAGE_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; "
        "font-src 'self'; connect-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
}
"""Headers of the template page. A mail in its frame inherits the policy: styles and images, but no scripts."""


class _StaticFilesWithHeaders(StaticFiles):
    """Static files with the headers of the pages."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(PAGE_HEADERS)
        return response


def page_route(path: str, file: str, headers: Mapping[str, str] = PAGE_HEADERS, *, welcome: str = "") -> Route:
    """Return the route of a page of `static/`. `welcome` is the text of its login form, if it has one."""
    login = _read_template("shared/login.html").substitute(welcome=welcome)
    content = _read_template(file).substitute(login=login)

    async def serve(request: object) -> HTMLResponse:
        return HTMLResponse(content, headers=headers)

    return Route(path, serve)


def _read_template(file: str) -> Template:
    return Template((STATIC_DIRECTORY / file).read_text())


def page_routes(base_path: str) -> list[BaseRoute]:
    """Return the routes of the pages and their static files. The REST reference is under the REST base path."""
    return [
        page_route(f"{base_path}/docs", "reference/index.html"),
        page_route("/", "index.html"),
        page_route("/display", "display/index.html", welcome="Log in to see the energy use of your home."),
        page_route(
            "/preview",
            "preview/index.html",
            PREVIEW_HEADERS,
            welcome="Log in as an administrator to edit the templates of alerts.",
        ),
        Mount("/static", _StaticFilesWithHeaders(directory=STATIC_DIRECTORY)),
    ]
