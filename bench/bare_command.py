"""The floor of a command: one SELECT on the database, written by hand.

It imports SQLAlchemy, the driver and what prints a table. It has no settings, no models, no keys and no permissions.
"""

import asyncio
import os

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

STATEMENT = "SELECT ve_id, name, time_zone FROM virtual_entity WHERE active ORDER BY name LIMIT 100"


async def select_homes() -> list[tuple[str, ...]]:
    """Return the homes of the database of the settings."""
    url = make_url(os.environ["WATTGATE_DATABASE_URL"]).set(drivername="sqlite+aiosqlite")
    engine = create_async_engine(url)
    async with engine.connect() as connection:
        rows = [tuple(map(str, row)) for row in await connection.execute(text(STATEMENT))]
    await engine.dispose()
    return rows


def list_homes() -> None:
    """Print the homes."""
    table = Table("veId", "name", "timeZone", box=None)
    for row in asyncio.run(select_homes()):
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    typer.run(list_homes)
