"""The stored records for the time of a command that only reads them.

Such a command needs the database and the permission of the system. It needs no operations, bus or templates, whose
modules take longer to import than the command takes to run.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from wattgate.app.cli.database_context import require_existing, with_database
from wattgate.app.settings import Settings
from wattgate.db.connections.database_name import database_name
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import is_current
from wattgate.errors import Conflict
from wattgate.operations.core.row_reader import RowReader

T = TypeVar("T")


async def with_current_reader(settings: Settings, work: Callable[[RowReader], Awaitable[T]]) -> T:
    """Run `work` with a reader of the stored records, then close the database.

    Raise Conflict unless the database has the schema of this version.
    """

    require_existing(settings)

    async def check_and_work(database: Database) -> T:
        await require_current(database)
        return await work(create_reader(settings, database))

    return await with_database(settings, check_and_work)


async def require_current(database: Database) -> None:
    """Raise Conflict unless the database has the schema of this version."""
    if not await is_current(database):
        name = database_name(database.url)
        raise Conflict(
            f"The database {name} does not have the schema of this version. Run `wattgate db upgrade` first."
        )


def create_reader(settings: Settings, database: Database) -> RowReader:
    """Return a reader of the stored records."""
    return RowReader(database, consent_policy=settings.consent_policy)
