"""Set-wise loaders of the notification system."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlmodel import col

from wattgate.db.models import Alert, Notification, NotificationLog
from wattgate.db.rows import Rows


async def count_unread_alerts(rows: Rows, user_id: str) -> int:
    """How many of a user's alerts are not read."""
    return (await count_unread_alerts_by_user(rows, [user_id]))[user_id]


async def count_unread_alerts_by_user(rows: Rows, user_ids: Collection[str]) -> dict[str, int]:
    """By user, how many of their alerts are not read."""
    wanted = set(user_ids)
    found = await rows.count_by(Alert, "user_id", col(Alert.user_id).in_(wanted), col(Alert.read_at).is_(None))
    return {user_id: found.get(user_id, 0) for user_id in wanted}


async def notifications(rows: Rows, alerts: Sequence[Alert]) -> list[list[Notification]]:
    """The notifications of each alert, one for each channel."""
    wanted = {alert.alert_id for alert in alerts}
    found = await rows.all(
        Notification, col(Notification.alert_id).in_(wanted), order_by=[Notification.created_at, Notification.channel]
    )
    by_alert: dict[str, list[Notification]] = defaultdict(list)
    for one in found:
        by_alert[one.alert_id].append(one)
    return [by_alert[alert.alert_id] for alert in alerts]


async def logs(rows: Rows, sent: Sequence[Notification]) -> list[list[NotificationLog]]:
    """The steps of each notification's way, first step first."""
    wanted = {one.notification_id for one in sent}
    found = await rows.all(
        NotificationLog, col(NotificationLog.notification_id).in_(wanted), order_by=[NotificationLog.step]
    )
    by_notification: dict[str, list[NotificationLog]] = defaultdict(list)
    for step in found:
        by_notification[step.notification_id].append(step)
    return [by_notification[one.notification_id] for one in sent]
