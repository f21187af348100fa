"""All rows of a database, to compare it with its restored backup."""

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection

from wattgate.db.connections.engine import Database

Dump = dict[str, list[str]]
"""The rows of each table, in an order that depends on their values only."""


async def dump_rows(database_url: str) -> Dump:
    """Return all rows of all tables."""
    database = Database(database_url)
    try:
        async with database.engine.connect() as connection:
            return await connection.run_sync(_dump)
    finally:
        await database.close()


def _dump(connection: Connection) -> Dump:
    tables = inspect(connection).get_table_names()
    return {
        table: sorted(repr(tuple(row)) for row in connection.execute(text(f'SELECT * FROM "{table}"')))
        for table in tables
    }
