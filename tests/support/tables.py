"""Tables looked at and filled without the operations: as older versions of the schema had them, as they have to be."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, MetaData, Table, text


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


HOUR, DAY = 3_600_000, 86_400_000


def check_rollups(connection: Connection, resource_ids: Collection[str], hourly: Collection[int] = (1,)) -> int:
    """Assert that hours and days of resources are what their stored readings make; how many rows there are of both.

    `hourly` are the fields whose hours are rolled up: of `house.STORAGE` the second one.
    """
    names = ", ".join(f"'{one}'" for one in resource_ids)
    where = f"WHERE resource_number IN (SELECT number FROM resource WHERE resource_id IN ({names}))"
    columns = "resource_number, field, at, value, quality, revision, received_at"
    readings = connection.execute(text(f"SELECT {columns} FROM reading {where}")).all()
    checked = 0
    for table, size in (("reading_hour", HOUR), ("reading_day", DAY)):
        inside = defaultdict[tuple[int, int, int], list[Any]](list)
        for one in readings:
            if size == DAY or one.field in hourly:
                inside[one.resource_number, one.field, one.at - one.at % size].append(one)
        expected = {
            key: (
                len(some),
                sum(one.value for one in some),
                min(one.value for one in some),
                max(one.value for one in some),
                min(one.at for one in some),
                max(one.at for one in some),
                sum(one.quality != 0 for one in some),
                sum(one.revision for one in some),
                max(one.received_at for one in some),
            )
            for key, some in inside.items()
        }
        amounts = "count, sum, min, max, first_at, last_at, estimated, revision, received_at"
        found = connection.execute(text(f"SELECT resource_number, field, at, {amounts} FROM {table} {where}")).all()
        assert {tuple(row[:3]): tuple(row[3:]) for row in found} == expected
        checked += len(found)
    return checked
