"""The steps of an erasure. Each step runs in batches, so that no transaction is long."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.audit_chain import ERASE_VALUES, AuditAct, append_entry, entry_digest
from wattgate.db.models import AuditEntry, Erasure, Resource, Tariff, Tenanted
from wattgate.db.personal_data.rules import OfAddresses, Selection, TableRule, condition, erase_rows, replace_values
from wattgate.db.personal_data.tables import USER_RULES
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess, system_access
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.enums import ErasureAction, ErasureStage

BATCH_ROWS = 500
"""Maximum rows that a batch deletes or changes."""

BATCH_TARIFFS = 10
"""Maximum tariffs that a batch deletes. The database deletes their prices with them."""

BATCH_READINGS = 20_000
"""Maximum readings that a batch deletes from each table."""

READINGS, AUDIT_LOG = "reading", "audit_entry"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the rows of a selection by their rule, or without a rule the readings or the audit log.

    With `is_final`, records that were kept for billing are erased.
    """

    rule: TableRule | None = None
    selection: Selection | None = None
    is_final: bool = False
    table: str = READINGS


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: the number of rows, by table and action, and whether the step has more."""

    table: str
    action: ErasureAction
    rows: int
    has_more: bool
    cursor: int = 0


@cache
def steps_of(stage: ErasureStage, *, keeps_billing: bool) -> Sequence[Step]:
    """Return the steps of a stage. Without a retention of records for billing, they are erased with all others."""
    if stage is ErasureStage.BILLING:
        return _BILLING_STEPS
    return _PERSONAL_STEPS if keeps_billing else (*_PERSONAL_STEPS, *_BILLING_STEPS)


async def run_batch(rows: Rows, erasure: Erasure, step: Step, addresses: Sequence[str] = ()) -> BatchResult:
    """Run one batch of a step, from the cursor of the erasure."""
    if step.table == AUDIT_LOG:
        done = await erase_audit_values(rows, erasure.user_id, erasure.cursor)
        return BatchResult(AUDIT_LOG, ErasureAction.REPLACED, done.changed, done.has_more, done.sequence)
    if step.rule is None or step.selection is None:
        return await _erase_readings(rows, erasure, step)
    model = cast(type[Tenanted], step.rule.model)
    where = condition(rows, model, step.selection, erasure.user_id, addresses)
    table, action = step.rule.table, step.rule.action
    if step.is_final and step.rule.billing:
        action = ErasureAction.ERASED
    if action is ErasureAction.ERASED:
        limit = BATCH_TARIFFS if model is Tariff else BATCH_ROWS
        count = await erase_rows(rows, model, where, limit)
    else:
        limit = BATCH_ROWS
        values = step.rule.billing_replaced if step.is_final else step.rule.replaced
        count = await replace_values(rows, model, where, values, limit)
    return BatchResult(table, action, count, count == limit)


async def _erase_readings(rows: Rows, erasure: Erasure, step: Step) -> BatchResult:
    """Delete readings of the resources after the cursor. Readings for billing are kept, unless the step is final."""
    erased, cursor, remaining = 0, erasure.cursor, BATCH_READINGS
    while remaining > 0:
        resource = await rows.first(
            Resource,
            col(Resource.owner_id) == erasure.user_id,
            col(Resource.number) > cursor,
            order_by=[col(Resource.number)],
        )
        if resource is None:
            return BatchResult(READINGS, ErasureAction.ERASED, erased, has_more=False)
        number = cast(int, resource.number)
        is_billed = resource.mpxn is not None and not step.is_final
        first_field = 1 if is_billed else 0
        count = await rows.readings.erase(number, to_ms(rows.now), first_field=first_field, limit=remaining)
        erased, remaining = erased + count, remaining - count
        if remaining > 0:
            cursor = number
    return BatchResult(READINGS, ErasureAction.ERASED, erased, has_more=True, cursor=cursor)


def _steps(rule: TableRule, *, is_final: bool = False) -> list[Step]:
    return [Step(rule, selection, is_final) for selection in rule.selections if not isinstance(selection, OfAddresses)]


_PERSONAL_STEPS = (*(step for rule in USER_RULES for step in _steps(rule)), Step(), Step(table=AUDIT_LOG))
_BILLING_STEPS = (
    Step(is_final=True),
    *(step for rule in USER_RULES if rule.billing for step in _steps(rule, is_final=True)),
    *(step for rule in USER_RULES if rule.billing_replaced for step in _steps(rule, is_final=True)),
)
ADDRESS_STEPS = tuple(
    Step(rule, selection) for rule in USER_RULES for selection in rule.selections if isinstance(selection, OfAddresses)
)
"""The steps that need the e-mail addresses of the user. Only the start of an erasure has these."""


# The erasure of personal values in the audit log, which its check accepts.
#
# An entry keeps its digest, so the chain stays as it is. Its content no longer has that digest. A new entry of the
# chain attests the digest of what remains. The check accepts a changed entry only with such an attestation.

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
