"""Connections of SQLite with one call for each statement: they return what those of aiosqlite return."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from wattgate.db.connections.sqlite_connection import connect_with_one_call

STATEMENTS: tuple[tuple[str, Any], ...] = (
    ("CREATE TABLE reading (id INTEGER PRIMARY KEY, value TEXT UNIQUE)", None),
    ("INSERT INTO reading (value) VALUES (:value)", {"value": "a"}),
    ("INSERT INTO reading (value) VALUES (:value)", [{"value": "b"}, {"value": "c"}]),
    ("INSERT INTO reading (value) VALUES ('d'), ('e') RETURNING id, value", None),
    ("UPDATE reading SET value = value || '1' WHERE id > :id", {"id": 2}),
    ("UPDATE reading SET value = value || '2' RETURNING value", None),
    ("INSERT INTO reading (value) VALUES (:value)", {"value": "a2"}),
    ("SELECT id, value FROM reading ORDER BY id", None),
    ("SELECT * FROM reading WHERE id = :id", {"id": 99}),
    ("SELECT 1 AS one, NULL AS nothing, x'00ff' AS bytes", None),
    ("SELECT * FROM missing", None),
    ("PRAGMA user_version", None),
    ("DELETE FROM reading WHERE id < :id", {"id": 3}),
)


async def outcomes(url: str, options: dict[str, Any]) -> list[Any]:
    """Return the rows, columns, counts and ids of all statements, or the text of the driver's error."""
    found = list[Any]()
    engine = create_async_engine(url, connect_args=options)
    async with engine.connect() as connection:
        for sql, parameters in STATEMENTS:
            try:
                result = await connection.execute(text(sql), parameters)
            except DBAPIError as error:
                found.append((type(error), str(error.orig)))
                continue
            last_id = None if isinstance(parameters, list) else result.lastrowid
            rows = (tuple(result.keys()), result.all()) if result.returns_rows else ()
            found.append((rows, result.rowcount, last_id))
        await connection.commit()
    await engine.dispose()
    return found


async def test_results_are_those_of_aiosqlite(tmp_path: Path) -> None:
    own = await outcomes(f"sqlite+aiosqlite:///{tmp_path / 'own'}", {"async_creator_fn": connect_with_one_call})
    assert own == await outcomes(f"sqlite+aiosqlite:///{tmp_path / 'other'}", {})


async def test_a_statement_takes_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    send: Any = aiosqlite.Connection._execute

    async def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return await send(*arguments)

    options = {"async_creator_fn": connect_with_one_call}
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'one'}", connect_args=options)
    async with engine.connect() as connection:
        monkeypatch.setattr(aiosqlite.Connection, "_execute", counted)
        assert (await connection.execute(text("SELECT 1 UNION SELECT 2"))).all() == [(1,), (2,)]
        assert calls == 1
    await engine.dispose()


def test_a_connection_that_fails_leaves_nothing_to_its_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread fails if it reports its end to an event loop that is closed."""
    failures = list[Any]()
    monkeypatch.setattr(threading, "excepthook", failures.append)
    for _ in range(200):
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            asyncio.run(_opened(tmp_path / "missing" / "file"))
    assert failures == []


async def _opened(file: Path) -> None:
    await connect_with_one_call(str(file))
