"""The REST reference: a page that reads the OpenAPI document, and sends requests with a log-in."""

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from wattgate.app.server.pages.landing_page import Demonstration
from wattgate.app.server.pages.login_application import find_login_application
from wattgate.app.server.pages.login_page import LOGIN_FIELDS
from wattgate.app.server.pages.pages import read_template, serves_ide
from wattgate.app.settings import Settings
from wattgate.operations.core.runner import Runner


def reference_page_route(settings: Settings, runner: Runner, demonstration: Demonstration | None) -> Route:
    """Return the route of the reference, under the REST base path.

    The page knows the application that its users log in to, and the log-ins of the demonstration. If the gateway serves
    the IDE, the page has links that open documents in it.
    """
    page = read_template("reference/index.html")
    logins = "" if demonstration is None else _demonstration_logins(demonstration)

    async def serve(request: Request) -> HTMLResponse:
        application = await find_login_application(runner, settings.display_application_id, request.query_params)
        content = page.substitute(
            fields=LOGIN_FIELDS,
            application=escape(application.application_id or ""),
            ide=" data-ide" if serves_ide(settings) else "",
            demonstration=logins,
        )
        return HTMLResponse(content)

    return Route(f"{settings.base_path}/docs", serve)


def _demonstration_logins(demonstration: Demonstration) -> str:
    buttons = "".join(
        f'<li><button type="button" data-username="{escape(username)}" data-password="{escape(demonstration.password)}"'
        f' data-application="{escape(demonstration.application_id)}" data-testid="demonstration-login">'
        f"{escape(username)} <small>{escape(shows)}</small></button></li>"
        for username, shows in demonstration.logins.items()
    )
    return read_template("reference/demonstration.html").substitute(logins=buttons)
