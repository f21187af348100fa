"""Deletions of readings that are stored, and turn out to be of another household or of a time without consent.

Each one corrects the rollups, and is recorded in the resource (`energy.withdrawals`) and in those of its costs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from sqlalchemy import Table, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db.column_types import TableParameter
from wattgate.db.models import Resource
from wattgate.db.readings.rollups import DAY_SOURCE, HOUR_SOURCE, refresh_rollups
from wattgate.energy.buckets import DAY_MS, HOUR_MS
from wattgate.energy.withdrawals import ALWAYS, Withdrawal, with_withdrawal

WithdrawnFields = Mapping[int, Sequence[tuple[int, bool]]]
"""The index of each field of a resource, and whether it has hourly rollups, by the resource's number."""

READING_TABLES = ("reading", HOUR_SOURCE.table, DAY_SOURCE.table)
_SIZES = (1, HOUR_MS, DAY_MS)
"""The span (ms) of a row of each of these tables."""

# By the key of the table: another condition would read the readings of all resources.
_DELETE_SINCE = """
    DELETE FROM {table} WHERE resource_number = :number AND field = :field AND at >= :bound"""
_DELETE_BEFORE = """
    DELETE FROM {table} WHERE resource_number = :number AND field = :field AND at < :bound"""
_DAYS = TableParameter("days", {"number": "bigint", "field": "int", "first": "bigint", "last": "bigint"})
_SELECT_EXTENT = """
    SELECT d.resource_number, min(d.first_at), max(d.last_at), CAST(sum(d.revision) AS bigint)
    FROM {days} s CROSS JOIN reading_day d
    WHERE d.resource_number = s.number AND d.field = s.field AND d.at >= s.first AND d.at < s.last
    GROUP BY d.resource_number"""
_RESOURCE = cast(Table, Resource.__table__)  # type: ignore[attr-defined]


class Deletion(NamedTuple):
    """The part of series that is deleted: from `since` on, and before `until` (both in ms since 1970)."""

    since: int
    until: int
    statement: str
    bounds: Sequence[int]
    last_kept: int
    """An instant next to the bound, of whose rollups some readings may stay."""

    @classmethod
    def from_instant(cls, since: int, latest: int) -> "Deletion":
        """Return the deletion of the readings from an instant on. No reading is after `latest`."""
        return cls(since, latest, _DELETE_SINCE, [since - since % size for size in _SIZES], since - 1)

    @classmethod
    def before_instant(cls, until: int) -> "Deletion":
        """Return the deletion of the readings from before an instant."""
        ends = [until if size == 1 else until - until % size + size for size in _SIZES]
        return cls(ALWAYS, until, _DELETE_BEFORE, ends, until)


async def withdraw(connection: AsyncConnection, fields: WithdrawnFields, deletion: Deletion, now_ms: int) -> None:
    """Delete readings and rollups, compute those that some readings stay of again, and record the withdrawal.

    The resources are locked.
    """
    keys = sorted((number, index, deletion.last_kept, hourly) for number in fields for index, hourly in fields[number])
    withdrawals = await _withdrawals(connection, [key[:2] for key in keys], deletion, now_ms)
    for table, bound in zip(READING_TABLES, deletion.bounds, strict=True):
        series = [{"number": number, "field": index, "bound": bound} for number, index, _, _ in keys]
        await connection.execute(text(deletion.statement.format(table=table)), series)
    await refresh_rollups(connection, *np.array(keys, np.int64).T)
    await record_withdrawals(connection, withdrawals)


async def _withdrawals(
    connection: AsyncConnection, series: Sequence[tuple[int, int]], deletion: Deletion, now_ms: int
) -> dict[int, Withdrawal]:
    """Return the withdrawal of each resource with readings to delete, by its number.

    The rollups of days have the first and the last reading, and the revisions, so no reading is read.
    """
    first_day = deletion.since - deletion.since % DAY_MS
    rows = [(number, index, first_day, deletion.until) for number, index in series]
    dialect = connection.dialect.name
    statement = text(_SELECT_EXTENT.format(days=_DAYS.sql(dialect)))
    found = {}
    for number, first_at, last_at, revisions in await connection.execute(statement, _DAYS.parameters(dialect, rows)):
        start, stop = max(first_at, deletion.since), min(last_at + 1, deletion.until)
        if start < stop:
            found[number] = Withdrawal(now_ms, start, stop, revisions + 1)
    return found


async def record_withdrawals(connection: AsyncConnection, withdrawals: Mapping[int, Withdrawal]) -> None:
    """Record withdrawals, by the number of the resource, in these resources and in those of their costs."""
    columns = _RESOURCE.c
    for number, added in withdrawals.items():
        of_number = select(columns.resource_id).where(columns.number == number).scalar_subquery()
        is_concerned = or_(columns.number == number, columns.cost_of == of_number)
        concerned = await connection.execute(select(columns.number, columns.withdrawals).where(is_concerned))
        for concerned_number, known in concerned.all():
            values: dict[Any, Any] = {
                columns.withdrawals: with_withdrawal(known or (), added),
                columns.updated_at: columns.updated_at,  # the resource itself has not changed
            }
            await connection.execute(update(_RESOURCE).where(columns.number == concerned_number).values(values))
