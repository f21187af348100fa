"""Retrievals of readings from the meter network: asked for, watched, and what the worker does for them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import strawberry
from msgspec.structs import replace
from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import col
from strawberry import ID

from wattgate.clock import EPOCH, from_ms
from wattgate.db import models
from wattgate.db.queries import devices as queries
from wattgate.energy import meter_points
from wattgate.energy.buckets import HOUR
from wattgate.enums import CatchUpState
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.raw_readings import refuse_withheld
from wattgate.graphql.services.reading_targets import Targets
from wattgate.graphql.types import devices as types
from wattgate.graphql.types import readings as reading_types
from wattgate.graphql.types import resources as resource_types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import CatchUpMoved, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import Watch

HALF_HOUR = timedelta(minutes=30)
"""The network has new readings each half hour by the clock, and one start in each is enough."""

LEASE = timedelta(minutes=10)
"""How long a retrieval may stay without a sign of its worker before another takes it over."""

PAGE = 2_000
"""How many readings are retrieved and recorded at once."""


@dataclass(frozen=True, slots=True)
class Started:
    resource: models.Resource
    started: bool
    catch_up: models.CatchUp


@operation(
    Kind.MUTATION,
    returns=resource_types.StartedCatchUp,
    needs=Permission.CATCH_UP,
    rest=Rest("GET", "/resource/{resourceId}/catchup"),
)
async def catch_up(call: Call, *, resource_id: strawberry.ID) -> Started:
    """Start the retrieval of a resource's latest readings from the meter network, and answer at once.

    At most one starts in each half hour by the clock; a further call answers that one.
    """
    resource = await call.rows.edit(models.Resource, resource_id)  # two calls at once wait for each other here
    await refuse_withheld(call, resource)
    half_hour = call.rows.now - (call.rows.now - EPOCH) % HALF_HOUR
    last = await call.rows.first(
        models.CatchUp,
        col(models.CatchUp.resource_id) == resource_id,
        col(models.CatchUp.created_at) >= half_hour,
        order_by=[col(models.CatchUp.created_at).desc()],
    )
    if last is not None:
        return Started(resource, False, last)
    queued = models.CatchUp(resource_id=resource_id, owner_id=resource.owner_id, created_at=call.rows.now)
    added = await call.rows.add(queued)
    moved = _moved(added)
    call.emit(moved)
    call.emit(replace(moved, topic=topics.queued_catch_ups()))
    return Started(resource, True, added)


@operation(Kind.QUERY, returns=list[types.CatchUp], needs=Permission.CATCH_UP)
async def catch_ups(call: Call, *, resource_id: strawberry.ID) -> list[models.CatchUp]:
    """The retrievals of a resource's readings from the meter network, newest first."""
    (found,) = await queries.catch_ups(call.rows, [await call.rows.get(models.Resource, resource_id)])
    return found


@operation(Kind.SUBSCRIPTION, returns=types.CatchUp, needs=Permission.CATCH_UP, resumes=True)
async def catch_up_state(call: Call, *, resource_ids: list[strawberry.ID]) -> Watch:
    """Every change of state of a retrieval of these resources' readings."""
    known = await call.rows.named(models.Resource, resource_ids)
    watched = tuple(topics.catch_ups(one.resource_id) for one in known)
    return Watch(watched, missed=backfill.catch_ups(resource_ids))


# What the worker does, application by application: `app/workers/catch_ups.py` runs these.


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_catching_up(call: Call) -> list[str]:
    """The applications that have retrievals which wait for a worker."""
    return await call.rows.applications_with(models.CatchUp, _waits(call.rows.now))


@operation(Kind.MUTATION, returns=models.CatchUp, needs=Permission.SYSTEM)
async def claim_catch_up(call: Call) -> models.CatchUp | None:
    """Take the retrieval of the application that waits longest, if one does; no two workers get the same."""
    waiting = _waits(call.rows.now)
    oldest = await call.rows.first(models.CatchUp, waiting, order_by=[models.CatchUp.created_at])
    if oldest is None:
        return None
    mine = col(models.CatchUp.catch_up_id) == oldest.catch_up_id
    running = {"state": CatchUpState.RUNNING, "started_at": call.rows.now, "heard_at": call.rows.now}
    if not await call.rows.update(models.CatchUp, mine, waiting, **running):
        return None
    claimed = await call.rows.get(models.CatchUp, oldest.catch_up_id)
    call.emit(_moved(claimed))
    return claimed


@operation(Kind.QUERY, returns=reading_types.NewReadings, needs=Permission.SYSTEM)
async def network_readings(call: Call, *, resource_id: str) -> reading_types.NewReadings | None:
    """What the network has of a resource after its last reading: the next page, or None where there is nothing more.

    Values are rounded to the decimals that the resource stores. BadInput where the network cannot be asked.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    await refuse_withheld(call, resource)
    if resource.cost_of:
        return None  # it is computed from its consumption, which has catch-ups of its own
    number = meter_points.meter_point_number(resource.mpxn or "")
    if number is None:
        raise BadInput("the resource has no meter point")
    target = (await Targets.of(call, [resource_id])).find(resource_id, None)
    first = target.field
    series = (target.number, first.index)
    last = (await call.rows.series.latest([series])).get(series)
    known = [last.at] if last else []
    if target.keeps is not None:  # an hour more, so that none is too old by the time it is recorded
        known.append(target.oldest + HOUR)
    after = from_ms(max(known)) if known else None
    found = await call.network.readings(number, resource.classifier, after, limit=PAGE)
    unit = Decimal(1).scaleb(-first.decimals)
    readings = [
        reading_types.NewReading(at=one.at, value=one.value.quantize(unit), quality=one.quality)
        for one in found
        if one.at <= call.rows.now
    ]
    if not readings:
        return None
    return reading_types.NewReadings(resource_id=ID(resource_id), field=first.name, readings=readings)


@operation(Kind.MUTATION, returns=models.CatchUp, needs=Permission.SYSTEM)
async def move_catch_up(
    call: Call, *, catch_up_id: str, state: CatchUpState, recorded: int, reason: str | None = None
) -> models.CatchUp:
    """Say how far a retrieval has come: still running, which extends its lease, or at its end."""
    record = await call.rows.edit(models.CatchUp, catch_up_id)
    record.state, record.recorded, record.reason = state, recorded, reason
    record.heard_at = call.rows.now
    record.finished_at = None if state is CatchUpState.RUNNING else call.rows.now
    call.emit(_moved(record))
    return record


def _waits(now: datetime) -> ColumnElement[bool]:
    """That a retrieval waits for a worker: nobody has taken it, or nobody has been heard of for too long."""
    return or_(
        col(models.CatchUp.state) == CatchUpState.QUEUED,
        and_(col(models.CatchUp.state) == CatchUpState.RUNNING, col(models.CatchUp.heard_at) < now - LEASE),
    )


def _moved(record: models.CatchUp) -> Event:
    payload = CatchUpMoved(**{name: getattr(record, name) for name in CatchUpMoved.__struct_fields__})
    return Event(topics.catch_ups(record.resource_id), record.catch_up_id, payload)
