"""Purposes of devices, and of the meter network: its inventory, and what it says about meter points."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tests.rest_compat.purposes.walk import Person, Walk, nodes
from tests.support.metering import metered

STATUS = "query ($d: ID!) { device(deviceId: $d) { status { found lastPacketAt } } }"


async def new_device(walk: Walk, resource_id: str) -> dict[str, Any]:
    """Return the input of a device that a person has claimed, and that feeds a resource."""
    hardware_id = uuid4().hex[:12].upper()
    claim = (
        "mutation ($i: NewDeviceClaim!) { registerDeviceClaim(input: $i) { ... on DeviceClaim { code } ...Refused } }"
    )
    code = (await walk.graphql(claim, walk.application, i={"hardwareId": hardware_id}))["code"]
    return {
        "deviceTypeId": walk.tenant.ids["device_type"],
        "hardwareId": hardware_id,
        "hardwareIds": {"MAC": hardware_id},
        "claimCode": code,
        "protocol": {"sensors": [{"protocolId": "ELEC", "resourceId": resource_id}]},
    }


async def _resource(walk: Walk, person: Person) -> str:
    add = "mutation ($i: NewResource!) { createResource(input: $i) { ... on Resource { resourceId } ...Refused } }"
    new = {"resourceTypeId": walk.tenant.ids["resource_type"], "name": "electricity"}
    return str((await walk.graphql(add, person.acting, i=new))["resourceId"])


async def walk_devices(walk: Walk) -> None:
    person = await walk.person()
    resources = [await _resource(walk, person) for _ in range(2)]
    with walk.purpose("/device", "add a device"):
        body = await new_device(walk, resources[0])
        first = (await walk.rest("POST", "/device", person.token, json=body))["deviceId"]
        shown = await walk.node("Device", first, "hardwareId ownerId resources { resourceId }", person.token)
        expected = {"hardwareId": body["hardwareId"], "ownerId": person.user_id}
        assert shown == {**expected, "resources": [{"resourceId": resources[0]}]}
    add = "mutation ($i: NewDevice!) { createDevice(input: $i) { ... on Device { deviceId } ...Refused } }"
    other = await new_device(walk, resources[1])
    second = (await walk.graphql(add, person.token, i=other))["deviceId"]
    with walk.purpose("/device/{id}", "find a device"):
        found = await walk.rest("GET", f"/device/{second}", person.token)
        assert (found["hardwareId"], found["ownerId"]) == (other["hardwareId"], person.user_id)
    with walk.purpose("/device", "get a user's devices"):
        listed = {each["deviceId"] for each in await walk.rest("GET", "/device", person.token)}
        devices = await walk.graphql("{ viewer { devices { edges { node { deviceId } } } } }", person.token)
        assert listed == {first, second} == {each["deviceId"] for each in nodes(devices["devices"])}
    with walk.purpose("/device/resource/{resourceId}", "device sourcing a resource"):
        assert (await walk.rest("GET", f"/device/resource/{resources[1]}", person.token))["deviceId"] == second
    with walk.purpose("/discover/{hardwareId}", "find a device by hardware ID"):
        found = await walk.rest("GET", f"/discover/{other['hardwareId']}", person.token)
        assert found["deviceId"] == second
    await _walk_status(walk, person, first, resources[0])


async def _walk_status(walk: Walk, person: Person, device_id: str, resource_id: str) -> None:
    """Send a packet of a device over GraphQL: REST says that the device sends."""
    hardware_id = (await walk.rest("GET", f"/device/{device_id}", person.token))["hardwareId"]
    silent = await walk.rest("GET", f"/device/{device_id}/status", person.token)
    at = datetime.now(UTC).replace(microsecond=0)
    record = "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } ...Refused } }"
    readings = [{"at": at.isoformat(), "value": 640}]
    series = [{"resourceId": resource_id, "field": "POWER", "readings": readings}]
    await walk.graphql(record, person.acting, s=series)
    with walk.purpose("/device/{id}/status", "whether a gateway device is sending packets to the platform"):
        status = await walk.rest("GET", f"/device/{device_id}/status", person.token)
        assert (silent["found"], silent["value"]) == (False, None)
        assert (status["found"], status["value"]) == (True, int(at.timestamp()))
        shown = (await walk.graphql(STATUS, person.token, d=device_id))["status"]
        assert (shown["found"], datetime.fromisoformat(shown["lastPacketAt"])) == (True, at)
    with walk.purpose("/device/status", "same check, without a device ID in the path"):
        assert await walk.rest("GET", "/device/status", person.token, params={"tags": hardware_id}) == status


async def walk_inventory(walk: Walk) -> None:
    """Commission a meter and its display in the network, and ask for them."""
    point, account = await metered(walk.tenant), walk.tenant.headers["account"]
    inventory = (
        "query ($m: MeterPointNumber!) { meterPointInventory(meterPointNumber: $m) { inventory { eui deviceType } } }"
    )
    devices = (await walk.graphql(inventory, account, m=point.mpxn))["inventory"]
    path = "/device/meter-point/{meterPointNumber}"
    with walk.purpose(f"{path}/inventory", "data communications company inventory of a meter point"):
        answer = await walk.rest("GET", f"/device/meter-point/{point.mpxn}/inventory", account)
        assert {(each["EUI"], each["DeviceType"]) for each in answer["inventory"]} == {
            (each["eui"], each["deviceType"]) for each in devices
        }
        assert {each["deviceType"] for each in devices} == {"PPMID", "ESME"}
    with walk.purpose("/device/smart-meter/{eui}/inventory", "inventory by EUI"):
        by_eui = await walk.rest("GET", f"/device/smart-meter/{point.eui}/inventory", account)
        assert point.eui in {each["EUI"] for each in by_eui["inventory"]}
    with walk.purpose(f"{path}/resources", "resources associated to a meter point"):
        answer = await walk.rest("GET", f"/device/meter-point/{point.mpxn}/resources", account)
        query = (
            "query ($m: MeterPointNumber!) { meterPointResources(meterPointNumber: $m) { resources { resourceId } } }"
        )
        shown = (await walk.graphql(query, account, m=point.mpxn))["resources"]
        assert [each["resourceId"] for each in answer["resources"]] == [point.resource_id]
        assert shown == [{"resourceId": point.resource_id}]
    await _walk_eligibility(walk, point.mpxn, point.eui)


async def _walk_eligibility(walk: Walk, mpxn: str, eui: str) -> None:
    """Ask what the network says about a meter point that it has, and about one that it has not."""
    unknown = {"mpxn": str(uuid4().int)[:13], "eui": uuid4().hex[:16].upper()}
    clause = "check whether a meter point number has a consumer access device or prepayment meter interface device"
    checks: list[tuple[str, str, str, dict[str, str]]] = [
        ("smets-ihd-cad", clause, "has_consumer_device", {"mpxn": mpxn}),
        (
            "checksmetsihd/postcode",
            "match an EUI of an in-home display with a postcode",
            "display_at_postcode",
            {"postcode": "ls6 3qt", "eui": eui},
        ),
        (
            "checksmetsihd",
            "match an EUI of an in-home display with a meter point number",
            "display_at_meter_point",
            {"mpxn": mpxn, "eui": eui},
        ),
        (
            "checksmetsmpxn",
            "check that a meter point number is eligible in the data communications company's network",
            "meter_point_eligible",
            {"mpxn": mpxn},
        ),
    ]
    for path, clause, name, known in checks:
        with walk.purpose(f"/eligibility/{path}", clause):
            others = {**known, **{key: unknown[key] for key in unknown if key in known}}
            for values, valid in ((known, True), (others, False)):
                answer = await walk.rest("POST", f"/eligibility/{path}", walk.application, json=values)
                assert answer["valid"] is valid
                assert await walk.query(name, walk.application, **values) == {"valid": valid}


JOURNEYS = (walk_devices, walk_inventory)
