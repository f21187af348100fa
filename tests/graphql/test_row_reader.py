"""Reading rows without an operation: the reader itself checks the permission, before it opens a session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from wattgate.db.connections.engine import Database
from wattgate.db.rows.rows import Rows
from wattgate.errors import Forbidden, Unauthenticated
from wattgate.operations.core.row_reader import RowReader
from wattgate.principal import Permission, Principal, Role


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[RowReader]:
    """Return a reader of an empty database."""
    database = Database(f"sqlite:///{tmp_path}/reader.sqlite3")
    yield RowReader(database)
    await database.close()


async def read_application(rows: Rows) -> str:
    return rows.application_id


async def test_only_a_principal_with_the_permission_reads_rows(reader: RowReader) -> None:
    system = Principal(Role.SYSTEM, application_id="mine")
    assert await reader.read(system, Permission.SYSTEM, read_application) == "mine"
    for role in set(Role) - {Role.SYSTEM}:
        caller = Principal(role, application_id="mine", user_id="somebody", ve_id="home")
        with pytest.raises(Unauthenticated if role is Role.ANONYMOUS else Forbidden):
            await reader.read(caller, Permission.SYSTEM, read_application)
