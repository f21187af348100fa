"""Notifications of alerts through a channel. Log each step and publish it to subscribers and webhooks."""

from typing import Any

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import (
    Account,
    Alert,
    AlertType,
    Delivery,
    MobileAppToken,
    Notification,
    NotificationLog,
    Resource,
)
from wattgate.db.queries import templates as queries
from wattgate.db.queries.consent import withheld_data
from wattgate.db.queries.tenancies import consent_gaps
from wattgate.delivery.channels import push
from wattgate.delivery.channels.channel import Outcome, PermanentFailure, Sent
from wattgate.delivery.mail_addresses import extract_addresses
from wattgate.delivery.rule_mail_texts import CULTURES, builtin_language, rule_mail
from wattgate.delivery.templates.language.diagnostics import TemplateError
from wattgate.energy.consent_gaps import gaps_within
from wattgate.enums import Channel, DeliveryKind, DeliveryState, NotificationState, RuleKind, StepStatus, UserStatus
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.mail_bounds import enqueue_mail
from wattgate.operations.messages.message_context import MessageContext, load_context, mail_address, template_source
from wattgate.operations.messages.outbox import enqueue, failure_code
from wattgate.operations.messages.webhook_events import enqueue_error_event, enqueue_event
from wattgate.realtime import topics
from wattgate.realtime.events import AlertSent, Event

ADDED, PUT_INTO_INBOX, NO_TOKENS = "Added Notification Record", "Put Into Inbox", "User Has No Push Tokens"
NO_ADDRESS, RATE_LIMITED = "User Has No E-mail Address", "Rate Limited"
SENT, ATTEMPT_FAILED, GIVEN_UP = "Sent", "Attempt Failed", "Given Up"
TEMPLATE_NOT_USED = "Template Not Used"
"""The stages in the log of a notification, worded like those of the legacy interface."""

CONSENT_ENDED = "user.consent.ended"
"""Failure code of a notification about readings for which there is no consent any more."""


async def notify_all(call: Call, alert: Alert, alert_type: AlertType) -> None:
    """Create the notification of an alert for each of its channels."""
    context = await load_context(call.rows, alert, alert_type, call.outbound_policy)
    await call.outside.collect(_notify(call, alert, channel, alert_type, context) for channel in alert.channels)


async def _notify(
    call: Call, alert: Alert, channel: Channel, alert_type: AlertType, context: MessageContext
) -> Notification:
    """Create the notification of an alert for a channel, render its content, and enqueue its deliveries."""
    notification = await call.rows.add(
        Notification(
            alert_id=alert.alert_id,
            user_id=alert.user_id,
            channel=channel,
            data=alert.data,
            created_at=call.rows.now,
            status_at=call.rows.now,
        )
    )
    await _add_log_entry(call, notification, 1, ADDED)
    template_error = await render_content(call, alert, notification, alert_type, context)
    if template_error is not None:
        await _add_log_entry(call, notification, 2, TEMPLATE_NOT_USED, StepStatus.ERROR, template_error)
    next_step = 2 if template_error is None else 3
    if channel is Channel.INBOX:
        await _add_log_entry(call, notification, next_step, PUT_INTO_INBOX)
        await _mark_sent(call, alert, notification)
    elif channel is Channel.PUSH:
        await _enqueue_pushes(call, alert, notification, next_step)
    elif channel is Channel.EMAIL:
        await _enqueue_mails(call, alert, notification, next_step)
    else:
        await enqueue(call, DeliveryKind(channel), notification.notification_id, user_id=alert.user_id)
    return notification


async def record_notification_step(call: Call, delivery: Delivery, outcome: Outcome) -> None:
    """Log the outcome of an attempt to deliver a notification. `delivery` is the delivery after that attempt."""
    notification = await call.rows.edit(Notification, delivery.target_id)
    notification.status_at = call.rows.now
    alert = await call.rows.get(Alert, notification.alert_id)
    step = (
        await call.rows.count(NotificationLog, col(NotificationLog.notification_id) == notification.notification_id) + 1
    )
    if isinstance(outcome, Sent):
        await _add_log_entry(call, notification, step, SENT)
        if notification.state is not NotificationState.SENT:
            await _mark_sent(call, alert, notification)
    elif delivery.state is DeliveryState.WAITING:
        await _add_log_entry(call, notification, step, ATTEMPT_FAILED, StepStatus.ERROR, outcome.reason)
    else:
        await _add_log_entry(call, notification, step, GIVEN_UP, StepStatus.ERROR, outcome.reason)
        if not await _may_still_arrive(call, notification):
            await mark_failed(call, alert, notification, failure_code(outcome))
    call.emit(Event(topics.alert_steps(alert.user_id), alert.alert_id, alert_payload(alert)))


async def mark_failed(call: Call, alert: Alert, notification: Notification, code: str) -> None:
    """Mark a notification as failed and publish an error event. `code` is the reason, such as user.tokens.not_found."""
    notification.state, notification.status, notification.status_at = (
        NotificationState.FAILED,
        StepStatus.ERROR,
        call.rows.now,
    )
    event_code = f"alert.notification.{notification.channel}.sent.error"
    error_code = f"error.alert.notification.{notification.channel}.{code}"
    await enqueue_error_event(
        call, event_code, error_code, _event_payload(alert, notification), **_event_recipients(alert)
    )


def alert_payload(alert: Alert) -> AlertSent:
    """Return an alert as the payload for subscribers."""
    return AlertSent(**{name: getattr(alert, name) for name in AlertSent.__struct_fields__})


async def _enqueue_pushes(call: Call, alert: Alert, notification: Notification, next_step: int) -> None:
    """Enqueue a push to each app of the user, each as a delivery of its own."""
    accounts = await _active_accounts(call, alert.user_id)
    belongs_to_user = col(MobileAppToken.account_id).in_([account.account_id for account in accounts])
    tokens = await call.rows.all(MobileAppToken, belongs_to_user, order_by=[MobileAppToken.created_at])
    for token in {call.rows.decrypt(MobileAppToken, token, "token"): token for token in tokens}.values():
        address = token.mobile_app_token_id
        await enqueue(call, DeliveryKind.PUSH, notification.notification_id, user_id=alert.user_id, address=address)
    if not tokens:
        await _add_log_entry(call, notification, next_step, NO_TOKENS, StepStatus.ERROR)
        await mark_failed(call, alert, notification, push.NO_TOKENS_CODE)


async def _enqueue_mails(call: Call, alert: Alert, notification: Notification, next_step: int) -> None:
    """Enqueue a mail to each address of the user, each as a delivery of its own."""
    addresses = await current_addresses(call, alert.user_id)
    if not addresses:
        await _add_log_entry(call, notification, next_step, NO_ADDRESS, StepStatus.ERROR)
        await mark_failed(call, alert, notification, "user.address.not_found")
    target_id = notification.notification_id
    deliveries = await call.outside.collect(
        enqueue_mail(call, DeliveryKind.EMAIL, target_id, user_id=alert.user_id, address=address)
        for address in addresses
    )
    suppressed = [delivery for delivery in deliveries if delivery.state is DeliveryState.SUPPRESSED]
    for step, delivery in enumerate(suppressed, next_step):
        await _add_log_entry(call, notification, step, RATE_LIMITED, StepStatus.ERROR, delivery.reason)
    if addresses and len(suppressed) == len(addresses):
        await mark_failed(call, alert, notification, "address.rate_limited")
        notification.state = NotificationState.RATE_LIMITED


async def current_addresses(call: Call, user_id: str) -> list[str]:
    """Return the mail addresses of the active accounts of a user, oldest first."""
    return extract_addresses([mail_address(account) or "" for account in await _active_accounts(call, user_id)])


async def reason_not_to_send(call: Call, alert: Alert, notification: Notification) -> PermanentFailure | None:
    """Return why an alert must not be sent now, although it was queued: the consent for its readings has ended.

    A renewal after that does not bring the alert back. An alert that reports no readings of a resource needs no
    consent.
    """
    resources = await call.rows.get_many(Resource, [] if alert.resource_id is None else [alert.resource_id])
    for resource in resources.values():
        if not resource.active:
            return PermanentFailure(CONSENT_ENDED, "the resource of the alert was closed or moved")
        (withheld,) = await withheld_data(call.rows, [resource])
        if withheld is not None:
            return PermanentFailure(CONSENT_ENDED, withheld.message)
        gaps = (await consent_gaps(call.rows, [resource])).get(resource.resource_id, ())
        if gaps_within(gaps, to_ms(notification.created_at), to_ms(call.rows.now)):
            return PermanentFailure(CONSENT_ENDED, "the consent for the readings of the alert ended meanwhile")
    return None


async def is_active_account(call: Call, user_id: str, account_id: str) -> bool:
    """Return whether an account is an active one of a user."""
    return account_id in {account.account_id for account in await _active_accounts(call, user_id)}


async def _active_accounts(call: Call, user_id: str) -> list[Account]:
    """Return the active accounts of a user, oldest first."""
    return await call.rows.all(
        Account,
        col(Account.user_id) == user_id,
        col(Account.active).is_(True),
        col(Account.status) == UserStatus.ACTIVE,
        order_by=[Account.created_at],
    )


async def _mark_sent(call: Call, alert: Alert, notification: Notification) -> None:
    notification.state, notification.status, notification.status_at = (
        NotificationState.SENT,
        StepStatus.OK,
        call.rows.now,
    )
    await enqueue_event(
        call,
        f"alert.notification.{notification.channel}.sent",
        _event_payload(alert, notification),
        **_event_recipients(alert),
    )


async def _may_still_arrive(call: Call, notification: Notification) -> bool:
    """Return whether another delivery of the notification has succeeded or is still pending."""
    of_notification = col(Delivery.target_id) == notification.notification_id
    ended_states = (DeliveryState.FAILED, DeliveryState.SUPPRESSED)
    return await call.rows.count(Delivery, of_notification, col(Delivery.state).not_in(ended_states)) > 0


async def _add_log_entry(
    call: Call,
    notification: Notification,
    step: int,
    stage: str,
    status: StepStatus = StepStatus.OK,
    detail: str | None = None,
) -> None:
    await call.rows.add(
        NotificationLog(
            notification_id=notification.notification_id,
            alert_id=notification.alert_id,
            user_id=notification.user_id,
            channel=notification.channel,
            stage=stage,
            step=step,
            status=status,
            detail=detail,
            status_at=call.rows.now,
        )
    )


def _event_payload(alert: Alert, notification: Notification) -> dict[str, Any]:
    """Return the payload of webhook events about a notification, with the names of SPEC.md and the short code."""
    return {
        "notificationid": notification.notification_id,
        "ns_alert_id": alert.alert_id,
        "alertTypeId": alert.alert_type_id,
        "systemAlertTypeId": alert.system_alert_type_id,
        "channel": notification.channel,
    }


def _event_recipients(alert: Alert) -> dict[str, Any]:
    return {"user_id": alert.user_id, "callback_url": alert.callback_url}


async def render_content(
    call: Call, alert: Alert, notification: Notification, alert_type: AlertType, context: MessageContext
) -> str | None:
    """Set the content of a notification. Return the error of its template, or None if there is none.

    Without a template, the mail of a rule has its built-in text. Other content without a template, or with one that
    cannot be rendered, is the name and description of the alert type, because a short alert is better than none.
    """
    choice = await queries.choose_template(call.rows, alert.alert_type_id, notification.channel, context.culture)
    notification.subject, notification.text = alert_type.name, alert_type.description or alert_type.name
    kind = _rule_kind(alert, alert_type)
    if choice.template is not None:
        (version,) = await queries.current_versions(call.rows, [choice.template])
        notification.template_id, notification.template_version = version.template_id, version.version
        source, culture = template_source(version), choice.template.culture_code
    elif kind is not None and notification.channel == Channel.EMAIL:
        language = builtin_language(context.culture)
        source, culture = rule_mail(kind, language), CULTURES[language]
    else:
        return None
    context = context if notification.channel is Channel.EMAIL else context.without_unsubscribing()
    try:
        rendered = await call.templates.render(source, context.merge(alert.data), context.scope(culture))
    except TemplateError as error:
        return str(error.findings[0])
    notification.subject, notification.html, notification.text = (
        rendered.subject or alert_type.name,
        rendered.html,
        rendered.text,
    )
    return None


def _rule_kind(alert: Alert, alert_type: AlertType) -> RuleKind | None:
    """Return the kind of the rule that sent an alert, or None.

    An undeclared alert type takes the data of rules of every kind, which name theirs.
    """
    if alert_type.rule_kind is not None or alert.resource_id is None:
        return alert_type.rule_kind
    data = alert.data if isinstance(alert.data, dict) else {}
    return next((kind for kind in RuleKind if data.get("kind") == kind.value and "ruleId" in data), None)
