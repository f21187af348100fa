"""Batch loaders of the notification system."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlmodel import col

from wattgate.db.models import Alert, AlertType, Notification, NotificationLog
from wattgate.db.rows.rows import Rows
from wattgate.delivery.templates.language.contract import Contract, ContractVariable, build_contract
from wattgate.enums import RuleKind


async def count_unread_alerts(rows: Rows, user_id: str) -> int:
    """Return the number of a user's unread alerts."""
    return (await count_unread_alerts_by_user(rows, [user_id]))[user_id]


async def count_unread_alerts_by_user(rows: Rows, user_ids: Collection[str]) -> dict[str, int]:
    """Return the number of unread alerts of each user."""
    unique_ids = set(user_ids)
    counts = await rows.count_by(Alert, "user_id", col(Alert.user_id).in_(unique_ids), col(Alert.read_at).is_(None))
    return {user_id: counts.get(user_id, 0) for user_id in unique_ids}


async def notifications(rows: Rows, alerts: Sequence[Alert]) -> list[list[Notification]]:
    """Return the notifications of each alert, one for each channel."""
    alert_ids = {alert.alert_id for alert in alerts}
    notification_rows = await rows.all(
        Notification,
        col(Notification.alert_id).in_(alert_ids),
        order_by=[Notification.created_at, Notification.channel],
    )
    by_alert: dict[str, list[Notification]] = defaultdict(list)
    for notification in notification_rows:
        by_alert[notification.alert_id].append(notification)
    return [by_alert[alert.alert_id] for alert in alerts]


async def logs(rows: Rows, notifications: Sequence[Notification]) -> list[list[NotificationLog]]:
    """Return the delivery steps of each notification, first step first."""
    notification_ids = {notification.notification_id for notification in notifications}
    steps = await rows.all(
        NotificationLog, col(NotificationLog.notification_id).in_(notification_ids), order_by=[NotificationLog.step]
    )
    by_notification: dict[str, list[NotificationLog]] = defaultdict(list)
    for step in steps:
        by_notification[step.notification_id].append(step)
    return [by_notification[notification.notification_id] for notification in notifications]


# The contracts of alert types, and their newest alerts.

MAX_RECENT_ALERTS = 50
"""Maximum alerts of a type that are listed."""


def contract_of(alert_type: AlertType) -> Contract:
    """Return the contract of an alert type. The samples of the alert's name and code are those of the type."""
    contract = build_contract(alert_type.system_alert_type_id, alert_type.rule_kind, alert_type.variables)
    return contract.with_samples({"alert.name": alert_type.name, "alert.code": alert_type.system_alert_type_id})


async def variables(rows: Rows, alert_types: Sequence[AlertType]) -> list[list[ContractVariable]]:
    """Return the variables of each alert type: first those of every alert, then its own."""
    return [contract_of(alert_type).listed() for alert_type in alert_types]


async def alert_types(rows: Rows, applications: Sequence[Any]) -> list[list[AlertType]]:
    """Return the alert types of the caller's application by name, for each parent."""
    types = await rows.all(AlertType, order_by=[AlertType.name])
    return [types for _ in applications]


async def rule_kinds(rows: Rows, alert_types: Sequence[AlertType]) -> list[RuleKind | None]:
    """Return the kind of the rules that send alerts of each type, or None."""
    return [alert_type.rule_kind for alert_type in alert_types]


async def declared(rows: Rows, alert_types: Sequence[AlertType]) -> list[bool]:
    """Return whether the variables of each alert type are declared."""
    return [contract_of(alert_type).declared for alert_type in alert_types]


async def recent_alerts(rows: Rows, alert_type_id: str, limit: int, user_id: str | None = None) -> list[Alert]:
    """Return the newest alerts of a type, newest first. With a user, return only those to the user."""
    conditions = [col(Alert.alert_type_id) == alert_type_id]
    if user_id is not None:
        conditions.append(col(Alert.user_id) == user_id)
    newest_first = [col(Alert.created_at).desc(), Alert.alert_id]
    return await rows.all(Alert, *conditions, order_by=newest_first, limit=limit)
