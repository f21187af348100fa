"""The keys that the stored secrets of a database use: verify them at the start, count them, and rotate them."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Table, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from wattgate.db.connections.engine import Database
from wattgate.db.encryption.key_ring import PREFIX, KeyRing, SecretKeyError, SecretLocation
from wattgate.db.encryption.secret_columns import BATCH_ROWS, ENCRYPTED_MODELS
from wattgate.db.models import SecretKey
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import Conflict

SAMPLE = "wattgate"
"""The text that each key in use encrypts as a sample."""


@dataclass(frozen=True, slots=True)
class KeyCount:
    """The number of secrets of a column under a key."""

    table: str
    column: str
    key_id: str
    count: int


async def verify_keys(database: Database) -> None:
    """Check that the database's key ring decrypts everything in use, and record its first key as in use.

    Raise SecretKeyError if a key in use is missing or has another value.
    """
    async with database.session(SystemAccess.ROTATE_KEYS) as session:
        known = {key.key_id for key in await _checked_keys(session, database.key_ring)}
    if not database.key_ring.key_ids or database.key_ring.current_id in known:
        return
    try:
        async with database.session(SystemAccess.ROTATE_KEYS) as session:
            session.add(_new_record(database.key_ring))
            await session.commit()
    except Conflict:  # another process has recorded it
        return


async def count_secrets(database: Database) -> list[KeyCount]:
    """Return the number of secrets of each encrypted column by key, without counts of 0."""
    counts: list[KeyCount] = []
    async with database.session(SystemAccess.ROTATE_KEYS) as session:
        in_use = set((await session.execute(select(col(SecretKey.key_id)))).scalars()) | set(database.key_ring.key_ids)
        for table, _, column in _encrypted_columns():
            conditions = {key_id: column.startswith(f"{PREFIX}{key_id}.", autoescape=True) for key_id in sorted(in_use)}
            for key_id, condition in conditions.items():
                statement = select(func.count()).select_from(table).where(condition)
                number = (await session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one()
                if number:
                    counts.append(KeyCount(table.name, column.name, key_id, number))
    return counts


async def rotate_secrets(database: Database, batch_rows: int = BATCH_ROWS) -> AsyncGenerator[KeyCount, None]:
    """Encrypt every secret with the first key that is not under it yet. Yield each batch after its commit.

    An interrupted rotation continues where it stopped, because rows under the first key are left out.
    At the end, only the keys that still encrypt a secret remain recorded as in use.
    """
    await verify_keys(database)
    for table, key, column in _encrypted_columns():
        last = ""
        while True:
            async with database.session(SystemAccess.ROTATE_KEYS) as session:
                batch = await _rows_under_other_keys(session, database.key_ring, table, key, column, last, batch_rows)
                changed = 0
                for row_id, stored in batch:
                    location = SecretLocation(table.name, column.name, row_id)
                    unchanged = (key == row_id) & (column == stored)
                    values = {column.name: database.key_ring.rotate(stored, location)}
                    statement = update(table).where(unchanged).values(**values)
                    result: Any = await session.execute(statement, execution_options=SCOPED_OPTION)
                    changed += result.rowcount
                await session.commit()
            if batch:
                yield KeyCount(table.name, column.name, database.key_ring.current_id, changed)
                last = batch[-1][0]
            if len(batch) < batch_rows:
                break
    await _forget_unused_keys(database)


async def _forget_unused_keys(database: Database) -> None:
    used = {count.key_id for count in await count_secrets(database)} | {database.key_ring.current_id}
    async with database.session(SystemAccess.ROTATE_KEYS) as session:
        await session.execute(delete(SecretKey).where(col(SecretKey.key_id).not_in(used)))
        await session.commit()


async def _rows_under_other_keys(
    session: AsyncSession,
    key_ring: KeyRing,
    table: Table,
    key: Column[Any],
    column: Column[Any],
    after: str,
    limit: int,
) -> list[tuple[str, str]]:
    """Return up to `limit` identifiers and stored texts that the first key did not encrypt, in order."""
    current = column.startswith(f"{PREFIX}{key_ring.current_id}.", autoescape=True)
    statement = select(key, column).where(key > after, column.is_not(None), ~current).order_by(key).limit(limit)
    rows = await session.execute(statement.with_for_update(), execution_options=SCOPED_OPTION)
    return [(row_id, stored) for row_id, stored in rows]


async def _checked_keys(session: AsyncSession, key_ring: KeyRing) -> list[SecretKey]:
    keys = list((await session.execute(select(SecretKey))).scalars())
    for key in keys:
        if key_ring.decrypt(key.sample, _sample_location(key.key_id)) != SAMPLE:
            raise SecretKeyError(f"The sample of the key {key.key_id} in the table secret_key was changed.")
    return keys


def _new_record(key_ring: KeyRing) -> SecretKey:
    key_id = key_ring.current_id
    return SecretKey(key_id=key_id, sample=key_ring.encrypt(SAMPLE, _sample_location(key_id)))


def _sample_location(key_id: str) -> SecretLocation:
    return SecretLocation("secret_key", "sample", key_id)


def _encrypted_columns() -> list[tuple[Table, Column[Any], Column[Any]]]:
    """Return the table, the identifier column and the encrypted column of each encrypted column."""
    found = []
    for model, names in ENCRYPTED_MODELS.items():
        table = SQLModel.metadata.tables[str(model.__tablename__)]
        found += [(table, table.c[model.key], table.c[name]) for name in names]
    return found
