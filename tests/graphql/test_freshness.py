"""How fresh resources and devices are: by the age of the newest reading and by how often readings come."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.app.test_mqtt_intake import display_of
from tests.energy.test_storage_fields import defined
from tests.support.metering import add_device
from tests.support.timed import Timed
from wattgate.clock import from_ms, iso
from wattgate.db.models import NetworkState
from wattgate.energy.buckets import DAY, HALF_HOUR, HOUR, MINUTE
from wattgate.energy.freshness import GIVEN_UP, SECOND, Pulse, Receipt, cadence, freshest, telling, told
from wattgate.energy.meter_messages import Measured, MeterMessage
from wattgate.enums import FreshnessCause, FreshnessState
from wattgate.graphql.resolvers.meter_messages import record_meter_messages
from wattgate.graphql.types import resources as types

LIVE, DELAYED, STALE, OFFLINE = FreshnessState
NOON = 1_780_000_000_000
(HALF_HOURS,) = defined()
(MINUTES,) = defined(interval="PT1M")
(POWER,) = defined(sampling="irregular")


@pytest.mark.parametrize(
    ("every", "limits"),
    [
        (10 * SECOND, (30 * SECOND, 2 * MINUTE, 15 * MINUTE)),
        (MINUTE, (2 * MINUTE, 4 * MINUTE, 15 * MINUTE)),
        (HALF_HOUR, (HOUR, 2 * HOUR, 4 * HOUR)),
        (DAY, (2 * DAY, 4 * DAY, 8 * DAY)),
    ],
)
def test_a_state_lasts_for_some_intervals_and_never_less_than_its_floor(every: int, limits: Sequence[int]) -> None:
    pulse = Pulse(NOON, every)
    states = [LIVE, DELAYED, STALE, OFFLINE]
    for limit, before, after in zip(limits, states, states[1:], strict=False):
        assert pulse.state(NOON + limit - 1) is before
        assert pulse.turns_at(NOON + limit - 1) == NOON + limit
        assert pulse.state(NOON + limit) is after
    assert pulse.turns_at(NOON + limits[-1]) is None


def test_what_never_came_is_offline_and_what_is_ahead_of_the_clock_is_live() -> None:
    never = Pulse(None, 10 * SECOND)
    assert (never.state(NOON), never.turns_at(NOON)) == (OFFLINE, None)
    assert told(never, NOON, FreshnessCause.UNKNOWN).age_seconds is None
    ahead = told(Pulse(NOON + MINUTE, 10 * SECOND), NOON, FreshnessCause.UNKNOWN)
    assert (ahead.state, ahead.age_seconds, ahead.cause) == (LIVE, 0, None)


def test_what_is_told_says_as_of_when_and_how_old_and_why() -> None:
    found = told(Pulse(NOON - 61_999, 10 * SECOND), NOON, FreshnessCause.METER)
    assert (found.state, found.as_of, found.age_seconds) == (DELAYED, from_ms(NOON - 61_999), 61)
    assert (found.expected_every_seconds, found.cause) == (10, FreshnessCause.METER)


def receipts(*instants: int, late: int = 0) -> list[Receipt]:
    return [Receipt(at, at - HALF_HOUR - late) for at in instants]


def nightly(nights: int, parts: int) -> list[int]:
    return [night * DAY + part * SECOND for night in range(nights) for part in range(parts)]


@pytest.mark.parametrize(
    ("field", "received", "every"),
    [
        (POWER, [], 10 * SECOND),
        (POWER, [0, 8000, 16_000], 10 * SECOND),
        (POWER, range(0, 480_000, 8000), 8 * SECOND),
        (POWER, [*range(0, 240_000, 8000), *range(8 * HOUR, 8 * HOUR + 240_000, 8000)], 8 * SECOND),
        (POWER, range(0, 60 * MINUTE, MINUTE), MINUTE),
        (POWER, [0, 1, 2, 3, 4], SECOND),
        (POWER, range(0, 60 * DAY, 2 * DAY), DAY),
        (MINUTES, [], MINUTE),
        (MINUTES, [0, 1, 2, 3, 4], MINUTE),
        (HALF_HOURS, [], DAY),
        (HALF_HOURS, [0], DAY),
        (HALF_HOURS, range(0, DAY, HALF_HOUR), DAY),
        (HALF_HOURS, range(0, 4 * DAY, HALF_HOUR), HALF_HOUR),
        (HALF_HOURS, [*range(0, DAY, HALF_HOUR), *range(2 * DAY, 3 * DAY, HALF_HOUR)], HALF_HOUR),
        (HALF_HOURS, nightly(5, 1), DAY),
        (HALF_HOURS, nightly(4, 48), DAY - 47 * SECOND),
        (HALF_HOURS, nightly(2, 48), DAY),
        (HALF_HOURS, [n * SECOND for n in range(200)], DAY),
    ],
    ids=[
        "power, never",
        "power, three times",
        "power every 8 seconds",
        "power with an outage over night",
        "power in parcels of a minute",
        "power that is imported",
        "something every other day",
        "minutes, never",
        "minutes that are imported",
        "half hours, never",
        "half hours that were imported at once",
        "half hours as they end, for a day",
        "half hours as they end, for four days",
        "half hours with an outage of a day",
        "half hours every night",
        "half hours every night, in parts",
        "half hours of two nights, in parts",
        "half hours that were imported in parts",
    ],
)
def test_a_cadence_is_learned_from_when_readings_were_received(field: Any, received: Any, every: int) -> None:
    assert cadence(field, receipts(*received)) == every


def test_what_is_collected_late_is_expected_late_and_what_is_live_is_not() -> None:
    every_night = nightly(5, 1)
    assert cadence(HALF_HOURS, receipts(*every_night, late=6 * HOUR)) == DAY + 6 * HOUR
    assert cadence(HALF_HOURS, receipts(*every_night, late=90 * DAY)) == 2 * DAY
    assert cadence(HALF_HOURS, receipts(*every_night, late=-HOUR)) == DAY
    assert cadence(POWER, receipts(*range(0, 480_000, 8000), late=HOUR)) == 8 * SECOND


def test_a_resource_is_told_by_its_live_field_until_that_is_given_up() -> None:
    power, half_hours, never = Pulse(NOON, 10 * SECOND), Pulse(NOON + DAY, DAY), Pulse(None, 10 * SECOND)
    assert telling([half_hours, never, power], NOON + DAY) == power
    assert telling([half_hours, never, power], NOON + GIVEN_UP + 1) == half_hours
    assert telling([never, half_hours], NOON) == half_hours
    assert telling([power, half_hours], NOON + 99 * DAY) == power


def test_a_device_is_as_fresh_as_the_best_sign_of_it() -> None:
    power, said = Pulse(NOON, 10 * SECOND), Pulse(NOON - 50 * SECOND, MINUTE)
    assert freshest([said, power], NOON) == power
    assert freshest([said, power], NOON + 40 * SECOND) == said
    assert freshest([said, power], NOON + DAY) == power


FRESHNESS = "freshness { state asOf ageSeconds expectedEverySeconds cause }"
OF_RESOURCE = f"query ($id: ID!, $field: String) {{ resource(resourceId: $id) {{ {FRESHNESS} }} }}".replace(
    "freshness {", "freshness(field: $field) {"
)
OF_DEVICE = f"query ($id: ID!) {{ device(deviceId: $id) {{ {FRESHNESS} }} }}"


async def of_resource(timed: Timed, resource_id: str, field: str | None = None) -> Any:
    return (await timed.ask(OF_RESOURCE, id=resource_id, field=field))["resource"]["freshness"]


async def of_device(timed: Timed, device_id: str) -> Any:
    return (await timed.ask(OF_DEVICE, id=device_id))["device"]["freshness"]


async def test_power_goes_through_all_states_as_time_passes(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    assert await of_resource(timed, resource_id) == {
        "state": "OFFLINE",
        "asOf": None,
        "ageSeconds": None,
        "expectedEverySeconds": 10,
        "cause": "UNKNOWN",
    }
    at = timed.clock.now
    await timed.record(resource_id, (at, 230), field="POWER")
    for age, state in ((0, "LIVE"), (29, "LIVE"), (30, "DELAYED"), (120, "STALE"), (900, "OFFLINE")):
        timed.pass_time(at + timedelta(seconds=age) - timed.clock.now)
        found = await of_resource(timed, resource_id)
        assert (found["state"], found["ageSeconds"], found["asOf"]) == (state, age, iso(at))
        assert found["cause"] == (None if state == "LIVE" else "UNKNOWN")


async def test_half_hours_that_come_once_a_day_are_live_at_noon_and_not_for_ever(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    midnight = timed.clock.now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
    timed.pass_time(midnight + timedelta(hours=4) - timed.clock.now)
    await timed.record(resource_id, *[(midnight - n * timedelta(minutes=30), 1) for n in range(1, 49)])
    for after, state in ((12, "LIVE"), (47, "LIVE"), (48, "DELAYED"), (96, "STALE"), (192, "OFFLINE")):
        timed.pass_time(midnight + timedelta(hours=after) - timed.clock.now)
        found = await of_resource(timed, resource_id)
        assert (found["state"], found["asOf"], found["expectedEverySeconds"]) == (state, iso(midnight), 86_400)


async def test_half_hours_that_came_each_by_itself_are_missed_after_an_hour(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    timed.pass_time(timedelta(minutes=30 - timed.clock.now.minute % 30))
    for _ in range(100):
        timed.pass_time(timedelta(minutes=30))
        await timed.record(resource_id, (timed.clock.now - timedelta(minutes=30), 1))
    last = timed.clock.now
    for minutes, state in ((59, "LIVE"), (60, "DELAYED"), (120, "STALE"), (240, "OFFLINE")):
        timed.pass_time(last + timedelta(minutes=minutes) - timed.clock.now)
        found = await of_resource(timed, resource_id)
        assert (found["state"], found["expectedEverySeconds"]) == (state, 1800)


async def test_a_field_may_be_named_and_must_be_one(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    now = timed.clock.now
    await timed.record(resource_id, (now.replace(minute=0, second=0) - timedelta(hours=3), 1))
    await timed.record(resource_id, (now - timedelta(minutes=5), 230), field="POWER")
    assert (await of_resource(timed, resource_id))["state"] == "STALE"
    assert (await of_resource(timed, resource_id, "POWER"))["state"] == "STALE"
    assert (await of_resource(timed, resource_id, "ENERGY"))["state"] == "LIVE"
    answer = await timed.house.graphql(OF_RESOURCE, timed.headers, id=resource_id, field="HEAT")
    assert answer["errors"][0]["extensions"]["code"] == "BAD_INPUT"


async def test_each_parent_has_its_own_freshness_and_a_cost_that_of_its_consumption(timed: Timed) -> None:
    tenant = timed.house.one
    ids = [await tenant.add_resource() for _ in "abc"]
    for n, resource_id in enumerate(ids[:2]):
        await timed.record(resource_id, (timed.clock.now - timedelta(minutes=n), 1), field="POWER")
    resources = [await tenant.run("resource", resource_id=one) for one in [*ids, ids[0]]]
    found = await tenant.edge(types.Resource, "freshness", resources)
    assert [one.state for one in found] == [LIVE, DELAYED, OFFLINE, LIVE]
    assert await tenant.edge(types.Resource, "freshness", []) == []
    assert await tenant.edge(types.Device, "freshness", []) == []


async def say(timed: Timed, hardware_id: str, *values: Measured, state: bool = False) -> None:
    """Record a message of a display."""
    at = timed.clock.now
    message = MeterMessage(hardware_id, at, values, NetworkState(at=at, status="joined") if state else None)
    tenant = timed.house.one
    taken = await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": [message]})
    assert taken.refusals == []


async def test_the_cause_is_the_meter_while_the_display_still_talks_and_else_the_display(timed: Timed) -> None:
    display = await display_of(timed.house.one)
    resource_id = display.resource_ids["electricity.consumption"]
    assert (await of_device(timed, display.device_id))["cause"] == "UNKNOWN"
    power = Measured("electricity.consumption", "POWER", Decimal(230), "W")
    await say(timed, display.hardware_id, power, state=True)
    assert (await of_device(timed, display.device_id))["state"] == "LIVE"
    timed.pass_time(timedelta(minutes=3))
    await say(timed, display.hardware_id, state=True)
    found = await of_resource(timed, resource_id)
    assert (found["state"], found["cause"]) == ("STALE", "METER")
    assert (await of_device(timed, display.device_id))["state"] == "LIVE"
    timed.pass_time(timedelta(hours=1))
    assert (await of_resource(timed, resource_id))["cause"] == "GATEWAY"
    device = await of_device(timed, display.device_id)
    assert (device["state"], device["cause"], device["ageSeconds"]) == ("OFFLINE", "GATEWAY", 3600)


async def test_who_is_silent_cannot_be_told_of_a_device_that_speaks_through_one_meter(timed: Timed) -> None:
    tenant = timed.house.one
    one, two = await tenant.add_resource(), await tenant.add_resource()
    device_id = await add_device(tenant, one)
    await timed.record(one, (timed.clock.now, 1), field="POWER")
    timed.pass_time(timedelta(minutes=5))
    assert (await of_resource(timed, one))["cause"] == "UNKNOWN"
    assert (await of_device(timed, device_id))["cause"] == "GATEWAY"
    both = await add_device(tenant, two, await tenant.add_resource())
    device = await tenant.run("device", device_id=both)
    fed = (await tenant.edge(types.Device, "resources", [device]))[0]
    for resource in fed:
        await timed.record(resource.resource_id, (timed.clock.now, 1), field="POWER")
    timed.pass_time(timedelta(minutes=5))
    await timed.record(fed[0].resource_id, (timed.clock.now, 1), field="POWER")
    assert (await of_resource(timed, fed[1].resource_id))["cause"] == "METER"
    timed.pass_time(timedelta(minutes=5))
    assert (await of_resource(timed, fed[1].resource_id))["cause"] == "GATEWAY"


async def test_half_hours_that_come_by_another_way_are_no_sign_of_a_display(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    device_id = await add_device(tenant, resource_id)
    now = timed.clock.now
    half_hour = now.replace(minute=0, second=0) - timedelta(hours=1)
    await timed.record(resource_id, (half_hour, 1))
    assert (await of_device(timed, device_id))["state"] == "LIVE"
    await timed.record(resource_id, (now - timedelta(hours=2), 230), field="POWER")
    assert (await of_device(timed, device_id))["state"] == "OFFLINE"


async def test_another_users_freshness_is_not_told(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    answer = await timed.house.graphql(OF_RESOURCE, timed.house.other.headers["acting"], id=resource_id)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
