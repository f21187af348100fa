"""Read the HTML pages in `static/` and serve the fixed ones. `security_headers` has their headers."""

from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wattgate.app.server.pages.constant_answers import ConstantAnswer, html_answer
from wattgate.app.settings import Settings

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
