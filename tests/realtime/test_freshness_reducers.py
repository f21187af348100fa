"""Freshness as it is followed: every change is told, also the silence of a meter, and nothing else is."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.app.test_mqtt_intake import Display, display_of
from tests.support.asking import with_rows
from tests.support.house import Tenant
from tests.support.metering import add_device
from tests.support.timed import Timed
from tests.support.watching import since
from wattgate.db.models import MeterPointConsent, NetworkState
from wattgate.db.rows import Rows
from wattgate.energy.meter_messages import Measurement, MeterMessage
from wattgate.enums import FreshnessCause, FreshnessState, ReadingQuality
from wattgate.errors import ConsentRevoked
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.resolvers.meter_messages import record_intake_heartbeat, record_meter_messages
from wattgate.realtime import topics
from wattgate.realtime.events import DeviceStateChanged, Event, IntakeHeartbeat, ReadingRecorded
from wattgate.realtime.subscriptions.freshness_reducers import DeviceStatesReducer, ResourceFreshnessReducer

LIVE, DELAYED, STALE, OFFLINE = FreshnessState


class Followed:
    """A view of a tenant's, with its state, at the time of the test's clock."""

    def __init__(self, timed: Timed, view: Any, tenant: Tenant | None = None) -> None:
        self.timed, self.view, self.tenant = timed, view, tenant or timed.house.one
        self.state: Any = None

    async def load(self) -> "Followed":
        self.state = await with_rows(self.tenant, self.view.load)
        return self

    def take(self, payload: Any) -> bool:
        """Whether something is told after an event."""
        return self._goes_on(self.view.apply_event(self.state, Event("topic", "key", payload), self.timed.clock.now))

    def turn(self) -> bool:
        """Whether something is told because time has passed, at least to the next turn."""
        self.timed.clock.now = max(self.timed.clock.now, self.view.next_change(self.state))
        return self._goes_on(self.view.advance(self.state, self.timed.clock.now))

    def _goes_on(self, state: Any) -> bool:
        before, self.state = self.state, state
        return state is not before

    def until_told(self) -> timedelta:
        """Let time turn until something is told; how long that took."""
        begun = self.timed.clock.now
        while not self.turn():
            assert self.timed.clock.now - begun < timedelta(days=40)
        return self.timed.clock.now - begun

    @property
    def states(self) -> list[FreshnessState]:
        return [one.freshness.state for one in self.state]

    @property
    def causes(self) -> list[FreshnessCause | None]:
        return [one.freshness.cause for one in self.state]


def power(timed: Timed, resource_id: str, field: str = "POWER") -> ReadingRecorded:
    return ReadingRecorded(resource_id, field, "W", timed.clock.now, 230.0, ReadingQuality.ACTUAL)


async def test_a_silent_meter_is_told_without_any_event(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 230), field="POWER")
    followed = await Followed(timed, ResourceFreshnessReducer([resource_id])).load()
    assert (followed.states, followed.state[0].resource_id) == ([LIVE], resource_id)
    for after, state, age in ((30, DELAYED, 30), (90, STALE, 120), (780, OFFLINE, 900)):
        assert followed.until_told() == timedelta(seconds=after)
        assert (followed.states, followed.state[0].freshness.age_seconds) == ([state], age)
    assert followed.view.next_change(followed.state) > timed.clock.now
    assert followed.take(power(timed, resource_id))
    assert (followed.states, followed.causes) == ([LIVE], [None])
    assert followed.until_told() == timedelta(seconds=30)


async def test_readings_that_come_as_expected_are_not_told(timed: Timed) -> None:
    ids = [await timed.house.one.add_resource() for _ in "ab"]
    followed = await Followed(timed, ResourceFreshnessReducer([*ids, ids[0]])).load()
    assert followed.states == [OFFLINE, OFFLINE]
    assert followed.take(power(timed, ids[1]))
    assert followed.states == [OFFLINE, LIVE]
    for _ in range(50):
        timed.pass_time(timedelta(seconds=10))
        assert not followed.take(power(timed, ids[1]))
        if followed.view.next_change(followed.state) <= timed.clock.now:
            assert not followed.turn()
    assert followed.until_told() == timedelta(seconds=30)
    assert followed.state[1].freshness.as_of == timed.clock.now - timedelta(seconds=30)


async def test_old_and_strange_events_change_nothing(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 230), field="POWER")
    followed = await Followed(timed, ResourceFreshnessReducer([resource_id])).load()
    old = power(timed, resource_id)
    timed.pass_time(timedelta(seconds=40))
    assert followed.turn()
    for payload in (
        old,
        power(timed, "another"),
        power(timed, resource_id, "HEAT"),
        DeviceStateChanged("another", NetworkState(at=timed.clock.now)),
        IntakeHeartbeat("intake", timed.clock.now, False),
        "what no one knows",
    ):
        assert not followed.take(payload), payload
    assert followed.states == [DELAYED]


async def test_nothing_to_follow_is_an_empty_state(timed: Timed) -> None:
    for view in (
        ResourceFreshnessReducer([]),
        ResourceFreshnessReducer(["unknown"]),
        DeviceStatesReducer([]),
        DeviceStatesReducer(["unknown"]),
    ):
        followed = await Followed(timed, view).load()
        assert followed.state == []
        assert not followed.turn()


def said(timed: Timed, display: Display, **more: Any) -> DeviceStateChanged:
    return DeviceStateChanged(display.device_id, NetworkState(at=timed.clock.now, status="joined", **more))


async def living(timed: Timed, tenant: Tenant | None = None) -> Display:
    """A display that has told its state and the power just now."""
    display = await display_of(tenant or timed.house.one)
    measured = Measurement("electricity.consumption", "POWER", Decimal(230), "W")
    at = timed.clock.now
    message = MeterMessage(display.hardware_id, at, (measured,), NetworkState(at=at, status="joined"))
    await run(display.tenant, record_meter_messages, messages=[message])
    return display


async def run(tenant: Tenant, operation: Operation, **arguments: Any) -> Any:
    return await tenant.gateway.runner.run(operation, tenant.system, arguments)


async def test_the_cause_moves_from_the_meter_to_the_display_when_that_is_silent_too(timed: Timed) -> None:
    display = await living(timed)
    followed = await Followed(timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]])).load()
    timed.pass_time(timedelta(seconds=25))
    assert not followed.take(said(timed, display))
    followed.until_told()
    assert (followed.states, followed.causes) == ([DELAYED], [FreshnessCause.METER])
    followed.until_told()
    assert (followed.states, followed.causes) == ([STALE], [FreshnessCause.METER])
    followed.until_told()
    assert (followed.states, followed.causes) == ([STALE], [FreshnessCause.GATEWAY])
    assert followed.take(said(timed, display))
    assert (followed.states, followed.causes) == ([STALE], [FreshnessCause.METER])


async def test_the_platform_is_the_cause_when_messages_are_not_taken_in(timed: Timed) -> None:
    tenant = timed.house.other  # it alone has an intake
    display = await living(timed, tenant)
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)
    followed = await Followed(
        timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]]), tenant
    ).load()
    devices = await Followed(timed, DeviceStatesReducer([display.device_id]), tenant).load()
    assert (followed.states, devices.states) == ([LIVE], [LIVE])
    timed.pass_time(timedelta(seconds=10))
    lost = IntakeHeartbeat("intake", timed.clock.now, False)
    await run(tenant, record_intake_heartbeat, name="intake", connected=False)
    assert not followed.take(lost)
    assert not devices.take(lost)
    followed.until_told()
    assert (followed.states, followed.causes) == ([DELAYED], [FreshnessCause.PLATFORM])
    timed.pass_time(timedelta(minutes=5))
    assert devices.turn()
    assert devices.causes == [FreshnessCause.PLATFORM]
    anew = await Followed(
        timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]]), tenant
    ).load()
    assert anew.causes == [FreshnessCause.PLATFORM]
    assert followed.take(IntakeHeartbeat("intake", timed.clock.now, True))
    assert followed.causes == [FreshnessCause.GATEWAY]
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)


async def test_the_platform_is_the_cause_when_its_intake_falls_silent_and_not_of_an_older_silence(timed: Timed) -> None:
    tenant = timed.house.other  # it alone has an intake
    silent = await living(timed, tenant)
    timed.pass_time(timedelta(hours=1))
    display = await living(timed, tenant)
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)
    followed = await Followed(timed, DeviceStatesReducer([silent.device_id, display.device_id]), tenant).load()
    assert followed.causes == [FreshnessCause.GATEWAY, None]
    timed.pass_time(timedelta(minutes=10))
    assert followed.turn()
    assert followed.causes == [FreshnessCause.GATEWAY, FreshnessCause.PLATFORM]
    # what comes all the same has come by another way, and falls silent for a reason of its own
    assert followed.take(said(timed, display))
    timed.pass_time(timedelta(minutes=10))
    followed.turn()
    assert followed.causes == [FreshnessCause.GATEWAY, FreshnessCause.GATEWAY]
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)


async def test_what_a_device_says_of_itself_is_told(timed: Timed) -> None:
    display = await living(timed)
    followed = await Followed(timed, DeviceStatesReducer([display.device_id])).load()
    (state,) = followed.state
    assert (state.device_id, state.network_state.status, followed.states) == (display.device_id, "joined", [LIVE])
    earlier = said(timed, display, rssi=-40)
    timed.pass_time(timedelta(seconds=5))
    assert followed.take(said(timed, display, rssi=-70))
    assert followed.state[0].network_state.rssi == -70
    assert not followed.take(earlier)
    assert followed.until_told() == timedelta(minutes=2)
    assert (followed.states, followed.causes) == ([DELAYED], [FreshnessCause.GATEWAY])
    assert followed.take(power(timed, display.resource_ids["electricity.consumption"]))
    assert followed.states == [LIVE]


async def test_what_a_device_says_of_itself_is_published_where_it_is_new(timed: Timed) -> None:
    display = await display_of(timed.house.one)
    tenant = timed.house.one
    topic = topics.device_states(display.device_id)
    opened = (await tenant.gateway.bus.open_topics([topic]))[topic]
    states = [NetworkState(at=timed.clock.now - timedelta(seconds=n), rssi=-n) for n in (5, 9, 3)]
    for state in states:
        await run(
            tenant, record_meter_messages, messages=[MeterMessage(display.hardware_id, state.at, network_state=state)]
        )
    published = await since(tenant.gateway.bus, topic, opened)
    assert published is not None
    assert [(one.key, one.payload) for one in published] == [
        (display.device_id, DeviceStateChanged(display.device_id, state)) for state in (states[0], states[2])
    ]


async def test_a_consent_that_is_withdrawn_ends_what_is_followed_when_it_is_loaded_again(timed: Timed) -> None:
    tenant = timed.house.one
    mpxn = "9" + str(int(timed.clock.now.timestamp() * 10))[-9:]
    resource_id = await tenant.add_resource(mpxn=mpxn)
    followed = await Followed(timed, ResourceFreshnessReducer([resource_id])).load()

    async def withdraw(rows: Rows) -> None:
        until = rows.now + timedelta(days=1)
        await rows.add(
            MeterPointConsent(user_id=tenant.user_id, mpxn=mpxn, verified=True, valid_until=until, revoked_at=rows.now)
        )

    await with_rows(tenant, withdraw, write=True)
    with pytest.raises(ConsentRevoked):
        await followed.load()


async def test_a_device_of_half_hours_alone_is_followed_by_those(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    device_id = await add_device(tenant, resource_id)
    followed = await Followed(timed, DeviceStatesReducer([device_id])).load()
    assert followed.states == [OFFLINE]
    hour = timed.clock.now.replace(minute=0, second=0, microsecond=0)
    energy = ReadingRecorded(resource_id, "ENERGY", "kWh", hour - timedelta(hours=1), 0.5, ReadingQuality.ACTUAL)
    assert followed.take(energy)
    assert followed.states == [LIVE]
    assert followed.state[0].freshness.as_of == hour - timedelta(minutes=30)
