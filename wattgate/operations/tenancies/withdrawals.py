"""Withdrawn readings: those that are stored, and turn out to be of another household or of a time without consent.

Copies of their values go with them: exports, alerts, and the events that the bus retains for clients that resume.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.models import Resource
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.readings.withdrawals import WithdrawnFields
from wattgate.db.rows.rows import Rows
from wattgate.energy.storage_fields import parse_fields
from wattgate.operations.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ResourceChanged


def withdrawn_fields(resources: Iterable[Resource]) -> WithdrawnFields:
    """Return the fields of resources, as `ReadingStore.withdraw` takes them."""
    return {
        resource_number(resource): [(field.index, field.has_hourly_rollup) for field in parse_fields(resource.storage)]
        for resource in resources
    }


async def withdraw_since(call: Call, rows: Rows, resources: Collection[Resource], since: datetime) -> None:
    """Delete the readings of resources from an instant on, and the copies of their values."""
    await rows.readings.withdraw(withdrawn_fields(resources), to_ms(since), to_ms(rows.now))
    await _delete_copies(call, rows, resources, since, None)


async def withdraw_before(call: Call, rows: Rows, resources: Collection[Resource], until: datetime) -> None:
    """Delete the readings of resources from before an instant, and the copies of their values."""
    await rows.readings.withdraw_before(withdrawn_fields(resources), to_ms(until), to_ms(rows.now))
    await _delete_copies(call, rows, resources, None, until)


async def _delete_copies(
    call: Call, rows: Rows, resources: Collection[Resource], since: datetime | None, until: datetime | None
) -> None:
    """Delete the copies of the readings from `since` on and before `until`. None is no bound."""
    user_ids = {resource.owner_id for resource in resources}
    concerned = {resource.resource_id for resource in resources}
    costs = await rows.all(models.Resource, col(models.Resource.cost_of).in_(concerned))
    concerned |= {resource.resource_id for resource in costs}
    await _delete_exports(rows, user_ids)
    alerts = await rows.all(
        models.Alert, col(models.Alert.user_id).in_(user_ids), col(models.Alert.resource_id).in_(concerned)
    )
    await _delete_alerts(rows, [alert.alert_id for alert in alerts if _reports(alert, since, until)])
    for resource_id in sorted(concerned):
        call.emit(Event(topics.readings(resource_id), "resource", ResourceChanged(resource_id, withdrawn=True)))
        for user_id in sorted(user_ids):
            for topic in (topics.alerts(user_id), topics.alert_steps(user_id)):
                call.emit(Event(topic, "resource", ResourceChanged(resource_id, withdrawn=True)))


async def _delete_exports(rows: Rows, user_ids: Collection[str]) -> None:
    """Delete the exports of users, whose archives have readings that are not theirs any more."""
    exports = await rows.all(models.DataExport, col(models.DataExport.user_id).in_(user_ids))
    ids = [export.export_id for export in exports]
    await rows.delete(models.DataExportPart, col(models.DataExportPart.export_id).in_(ids))
    await rows.delete(models.DataExport, col(models.DataExport.export_id).in_(ids))


async def _delete_alerts(rows: Rows, alert_ids: Collection[str]) -> None:
    """Delete alerts with their notifications. Workers that hold a delivery of one can record nothing about it."""
    if not alert_ids:
        return
    notifications = await rows.all(models.Notification, col(models.Notification.alert_id).in_(alert_ids))
    targets = [notification.notification_id for notification in notifications]
    await rows.delete(models.Delivery, col(models.Delivery.target_id).in_(targets))
    for model in (models.NotificationLog, models.Notification, models.Alert):
        await rows.delete(model, col(model.alert_id).in_(alert_ids))


def _reports(alert: models.Alert, since: datetime | None, until: datetime | None) -> bool:
    """Return whether the time that an alert reports overlaps a range. It ends when the rule fired, or at the alert."""
    data: Mapping[str, Any] = alert.data if isinstance(alert.data, dict) else {}
    last = _instant(data.get("at")) or alert.created_at
    minutes = data.get("windowMinutes")
    first = last - timedelta(minutes=minutes if isinstance(minutes, int) else 0)
    return (since is None or last >= since) and (until is None or first < until)


def _instant(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return None if instant.tzinfo is None else instant
