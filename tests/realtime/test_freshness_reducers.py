"""Live freshness: each change reaches subscribers, also the silence of a meter, and nothing else does."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import col

from tests.app.test_mqtt_intake import Display, display_of
from tests.support.asking import with_rows
from tests.support.house import Tenant
from tests.support.metering import add_device
from tests.support.timed import Timed
from tests.support.watching import since
from wattgate.clock import from_ms
from wattgate.db.models import MeterPointConsent, NetworkState
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage
from wattgate.enums import FreshnessCause, FreshnessState, ReadingQuality
from wattgate.errors import ConsentRevoked
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.meter_messages import record_intake_heartbeat, record_meter_messages
from wattgate.realtime import topics
from wattgate.realtime.events import DeviceStateChanged, Event, IntakeHeartbeat, ReadingRecorded
from wattgate.realtime.subscriptions.freshness_reducers import DeviceStatesReducer, ResourceFreshnessReducer

LIVE, DELAYED, STALE, OFFLINE = FreshnessState


class LiveState:
    """A reducer of a tenant and its state, at the time of the test's clock."""

    def __init__(self, timed: Timed, reducer: Any, tenant: Tenant | None = None) -> None:
        self.timed, self.reducer, self.tenant = timed, reducer, tenant or timed.house.one
        self.state: Any = None

    async def load(self) -> "LiveState":
        self.state = await with_rows(self.tenant, self.reducer.load)
        return self

    def apply(self, payload: Any) -> bool:
        """Apply an event, and return whether the state has changed."""
        return self._replace(self.reducer.apply_event(self.state, Event("topic", "key", payload), self.timed.clock.now))

    def advance(self) -> bool:
        """Advance at least to the next change by time, and return whether the state has changed."""
        self.timed.clock.now = max(self.timed.clock.now, self.next_change)
        return self._replace(self.reducer.advance(self.state, self.timed.clock.now))

    def _replace(self, state: Any) -> bool:
        before, self.state = self.state, state
        return state is not before

    def advance_until_changed(self) -> timedelta:
        """Advance until the state changes, and return how long that took."""
        start = self.timed.clock.now
        while not self.advance():
            assert self.timed.clock.now - start < timedelta(days=40)
        return self.timed.clock.now - start

    @property
    def next_change(self) -> datetime:
        return from_ms(self.reducer.next_change(self.state))

    @property
    def states(self) -> list[FreshnessState]:
        return [item.freshness.state for item in self.state]

    @property
    def causes(self) -> list[FreshnessCause | None]:
        return [item.freshness.cause for item in self.state]


def power(timed: Timed, resource_id: str, field: str = "POWER") -> ReadingRecorded:
    return ReadingRecorded(resource_id, field, "W", timed.clock.now, 230.0, ReadingQuality.ACTUAL)


async def test_silence_of_a_meter_is_sent_without_an_event(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 230), field="POWER")
    live = await LiveState(timed, ResourceFreshnessReducer([resource_id])).load()
    assert (live.states, live.state[0].resource_id) == ([LIVE], resource_id)
    for after, state, age in ((30, DELAYED, 30), (90, STALE, 120), (780, OFFLINE, 900)):
        assert live.advance_until_changed() == timedelta(seconds=after)
        assert (live.states, live.state[0].freshness.age_seconds) == ([state], age)
    assert live.next_change > timed.clock.now
    assert live.apply(power(timed, resource_id))
    assert (live.states, live.causes) == ([LIVE], [None])
    assert live.advance_until_changed() == timedelta(seconds=30)


async def test_readings_on_time_change_nothing(timed: Timed) -> None:
    ids = [await timed.house.one.add_resource() for _ in "ab"]
    live = await LiveState(timed, ResourceFreshnessReducer([*ids, ids[0]])).load()
    assert live.states == [OFFLINE, OFFLINE]
    assert live.apply(power(timed, ids[1]))
    assert live.states == [OFFLINE, LIVE]
    for _ in range(50):
        timed.pass_time(timedelta(seconds=10))
        assert not live.apply(power(timed, ids[1]))
        if live.next_change <= timed.clock.now:
            assert not live.advance()
    assert live.advance_until_changed() == timedelta(seconds=30)
    assert live.state[1].freshness.as_of == timed.clock.now - timedelta(seconds=30)


async def test_old_and_unrelated_events_change_nothing(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 230), field="POWER")
    live = await LiveState(timed, ResourceFreshnessReducer([resource_id])).load()
    old = power(timed, resource_id)
    timed.pass_time(timedelta(seconds=40))
    assert live.advance()
    for payload in (
        old,
        power(timed, "another"),
        power(timed, resource_id, "HEAT"),
        DeviceStateChanged("another", NetworkState(at=timed.clock.now)),
        IntakeHeartbeat("intake", timed.clock.now, False),
        "an unknown payload",
    ):
        assert not live.apply(payload), payload
    assert live.states == [DELAYED]


async def test_state_without_items_is_empty(timed: Timed) -> None:
    for reducer in (
        ResourceFreshnessReducer([]),
        ResourceFreshnessReducer(["unknown"]),
        DeviceStatesReducer([]),
        DeviceStatesReducer(["unknown"]),
    ):
        live = await LiveState(timed, reducer).load()
        assert live.state == []
        assert not live.advance()


def device_report(timed: Timed, display: Display, **more: Any) -> DeviceStateChanged:
    return DeviceStateChanged(display.device_id, NetworkState(at=timed.clock.now, status="joined", **more))


async def live_display(timed: Timed, tenant: Tenant | None = None) -> Display:
    """Add a display that has just reported its network state and the power."""
    display = await display_of(tenant or timed.house.one)
    measured = Measurement("electricity.consumption", "POWER", Decimal(230), "W")
    at = timed.clock.now
    message = MeterMessage(display.hardware_id, at, (measured,), NetworkState(at=at, status="joined"))
    await run(display.tenant, record_meter_messages, messages=[message])
    return display


async def run(tenant: Tenant, operation: Operation, **arguments: Any) -> Any:
    return await tenant.gateway.runner.run(operation, tenant.system, arguments)


async def test_cause_changes_from_meter_to_gateway_when_the_display_is_silent_too(timed: Timed) -> None:
    display = await live_display(timed)
    live = await LiveState(timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]])).load()
    timed.pass_time(timedelta(seconds=25))
    assert not live.apply(device_report(timed, display))
    live.advance_until_changed()
    assert (live.states, live.causes) == ([DELAYED], [FreshnessCause.METER])
    live.advance_until_changed()
    assert (live.states, live.causes) == ([STALE], [FreshnessCause.METER])
    live.advance_until_changed()
    assert (live.states, live.causes) == ([STALE], [FreshnessCause.GATEWAY])
    assert live.apply(device_report(timed, display))
    assert (live.states, live.causes) == ([STALE], [FreshnessCause.METER])


async def test_platform_is_the_cause_while_the_intake_is_disconnected(timed: Timed) -> None:
    tenant = timed.house.other  # only this tenant has an intake
    display = await live_display(timed, tenant)
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)
    live = await LiveState(
        timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]]), tenant
    ).load()
    devices = await LiveState(timed, DeviceStatesReducer([display.device_id]), tenant).load()
    assert (live.states, devices.states) == ([LIVE], [LIVE])
    timed.pass_time(timedelta(seconds=10))
    disconnection = IntakeHeartbeat("intake", timed.clock.now, False)
    await run(tenant, record_intake_heartbeat, name="intake", connected=False)
    assert not live.apply(disconnection)
    assert not devices.apply(disconnection)
    live.advance_until_changed()
    assert (live.states, live.causes) == ([DELAYED], [FreshnessCause.PLATFORM])
    timed.pass_time(timedelta(minutes=5))
    assert devices.advance()
    assert devices.causes == [FreshnessCause.PLATFORM]
    reloaded = await LiveState(
        timed, ResourceFreshnessReducer([display.resource_ids["electricity.consumption"]]), tenant
    ).load()
    assert reloaded.causes == [FreshnessCause.PLATFORM]
    assert live.apply(IntakeHeartbeat("intake", timed.clock.now, True))
    assert live.causes == [FreshnessCause.GATEWAY]
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)


async def test_platform_is_the_cause_of_a_silence_that_began_after_that_of_the_intake(timed: Timed) -> None:
    tenant = timed.house.other  # only this tenant has an intake
    silent = await live_display(timed, tenant)
    timed.pass_time(timedelta(hours=1))
    display = await live_display(timed, tenant)
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)
    live = await LiveState(timed, DeviceStatesReducer([silent.device_id, display.device_id]), tenant).load()
    assert live.causes == [FreshnessCause.GATEWAY, None]
    timed.pass_time(timedelta(minutes=10))
    assert live.advance()
    assert live.causes == [FreshnessCause.GATEWAY, FreshnessCause.PLATFORM]
    # a report during the silence of the intake came by another path, so a later silence has another cause
    assert live.apply(device_report(timed, display))
    timed.pass_time(timedelta(minutes=10))
    live.advance()
    assert live.causes == [FreshnessCause.GATEWAY, FreshnessCause.GATEWAY]
    await run(tenant, record_intake_heartbeat, name="intake", connected=True)


async def test_newer_network_state_of_a_device_is_sent(timed: Timed) -> None:
    display = await live_display(timed)
    live = await LiveState(timed, DeviceStatesReducer([display.device_id])).load()
    (state,) = live.state
    assert (state.device_id, state.network_state.status, live.states) == (display.device_id, "joined", [LIVE])
    earlier = device_report(timed, display, rssi=-40)
    timed.pass_time(timedelta(seconds=5))
    assert live.apply(device_report(timed, display, rssi=-70))
    assert live.state[0].network_state.rssi == -70
    assert not live.apply(earlier)
    assert live.advance_until_changed() == timedelta(minutes=2)
    assert (live.states, live.causes) == ([DELAYED], [FreshnessCause.GATEWAY])
    assert live.apply(power(timed, display.resource_ids["electricity.consumption"]))
    assert live.states == [LIVE]


async def test_network_state_is_published_only_if_it_is_newer(timed: Timed) -> None:
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
    assert [(event.key, event.payload) for event in published] == [
        (display.device_id, DeviceStateChanged(display.device_id, state)) for state in (states[0], states[2])
    ]


async def test_reload_fails_after_the_consent_was_withdrawn(timed: Timed) -> None:
    tenant = timed.house.one
    mpxn = "9" + str(int(timed.clock.now.timestamp() * 10))[-9:]
    resource_id = await tenant.add_resource(mpxn=mpxn)
    live = await LiveState(timed, ResourceFreshnessReducer([resource_id])).load()

    async def withdraw(rows: Rows) -> None:
        assert await rows.update(MeterPointConsent, col(MeterPointConsent.mpxn) == mpxn, revoked_at=rows.now)

    await with_rows(tenant, withdraw, write=True)
    with pytest.raises(ConsentRevoked):
        await live.load()


async def test_half_hourly_energy_is_no_packet_of_a_device(timed: Timed) -> None:
    """It comes from anywhere, such as a file."""
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    device_id = await add_device(tenant, resource_id)
    live = await LiveState(timed, DeviceStatesReducer([device_id])).load()
    assert live.states == [OFFLINE]
    hour = timed.clock.now.replace(minute=0, second=0, microsecond=0)
    energy = ReadingRecorded(resource_id, "ENERGY", "kWh", hour - timedelta(hours=1), 0.5, ReadingQuality.ACTUAL)
    assert not live.apply(energy)
    assert live.states == [OFFLINE]
