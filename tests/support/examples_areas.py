"""Examples for content, consent, notifications and flexibility, with their legacy REST formats."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from strawberry import ID

from tests.support.example import NOTHING, Example, by_id, fixed
from tests.support.house import Tenant
from tests.support.sample_records import silence_rule
from wattgate.db.models import MailSuppression
from wattgate.enums import Channel, SuppressionCause
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.types.messages.alerts import NewTemplateText, TemplateChange
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.operations.types.messages.webhooks import NewWebhookEndpoint
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.operations.vocabulary.scalars import Currency, Json
from wattgate.principal import Permission

ROOT = "/user/verification/status"
MARK = "<p>{{name}}</p>"


async def _own_meter_point(tenant: Tenant) -> dict[str, Any]:
    mpxn = str(uuid4().int)[:12]
    await tenant.run("verify_meter_point", mpxn=mpxn)
    return {"mpxns": [mpxn]}


async def _own_opt_in(tenant: Tenant) -> dict[str, Any]:
    (mpxn,) = (await _own_meter_point(tenant))["mpxns"]
    await tenant.run("opt_in_to_dfs", mpxn=mpxn)
    return {"mpxn": mpxn}


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def _suppress(call: Call, *, address: str) -> None:
    """Add a suppressed mail address."""
    await call.rows.add(MailSuppression(address=address, cause=SuppressionCause.REFUSED))


async def own_mail_suppression(tenant: Tenant) -> dict[str, Any]:
    address = f"{uuid4().hex}@example.org"
    await tenant.gateway.runner.run(_suppress, tenant.system, {"address": address})
    return {"address": address}


def _times() -> dict[str, str]:
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    return {"startsAt": start.isoformat(), "endsAt": (start + timedelta(hours=1)).isoformat()}


async def _announced(tenant: Tenant) -> dict[str, Any]:
    start = datetime.now(UTC) + timedelta(days=2)
    event = NewDfsEvent(
        name="Evening",
        starts_at=start,
        ends_at=start + timedelta(hours=1),
        reward=Decimal(1),
        currency=Currency("GBP"),
    )
    created = await tenant.run("add_dfs_event", input=event)
    return {"dfsEventId": created.dfs_event_id, "state": "OPEN"}


async def _own_endpoint(tenant: Tenant) -> dict[str, Any]:
    arguments = NewWebhookEndpoint(url="https://hooks.invalid/gone", events=["*"], enabled=False)
    return {"endpointId": (await tenant.run("add_webhook_endpoint", input=arguments)).endpoint.endpoint_id}


async def _twice_published(tenant: Tenant) -> dict[str, Any]:
    channel = Channel.INBOX
    arguments = NewTemplateText(name="Twice", html_template=MARK, active=True)
    kind = {"alert_type_id": tenant.ids["alert_type"], "channel_type": channel, "culture_code": "it"}
    created = await tenant.run("add_template_for", **kind, input=arguments)
    await tenant.run("update_template", template_id=created.template_id, input=TemplateChange(subject="Second"))
    return {"templateId": created.template_id}


async def _draft_to_continue(tenant: Tenant) -> dict[str, Any]:
    kind = {"alert_type_id": tenant.ids["alert_type"], "channel_type": Channel.INBOX, "culture_code": "nl"}
    draft = await tenant.run("add_template_for", **kind, input=NewTemplateText(name="Draft", html_template=MARK))
    return {"templateId": draft.template_id, "input": {"subject": MARK, "text": None}}


async def _own_rule(tenant: Tenant) -> dict[str, Any]:
    return {"ruleId": (await tenant.run("add_alert_rule", input=silence_rule(tenant))).rule_id}


def _mail_to_try(tenant: Tenant) -> dict[str, Any]:
    return {"address": "any@testers.example", "input": {"templateId": tenant.ids["template"], "data": {"name": "A"}}}


async def _own_test_mail(tenant: Tenant) -> dict[str, Any]:
    template = TemplateToPreview(template_id=ID(tenant.ids["template"]), data=Json({"name": "A"}))
    sent = await tenant.run("send_test_mail", address="any@testers.example", input=template)
    return {"testMailId": sent.test_mail.test_mail_id}


EXAMPLES: dict[str, Example] = {
    "contents": fixed(lambda tenant: {"reference": "tips"}),
    "content": by_id("content", "contentId"),
    "add_content": fixed(lambda tenant: {"input": {"reference": "news", "name": "News", "data": {"a": [1]}}}),
    "update_content": by_id("content", "contentId", input={"description": "Changed"}),
    "language_contents": fixed(lambda tenant: {"contentId": tenant.ids["content"], "cultureCode": "fr-CA"}),
    "language_content": by_id("language_content", "languageContentId"),
    "add_language_content": fixed(
        lambda tenant: {"input": {"contentId": tenant.ids["content"], "cultureCode": "de", "data": {"in": "de"}}}
    ),
    "update_language_content": by_id("language_content", "languageContentId", input={"active": True}),
    "all_terms_conditions": fixed(lambda tenant: {"reference": "app"}),
    "terms_conditions": by_id("terms_conditions", "tcId"),
    "add_terms_conditions": fixed(
        lambda tenant: {"input": {"reference": "web", "version": "2", "validFrom": "2030-01-01T00:00:00Z"}}
    ),
    "current_terms_conditions": NOTHING,
    "terms_conditions_users": NOTHING,
    "terms_conditions_user": by_id("terms_conditions_user", "tcUserId"),
    "add_terms_conditions_user": fixed(
        lambda tenant: {"input": {"tcId": tenant.ids["terms_conditions"], "data": {"dataAccess": {"valid": False}}}}
    ),
    "all_support_details": fixed(lambda tenant: {"country": "GB"}),
    "support_details": by_id("support_details", "supportDetailsId"),
    "add_support_details": fixed(lambda tenant: {"input": {"reference": "web", "country": "IE"}}),
    "prompt_types": NOTHING,
    "prompt_type": by_id("prompt_type", "promptTypeId"),
    "add_prompt_type": fixed(lambda tenant: {"input": {"name": "survey"}}),
    "prompts": NOTHING,
    "prompt": by_id("prompt", "promptId"),
    "add_prompt": fixed(lambda tenant: {"input": {"promptTypeId": tenant.ids["prompt_type"], "name": "Rate us"}}),
    "prompt_users": NOTHING,
    "prompt_user": by_id("prompt_user", "promptUserId"),
    "add_prompt_user": fixed(lambda tenant: {"input": {"promptId": tenant.ids["prompt"], "status": "dismissed"}}),
    "user_action_types": NOTHING,
    "user_action_type": by_id("user_action_type", "userActionTypeId"),
    "add_user_action_type": fixed(lambda tenant: {"input": {"name": "shared"}}),
    "user_actions": NOTHING,
    "user_action": by_id("user_action", "userActionId"),
    "add_user_action": fixed(
        lambda tenant: {"input": {"userActionTypeId": tenant.ids["user_action_type"], "data": {"page": "home"}}}
    ),
    "templates": NOTHING,
    "template": by_id("template", "templateId"),
    "add_template": fixed(
        lambda tenant: {
            "input": {
                "alertTypeId": tenant.ids["alert_type"],
                "name": "Push",
                "channelType": "PUSH",
                "cultureCode": "en-US",
                "htmlTemplate": MARK,
            }
        }
    ),
    "update_template": by_id("template", "templateId", input={"name": "Renamed"}),
    "template_for": by_id("alert_type", "alertTypeId", channelType="EMAIL", cultureCode="en-GB"),
    "add_template_for": by_id(
        "alert_type",
        "alertTypeId",
        channelType="INBOX",
        cultureCode="en-GB",
        input={"name": "Inbox", "htmlTemplate": MARK},
    ),
    "add_template_version": _draft_to_continue,
    "publish_template": by_id("template", "templateId", version=1),
    "roll_back_template": _twice_published,
    "archive_template": _twice_published,
    "restore_template": _twice_published,
    "share_template_preview": by_id("template", "templateId", version=1, hours=1),
    "send_test_mail": fixed(_mail_to_try),
    "test_mail": _own_test_mail,
    "preview_template": fixed(lambda tenant: {"input": {"templateId": tenant.ids["template"], "data": {"name": "A"}}}),
    "send_alert": fixed(
        lambda tenant: {
            "input": {
                "userId": tenant.user_id,
                "alertTypeId": "CM01",
                "channels": ["EMAIL", "PUSH"],
                "priority": "HIGH",
                "data": {"name": "Ada"},
            }
        }
    ),
    "alert": by_id("alert", "alertId"),
    "user_alerts": NOTHING,
    "mark_alerts_read": by_id("alert", "alertIds"),
    "notification": by_id("notification", "notificationId"),
    "remove_mail_suppression": own_mail_suppression,
    "report_mail_bounce": fixed(lambda tenant: {"address": "gone@example.org", "reason": "550 5.1.1 user unknown"}),
    "alert_rules": NOTHING,
    "alert_rule": by_id("alert_rule", "ruleId"),
    "add_alert_rule": fixed(
        lambda tenant: {
            "input": {
                "name": "Much",
                "kind": "THRESHOLD",
                "windowMinutes": 60,
                "threshold": "2.5",
                "hysteresis": "0.5",
                "resourceId": tenant.ids["resource"],
                "alertTypeId": tenant.ids["alert_type"],
                "channels": ["INBOX"],
            }
        }
    ),
    "update_alert_rule": by_id("alert_rule", "ruleId", input={"name": "Silent"}),
    "remove_alert_rule": _own_rule,
    "webhook_endpoints": NOTHING,
    "webhook_endpoint": by_id("webhook_endpoint", "endpointId"),
    "add_webhook_endpoint": fixed(lambda tenant: {"input": {"url": "https://hooks.invalid/in", "events": ["dfs.*"]}}),
    "update_webhook_endpoint": by_id("webhook_endpoint", "endpointId", input={"description": "Of the shop"}),
    "delete_webhook_endpoint": _own_endpoint,
    "rotate_webhook_secret": by_id("webhook_endpoint", "endpointId", overlapHours=1),
    "ping_webhook_endpoint": by_id("webhook_endpoint", "endpointId"),
    "replay_webhooks": by_id("webhook_endpoint", "endpointId", since="2030-01-01T00:00:00Z"),
    "redrive_webhooks": by_id("webhook_endpoint", "endpointId", since="2030-01-01T00:00:00Z"),
    "webhooks": NOTHING,
    "webhook": by_id("webhook", "webhookId"),
    "webhook_errors": NOTHING,
    "webhook_error": by_id("webhook_error", "errorId"),
    "consents": NOTHING,
    "verify_meter_point": fixed(lambda tenant: {"mpxn": str(uuid4().int)[:12]}),
    "renew_consents": _own_meter_point,
    "revoke_consents": _own_meter_point,
    "consent_changes": by_id("mpxn", "mpxn", kind="RENEWAL"),
    "consent_receipts": fixed(lambda tenant: {"first": 2}),
    "consent_receipt": by_id("consent_receipt", "receiptId"),
    "tenancies": fixed(lambda tenant: {"first": 2}),
    "access_log": fixed(lambda tenant: {"first": 2}),
    "dfs_terms_conditions": NOTHING,
    "dfs_users": NOTHING,
    "opt_in_to_dfs": by_id("mpxn", "mpxn"),
    "opt_out_of_dfs": _own_opt_in,
    "user_dfs_events": NOTHING,
    "dfs_event_users": by_id("dfs_event", "dfsEventId"),
    "participate_in_dfs_event": by_id("dfs_event", "dfsEventId"),
    "add_dfs_event": fixed(lambda tenant: {"input": {"name": "Night", "reward": "2.5", "currency": "GBP", **_times()}}),
    "move_dfs_event": _announced,
    "viewer": NOTHING,
    "application": NOTHING,
    "node": fixed(lambda tenant: {"id": encode_global_id("Resource", tenant.ids["resource"])}),
    "nodes": fixed(
        lambda tenant: {
            "ids": [
                encode_global_id("Resource", tenant.ids["resource"]),
                encode_global_id("Device", tenant.ids["device"]),
            ]
        }
    ),
    "find_user": fixed(lambda tenant: {"by": {"userId": tenant.user_id}}),
    "find_device": fixed(lambda tenant: {"by": {"resourceId": tenant.ids["resource"]}}),
}


def _alert_body(arguments: dict[str, Any]) -> dict[str, Any]:
    alert = arguments["input"]
    return {
        "userId": alert["userId"],
        "alertTypeId": alert["alertTypeId"],
        "email": "yes",
        "send2Push": "yes",
        "inbox": "no",
        "Priority": "High",
        "dataToFill": alert["data"],
    }


def _alert(result: dict[str, Any]) -> dict[str, Any]:
    yes_or_no = {name: "yes" if name in result["channels"] else "no" for name in ("email", "push", "inbox")}
    return {
        "ns_alert_id": result["alertId"],
        "applicationId": result["applicationId"],
        "userId": result["userId"],
        "alertTypeId": result["alertTypeId"],
        "systemAlertTypeId": result["systemAlertTypeId"],
        **yes_or_no,
        **{f"send2{name.title()}": value for name, value in yes_or_no.items()},
        "Priority": result["priority"],
        "callbackUrl": result["callbackUrl"],
        "dataToFill": result["data"],
        "createdAt": result["createdAt"],
    }


def _notification(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "notificationid": result["notificationId"],
        "ns_alert_id": result["alertId"],
        "received_dtm": result["createdAt"],
        "Status": result["status"],
        "status_at": result["statusAt"],
        "channel": result["channel"],
        "userid": result["userId"],
        "alertData": result["data"],
    }


def _log(result: dict[str, Any]) -> Any:
    return [
        {
            "notificationid": step["notificationId"],
            "Pipeline": None,
            "ns_alert_id": step["alertId"],
            "channel": step["channel"],
            "userid": step["userId"],
            "Stage": step["stage"],
            "workflowStepNum": step["step"],
            "Status": step["status"],
            "status_at": step["statusAt"],
        }
        for step in result["log"]
    ]


def _status(result: Any) -> dict[str, Any]:
    return {
        "meterPointVerification": [
            {
                "isVerified": item["state"] == "VALID",
                "state": item["state"].lower(),
                "isValidUntil": item["revokedAt"] or item["endedAt"] or item["validUntil"],
                "mpxnKey": item["mpxnKey"],
                "mpxn": item["mpxn"],
            }
            for item in result
        ]
    }


def _renewals(result: Any) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointVerificationRenewals": [
            {
                "mpxn": item["mpxn"],
                "valid": True,
                "meterPointVerificationRenewalId": item["changeId"],
                "isValidUntil": item["validUntil"],
            }
            for item in result
        ],
    }


def _revocations(result: Any) -> dict[str, Any]:
    points = [{"mpxn": item["mpxn"], "meterPointVerificationRevocationId": item["changeId"]} for item in result]
    return {"valid": True, "meterPointRevocations": points}


def _renewal_history(result: Any) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointRenewals": [
            {
                "auditReference": {"applicationId": item["applicationId"]},
                "createdAt": item["createdAt"],
                "mpxnKey": item["mpxnKey"],
                "mpxn": item["mpxn"],
                "renewedBy": {"key": "userId", "value": item["userId"]},
                "meterPointVerificationRenewalId": item["changeId"],
            }
            for item in result
        ],
    }


def _points(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"meterPoints": [{"mpxn": mpxn} for mpxn in arguments["mpxns"]]}


def _point(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"mpxn": arguments["mpxns"][0]}


def _channel(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "channelType": arguments["channelType"].lower()}


REST_ARGUMENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "POST /alert": _alert_body,
    "GET /template/{alertTypeId}/{channelType}/{cultureCode}": _channel,
    "POST /template/{alertTypeId}/{channelType}/{cultureCode}": _channel,
    f"POST {ROOT}/mpxns/renewal": _points,
    f"POST {ROOT}/mpxns/revocation": _points,
    f"POST {ROOT}/mpxn/{{mpxn}}/renewal": _point,
    f"POST {ROOT}/mpxn/{{mpxn}}/revocation": _point,
    f"GET {ROOT}/mpxn/{{mpxn}}/renewal": lambda arguments: {"mpxn": arguments["mpxn"]},
    f"GET {ROOT}/mpxn/{{mpxn}}/revocation": lambda arguments: {"mpxn": arguments["mpxn"]},
}
REST_RESULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "POST /alert": lambda result: {"ns_alert_id": "*", "status": "OK"},
    "GET /alert/{alertId}": _alert,
    "GET /alert/user": lambda result: [_alert(item) for item in result],  # type: ignore[arg-type]
    "GET /notification/{notificationId}": _notification,
    "GET /notification/{notificationId}/log": _log,
    f"GET {ROOT}": _status,
    f"POST {ROOT}/mpxns/renewal": _renewals,
    f"POST {ROOT}/mpxn/{{mpxn}}/renewal": _renewals,
    f"POST {ROOT}/mpxns/revocation": _revocations,
    f"POST {ROOT}/mpxn/{{mpxn}}/revocation": _revocations,
    f"GET {ROOT}/mpxn/{{mpxn}}/renewal": _renewal_history,
    f"GET {ROOT}/mpxn/{{mpxn}}/revocation": lambda result: {"valid": True, "meterPointRevocations": []},
}
