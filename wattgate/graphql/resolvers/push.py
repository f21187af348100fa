"""Pushes: the tokens of a user's apps, and what workers send to them."""

from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.db.models import Account, Alert, AlertType, Delivery, MobileAppToken, Notification
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Refused
from wattgate.delivery.channels.push import GONE, NO_TOKENS, WHY_GONE
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.services import notifications, outbox
from wattgate.graphql.types import users as types
from wattgate.principal import Permission

URGENCY = {"High": "high", "Low": "normal"}
"""How urgent a push is, by the priority of its alert, in words of RFC 8030."""


@operation(Kind.QUERY, returns=list[types.MobileAppToken], needs=Permission.ACCOUNT_WRITE)
async def mobile_app_tokens(call: Call, *, account_id: strawberry.ID) -> list[MobileAppToken]:
    """The push tokens of the apps in which an account is logged in, oldest first."""
    account = await call.rows.get(Account, account_id)
    return await call.rows.all(
        MobileAppToken, col(MobileAppToken.account_id) == account.account_id, order_by=[MobileAppToken.created_at]
    )


@dataclass(frozen=True, slots=True)
class WebPush:
    public_key: str | None


@operation(Kind.QUERY, returns=types.WebPush, needs=Permission.ACCOUNT_READ)
async def web_push(call: Call) -> WebPush:
    """How web apps subscribe to pushes."""
    return WebPush(call.outside.web_push_key)


# What workers do: `app/workers/deliveries.py` runs these.


@operation(Kind.QUERY, returns=Outgoing, needs=Permission.SYSTEM)
async def prepare_push(call: Call, *, delivery_id: str) -> Outgoing | Refused:
    """What is pushed to one app; Refused where its token was removed in the meantime."""
    delivery = await call.rows.get(Delivery, delivery_id)
    token = await call.rows.first(MobileAppToken, col(MobileAppToken.mobile_app_token_id) == delivery.address)
    if token is None:
        return Refused(NO_TOKENS, WHY_GONE)
    sent = await call.rows.get(Notification, delivery.target_id)
    alert = await call.rows.get(Alert, sent.alert_id)
    urgency = {"Urgency": URGENCY[alert.priority]}
    return outbox.outgoing(delivery, token.token, await _content(call, alert, sent), urgency)


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_push(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Keep what became of a push; a token that is good no more is removed. False where somebody else has it."""
    delivery = await outbox.settle(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    if outcome.facts.get(GONE):
        await call.rows.delete(MobileAppToken, col(MobileAppToken.mobile_app_token_id) == delivery.address)
    await notifications.step(call, delivery, outcome)
    return True


async def _content(call: Call, alert: Alert, sent: Notification) -> Content:
    """What a push says, and which alert it is for the app."""
    kind = await call.rows.get(AlertType, alert.alert_type_id)
    told = {
        "alertId": alert.alert_id,
        "notificationId": sent.notification_id,
        "alertTypeId": alert.system_alert_type_id,
        "priority": alert.priority,
    }
    return Content(subject=sent.subject or kind.name, text=sent.text or kind.description, data=told)
