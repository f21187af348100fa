"""Catch-ups: retrievals of readings from the meter network. Request and follow them, and run them in a worker."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec.structs import replace
from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import col

from wattgate.clock import EPOCH, from_ms, to_ms
from wattgate.db import models
from wattgate.db.meter_network import MeterNetworkReading
from wattgate.db.queries.resources import require_open
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.energy.buckets import HOUR_MS
from wattgate.energy.consent_gaps import StorageBounds, find_gap
from wattgate.energy.meters import meter_points
from wattgate.enums import CatchUpState
from wattgate.errors import BadInput, Conflict, ConsentRevoked, QuotaExceeded
from wattgate.operations.consent.consent_records import require_consent, require_readable_resources
from wattgate.operations.core.operation import MEASURED_DATA, Call, OperationKind, RestRoute, operation
from wattgate.operations.readings.reading_targets import ReadingTargets
from wattgate.operations.types.homes import meter_points as catch_up_types
from wattgate.operations.types.meters import devices as types
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import CatchUpStateChanged, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource

HALF_HOUR = timedelta(minutes=30)
"""The network publishes new readings each half hour, so one catch-up in each is enough."""

LEASE = timedelta(minutes=10)
"""Time after a worker's last report after which another worker may claim its catch-up."""

PAGE_SIZE = 2_000
"""Maximum readings to retrieve and record at once."""


@dataclass(frozen=True, slots=True)
class StartedCatchUpResult:
    resource: models.Resource
    started: bool
    catch_up: models.CatchUp


@operation(
    OperationKind.MUTATION,
    returns=catch_up_types.StartedCatchUp,
    needs=Permission.CATCH_UP,
    audit=MEASURED_DATA,
    rest=RestRoute("GET", "/resource/{resourceId}/catchup", Tag.RESOURCES_AND_READINGS),
    raises=(ConsentRevoked, Conflict, QuotaExceeded),
)
async def catch_up(call: Call, *, resource_id: ids.ResourceId) -> StartedCatchUpResult:
    """Start a catch-up: retrieve a resource's latest readings from the meter network. The call returns immediately.

    At most one catch-up starts in each half hour of the clock. A further call returns the existing one.
    """
    resource = await call.rows.edit(models.Resource, resource_id)  # locks the row: simultaneous calls wait here
    await require_consent(call.rows, [resource])
    require_open(resource)
    half_hour = call.rows.now - (call.rows.now - EPOCH) % HALF_HOUR
    latest = await call.rows.first(
        models.CatchUp,
        col(models.CatchUp.resource_id) == resource_id,
        col(models.CatchUp.created_at) >= half_hour,
        order_by=[col(models.CatchUp.created_at).desc()],
    )
    if latest is not None:
        return StartedCatchUpResult(resource, False, latest)
    queued = models.CatchUp(resource_id=resource_id, owner_id=resource.owner_id, created_at=call.rows.now)
    added = await call.rows.add(queued)
    changed = _changed_event(added)
    call.emit(changed)
    call.emit(replace(changed, topic=topics.queued_catch_ups()))
    return StartedCatchUpResult(resource, True, added)


@operation(OperationKind.SUBSCRIPTION, returns=types.CatchUp, needs=Permission.CATCH_UP, resumes=True)
async def catch_up_state(call: Call, *, resource_ids: ids.ResourceIds) -> SubscriptionSource:
    """Publish each change of state of the catch-ups of these resources."""
    resources = await require_readable_resources(call.rows, resource_ids)
    return SubscriptionSource(
        tuple(topics.catch_ups(resource.resource_id) for resource in resources),
        backfill=backfill.catch_ups(resource_ids),
        find_withheld=backfill.withheld_catch_ups(resource_ids),
    )


# Operations for the worker `app/workers/catch_ups.py`. It runs them for each application.


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_catch_ups(call: Call) -> list[str]:
    """Return the applications with catch-ups that wait for a worker."""
    return await call.rows.application_ids_with(models.CatchUp, _claimable_condition(call.rows.now))


@operation(OperationKind.MUTATION, returns=models.CatchUp, needs=Permission.SYSTEM)
async def claim_catch_up(call: Call) -> models.CatchUp | None:
    """Claim the oldest waiting catch-up of the application. Return None if none waits or another worker claims it."""
    claimable = _claimable_condition(call.rows.now)
    oldest = await call.rows.first(models.CatchUp, claimable, order_by=[models.CatchUp.created_at])
    if oldest is None:
        return None
    mine = col(models.CatchUp.catch_up_id) == oldest.catch_up_id
    running = {"state": CatchUpState.RUNNING, "started_at": call.rows.now, "heard_at": call.rows.now}
    if not await call.rows.update(models.CatchUp, mine, claimable, **running):
        return None
    claimed = await call.rows.get(models.CatchUp, oldest.catch_up_id)
    call.emit(_changed_event(claimed))
    return claimed


@operation(OperationKind.QUERY, returns=reading_types.NewReadings, needs=Permission.SYSTEM)
async def network_readings(call: Call, *, resource_id: str) -> reading_types.NewReadings | None:
    """Return the next page of the network's readings after a resource's last one, or None if there are no more.

    Readings from before the household moved in are left out, and those of a time without its consent. Values are
    rounded to the decimals that the resource stores. Raise BadInput if the resource has no meter point.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    await require_consent(call.rows, [resource])
    require_open(resource)
    if resource.cost_of:
        return None  # costs are computed from the consumption, which has its own catch-ups
    number = meter_points.parse_meter_point_number(resource.mpxn or "")
    if number is None:
        raise BadInput(f"Resource {resource_id} has no meter point.")
    target = (await ReadingTargets.load(call, [resource_id])).find(resource_id, None)
    field = target.field
    series = (target.number, field.index)
    last = (await call.rows.readings.latest([series])).get(series)
    starts = [last.at] if last else []
    if target.bounds.since:
        starts.append(target.bounds.since - 1)
    if target.retention_days is not None:  # a margin of an hour: a reading must not expire before it is recorded
        starts.append(target.oldest_ms + HOUR_MS)
    after = from_ms(max(starts)) if starts else None
    network_readings = await _consented_page(call, number, resource.classifier, after, target.bounds)
    unit = Decimal(1).scaleb(-field.decimals)
    readings = [
        reading_types.NewReading(at=reading.at, value=reading.value.quantize(unit), quality=reading.quality)
        for reading in network_readings
    ]
    if not readings:
        return None
    return reading_types.NewReadings(resource_id=Id(resource_id), field=field.name, readings=readings)


@operation(OperationKind.MUTATION, returns=models.CatchUp, needs=Permission.SYSTEM)
async def update_catch_up(
    call: Call, *, catch_up_id: str, state: CatchUpState, recorded: int, reason: str | None = None
) -> models.CatchUp:
    """Record the progress of a catch-up, which extends its lease, or its end."""
    record = await call.rows.edit(models.CatchUp, catch_up_id)
    record.state, record.recorded, record.reason = state, recorded, reason
    record.heard_at = call.rows.now
    record.finished_at = None if state is CatchUpState.RUNNING else call.rows.now
    call.emit(_changed_event(record))
    return record


async def _consented_page(
    call: Call, number: str, classifier: str, after: datetime | None, bounds: StorageBounds
) -> list[MeterNetworkReading]:
    """Return the next page of the network's readings after an instant, without those of a time without consent.

    A page that is within such a time is skipped up to its end. So there are at most as many pages as gaps, plus one.
    """
    while True:
        page = await call.network.readings(number, classifier, after, limit=PAGE_SIZE)
        until_now = [reading for reading in page if reading.at <= call.rows.now]
        consented = [reading for reading in until_now if not bounds.is_without_consent(to_ms(reading.at))]
        if consented or not until_now:
            return consented
        gap = find_gap(bounds.gaps, to_ms(until_now[-1].at))
        if gap is None or gap.stop is None:
            return []
        after = from_ms(gap.stop - 1)


def _claimable_condition(now: datetime) -> ColumnElement[bool]:
    """Return the condition for claiming a catch-up: no worker has claimed it, or the lease of its worker ended."""
    return or_(
        col(models.CatchUp.state) == CatchUpState.QUEUED,
        and_(col(models.CatchUp.state) == CatchUpState.RUNNING, col(models.CatchUp.heard_at) < now - LEASE),
    )


def _changed_event(record: models.CatchUp) -> Event:
    payload = CatchUpStateChanged(**{name: getattr(record, name) for name in CatchUpStateChanged.__struct_fields__})
    return Event(topics.catch_ups(record.resource_id), record.catch_up_id, payload)
