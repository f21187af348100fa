"""The applications of a database, for the command line and the log-in pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import Table, select

from wattgate.db.connections.reader import DatabaseSession
from wattgate.db.models import Application, ApplicationCredential
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

# Statements on columns of tables, not of models: the first statement on a model prepares the mappers of all models.
_APPLICATIONS = cast(Table, Application.__table__).columns  # type: ignore[attr-defined]
_CREDENTIALS = cast(Table, ApplicationCredential.__table__).columns  # type: ignore[attr-defined]

MAX_IDS_PER_STATEMENT = 500
"""Maximum number of IDs in one statement."""


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """An application, and the usernames of its credentials."""

    application_id: str
    name: str
    usernames: tuple[str, ...]
    created_at: datetime


async def list_applications(
    session: DatabaseSession, *, application_id: str | None = None, limit: int | None = None
) -> list[ApplicationSummary]:
    """Return all applications, oldest first: up to `limit`, or only the one with the ID.

    The session needs `SystemAccess.LIST_APPLICATIONS`.
    """
    columns = (_APPLICATIONS.application_id, _APPLICATIONS.name, _APPLICATIONS.created_at)
    applications = select(*columns).order_by(columns[2], columns[0]).limit(limit)
    if application_id is not None:
        applications = applications.where(columns[0] == application_id)
    found = (await session.execute(applications, execution_options=SCOPED_OPTION)).all()
    usernames = await _list_usernames(session, [row.application_id for row in found])
    return [
        ApplicationSummary(application_id, name, tuple(usernames.get(application_id, ())), created_at)
        for application_id, name, created_at in found
    ]


async def _list_usernames(session: DatabaseSession, application_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the usernames of the credentials of each application."""
    columns = (_CREDENTIALS.application_id, _CREDENTIALS.username)
    usernames: dict[str, list[str]] = {}
    for first in range(0, len(application_ids), MAX_IDS_PER_STATEMENT):
        in_batch = columns[0].in_(application_ids[first : first + MAX_IDS_PER_STATEMENT])
        credentials = select(*columns).where(in_batch).order_by(columns[1])
        for application_id, username in await session.execute(credentials, execution_options=SCOPED_OPTION):
            usernames.setdefault(application_id, []).append(username)
    return usernames
