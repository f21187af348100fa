"""The applications of a database, for the command line."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col, select

from wattgate.db.models import Application, ApplicationCredential
from wattgate.db.reader import DatabaseSession
from wattgate.db.tenancy_guard import SCOPED_OPTION


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """An application, and the usernames of its credentials."""

    application_id: str
    name: str
    usernames: tuple[str, ...]
    created_at: datetime


async def list_applications(session: DatabaseSession) -> list[ApplicationSummary]:
    """Return all applications, oldest first. The session needs `SystemAccess.LIST_APPLICATIONS`."""
    name_columns = (col(ApplicationCredential.application_id), col(ApplicationCredential.username))
    credentials = select(*name_columns).order_by(name_columns[1])
    usernames: dict[str, list[str]] = {}
    for application_id, username in await session.execute(credentials, execution_options=SCOPED_OPTION):
        usernames.setdefault(application_id, []).append(username)
    columns = (col(Application.application_id), col(Application.name), col(Application.created_at))
    applications = select(*columns).order_by(columns[2], columns[0])
    return [
        ApplicationSummary(application_id, name, tuple(usernames.get(application_id, ())), created_at)
        for application_id, name, created_at in await session.execute(applications, execution_options=SCOPED_OPTION)
    ]
