"""The hash chain of the audit log: append entries, and find entries that were changed, removed or reordered."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db.column_types import new_id
from wattgate.db.connections.reader import DatabaseSession, dialect_name
from wattgate.db.models import AuditEntry, AuditHead
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

FIRST_DIGEST = "0" * 64
"""The previous digest of the first entry."""

ERASE_VALUES = "eraseAuditValues"
"""The operation of entries that attest which entries lost personal values, and the digests of what remains."""

BATCH_SIZE = 500
"""The number of entries that the check reads at a time."""

MAX_PROBLEMS = 100
"""The check stops after this many problems."""


@dataclass(frozen=True, slots=True)
class AuditAct:
    """An act to record. All values are JSON without fractions, so that both databases return them unchanged."""

    operation: str
    actor: dict[str, Any]
    target: dict[str, Any]
    changes: list[dict[str, Any]]
    trace_id: str | None
    client_address: str | None


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """The result of a check: the number of entries, and what is wrong with them.

    `erased` is the number of entries that lost personal values, as later entries attest.
    """

    entries: int
    problems: list[str]
    erased: int = 0


async def append_entry(session: AsyncSession, application_id: str, act: AuditAct, now: datetime) -> None:
    """Append an entry in the caller's transaction.

    It locks the application's head until the transaction ends. Call it last, so that others wait only for the commit.
    """
    insert = (sqlite if dialect_name(session) == "sqlite" else postgresql).insert(AuditHead)
    first = {"application_id": application_id, "sequence": 0, "digest": FIRST_DIGEST}
    await session.execute(insert.values(**first).on_conflict_do_nothing(), execution_options=SCOPED_OPTION)
    own_head = col(AuditHead.application_id) == application_id
    head = (await session.execute(_select_head(application_id).with_for_update())).one()
    entry = AuditEntry(
        audit_entry_id=new_id(),
        application_id=application_id,
        sequence=head.sequence + 1,
        operation=act.operation,
        actor=act.actor,
        target=act.target,
        changes=act.changes,
        trace_id=act.trace_id,
        client_address=act.client_address,
        previous_digest=head.digest,
        digest="",
        created_at=now,
    )
    entry.digest = entry_digest(entry)
    session.add(entry)
    await session.flush()
    values = {"sequence": entry.sequence, "digest": entry.digest}
    await session.execute(update(AuditHead).where(own_head).values(**values))


def entry_digest(entry: AuditEntry) -> str:
    """Return the digest of an entry: the SHA-256 of its columns as JSON with sorted keys."""
    content = {name: getattr(entry, name) for name in AuditEntry.model_fields if name not in ("digest", "created_at")}
    content["created_at"] = format_iso(entry.created_at)
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


async def check_chain(session: DatabaseSession, application_id: str) -> ChainCheck:
    """Compare every entry of an application with its digest, its predecessor and the head."""
    head = (await session.execute(_select_head(application_id))).one_or_none()
    sequence, digest, problems = 0, FIRST_DIGEST, list[str]()
    changed, erased = dict[int, tuple[str, str]](), 0
    while (batch := await _read_batch(session, application_id, sequence)) and len(problems) < MAX_PROBLEMS:
        for entry in batch:
            problems += _find_problems(entry, sequence + 1, digest)
            sequence, digest = entry.sequence, entry.digest
            if (content := entry_digest(entry)) != entry.digest:
                changed[entry.sequence] = content, entry.audit_entry_id
            elif entry.operation == ERASE_VALUES:
                erased += _accept_erased(entry, changed)
    problems += [
        f"Entry {number} ({entry_id}) was changed: its digest does not match."
        for number, (_, entry_id) in changed.items()
    ]
    if (sequence, digest) != ((head.sequence, head.digest) if head else (0, FIRST_DIGEST)):
        last = head.sequence if head else 0
        problems.append(f"The last entry is {sequence}, but the head of the chain is entry {last}.")
    return ChainCheck(sequence, problems[:MAX_PROBLEMS], erased)


def _accept_erased(attestation: Any, changed: dict[int, tuple[str, str]]) -> int:
    """Remove the changed entries whose content has the attested digest. Return their number."""
    accepted = 0
    for item in attestation.changes:
        content, _ = changed.get(item["sequence"], ("", ""))
        if content and content == item["digest"]:
            del changed[item["sequence"]]
            accepted += 1
    return accepted


def _find_problems(entry: Any, sequence: int, previous_digest: str) -> list[str]:
    problems = []
    if entry.sequence != sequence:
        problems.append(f"Entries {sequence} to {entry.sequence - 1} are missing.")
    elif entry.previous_digest != previous_digest:
        problems.append(f"Entry {entry.sequence} does not follow entry {sequence - 1}: the digests differ.")
    return problems


async def _read_batch(session: DatabaseSession, application_id: str, after: int) -> Sequence[Any]:
    columns = [getattr(AuditEntry, name) for name in AuditEntry.model_fields]
    statement = (
        select(*columns)
        .where(col(AuditEntry.application_id) == application_id, col(AuditEntry.sequence) > after)
        .order_by(col(AuditEntry.sequence))
        .limit(BATCH_SIZE)
    )
    return (await session.execute(statement, execution_options=SCOPED_OPTION)).all()


def _select_head(application_id: str) -> Any:
    return select(col(AuditHead.sequence), col(AuditHead.digest)).where(col(AuditHead.application_id) == application_id)
