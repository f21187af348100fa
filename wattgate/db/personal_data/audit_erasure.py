"""The erasure of personal values in the audit log, which its check accepts.

An entry keeps its digest, so the chain stays as it is. Its content no longer has that digest. A new entry of the chain
attests the digest of what remains. The check accepts a changed entry only with such an attestation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.audit.audit_chain import ERASE_VALUES, AuditAct, append_entry, entry_digest
from wattgate.db.models import AuditEntry
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess, system_access
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

BATCH_ENTRIES = 100
"""Maximum entries in a batch, so that the entry that attests them stays small."""


class ErasedEntries(NamedTuple):
    """The last entry that was searched, the number of changed entries, and whether there are more."""

    sequence: int
    changed: int
    has_more: bool


async def erase_audit_values(rows: Rows, user_id: str, after: int) -> ErasedEntries:
    """Erase the network addresses of a user in the entries after a sequence number, up to BATCH_ENTRIES."""
    session = rows.write_session
    entries = await _find_entries(session, rows.application_id, user_id, after)
    attested = list[dict[str, Any]]()
    for entry in entries:
        digest = await _erase(session, entry)
        attested.append(
            {"record": "audit entry", "id": entry.audit_entry_id, "sequence": entry.sequence, "digest": digest}
        )
    if attested:
        act = AuditAct(ERASE_VALUES, {"role": "system"}, {"userId": user_id}, attested, None, None)
        await append_entry(session, rows.application_id, act, rows.now)
    last = entries[-1].sequence if entries else after
    return ErasedEntries(last, len(attested), len(entries) == BATCH_ENTRIES)


async def _find_entries(session: AsyncSession, application_id: str, user_id: str, after: int) -> Sequence[Any]:
    columns = [getattr(AuditEntry, name) for name in AuditEntry.model_fields]
    is_caller = col(AuditEntry.actor)["userId"].as_string() == user_id
    statement = (
        select(*columns)
        .where(
            col(AuditEntry.application_id) == application_id,
            col(AuditEntry.sequence) > after,
            is_caller,
            col(AuditEntry.client_address).is_not(None),
        )
        .order_by(col(AuditEntry.sequence))
        .limit(BATCH_ENTRIES)
    )
    return (await session.execute(statement, execution_options=SCOPED_OPTION)).all()


async def _erase(session: AsyncSession, entry: Any) -> str:
    """Erase the network address of an entry. Return the digest of the rest."""
    content = {name: getattr(entry, name) for name in AuditEntry.model_fields}
    with system_access(session, SystemAccess.ERASE_AUDIT_VALUES):
        await session.execute(
            update(AuditEntry)
            .where(
                col(AuditEntry.application_id) == entry.application_id,
                col(AuditEntry.audit_entry_id) == entry.audit_entry_id,
            )
            .values(client_address=None),
            execution_options={**SCOPED_OPTION, "synchronize_session": False},
        )
    return entry_digest(AuditEntry(**content | {"client_address": None}))
