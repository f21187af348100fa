"""The entries that operations leave in the audit log. Each mutation declares which of its calls leave one."""

from collections.abc import Mapping
from typing import Any

from wattgate.db.audit.audit_chain import AuditAct
from wattgate.db.audit.change_recorder import ChangeRecorder, to_json
from wattgate.db.rows.rows import Rows
from wattgate.enums import TRACE_ID, to_camel_case
from wattgate.operations.core.operation import Audit, Operation
from wattgate.principal import Principal
from wattgate.requests.client import current_client


def is_audited(operation: Operation, principal: Principal) -> bool:
    """Return whether the audit log records this call of an operation."""
    if operation.audit is Audit.CALLS_FOR_OTHERS:
        return not principal.sees_own_records_only
    return operation.audit is Audit.EVERY_CALL


async def record_act(rows: Rows, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> None:
    """Append an entry about a finished operation, in its transaction."""
    assert isinstance(rows.recorder, ChangeRecorder)
    await rows.flush()
    changes = rows.recorder.changes()
    application_id = principal.application_id or rows.recorder.application_id
    if application_id is None:
        return  # the system has changed nothing of an application
    act = AuditAct(
        operation=to_camel_case(operation.name),
        actor=_actor(principal),
        target=_target(arguments),
        changes=changes,
        trace_id=TRACE_ID.get() or None,
        client_address=current_client().host,
    )
    await rows.append_audit_entry(application_id, act)


def _actor(principal: Principal) -> dict[str, Any]:
    """Return who has called. `userId` is the user for whom an application acts, or that of the account."""
    return {
        "role": principal.role.value,
        "scheme": principal.scheme.value,
        "accountId": principal.account_id,
        "userId": principal.user_id,
        "tokenId": principal.token_id,
        "credential": principal.credential_name,
    }


def _target(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids among the arguments. Other arguments may be secret or personal; `changes` has what they did."""
    target: dict[str, Any] = {}
    for name, value in arguments.items():
        if name.endswith("_id") and value is not None:
            target[to_camel_case(name)] = to_json(value)
        elif name.endswith("_ids") and value is not None:
            target[to_camel_case(name)] = [to_json(item) for item in value]
    return target
