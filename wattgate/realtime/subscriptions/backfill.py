"""Backfills from the database, for subscribers whose missed events the bus does not retain.

Each function returns a `Backfill` (see `subscription_source`).
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col, select

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Alert, CatchUp, DfsEvent, Notification, Resource
from wattgate.db.queries.consent import check_consent, find_consent_errors, peek_consent
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.lookups import not_found
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.energy.storage_fields import QUALITIES, ReadingField, parse_fields
from wattgate.errors import GatewayError
from wattgate.realtime import topics
from wattgate.realtime.events import ReadingRecorded
from wattgate.realtime.subscriptions.subscription_source import Backfill, FindWithheld, WithheldTopics

OVERLAP = timedelta(minutes=1)
"""A backfill starts this long before the requested time, because of long writes and differences between clocks.

A write that started before that time may have published its event after it.
"""

MAX_PAYLOADS = 1_000
"""Maximum number of payloads. If more readings were received, only the newest of each field are sent."""

FINAL_STATES = ("settled", "cancelled")
"""The final states of a demand flexibility event."""


def readings(resource_ids: Sequence[str]) -> Backfill:
    """Return the readings received since a time, or without a time the newest of each field.

    Leave out the resources whose data is withheld.
    """
    return partial(_load_readings, list(dict.fromkeys(resource_ids)))


def withheld_readings(resource_ids: Sequence[str]) -> FindWithheld:
    """Return the topics of these resources whose readings are withheld."""
    return partial(_find_withheld, topics.readings, list(dict.fromkeys(resource_ids)))


def withheld_catch_ups(resource_ids: Sequence[str]) -> FindWithheld:
    """Return the topics of these resources whose catch-ups are withheld."""
    return partial(_find_withheld, topics.catch_ups, list(dict.fromkeys(resource_ids)))


def catch_ups(resource_ids: Sequence[str]) -> Backfill:
    """Return the current state of catch-ups changed since a time, or without a time the newest of each resource."""
    return partial(_load_catch_ups, list(dict.fromkeys(resource_ids)))


def alerts(user_id: str, *, include_steps: bool = False) -> Backfill:
    """Return the alerts sent to a user since a time, or without a time the unread ones.

    With `include_steps`, also return alerts of which a notification has changed its state since that time. At most
    `MAX_PAYLOADS` alerts are returned, the newest ones.
    """
    return partial(_load_alerts, user_id, include_steps)


async def dfs_events(rows: Rows, since: datetime | None) -> list[DfsEvent]:
    """Return the current state of events changed since a time, or without a time those not in a final state."""
    if since is None:
        changed: Condition = col(DfsEvent.state).not_in(FINAL_STATES)
    else:
        changed = col(DfsEvent.updated_at) >= since - OVERLAP
    return await _load_newest(rows, DfsEvent, col(DfsEvent.updated_at), changed)


async def _find_withheld(topic_of: Callable[[str], str], resource_ids: Sequence[str], rows: Rows) -> WithheldTopics:
    resources = await rows.get_many(Resource, resource_ids)
    revoked, valid_until = await check_consent(rows, list(resources.values()))
    hidden = {
        resource_id: not_found(Resource, resource_id) for resource_id in resource_ids if resource_id not in resources
    }
    seconds = None if valid_until is None else (valid_until - rows.now).total_seconds()
    errors: dict[str, GatewayError] = {**revoked, **hidden}
    return WithheldTopics({topic_of(resource_id): error for resource_id, error in errors.items()}, seconds)


async def _load_readings(resource_ids: Sequence[str], rows: Rows, since: datetime | None) -> list[ReadingRecorded]:
    resources = await rows.get_many(Resource, resource_ids)
    withheld = await find_consent_errors(rows, list(resources.values()))
    series = {
        series_key(resource, field): (resource, field)
        for resource in resources.values()
        if resource.resource_id not in withheld
        for field in parse_fields(resource.storage)
    }
    if since is not None:
        received_after_ms = to_ms(since - OVERLAP)
        readings = await rows.readings.list_received(list(series), received_after_ms, limit=MAX_PAYLOADS + 1)
        if len(readings) <= MAX_PAYLOADS:
            return [_to_event(*series[key], stored) for key, stored in readings]
    latest: dict[SeriesKey, StoredReading] = await rows.readings.latest(list(series))
    return [_to_event(*series[key], stored) for key, stored in sorted(latest.items(), key=lambda item: item[1].at)]


def _to_event(resource: Resource, field: ReadingField, stored: StoredReading) -> ReadingRecorded:
    return ReadingRecorded(
        resource_id=resource.resource_id,
        field=field.name,
        unit=field.unit,
        at=from_ms(stored.at),
        value=field.from_stored(stored.value),
        quality=QUALITIES[stored.quality],
    )


async def _load_catch_ups(resource_ids: Sequence[str], rows: Rows, since: datetime | None) -> list[CatchUp]:
    resources = await rows.get_many(Resource, resource_ids)
    withheld = (await peek_consent(rows, list(resources.values()))).errors
    of_resources = col(CatchUp.resource_id).in_(resources.keys() - withheld.keys())
    if since is not None:
        oldest = since - OVERLAP
        changed = or_(col(CatchUp.created_at) >= oldest, col(CatchUp.heard_at) >= oldest)
        return await _load_newest(rows, CatchUp, col(CatchUp.created_at), of_resources, changed)
    catch_ups = await rows.all(CatchUp, of_resources, order_by=[CatchUp.created_at])
    return list({catch_up.resource_id: catch_up for catch_up in catch_ups}.values())


async def _load_alerts(user_id: str, include_steps: bool, rows: Rows, since: datetime | None) -> list[Alert]:
    conditions: list[ColumnElement[bool]] = [col(Alert.read_at).is_(None)]
    if since is not None:
        conditions = [col(Alert.created_at) >= since - OVERLAP]
        if include_steps:
            of_user = col(Notification.user_id) == user_id
            alerts_with_steps = select(Notification.alert_id).where(
                of_user, col(Notification.status_at) >= since - OVERLAP
            )
            conditions.append(col(Alert.alert_id).in_(alerts_with_steps))
    return await _load_newest(rows, Alert, col(Alert.created_at), col(Alert.user_id) == user_id, or_(*conditions))


async def _load_newest(rows: Rows, model: Any, order_column: Any, *where: Condition) -> list[Any]:
    """Return the newest `MAX_PAYLOADS` records, oldest first."""
    return (await rows.all(model, *where, order_by=[order_column.desc()], limit=MAX_PAYLOADS))[::-1]
