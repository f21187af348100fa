"""Change the SQLite file of a gateway's folder from outside, and close it. Python 3.13 warns of one that stays open."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

FILE = "wattgate.sqlite3"
"""The name of the database in a folder."""


def execute(folder: Path, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Execute a statement on the database in a folder, commit it, and return its rows."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        return connection.execute(statement, values).fetchall()
