"""The pages for developers: the IDE or a description at /graphql, and the reference of REST."""

import json
from collections.abc import Awaitable, Callable
from html import escape
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.app.server.pages.landing_page import Demonstration
from wattgate.app.server.pages.login_application import find_login_application
from wattgate.app.server.pages.login_page import LOGIN_FIELDS, application_choice, login_notice, session_scope
from wattgate.app.server.pages.pages import html_answer, read_template, serves_ide
from wattgate.app.settings import Settings
from wattgate.operations.core.runner import Runner
from wattgate.requests.accept import accepts_html

Page = Callable[[Request], Awaitable[Response]]

REQUEST_PARAMETERS = frozenset({"query", "documentId", "extensions", "token"})
"""Parameters of an address that make it a GraphQL request or an event stream, which a browser may open too."""


class BrowserEndpoint:
    """An ASGI application that sends browsers to the application of a page, and other requests to the next one."""

    def __init__(self, next_app: ASGIApp, page: ASGIApp) -> None:
        self._next_app = next_app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _opens_page(scope):
            await self._next_app(scope, receive, send)
            return

        async def send_varying(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).add_vary_header("Accept")
            await send(message)

        await self._page(scope, receive, send_varying)


def _opens_page(scope: Scope) -> bool:
    if scope["method"] not in ("GET", "HEAD"):
        return False
    if not accepts_html(dict(scope["headers"]).get(b"accept", b"").decode("latin-1")):
        return False
    names = {name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)}
    return not names & REQUEST_PARAMETERS


def graphql_page(settings: Settings, runner: Runner, demonstration: Demonstration | None) -> Page:
    """Return the handler of the page at /graphql."""
    if not serves_ide(settings):
        return _endpoint_page()
    page, login = read_template("ide/index.html"), read_template("ide/login.html")

    async def serve(request: Request) -> HTMLResponse:
        application = await find_login_application(runner, settings.display_application_id, request.query_params)
        form = login.substitute(
            fields=LOGIN_FIELDS,
            notice=login_notice(application),
            application=escape(application.application_id or ""),
            scope=escape(session_scope(application)),
            hidden="" if application.application_id else " hidden",
            choice=application_choice(application),
        )
        facts = {"demonstration": _demonstration_facts(demonstration)}
        return HTMLResponse(page.substitute(login=form, facts=escape(json.dumps(facts))))

    return serve


def _demonstration_facts(demonstration: Demonstration | None) -> dict[str, object] | None:
    """Return the log-ins of the demonstration, which its landing page publishes too."""
    if demonstration is None:
        return None
    logins = [{"username": username, "shows": shows} for username, shows in demonstration.logins.items()]
    return {"password": demonstration.password, "logins": logins}


def _endpoint_page() -> Page:
    return html_answer(read_template("ide/endpoint.html").substitute()).__call__  # a route takes functions and methods


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
