"""The meter network: eligibility, inventories, registers, permissions, and the import of its registry."""

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from tests.support.command import wattgate
from tests.support.house import House, Tenant
from tests.support.metering import START, Metered, metered, record
from tests.support.schema import bring_up
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.db.meter_network import (
    MeterNetworkDevice,
    MeterNetworkReading,
    MeterPoint,
    RegisterReading,
    RegistryMeterNetwork,
)
from wattgate.db.models import NetworkDevice, NetworkMeterPoint
from wattgate.energy.meters import meter_points
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices import eligibility
from wattgate.realtime.bus.memory import MemoryBus


@pytest.fixture
async def point(served: House) -> Metered:
    return await metered(served.one)


async def request_check(
    served: House, path: str, caller: str = "application", tenant: Tenant | None = None, **body: Any
) -> Any:
    headers = (tenant or served.one).headers[caller]
    return await served.call("POST", f"/eligibility/{path}", headers, json=body)


async def is_valid(served: House, path: str, **body: Any) -> bool:
    answer = await request_check(served, path, **body)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"valid"}
    return bool(answer.json()["valid"])


async def test_display_matches_any_spelling_of_postcode_and_eui(served: House, point: Metered) -> None:
    pairs = [point.eui[n : n + 2] for n in range(0, 16, 2)]
    for eui in (point.eui, point.eui.lower(), ":".join(pairs), "-".join(pairs).lower()):
        for postcode in ("LS6 3QT", "ls63qt", " Ls6  3qt "):
            assert await is_valid(served, "checksmetsihd/postcode", postcode=postcode, eui=eui)
        assert await is_valid(served, "checksmetsihd", mpxn=point.mpxn, eui=eui)
    assert not await is_valid(served, "checksmetsihd/postcode", postcode="LS6 3QU", eui=point.eui)
    other = await metered(served.one)
    assert not await is_valid(served, "checksmetsihd", mpxn=other.mpxn, eui=point.eui)


async def test_meter_is_not_a_display(served: House, point: Metered) -> None:
    meter = uuid4().hex[:16]
    await record(served.one, NetworkDevice(eui=meter.upper(), mpxn=point.mpxn, device_type="ESME"))
    assert not await is_valid(served, "checksmetsihd", mpxn=point.mpxn, eui=meter)
    assert not await is_valid(served, "checksmetsihd/postcode", postcode="LS6 3QT", eui=meter)


async def test_only_a_commissioned_cad_or_ppmid_makes_a_meter_point_readable(served: House) -> None:
    number = str(uuid4().int)[:13]
    await record(served.one, NetworkMeterPoint(mpxn=number, eligible=False))
    for device_type, status, expected in (
        ("ESME", "Commissioned", False),
        ("IHD", "Commissioned", False),
        ("PPMID", "Suspended", False),
        ("CAD", "Commissioned", True),
    ):
        device = NetworkDevice(eui=uuid4().hex[:16].upper(), mpxn=number, device_type=device_type, status=status)
        await record(served.one, device)
        assert await is_valid(served, "smets-ihd-cad", mpxn=number) is expected
    assert not await is_valid(served, "checksmetsmpxn", mpxn=number)
    await record(served.one, NetworkMeterPoint(mpxn=number, eligible=True))
    assert await is_valid(served, "checksmetsmpxn", mpxn=int(number))


async def test_mpan_is_accepted_without_its_check_digit(served: House) -> None:
    core = str(uuid4().int)[:12]
    await record(served.one, NetworkMeterPoint(mpxn=core + meter_points.check_digit(core)))
    assert await is_valid(served, "checksmetsmpxn", mpxn=core)
    assert await is_valid(served, "checksmetsmpxn", mpxn=core + meter_points.check_digit(core))
    assert not await is_valid(served, "checksmetsmpxn", mpxn=core[:11])


def test_mac_address_and_the_eui_that_contains_it_are_the_same_hardware() -> None:
    assert meter_points.hardware_id_spellings("70-b3:d5 12-34-56") == {"70B3D5123456", "70B3D5FFFE123456"}
    assert meter_points.hardware_id_spellings("70b3d5fffe123456") == {"70B3D5123456", "70B3D5FFFE123456"}
    assert meter_points.hardware_id_spellings("70b3d50000123456") == {"70B3D50000123456"}
    assert meter_points.hardware_id_spellings(" -: ") == set()


def test_check_digit_is_the_weighted_sum_modulo_11_modulo_10() -> None:
    assert meter_points.check_digit("200000000000") == "6"
    assert meter_points.check_digit("101234567890") == "3"  # 1334 modulo 11
    assert meter_points.check_digit("131234567834") == "0"  # 1275 modulo 11 is 10
    assert meter_points.meter_point_spellings("2000000000006") == {"2000000000006", "200000000000"}
    assert meter_points.meter_point_spellings("2000000000007") == {"2000000000007"}


def test_the_stored_form_of_a_stored_meter_point_is_the_same() -> None:
    """Otherwise a record is found by no spelling. Some capitals are written with marks, which NFKC puts together."""
    texts = [f"1{chr(code)}2" for code in range(0x3000) if chr(code).isprintable()]
    stored = [meter_points.stored_meter_point(text) for text in texts]
    assert [meter_points.stored_meter_point(text) for text in stored] == stored


@pytest.mark.parametrize("zero", ["\u0660", "\u06f0", "\u0966", "\uff10", "\U0001d7ce"])
def test_digits_of_each_script_are_the_same_number(zero: str) -> None:
    written = "".join(chr(ord(zero) + int(digit)) for digit in "2483571800000")
    assert meter_points.canonical_meter_point(written) == "2483571800000"
    assert meter_points.canonical_meter_point(written[:12]) == "248357180000" + meter_points.check_digit("248357180000")


@pytest.mark.parametrize("text", ["S483571800001", "24835718A0001", "248357180000A", "\u0664483571800001"])
def test_meter_point_of_13_characters_that_are_not_all_digits_has_one_spelling(text: str) -> None:
    assert meter_points.meter_point_spellings(text) == {text}


@pytest.mark.parametrize("number", ["", "12345678901234", "12a", "-1", "\uff11\uff12"])
async def test_malformed_meter_point_or_eui_is_rejected(served: House, number: str) -> None:
    answer = await request_check(served, "checksmetsmpxn", mpxn=number)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -mpxn")
    eui = await request_check(served, "checksmetsihd/postcode", postcode="LS6 3QT", eui=number)
    assert (eui.status_code, eui.json()["error"]) == (400, "incorrect elements -eui")


async def test_user_may_check_only_own_meter_points(served: House, point: Metered) -> None:
    theirs = await metered(served.other)
    for caller in ("account", "acting"):
        own = await request_check(served, "checksmetsmpxn", caller, mpxn=point.mpxn)
        assert own.json() == {"valid": True}
        stranger = await request_check(served, "checksmetsmpxn", caller, mpxn=theirs.mpxn)
        unknown = await request_check(served, "checksmetsmpxn", caller, mpxn="4711")
        assert (stranger.status_code, unknown.status_code) == (404, 404)
        display = await request_check(served, "checksmetsihd/postcode", caller, postcode="LS6 3QT", eui=theirs.eui)
        nothing = await request_check(served, "checksmetsihd/postcode", caller, postcode="LS6 3QT", eui="00" * 8)
        assert display.status_code == nothing.status_code == 404
        assert (
            await request_check(served, "checksmetsihd/postcode", caller, postcode="LS6 3QT", eui=point.eui)
        ).json() == {"valid": True}
    for caller in ("application", "administrator"):
        assert (await request_check(served, "checksmetsmpxn", caller, mpxn=theirs.mpxn)).json() == {"valid": True}


async def test_only_the_application_adds_resources_at_new_meter_points(served: House, point: Metered) -> None:
    theirs = await metered(served.other)
    body = {"resourceTypeId": served.one.ids["resource_type"], "name": "claimed"}
    for caller, mpxn, status in (
        ("account", theirs.mpxn, 403),
        ("acting", theirs.mpxn, 200),
        ("account", point.mpxn, 200),
        ("account", "no number", 403),
    ):
        headers = served.one.headers[caller]
        answer = await served.call("POST", "/resource", headers, json={**body, "mpxn": mpxn})
        assert answer.status_code == status, caller


async def test_inventory_has_the_fields_of_the_network(served: House, point: Metered) -> None:
    headers = served.one.headers["application"]
    answer = (await served.call("GET", f"/device/meter-point/{point.mpxn}/inventory", headers)).json()
    assert answer["valid"] is True
    (display,) = [device for device in answer["inventory"] if device["DeviceType"] == "PPMID"]
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


async def test_resources_of_a_meter_point_are_found_with_and_without_check_digit(served: House) -> None:
    core = str(uuid4().int)[:12]
    new_resource = {"resourceTypeId": served.one.ids["resource_type"], "name": "imported", "mpxn": core}
    headers = {**served.one.headers["administrator"]}
    added = (await served.call("POST", "/resource", headers, json=new_resource)).json()
    whole = core + meter_points.check_digit(core)
    for number in (core, whole):
        body = (await served.call("GET", f"/device/meter-point/{number}/resources", headers)).json()
        assert (body["valid"], body["mpxn"]) == (True, number)
        assert body["resources"] == [
            {
                "resourceId": added["resourceId"],
                "resourceTypeId": served.one.ids["resource_type"],
                "classifier": "electricity.consumption",
            }
        ]


async def test_meter_read_returns_the_register_if_the_network_has_one(served: House, point: Metered) -> None:
    headers = served.one.headers["account"]
    body = (await served.call("GET", f"/resource/{point.resource_id}/meterread", headers)).json()
    assert (body["data"], body["units"]) == ([[int(START.timestamp()), 4711.25]], "kWh")
    answer = await served.call("GET", f"/resource/{served.one.ids['resource']}/meterread", headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_SUPPORTED")


class FarNetwork:
    """Another implementation of the `MeterNetwork` protocol. It knows one meter point and stores nothing."""

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        return MeterPoint(mpxn, "", "", eligible=mpxn == "17")

    async def devices_at(self, mpxn: str) -> list[MeterNetworkDevice]:
        return []

    async def device(self, eui: str) -> MeterNetworkDevice | None:
        return None

    async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[MeterNetworkReading]:
        return []

    async def register(self, mpxn: str, classifier: str) -> RegisterReading | None:
        return RegisterReading(START, Decimal(1), "kWh")


async def test_another_meter_network_can_be_plugged_in(served: House) -> None:
    far = FarNetwork()

    runner = Runner(served.gateway.database, MemoryBus(), network=lambda session: far)
    for mpxn, expected in (("17", True), ("18", False)):
        answer = await runner.run(eligibility.meter_point_eligible, served.one.system, {"mpxn": mpxn})
        assert answer.valid is expected


async def test_import_fills_the_registry_and_reports_every_invalid_line(database_url: str, tmp_path: Path) -> None:
    gateway = build_gateway(Settings(_env_file=None, database_url=database_url))
    await bring_up(gateway.database)
    valid_records = [
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
    invalid_lines = [
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
    file.write_bytes(b"\n".join([*map(orjson.dumps, valid_records), b"", *invalid_lines]))
    result = await wattgate(database_url, "network", "import", str(file), "--refused", str(tmp_path / "refused.txt"))
    assert result.returncode == 1, result.stderr
    lines = len(valid_records) + len(invalid_lines)
    assert f"{len(valid_records)} records stored from {lines} lines, {len(invalid_lines)} refused" in result.stdout
    refused = (tmp_path / "refused.txt").read_text().splitlines()
    assert [int(line.partition(":")[0]) for line in refused] == [
        n + len(valid_records) + 2 for n in range(len(invalid_lines))
    ]
    assert refused[3].endswith("'1' is not an EUI-64 of 16 hexadecimal digits")
    async with AsyncSession(gateway.database.engine) as session:
        network = RegistryMeterNetwork(session)
        point = await network.meter_point("2000000000006")
        assert point is not None
        assert point.postcode == "LS14AP"
        (device,) = await network.devices_at("2000000000006")
        assert (device.eui, device.device_type) == ("00155E0000000001", "CAD")
        (value,) = await network.readings("2000000000006", "gas", None, limit=9)
        assert value.value == 2  # the later line for the same instant wins
        register = await network.register("2000000000006", "gas")
        assert register is not None
        assert register.value == Decimal("4711.123456")
    again = await wattgate(database_url, "network", "import", str(file))
    assert again.returncode == 1
    await gateway.database.close()
