"""The pages on which people register, take codes from mails and set a new password. They need no log-in.

A code is in the fragment of a link. Browsers do not send fragments, so it gets into no access log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from wattgate.app.server.pages.login_application import LoginApplication, find_login_application
from wattgate.app.server.pages.login_page import application_choice, login_notice
from wattgate.app.server.pages.pages import read_template
from wattgate.delivery.account_mails import CONFIRM_EMAIL_PAGE, RESET_PAGE, VERIFY_PAGE
from wattgate.operations.core.runner import Runner

REGISTER_PAGE = "/register"
LOGIN_PAGE = "/display"


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page: its title, and the name of its HTML and its script in `static/account`."""

    title: str
    name: str


ACCOUNT_PAGES: Mapping[str, AccountPage] = MappingProxyType(
    {
        VERIFY_PAGE: AccountPage("Confirm your registration", "verify"),
        RESET_PAGE: AccountPage("Choose a new password", "reset"),
        CONFIRM_EMAIL_PAGE: AccountPage("Confirm your e-mail address", "confirm-email"),
        REGISTER_PAGE: AccountPage("Register", "register"),
    }
)
"""The pages by their paths."""


def account_page_routes(runner: Runner, configured_id: str | None) -> list[Route]:
    """Return the routes of the account pages. `configured_id` is the application of the setting."""
    return [_page_route(path, page, runner, configured_id) for path, page in ACCOUNT_PAGES.items()]


def _page_route(path: str, page: AccountPage, runner: Runner, configured_id: str | None) -> Route:
    frame = read_template("account/page.html")
    content = read_template(f"account/{page.name}.html").substitute()

    async def serve(request: Request) -> HTMLResponse:
        application = await find_login_application(runner, configured_id, request.query_params)
        query = await _shortest_query(runner, configured_id, application)
        return HTMLResponse(
            frame.substitute(
                title=page.title,
                script=f"{page.name}.js",
                content=content,
                notice=login_notice(application),
                application=application.application_id or "",
                query=query,
                hidden="" if application.application_id else " hidden",
                choice=application_choice(application) if application.problem else "",
                login_path=LOGIN_PAGE + query,
            )
        )

    return Route(path, serve)


async def _shortest_query(runner: Runner, configured_id: str | None, application: LoginApplication) -> str:
    """Return the query with which other pages find the same application: none if it is the default one.

    The browser stores the sessions of applications that addresses name apart from those of the default one.
    """
    if application.application_id is None or not application.requested:
        return ""
    default = await find_login_application(runner, configured_id, QueryParams())
    if default.application_id == application.application_id:
        return ""
    return f"?{urlencode({'application': application.application_id})}"
