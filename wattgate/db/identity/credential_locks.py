"""Locks that order the operations of a caller and the acts that end its credentials.

An operation that changes records holds the locks of its caller until it commits, shared with the other operations of
the caller. An act that ends credentials takes the lock alone. So it waits for the operations that have begun, sees what
they made, and ends that too. An operation that begins later waits for the act, and then finds its credential ended.

SQLite runs one transaction that writes at a time, so it needs no locks. On PostgreSQL these are advisory locks of the
transaction: they come in the order of the requests, so many short operations cannot keep an ending act waiting, as they
could with shared locks of rows. Take them before rows are locked, otherwise two transactions can wait for each other.
"""

import hashlib
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.models import Account
from wattgate.db.reader import dialect_name
from wattgate.db.rows import Rows
from wattgate.principal import Principal

_SHARED, _ALONE = "pg_advisory_xact_lock_shared", "pg_advisory_xact_lock"


async def hold_credential(session: AsyncSession, principal: Principal, *, alone: bool) -> None:
    """Hold the locks of a caller until the transaction ends.

    `alone` is for operations that may end credentials of the caller itself. To share the lock first and to take it
    alone later would let two such operations wait for each other.
    """
    locks = []
    if principal.credential_name is not None:
        locks.append((_SHARED, _key("credential", principal.credential_name)))
    if principal.user_id is not None:
        locks.append((_ALONE if alone else _SHARED, _key("user", principal.user_id)))
    await _lock(session, locks)


async def lock_user(rows: Rows, user_id: str) -> None:
    """Wait for the operations of a user's accounts, and keep others from beginning, because credentials of it end.

    The records of the accounts are locked too, for log-ins, which hold no credential yet.
    """
    session = rows.write_session
    await _lock(session, [(_ALONE, _key("user", user_id))])
    if dialect_name(session) == "postgresql":
        await rows.lock(Account, col(Account.user_id) == user_id)


async def lock_application_credential(rows: Rows, username: str) -> None:
    """Wait for the operations of an application's credential, and keep others from beginning, because it ends."""
    await _lock(rows.write_session, [(_ALONE, _key("credential", username))])


async def _lock(session: AsyncSession, locks: Sequence[tuple[str, int]]) -> None:
    if locks and dialect_name(session) == "postgresql":
        calls = ", ".join(f"{function}(${number})" for number, (function, _) in enumerate(locks, 1))
        keys = tuple(key for _, key in locks)
        # without the compiler of SQLAlchemy, because each operation of a caller executes it
        await (await session.connection()).exec_driver_sql(f"SELECT {calls}", keys)


def _key(kind: str, name: str) -> int:
    """Return the number of a lock. Two names with the same number only wait for each other."""
    digest = hashlib.sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
