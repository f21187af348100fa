"""The log-in part of a page: its form, or a notice that says why nobody can log in and what to do."""

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from wattgate.app.application_ids import SAMPLE_APPLICATION_ID
from wattgate.app.server.pages.login_application import LoginApplication, LoginProblem, find_login_application
from wattgate.app.server.pages.pages import read_template
from wattgate.operations.core.runner import Runner

MAX_SHOWN_CHARACTERS = 60
"""Maximum characters of a wrong application ID that a page repeats."""

OWN_SCOPE = "another-application"
"""The session scope of a page whose address names no application. No log-in stores a session in it."""

RELOAD = '<p><a href="">Try again</a></p>'

NOTICES: Mapping[LoginProblem, str] = MappingProxyType(
    {
        LoginProblem.NO_APPLICATION: (
            "<p><strong>This gateway has no application yet.</strong></p>"
            "<p>Its operator creates one together with the first home. This lists the options of the command:</p>"
            "<p><code>wattgate home create --help</code></p>" + RELOAD
        ),
        LoginProblem.SEVERAL_APPLICATIONS: (
            "<p><strong>This gateway serves several applications.</strong> Enter the ID of yours.</p>"
            "<p>The operator can choose one for this page with <code>WATTGATE_DISPLAY_APPLICATION_ID</code>. "
            "<code>wattgate app list</code> prints the IDs.</p>"
        ),
        LoginProblem.MALFORMED_ADDRESS: (
            "<p><strong>“{requested}” is not an application ID.</strong> "
            f"An ID has the form <code>{SAMPLE_APPLICATION_ID}</code>.</p>"
            "<p>The operator of the gateway knows yours: <code>wattgate app list</code> prints the IDs.</p>"
        ),
        LoginProblem.UNKNOWN_ADDRESS: (
            "<p><strong>No application of this gateway has the ID {requested}.</strong> Check the ID.</p>"
            "<p>The operator of the gateway knows yours: <code>wattgate app list</code> prints the IDs.</p>"
        ),
        LoginProblem.AMBIGUOUS_ADDRESS: (
            "<p><strong>The address of this page names several applications.</strong> Enter the ID of yours.</p>"
        ),
        LoginProblem.UNKNOWN_SETTING: (
            "<p><strong>This gateway is not set up correctly.</strong> "
            "Its setting <code>WATTGATE_DISPLAY_APPLICATION_ID</code> names no application.</p>"
            "<p>The operator corrects it: <code>wattgate app list</code> prints the IDs. "
            "If you know the ID of your application, enter it.</p>"
        ),
        LoginProblem.NO_DATABASE: (
            "<p><strong>The gateway cannot reach its database.</strong> "
            "If this stays so, its operator finds the reason with <code>wattgate doctor</code>.</p>" + RELOAD
        ),
    }
)

WITHOUT_CHOICE = {LoginProblem.NO_APPLICATION, LoginProblem.NO_DATABASE}
"""Problems that another application ID does not solve."""

UNUSABLE_ADDRESSES = {
    LoginProblem.MALFORMED_ADDRESS,
    LoginProblem.UNKNOWN_ADDRESS,
    LoginProblem.AMBIGUOUS_ADDRESS,
}


LOGIN_FIELDS = read_template("shared/login-fields.html").substitute()
"""The fields of each log-in form: username, password, the code of a second factor, and the error."""

START_NOTICE = read_template("shared/start-notice.html").substitute()
"""The line that browsers show which cannot run the script of a page. The script removes it."""


def login_page_route(
    path: str, file: str, *, welcome: str, runner: Runner, configured_id: str | None, **values: str
) -> Route:
    """Return the route of a page of `static/` that users log in to. `welcome` is the text above its form.

    The values replace the other placeholders of the page.
    """
    content, login = read_template(file), read_template("shared/login.html")

    async def serve(request: Request) -> HTMLResponse:
        application = await find_login_application(runner, configured_id, request.query_params)
        form = login.substitute(
            welcome=welcome,
            fields=LOGIN_FIELDS,
            notice=login_notice(application),
            application=application.application_id or "",
            scope=session_scope(application),
            hidden="" if application.application_id else " hidden",
            query=f"?{urlencode({'application': application.requested})}" if application.requested else "",
            choice=application_choice(application),
        )
        return HTMLResponse(content.substitute(values, login=START_NOTICE + form))

    return Route(path, serve)


def session_scope(application: LoginApplication) -> str:
    """Return the name under which the browser stores the session of a page, empty for the default application.

    Sessions of applications that addresses name are stored apart, so that one does not end the other.
    """
    return OWN_SCOPE if application.problem in UNUSABLE_ADDRESSES else application.requested


def login_notice(application: LoginApplication) -> str:
    """Return why the page knows no application and what to do, or nothing if it knows one."""
    if application.problem is None:
        return ""
    text = NOTICES[application.problem].replace("{requested}", escape(_shorten(application.requested)))
    return f'<div class="login-notice" role="status" lang="en" data-testid="login-notice">{text}</div>'


def application_choice(application: LoginApplication) -> str:
    """Return the form for another application, or nothing if there can be no other."""
    if application.is_only or application.problem in WITHOUT_CHOICE:
        return ""
    shown = application.application_id or _shorten(application.requested)
    form = read_template("shared/application-choice.html").substitute(application=escape(shown))
    if application.problem is not None:
        return form
    summary = '<summary data-text="login.otherApplication">Log in to another application</summary>'
    return f"<details>{summary}{form}</details>"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"
