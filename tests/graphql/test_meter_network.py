"""The meter network: eligibility, inventories, registers, who may ask, and the file that fills the registry."""

import asyncio
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from tests.support.house import House, Tenant
from tests.support.metering import START, Metered, metered, record
from tests.support.schema import bring_up
from wattgate.app.server.factory import assemble
from wattgate.app.settings import Settings
from wattgate.db.meter_network import InventoryDevice, MeterPoint, Register, RegistryNetwork, Value
from wattgate.db.models import NetworkDevice, NetworkMeterPoint
from wattgate.energy import meter_points
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import eligibility
from wattgate.realtime.bus.memory import MemoryBus


@pytest.fixture
async def point(served: House) -> Metered:
    return await metered(served.one)


async def check(served: House, path: str, who: str = "application", tenant: Tenant | None = None, **body: Any) -> Any:
    headers = (tenant or served.one).headers[who]
    return await served.call("POST", f"/eligibility/{path}", headers, json=body)


async def valid(served: House, path: str, **body: Any) -> bool:
    answer = await check(served, path, **body)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"valid"}
    return bool(answer.json()["valid"])


async def test_a_display_matches_its_postcode_and_its_meter_point_however_they_are_written(
    served: House, point: Metered
) -> None:
    pairs = [point.eui[n : n + 2] for n in range(0, 16, 2)]
    for eui in (point.eui, point.eui.lower(), ":".join(pairs), "-".join(pairs).lower()):
        for postcode in ("LS6 3QT", "ls63qt", " Ls6  3qt "):
            assert await valid(served, "checksmetsihd/postcode", postcode=postcode, eui=eui)
        assert await valid(served, "checksmetsihd", mpxn=point.mpxn, eui=eui)
    assert not await valid(served, "checksmetsihd/postcode", postcode="LS6 3QU", eui=point.eui)
    other = await metered(served.one)
    assert not await valid(served, "checksmetsihd", mpxn=other.mpxn, eui=point.eui)


async def test_a_meter_is_not_a_display(served: House, point: Metered) -> None:
    meter = uuid4().hex[:16]
    await record(served.one, NetworkDevice(eui=meter.upper(), mpxn=point.mpxn, device_type="ESME"))
    assert not await valid(served, "checksmetsihd", mpxn=point.mpxn, eui=meter)
    assert not await valid(served, "checksmetsihd/postcode", postcode="LS6 3QT", eui=meter)


async def test_only_a_commissioned_cad_or_ppmid_makes_a_meter_point_readable(served: House) -> None:
    number = str(uuid4().int)[:13]
    await record(served.one, NetworkMeterPoint(mpxn=number, eligible=False))
    for kind, status, expected in (
        ("ESME", "Commissioned", False),
        ("IHD", "Commissioned", False),
        ("PPMID", "Suspended", False),
        ("CAD", "Commissioned", True),
    ):
        device = NetworkDevice(eui=uuid4().hex[:16].upper(), mpxn=number, device_type=kind, status=status)
        await record(served.one, device)
        assert await valid(served, "smets-ihd-cad", mpxn=number) is expected
    assert not await valid(served, "checksmetsmpxn", mpxn=number)
    await record(served.one, NetworkMeterPoint(mpxn=number, eligible=True))
    assert await valid(served, "checksmetsmpxn", mpxn=int(number))


async def test_the_check_digit_of_an_mpan_may_be_left_out(served: House) -> None:
    core = str(uuid4().int)[:12]
    await record(served.one, NetworkMeterPoint(mpxn=core + meter_points.check_digit(core)))
    assert await valid(served, "checksmetsmpxn", mpxn=core)
    assert await valid(served, "checksmetsmpxn", mpxn=core + meter_points.check_digit(core))
    assert not await valid(served, "checksmetsmpxn", mpxn=core[:11])


def test_an_mpans_check_digit_is_its_weighted_sum_modulo_11_modulo_10() -> None:
    assert meter_points.check_digit("200000000000") == "6"
    assert meter_points.check_digit("101234567890") == "3"  # 1334 modulo 11
    assert meter_points.check_digit("131234567834") == "0"  # 1275 modulo 11 is 10
    assert meter_points.spellings("2000000000006") == {"2000000000006", "200000000000"}
    assert meter_points.spellings("2000000000007") == {"2000000000007"}


@pytest.mark.parametrize("number", ["", "12345678901234", "12a", "-1", "\uff11\uff12"])
async def test_what_is_no_meter_point_is_refused(served: House, number: str) -> None:
    answer = await check(served, "checksmetsmpxn", mpxn=number)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -mpxn")
    eui = await check(served, "checksmetsihd/postcode", postcode="LS6 3QT", eui=number)
    assert (eui.status_code, eui.json()["error"]) == (400, "incorrect elements -eui")


async def test_a_user_may_ask_about_their_own_meter_points_alone(served: House, point: Metered) -> None:
    theirs = await metered(served.other)
    for who in ("account", "acting"):
        own = await check(served, "checksmetsmpxn", who, mpxn=point.mpxn)
        assert own.json() == {"valid": True}
        stranger = await check(served, "checksmetsmpxn", who, mpxn=theirs.mpxn)
        unknown = await check(served, "checksmetsmpxn", who, mpxn="4711")
        assert (stranger.status_code, unknown.status_code) == (404, 404)
        display = await check(served, "checksmetsihd/postcode", who, postcode="LS6 3QT", eui=theirs.eui)
        nothing = await check(served, "checksmetsihd/postcode", who, postcode="LS6 3QT", eui="00" * 8)
        assert display.status_code == nothing.status_code == 404
        assert (await check(served, "checksmetsihd/postcode", who, postcode="LS6 3QT", eui=point.eui)).json() == {
            "valid": True
        }
    for who in ("application", "administrator"):
        assert (await check(served, "checksmetsmpxn", who, mpxn=theirs.mpxn)).json() == {"valid": True}


async def test_a_user_cannot_claim_a_meter_point_by_adding_a_resource_but_the_application_can(
    served: House, point: Metered
) -> None:
    theirs = await metered(served.other)
    body = {"resourceTypeId": served.one.ids["resource_type"], "name": "claimed"}
    for who, mpxn, status in (
        ("account", theirs.mpxn, 403),
        ("acting", theirs.mpxn, 200),
        ("account", point.mpxn, 200),
        ("account", "no number", 400),
    ):
        headers = served.one.headers[who]
        answer = await served.call("POST", "/resource", headers, json={**body, "mpxn": mpxn})
        assert answer.status_code == status, who


async def test_an_inventory_is_told_in_the_networks_own_words(served: House, point: Metered) -> None:
    headers = served.one.headers["application"]
    answer = (await served.call("GET", f"/device/meter-point/{point.mpxn}/inventory", headers)).json()
    assert answer["valid"] is True
    (display,) = [one for one in answer["inventory"] if one["DeviceType"] == "PPMID"]
    assert display == {
        "DateCommissioned": "2024-05-01T09:00:00.000Z",
        "DeviceFirmwareVersion": "01.02",
        "DeviceManufacturer": "1234",
        "DeviceModel": "D1",
        "DeviceType": "PPMID",
        "DeviceStatus": "Commissioned",
        "EUI": point.eui,
        "ImportMPxN": point.mpxn,
        "SmetsVersion": "2",
    }
    dashed = "-".join(point.eui[n : n + 2] for n in range(0, 16, 2))
    by_eui = (await served.call("GET", f"/device/smart-meter/{dashed}/inventory", headers)).json()
    assert by_eui == {"valid": True, "inventory": [display]}
    for path in ("meter-point/4711", "meter-point/none", "smart-meter/0000000000000000", "smart-meter/x"):
        assert (await served.call("GET", f"/device/{path}/inventory", headers)).status_code == 404


async def test_a_meter_points_resources_are_found_by_either_spelling(served: House) -> None:
    core = str(uuid4().int)[:12]
    given = {"resourceTypeId": served.one.ids["resource_type"], "name": "imported", "mpxn": core}
    headers = {**served.one.headers["administrator"]}
    added = (await served.call("POST", "/resource", headers, json=given)).json()
    whole = core + meter_points.check_digit(core)
    for number in (core, whole):
        told = (await served.call("GET", f"/device/meter-point/{number}/resources", headers)).json()
        assert (told["valid"], told["mpxn"]) == (True, number)
        assert told["resources"] == [
            {
                "resourceId": added["resourceId"],
                "resourceTypeId": served.one.ids["resource_type"],
                "classifier": "electricity.consumption",
            }
        ]


async def test_the_register_is_read_where_the_network_has_one(served: House, point: Metered) -> None:
    headers = served.one.headers["account"]
    told = (await served.call("GET", f"/resource/{point.resource_id}/meterread", headers)).json()
    assert (told["data"], told["units"]) == ([[int(START.timestamp()), 4711.25]], "kWh")
    answer = await served.call("GET", f"/resource/{served.one.ids['resource']}/meterread", headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_SUPPORTED")


class FarNetwork:
    """Another implementation of the port: it knows one meter point and keeps nothing here."""

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        return MeterPoint(mpxn, "", "", eligible=mpxn == "17")

    async def devices_at(self, mpxn: str) -> list[InventoryDevice]:
        return []

    async def device(self, eui: str) -> InventoryDevice | None:
        return None

    async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[Value]:
        return []

    async def register(self, mpxn: str, classifier: str) -> Register | None:
        return Register(START, Decimal(1), "kWh")


async def test_another_network_is_one_class_away(served: House) -> None:
    far = FarNetwork()

    runner = Runner(served.gateway.database, MemoryBus(), network=lambda session: far)
    for mpxn, expected in (("17", True), ("18", False)):
        answer = await runner.run(eligibility.meter_point_eligible, served.one.system, {"mpxn": mpxn})
        assert answer.valid is expected


async def test_a_file_fills_the_registry_and_names_every_line_that_it_cannot_take(
    database_url: str, tmp_path: Path
) -> None:
    gateway = assemble(Settings(_env_file=None, database_url=database_url))
    await bring_up(gateway.database)
    good = [
        {"kind": "meterPoint", "mpxn": "2000000000006", "postcode": "ls1 4ap", "smetsVersion": "2"},
        {"kind": "device", "mpxn": "200000000000", "eui": "00-15-5e-00-00-00-00-01", "deviceType": "CAD"},
        {"kind": "reading", "mpxn": "2000000000006", "classifier": "gas", "at": "2026-01-01T00:00:00Z", "value": 1.5},
        {
            "kind": "reading",
            "mpxn": "2000000000006",
            "classifier": "gas",
            "at": "2026-01-01T01:00:00+01:00",
            "value": "2",
        },
        {
            "kind": "register",
            "mpxn": "2000000000006",
            "classifier": "gas",
            "at": "2026-01-01T00:00:00Z",
            "value": "4711.123456",
            "unit": "m3",
        },
    ]
    bad = [
        b'{"kind": "meterPoint"}',
        b'{"kind": "meter", "mpxn": "1"}',
        b'{"kind": "meterPoint", "mpxn": "1", "colour": "red"}',
        b'{"kind": "device", "mpxn": "1", "eui": "1", "deviceType": "CAD"}',
        b'{"kind": "device", "mpxn": "1", "eui": "0000000000000001", "deviceType": "TOASTER"}',
        b'{"kind": "reading", "mpxn": "1", "classifier": "gas", "at": "2026-01-01T00:00:00", "value": 1}',
        b'{"kind": "reading", "mpxn": "1", "classifier": "gas", "at": "2026-01-01T00:00:00Z", "value": 1e30}',
        b"not json",
        b'{"kind": "meterPoint", "mpxn": "twelve"}',
    ]
    file = tmp_path / "network.jsonl"
    file.write_bytes(b"\n".join([*map(orjson.dumps, good), b"", *bad]))
    done = await _import(database_url, file, "--refused", str(tmp_path / "refused.txt"))
    assert done.returncode == 1, done.stderr
    assert f"{len(good)} records kept from {len(good) + len(bad)} lines, {len(bad)} refused" in done.stdout
    refused = (tmp_path / "refused.txt").read_text().splitlines()
    assert [int(line.partition(":")[0]) for line in refused] == [n + len(good) + 2 for n in range(len(bad))]
    assert refused[3].endswith("'1' is not an EUI-64 of 16 hexadecimal digits")
    async with AsyncSession(gateway.database.engine) as session:
        network = RegistryNetwork(session)
        point = await network.meter_point("2000000000006")
        assert point is not None
        assert point.postcode == "LS14AP"
        (device,) = await network.devices_at("2000000000006")
        assert (device.eui, device.device_type) == ("00155E0000000001", "CAD")
        (value,) = await network.readings("2000000000006", "gas", None, limit=9)
        assert value.value == 2  # the later line of the same instant
        register = await network.register("2000000000006", "gas")
        assert register is not None
        assert register.value == Decimal("4711.123456")
    again = await _import(database_url, file)
    assert again.returncode == 1
    await gateway.database.close()


async def _import(database_url: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "wattgate", "network", "import", str(file), *options],
        env={**os.environ, "WATTGATE_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
