"""Errors of the drivers and of SQLAlchemy, translated to errors of the gateway."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    StatementError,
    TimeoutError,
)

from wattgate.errors import BadInput, Conflict, GatewayError, Unavailable
from wattgate.values.stored_json import UnstorableJson

log = logging.getLogger(__name__)

UNAVAILABLE_SQLSTATES = ("08", "53", "57", "25006", "40P01")
"""Beginnings of SQLSTATEs that mean "unavailable".

They are: connection, insufficient resources, operator intervention, a server that is read-only or a standby, and a
deadlock, after which nothing was changed.
"""

DISK_FULL_SQLSTATE = "53100"
DISK_FULL_RETRY_SECONDS = 60
"""Seconds after which a client may try again while the disk of the database is full."""

LOST_STATEMENT_SQLSTATES = ("26000", "42P05")
"""A prepared statement does not exist, or exists already: the pooler has changed the process of the server."""

POOLER_REMEDY = (
    "is behind a pooler of transactions, which loses the prepared statements of a session: set "
    "WATTGATE_DATABASE_POOLER=transaction, or let the pooler pool sessions"
)

UNAVAILABLE_DRIVER_ERRORS = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    sqlite3.OperationalError,
    sqlite3.InterfaceError,
)
"""Errors of the drivers that mean that the database is unavailable.

asyncpg raises InternalClientError if the server ends the connection between two messages of a statement.
"""

DATA_EXCEPTION_SQLSTATE_CLASS = "22"
"""The class of SQLSTATE for invalid values, such as a text with U+0000."""

INVALID_VALUE_MESSAGE = "A value cannot be stored: it is out of range or has invalid characters, such as U+0000."


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate errors of the database to GatewayErrors."""
    try:
        yield
    except Exception as error:
        if (translated := translate_error(error)) is None:
            raise
        raise translated from error


def translate_error(error: Exception) -> GatewayError | None:
    """Return an error of the database as a GatewayError; None for any other error."""
    if isinstance(error, IntegrityError):
        log.info("The database rejected a change: %s", error.orig)
        return Conflict("The record already exists, or other records refer to it.")
    if isinstance(error, DataError | sqlite3.DataError):
        return BadInput(INVALID_VALUE_MESSAGE)
    if isinstance(error, (OperationalError, InterfaceError, *UNAVAILABLE_DRIVER_ERRORS, TimeoutError, OSError)):
        return database_unavailable(error)
    if isinstance(error, DBAPIError | asyncpg.PostgresError):
        if _sqlstate_of(error).startswith(DATA_EXCEPTION_SQLSTATE_CLASS):
            return BadInput(INVALID_VALUE_MESSAGE)
        if _sqlstate_of(error) in LOST_STATEMENT_SQLSTATES:
            log.error("The database %s.", POOLER_REMEDY)
            return database_unavailable(error)
        invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
        if invalidated or _sqlstate_of(error).startswith(UNAVAILABLE_SQLSTATES):
            return database_unavailable(error)
    elif isinstance(error, StatementError) and isinstance(error.orig, UnstorableJson):  # the statement was not sent
        return BadInput(f"A JSON value cannot be stored: it {error.orig}.")
    return None


def database_unavailable(error: Exception) -> Unavailable:
    if _is_disk_full(error):
        log.error("The disk of the database is full: delete files or move the database to a larger disk. %r", error)
        return Unavailable(
            "The database cannot store changes: its disk is full. Try again later.", retry_after=DISK_FULL_RETRY_SECONDS
        )
    log.warning("The database is unavailable: %r", error)
    return unavailable()


def unavailable() -> Unavailable:
    return Unavailable("The database is unavailable at the moment. Try again.", retry_after=1)


def _is_disk_full(error: Exception) -> bool:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return (
        getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(cause, "sqlstate", None) == DISK_FULL_SQLSTATE
    )


def _sqlstate_of(error: DBAPIError | asyncpg.PostgresError) -> str:
    """Return the SQLSTATE of an error of PostgreSQL, or an empty string if it has none."""
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None) or ""
