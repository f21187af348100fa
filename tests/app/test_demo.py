"""The demonstration: realistic homes that are created once and reused."""

import asyncio
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.schema import bring_up
from tests.support.waiting import until_answer
from wattgate.app.demo import live, seed
from wattgate.app.demo import tariffs as demo_tariffs
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.demo.live import SimulatedMeterNetwork
from wattgate.app.demo.network import mpan, mprn
from wattgate.app.demo.simulation import (
    HALF_HOUR,
    LONDON,
    Habits,
    HalfHour,
    simulate_day,
    simulate_half_hour,
    simulate_power,
)
from wattgate.app.server.factory import build_gateway
from wattgate.app.workers.catch_ups import process_waiting
from wattgate.clock import TimeRange, utc_now
from wattgate.db.models import NetworkRegister
from wattgate.enums import Function, Period, RateUnit
from wattgate.operations.core.fields import find_edge
from wattgate.operations.devices import catch_ups
from wattgate.operations.devices.devices import store_registry_records
from wattgate.operations.homes import resources
from wattgate.operations.readings import readings
from wattgate.operations.readings.raw_readings import meter_read
from wattgate.operations.types.homes import resources as types

ALDER, HARBOUR, MILL, _ = (home.habits for home in seed.HOMES)


def month(habits: Habits, number: int) -> list[list[HalfHour]]:
    first = date(2026, number, 1)
    return [list(simulate_day(habits, first + timedelta(days=n))) for n in range(28)]


def test_heating_follows_season() -> None:
    winter, summer = (sum(slot.gas for day in month(ALDER, number) for slot in day) for number in (1, 7))
    assert winter > 4 * summer > 0


def test_noon_use_is_higher_at_weekends() -> None:
    def noon(weekend: bool) -> float:
        days = [date(2026, 2, 2) + timedelta(days=n) for n in range(84)]
        matching_days = [simulate_day(ALDER, day) for day in days if (day.weekday() >= 5) is weekend]
        return sum(slot.used for day in matching_days for slot in day[20:28]) / len(matching_days)

    assert noon(weekend=True) > 1.4 * noon(weekend=False)


def test_solar_exports_by_day_and_never_at_night() -> None:
    days = month(HARBOUR, 6)
    assert sum(slot.exported for day in days for slot in day[20:30]) > 28
    assert sum(slot.exported for day in days for slot in day[:6]) == 0
    assert all(slot.exported == 0 for day in month(MILL, 6) for slot in day)


def test_power_varies_around_half_hour_mean() -> None:
    start = datetime(2026, 11, 4, 19, tzinfo=UTC)
    values = [simulate_power(ALDER, start + timedelta(seconds=8 * n)) for n in range(225)]
    assert len(set(values)) > 150
    mean = sum(values) / len(values)
    assert 0.8 < mean / (simulate_half_hour(ALDER, start).imported * 2000) < 1.3


def test_clock_change_skips_hour_of_simulated_day() -> None:
    spring = datetime(2026, 3, 29, tzinfo=LONDON).astimezone(UTC)
    slots = [simulate_half_hour(ALDER, spring + n * HALF_HOUR) for n in range(46)]
    assert slots[2] == simulate_day(ALDER, date(2026, 3, 29))[4]


@pytest.mark.long("installs a demonstration of its own; the contents of one have shorter tests")
async def test_second_start_reuses_installed_homes(tmp_path: Path) -> None:
    settings, now = demo_settings(tmp_path), utc_now()
    gateway = build_gateway(settings)
    runner = gateway.runner
    await bring_up(gateway.database)
    assert await seed.list_installed_homes(runner) == []
    await seed.install_demo(runner, now)
    homes = await seed.list_installed_homes(runner)
    assert [len(home.resource_ids) for home in homes] == [4, 3, 2, 2]
    days = timedelta(days=30)
    recorded = await seed.fill_readings(runner, homes, now, history=days)
    outage = seed.OUTAGE_DURATION // HALF_HOUR
    assert recorded == 6 * (30 * 48 - outage)  # costs are computed
    assert await seed.fill_readings(runner, await seed.list_installed_homes(runner), now, history=days) == 0
    await gateway.database.close()


async def test_catch_up_retrieves_missing_half_hours(tmp_path: Path) -> None:
    gateway, now = build_gateway(demo_settings(tmp_path), network=SimulatedMeterNetwork), utc_now()
    runner = gateway.runner
    await bring_up(gateway.database)
    await seed.install_demo(runner, now)
    (home, *_) = homes = await seed.list_installed_homes(runner)
    await seed.fill_readings(runner, homes, now - timedelta(hours=3), history=timedelta(days=1))
    resource_id = home.resource_ids["gas.consumption"]
    await runner.run(catch_ups.catch_up, seed.SYSTEM_PRINCIPAL, {"resource_id": resource_id})
    assert await process_waiting(runner)
    row = await runner.run(resources.resource, seed.SYSTEM_PRINCIPAL, {"resource_id": resource_id})
    (last,) = await runner.load(find_edge(types.Resource, "last_time"), seed.SYSTEM_PRINCIPAL, [row], {})
    assert last >= seed.last_half_hour_end(now) - HALF_HOUR
    ((finished,),) = await runner.load(find_edge(types.Resource, "catch_ups"), seed.SYSTEM_PRINCIPAL, [row], {})
    assert (finished.state.value.upper(), finished.recorded) in {("DONE", 6), ("DONE", 7)}
    await gateway.database.close()


@pytest.mark.long("installs a demonstration of its own; the contents of one have shorter tests")
async def test_outage_is_gap_without_values(tmp_path: Path) -> None:
    settings, now = demo_settings(tmp_path), utc_now()
    gateway = build_gateway(settings)
    await bring_up(gateway.database)
    await seed.install_demo(gateway.runner, now)
    (home, *_) = homes = await seed.list_installed_homes(gateway.runner)
    await seed.fill_readings(gateway.runner, homes, now, history=timedelta(days=25))
    arguments = {
        "resource_id": home.resource_ids["gas.consumption"],
        "range": TimeRange(now - timedelta(days=24), now - timedelta(days=22)),
        "period": Period.PT30M,
        "function": Function.SUM,
    }
    series = await gateway.runner.run(readings.readings, seed.SYSTEM_PRINCIPAL, arguments)
    missing = [bucket for bucket in series.buckets if bucket.value is None]
    assert len(missing) == seed.OUTAGE_DURATION // HALF_HOUR
    assert datetime.fromisoformat(missing[-1].end) - datetime.fromisoformat(missing[0].start) == seed.OUTAGE_DURATION
    row = await gateway.runner.run(resources.resource, seed.SYSTEM_PRINCIPAL, {"resource_id": arguments["resource_id"]})
    (last,) = await gateway.runner.load(find_edge(types.Resource, "last_time"), seed.SYSTEM_PRINCIPAL, [row], {})
    assert last == seed.last_half_hour_end(now) - HALF_HOUR
    await gateway.database.close()


@pytest.mark.long("installs a demonstration of its own; the contents of one have shorter tests")
async def test_homes_have_time_of_use_flat_and_dynamic_tariffs(tmp_path: Path) -> None:
    gateway, now = build_gateway(demo_settings(tmp_path)), utc_now()
    runner = gateway.runner
    await bring_up(gateway.database)
    await seed.install_demo(runner, now)
    homes = await seed.list_installed_homes(runner)
    await seed.fill_readings(runner, homes, now, history=timedelta(days=9))
    ids = [home.resource_ids["electricity.consumption"] for home in homes[:3]]
    rows = [await runner.run(resources.resource, seed.SYSTEM_PRINCIPAL, {"resource_id": one}) for one in ids]
    arguments = {
        "range": TimeRange(start=seed.last_half_hour_end(now) - timedelta(days=7), end=seed.last_half_hour_end(now))
    }
    bills = await runner.load(find_edge(types.Resource, "cost"), seed.SYSTEM_PRINCIPAL, rows, arguments)
    rates = await runner.load(find_edge(types.Resource, "current_rates"), seed.SYSTEM_PRINCIPAL, rows, {})
    await gateway.database.close()
    by_kind = {
        tuple(sorted({(line.band or "", line.averaged) for line in bill.lines if line.unit is RateUnit.KILOWATT_HOUR}))
        for bill in bills
    }
    assert by_kind == {(("", False),), (("", True),), (("", False), ("night", False), ("peak", False))}
    for bill in bills:
        assert (bill.unpriced.value, bill.completeness) == (0, 1)
        subtotals, taxes = (line.subtotal.amount for line in bill.lines), (tax.vat.amount for tax in bill.vat)
        assert bill.total.amount == sum(subtotals) + sum(taxes) > 3
    assert all(one.rate is not None and one.standing_charge.amount > Decimal("0.4") for one in rates)


def test_half_hourly_price_is_sometimes_negative_and_positive_in_evenings() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    prices = {start + n * HALF_HOUR: demo_tariffs.simulate_price(start + n * HALF_HOUR) for n in range(48 * 60)}
    assert min(prices.values()) < 0 < min(price for at, price in prices.items() if 16 <= at.hour < 19)


def test_energy_between_instants_is_that_of_its_half_hours_and_their_parts() -> None:
    habits, series = seed.HOMES[0].habits, seed.RESOURCES[0]
    start = datetime(2026, 3, 2, 17, tzinfo=UTC)
    whole = [seed.simulated_value(series, simulate_half_hour(habits, start + n * HALF_HOUR)) for n in range(3)]
    quarter = HALF_HOUR / 2
    assert live.energy_between(habits, series, start, start + 3 * HALF_HOUR) == sum(whole)
    part = live.energy_between(habits, series, start + quarter, start + 2 * HALF_HOUR + quarter)
    assert part == whole[0] / 2 + whole[1] + whole[2] / 2
    assert live.energy_between(habits, series, start, start) == 0


@pytest.mark.long("installs a demonstration of its own; the energy of a time has a shorter test")
async def test_registers_follow_the_simulated_use(tmp_path: Path) -> None:
    gateway, now = build_gateway(demo_settings(tmp_path), network=SimulatedMeterNetwork), utc_now()
    runner = gateway.runner
    await bring_up(gateway.database)
    await seed.install_demo(runner, now)
    (home, *_) = await seed.list_installed_homes(runner)
    read_at = now.replace(microsecond=0) - timedelta(days=2)
    points = {
        "electricity.consumption": (mpan(11), "kWh", Decimal(1)),
        "gas.consumption": (mprn(11), "m3", Decimal("11.22")),
    }
    records = [
        NetworkRegister(mpxn=mpxn, classifier=classifier, at=read_at, value=Decimal(1000), unit=unit)
        for classifier, (mpxn, unit, _) in points.items()
    ]
    await runner.run(store_registry_records, seed.SYSTEM_PRINCIPAL, {"records": records})
    for series in seed.RESOURCES:
        if series.classifier not in points:
            continue
        resource_id = {"resource_id": home.resource_ids[series.classifier]}
        register = await runner.run(meter_read, seed.SYSTEM_PRINCIPAL, resource_id)
        _, unit, kwh_of_unit = points[series.classifier]
        used = live.energy_between(ALDER, series, read_at, register.at) / kwh_of_unit
        assert (register.unit, register.at >= now.replace(microsecond=0)) == (unit, True)
        assert Decimal(str(register.value)) - 1000 == pytest.approx(used, rel=Decimal("0.001"))
        assert used > 0
    await gateway.database.close()


async def test_device_and_meter_point_paths_return_demo_data(demo_url: str) -> None:
    auth = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
    async with httpx.AsyncClient(base_url=f"{demo_url}/api/v0-1", auth=auth) as http:

        async def get(path: str) -> Any:
            response = await http.get(path)
            assert response.status_code == 200, (path, response.text)
            return response.json()

        async def is_found(path: str) -> bool:
            return bool((await get(f"{path}/status"))["found"])

        studio = next(home for home in await get("/virtualentity") if home["name"] == "Garden Studio")
        without_tariff = {resource["resourceId"] for resource in studio["resources"]}
        devices = await get("/device")
        assert len(devices) == len(seed.HOMES)
        for device in devices:
            path = f"/device/{device['deviceId']}"
            await until_answer(partial(is_found, path))  # its first live packet comes after the start
            assert (await get(f"/discover/{device['hardwareId']}")) == device
            for sensor in device["protocol"]["sensors"]:
                resource = f"/resource/{sensor['resourceId']}"
                assert (await get(f"/device{resource}")) == device
                assert (await get(f"{resource}/meterread"))["data"]
                has_tariff = sensor["resourceId"] not in without_tariff
                assert bool((await get(f"{resource}/tariff-list"))["data"]) is has_tariff
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
        assert {one["count"] for one in await get("/resource/count")} == {1, 4, 5}


async def test_mail_of_a_registration_is_in_the_outbox(demo_url: str) -> None:
    username = f"{uuid4().hex}@example.org"
    person = {"name": "Ada", "username": username, "email": username, "password": "a long password"}
    async with httpx.AsyncClient(base_url=demo_url) as http, asyncio.timeout(60):
        registered = await http.post("/api/v0-1/register", json=person, headers={"applicationId": seed.APPLICATION_ID})
        assert registered.json()["status"] == "unverified"
        while True:
            mails = [mail for mail in (await http.get("/outbox/mails")).json() if mail["to"] == username]
            if mails:
                break
            await asyncio.sleep(0.05)
        text = (await http.get(mails[0]["path"])).json()["text"]
        code = re.search(r"^\d{6}$", text, re.MULTILINE)
        assert code is not None
        assert f"/verify?application={seed.APPLICATION_ID}#" in text
        account = {"username": username, "password": person["password"], "token": code[0]}
        verified = await http.put("/api/v0-1/user/verify", json=account, headers={"applicationId": seed.APPLICATION_ID})
        assert verified.json()["status"] == "active"
