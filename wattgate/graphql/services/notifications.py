"""The way of an alert through a channel: its steps are logged, told to those who watch, and told to webhooks."""

from typing import Any

from sqlmodel import col

from wattgate.db.models import Account, Alert, Delivery, MobileAppToken, Notification, NotificationLog
from wattgate.delivery.channels import push
from wattgate.delivery.channels.channel import Outcome, Sent
from wattgate.delivery.mail_addresses import addresses_among
from wattgate.enums import DeliveryKind, DeliveryState, NotificationState
from wattgate.graphql.core.operation import Call
from wattgate.graphql.services.notification_content import say
from wattgate.graphql.services.outbox import code_of, enqueue
from wattgate.graphql.services.webhook_events import enqueue_event, error_event
from wattgate.realtime import topics
from wattgate.realtime.events import AlertSent, Event

ADDED, IN_INBOX, NO_TOKENS = "Added Notification Record", "Put Into Inbox", "User Has No Push Tokens"
NO_ADDRESS = "User Has No E-mail Address"
SENT, FAILED_ATTEMPT, GIVEN_UP = "Sent", "Attempt Failed", "Given Up"
WITHOUT_TEMPLATE = "Template Not Used"
"""The stages of a notification's log, in words of the legacy interface's kind."""

OK, ERROR = "OK", "ERROR"
"""What the status of a step, and of a notification, is."""

EMAIL, PUSH = "email", "push"
INBOX = "inbox"
"""The channel that needs no delivery: the alert is in the user's inbox once it is kept."""


async def notify(call: Call, alert: Alert, channel: str) -> Notification:
    """Send an alert on its way through a channel."""
    made = await call.rows.add(
        Notification(
            alert_id=alert.alert_id,
            user_id=alert.user_id,
            channel=channel,
            data=alert.data,
            created_at=call.rows.now,
            status_at=call.rows.now,
        )
    )
    await _log(call, made, 1, ADDED)
    fault = await say(call, alert, made)
    if fault is not None:
        await _log(call, made, 2, WITHOUT_TEMPLATE, ERROR, fault)
    following = 2 if fault is None else 3
    if channel == INBOX:
        await _log(call, made, following, IN_INBOX)
        await _arrived(call, alert, made)
    elif channel == PUSH:
        await _push(call, alert, made, following)
    elif channel == EMAIL:
        await _mail(call, alert, made, following)
    else:
        await enqueue(call, DeliveryKind(channel), made.notification_id, user_id=alert.user_id)
    return made


async def step(call: Call, delivery: Delivery, outcome: Outcome) -> None:
    """Take down what became of an attempt to deliver a notification, which `delivery` shows as it is after it."""
    sent = await call.rows.edit(Notification, delivery.target_id)
    sent.status_at = call.rows.now
    alert = await call.rows.get(Alert, sent.alert_id)
    number = await call.rows.count(NotificationLog, col(NotificationLog.notification_id) == sent.notification_id) + 1
    if isinstance(outcome, Sent):
        await _log(call, sent, number, SENT)
        if sent.state is not NotificationState.SENT:
            await _arrived(call, alert, sent)
    elif delivery.state is DeliveryState.WAITING:
        await _log(call, sent, number, FAILED_ATTEMPT, ERROR, outcome.reason)
    else:
        await _log(call, sent, number, GIVEN_UP, ERROR, outcome.reason)
        if not await _hope(call, sent):
            await fail(call, alert, sent, code_of(outcome))
    call.emit(Event(topics.alert_steps(alert.user_id), alert.alert_id, payload(alert)))


async def fail(call: Call, alert: Alert, sent: Notification, code: str) -> None:
    """An alert does not go out on a channel: `code` says why, such as user.tokens.not_found."""
    sent.state, sent.status, sent.status_at = NotificationState.FAILED, ERROR, call.rows.now
    event_code = f"alert.notification.{sent.channel}.sent.error"
    error_code = f"error.alert.notification.{sent.channel}.{code}"
    await error_event(call, event_code, error_code, _told(alert, sent), **_to(alert))


def payload(alert: Alert) -> AlertSent:
    """An alert as those who watch are told of it."""
    return AlertSent(**{name: getattr(alert, name) for name in AlertSent.__struct_fields__})


async def _push(call: Call, alert: Alert, sent: Notification, following: int) -> None:
    """Have a push delivered to each app of the user; each is a delivery of its own."""
    accounts = await _accounts(call, alert)
    of_user = col(MobileAppToken.account_id).in_([account.account_id for account in accounts])
    tokens = await call.rows.all(MobileAppToken, of_user, order_by=[MobileAppToken.created_at])
    for token in {token.token: token for token in tokens}.values():
        address = token.mobile_app_token_id
        await enqueue(call, DeliveryKind.PUSH, sent.notification_id, user_id=alert.user_id, address=address)
    if not tokens:
        await _log(call, sent, following, NO_TOKENS, ERROR)
        await fail(call, alert, sent, push.NO_TOKENS)


async def _mail(call: Call, alert: Alert, sent: Notification, following: int) -> None:
    """Have a mail delivered to each address of the user; each is a delivery of its own."""
    addresses = addresses_among([account.email or account.username for account in await _accounts(call, alert)])
    for address in addresses:
        await enqueue(call, DeliveryKind.EMAIL, sent.notification_id, user_id=alert.user_id, address=address)
    if not addresses:
        await _log(call, sent, following, NO_ADDRESS, ERROR)
        await fail(call, alert, sent, "user.address.not_found")


async def _accounts(call: Call, alert: Alert) -> list[Account]:
    """The accounts by which the alert's user can be reached, oldest first."""
    return await call.rows.all(
        Account,
        col(Account.user_id) == alert.user_id,
        col(Account.active).is_(True),
        col(Account.status) == "active",
        order_by=[Account.created_at],
    )


async def _arrived(call: Call, alert: Alert, sent: Notification) -> None:
    sent.state, sent.status, sent.status_at = NotificationState.SENT, OK, call.rows.now
    await enqueue_event(call, f"alert.notification.{sent.channel}.sent", _told(alert, sent), **_to(alert))


async def _hope(call: Call, sent: Notification) -> bool:
    """Whether another delivery of the notification has arrived, or still may."""
    of_it = col(Delivery.target_id) == sent.notification_id
    return await call.rows.count(Delivery, of_it, col(Delivery.state) != DeliveryState.FAILED) > 0


async def _log(
    call: Call, sent: Notification, number: int, stage: str, status: str = OK, detail: str | None = None
) -> None:
    await call.rows.add(
        NotificationLog(
            notification_id=sent.notification_id,
            alert_id=sent.alert_id,
            user_id=sent.user_id,
            channel=sent.channel,
            stage=stage,
            step=number,
            status=status,
            detail=detail,
            status_at=call.rows.now,
        )
    )


def _told(alert: Alert, sent: Notification) -> dict[str, Any]:
    """What events say of a notification, under the names of SPEC.md's payload."""
    return {
        "notificationid": sent.notification_id,
        "ns_alert_id": alert.alert_id,
        "alertTypeId": alert.system_alert_type_id,
        "channel": sent.channel,
    }


def _to(alert: Alert) -> dict[str, Any]:
    return {"user_id": alert.user_id, "callback_url": alert.callback_url}
