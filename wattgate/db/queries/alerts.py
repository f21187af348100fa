"""Batch loaders of the notification system."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlmodel import col

from wattgate.db.models import Alert, Notification, NotificationLog
from wattgate.db.rows.rows import Rows


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
