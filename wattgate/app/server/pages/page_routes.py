"""The routes of the HTML pages, CSS and ES modules in `static/`, with the pages of accounts, errors and the display."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from wattgate.app.server.pages.graphql_page import reference_page_route
from wattgate.app.server.pages.landing_page import Demonstration, landing_route
from wattgate.app.server.pages.login_application import APPLICATION_PARAMETERS, LoginApplication, find_login_application
from wattgate.app.server.pages.login_page import START_NOTICE, application_choice, login_notice, login_page_route
from wattgate.app.server.pages.pages import STATIC_DIRECTORY, ConstantAnswer, constant_route, html_answer, read_template
from wattgate.app.settings import Settings
from wattgate.delivery.account_mails import CONFIRM_EMAIL_PAGE, RESET_PAGE, VERIFY_PAGE
from wattgate.error_guide import ERROR_GUIDE, ErrorGuide, status_and_retryable
from wattgate.operations.core.runner import Runner


def page_routes(settings: Settings, runner: Runner, demonstration: Demonstration | None) -> list[BaseRoute]:
    """Return the routes of the pages. The REST reference is under the REST base path."""
    configured_id = settings.display_application_id
    return [
        reference_page_route(settings, runner, demonstration),
        landing_route(settings, runner, demonstration),
        error_page_route(),
        login_page_route(
            "/display",
            "display/index.html",
            welcome="Log in to see the energy use of your home.",
            runner=runner,
            configured_id=configured_id,
            shell=shell_version(),
        ),
        login_page_route(
            "/pair",
            "pair/index.html",
            welcome="Log in to show your home on a screen.",
            runner=runner,
            configured_id=configured_id,
        ),
        login_page_route(
            "/add-data",
            "add-data/index.html",
            welcome="Log in to add a file of readings to your home.",
            runner=runner,
            configured_id=configured_id,
            api=settings.base_path,
        ),
        login_page_route(
            "/your-data",
            "your-data/index.html",
            welcome="Log in to see, download or delete your data.",
            runner=runner,
            configured_id=configured_id,
            api=settings.base_path,
            is_private=str(settings.private_gateway).lower(),
            kept_days=str(settings.kept_billing_days),
        ),
        login_page_route(
            "/preview",
            "preview/index.html",
            welcome="Log in as a template editor or administrator to edit the templates of alerts.",
            runner=runner,
            configured_id=configured_id,
        ),
        *account_page_routes(runner, configured_id),
    ]


def file_routes() -> list[BaseRoute]:
    """Return the routes of the files of pages, which are the same for everybody."""
    return [*display_shell_routes(), Mount("/static", StaticFiles(directory=STATIC_DIRECTORY))]


# The shell of /display: the manifest that makes it installable, and the worker that shows it without a network.

PAGE_PATH = "/display"
WORKER_PATH = "/display/worker.js"
MANIFEST_PATH = "/display/manifest.webmanifest"

KEPT_PARAMETERS = (*APPLICATION_PARAMETERS, "name", "home", "span", "theme", "lang")
"""Parameters of the page's address that the installed page keeps."""

MAX_PARAMETER_CHARACTERS = 100
"""Longer values of these parameters are left out of the manifest."""

SHELL_FOLDERS = ("display", "shared")
SHELL_SUFFIXES = {".css", ".js", ".png", ".svg", ".woff2"}

_WORKER = STATIC_DIRECTORY / "display" / "worker.js"


@cache
def shell_files() -> tuple[str, ...]:
    """Return the paths of the files that the page loads, as their addresses have them. They are read once."""
    files = (file for folder in SHELL_FOLDERS for file in (STATIC_DIRECTORY / folder).rglob("*"))
    kept = sorted(file for file in files if file.suffix in SHELL_SUFFIXES and file != _WORKER)
    return "/static/favicon.svg", *(f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}" for file in kept)


@cache
def shell_version() -> str:
    """Return a digest of the page and all its files. It is the same on each gateway of one version."""
    digest = hashlib.sha256()
    templates = [f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}" for file in _templates()]
    for path in [*shell_files(), *templates]:
        content = (STATIC_DIRECTORY / path.removeprefix("/static/")).read_bytes()
        digest.update(f"{path} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def display_shell_routes() -> list[Route]:
    """Return the routes of the worker and of the manifest."""
    shell = json.dumps({"version": shell_version(), "files": shell_files()})
    worker = f"self.SHELL = {shell};\n{_WORKER.read_text()}"
    manifest = json.loads((STATIC_DIRECTORY / "display" / "manifest.json").read_text())

    worker_answer = ConstantAnswer(worker.encode(), "text/javascript", {"Service-Worker-Allowed": PAGE_PATH})

    async def serve_manifest(request: Request) -> Response:
        content = json.dumps(manifest_for(manifest, request.query_params))
        return Response(content, media_type="application/manifest+json")

    return [constant_route(WORKER_PATH, worker_answer), Route(MANIFEST_PATH, serve_manifest)]


def manifest_for(manifest: dict[str, Any], query: QueryParams) -> dict[str, Any]:
    """Return the manifest of a page with these parameters. The installed page starts with the same ones."""
    kept = [
        (name, value)
        for name, value in query.multi_items()
        if name in KEPT_PARAMETERS and len(value) <= MAX_PARAMETER_CHARACTERS
    ]
    return {**manifest, "start_url": f"{PAGE_PATH}?{urlencode(kept)}" if kept else PAGE_PATH}


def _templates() -> list[Any]:
    """Return the HTML that the gateway builds the page of."""
    return [STATIC_DIRECTORY / "display" / "index.html", *sorted((STATIC_DIRECTORY / "shared").glob("*.html"))]


# The pages on which people register, take codes from mails and set a new password. They need no log-in.
#
# A code is in the fragment of a link. Browsers do not send fragments, so it gets into no access log.

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
                start_notice=START_NOTICE,
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


_LINK = re.compile(r"\[([^\[\]]+)\]\([^\[()]+\)")
"""A Markdown link. Its target is a page of the documentation, which the gateway does not serve."""

_CODE = re.compile(r"`([^`]+)`")


def error_page_route() -> Route:
    """Return the route of the page of error codes."""
    links = "\n".join(f'<li><a href="#{code}">{code}</a></li>' for code in ERROR_GUIDE)
    sections = "\n".join(_section(code, guide) for code, guide in ERROR_GUIDE.items())
    content = read_template("errors/index.html").substitute(links=links, sections=sections)
    return constant_route("/errors", html_answer(content))


def _section(code: str, guide: ErrorGuide) -> str:
    status, retryable = status_and_retryable(code)
    steps = "".join(f"<li>{_to_html(step)}</li>" for step in guide.steps)
    retry = "Yes, later." if retryable else "No. The same request fails again."
    return (
        f'<section id="{code}"><h2><a href="#{code}">{code}</a></h2><dl>'
        f"<dt>Status</dt><dd>{status}</dd>"
        f"<dt>Retry</dt><dd>{retry}</dd>"
        f"<dt>Cause</dt><dd>{_to_html(guide.cause)}</dd>"
        f"<dt>What to do</dt><dd>{_to_html(guide.action)}<ul>{steps}</ul></dd>"
        f"<dt>Example</dt><dd><code>{escape(guide.example)}</code></dd>"
        "</dl></section>"
    )


def _to_html(text: str) -> str:
    """Return Markdown with inline code and links as HTML. Links become their text."""
    return _CODE.sub(r"<code>\1</code>", escape(_LINK.sub(r"\1", text), quote=False))
