"""The states of a snapshot group: each transition of the tables, and the group with a controlled reducer."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.support.snapshot_groups import RELOAD, GroupUnderTest, RecordingSubscriber, run_tasks
from wattgate.errors import NotFound, Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.events import (
    DeviceChanged,
    Event,
    ResourceChanged,
    VirtualEntityChanged,
)
from wattgate.realtime.subscriptions import snapshot_group
from wattgate.realtime.subscriptions.snapshot_group import (
    RELOAD_TRANSITIONS,
    ReloadEvent,
    ReloadState,
    SnapshotPhase,
    phase_after_load,
    phase_after_revocation,
)
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.requests.fair_share import FairShare

IDLE, RUNNING, RUNNING_OUTDATED = ReloadState
EMPTY, CURRENT, WITHHELD = SnapshotPhase


@pytest.mark.parametrize(
    ("state", "event", "expected"),
    [
        (IDLE, ReloadEvent.REQUESTED, RUNNING_OUTDATED),
        (IDLE, ReloadEvent.CHANGED, IDLE),
        (IDLE, ReloadEvent.READ_STARTED, RUNNING),
        (IDLE, ReloadEvent.ENDED, IDLE),
        (RUNNING, ReloadEvent.REQUESTED, RUNNING_OUTDATED),
        (RUNNING, ReloadEvent.CHANGED, RUNNING_OUTDATED),
        (RUNNING, ReloadEvent.READ_FAILED, RUNNING_OUTDATED),
        (RUNNING, ReloadEvent.ENDED, IDLE),
        (RUNNING_OUTDATED, ReloadEvent.REQUESTED, RUNNING_OUTDATED),
        (RUNNING_OUTDATED, ReloadEvent.CHANGED, RUNNING_OUTDATED),
        (RUNNING_OUTDATED, ReloadEvent.READ_STARTED, RUNNING),
        (RUNNING_OUTDATED, ReloadEvent.READ_FAILED, RUNNING_OUTDATED),
        (RUNNING_OUTDATED, ReloadEvent.ENDED, IDLE),
    ],
)
def test_reload_transition(state: ReloadState, event: ReloadEvent, expected: ReloadState) -> None:
    assert RELOAD_TRANSITIONS[state][event] is expected


def test_reload_transitions_have_no_other_pairs() -> None:
    impossible = {(IDLE, ReloadEvent.READ_FAILED), (RUNNING, ReloadEvent.READ_STARTED)}
    assert {
        (state, event) for state in ReloadState for event in ReloadEvent if event not in RELOAD_TRANSITIONS[state]
    } == impossible


@pytest.mark.parametrize(("phase", "expected"), [(EMPTY, EMPTY), (CURRENT, WITHHELD), (WITHHELD, WITHHELD)])
def test_phase_after_revocation(phase: SnapshotPhase, expected: SnapshotPhase) -> None:
    assert phase_after_revocation(phase) is expected


@pytest.mark.parametrize(
    ("phase", "reload", "expected"),
    [
        (EMPTY, RUNNING, CURRENT),
        (EMPTY, RUNNING_OUTDATED, CURRENT),
        (CURRENT, RUNNING, CURRENT),
        (CURRENT, RUNNING_OUTDATED, CURRENT),
        (WITHHELD, RUNNING, CURRENT),
        (WITHHELD, RUNNING_OUTDATED, WITHHELD),
    ],
)
def test_phase_after_load(phase: SnapshotPhase, reload: ReloadState, expected: SnapshotPhase) -> None:
    assert phase_after_load(phase, reload) is expected


@pytest.fixture
def under_test(monkeypatch: pytest.MonkeyPatch) -> GroupUnderTest:
    monkeypatch.setattr(snapshot_group, "LOAD_SPREAD_SECONDS", 0)
    monkeypatch.setattr(snapshot_group, "RETRY_BACKOFF", Backoff(0, 0))
    return GroupUnderTest()


async def test_subscribers_that_join_together_share_the_first_load(under_test: GroupUnderTest) -> None:
    first, second = await asyncio.gather(under_test.join(), under_test.join())
    under_test.send_event("a")
    assert (first.states, second.states, under_test.reducer.loads) == ([[1], [1, "a"]], [[1], [1, "a"]], 1)


async def test_loads_of_one_application_leave_slots_to_others() -> None:
    loads = FairShare(2, share=1)
    busy = [GroupUnderTest(loads, "busy") for _ in range(2)]
    for group in busy:
        group.start_load()
    joining = [asyncio.create_task(group.join()) for group in busy]
    await run_tasks()
    assert [group.reducer.loads for group in busy] == [1, 0]
    assert (await GroupUnderTest(loads, "other").join()).states == [[1]]
    for group in busy:
        await group.finish_load()
    assert [subscriber.states for subscriber in await asyncio.gather(*joining)] == [[[1]], [[1]]]


async def test_event_during_the_first_load_causes_a_reload(under_test: GroupUnderTest) -> None:
    under_test.start_load()
    joining = asyncio.create_task(under_test.join())
    await run_tasks()
    under_test.send_event("missed by the read")
    await under_test.finish_load()
    assert ((await joining).states[-1], under_test.reducer.loads) == ([2], 2)


async def test_state_with_an_event_in_each_load_is_shown_by_the_second_one(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.during_load = lambda: under_test.send_event("a")
    under_test.send_event(RELOAD)
    await run_tasks()
    assert [3, "a"] in subscriber.states


async def test_outdated_state_that_is_shown_lacks_no_event_of_before(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.send_event("a")
    under_test.reducer.during_load = lambda: under_test.send_event(f"b{under_test.reducer.loads}")
    under_test.send_event(RELOAD)
    await run_tasks()
    shown = subscriber.states[subscriber.states.index([1, "a", "b2", "b3"]) + 1]
    assert shown == [3, "b3"]


@pytest.mark.parametrize("cause", ["revocation", "loss of events"])
async def test_reload_that_is_requested_during_the_first_load_follows_it(
    under_test: GroupUnderTest, cause: str
) -> None:
    under_test.start_load()
    joining = asyncio.create_task(under_test.join())
    await run_tasks()
    if cause == "revocation":
        under_test.revoke_consent()
    else:
        under_test.group.on_events_lost("topic", "9-1")
    await under_test.finish_load()
    assert ((await joining).states[-1], under_test.reducer.loads) == ([2], 2)


async def test_next_subscriber_repeats_a_first_load_that_failed(under_test: GroupUnderTest) -> None:
    under_test.reducer.error = NotFound("gone")
    with pytest.raises(NotFound):
        await under_test.join()
    assert (await under_test.join()).states == [[2]]


async def test_event_that_the_reducer_cannot_apply_causes_a_reload(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.send_event(RELOAD)
    await run_tasks()
    under_test.send_event("a")
    assert subscriber.states == [[1], [2], [2, "a"]]


@pytest.mark.parametrize(
    "payload", [VirtualEntityChanged("home"), ResourceChanged("resource"), DeviceChanged("device")]
)
async def test_topics_follow_a_change_of_the_home_its_resources_or_devices(
    under_test: GroupUnderTest, payload: Any
) -> None:
    subscriber = await under_test.join()
    under_test.reducer.topics = ("added", "topic")
    under_test.reducer.reload_payload = payload
    under_test.send_event(payload)
    await run_tasks()
    assert (subscriber.states, under_test.group.topics) == ([[1], [2]], ("added", "topic"))
    await under_test.bus.publish([Event("added", "key", "seen")])
    await run_tasks()
    assert subscriber.states[-1] == [2, "seen"]
    under_test.reducer.topics = ("added",)
    under_test.group.on_event(Event("added", "key", payload))
    await run_tasks()
    assert (subscriber.states[-1], under_test.group.topics, under_test.hub.topic_count) == ([3], ("added",), 1)


async def test_changed_home_is_loaded_at_once(under_test: GroupUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_group, "LOAD_SPREAD_SECONDS", 1e9)
    subscriber = await under_test.join()
    under_test.reducer.reload_payload = payload = ResourceChanged("resource")
    for sent, states in ((payload, [[1], [2]]), (RELOAD, [[1], [2]]), (payload, [[1], [2], [3]])):
        under_test.send_event(sent)
        await run_tasks()
        assert subscriber.states == states


async def test_topics_are_searched_only_if_they_can_have_changed(under_test: GroupUnderTest) -> None:
    await under_test.join()
    under_test.send_event(RELOAD)
    await run_tasks()
    assert under_test.reducer.topic_searches == 0
    under_test.group.on_events_lost("topic", "9-1")  # a change may be among the lost events
    await run_tasks()
    assert under_test.reducer.topic_searches == 1


async def test_new_topics_are_open_before_the_state_is_read(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.topics = ("added", "topic")
    under_test.reducer.reload_payload = payload = VirtualEntityChanged("home")
    under_test.start_load()
    under_test.send_event(payload)
    await run_tasks()
    await under_test.bus.publish([Event("added", "key", "during the read")])
    await run_tasks()
    await under_test.finish_load()
    assert (subscriber.states[-1], under_test.reducer.loads) == ([3], 3)  # read again, because the first may miss it


async def test_subscriber_with_newer_topics_updates_those_of_the_group(under_test: GroupUnderTest) -> None:
    first = await under_test.join()
    under_test.reducer.topics = ("added", "topic")
    source = SubscriptionSource(("added", "topic"), reducer=under_test.reducer)
    second = RecordingSubscriber()
    await under_test.group.add_subscriber(replace(under_test.subscription, source=source), second)
    await run_tasks()
    assert under_test.group.topics == ("added", "topic")
    assert first.states[-1] == second.states[-1] == [2]


async def test_failed_search_for_topics_is_repeated(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.topics = ("added", "topic")
    under_test.reducer.reload_payload = payload = VirtualEntityChanged("home")
    under_test.reducer.topic_error = Unavailable("the database is down")
    under_test.send_event(payload)
    await run_tasks()
    assert (subscriber.states[-1], under_test.group.topics) == ([2], ("added", "topic"))


async def test_reload_that_lacks_an_event_is_repeated_instead_of_shown(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.start_load()
    under_test.send_event(RELOAD)
    await run_tasks()
    under_test.send_event("a")
    assert subscriber.states == [[1], [1, "a"]]
    await under_test.finish_load()
    assert subscriber.states == [[1], [1, "a"], [3]]


async def test_event_between_the_request_and_the_read_of_a_reload_causes_no_other(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.send_event(RELOAD)
    under_test.send_event("a")
    await run_tasks()
    assert (subscriber.states, under_test.reducer.loads) == ([[1], [1, "a"], [2]], 2)


async def test_withdrawn_consent_withholds_the_snapshot_until_a_reload(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.start_load()
    under_test.revoke_consent()
    under_test.send_event("a")
    assert under_test.group.on_timer(0.0) is None
    await under_test.finish_load()
    assert subscriber.states == [[1], [2]]
    under_test.send_event("b")
    assert subscriber.states == [[1], [2], [2, "b"]]


async def test_load_that_began_before_the_revocation_is_not_sent(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.start_load()
    under_test.send_event(RELOAD)
    await run_tasks()
    under_test.revoke_consent()
    await under_test.finish_load()
    assert (subscriber.states, under_test.reducer.loads) == ([[1], [3]], 3)


async def test_reload_is_retried_while_the_database_is_unavailable(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.error = Unavailable("no database")
    under_test.group.on_events_lost("topic", "9-1")
    await run_tasks()
    assert (subscriber.states, subscriber.errors) == ([[1], [3]], [])


async def test_reload_that_fails_ends_the_subscriptions(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.error = NotFound("gone")
    under_test.revoke_consent()
    await run_tasks()
    assert (subscriber.states, [error.code for error in subscriber.errors]) == ([[1]], ["NOT_FOUND"])


async def test_time_changes_the_snapshot_or_causes_a_reload(under_test: GroupUnderTest) -> None:
    subscriber = await under_test.join()
    under_test.reducer.timer_result = ["later"]
    assert under_test.group.on_timer(100.0) is None
    under_test.reducer.timer_result = None
    assert under_test.group.on_timer(100.0) == 100.0 + snapshot_group.RECHECK_SECONDS
    await run_tasks()
    assert subscriber.states == [[1], ["later"], [2]]
