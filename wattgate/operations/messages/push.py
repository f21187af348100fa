"""Push notifications: the tokens of a user's apps, and operations for the workers that send to them."""

from sqlmodel import col

from wattgate.db.models import Account, Alert, AlertType, Delivery, MobileAppToken, Notification
from wattgate.delivery.channels.channel import MessageContent, OutboundMessage, Outcome, PermanentFailure
from wattgate.delivery.channels.push import NO_TOKENS_CODE, TOKEN_GONE, TOKEN_GONE_REASON
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import notifications, outbox
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission

URGENCY = {"High": "high", "Low": "normal"}
"""Urgency header of a push (RFC 8030, section 5.3) by the priority of its alert."""


@operation(OperationKind.QUERY, returns=list[types.MobileAppToken], needs=Permission.CREDENTIAL_WRITE)
async def mobile_app_tokens(call: Call, *, account_id: ids.AccountId) -> list[types.MobileAppToken]:
    """List the push tokens of an account, oldest first."""
    account = await call.rows.get(Account, account_id)
    tokens = await call.rows.all(
        MobileAppToken, col(MobileAppToken.account_id) == account.account_id, order_by=[MobileAppToken.created_at]
    )
    return [
        types.MobileAppToken(
            mobile_app_token_id=Id(token.mobile_app_token_id),
            account_id=Id(token.account_id),
            token=call.rows.decrypt(MobileAppToken, token, "token"),
            created_at=token.created_at,
        )
        for token in tokens
    ]


@operation(OperationKind.QUERY, returns=types.WebPush, needs=Permission.ACCOUNT_READ)
async def web_push(call: Call) -> types.WebPush:
    """Return the settings that a web app needs to subscribe to push messages."""
    return types.WebPush(public_key=call.outbound_policy.web_push_public_key)


# Operations for the worker `app/workers/deliveries.py`.


@operation(OperationKind.QUERY, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_push(call: Call, *, delivery_id: str) -> OutboundMessage | PermanentFailure:
    """Return the push to one app, or PermanentFailure if it must not be sent.

    The token, its account and the consent for the readings of the alert may have ended in the meantime.
    """
    delivery = await call.rows.get(Delivery, delivery_id)
    token = await call.rows.first(MobileAppToken, col(MobileAppToken.mobile_app_token_id) == delivery.address)
    if token is None:
        return PermanentFailure(NO_TOKENS_CODE, TOKEN_GONE_REASON)
    notification = await call.rows.get(Notification, delivery.target_id)
    alert = await call.rows.get(Alert, notification.alert_id)
    if not await notifications.is_active_account(call, alert.user_id, token.account_id):
        return PermanentFailure(NO_TOKENS_CODE, "the account of the push token is closed")
    ended = await notifications.reason_not_to_send(call, alert, notification)
    if ended is not None:
        return ended
    urgency = {"Urgency": URGENCY[alert.priority]}
    address = call.rows.decrypt(MobileAppToken, token, "token")
    return outbox.build_outgoing(delivery, address, await _push_content(call, alert, notification), urgency)


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_push_outcome(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Record the outcome of a push. Delete an expired token. Return False if another worker has the delivery."""
    delivery = await outbox.record_delivery_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    if outcome.details.get(TOKEN_GONE):
        await call.rows.delete(MobileAppToken, col(MobileAppToken.mobile_app_token_id) == delivery.address)
    await notifications.record_notification_step(call, delivery, outcome)
    return True


async def _push_content(call: Call, alert: Alert, notification: Notification) -> MessageContent:
    """Return the content of a push, with the ids by which the app finds the alert."""
    alert_type = await call.rows.get(AlertType, alert.alert_type_id)
    data = {
        "alertId": alert.alert_id,
        "notificationId": notification.notification_id,
        "alertTypeId": alert.alert_type_id,
        "systemAlertTypeId": alert.system_alert_type_id,
        "priority": alert.priority,
    }
    return MessageContent(
        subject=notification.subject or alert_type.name, text=notification.text or alert_type.description, data=data
    )
