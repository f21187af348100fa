"""Routes of the HTML pages, CSS and ES modules in `static/`. `security_headers` has their headers."""

from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

STATIC_DIRECTORY = Path(__file__).parents[1] / "static"


def page_route(path: str, file: str, *, welcome: str = "") -> Route:
    """Return the route of a page of `static/`. `welcome` is the text of its login form, if it has one."""
    login = _read_template("shared/login.html").substitute(welcome=welcome)
    content = _read_template(file).substitute(login=login)

    async def serve(request: object) -> HTMLResponse:
        return HTMLResponse(content)

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
            welcome="Log in as an administrator to edit the templates of alerts.",
        ),
        Mount("/static", StaticFiles(directory=STATIC_DIRECTORY)),
    ]
