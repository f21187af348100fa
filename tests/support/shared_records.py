"""Check that tests do not change the records of the tenants that they share.

A test that changes one of them makes another test fail, but only where both run in one process and in that order.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlmodel import SQLModel

from tests.support.house import House
from tests.support.scopes import EVERYTHING
from wattgate.db import models
from wattgate.db.models.tenancy import Tenanted
from wattgate.db.tenancy_guard import SCOPED_OPTION

CHANGED_BY_USE: Mapping[type[SQLModel], str] = {
    models.Delivery: "The worker sends them and deletes what it has sent.",
    models.LoginBackoff: "Every wrong password counts.",
    models.LoginSource: "Every log-in counts.",
}
"""Models whose records change without a test that changes them, each with the reason."""

VOLATILE_COLUMNS = frozenset({"updated_at", "failures", "failed_at", "used_at", "watched", "read_at"})
"""Columns that sending, reading and adding other records change."""

Records = Mapping[tuple[str, str], Mapping[str, Any]]
"""The stored values of records, by the table and the key of the record."""


async def stored_records(house: House) -> Records:
    """Return the records of both tenants of a gateway."""
    application_ids = (house.one.application_id, house.other.application_id)
    records: dict[tuple[str, str], Mapping[str, Any]] = {}
    async with house.gateway.database.session(EVERYTHING) as session:
        for model in Tenanted.__subclasses__():
            if model in CHANGED_BY_USE:
                continue
            table = SQLModel.metadata.tables[str(model.__tablename__)]
            statement = select(table).where(table.c.application_id.in_(application_ids))
            for row in (await session.execute(statement, execution_options=SCOPED_OPTION)).mappings():
                values = {name: value for name, value in row.items() if name not in VOLATILE_COLUMNS}
                records[table.name, str(row[model.key])] = values
    return records


def changes_of(before: Records, after: Records) -> list[str]:
    """Return in words which records of `before` are deleted or have other values in `after`."""
    changes: list[str] = []
    for (table, key), values in before.items():
        new_values = after.get((table, key))
        if new_values is None:
            changes.append(f"{table} {key} is deleted")
        elif new_values != values:
            names = sorted(name for name, value in values.items() if new_values[name] != value)
            changes.append(f"{table} {key} has other values of {', '.join(names)}")
    return changes
