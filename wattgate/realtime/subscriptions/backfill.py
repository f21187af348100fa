"""What the database has for subscribers whom the bus cannot catch up: as `watch.Missed` says."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col, select

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Alert, CatchUp, DfsEvent, Notification, Resource
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series import Stored
from wattgate.db.readings.series_keys import key_of
from wattgate.db.rows import Condition, Rows
from wattgate.energy.storage_fields import QUALITIES, Field, fields_of
from wattgate.realtime.events import LiveReading
from wattgate.realtime.subscriptions.subscription_source import Missed

SETTLED = timedelta(minutes=1)
"""So long before an instant a write may have begun that was told after it, and so far clocks may differ."""

MAX_MISSED = 1_000
"""How many payloads are told; of readings the newest of each field where more have come."""

FINAL_STATES = ("settled", "cancelled")
"""The states that a demand flexibility event never leaves."""


def readings(resource_ids: Sequence[str]) -> Missed:
    """The readings of resources that were received since an instant; the newest of each field where there is none."""
    return partial(_readings, list(dict.fromkeys(resource_ids)))


def catch_ups(resource_ids: Sequence[str]) -> Missed:
    """The retrievals for resources that have moved since an instant, as they stand; else the newest of each."""
    return partial(_catch_ups, list(dict.fromkeys(resource_ids)))


def alerts(user_id: str, *, steps: bool = False) -> Missed:
    """The alerts that were sent to a user since an instant, the newest of very many; else those not read.

    With `steps` those too of which a notification has moved since.
    """
    return partial(_alerts, user_id, steps)


async def dfs_events(rows: Rows, since: datetime | None) -> list[DfsEvent]:
    """The application's events that have changed since an instant, as they stand; else those not at their end."""
    if since is None:
        changed: Condition = col(DfsEvent.state).not_in(FINAL_STATES)
    else:
        changed = col(DfsEvent.updated_at) >= since - SETTLED
    return await _newest(rows, DfsEvent, col(DfsEvent.updated_at), changed)


async def _readings(resource_ids: Sequence[str], rows: Rows, since: datetime | None) -> list[LiveReading]:
    known = await rows.many(Resource, resource_ids)
    series = {
        key_of(resource, field): (resource, field)
        for resource in known.values()
        for field in fields_of(resource.storage)
    }
    if since is not None:
        received = to_ms(since - SETTLED)
        found = await rows.series.received(list(series), received, limit=MAX_MISSED + 1)
        if len(found) <= MAX_MISSED:
            return [_reading(*series[key], stored) for key, stored in found]
    latest: dict[SeriesKey, Stored] = await rows.series.latest(list(series))
    return [_reading(*series[key], stored) for key, stored in sorted(latest.items(), key=lambda one: one[1].at)]


def _reading(resource: Resource, field: Field, stored: Stored) -> LiveReading:
    return LiveReading(
        resource_id=resource.resource_id,
        field=field.name,
        unit=field.unit,
        at=from_ms(stored.at),
        value=field.number(stored.value),
        quality=QUALITIES[stored.quality],
    )


async def _catch_ups(resource_ids: Sequence[str], rows: Rows, since: datetime | None) -> list[CatchUp]:
    of_these = col(CatchUp.resource_id).in_(resource_ids)
    if since is not None:
        begun = since - SETTLED
        moved = or_(col(CatchUp.created_at) >= begun, col(CatchUp.heard_at) >= begun)
        return await _newest(rows, CatchUp, col(CatchUp.created_at), of_these, moved)
    found = await rows.all(CatchUp, of_these, order_by=[CatchUp.created_at])
    return list({one.resource_id: one for one in found}.values())


async def _alerts(user_id: str, steps: bool, rows: Rows, since: datetime | None) -> list[Alert]:
    told: list[ColumnElement[bool]] = [col(Alert.read_at).is_(None)]
    if since is not None:
        told = [col(Alert.created_at) >= since - SETTLED]
        if steps:
            of_user = col(Notification.user_id) == user_id
            moved = select(Notification.alert_id).where(of_user, col(Notification.status_at) >= since - SETTLED)
            told.append(col(Alert.alert_id).in_(moved))
    return await _newest(rows, Alert, col(Alert.created_at), col(Alert.user_id) == user_id, or_(*told))


async def _newest(rows: Rows, model: Any, moved: Any, *where: Condition) -> list[Any]:
    """The newest of these records, oldest first."""
    return (await rows.all(model, *where, order_by=[moved.desc()], limit=MAX_MISSED))[::-1]
