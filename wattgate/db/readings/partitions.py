"""The monthly partitions of readings on PostgreSQL: created ahead and on demand, dropped if they are old and empty."""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.clock import from_ms, to_ms
from wattgate.db.connections.reader import fetch_in_transaction

_LOCK_KEY = 0x57A77
"""The key of the advisory lock for creating and dropping partitions."""

# not to_regclass: its cache may not contain a partition that another session has just created
_SELECT_MISSING = text("""
    SELECT name FROM unnest(CAST(:names AS name[])) AS u(name) WHERE NOT EXISTS (
        SELECT 1 FROM pg_class WHERE relname = name AND relnamespace = (
            SELECT relnamespace FROM pg_class WHERE oid = 'reading'::regclass))""")
_SELECT_PARTITIONS = text(
    "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'reading'::regclass"
)


async def ensure_partitions(connection: AsyncConnection, instants: Iterable[int]) -> None:
    """Create the missing partitions for these instants (milliseconds since 1970).

    A table is created first and attached afterwards, so that readers and writers of other months do not wait.
    """
    months = {_partition_name(month): month for month in {_month_start(from_ms(instant)) for instant in instants}}
    if not await _find_missing(connection, months):
        return
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK_KEY})
    for name in await _find_missing(connection, months):  # check again: another session may have created them meanwhile
        start, stop = to_ms(months[name]), to_ms(_next_month(months[name]))
        await connection.execute(text(f"CREATE TABLE {name} (LIKE reading INCLUDING ALL)"))
        await connection.execute(
            text(f"ALTER TABLE reading ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({stop})")
        )


async def ensure_upcoming_partitions(connection: AsyncConnection, now: datetime) -> None:
    """Create the partitions of this month and the next two."""
    this_month = _month_start(now)
    next_month = _next_month(this_month)
    await ensure_partitions(connection, [to_ms(month) for month in (this_month, next_month, _next_month(next_month))])


async def find_missing_upcoming(connection: AsyncConnection, now: datetime) -> list[str]:
    """Return the names of the missing partitions of this month and the next."""
    this_month = _month_start(now)
    names = [_partition_name(month) for month in (this_month, _next_month(this_month))]
    return sorted((await connection.execute(_SELECT_MISSING, {"names": names})).scalars())


async def drop_empty_partitions(connection: AsyncConnection, before: datetime) -> list[str]:
    """Drop the empty partitions of months that ended before an instant. Return their names.

    The lock order is that of writers: resources, new partitions, readings. While all resources are locked, no writer
    has checked that a partition exists and is about to write to it.
    """
    partitions = (await connection.execute(_SELECT_PARTITIONS)).scalars().all()
    old_partitions = [
        name
        for name in sorted(partitions)
        if name < _partition_name(_month_start(before)) and await _is_empty(connection, name)
    ]
    if not old_partitions:
        return []
    await connection.execute(text("LOCK TABLE resource IN EXCLUSIVE MODE"))
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK_KEY})
    await connection.execute(text("LOCK TABLE ONLY reading IN ACCESS EXCLUSIVE MODE"))
    dropped = [name for name in old_partitions if await _is_empty(connection, name)]
    for name in dropped:
        await connection.execute(text(f"DROP TABLE {name}"))
    return dropped


async def _is_empty(connection: AsyncConnection, name: str) -> bool:
    result = await connection.execute(text(f"SELECT NOT EXISTS (SELECT 1 FROM {name})"))  # noqa: S608 (the name of a partition, from the catalogue of PostgreSQL)
    return bool(result.scalar_one())


async def _find_missing(connection: AsyncConnection, months: Iterable[str]) -> list[str]:
    return sorted(name for (name,) in await fetch_in_transaction(connection, _SELECT_MISSING, {"names": list(months)}))


def _partition_name(month: datetime) -> str:
    return f"reading_{month:%Y_%m}"


def _month_start(instant: datetime) -> datetime:
    return datetime(instant.year, instant.month, 1, tzinfo=UTC)


def _next_month(month: datetime) -> datetime:
    return datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)
