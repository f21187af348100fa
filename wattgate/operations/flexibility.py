"""The demand flexibility service (DFS): its terms, opting in and out, events, participation."""

from collections.abc import Sequence
from typing import Annotated

from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.queries.consent import is_in_force
from wattgate.db.queries.content import terms_of_now
from wattgate.db.queries.tenancies import meter_points_left
from wattgate.energy.costs.tariffs import rate_problems
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.energy.quantities import REWARD_CURRENCY, to_hundredths
from wattgate.enums import DfsEventState
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.devices.device_records import load_owned_resources
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.types.content import content as content_types
from wattgate.operations.types.content import flexibility as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import GROWING_LIST_SIZE, ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import DfsEventStateChanged, Event
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.values import terms
from wattgate.values.annotations import Described

DFS_REFERENCE = "dfs"
"""Reference of the terms and conditions of the demand flexibility service."""

ALLOWED_TRANSITIONS: dict[DfsEventState, frozenset[DfsEventState]] = {
    DfsEventState.ANNOUNCED: frozenset({DfsEventState.OPEN, DfsEventState.CANCELLED}),
    DfsEventState.OPEN: frozenset({DfsEventState.ACTIVE, DfsEventState.CANCELLED}),
    DfsEventState.ACTIVE: frozenset({DfsEventState.ENDED, DfsEventState.CANCELLED}),
    DfsEventState.ENDED: frozenset({DfsEventState.SETTLED}),
    DfsEventState.SETTLED: frozenset(),
    DfsEventState.CANCELLED: frozenset(),
}
"""The states that may follow each state of an event. Users join while it is OPEN."""


@operation(
    OperationKind.QUERY,
    returns=list[content_types.TermsConditions],
    needs=Permission.CONTENT_READ,
    rest=RestRoute("GET", "/dfs/termsconditions", Tag.DEMAND_FLEXIBILITY),
    raises=(NotFound,),
    in_graphql=("application", "termsConditionsInForce"),
)
async def dfs_terms_conditions(call: Call) -> list[models.TermsConditions]:
    """List the terms and conditions of the demand flexibility service that are in force."""
    return await terms_of_now(call.rows, DFS_REFERENCE)


@operation(
    OperationKind.QUERY,
    returns=list[types.DfsUser],
    needs=Permission.FLEXIBILITY_READ,
    rest=RestRoute("GET", "/dfs/user", Tag.DEMAND_FLEXIBILITY),
    in_graphql=("viewer", "flexibilityEnrolments"),
)
async def dfs_users(call: Call) -> list[models.DfsUser]:
    """List the active DFS enrolments that the caller may see, oldest first."""
    return await call.rows.all(
        models.DfsUser, col(models.DfsUser.active).is_(True), order_by=[models.DfsUser.created_at]
    )


@operation(
    OperationKind.MUTATION,
    returns=types.DfsUser,
    needs=Permission.FLEXIBILITY_JOIN,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/dfs/user", Tag.DEMAND_FLEXIBILITY),
    raises=(NotFound,),
)
async def opt_in_to_dfs(
    call: Call,
    *,
    mpxn: Annotated[
        terms.Text100,
        Described("MPAN or MPRN. Default: the only meter point for which the acting user has a valid consent."),
    ]
    | None = None,
) -> models.DfsUser:
    """Enrol the acting user in the demand flexibility service (DFS) with a meter point."""
    user_id = require_user_id(call)
    chosen = await _choose_meter_point(call, user_id, mpxn)
    active = await _active_opt_ins(call, user_id, chosen)
    if active:
        return active[0]
    return await call.rows.add(models.DfsUser(user_id=user_id, mpxn=chosen))


@operation(
    OperationKind.MUTATION,
    returns=list[types.DfsUser],
    needs=Permission.FLEXIBILITY_JOIN,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/dfs/user", Tag.DEMAND_FLEXIBILITY),
    raises=(NotFound,),
    list_type=types.DfsUsers,
)
async def opt_out_of_dfs(
    call: Call,
    *,
    mpxn: Annotated[
        terms.Text100, Described("MPAN or MPRN of the meter point. Default: all meter points of the acting user.")
    ]
    | None = None,
) -> list[models.DfsUser]:
    """End the acting user's DFS enrolment with a meter point, or all enrolments.

    The user also leaves the events that have not begun. Participations in events that have begun stay on record.
    """
    user_id = require_user_id(call)
    active = await _active_opt_ins(call, user_id, mpxn)
    if not active:
        raise NotFound("The user is not opted in.")
    records = [await call.rows.edit(models.DfsUser, opt_in.dfs_user_id) for opt_in in active]
    for record in records:
        record.active = False
    await _leave_events(call, user_id, [record.mpxn for record in records])
    return records


@operation(OperationKind.QUERY, returns=list[types.DfsEvent], needs=Permission.FLEXIBILITY_READ, internal=True)
async def dfs_events(call: Call) -> list[models.DfsEvent]:
    """List the application's demand flexibility events, ordered by start."""
    return await call.rows.all(models.DfsEvent, order_by=[models.DfsEvent.starts_at])


@operation(
    OperationKind.QUERY,
    returns=list[types.DfsEvent],
    needs=Permission.FLEXIBILITY_READ,
    rest=RestRoute("GET", "/dfs/event/user", Tag.DEMAND_FLEXIBILITY),
    raises=(BadInput,),
    in_graphql=("viewer", "flexibilityParticipations", "event"),
)
async def user_dfs_events(call: Call) -> list[models.DfsEvent]:
    """List the demand flexibility events that the acting user takes part in, ordered by start."""
    joined = await call.rows.all(models.DfsParticipation, col(models.DfsParticipation.user_id) == require_user_id(call))
    ids = {participation.dfs_event_id for participation in joined}
    return await call.rows.all(
        models.DfsEvent, col(models.DfsEvent.dfs_event_id).in_(ids), order_by=[models.DfsEvent.starts_at]
    )


@operation(
    OperationKind.QUERY,
    returns=list[types.DfsParticipation],
    needs=Permission.FLEXIBILITY_MANAGE,
    rest=RestRoute("GET", "/dfs/event/{dfsEventId}/user", Tag.DEMAND_FLEXIBILITY),
    sizes=[ListSize(GROWING_LIST_SIZE)],
    in_graphql=("application", "flexibilityEvents", "participations"),
)
async def dfs_event_users(call: Call, *, dfs_event_id: ids.DfsEventId) -> list[models.DfsParticipation]:
    """List the participations in a demand flexibility event, oldest first."""
    await call.rows.get(models.DfsEvent, dfs_event_id)
    return await call.rows.all(
        models.DfsParticipation,
        col(models.DfsParticipation.dfs_event_id) == dfs_event_id,
        order_by=[models.DfsParticipation.created_at],
    )


@operation(
    OperationKind.MUTATION,
    returns=list[types.DfsParticipation],
    needs=Permission.FLEXIBILITY_JOIN,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/dfs/event/user/participation", Tag.DEMAND_FLEXIBILITY),
    raises=(NotFound,),
    list_type=types.DfsParticipations,
)
async def participate_in_dfs_event(call: Call, *, dfs_event_id: ids.DfsEventId) -> list[models.DfsParticipation]:
    """Join an open demand flexibility event with every enrolled meter point of the acting user.

    A meter point counts while the user lives there and its consent is in force, as for `optInToDfs`.
    """
    user_id = require_user_id(call)
    events = await call.rows.get_many(models.DfsEvent, [dfs_event_id])
    if not events:
        problem = Problem(("dfsEventId",), f"{dfs_event_id} does not exist")
        raise BadInput(f"Unknown event {dfs_event_id!r}. See `problems`.", problems=[problem])
    event = events[dfs_event_id]
    if event.state is not DfsEventState.OPEN:
        raise Conflict(f"The event is {event.state}. Users can join only while it is open.")
    if event.ends_at <= call.rows.now:
        raise Conflict(f"The event has ended at {format_iso(event.ends_at)}. Users can join only until its end.")
    points = await _points_with_consent(call, user_id)
    opted_in = [opt_in for opt_in in await _active_opt_ins(call, user_id) if opt_in.mpxn in points]
    if not opted_in:
        raise Conflict(
            "The user is not opted in to the demand flexibility service with a meter point where the user lives and "
            "whose consent is in force. Call optInToFlexibility first."
        )
    joined = await call.rows.all(
        models.DfsParticipation,
        col(models.DfsParticipation.dfs_event_id) == dfs_event_id,
        col(models.DfsParticipation.user_id) == user_id,
    )
    joined_points = {participation.mpxn for participation in joined}
    for opt_in in opted_in:
        if opt_in.mpxn not in joined_points:
            participation = models.DfsParticipation(dfs_event_id=dfs_event_id, user_id=user_id, mpxn=opt_in.mpxn)
            joined.append(await call.rows.add(participation))
    return joined


@operation(OperationKind.MUTATION, returns=types.DfsEvent, needs=Permission.FLEXIBILITY_MANAGE, audit=Audit.EVERY_CALL)
async def add_dfs_event(call: Call, *, input: types.NewDfsEvent) -> models.DfsEvent:
    """Announce a demand flexibility event."""
    if input.currency != REWARD_CURRENCY:
        problem = Problem(("input", "currency"), f"is {input.currency}, and events have rewards in {REWARD_CURRENCY}")
        raise BadInput(f"Rewards are in {REWARD_CURRENCY}.", problems=[problem])
    problems, reward = [], to_hundredths(input.reward)
    if input.ends_at <= input.starts_at:
        problems.append(Problem(("input", "endsAt"), "is not after the start"))
    if input.starts_at <= call.rows.now:
        problems.append(Problem(("input", "startsAt"), "is not in the future"))
    problems += rate_problems(reward, "input", "reward")
    if problems:
        raise BadInput("Invalid event. See `problems`.", problems=problems)
    return await call.rows.add(
        models.DfsEvent(
            name=input.name,
            state=DfsEventState.ANNOUNCED,
            starts_at=input.starts_at,
            ends_at=input.ends_at,
            reward=reward,
        )
    )


@operation(
    OperationKind.MUTATION,
    returns=types.DfsEvent,
    needs=Permission.FLEXIBILITY_MANAGE,
    audit=Audit.EVERY_CALL,
    raises=(Conflict,),
)
async def move_dfs_event(
    call: Call, *, dfs_event_id: ids.DfsEventId, state: Annotated[DfsEventState, Described("New state of the event.")]
) -> models.DfsEvent:
    """Change the state of a demand flexibility event and publish the change.

    The order is announced, open, active, ended, settled. Until it has ended, an event can be cancelled.
    """
    event = await call.rows.edit(models.DfsEvent, dfs_event_id)
    if state not in ALLOWED_TRANSITIONS[event.state]:
        raise Conflict(f"The event cannot change from {event.state} to {state.value}.")
    event.state = state
    await call.rows.flush()
    payload = {"dfsEventId": event.dfs_event_id, "name": event.name, "state": event.state}
    await enqueue_event(call, "dfs.event.moved", payload)
    changed = DfsEventStateChanged(**{name: getattr(event, name) for name in DfsEventStateChanged.__struct_fields__})
    call.emit(Event(topics.dfs_events(call.rows.application_id), event.dfs_event_id, changed))
    return event


@operation(OperationKind.SUBSCRIPTION, returns=types.DfsEvent, needs=Permission.FLEXIBILITY_READ, resumes=True)
async def dfs_event_changes(call: Call) -> SubscriptionSource:
    """Publish each state change of the application's demand flexibility events."""
    return SubscriptionSource((topics.dfs_events(call.rows.application_id),), backfill=backfill.dfs_events)


async def _choose_meter_point(call: Call, user_id: str, requested: str | None) -> str:
    """Return the meter point to opt in with: the requested one, or else the only one of the user with a valid consent.

    Raise BadInput if the user has no such meter point, or several and requests none.
    """
    points = sorted(await _points_with_consent(call, user_id))
    if requested is None and len(points) != 1:
        message = "the user has several meter points" if points else "the user has no meter point"
        problem = Problem(("mpxn",), f"is missing: {message}", is_missing=True)
        raise BadInput(f"Name the meter point: {message}.", problems=[problem])
    if requested is not None and canonical_meter_point(requested) not in points:
        raise BadInput(
            f"The user has no meter point {requested}.", problems=[Problem(("mpxn",), f"{requested} does not exist")]
        )
    return canonical_meter_point(requested) if requested else points[0]


async def _points_with_consent(call: Call, user_id: str) -> set[str]:
    """Return the meter points where a user lives and has a consent that is in force.

    A consent that is not verified counts only if an open resource of the user is there.
    """
    consents = await call.rows.all(models.MeterPointConsent, col(models.MeterPointConsent.user_id) == user_id)
    owned = await load_owned_resources(call.rows, user_id)
    present = {canonical_meter_point(resource.mpxn) for resource in owned if resource.mpxn}
    consented = {
        consent.mpxn
        for consent in consents
        if is_in_force(consent, call.rows.now) and (consent.verified or consent.mpxn in present)
    }
    return consented - await meter_points_left(call.rows, user_id, consented)


async def _leave_events(call: Call, user_id: str, mpxns: Sequence[str]) -> None:
    """End the participations of a user with meter points in events that have not begun, and send an event of each."""
    joined = models.DfsParticipation
    parts = await call.rows.all(joined, col(joined.user_id) == user_id, col(joined.mpxn).in_(mpxns))
    events = await call.rows.get_many(models.DfsEvent, [part.dfs_event_id for part in parts])
    leaving = [part for part in parts if events[part.dfs_event_id].starts_at > call.rows.now]
    if not leaving:
        return
    await call.rows.delete(joined, col(joined.participation_id).in_([part.participation_id for part in leaving]))
    for part in leaving:
        payload = {"dfsEventId": part.dfs_event_id, "userId": user_id, "mpxn": part.mpxn}
        await enqueue_event(call, "dfs.participation.withdrawn", payload, user_id=user_id)


async def _active_opt_ins(call: Call, user_id: str, mpxn: str | None = None) -> list[models.DfsUser]:
    return await call.rows.all(
        models.DfsUser,
        col(models.DfsUser.user_id) == user_id,
        col(models.DfsUser.active).is_(True),
        *([] if mpxn is None else [col(models.DfsUser.mpxn) == canonical_meter_point(mpxn)]),
    )
