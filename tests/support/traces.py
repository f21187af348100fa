"""Search everything that a gateway has stored for some texts: every table, the raw database file, and Redis."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from redis.asyncio import Redis
from sqlalchemy import Connection, MetaData, select
from sqlalchemy.engine import make_url

from wattgate.db.connections.engine import Database

_tables: WeakKeyDictionary[Database, MetaData] = WeakKeyDictionary()
"""The tables of each database that was searched. To read their definitions takes longer than to read their rows."""


async def find_in_tables(database: Database, *marks: str) -> set[str]:
    """Return the columns with a value that contains one of the marks, as `table.column`."""
    async with database.engine.connect() as connection:
        if database not in _tables:
            _tables[database] = MetaData()
            await connection.run_sync(_tables[database].reflect)
        return await connection.run_sync(lambda sync: set(_search(sync, _tables[database], marks)))


def _search(connection: Connection, tables: MetaData, marks: tuple[str, ...]) -> Iterator[str]:
    assert len(tables.tables) > 60
    for table in tables.tables.values():
        for row in connection.execute(select(table)).mappings():
            yield from (f"{table.name}.{name}" for name, value in row.items() if has_mark(value, marks))


def has_mark(value: Any, marks: tuple[str, ...]) -> bool:
    """Return whether a stored value contains one of the marks, in any case."""
    text = bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)
    return any(mark.casefold() in text.casefold() for mark in marks)


def find_in_files(url: str, *marks: str) -> list[str]:
    """Return the files of a SQLite database whose bytes contain one of the marks."""
    path = Path(str(make_url(url).database))
    files = [path, *path.parent.glob(f"{path.name}-*")]
    return [file.name for file in files if has_mark(file.read_bytes(), marks)]


async def find_in_redis(port: int, *marks: str) -> list[str]:
    """Return the keys of Redis whose name or value contains one of the marks."""
    async with Redis(port=port) as client:
        keys = [key async for key in client.scan_iter(count=1_000)]
        assert keys
        return [key.decode() for key in keys if has_mark([key, await _value_of(client, key)], marks)]


async def _value_of(client: Any, key: bytes) -> Any:
    match await client.type(key):
        case b"stream":
            return await client.xrange(key)
        case b"hash":
            return await client.hgetall(key)
        case b"zset":
            return await client.zrange(key, 0, -1)
        case b"set":
            return await client.smembers(key)
        case b"list":
            return await client.lrange(key, 0, -1)
        case _:
            return await client.get(key)
