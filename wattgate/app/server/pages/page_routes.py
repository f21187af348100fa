"""The routes of the HTML pages, CSS and ES modules in `static/`."""

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from wattgate.app.server.pages.account_pages import account_page_routes
from wattgate.app.server.pages.display_shell import display_shell_routes, shell_version
from wattgate.app.server.pages.error_page import error_page_route
from wattgate.app.server.pages.landing_page import Demonstration, landing_route
from wattgate.app.server.pages.login_page import login_page_route
from wattgate.app.server.pages.pages import STATIC_DIRECTORY
from wattgate.app.server.pages.reference_page import reference_page_route
from wattgate.app.settings import Settings
from wattgate.operations.core.runner import Runner


def page_routes(settings: Settings, runner: Runner, demonstration: Demonstration | None) -> list[BaseRoute]:
    """Return the routes of the pages and their static files. The REST reference is under the REST base path."""
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
        *display_shell_routes(),
        login_page_route(
            "/pair",
            "pair/index.html",
            welcome="Log in to show your home on a screen.",
            runner=runner,
            configured_id=configured_id,
        ),
        login_page_route(
            "/preview",
            "preview/index.html",
            welcome="Log in as a template editor or administrator to edit the templates of alerts.",
            runner=runner,
            configured_id=configured_id,
        ),
        *account_page_routes(runner, configured_id),
        Mount("/static", StaticFiles(directory=STATIC_DIRECTORY)),
    ]
