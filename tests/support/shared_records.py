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
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

SHARED_MODELS: tuple[type[Tenanted], ...] = (
    models.User,
    models.Account,
    models.Directory,
    models.ResourceType,
    models.Resource,
    models.Tariff,
    models.VirtualEntityType,
    models.VirtualEntity,
    models.DeviceType,
    models.Device,
    models.AlertType,
    models.Template,
    models.Content,
    models.MeterPointConsent,
    models.OAuthClient,
)
"""Models whose records only their owners change. Workers and log-ins change records of other models."""

VOLATILE_COLUMNS = frozenset({"updated_at", "failures", "failed_at", "watched"})
"""Columns that log-ins, readings and alert rules change."""

Records = Mapping[tuple[str, ...], Mapping[str, Any]]
"""The stored values of records, by the table and the primary key of the record."""


async def stored_records(house: House) -> Records:
    """Return the records of both tenants of a gateway."""
    application_ids = (house.one.application_id, house.other.application_id)
    records: dict[tuple[str, ...], Mapping[str, Any]] = {}
    async with house.gateway.database.session(EVERYTHING) as session:
        for model in SHARED_MODELS:
            table = SQLModel.metadata.tables[str(model.__tablename__)]
            statement = select(table).where(table.c.application_id.in_(application_ids))
            for row in (await session.execute(statement, execution_options=SCOPED_OPTION)).mappings():
                values = {name: value for name, value in row.items() if name not in VOLATILE_COLUMNS}
                records[table.name, *(str(row[column.name]) for column in table.primary_key)] = values
    return records


def changes_of(before: Records, after: Records) -> list[str]:
    """Return in words which records of `before` are deleted or have other values in `after`."""
    changes: list[str] = []
    for record, values in before.items():
        new_values = after.get(record)
        if new_values is None:
            changes.append(f"{' '.join(record)} is deleted")
        elif new_values != values:
            names = sorted(name for name, value in values.items() if new_values[name] != value)
            changes.append(f"{' '.join(record)} has other values of {', '.join(names)}")
    return changes
