"""The demand flexibility service: opting in and out, events and who takes part in them."""

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.consent import holds
from wattgate.energy.meter_points import canonical
from wattgate.energy.tariffs import problem_of_rate
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.graphql.core.cost_weights import GROWING, Size
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types import flexibility as types
from wattgate.graphql.types.flexibility import DfsEventState
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import DfsEventMoved, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import Watch

FOLLOWS: dict[DfsEventState, frozenset[DfsEventState]] = {
    DfsEventState.ANNOUNCED: frozenset({DfsEventState.OPEN, DfsEventState.CANCELLED}),
    DfsEventState.OPEN: frozenset({DfsEventState.ACTIVE, DfsEventState.CANCELLED}),
    DfsEventState.ACTIVE: frozenset({DfsEventState.ENDED, DfsEventState.CANCELLED}),
    DfsEventState.ENDED: frozenset({DfsEventState.SETTLED}),
    DfsEventState.SETTLED: frozenset(),
    DfsEventState.CANCELLED: frozenset(),
}
"""The life of an event: which states may follow which. Joining is possible while it is open."""


@operation(Kind.QUERY, returns=list[types.DfsUser], needs=Permission.FLEXIBILITY_READ, rest=Rest("GET", "/dfs/user"))
async def dfs_users(call: Call) -> list[models.DfsUser]:
    """Who is opted in, of the application or the user alone."""
    return await call.rows.all(
        models.DfsUser, col(models.DfsUser.active).is_(True), order_by=[models.DfsUser.created_at]
    )


@operation(Kind.MUTATION, returns=types.DfsUser, needs=Permission.FLEXIBILITY_JOIN, rest=Rest("POST", "/dfs/user"))
async def opt_in_to_dfs(call: Call, *, mpxn: str | None = None) -> models.DfsUser:
    """Opt in with a meter point, which must be named only where the user has several."""
    user_id = owner_of(call)
    chosen = await _meter_point(call, user_id, mpxn)
    known = await _opted_in(call, user_id, chosen)
    if known:
        return known[0]
    return await call.rows.add(models.DfsUser(user_id=user_id, mpxn=chosen))


@operation(
    Kind.MUTATION, returns=list[types.DfsUser], needs=Permission.FLEXIBILITY_JOIN, rest=Rest("DELETE", "/dfs/user")
)
async def opt_out_of_dfs(call: Call, *, mpxn: str | None = None) -> list[models.DfsUser]:
    """Opt out with a meter point, or with all of the user's where none is named."""
    known = await _opted_in(call, owner_of(call), mpxn)
    if not known:
        raise NotFound("the user is not opted in")
    records = [await call.rows.edit(models.DfsUser, one.dfs_user_id) for one in known]
    for record in records:
        record.active = False
    return records


@operation(Kind.QUERY, returns=list[types.DfsEvent], needs=Permission.FLEXIBILITY_READ)
async def dfs_events(call: Call) -> list[models.DfsEvent]:
    """The application's events, by their start."""
    return await call.rows.all(models.DfsEvent, order_by=[models.DfsEvent.starts_at])


@operation(
    Kind.QUERY, returns=list[types.DfsEvent], needs=Permission.FLEXIBILITY_READ, rest=Rest("GET", "/dfs/event/user")
)
async def user_dfs_events(call: Call) -> list[models.DfsEvent]:
    """The events that the user signed up for, by their start."""
    joined = await call.rows.all(models.DfsParticipation, col(models.DfsParticipation.user_id) == owner_of(call))
    ids = {one.dfs_event_id for one in joined}
    return await call.rows.all(
        models.DfsEvent, col(models.DfsEvent.dfs_event_id).in_(ids), order_by=[models.DfsEvent.starts_at]
    )


@operation(
    Kind.QUERY,
    returns=list[types.DfsParticipation],
    needs=Permission.FLEXIBILITY_MANAGE,
    rest=Rest("GET", "/dfs/event/{dfsEventId}/user"),
    sizes=[Size(GROWING)],
)
async def dfs_event_users(call: Call, *, dfs_event_id: strawberry.ID) -> list[models.DfsParticipation]:
    """Who takes part in an event, or took part."""
    await call.rows.get(models.DfsEvent, dfs_event_id)
    return await call.rows.all(
        models.DfsParticipation,
        col(models.DfsParticipation.dfs_event_id) == dfs_event_id,
        order_by=[models.DfsParticipation.created_at],
    )


@operation(
    Kind.MUTATION,
    returns=list[types.DfsParticipation],
    needs=Permission.FLEXIBILITY_JOIN,
    rest=Rest("POST", "/dfs/event/user/participation"),
)
async def participate_in_dfs_event(call: Call, *, dfs_event_id: strawberry.ID) -> list[models.DfsParticipation]:
    """Take part in an open event with every meter point that the user is opted in with."""
    user_id = owner_of(call)
    known = await call.rows.many(models.DfsEvent, [dfs_event_id])
    if not known:
        problem = Problem(("dfsEventId",), f"{dfs_event_id} does not exist")
        raise BadInput("the event does not exist", problems=[problem])
    event = known[dfs_event_id]
    if event.state != DfsEventState.OPEN.value:
        raise Conflict(f"the event is {event.state}; joining is possible while it is open")
    opted_in = await _opted_in(call, user_id)
    if not opted_in:
        raise Conflict("the user is not opted in to the demand flexibility service")
    joined = await call.rows.all(
        models.DfsParticipation,
        col(models.DfsParticipation.dfs_event_id) == dfs_event_id,
        col(models.DfsParticipation.user_id) == user_id,
    )
    points = {one.mpxn for one in joined}
    for one in opted_in:
        if one.mpxn not in points:
            new = models.DfsParticipation(dfs_event_id=dfs_event_id, user_id=user_id, mpxn=one.mpxn)
            joined.append(await call.rows.add(new))
    return joined


@operation(Kind.MUTATION, returns=types.DfsEvent, needs=Permission.FLEXIBILITY_MANAGE)
async def add_dfs_event(call: Call, *, input: types.NewDfsEvent) -> models.DfsEvent:
    """Announce an event."""
    problems = []
    if input.ends_at <= input.starts_at:
        problems.append(Problem(("input", "endsAt"), "is not after the start"))
    if input.starts_at <= call.rows.now:
        problems.append(Problem(("input", "startsAt"), "is not in the future"))
    problems += problem_of_rate(input.reward, "input", "reward")
    if problems:
        raise BadInput("the event cannot be so", problems=problems)
    return await call.rows.add(
        models.DfsEvent(
            name=input.name,
            state=DfsEventState.ANNOUNCED.value,
            starts_at=input.starts_at,
            ends_at=input.ends_at,
            reward=input.reward,
        )
    )


@operation(Kind.MUTATION, returns=types.DfsEvent, needs=Permission.FLEXIBILITY_MANAGE)
async def move_dfs_event(call: Call, *, dfs_event_id: strawberry.ID, state: DfsEventState) -> models.DfsEvent:
    """Bring an event to its next state; whoever watches the application's events is told."""
    event = await call.rows.edit(models.DfsEvent, dfs_event_id)
    if state not in FOLLOWS[DfsEventState(event.state)]:
        raise Conflict(f"{state.value} does not follow {event.state}")
    event.state = state.value
    await call.rows.flush()
    told = {"dfsEventId": event.dfs_event_id, "name": event.name, "state": event.state}
    await enqueue_event(call, "dfs.event.moved", told)
    moved = DfsEventMoved(**{name: getattr(event, name) for name in DfsEventMoved.__struct_fields__})
    call.emit(Event(topics.dfs_events(call.rows.application_id), event.dfs_event_id, moved))
    return event


@operation(Kind.SUBSCRIPTION, returns=types.DfsEvent, needs=Permission.FLEXIBILITY_READ, resumes=True)
async def dfs_event_changes(call: Call) -> Watch:
    """Every event of the application whose state changes."""
    return Watch((topics.dfs_events(call.rows.application_id),), missed=backfill.dfs_events)


async def _meter_point(call: Call, user_id: str, asked: str | None) -> str:
    """The meter point to opt in with: the one asked for, or the user's only one."""
    consents = await call.rows.all(models.MeterPointConsent, col(models.MeterPointConsent.user_id) == user_id)
    points = sorted(one.mpxn for one in consents if holds(one, call.rows.now))
    if asked is None and len(points) != 1:
        message = "the user has several" if points else "the user has none"
        problem = Problem(("mpxn",), f"is missing: {message}", missing=True)
        raise BadInput(f"name the meter point in mpxn: {message}", problems=[problem])
    if asked is not None and canonical(asked) not in points:
        raise BadInput("the meter point is not the user's", problems=[Problem(("mpxn",), f"{asked} does not exist")])
    return canonical(asked) if asked else points[0]


async def _opted_in(call: Call, user_id: str, mpxn: str | None = None) -> list[models.DfsUser]:
    return await call.rows.all(
        models.DfsUser,
        col(models.DfsUser.user_id) == user_id,
        col(models.DfsUser.active).is_(True),
        *([] if mpxn is None else [col(models.DfsUser.mpxn) == canonical(mpxn)]),
    )
