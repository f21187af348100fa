"""Failures of the database of a command, each as one line with the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from wattgate.app.secret_keys import missing_folder
from wattgate.app.settings import Settings
from wattgate.db.connections.database_name import database_name, sqlite_file
from wattgate.errors import Unavailable

FAILURES = (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""The errors of the drivers and of SQLAlchemy. Some are faults of a statement, not of the database."""

FAILURE_STATES = ("08", "28", "3D", "42501", "53", "57", "58", "XX")
"""Beginnings of SQLSTATEs of a server that does not answer, or refuses the user or the database."""


@contextmanager
def database_failures_reported(settings: Settings) -> Iterator[None]:
    """Raise Unavailable, with what to check, if the database cannot be used meanwhile."""
    url = make_url(settings.database_url)
    file = sqlite_file(url)
    if file is not None and not file.resolve().parent.is_dir():
        raise Unavailable(missing_folder(file.resolve().parent))
    try:
        yield
    except FAILURES as error:
        if not _is_of_database(error, url):
            raise
        raise Unavailable(_describe(error, url)) from None


def failure_reason(error: Exception) -> str:
    """Return why a database fails, as one line without SQL, addresses of help and the names of classes."""
    original = getattr(error, "orig", None) or error
    cause = original.__cause__ if isinstance(original.__cause__, asyncpg.PostgresError) else original
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else "no answer within the time limit"


def _describe(error: Exception, url: URL) -> str:
    file, reason = sqlite_file(url), failure_reason(error)
    if file is None:
        return (
            f"The database does not answer: {database_name(url)}: {reason}. Check WATTGATE_DATABASE_URL and that "
            "PostgreSQL runs, and run `wattgate doctor`."
        )
    return (
        f"The database {file.resolve()} cannot be used: {reason}. Check WATTGATE_DATABASE_URL, and that this user may "
        "write the file and its folder."
    )


def _is_of_database(error: Exception, url: URL) -> bool:
    """Return whether the database has failed. A wrong statement and a closed output are other faults."""
    if isinstance(error, OSError):
        has_server = url.get_backend_name() != "sqlite"
        return has_server and error.filename is None and not isinstance(error, BrokenPipeError)
    if isinstance(error, DBAPIError | asyncpg.PostgresError):
        original = getattr(error, "orig", error)
        state = str(getattr(original, "sqlstate", None) or "")
        if state:
            return state.startswith(FAILURE_STATES)
        return not isinstance(error, IntegrityError)
    return isinstance(error, PoolTimeout | asyncpg.InterfaceError)
