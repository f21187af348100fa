"""Flexibility events of the demonstration: there is always one in the future that users can join."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from wattgate.db.models import DfsEvent
from wattgate.energy.quantities import REWARD_CURRENCY
from wattgate.enums import DfsEventState
from wattgate.operations import flexibility
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal

EVENT_NAME = "Evening saver"
EVENT_START, EVENT_DURATION = time(17, 0), timedelta(minutes=90)
"""When the event starts by local time, and how long it takes."""

MIN_NOTICE = timedelta(hours=2)
"""Minimum time between the announcement of an event and its start."""

REWARD = Decimal(3)
LONDON = ZoneInfo("Europe/London")


async def enrol(runner: Runner, owner: Principal, meter_point: str) -> None:
    """Enrol a user with a meter point, unless the application has announced events already.

    A later start of the demonstration therefore does not enrol a user again who has opted out.
    """
    if not await _list_events(runner, owner) and not await _is_enrolled(runner, owner):
        await runner.run(flexibility.opt_in_to_dfs, owner, {"mpxn": meter_point})


async def keep_event_open(runner: Runner, system: Principal, participant: Principal, now: datetime) -> datetime:
    """Move past events on, and announce the next one. Return when the next event starts or ends.

    The participant joins the new event, if it is enrolled.
    """
    events = await _list_events(runner, system)
    for event in events:
        for state in _following_states(event, now):
            arguments = {"dfs_event_id": event.dfs_event_id, "state": state}
            await runner.run(flexibility.move_dfs_event, system, arguments)
            event.state = state
    if not any(event.state is DfsEventState.OPEN for event in events):
        events.append(await _announce(runner, system, now))
    for event in events:
        if event.state is DfsEventState.OPEN:
            await _join(runner, participant, event.dfs_event_id)
    return min(instant for event in events for instant in (event.starts_at, event.ends_at) if instant > now)


def next_event_start(now: datetime) -> datetime:
    """Return the first start of an event that leaves MIN_NOTICE after an instant."""
    day = (now + MIN_NOTICE).astimezone(LONDON).date()
    for days in range(2):
        start = datetime.combine(day + timedelta(days=days), EVENT_START, LONDON).astimezone(UTC)
        if start >= now + MIN_NOTICE:
            return start
    raise AssertionError("one of two days has a start in the future")


async def _list_events(runner: Runner, caller: Principal) -> list[DfsEvent]:
    events: Sequence[DfsEvent] = await runner.run(flexibility.dfs_events, caller, {})
    return [event for event in events if event.name == EVENT_NAME]


def _following_states(event: DfsEvent, now: datetime) -> list[DfsEventState]:
    """Return the states that an event passes until the present one by the clock."""
    due = {
        DfsEventState.ANNOUNCED: (DfsEventState.OPEN, datetime.min.replace(tzinfo=UTC)),
        DfsEventState.OPEN: (DfsEventState.ACTIVE, event.starts_at),
        DfsEventState.ACTIVE: (DfsEventState.ENDED, event.ends_at),
    }
    state, states = event.state, list[DfsEventState]()
    while state in due and due[state][1] <= now:
        state = due[state][0]
        states.append(state)
    return states


async def _announce(runner: Runner, system: Principal, now: datetime) -> DfsEvent:
    start = next_event_start(now)
    new_event = NewDfsEvent(
        name=EVENT_NAME,
        starts_at=start,
        ends_at=start + EVENT_DURATION,
        reward=REWARD,
        currency=Currency(REWARD_CURRENCY),
    )
    event: DfsEvent = await runner.run(flexibility.add_dfs_event, system, {"input": new_event})
    arguments = {"dfs_event_id": event.dfs_event_id, "state": DfsEventState.OPEN}
    opened: DfsEvent = await runner.run(flexibility.move_dfs_event, system, arguments)
    return opened


async def _join(runner: Runner, participant: Principal, dfs_event_id: str) -> None:
    arguments = {"dfs_event_id": Id(dfs_event_id)}
    participations = await runner.run(flexibility.dfs_event_users, participant, arguments)
    has_joined = any(participation.user_id == participant.user_id for participation in participations)
    if not has_joined and await _is_enrolled(runner, participant):
        await runner.run(flexibility.participate_in_dfs_event, participant, arguments)


async def _is_enrolled(runner: Runner, owner: Principal) -> bool:
    enrolments = await runner.run(flexibility.dfs_users, owner, {})
    return any(enrolment.user_id == owner.user_id for enrolment in enrolments)
