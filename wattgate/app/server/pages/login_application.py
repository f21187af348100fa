"""Find the application to which the users of a log-in page belong.

The address of the page names it, else the setting, else it is the only application of the gateway.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from wattgate.app.application_ids import parse_application_id
from wattgate.db.applications import ApplicationSummary
from wattgate.errors import Unavailable
from wattgate.operations.core.row_reader import RowReader

log = logging.getLogger(__name__)

APPLICATION_PARAMETERS = ("application", "applicationId")
"""Names of the parameter of a page's address. The second is the name in the interfaces, so users write it too."""

MAX_LOOKUP_SECONDS = 5.0
"""Time limit for finding the application of a page. A page without it is better than none for a display on a wall."""


class LoginProblem(Enum):
    """Why a page knows no application."""

    NO_APPLICATION = "the gateway has none"
    SEVERAL_APPLICATIONS = "the gateway has several, and neither the address nor the setting names one"
    MALFORMED_ADDRESS = "the address names something else than an ID"
    UNKNOWN_ADDRESS = "the address names no application of the gateway"
    AMBIGUOUS_ADDRESS = "the address names several applications"
    UNKNOWN_SETTING = "the setting names no application of the gateway"
    NO_DATABASE = "the database does not answer"


@dataclass(frozen=True, slots=True)
class LoginApplication:
    """The application of a log-in page, or why there is none.

    `requested` is what the address of the page names, empty if it names nothing. `is_only` is true if the gateway has
    no other application.
    """

    application_id: str | None = None
    problem: LoginProblem | None = None
    requested: str = ""
    is_only: bool = False


class Parameters(Protocol):
    """The parameters of a page's address."""

    def getlist(self, key: str) -> list[str]:
        """Return all values of a parameter."""


async def find_login_application(
    reader: RowReader, configured_id: str | None, query: Parameters | None = None
) -> LoginApplication:
    """Return the application of a page with these parameters. `configured_id` is the one of the setting."""
    named = [] if query is None else _named_applications(query)
    requested = named[0] if named else ""
    if len(named) > 1:
        return LoginApplication(problem=LoginProblem.AMBIGUOUS_ADDRESS, requested=requested)
    if named and parse_application_id(requested) is None:
        return LoginApplication(problem=LoginProblem.MALFORMED_ADDRESS, requested=requested)
    wanted = requested or configured_id
    try:
        async with asyncio.timeout(MAX_LOOKUP_SECONDS):
            applications = await _list_applications(reader, wanted)
    except (Unavailable, SQLAlchemyError, OSError) as error:
        log.warning("The application of a log-in page is unknown: the database does not respond: %s", error)
        return LoginApplication(problem=LoginProblem.NO_DATABASE, requested=requested)
    if len(applications) == 1:
        return LoginApplication(applications[0].application_id, requested=requested, is_only=not wanted)
    if wanted:
        problem = LoginProblem.UNKNOWN_ADDRESS if requested else LoginProblem.UNKNOWN_SETTING
    else:
        problem = LoginProblem.SEVERAL_APPLICATIONS if applications else LoginProblem.NO_APPLICATION
    return LoginApplication(problem=problem, requested=requested)


async def log_unknown_default(reader: RowReader, configured_id: str | None) -> None:
    """Log a warning if WATTGATE_DISPLAY_APPLICATION_ID names no application. The gateway serves all others."""
    if configured_id is not None and not await _list_applications(reader, configured_id):
        log.warning(
            "No application has the ID %s of WATTGATE_DISPLAY_APPLICATION_ID, so nobody can log in at /display without "
            "naming another. Set it to an ID that `wattgate app list` prints, or unset it.",
            configured_id,
        )


async def _list_applications(reader: RowReader, application_id: str | None) -> Sequence[ApplicationSummary]:
    """Return the application with the ID. Without an ID, return the first two, which shows whether there is one."""
    if application_id is None:
        return await reader.list_applications(limit=2)
    return await reader.list_applications(application_id=application_id)


def _named_applications(query: Parameters) -> list[str]:
    """Return the different values of the parameters, in order. IDs are in lower case."""
    texts = [text.strip() for name in APPLICATION_PARAMETERS for text in query.getlist(name)]
    return list(dict.fromkeys(parse_application_id(text) or text for text in texts if text))
