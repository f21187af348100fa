"""Sample records for a tenant: one of each kind of content, notifications, consent and flexibility."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from strawberry import ID

from wattgate.access_log import ReadCounter, ReadData, Reader
from wattgate.enums import Channel, DfsEventState, RuleKind
from wattgate.operations.consent import access_log
from wattgate.operations.types.content import content, flexibility, prompts
from wattgate.operations.types.identity import directories
from wattgate.operations.types.messages import alert_rules, alerts
from wattgate.operations.types.messages import webhooks as webhook_endpoints
from wattgate.operations.vocabulary.scalars import Currency, Json
from wattgate.operations.webhooks import webhooks


async def add_sample_records(tenant: Any) -> None:
    ids, run = tenant.ids, tenant.run
    created_content = await run(
        "add_content", input=content.NewContent(reference="tips", name="Tips", data=Json({"title": "Tips"}))
    )
    ids["content"] = created_content.content_id
    for culture in ("default", "fr"):
        language_content = content.NewLanguageContent(
            content_id=ID(created_content.content_id), culture_code=culture, data=Json({"in": culture})
        )
        ids["language_content"] = (await run("add_language_content", input=language_content)).language_content_id
    for reference in ("app", "dfs"):
        terms = content.NewTermsConditions(
            reference=reference, version="1", valid_from=datetime(2025, 1, 1, tzinfo=UTC), title="Terms"
        )
        ids["terms_conditions"] = (await run("add_terms_conditions", input=terms)).tc_id
    answer = content.NewTermsConditionsUser(
        tc_id=ID(ids["terms_conditions"]),
        data=content.TermsConditionsAnswer(data_access=content.DataAccess(valid=True)),
        reference="app",
    )
    ids["terms_conditions_user"] = (await run("add_terms_conditions_user", input=answer)).tc_user_id
    provider = directories.NewDirectory(name="People", issuer="https://id.example", audiences=["app"])
    ids["directory"] = (await run("add_directory", input=provider)).directory_id
    support = content.NewSupportDetails(reference="app", country="GB", email="help@example.org")
    ids["support_details"] = (await run("add_support_details", input=support)).support_details_id
    prompt_type = await run("add_prompt_type", input=prompts.NewPromptType(name="tour"))
    ids["prompt_type"] = prompt_type.prompt_type_id
    prompt = await run(
        "add_prompt", input=prompts.NewPrompt(prompt_type_id=ID(prompt_type.prompt_type_id), name="Welcome")
    )
    ids["prompt"] = prompt.prompt_id
    shown = prompts.NewPromptUser(prompt_id=ID(prompt.prompt_id))
    ids["prompt_user"] = (await run("add_prompt_user", input=shown)).prompt_user_id
    action_type = await run("add_user_action_type", input=prompts.NewUserActionType(name="opened"))
    ids["user_action_type"] = action_type.user_action_type_id
    action = prompts.NewUserAction(user_action_type_id=ID(action_type.user_action_type_id))
    ids["user_action"] = (await run("add_user_action", input=action)).user_action_id
    await _notifications(tenant)
    await _flexibility(tenant)


def silence_rule(tenant: Any, *, resource_id: str | None = None, enabled: bool = False) -> alert_rules.NewAlertRule:
    """Return an alert rule that detects missing data, by default a disabled one on the tenant's resource."""
    return alert_rules.NewAlertRule(
        name="Silence",
        kind=RuleKind.NO_DATA,
        window_minutes=60,
        alert_type_id=ID(tenant.ids["alert_type"]),
        channels=[Channel.INBOX],
        resource_id=ID(resource_id or tenant.ids["resource"]),
        enabled=enabled,
    )


async def _notifications(tenant: Any) -> None:
    ids, run = tenant.ids, tenant.run
    template = alerts.NewTemplate(
        alert_type_id=ID(ids["alert_type"]),
        name="High use",
        channel_type=Channel.EMAIL,
        culture_code="en-GB",
        html_template="<p>{{name}}</p>",
        active=True,
    )
    ids["template"] = (await run("add_template", input=template)).template_id
    alert = await run(
        "send_alert",
        input=alerts.NewAlert(user_id=ID(tenant.user_id), alert_type_id="CM01", channels=[Channel.INBOX]),
    )
    ids["alert"] = alert.alert_id
    (notifications,) = await tenant.edge(alerts.Alert, "notifications", [alert])
    ids["notification"] = notifications[0].notification_id
    ids["webhook"], ids["webhook_error"] = await add_webhook(tenant)
    endpoint = webhook_endpoints.NewWebhookEndpoint(
        url="https://hooks.invalid/events", events=["alert.*"], enabled=False
    )
    ids["webhook_endpoint"] = (await run("add_webhook_endpoint", input=endpoint)).endpoint.endpoint_id
    ids["alert_rule"] = (await run("add_alert_rule", input=silence_rule(tenant))).rule_id


FAILED_ATTEMPT: dict[str, Any] = {
    "attempt": 1,
    "attemptAt": "2026-01-05T00:00:00.000Z",
    "statusCode": 500,
    "error": {
        "type": "connection",
        "error": {"statusCode": 500, "message": "refused"},
        "initialError": {
            "errno": "ECONNREFUSED",
            "code": "ECONNREFUSED",
            "syscall": "connect",
            "hostname": "hooks.example.org",
            "host": "hooks.example.org",
            "port": 443,
        },
    },
}
"""The attempt of the webhook, as REST returns it."""


async def add_webhook(tenant: Any) -> tuple[str, str]:
    """Record a webhook of the tenant's user whose delivery failed. Return its ID and that of the error."""
    webhook = await tenant.gateway.runner.run(
        webhooks.record_webhook,
        tenant.system,
        {
            "callback_url": "https://hooks.example.org",
            "user_id": tenant.user_id,
            "payload": {
                "errorCode": "error.alert.notification.push.user.tokens.not_found",
                "eventCode": "alert.notification.push.sent.error",
            },
            "failed_attempts": [FAILED_ATTEMPT],
        },
    )
    (error,) = [error for error in await tenant.run("webhook_errors") if error.webhook_id == webhook.webhook_id]
    return webhook.webhook_id, error.error_id


async def _flexibility(tenant: Any) -> None:
    ids, run = tenant.ids, tenant.run
    ids["mpxn"] = f"{int(tenant.application_id[:8], 16):013d}"
    await run("verify_meter_point", mpxn=ids["mpxn"])
    await run("renew_consents", mpxns=[ids["mpxn"]])
    ids["consent_receipt"] = (await run("consent_receipts"))[0].receipt_id
    await _add_access(tenant)
    ids["dfs_user"] = (await run("opt_in_to_dfs")).dfs_user_id
    start = datetime.now(UTC) + timedelta(days=1)
    event = await run(
        "add_dfs_event",
        input=flexibility.NewDfsEvent(
            name="Evening",
            starts_at=start,
            ends_at=start + timedelta(hours=1),
            reward=Decimal(3),
            currency=Currency("GBP"),
        ),
    )
    await run("move_dfs_event", dfs_event_id=event.dfs_event_id, state=DfsEventState.OPEN)
    ids["dfs_event"] = event.dfs_event_id
    await run("participate_in_dfs_event", dfs_event_id=event.dfs_event_id)


async def _add_access(tenant: Any) -> None:
    """Add an entry of the access log about the resource."""
    at = datetime(2026, 1, 5, tzinfo=UTC)
    reader = Reader(tenant.application_id, "readings", "service", "application", "application", None, at)
    read = (reader, ReadData(tenant.user_id, tenant.ids["resource"]), ReadCounter(1, at, at))
    await tenant.gateway.runner.run(access_log.store_accesses, tenant.system, {"reads": [read]})
