"""The demonstration: homes that look real, made once and used again."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.support.schema import bring_up
from wattgate.app.demo import seed
from wattgate.app.demo import tariffs as demo_tariffs
from wattgate.app.demo.simulated_network import SimulatedNetwork
from wattgate.app.demo.simulation import HALF_HOUR, LONDON, Habits, HalfHour, day_of, half_hour, power
from wattgate.app.server.factory import assemble
from wattgate.app.settings import demo_settings
from wattgate.app.workers.catch_ups import work_once
from wattgate.clock import TimeRange, utc_now
from wattgate.enums import Function, Period
from wattgate.graphql.core.fields import edge_named
from wattgate.graphql.resolvers import catch_ups, readings, resources
from wattgate.graphql.types import resources as types

ALDER, HARBOUR, MILL = (home.habits for home in seed.HOMES)


def month(habits: Habits, number: int) -> list[list[HalfHour]]:
    first = date(2026, number, 1)
    return [list(day_of(habits, first + timedelta(days=n))) for n in range(28)]


def test_heating_follows_the_season() -> None:
    winter, summer = (sum(slot.gas for day in month(ALDER, number) for slot in day) for number in (1, 7))
    assert winter > 4 * summer > 0


def test_people_at_work_and_people_at_home_live_by_different_hours() -> None:
    def noon(weekend: bool) -> float:
        days = [date(2026, 2, 2) + timedelta(days=n) for n in range(84)]
        chosen = [day_of(ALDER, day) for day in days if (day.weekday() >= 5) is weekend]
        return sum(slot.used for day in chosen for slot in day[20:28]) / len(chosen)

    assert noon(weekend=True) > 1.4 * noon(weekend=False)


def test_the_sun_exports_by_day_in_summer_and_never_by_night() -> None:
    days = month(HARBOUR, 6)
    assert sum(slot.exported for day in days for slot in day[20:30]) > 28
    assert sum(slot.exported for day in days for slot in day[:6]) == 0
    assert all(slot.exported == 0 for day in month(MILL, 6) for slot in day)


def test_power_moves_around_what_the_half_hour_counts() -> None:
    start = datetime(2026, 11, 4, 19, tzinfo=UTC)
    values = [power(ALDER, start + timedelta(seconds=8 * n)) for n in range(225)]
    assert len(set(values)) > 150
    mean = sum(values) / len(values)
    assert 0.8 < mean / (half_hour(ALDER, start).imported * 2000) < 1.3


def test_clock_changes_leave_an_hour_out_or_count_it_twice() -> None:
    spring = datetime(2026, 3, 29, tzinfo=LONDON).astimezone(UTC)
    slots = [half_hour(ALDER, spring + n * HALF_HOUR) for n in range(46)]
    assert slots[2] == day_of(ALDER, date(2026, 3, 29))[4]


async def test_a_second_start_uses_what_the_first_one_made(tmp_path: Path) -> None:
    settings, now = demo_settings(tmp_path), utc_now()
    gateway = assemble(settings)
    runner = gateway.runner
    await bring_up(gateway.database)
    assert await seed.installed(runner) == []
    await seed.install(runner)
    present = await seed.installed(runner)
    assert [len(home.resource_ids) for home in present] == [4, 3, 2]
    days = timedelta(days=30)
    recorded = await seed.fill(runner, present, now, history=days)
    outage = seed.OUTAGE // HALF_HOUR
    assert recorded == 5 * (30 * 48 - outage)  # costs are computed
    assert await seed.fill(runner, await seed.installed(runner), now, history=days) == 0
    await gateway.database.close()


async def test_a_catch_up_brings_what_the_simulated_meters_have_counted_since(tmp_path: Path) -> None:
    gateway, now = assemble(demo_settings(tmp_path), network=SimulatedNetwork), utc_now()
    runner = gateway.runner
    await bring_up(gateway.database)
    await seed.install(runner)
    (home, *_) = present = await seed.installed(runner)
    await seed.fill(runner, present, now - timedelta(hours=3), history=timedelta(days=1))
    resource_id = home.resource_ids["gas.consumption"]
    await runner.run(catch_ups.catch_up, seed.SYSTEM, {"resource_id": resource_id})
    assert await work_once(runner)
    row = await runner.run(resources.resource, seed.SYSTEM, {"resource_id": resource_id})
    (last,) = await runner.load(edge_named(types.Resource, "last_time"), seed.SYSTEM, [row], {})
    assert last >= seed.ended(now) - HALF_HOUR
    (done,) = await runner.run(catch_ups.catch_ups, seed.SYSTEM, {"resource_id": resource_id})
    assert (done.state.value.upper(), done.recorded) in {("DONE", 6), ("DONE", 7)}
    await gateway.database.close()


async def test_the_outage_is_a_gap_and_not_a_zero(tmp_path: Path) -> None:
    settings, now = demo_settings(tmp_path), utc_now()
    gateway = assemble(settings)
    await bring_up(gateway.database)
    await seed.install(gateway.runner)
    (home, *_) = present = await seed.installed(gateway.runner)
    await seed.fill(gateway.runner, present, now, history=timedelta(days=25))
    arguments = {
        "resource_id": home.resource_ids["gas.consumption"],
        "range": TimeRange(now - timedelta(days=24), now - timedelta(days=22)),
        "period": Period.PT30M,
        "function": Function.SUM,
    }
    series = await gateway.runner.run(readings.readings, seed.SYSTEM, arguments)
    missing = [bucket for bucket in series.buckets if bucket.value is None]
    assert len(missing) == seed.OUTAGE // HALF_HOUR
    assert datetime.fromisoformat(missing[-1].end) - datetime.fromisoformat(missing[0].start) == seed.OUTAGE
    row = await gateway.runner.run(resources.resource, seed.SYSTEM, {"resource_id": arguments["resource_id"]})
    (last,) = await gateway.runner.load(edge_named(types.Resource, "last_time"), seed.SYSTEM, [row], {})
    assert last == seed.ended(now) - HALF_HOUR
    await gateway.database.close()


async def test_the_homes_pay_by_the_hour_the_same_at_all_times_and_by_the_half_hour(tmp_path: Path) -> None:
    gateway, now = assemble(demo_settings(tmp_path)), utc_now()
    runner = gateway.runner
    await bring_up(gateway.database)
    await seed.install(runner)
    present = await seed.installed(runner)
    await seed.fill(runner, present, now, history=timedelta(days=9))
    ids = [home.resource_ids["electricity.consumption"] for home in present]
    rows = [await runner.run(resources.resource, seed.SYSTEM, {"resource_id": one}) for one in ids]
    asked = {"range": TimeRange(start=seed.ended(now) - timedelta(days=7), end=seed.ended(now))}
    bills = await runner.load(edge_named(types.Resource, "cost"), seed.SYSTEM, rows, asked)
    rates = await runner.load(edge_named(types.Resource, "current_rates"), seed.SYSTEM, rows, {})
    await gateway.database.close()
    by_kind = {
        tuple(sorted({(line.band or "", line.averaged) for line in bill.lines if line.unit == "kWh"})) for bill in bills
    }
    assert by_kind == {(("", False),), (("", True),), (("", False), ("night", False), ("peak", False))}
    for bill in bills:
        assert (bill.unpriced, bill.completeness) == (0, 1)
        assert bill.total == sum(line.amount for line in bill.lines) + sum(tax.amount for tax in bill.vat) > 300
    assert all(one.rate is not None and one.standing_charge > 40 for one in rates)


def test_the_half_hourly_price_falls_below_zero_in_some_nights_and_is_dear_in_the_evening() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    prices = {start + n * HALF_HOUR: demo_tariffs.price(start + n * HALF_HOUR) for n in range(48 * 60)}
    assert min(prices.values()) < 0 < min(price for at, price in prices.items() if 16 <= at.hour < 19)


async def test_every_path_of_devices_and_meter_points_answers_something_real(demo_url: str) -> None:
    auth = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
    async with httpx.AsyncClient(base_url=f"{demo_url}/api/v0-1", auth=auth) as http:

        async def get(path: str) -> Any:
            answer = await http.get(path)
            assert answer.status_code == 200, (path, answer.text)
            return answer.json()

        devices = await get("/device")
        assert len(devices) == len(seed.HOMES)
        for device in devices:
            path = f"/device/{device['deviceId']}"
            assert (await get(f"{path}/status"))["found"]
            assert (await get(f"/discover/{device['hardwareId']}")) == device
            for sensor in device["protocol"]["sensors"]:
                resource = f"/resource/{sensor['resourceId']}"
                assert (await get(f"/device{resource}")) == device
                assert (await get(f"{resource}/meterread"))["data"]
                assert (await get(f"{resource}/tariff-list"))["data"]
                assert (await get(f"{resource}/catchup"))["data"]["valid"]
            point = device["hardwareIds"]["MPAN"]
            assert len((await get(f"/device/meter-point/{point}/inventory"))["inventory"]) == 3
            assert (await get(f"/device/meter-point/{point}/resources"))["resources"]
            eui = device["hardwareIds"]["EUI"]
            assert (await get(f"/device/smart-meter/{eui}/inventory"))["inventory"][0]["DeviceType"] == "PPMID"
            for check in ("smets-ihd-cad", "checksmetsihd", "checksmetsmpxn"):
                answer = await http.post(f"/eligibility/{check}", json={"mpxn": point, "eui": eui})
                assert answer.json() == {"valid": True}, check
        assert len(await get("/devicetype")) == 1
        assert {one["count"] for one in await get("/resource/count")} == {1, 3}
