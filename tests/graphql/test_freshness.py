"""Freshness of resources and devices, from the age of the newest reading and the learned interval."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.app.test_mqtt_intake import display_of
from tests.energy.test_storage_fields import parse_field
from tests.support.metering import add_device
from tests.support.timed import Timed
from wattgate.clock import format_iso, from_ms
from wattgate.db.models import NetworkState
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, HOUR_MS, MINUTE_MS
from wattgate.energy.freshness import (
    ABANDONED_AFTER_MS,
    SECOND_MS,
    Heartbeat,
    Receipt,
    build_freshness,
    freshest_heartbeat,
    learn_interval,
    most_informative_heartbeat,
)
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage
from wattgate.enums import FreshnessCause, FreshnessState
from wattgate.operations.readings.meter_messages import record_meter_messages
from wattgate.operations.types.homes import resources as types

LIVE, DELAYED, STALE, OFFLINE = FreshnessState
NOON = 1_780_000_000_000
(HALF_HOURS,) = parse_field()
(MINUTES,) = parse_field(interval="PT1M")
(POWER,) = parse_field(sampling="irregular")


@pytest.mark.parametrize(
    ("every", "limits"),
    [
        (10 * SECOND_MS, (30 * SECOND_MS, 2 * MINUTE_MS, 15 * MINUTE_MS)),
        (MINUTE_MS, (2 * MINUTE_MS, 4 * MINUTE_MS, 15 * MINUTE_MS)),
        (HALF_HOUR_MS, (HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS)),
        (DAY_MS, (2 * DAY_MS, 4 * DAY_MS, 8 * DAY_MS)),
    ],
)
def test_state_limits_are_multiples_of_the_interval_with_a_minimum(every: int, limits: Sequence[int]) -> None:
    heartbeat = Heartbeat(NOON, every)
    states = [LIVE, DELAYED, STALE, OFFLINE]
    for limit, before, after in zip(limits, states, states[1:], strict=False):
        assert heartbeat.state(NOON + limit - 1) is before
        assert heartbeat.next_change(NOON + limit - 1) == NOON + limit
        assert heartbeat.state(NOON + limit) is after
    assert heartbeat.next_change(NOON + limits[-1]) is None


def test_missing_reading_is_offline_and_future_reading_is_live() -> None:
    never = Heartbeat(None, 10 * SECOND_MS)
    assert (never.state(NOON), never.next_change(NOON)) == (OFFLINE, None)
    assert build_freshness(never, NOON, FreshnessCause.UNKNOWN).age_seconds is None
    ahead = build_freshness(Heartbeat(NOON + MINUTE_MS, 10 * SECOND_MS), NOON, FreshnessCause.UNKNOWN)
    assert (ahead.state, ahead.age_seconds, ahead.cause) == (LIVE, 0, None)


def test_freshness_has_instant_age_interval_and_cause() -> None:
    freshness = build_freshness(Heartbeat(NOON - 61_999, 10 * SECOND_MS), NOON, FreshnessCause.METER)
    assert (freshness.state, freshness.as_of, freshness.age_seconds) == (DELAYED, from_ms(NOON - 61_999), 61)
    assert (freshness.expected_every_seconds, freshness.cause) == (10, FreshnessCause.METER)


def receipts(*instants: int, late: int = 0) -> list[Receipt]:
    return [Receipt(at, at - HALF_HOUR_MS - late) for at in instants]


def nightly(nights: int, parts: int) -> list[int]:
    return [night * DAY_MS + part * SECOND_MS for night in range(nights) for part in range(parts)]


@pytest.mark.parametrize(
    ("field", "received", "every"),
    [
        (POWER, [], 10 * SECOND_MS),
        (POWER, [0, 8000, 16_000], 10 * SECOND_MS),
        (POWER, range(0, 480_000, 8000), 8 * SECOND_MS),
        (POWER, [*range(0, 240_000, 8000), *range(8 * HOUR_MS, 8 * HOUR_MS + 240_000, 8000)], 8 * SECOND_MS),
        (POWER, range(0, 60 * MINUTE_MS, MINUTE_MS), MINUTE_MS),
        (POWER, [0, 1, 2, 3, 4], SECOND_MS),
        (POWER, range(0, 60 * DAY_MS, 2 * DAY_MS), DAY_MS),
        (MINUTES, [], MINUTE_MS),
        (MINUTES, [0, 1, 2, 3, 4], MINUTE_MS),
        (HALF_HOURS, [], DAY_MS),
        (HALF_HOURS, [0], DAY_MS),
        (HALF_HOURS, range(0, DAY_MS, HALF_HOUR_MS), DAY_MS),
        (HALF_HOURS, range(0, 4 * DAY_MS, HALF_HOUR_MS), HALF_HOUR_MS),
        (HALF_HOURS, [*range(0, DAY_MS, HALF_HOUR_MS), *range(2 * DAY_MS, 3 * DAY_MS, HALF_HOUR_MS)], HALF_HOUR_MS),
        (HALF_HOURS, nightly(5, 1), DAY_MS),
        (HALF_HOURS, nightly(4, 48), DAY_MS - 47 * SECOND_MS),
        (HALF_HOURS, nightly(2, 48), DAY_MS),
        (HALF_HOURS, [n * SECOND_MS for n in range(200)], DAY_MS),
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
def test_interval_is_learned_from_receipt_times(field: Any, received: Any, every: int) -> None:
    assert learn_interval(field, receipts(*received)) == every


def test_learned_interval_includes_collection_delay_except_for_live_fields() -> None:
    every_night = nightly(5, 1)
    assert learn_interval(HALF_HOURS, receipts(*every_night, late=6 * HOUR_MS)) == DAY_MS + 6 * HOUR_MS
    assert learn_interval(HALF_HOURS, receipts(*every_night, late=90 * DAY_MS)) == 2 * DAY_MS
    assert learn_interval(HALF_HOURS, receipts(*every_night, late=-HOUR_MS)) == DAY_MS
    assert learn_interval(POWER, receipts(*range(0, 480_000, 8000), late=HOUR_MS)) == 8 * SECOND_MS


def test_live_field_determines_freshness_until_it_is_abandoned() -> None:
    power, half_hours, never = (
        Heartbeat(NOON, 10 * SECOND_MS),
        Heartbeat(NOON + DAY_MS, DAY_MS),
        Heartbeat(None, 10 * SECOND_MS),
    )
    assert most_informative_heartbeat([half_hours, never, power], NOON + DAY_MS) == power
    assert most_informative_heartbeat([half_hours, never, power], NOON + ABANDONED_AFTER_MS + 1) == half_hours
    assert most_informative_heartbeat([never, half_hours], NOON) == half_hours
    assert most_informative_heartbeat([power, half_hours], NOON + 99 * DAY_MS) == power


def test_device_is_as_fresh_as_its_freshest_heartbeat() -> None:
    power, reported = Heartbeat(NOON, 10 * SECOND_MS), Heartbeat(NOON - 50 * SECOND_MS, MINUTE_MS)
    assert freshest_heartbeat([reported, power], NOON) == power
    assert freshest_heartbeat([reported, power], NOON + 40 * SECOND_MS) == reported
    assert freshest_heartbeat([reported, power], NOON + DAY_MS) == power


FRESHNESS = "freshness { state asOf ageSeconds expectedEverySeconds cause }"
OF_RESOURCE = f"query ($id: ID!, $field: String) {{ resource(resourceId: $id) {{ {FRESHNESS} }} }}".replace(
    "freshness {", "freshness(field: $field) {"
)
OF_DEVICE = f"query ($id: ID!) {{ device(deviceId: $id) {{ {FRESHNESS} }} }}"


async def of_resource(timed: Timed, resource_id: str, field: str | None = None) -> Any:
    return (await timed.ask(OF_RESOURCE, id=resource_id, field=field))["resource"]["freshness"]


async def of_device(timed: Timed, device_id: str) -> Any:
    return (await timed.ask(OF_DEVICE, id=device_id))["device"]["freshness"]


async def test_power_passes_through_all_states_over_time(timed: Timed) -> None:
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
        freshness = await of_resource(timed, resource_id)
        assert (freshness["state"], freshness["ageSeconds"], freshness["asOf"]) == (state, age, format_iso(at))
        assert freshness["cause"] == (None if state == "LIVE" else "UNKNOWN")


async def test_half_hours_received_daily_are_live_at_noon_and_expire(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    midnight = timed.clock.now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
    timed.pass_time(midnight + timedelta(hours=4) - timed.clock.now)
    await timed.record(resource_id, *[(midnight - n * timedelta(minutes=30), 1) for n in range(1, 49)])
    for after, state in ((12, "LIVE"), (47, "LIVE"), (48, "DELAYED"), (96, "STALE"), (192, "OFFLINE")):
        timed.pass_time(midnight + timedelta(hours=after) - timed.clock.now)
        freshness = await of_resource(timed, resource_id)
        assert (freshness["state"], freshness["asOf"], freshness["expectedEverySeconds"]) == (
            state,
            format_iso(midnight),
            86_400,
        )


async def test_half_hours_received_one_by_one_are_delayed_after_an_hour(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    timed.pass_time(timedelta(minutes=30 - timed.clock.now.minute % 30))
    for _ in range(100):
        timed.pass_time(timedelta(minutes=30))
        await timed.record(resource_id, (timed.clock.now - timedelta(minutes=30), 1))
    last = timed.clock.now
    for minutes, state in ((59, "LIVE"), (60, "DELAYED"), (120, "STALE"), (240, "OFFLINE")):
        timed.pass_time(last + timedelta(minutes=minutes) - timed.clock.now)
        freshness = await of_resource(timed, resource_id)
        assert (freshness["state"], freshness["expectedEverySeconds"]) == (state, 1800)


async def test_freshness_of_a_named_field_and_rejection_of_an_unknown_one(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    now = timed.clock.now
    await timed.record(resource_id, (now.replace(minute=0, second=0) - timedelta(hours=3), 1))
    await timed.record(resource_id, (now - timedelta(minutes=5), 230), field="POWER")
    assert (await of_resource(timed, resource_id))["state"] == "STALE"
    assert (await of_resource(timed, resource_id, "POWER"))["state"] == "STALE"
    assert (await of_resource(timed, resource_id, "ENERGY"))["state"] == "LIVE"
    answer = await timed.house.graphql(OF_RESOURCE, timed.headers, id=resource_id, field="HEAT")
    assert answer["errors"][0]["extensions"]["code"] == "BAD_INPUT"


async def test_edge_returns_the_freshness_of_each_resource(timed: Timed) -> None:
    tenant = timed.house.one
    ids = [await tenant.add_resource() for _ in "abc"]
    for n, resource_id in enumerate(ids[:2]):
        await timed.record(resource_id, (timed.clock.now - timedelta(minutes=n), 1), field="POWER")
    resources = [await tenant.run("resource", resource_id=id_) for id_ in [*ids, ids[0]]]
    states = await tenant.edge(types.Resource, "freshness", resources)
    assert [freshness.state for freshness in states] == [LIVE, DELAYED, OFFLINE, LIVE]
    assert await tenant.edge(types.Resource, "freshness", []) == []
    assert await tenant.edge(types.Device, "freshness", []) == []


async def send_message(timed: Timed, hardware_id: str, *values: Measurement, state: bool = False) -> None:
    """Record a message of a display that is sent now."""
    at = timed.clock.now
    message = MeterMessage(hardware_id, at, values, NetworkState(at=at, status="joined") if state else None)
    tenant = timed.house.one
    result = await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": [message]})
    assert result.refusals == []


async def test_cause_is_the_meter_while_the_display_still_sends_otherwise_the_gateway(timed: Timed) -> None:
    display = await display_of(timed.house.one)
    resource_id = display.resource_ids["electricity.consumption"]
    assert (await of_device(timed, display.device_id))["cause"] == "UNKNOWN"
    power = Measurement("electricity.consumption", "POWER", Decimal(230), "W")
    await send_message(timed, display.hardware_id, power, state=True)
    assert (await of_device(timed, display.device_id))["state"] == "LIVE"
    timed.pass_time(timedelta(minutes=3))
    await send_message(timed, display.hardware_id, state=True)
    freshness = await of_resource(timed, resource_id)
    assert (freshness["state"], freshness["cause"]) == ("STALE", "METER")
    assert (await of_device(timed, display.device_id))["state"] == "LIVE"
    timed.pass_time(timedelta(hours=1))
    assert (await of_resource(timed, resource_id))["cause"] == "GATEWAY"
    device = await of_device(timed, display.device_id)
    assert (device["state"], device["cause"], device["ageSeconds"]) == ("OFFLINE", "GATEWAY", 3600)


async def test_cause_is_unknown_for_a_device_with_one_meter(timed: Timed) -> None:
    tenant = timed.house.one
    first, second = await tenant.add_resource(), await tenant.add_resource()
    device_id = await add_device(tenant, first)
    await timed.record(first, (timed.clock.now, 1), field="POWER")
    timed.pass_time(timedelta(minutes=5))
    assert (await of_resource(timed, first))["cause"] == "UNKNOWN"
    assert (await of_device(timed, device_id))["cause"] == "UNKNOWN"
    both = await add_device(tenant, second, await tenant.add_resource())
    device = await tenant.run("device", device_id=both)
    fed = (await tenant.edge(types.Device, "resources", [device]))[0]
    for resource in fed:
        await timed.record(resource.resource_id, (timed.clock.now, 1), field="POWER")
    timed.pass_time(timedelta(minutes=5))
    await timed.record(fed[0].resource_id, (timed.clock.now, 1), field="POWER")
    assert (await of_resource(timed, fed[1].resource_id))["cause"] == "METER"
    timed.pass_time(timedelta(minutes=5))
    assert (await of_resource(timed, fed[1].resource_id))["cause"] == "GATEWAY"


async def test_a_silent_device_and_its_resource_have_the_same_cause_at_every_stage(timed: Timed) -> None:
    display = await display_of(timed.house.one)
    resource_id = display.resource_ids["electricity.consumption"]
    power = Measurement("electricity.consumption", "POWER", Decimal(230), "W")
    await send_message(timed, display.hardware_id, power, state=True)
    causes = set[tuple[str, str, str]]()
    for _ in range(60):
        timed.pass_time(timedelta(seconds=10))
        device, resource = await of_device(timed, display.device_id), await of_resource(timed, resource_id)
        if device["state"] != "LIVE":
            causes.add((device["state"], device["cause"], resource["cause"]))
    assert causes == {(state, "GATEWAY", "GATEWAY") for state in ("DELAYED", "STALE")}


async def test_half_hours_from_another_source_are_not_a_heartbeat_of_a_display(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    device_id = await add_device(tenant, resource_id)
    now = timed.clock.now
    half_hour = now.replace(minute=0, second=0) - timedelta(hours=1)
    await timed.record(resource_id, (half_hour, 1))
    assert (await of_device(timed, device_id))["state"] == "OFFLINE", "the network delivers them"
    await timed.record(resource_id, (now - timedelta(hours=2), 230), field="POWER")
    assert (await of_device(timed, device_id))["state"] == "OFFLINE"


async def test_freshness_of_another_users_resource_is_not_found(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    answer = await timed.house.graphql(OF_RESOURCE, timed.house.other.headers["acting"], id=resource_id)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
