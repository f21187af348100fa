"""Read the HTML pages in `static/` and serve the fixed ones. `security_headers` has their headers."""

from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse
from starlette.routing import Route

from wattgate.app.settings import Settings

STATIC_DIRECTORY = Path(__file__).parents[1] / "static"


def page_route(path: str, file: str) -> Route:
    """Return the route of a page of `static/` that is the same for everybody."""
    content = read_template(file).substitute()

    async def serve(request: object) -> HTMLResponse:
        return HTMLResponse(content)

    return Route(path, serve)


def serves_ide(settings: Settings) -> bool:
    """Return whether browsers get the GraphQL IDE: as the setting says, else in development only."""
    return settings.environment == "development" if settings.graphql_ide is None else settings.graphql_ide


def read_template(file: str) -> Template:
    """Return a file of `static/` whose placeholders begin with a dollar sign."""
    return Template((STATIC_DIRECTORY / file).read_text())
