"""Alerts, and what became of them."""

from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import alerts as queries
from wattgate.delivery.templates.cultures import is_culture
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.cost_weights import Size
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.services.notifications import notify, payload
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types import alerts as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import AlertsRead, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import Watch


@dataclass(frozen=True, slots=True)
class Marked:
    marked: int
    unread: int


@operation(
    Kind.MUTATION, returns=types.Alert, needs=Permission.NOTIFICATION_SEND, rest=Rest("POST", "/alert"), weight=300
)
async def send_alert(call: Call, *, input: types.NewAlert) -> models.Alert:
    """Send an alert to a user: it is kept with one notification for each channel, which are delivered from there."""
    kind = await _alert_type(call, input.alert_type_id)
    users = await call.rows.many(models.User, [input.user_id])
    if not users:
        problem = Problem(("input", "userId"), f"{input.user_id} does not exist")
        raise BadInput("the alert is for a user who does not exist", problems=[problem])
    if input.culture_code is not None and not is_culture(input.culture_code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput("the alert is in a culture that does not exist", problems=[problem])
    alert = await call.rows.add(
        models.Alert(
            user_id=input.user_id,
            alert_type_id=kind.alert_type_id,
            system_alert_type_id=kind.system_alert_type_id,
            channels=list(dict.fromkeys(channel.value for channel in input.channels)),
            priority=input.priority.value,
            callback_url=input.callback_url,
            data=input.data,
            culture_code=input.culture_code,
        )
    )
    told = {"ns_alert_id": alert.alert_id, "userId": alert.user_id, "alertTypeId": alert.system_alert_type_id}
    await enqueue_event(call, "alert.sent", {**told, "channels": alert.channels}, user_id=alert.user_id)
    for channel in alert.channels:
        await notify(call, alert, channel)
    call.emit(Event(topics.alerts(alert.user_id), alert.alert_id, payload(alert)))
    return alert


@operation(
    Kind.QUERY,
    returns=types.Alert,
    needs=Permission.NOTIFICATION_READ,
    rest=Rest("GET", "/alert/{alertId}"),
)
async def alert(call: Call, *, alert_id: strawberry.ID) -> models.Alert:
    """An alert, by its id."""
    return await call.rows.get(models.Alert, alert_id)


@operation(
    Kind.QUERY,
    returns=list[types.Alert],
    needs=Permission.NOTIFICATION_READ,
    rest=Rest("GET", "/alert/user"),
    sizes=[Size(50)],
)
async def user_alerts(call: Call) -> list[models.Alert]:
    """The alerts sent to the user for whom the call is made, oldest first."""
    return await call.rows.all(
        models.Alert, col(models.Alert.user_id) == owner_of(call), order_by=[models.Alert.created_at]
    )


@operation(Kind.SUBSCRIPTION, returns=types.Alert, needs=Permission.NOTIFICATION_READ, resumes=True)
async def alerts(call: Call, *, steps: bool = False) -> Watch:
    """Every alert to the user for whom the call is made, as it is sent. Whoever begins is told those not read.

    With `steps` an alert is told again, under the same id, at every step of one of its notifications.
    """
    user_id = owner_of(call)
    told = (topics.alerts(user_id), topics.alert_steps(user_id)) if steps else (topics.alerts(user_id),)
    return Watch(told, missed=backfill.alerts(user_id, steps=steps))


@operation(Kind.QUERY, returns=int, needs=Permission.NOTIFICATION_READ)
async def unread_alerts(call: Call) -> int:
    """How many of the alerts sent to the user for whom the call is made are not read."""
    return await queries.unread_alerts(call.rows, owner_of(call))


@operation(Kind.MUTATION, returns=types.MarkedAlerts, needs=Permission.NOTIFICATION_WRITE)
async def mark_alerts_read(call: Call, *, alert_ids: list[strawberry.ID] | None = None) -> Marked:
    """Mark alerts of the user as read: those named, or all where none is. One that was read stays as it was."""
    user_id = owner_of(call)
    unread = [col(models.Alert.user_id) == user_id, col(models.Alert.read_at).is_(None)]
    if alert_ids is not None:
        known = await call.rows.named(models.Alert, alert_ids)
        if any(one.user_id != user_id for one in known):
            raise NotFound("one of the alerts is somebody else's")
        unread.append(col(models.Alert.alert_id).in_([one.alert_id for one in known]))
    marked = await call.rows.update(models.Alert, *unread, read_at=call.rows.now)
    left = await queries.unread_alerts(call.rows, user_id)
    if marked:
        told = {"userId": user_id, "marked": marked, "unread": left}
        await enqueue_event(call, "alert.read", told, user_id=user_id)
        call.emit(Event(topics.alerts_read(user_id), user_id, AlertsRead(user_id, left)))
    return Marked(marked, left)


@operation(
    Kind.QUERY,
    returns=types.Notification,
    needs=Permission.NOTIFICATION_READ,
    rest=(
        Rest("GET", "/notification/{notificationId}"),
        Rest("GET", "/notification/{notificationId}/log", edges=("log",)),
    ),
)
async def notification(call: Call, *, notification_id: strawberry.ID) -> models.Notification:
    """A notification, by its id."""
    return await call.rows.get(models.Notification, notification_id)


async def _alert_type(call: Call, id_or_code: str) -> models.AlertType:
    """The alert type with this id, or the active one with this short code."""
    found = await call.rows.all(
        models.AlertType,
        (col(models.AlertType.alert_type_id) == id_or_code)
        | ((col(models.AlertType.system_alert_type_id) == id_or_code) & col(models.AlertType.active).is_(True)),
        order_by=[models.AlertType.name],
    )
    if not found:
        problem = Problem(("input", "alertTypeId"), f"{id_or_code} does not exist")
        raise BadInput("the alert is of a type that does not exist", problems=[problem])
    return found[0]
