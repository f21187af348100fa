"""Check what a second gateway on the same database would lack: shared events, keys, files and addresses."""

from collections.abc import Iterator

from sqlalchemy.engine import make_url

from wattgate.app.cli.checks.result import CheckResult, passed, warning
from wattgate.app.settings import Settings
from wattgate.db.connections.database_name import sqlite_file

SUBJECT = "several gateways"


def check_several_gateways(settings: Settings) -> CheckResult:
    """Name each setting that gateways on several machines need, and that is missing.

    A gateway with SQLite is alone, so it lacks nothing until Redis or a worker elsewhere shows that there are others.
    """
    lacks = list(_missing(settings))
    if make_url(settings.database_url).get_backend_name() == "sqlite" and settings.redis_url is None:
        return passed(SUBJECT, "this one is alone: SQLite belongs to one machine. Two need PostgreSQL and Redis")
    if lacks:
        return warning(SUBJECT, f"a second gateway needs more: {'; '.join(lacks)}. Ignore this if there is only one")
    return passed(SUBJECT, "the settings have all that a second gateway shares. Give each the same values")


def _missing(settings: Settings) -> Iterator[str]:
    file = sqlite_file(make_url(settings.database_url))
    if file is not None:
        yield f"the database {file} belongs to this machine: set WATTGATE_DATABASE_URL to PostgreSQL"
    if settings.redis_url is None:
        yield (
            "without WATTGATE_REDIS_URL, live events and budgets stay within one gateway, so that displays miss "
            "readings that another one records"
        )
    if settings.secret_keys is None and settings.secret_keys_file is None:
        yield "the key of stored secrets is a file beside the database: set the same WATTGATE_SECRET_KEYS in each"
    if settings.public_url is None:
        yield "links in mails need the address of the proxy before them: set WATTGATE_PUBLIC_URL"
