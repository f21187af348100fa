"""Direct table access for tests: insert rows into any schema version, and verify rollups."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, text

COLUMNS_OF_WORKERS = ("listed_change",)
"""Columns that a worker of the gateway sets at any time, also during the request of a test."""


def put(connection: Connection, name: str, /, **values: Any) -> None:
    """Insert a row into a table of the current schema version. Other required columns get placeholder values."""
    table = Table(name, MetaData(), autoload_with=connection)
    placeholders = {str: "x", bool: True, int: 1, datetime: datetime(2025, 1, 1)}
    required = {
        column.name: placeholders.get(column.type.python_type, [])
        for column in table.columns
        if not column.nullable and column.server_default is None
    }
    connection.execute(table.insert().values({**required, **values}))


def columns_of_requests(table: Table) -> list[Column[Any]]:
    """Return the columns that only requests change, so that the rows before and after one can be compared."""
    return [column for column in table.columns if column.name not in COLUMNS_OF_WORKERS]


HOUR, DAY = 3_600_000, 86_400_000


def check_rollups(connection: Connection, resource_ids: Collection[str], hourly: Collection[int] = (1,)) -> int:
    """Assert that the rollups of resources equal aggregates of their stored readings. Return the number of rollup rows.

    `hourly` holds the indexes of the fields with hourly rollups: by default the second field of `house.STORAGE`.
    """
    names = ", ".join(f"'{reading}'" for reading in resource_ids)
    where = f"WHERE resource_number IN (SELECT number FROM resource WHERE resource_id IN ({names}))"
    columns = "resource_number, field, at, value, quality, revision, received_at"
    readings = connection.execute(text(f"SELECT {columns} FROM reading {where}")).all()
    checked = 0
    for table, size in (("reading_hour", HOUR), ("reading_day", DAY)):
        groups = defaultdict[tuple[int, int, int], list[Any]](list)
        for reading in readings:
            if size == DAY or reading.field in hourly:
                groups[reading.resource_number, reading.field, reading.at - reading.at % size].append(reading)
        expected = {
            key: (
                len(group),
                sum(reading.value for reading in group),
                min(reading.value for reading in group),
                max(reading.value for reading in group),
                min(reading.at for reading in group),
                max(reading.at for reading in group),
                sum(reading.quality != 0 for reading in group),
                sum(reading.revision for reading in group),
                max(reading.received_at for reading in group),
            )
            for key, group in groups.items()
        }
        amounts = "count, sum, min, max, first_at, last_at, estimated, revision, received_at"
        rows = connection.execute(text(f"SELECT resource_number, field, at, {amounts} FROM {table} {where}")).all()
        assert {tuple(row[:3]): tuple(row[3:]) for row in rows} == expected
        checked += len(rows)
    return checked
