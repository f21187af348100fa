"""Send alerts, read them and mark them as read."""

from typing import Annotated, Any

from sqlmodel import col

from wattgate.clock import utc_now
from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.models import AlertType
from wattgate.db.queries import alerts as queries
from wattgate.db.queries.alerts import contract_of
from wattgate.delivery.templates.language.contract_values import data_problems
from wattgate.delivery.templates.language.cultures import is_culture
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.alerts.alert_types import find_alert_type, sending_problem
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import BY_NODE, Audit, Call, OperationKind, RestRoute, Unaudited, operation
from wattgate.operations.messages.notifications import alert_payload, notify_all
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import AlertsRead, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.values.annotations import Described, MaxItems


@operation(
    OperationKind.MUTATION,
    returns=types.Alert,
    needs=Permission.NOTIFICATION_SEND,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/alert", Tag.ALERTS),
    raises=(Conflict,),
    weight=300,
)
async def send_alert(call: Call, *, input: types.NewAlert) -> models.Alert:
    """Send an alert to a user, with one notification for each channel.

    The alert is stored before it is delivered. If its type declares variables, its data must fit them.
    """
    return await create_alert(call, input)


@operation(
    OperationKind.QUERY,
    returns=types.Alert,
    needs=Permission.NOTIFICATION_READ,
    rest=RestRoute("GET", "/alert/{alertId}", Tag.ALERTS),
    in_graphql=BY_NODE,
)
async def alert(call: Call, *, alert_id: ids.AlertId) -> models.Alert:
    """Return the alert with this ID."""
    return await call.rows.get(models.Alert, alert_id)


@operation(
    OperationKind.QUERY,
    returns=list[types.Alert],
    needs=Permission.NOTIFICATION_READ,
    rest=RestRoute("GET", "/alert/user", Tag.ALERTS),
    raises=(BadInput,),
    sizes=[ListSize(50)],
    in_graphql=("viewer", "alerts"),
)
async def user_alerts(call: Call) -> list[models.Alert]:
    """List the acting user's alerts, oldest first."""
    return await call.rows.all(
        models.Alert, col(models.Alert.user_id) == require_user_id(call), order_by=[models.Alert.created_at]
    )


@operation(OperationKind.SUBSCRIPTION, returns=types.Alert, needs=Permission.NOTIFICATION_READ, resumes=True)
async def alerts(
    call: Call,
    *,
    steps: Annotated[
        bool, Described("Whether to publish an alert again at every step of one of its notifications.")
    ] = False,
) -> SubscriptionSource:
    """Publish each alert to the acting user when it is sent. With `since`, unread or missed alerts come first.

    With `steps`, an alert is published again, with the same ID, at every step of one of its notifications.
    """
    user_id = require_user_id(call)
    watched = (topics.alerts(user_id), topics.alert_steps(user_id)) if steps else (topics.alerts(user_id),)
    return SubscriptionSource(watched, backfill=backfill.alerts(user_id, include_steps=steps))


@operation(
    OperationKind.MUTATION,
    returns=types.MarkedAlerts,
    needs=Permission.NOTIFICATION_WRITE,
    audit=Unaudited("It changes only which alerts a list shows as new."),
)
async def mark_alerts_read(
    call: Call,
    *,
    alert_ids: Annotated[
        list[Id],
        MaxItems(10_000),
        Described("IDs of the alerts to mark as read. Default: all alerts of the acting user."),
    ]
    | None = None,
) -> types.MarkedAlerts:
    """Mark alerts of the acting user as read: the named ones, or all. Alerts that are read already do not change."""
    user_id = require_user_id(call)
    conditions = [col(models.Alert.user_id) == user_id, col(models.Alert.read_at).is_(None)]
    if alert_ids is not None:
        alerts = await call.rows.require_many(models.Alert, alert_ids)
        if any(alert.user_id != user_id for alert in alerts):
            raise NotFound("One of the alerts belongs to another user.")
        conditions.append(col(models.Alert.alert_id).in_([alert.alert_id for alert in alerts]))
    marked = await call.rows.update(models.Alert, *conditions, read_at=call.rows.now)
    unread_count = await queries.count_unread_alerts(call.rows, user_id)
    if marked:
        payload = {"userId": user_id, "marked": marked, "unread": unread_count}
        await enqueue_event(call, "alert.read", payload, user_id=user_id)
        call.emit(Event(topics.alerts_read(user_id), user_id, AlertsRead(user_id, unread_count)))
    return types.MarkedAlerts(marked=marked, unread=unread_count)


@operation(
    OperationKind.QUERY,
    returns=types.Notification,
    needs=Permission.NOTIFICATION_READ,
    rest=(
        RestRoute("GET", "/notification/{notificationId}", Tag.NOTIFICATIONS),
        RestRoute("GET", "/notification/{notificationId}/log", Tag.NOTIFICATIONS, edges=("log",)),
    ),
    in_graphql=BY_NODE,
)
async def notification(call: Call, *, notification_id: ids.NotificationId) -> models.Notification:
    """Return the notification with this ID."""
    return await call.rows.get(models.Notification, notification_id)


async def create_alert(call: Call, input: types.NewAlert, *, resource_id: str | None = None) -> models.Alert:
    """Store an alert with one notification for each channel, and publish it.

    `resource_id` is the resource whose readings the alert reports: it is sent only with the consent for them. Raise
    BadInput if its type, user, home or culture does not exist, or if its data does not fit its type.
    """
    alert_type = await find_alert_type(call.rows, input.alert_type_id)
    if alert_type is None:
        problem = Problem(("input", "alertTypeId"), f"{input.alert_type_id} does not exist")
        raise BadInput(
            f"Unknown alert type {input.alert_type_id!r}. Create it with createAlertType.", problems=[problem]
        )
    if unsendable := sending_problem(alert_type):
        problem = Problem(("input", "alertTypeId"), unsendable)
        raise BadInput("Invalid alert type. See `problems`.", problems=[problem])
    await _check_recipient(call, input)
    check_data(alert_type, input.data)
    await _check_home(call, input)
    alert_id, created_at = call.outside.same_value(lambda: (new_id(), utc_now()))  # templates may show both
    alert = await call.rows.add(
        models.Alert(
            alert_id=alert_id,
            created_at=created_at,
            user_id=input.user_id,
            alert_type_id=alert_type.alert_type_id,
            system_alert_type_id=alert_type.system_alert_type_id,
            channels=list(dict.fromkeys(input.channels)),
            priority=input.priority,
            callback_url=input.callback_url,
            data=input.data,
            culture_code=input.culture_code,
            ve_id=input.ve_id,
            resource_id=resource_id,
        )
    )
    kind = {"alertTypeId": alert.alert_type_id, "systemAlertTypeId": alert.system_alert_type_id}
    payload = {"ns_alert_id": alert.alert_id, "userId": alert.user_id, **kind, "channels": alert.channels}
    await enqueue_event(call, "alert.sent", payload, user_id=alert.user_id)
    await notify_all(call, alert, alert_type)
    call.emit(Event(topics.alerts(alert.user_id), alert.alert_id, alert_payload(alert)))
    return alert


async def _check_recipient(call: Call, input: types.NewAlert) -> None:
    """Raise BadInput if the user or the culture of an alert does not exist, or if no channel leads to the user."""
    users = await call.rows.get_many(models.User, [input.user_id])
    if not users:
        problem = Problem(("input", "userId"), f"{input.user_id} does not exist")
        raise BadInput(f"Unknown user {input.user_id!r}. See `problems`.", problems=[problem])
    await call.rows.require_present(input.user_id)
    if not input.channels:
        problem = Problem(
            ("input", "channels"), "is missing: without a channel, the alert reaches nobody", is_missing=True
        )
        raise BadInput("Give at least one channel: EMAIL, PUSH or INBOX. See `problems`.", problems=[problem])
    if input.culture_code is not None and not is_culture(input.culture_code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(
            f"Invalid culture code {input.culture_code!r}. Give a language tag such as en-GB.", problems=[problem]
        )


async def _check_home(call: Call, input: types.NewAlert) -> None:
    """Raise BadInput if the alert is about a home that its user does not have."""
    if input.ve_id is None:
        return
    home = (await call.rows.get_many(models.VirtualEntity, [input.ve_id])).get(input.ve_id)
    if home is None or home.owner_id != input.user_id:
        problem = Problem(("input", "veId"), f"{input.ve_id} is not a home of the user")
        raise BadInput(f"Unknown home {input.ve_id!r}. Give a home of the user, or omit it.", problems=[problem])


def check_data(alert_type: AlertType, data: Any) -> None:
    """Raise BadInput if data lacks a required variable, or has a wrong type or an undeclared name."""
    problems = data_problems(contract_of(alert_type), data)
    if not problems:
        return
    path, message = problems[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    more = f" Problems in total: {len(problems)}; see `problems`." if len(problems) > 1 else ""
    raise BadInput(
        f"The data does not fit the variables of alert type {alert_type.system_alert_type_id!r}: "
        f"{name or 'data'} {message}.{more}",
        problems=[
            Problem(("input", "data", *path), message, is_missing=message.startswith("is missing"))
            for path, message in problems
        ],
    )
