"""The monthly partitions of readings on PostgreSQL: made ahead and on demand, dropped when they are empty and old."""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.clock import from_ms, to_ms

_LOCK = 0x57A77
"""The advisory lock of whoever makes or drops partitions."""

# not to_regclass, which answers from a cache that may not know yet what another has just made
_MISSING = text("""
    SELECT name FROM unnest(CAST(:names AS name[])) AS u(name) WHERE NOT EXISTS (
        SELECT 1 FROM pg_class WHERE relname = name AND relnamespace = (
            SELECT relnamespace FROM pg_class WHERE oid = 'reading'::regclass))""")
_PARTITIONS = text(
    "SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'reading'::regclass"
)


async def ensure(connection: AsyncConnection, instants: Iterable[int]) -> None:
    """Make the partitions that hold these instants (milliseconds since 1970), where they are not there yet.

    A table is made first and attached then: so nobody who reads or writes other months has to wait.
    """
    months = {_name(month): month for month in {_month(from_ms(instant)) for instant in instants}}
    if not await _missing(connection, months):
        return
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    for name in await _missing(connection, months):  # once more: another may have made them meanwhile
        start, stop = to_ms(months[name]), to_ms(_following(months[name]))
        await connection.execute(text(f"CREATE TABLE {name} (LIKE reading INCLUDING ALL)"))
        await connection.execute(
            text(f"ALTER TABLE reading ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({stop})")
        )


async def ahead(connection: AsyncConnection, now: datetime) -> None:
    """Make the partitions of this month and the two that follow."""
    this = _month(now)
    await ensure(connection, [to_ms(month) for month in (this, _following(this), _following(_following(this)))])


async def drop_empty(connection: AsyncConnection, before: datetime) -> list[str]:
    """Drop the partitions of months that ended before an instant and hold nothing; their names.

    Locks are taken in the order in which whoever records takes them: resources, partitions to be made, readings. With
    all resources locked nobody has seen that a month is there and is about to write to it.
    """
    known = (await connection.execute(_PARTITIONS)).scalars().all()
    old = [name for name in sorted(known) if name < _name(_month(before)) and await _empty(connection, name)]
    if not old:
        return []
    await connection.execute(text("LOCK TABLE resource IN EXCLUSIVE MODE"))
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    await connection.execute(text("LOCK TABLE ONLY reading IN ACCESS EXCLUSIVE MODE"))
    dropped = [name for name in old if await _empty(connection, name)]
    for name in dropped:
        await connection.execute(text(f"DROP TABLE {name}"))
    return dropped


async def _empty(connection: AsyncConnection, name: str) -> bool:
    found = await connection.execute(text(f"SELECT NOT EXISTS (SELECT 1 FROM {name})"))
    return bool(found.scalar_one())


async def _missing(connection: AsyncConnection, months: Iterable[str]) -> list[str]:
    return sorted((await connection.execute(_MISSING, {"names": list(months)})).scalars())


def _name(month: datetime) -> str:
    return f"reading_{month:%Y_%m}"


def _month(instant: datetime) -> datetime:
    return datetime(instant.year, instant.month, 1, tzinfo=UTC)


def _following(month: datetime) -> datetime:
    return datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)
