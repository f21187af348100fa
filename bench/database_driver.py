"""The databases' own drivers, without any code of the gateway."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url


class Driver:
    """A connection of one of the drivers. One of both is set."""

    def __init__(self, postgresql: asyncpg.Connection | None, sqlite: sqlite3.Connection | None) -> None:
        self._postgresql, self._sqlite = postgresql, sqlite

    async def set_scope(self, application_id: str) -> None:
        """Let the views of PostgreSQL show the readings of an application."""
        if self._postgresql is not None:
            await self._postgresql.execute(
                "SELECT set_config('wattgate.application', $1, false), set_config('wattgate.user', '', false)",
                application_id,
            )

    async def insert(self, rows: Sequence[tuple[int, ...]]) -> None:
        """Insert rows into the table of readings: with one COPY, or one executemany in a transaction."""
        if self._postgresql:
            await self._postgresql.copy_records_to_table("reading", records=rows)
        elif self._sqlite:
            with self._sqlite:
                self._sqlite.executemany("INSERT INTO reading VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    async def fetch(self, statement: str, parameters: Any) -> Sequence[Sequence[Any]]:
        """Run a statement of the gateway with the same parameters. Return its rows."""
        if self._postgresql:
            return list(await self._postgresql.fetch(statement, *parameters))
        assert self._sqlite
        return self._sqlite.execute(statement, parameters).fetchall()


@asynccontextmanager
async def open_driver(url: str) -> AsyncIterator[Driver]:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        connection = sqlite3.connect(parsed.database or "")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-65536")
        yield Driver(None, connection)
        connection.close()
        return
    plain = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
    driver = await asyncpg.connect(plain)
    yield Driver(driver, None)
    await driver.close()
