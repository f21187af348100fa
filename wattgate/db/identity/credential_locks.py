"""Locks that order the operations of a caller and the acts that end its credentials.

An operation that changes records holds the locks of its caller until it commits, shared with the other operations of
the caller. An act that ends credentials takes the lock alone. So it waits for the operations that have begun, sees what
they made, and ends that too. An operation that begins later waits for the act, and then finds its credential ended.

SQLite runs one transaction that writes at a time, so it needs no locks. On PostgreSQL these are advisory locks of the
transaction: they come in the order of the requests, so many short operations cannot keep an ending act waiting, as they
could with shared locks of rows. Take them before rows are locked, otherwise two transactions can wait for each other.
"""

import hashlib

from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.connections.reader import DatabaseReader, dialect_name, transaction_reader
from wattgate.db.connections.scoped_connection import Locks
from wattgate.db.models import Account
from wattgate.db.rows.rows import Rows
from wattgate.principal import Principal


def hold_credential(reader: DatabaseReader, principal: Principal, *, alone: bool) -> None:
    """Let the next statement of a reader take the locks of a caller first, until its transaction ends.

    The locks are a statement of their own in the same round trip. A statement that takes locks and reads as well would
    see the state from before the wait for them.

    `alone` is for operations that may end credentials of the caller itself. To share the lock first and to take it
    alone later would let two such operations wait for each other.
    """
    credential = None if principal.credential_name is None else _key("credential", principal.credential_name)
    user = None if principal.user_id is None else _key("user", principal.user_id)
    reader.lock_first(Locks(credential, None, user) if alone else Locks(credential, user, None))


async def lock_user(rows: Rows, user_id: str) -> None:
    """Wait for the operations of a user's accounts, and keep others from beginning, because credentials of it end.

    The records of the accounts are locked too, for log-ins, which hold no credential yet.
    """
    session = rows.write_session
    await _lock(session, Locks(alone=_key("user", user_id)))
    if dialect_name(session) == "postgresql":
        await rows.lock(Account, col(Account.user_id) == user_id)


async def lock_application_credential(rows: Rows, username: str) -> None:
    """Wait for the operations of an application's credential, and keep others from beginning, because it ends."""
    await _lock(rows.write_session, Locks(alone=_key("credential", username)))


async def _lock(session: AsyncSession, locks: Locks) -> None:
    if dialect_name(session) == "postgresql":
        reader = await transaction_reader(session)
        reader.lock_first(locks)
        await reader.fetch_sql("SELECT 1", ())


def _key(kind: str, name: str) -> int:
    """Return the number of a lock. Two names with the same number only wait for each other."""
    digest = hashlib.sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)
