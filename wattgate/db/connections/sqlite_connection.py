"""Connections of SQLite whose statements take one call to their thread.

SQLAlchemy opens a cursor, executes a statement, fetches its rows and closes the cursor: four calls of aiosqlite. With
each, the event loop wakes a thread and the thread wakes the event loop, which costs more than most statements. Here the
first call does all of it.
"""

import os
import sqlite3
from asyncio import Future
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from typing import Any, Self

import aiosqlite

from wattgate.private_files import PRIVATE_FILE_MODE


class OneCallCursor:
    """The part of a cursor of aiosqlite that SQLAlchemy uses. It has all rows of its statement when that has run."""

    arraysize = 1

    def __init__(self, connection: "OneCallConnection") -> None:
        self._connection = connection
        self._rows: Sequence[Any] = ()
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Self:
        """Run a statement in the thread of the connection, and keep its rows."""
        await self._connection.run_with_cursor(lambda cursor: self._keep(cursor.execute(sql, parameters)))
        return self

    async def executemany(self, sql: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """Run a statement for each of several sequences of parameters."""
        await self._connection.run_with_cursor(lambda cursor: self._keep(cursor.executemany(sql, parameters)))
        return self

    async def fetchall(self) -> Sequence[Any]:
        """Return the rows, once."""
        rows, self._rows = self._rows, ()
        return rows

    async def close(self) -> None:
        """Do nothing: the cursor of SQLite is closed when its statement has run."""

    def _keep(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self._rows = cursor.fetchall() if cursor.description else ()
        self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid


class OneCallConnection(aiosqlite.Connection):
    """A connection with cursors of one call. It needs what aiosqlite keeps for its own subclasses and cursors."""

    _stopping: Future[Any] | None = None

    def __await__(self) -> Generator[Any, None, Self]:
        """Open the database. Wait for the end of the thread if that fails: it may need the loop to report its end."""
        try:
            yield from super().__await__()
        except BaseException:
            if self._stopping is not None:
                yield from self._stopping
            raise
        return self

    def stop(self) -> Future[Any] | None:
        """Stop the thread, and return a future of its end."""
        self._stopping = super().stop()
        return self._stopping

    def cursor(self) -> OneCallCursor:  # type: ignore[override]
        """Return a cursor, which is open."""
        return OneCallCursor(self)

    async def run_with_cursor(self, use: Callable[[sqlite3.Cursor], None]) -> None:
        """Call a function in the thread with a new cursor, which is closed afterwards."""

        def run() -> None:
            with closing(self._conn.cursor()) as cursor:
                use(cursor)

        await self._execute(run)  # type: ignore[no-untyped-call]


def connect_with_one_call(database: str, **options: Any) -> OneCallConnection:
    """Return a connection that opens when it is awaited. SQLAlchemy calls it in place of `aiosqlite.connect`."""
    connection = OneCallConnection(lambda: sqlite3.connect(database, **options), iter_chunk_size=1)
    connection._thread.daemon = True  # as SQLAlchemy does: a process does not wait for its connections to end
    return connection


def create_private_file(dialect: Any, record: Any, arguments: Any, parameters: Any) -> None:
    """Create the file of a database before SQLite does, so that only its owner can read it, whatever the umask.

    SQLAlchemy calls it for the event `do_connect`. SQLite gives the files beside it (`-wal`, `-shm`) the same mode.
    """
    file = str(arguments[0])
    if file and not file.startswith((":memory:", "file:")):
        with suppress(OSError):  # the file exists, or SQLite reports the error
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))
