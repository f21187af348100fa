"""The operations that the audit log records, declared in one place, and the entries that they leave.

A test fails if a mutation of the catalogue is in none of the tables.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from wattgate.client import current_client
from wattgate.db.audit_chain import AuditAct
from wattgate.db.change_recorder import ChangeRecorder, to_json
from wattgate.db.rows import Rows
from wattgate.enums import TRACE_ID, to_camel_case
from wattgate.graphql.core.operation import Operation, OperationKind
from wattgate.principal import Principal

ADMINISTRATIVE = frozenset(
    {
        # applications, users and their credentials
        *("create_application", "rotate_application_secret", "create_user", "create_oauth_client"),
        *("add_user", "delete_user", "repeat_erasure", "add_account", "delete_account"),
        *("add_directory", "update_directory", "reset_second_factor"),
        # documents that clients may send
        *("register_documents", "remove_documents", "require_trusted_documents"),
        # messages and events to other systems
        *("add_template", "add_template_for", "update_template"),
        *("add_template_version", "publish_template", "roll_back_template"),
        *("archive_template", "restore_template", "share_template_preview"),
        *("send_test_mail", "send_alert", "remove_mail_suppression", "add_alert_type", "update_alert_type"),
        *("add_webhook_endpoint", "update_webhook_endpoint", "delete_webhook_endpoint"),
        *("rotate_webhook_secret", "ping_webhook_endpoint", "replay_webhooks", "redrive_webhooks"),
        # consents, retention and flexibility
        *("verify_meter_point", "set_retention", "add_dfs_event", "move_dfs_event"),
        # owners of resources and devices
        *("move_resource", "move_device", "move_meter_point", "move_in_new_user", "withdraw_before_move"),
        "register_device_claim",
        # types and content of the application
        *("add_resource_type", "add_device_type", "add_virtual_entity_type", "update_virtual_entity_type"),
        *("add_faq", "add_content", "update_content", "add_language_content", "update_language_content"),
        *("add_terms_conditions", "add_support_details", "add_prompt_type", "add_prompt", "add_user_action_type"),
    }
)
"""The operations of administrators and applications. Each call is recorded."""

ADMINISTRATIVE_FOR_OTHERS = frozenset(
    {
        *("update_account", "change_email", "change_name", "change_password", "rename_user", "update_user"),
        *("new_token", "delete_token", "revoke_token", "add_mobile_app_token", "remove_mobile_app_token"),
        *("enrol_second_factor", "confirm_second_factor", "remove_second_factor"),
        *("approve_display_pairing", "deny_display_pairing", "rename_paired_display", "revoke_paired_display"),
        *("set_account_profile", "update_account_session"),
        *("add_virtual_entity", "update_virtual_entity", "deactivate_virtual_entity"),
        *("set_virtual_entity_attributes", "remove_virtual_entity_attributes"),
        *("add_virtual_entity_resource", "remove_virtual_entity_resource"),
        *("add_resource", "update_resource", "add_device", "update_device", "deactivate_device"),
        *("set_tariff", "withdraw_tariff", "set_tariff_prices"),
        *("renew_consents", "revoke_consents", "opt_in_to_dfs", "opt_out_of_dfs", "participate_in_dfs_event"),
        *("add_alert_rule", "update_alert_rule", "remove_alert_rule"),
        *("add_terms_conditions_user", "add_prompt_user", "add_user_action", "export_my_data"),
    }
)
"""Operations that users have for their own records. The calls of all other callers are recorded."""

_LOGIN = "A caller logs in or registers, and acts on its own account only."
_MEASUREMENT = "It carries measured data, not a decision of an administrator."
_WORK = "A worker carries out what another operation or a setting has decided."

NOT_ADMINISTRATIVE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("authenticate", "register", "request_verification", "verify_user"), _LOGIN),
        **dict.fromkeys(("start_display_pairing", "claim_display_pairing"), "A display acts on its own pairing only."),
        "check_display_pairing": "It changes only the count of wrong codes.",
        "end_own_display": "A display ends its own credential.",
        "confirm_email_change": "The holder of an account proves an address that was requested before.",
        **dict.fromkeys(("request_password_reset", "reset_password", "authorise", "grant_oauth_tokens"), _LOGIN),
        **dict.fromkeys(("record_readings", "record_reading_columns", "record_reading_arrays"), _MEASUREMENT),
        **dict.fromkeys(("record_meter_messages", "record_intake_heartbeat", "catch_up"), _MEASUREMENT),
        "store_registry_records": "The registry of the meter network belongs to no application.",
        "mark_alerts_read": "It changes only which alerts a list shows as new.",
        "unsubscribe": "The recipient of a mail follows the link in it.",
        **dict.fromkeys(("claim_catch_up", "update_catch_up", "claim_deliveries", "release_delivery"), _WORK),
        **dict.fromkeys(("record_webhook", "prepare_webhook", "record_webhook_outcome", "purge_events"), _WORK),
        **dict.fromkeys(("record_notification_outcome", "record_push_outcome", "record_mail_outcome"), _WORK),
        **dict.fromkeys(("record_account_mail_outcome", "purge_login_failures", "purge_pairings"), _WORK),
        **dict.fromkeys(("purge_unverified_accounts", "purge_account_mails"), _WORK),
        **dict.fromkeys(("record_test_mail_outcome", "store_kept_mail", "evaluate_rule"), _WORK),
        **dict.fromkeys(("purge_readings", "run_maintenance", "store_accesses", "purge_accesses"), _WORK),
        **dict.fromkeys(("claim_erasure", "erase_batch", "mark_erasures_listed"), _WORK),
        **dict.fromkeys(("claim_export", "add_export_parts", "finish_export"), _WORK),
        "purge_kept_mails": "It empties the outbox of mails that were not sent, which production does not have.",
    }
)
"""The mutations that leave no entry, each with the reason."""


def is_audited(operation: Operation, principal: Principal) -> bool:
    """Return whether the audit log records this call of an operation."""
    if operation.kind is not OperationKind.MUTATION:
        return False
    if operation.name in ADMINISTRATIVE:
        return True
    return operation.name in ADMINISTRATIVE_FOR_OTHERS and not principal.sees_own_records_only


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
