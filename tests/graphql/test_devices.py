"""Devices: adding and finding them, and their status."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import House, Tenant
from tests.support.metering import add_device, metered, resource_at
from wattgate.clock import utc_now
from wattgate.db.queries.devices import device_activity
from wattgate.enums import DeviceActivity
from wattgate.operations.types.homes import resources as types

RECORD = {
    "deviceId": str,
    "deviceTypeId": str,
    "ownerId": str,
    "description": str,
    "active": bool,
    "hardwareId": str,
    "hardwareIdNames": list,
    "hardwareIds": dict,
    "parentHardwareId": list,
    "tags": list,
    "protocol": dict,
    "createdAt": str,
    "updatedAt": str,
}
"""Members of a device, and their types, that the parser of a published client needs."""


async def post(served: House, **body: Any) -> Any:
    device = {"deviceTypeId": served.one.ids["device_type"], "hardwareIds": {}, **body}
    return await served.call("POST", "/device", served.one.headers["acting"], json=device)  # it needs no proof


async def get(served: House, path: str, caller: str = "account", tenant: Tenant | None = None, **more: Any) -> Any:
    return await served.call("GET", path, (tenant or served.one).headers[caller], **more)


async def test_device_has_every_member_that_strict_clients_need(served: House) -> None:
    for path in ("/device", f"/device/{served.one.ids['device']}", f"/device/resource/{served.one.ids['resource']}"):
        answer = (await get(served, path)).json()
        for device in answer if isinstance(answer, list) else [answer]:
            for name, type_ in RECORD.items():
                assert isinstance(device[name], type_), name
            assert set(device["protocol"]) == {"protocol", "sensors"}
            for sensor in device["protocol"]["sensors"]:
                assert set(sensor) == {"protocolId", "resourceTypeId", "resourceId"}
            assert all(isinstance(value, str) for value in device["hardwareIds"].values())


async def test_device_without_sensors_feeds_the_resources_at_its_meter_point(served: House) -> None:
    point = await metered(served.one)
    hardware_id = uuid4().hex[:12]
    added = await post(served, hardwareId=hardware_id, hardwareIds={"MPAN": point.mpxn, "MAC": hardware_id})
    assert added.json() == {"status": "OK", "valid": True, "deviceId": added.json()["deviceId"]}
    device = (await get(served, f"/device/{added.json()['deviceId']}")).json()
    assert [sensor["resourceId"] for sensor in device["protocol"]["sensors"]] == [point.resource_id]
    assert device["hardwareIdNames"] == ["MAC", "MPAN"]
    sourced = (await get(served, f"/device/resource/{point.resource_id}")).json()
    assert sourced == device


async def test_sensor_with_several_matching_resources_feeds_none(served: House) -> None:
    number = str(uuid4().int)[:13]
    for _ in range(2):
        await resource_at(served.one, number)
    added = await post(served, hardwareId=uuid4().hex, hardwareIds={"MPAN": number})
    device = (await get(served, f"/device/{added.json()['deviceId']}")).json()
    assert device["protocol"] == {"protocol": "MQTT", "sensors": []}
    query = "query ($id: ID!) { device(deviceId: $id) { protocol { sensors { protocolId resourceId } } } }"
    answer = await served.graphql(query, served.one.headers["account"], id=device["deviceId"])
    assert answer["data"]["device"]["protocol"]["sensors"] == [{"protocolId": "ELEC", "resourceId": None}]


async def test_device_is_found_by_any_of_its_identifiers_in_any_spelling(served: House) -> None:
    mac, eui, serial = uuid4().hex[:12].upper(), uuid4().hex[:16].upper(), f"SN-{uuid4().hex[:8]}"
    added = await post(
        served, hardwareId=uuid4().hex, hardwareIds={"MAC": mac.lower(), "EUI": eui, "serialNumber": serial}
    )
    device_id = added.json()["deviceId"]
    as_eui = f"{mac[:6]}fffe{mac[6:]}"
    for text in (mac, as_eui, eui, serial):
        pairs = [text[n : n + 2] for n in range(0, len(text), 2)]
        for spelt in (text, text.lower(), text.upper(), ":".join(pairs), "-".join(pairs).lower()):
            for caller in ("account", "application"):
                found = await get(served, f"/discover/{spelt}", caller)
                assert (found.status_code, found.json().get("deviceId")) == (200, device_id), spelt
            (listed,) = (await get(served, "/device", params={"tags": spelt})).json()
            assert listed["deviceId"] == device_id
            assert (await get(served, f"/discover/{spelt}", tenant=served.other)).status_code == 404
    assert (await get(served, "/discover/-:-")).status_code == 404


async def test_hardware_id_is_found_before_another_device_with_the_same_identifier(served: House) -> None:
    mac = uuid4().hex[:12].upper()
    await post(served, hardwareId=uuid4().hex, hardwareIds={"MAC": mac})
    second = await post(served, hardwareId=mac)
    assert (await get(served, f"/discover/{mac}")).json()["deviceId"] == second.json()["deviceId"]


async def test_device_of_the_inventory_is_found_at_an_own_meter_point_only(served: House) -> None:
    point = await metered(served.one)
    pairs = [point.eui[n : n + 2] for n in range(0, 16, 2)]
    for caller, spelt in (
        ("account", point.eui),
        ("application", ":".join(pairs)),
        ("acting", "-".join(pairs).lower()),
    ):
        found = await get(served, f"/discover/{spelt}", caller)
        assert found.status_code == 200, found.text
        body = found.json()
        assert (body["deviceId"], body["hardwareId"]) == (None, point.eui)
        assert body["hardwareIds"] == {"EUI": point.eui, "MPAN": point.mpxn}
        assert (body["inventory"]["DeviceType"], body["inventory"]["ImportMPxN"]) == ("PPMID", point.mpxn)
    assert (await get(served, f"/discover/{point.eui}", tenant=served.other)).status_code == 404
    query = """query ($id: String!) { discoverHardware(hardwareId: $id) {
        device { deviceId } networkDevice { eui meterPointNumber } protocol { protocol } } }"""
    answer = await served.graphql(query, served.one.headers["account"], id=point.eui)
    assert answer["data"]["discoverHardware"] == {
        "device": None,
        "networkDevice": {"eui": point.eui, "meterPointNumber": point.mpxn},
        "protocol": None,
    }
    added = await post(served, hardwareId=point.eui)
    answer = await served.graphql(query, served.one.headers["account"], id=point.eui)
    assert answer["data"]["discoverHardware"]["device"] == {"deviceId": added.json()["deviceId"]}
    assert answer["data"]["discoverHardware"]["networkDevice"] == {"eui": point.eui, "meterPointNumber": point.mpxn}


async def test_device_is_found_by_any_spelling_of_its_hardware_id(served: House) -> None:
    device = await served.one.run("device", device_id=served.one.ids["device"])
    bare = device.hardware_id
    dashed = "-".join(bare[n : n + 2] for n in range(0, 12, 2))
    for spelt in (bare, bare.lower(), dashed, dashed.replace("-", ":").lower()):
        assert (await get(served, f"/discover/{spelt}")).json()["deviceId"] == device.device_id
        (listed,) = (await get(served, "/device", params={"tags": spelt})).json()
        assert listed["deviceId"] == device.device_id
        status = (await get(served, "/device/status", params={"tags": spelt})).json()
        assert (status["found"], status["deviceId"]) == (False, device.device_id), (
            "it has half hours of the network only"
        )
    for path in (f"/discover/{bare}", f"/device/status?tags={bare}"):
        assert (await get(served, path, tenant=served.other)).status_code == 404
    assert (await get(served, "/device", params={"tags": "0000"})).json() == []


async def test_device_status_without_tags_is_rejected(served: House) -> None:
    answer = await get(served, "/device/status")
    assert (answer.status_code, answer.json()["error"]) == (400, "missing elements -tags")


async def test_hardware_id_is_unique_in_an_application(served: House) -> None:
    hardware_id = uuid4().hex[:12]
    assert (await post(served, hardwareId=hardware_id)).status_code == 200
    again = await post(served, hardwareId=hardware_id.upper())
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")


async def test_device_of_an_unknown_type_or_with_another_tenants_resource_is_rejected(served: House) -> None:
    unknown = await post(served, hardwareId=uuid4().hex, deviceTypeId=served.other.ids["device_type"])
    assert (unknown.status_code, unknown.json()["error"]) == (400, "incorrect elements -deviceTypeId")
    sensors = [
        {"protocolId": "A", "resourceId": served.other.ids["resource"]},
        {"protocolId": "B", "resourceId": served.one.ids["resource"]},
        {"protocolId": "B", "resourceId": served.one.ids["resource"]},
    ]
    stranger = await post(served, hardwareId=uuid4().hex, protocol={"sensors": sensors})
    assert stranger.status_code == 400
    assert [problem["path"] for problem in stranger.json()["problems"]] == [
        ["protocol", "sensors", 0, "resourceId"],
        ["protocol", "sensors", 2, "protocolId"],
    ]


async def test_list_of_a_device_cannot_be_null(served: House) -> None:
    path = f"/device/{await add_device(served.one)}"
    rejected = await served.call("PUT", path, served.one.headers["account"], json={"parentHardwareId": None})
    assert (rejected.status_code, rejected.json()["code"]) == (400, "BAD_INPUT")
    assert rejected.json()["problems"] == [{"path": ["parentHardwareId"], "message": "must not be null"}]
    assert (await get(served, path)).json()["parentHardwareId"] == []


@pytest.mark.both_databases("readings of several series")
@pytest.mark.parametrize("field", ["ENERGY", None, "ENERGY of two resources"])
async def test_device_without_a_packet_is_not_found_after_a_catch_up(served: House, field: str | None) -> None:
    """Half hours arrive from the meter network or from a file. They say nothing about the device."""
    resources = [await served.one.add_resource() for _ in range(2)]
    device_id = await add_device(served.one, *(resources if field and "two" in field else resources[:1]))
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    half_hour = now.replace(minute=now.minute // 30 * 30)
    for resource_id in resources:
        await served.one.record(resource_id, (half_hour, "0.25"), field=field and "ENERGY")
    status = (await get(served, f"/device/{device_id}/status")).json()
    assert (status["found"], status["value"], status["status"]) == (False, None, "OFFLINE")
    query = "query ($id: ID!) { device(deviceId: $id) { status { found lastPacketAt } freshness { state asOf } } }"
    answer = await served.graphql(query, served.one.headers["account"], id=device_id)
    device = answer["data"]["device"]
    assert device["status"] == {"found": False, "lastPacketAt": None}
    assert device["freshness"] == {"state": "OFFLINE", "asOf": None}
    await served.one.record(resources[0], (now, "640"), field="POWER")
    seen = (await get(served, f"/device/{device_id}/status")).json()
    assert (seen["found"], seen["value"], seen["expectedEvery"]) == (True, int(now.timestamp()), 60)


async def test_device_status_follows_recorded_readings(served: House) -> None:
    tenant = served.one
    resource_id = await tenant.add_resource()
    device_id = await add_device(tenant, resource_id)
    path = f"/device/{device_id}/status"
    silent = (await get(served, path)).json()
    assert (silent["found"], silent["value"], silent["status"]) == (False, None, "OFFLINE")
    now = utc_now().replace(microsecond=0)
    await tenant.record(resource_id, (now - timedelta(minutes=20), "230"), field="POWER")
    stale = (await get(served, path)).json()
    assert (stale["found"], stale["status"], stale["expectedEvery"]) == (True, "STALE", 60)
    assert stale["value"] == int((now - timedelta(minutes=20)).timestamp())
    await tenant.record(resource_id, (now, "231"), field="POWER")
    live = (await get(served, path)).json()
    assert (live["value"], live["status"]) == (int(now.timestamp()), "LIVE")


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (0, DeviceActivity.LIVE),
        (90, DeviceActivity.LIVE),
        (91, DeviceActivity.STALE),
        (24 * 60, DeviceActivity.STALE),
        (24 * 60 + 1, DeviceActivity.OFFLINE),
    ],
)
def test_half_hourly_device_is_stale_after_three_intervals_and_offline_after_a_day(
    minutes: int, expected: DeviceActivity
) -> None:
    assert device_activity(0, 30 * 60_000, minutes * 60_000) is expected
    assert device_activity(None, None, 0) is DeviceActivity.OFFLINE


async def test_edges_lead_from_homes_to_devices_and_back(served: House) -> None:
    query = """{ viewer { homes { edges { node { resources { resourceId device {
        deviceId type { description } status { status } resources { resourceId } } } } } } } }"""
    answer = await served.graphql(query, served.one.headers["account"])
    fed = [
        resource
        for home in answer["data"]["viewer"]["homes"]["edges"]
        for resource in home["node"]["resources"]
        if resource["resourceId"] == served.one.ids["resource"]
    ]
    for resource in fed:
        assert resource["device"]["deviceId"] == served.one.ids["device"]
        assert resource["device"]["type"] == {"description": "Display"}
        assert resource["device"]["resources"] == [{"resourceId": served.one.ids["resource"]}]
    assert fed


async def test_set_wise_edge_returns_each_device_its_own_rows(served: House) -> None:
    tenant = served.one
    devices = [
        await tenant.run("device", device_id=await add_device(tenant, await tenant.add_resource())) for _ in "ab"
    ]
    (first, second) = await tenant.edge(types.Device, "resources", devices)
    assert len(first) == len(second) == 1
    assert first != second
    statuses = await tenant.edge(types.Device, "status", devices)
    assert [status.device_id for status in statuses] == [device.device_id for device in devices]


async def test_application_counts_all_resources_and_a_user_only_own_ones(served: House) -> None:
    own = (await get(served, "/resource/count")).json()
    whole = (await get(served, "/resource/count", "application")).json()
    for counts in (own, whole):
        assert all(count["count"] == len(set(count["resourceIdList"])) for count in counts)
        assert served.one.ids["resource"] in [id_ for count in counts for id_ in count["resourceIdList"]]
    acting = (await get(served, "/resource/count", "acting")).json()
    assert acting == own


async def test_resources_of_a_type_for_a_user_and_for_an_application(served: House) -> None:
    path = f"/resourcetype/{served.one.ids['resource_type']}"
    own = (await get(served, f"{path}/resource", "acting")).json()
    whole = (await get(served, f"{path}/appresource", "application")).json()
    assert {resource["ownerId"] for resource in own} == {served.one.user_id}
    assert {resource["resourceId"] for resource in own} <= {resource["resourceId"] for resource in whole}
    nobody = await get(served, f"{path}/resource", "application")
    assert (nobody.status_code, nobody.json()["error"]) == (400, "missing elements -userId")
    by_token = await get(served, f"{path}/appresource")
    assert by_token.status_code == 403


async def test_tariff_list_has_started_tariffs_newest_first(served: House) -> None:
    resource_id = await served.one.add_resource()
    for year, rate in ((2024, "20"), (2026, "24.5"), (utc_now().year + 1, "99")):
        await served.one.set_tariff(
            resource_id,
            f"Fixed {year}",
            datetime(year, 1, 1, tzinfo=UTC),
            rate=Decimal(rate),
            standing_charge=Decimal(50),
        )
    listed = (await get(served, f"/resource/{resource_id}/tariff-list")).json()
    assert [tariff["displayName"] for tariff in listed["data"]] == ["Fixed 2026", "Fixed 2024"]
    assert listed["data"][0]["plan"] == [{"planDetail": [{"rate": 24.5}, {"standing": 50.0}]}]
    assert listed["data"][0]["from"] == listed["data"][0]["effectiveDate"] == "2026-01-01 00:00:00"
    assert all(isinstance(tariff["id"], str) for tariff in listed["data"])
