"""Check to which application users log in at /display and /preview."""

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning
from wattgate.app.cli.reading_context import create_reader
from wattgate.app.server.pages.login_application import MAX_LOOKUP_SECONDS, LoginProblem, find_login_application
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database

SUBJECT = "log-in pages"


async def check_login_pages(settings: Settings, database: Database) -> CheckResult:
    """Find the application of the log-in pages."""
    configured_id = settings.display_application_id
    found = await find_login_application(create_reader(settings, database), configured_id)
    if found.application_id is not None:
        return passed(SUBJECT, f"users log in to the application {found.application_id}")
    if found.problem is LoginProblem.NO_APPLICATION:
        return warning(SUBJECT, "there is no application: create one with wattgate home create")
    if found.problem is LoginProblem.SEVERAL_APPLICATIONS:
        return warning(
            SUBJECT,
            "there are several applications: set WATTGATE_DISPLAY_APPLICATION_ID, or open /display?application=ID; "
            "wattgate app list prints the IDs",
        )
    if found.problem is LoginProblem.NO_DATABASE:
        return failed(
            SUBJECT,
            "the applications cannot be read from the database: the query failed, or took more than "
            f"{MAX_LOOKUP_SECONDS:.0f} seconds. The log names the cause",
        )
    return failed(
        SUBJECT,
        f"no application has the ID {configured_id} of WATTGATE_DISPLAY_APPLICATION_ID: set an ID that wattgate app "
        "list prints, or unset it",
    )
