"""Rows put straight into tables, as no operation would or as older versions of the schema had them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, MetaData, Table


def put(connection: Connection, name: str, **values: Any) -> None:
    """Insert a row into a table as it is at the moment; what it needs and is not given is of no matter."""
    table = Table(name, MetaData(), autoload_with=connection)
    anything = {str: "x", bool: True, int: 1, datetime: datetime(2025, 1, 1)}
    needed = {
        column.name: anything.get(column.type.python_type, [])
        for column in table.columns
        if not column.nullable and column.server_default is None
    }
    connection.execute(table.insert().values({**needed, **values}))
