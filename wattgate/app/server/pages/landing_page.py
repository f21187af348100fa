"""The landing page: links to the parts of the gateway, and what to do first.

The demonstration shows its log-ins, unless it runs in production. Other gateways show how their users log in. In
development, and while a gateway has no application, the page also shows how to set up a home.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from wattgate.app.server.pages.login_application import LoginApplication, LoginProblem, find_login_application
from wattgate.app.server.pages.pages import read_template, serves_ide
from wattgate.app.settings import Settings
from wattgate.operations.core.runner import Runner
from wattgate.requests.client import current_client

SAMPLE_USERNAME, SAMPLE_PASSWORD = "ada@example.org", "PASSWORD"
SAMPLE_ID = "APPLICATION_ID"
"""Placeholders in the command that logs in."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The facts about the demonstration on the landing page. All accounts have the same password.

    `logins` has what each user sees, by username.
    """

    application_id: str
    password: str
    logins: Mapping[str, str]
    home_count: int
    months: int


def landing_route(settings: Settings, runner: Runner, demonstration: Demonstration | None) -> Route:
    """Return the route of the landing page."""
    page = read_template("index.html")
    is_development = settings.environment == "development"
    card = read_template(f"landing/graphql-{'editor' if serves_ide(settings) else 'endpoint'}.html").substitute()

    async def serve(request: Request) -> HTMLResponse:
        origin = current_client().origin or _own_address(settings)
        if demonstration is not None:
            sections = [_demonstration_section(demonstration, origin, settings.base_path)]
        else:
            application = await find_login_application(runner, settings.display_application_id, QueryParams())
            sections = _own_sections(application, origin, settings.base_path, is_development=is_development)
        content = page.substitute(base_path=escape(settings.base_path), graphql_card=card, sections="\n".join(sections))
        return HTMLResponse(content)

    return Route("/", serve)


def _own_address(settings: Settings) -> str:
    """Return the address of the gateway by its settings, for a request whose header Host is not a name."""
    return (settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/")


def _demonstration_section(demonstration: Demonstration, origin: str, base_path: str) -> str:
    logins = "".join(
        f"<div><dt>{escape(shows)}</dt><dd><code>{escape(username)}</code></dd></div>"
        for username, shows in demonstration.logins.items()
    )
    return read_template("landing/demonstration.html").substitute(
        home_count=demonstration.home_count,
        months=demonstration.months,
        logins=logins,
        password=escape(demonstration.password),
        application_id=escape(demonstration.application_id),
        command=_login_command(
            origin, base_path, demonstration.application_id, next(iter(demonstration.logins)), demonstration.password
        ),
    )


def _own_sections(application: LoginApplication, origin: str, base_path: str, *, is_development: bool) -> list[str]:
    is_empty = application.problem is LoginProblem.NO_APPLICATION
    sections = []
    if is_empty or is_development:
        sections.append(read_template("landing/first-home.html").substitute())
    if not is_empty:
        application_id = application.application_id or SAMPLE_ID
        command = _login_command(origin, base_path, application_id, SAMPLE_USERNAME, SAMPLE_PASSWORD)
        sections.append(read_template("landing/login.html").substitute(command=command))
    return sections


def _login_command(origin: str, base_path: str, application_id: str, username: str, password: str) -> str:
    """Return the HTML of a curl command that logs in. No value has a quotation mark or a backslash."""
    return escape(
        f"curl {origin}{base_path}/auth \\\n"
        f"  -H 'applicationId: {application_id}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f'  -d \'{{"username": "{username}", "password": "{password}"}}\'',
        quote=False,
    )
