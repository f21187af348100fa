"""Cancelled tasks on SQLite: the write lock is free, wherever the task was."""

import asyncio
import sqlite3
from itertools import count
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import text

from tests.support.scopes import EVERYTHING
from wattgate.db.connections.engine import Database

LOCK_TIMEOUT_SECONDS = 5.0
"""Maximum wait of the check for the write lock. The lock is free when the task has ended."""

ROWS = 2_000
"""Rows of the table: enough that SQLite has not returned all rows of a statement when it has returned the first one."""

CALLS = 5
"""Calls of `write` to the thread of its connection, at least: one for each statement, BEGIN and COMMIT included."""


class CancelAtCall:
    """Cancel the current task at its n-th call to the thread of a SQLite connection, after the call is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.reached = False
        self._remaining = number
        self._execute: Any = aiosqlite.Connection._execute
        monkeypatch.setattr(aiosqlite.Connection, "_execute", self._cancelling())

    def _cancelling(self) -> Any:
        async def execute(connection: aiosqlite.Connection, function: Any, *arguments: Any, **named: Any) -> Any:
            self._remaining -= 1
            if self._remaining == 0:
                self.reached = True
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            return await self._execute(connection, function, *arguments, **named)

        return execute


async def write(database: Database) -> None:
    async with database.session(EVERYTHING) as session:
        await session.execute(text("INSERT INTO number VALUES (-1)"))
        (await session.execute(text("UPDATE number SET value = value + 1 RETURNING value"))).all()
        (await session.execute(text("SELECT value FROM number"))).all()
        await session.commit()


@pytest.mark.parametrize("is_pooled", [True, False], ids=["pooled connection", "new connection"])
async def test_cancelled_task_holds_no_write_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_pooled: bool
) -> None:
    path = tmp_path / "numbers.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE number (value INTEGER)")
        connection.executemany("INSERT INTO number VALUES (?)", [(value,) for value in range(ROWS)])
    connection.close()
    kept_errors = []  # an error keeps the frames of its task, and with them the cursor
    for number in count(1):
        database = Database(f"sqlite:///{path}")
        if is_pooled:
            await write(database)
        with monkeypatch.context() as patches:
            cancel = CancelAtCall(patches, number)
            kept_errors.append(await asyncio.gather(asyncio.create_task(write(database)), return_exceptions=True))
        other = sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS)
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            pytest.fail(f"cancelled at call {number}: {error}")
        finally:
            other.close()
            await database.close()
        if not cancel.reached:
            break
    assert number > CALLS
