"""Users read the network's inventory of their own meter points, with a token, on both interfaces."""

from typing import Any
from uuid import uuid4

import pytest

from tests.support.house import House
from tests.support.metering import Metered, metered, record
from tests.support.residents import resident
from wattgate.db.models import NetworkDevice
from wattgate.energy.meters.meter_points import check_digit

pytestmark = pytest.mark.both_databases("separation of users and applications")

BY_POINT = (
    "query ($id: MeterPointNumber!) { meterPointInventory(meterPointNumber: $id) { inventory { eui deviceType } } }"
)
BY_EUI = "query ($id: ID!) { smartMeterInventory(eui: $id) { inventory { eui deviceType } } }"

DISCOVERED = "query ($id: String!) { discoverHardware(hardwareId: $id) { device { deviceId } networkDevice { eui } } }"


@pytest.fixture
async def point(served: House) -> Metered:
    return await metered(served.one)


async def read(served: House, point: Metered, headers: dict[str, str]) -> list[Any]:
    """Read the inventory by meter point and by EUI, over GraphQL and REST. Return the EUIs, or the error code."""
    results: list[Any] = []
    for document, path, wanted in (
        (BY_POINT, "meter-point", point.mpxn),
        (BY_EUI, "smart-meter", point.eui),
    ):
        answer = await served.graphql(document, headers, id=wanted)
        if "errors" in answer:
            results.append(answer["errors"][0]["extensions"]["code"])
        else:
            (inventory,) = answer["data"].values()
            results.append({device["eui"] for device in inventory["inventory"]})
        response = await served.call("GET", f"/device/{path}/{wanted}/inventory", headers)
        body = response.json()
        results.append({device["EUI"] for device in body["inventory"]} if response.is_success else body["code"])
    return results


async def discover(served: House, point: Metered, headers: dict[str, str]) -> Any:
    """Look for a device by its EUI, over GraphQL and REST. Return the record, or the error code of both."""
    answer = await served.graphql(DISCOVERED, headers, id=point.eui)
    response = await served.call("GET", f"/discover/{point.eui}", headers)
    if "errors" in answer:
        (error,) = answer["errors"]
        assert response.json()["code"] == error["extensions"]["code"]
        return response.json()["code"]
    found = answer["data"]["discoverHardware"]
    assert ("inventory" in response.json()) is (found["device"] is None)
    return found


@pytest.mark.parametrize("caller", ["account", "account basic", "acting", "application", "administrator"])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_own_inventory_is_readable_with_every_credential(served: House, point: Metered, caller: str) -> None:
    found = await read(served, point, served.one.headers[caller])
    assert all(point.eui in euis for euis in found), found
    assert [len(euis) for euis in found] == [2, 2, 1, 1]


async def test_inventory_of_others_is_not_found(served: House, point: Metered) -> None:
    unknown = Metered("", "4711", "00" * 8)
    neighbour = (await resident(served.one)).headers["account"]
    for headers in (
        neighbour,
        served.other.headers["account"],
        served.other.headers["acting"],
        served.one.headers["oauth"],
    ):
        assert await read(served, point, headers) == ["NOT_FOUND"] * 4
        assert await read(served, unknown, headers) == ["NOT_FOUND"] * 4
    messages = [
        (await served.graphql(document, neighbour, id=wanted))["errors"][0]["message"].replace(wanted, "ID")
        for document, known, other in ((BY_POINT, point.mpxn, "4711"), (BY_EUI, point.eui, "00" * 8))
        for wanted in (known, other)
    ]
    assert (messages[0], messages[2]) == (messages[1], messages[3])


async def test_consent_without_a_resource_suffices(served: House) -> None:
    core, eui = str(uuid4().int)[:12], uuid4().hex[:16].upper()
    number = core + check_digit(core)
    await record(served.one, NetworkDevice(eui=eui, mpxn=number, device_type="ESME"))
    headers = served.one.headers["account"]
    assert await read(served, Metered("", number, eui), headers) == ["NOT_FOUND"] * 4
    assert await discover(served, Metered("", number, eui), headers) == "NOT_FOUND"
    await served.one.run("verify_meter_point", mpxn=number)
    assert await discover(served, Metered("", number, eui), headers) == {"device": None, "networkDevice": {"eui": eui}}
    assert await read(served, Metered("", number, eui), headers) == [{eui}] * 4
    assert await read(served, Metered("", core, eui), headers) == [{eui}] * 4  # without its check digit


async def test_inventory_is_withheld_after_the_consent_is_revoked(served: House, point: Metered) -> None:
    headers = served.one.headers["account"]
    await served.one.run("verify_meter_point", mpxn=point.mpxn)
    for change, expected in (("revocation", True), ("renewal", False)):
        path = f"/user/verification/status/mpxn/{point.mpxn}/{change}"
        assert (await served.call("POST", path, headers)).status_code == 200
        found = await read(served, point, headers)
        assert (found == ["CONSENT_REVOKED"] * 4) is expected, found
        entry = {"device": None, "networkDevice": {"eui": point.eui}}
        assert await discover(served, point, headers) == ("NOT_FOUND" if expected else entry)
    application = await read(served, point, served.one.headers["application"])
    assert all(point.eui in euis for euis in application)


async def test_discovery_withholds_the_entry_of_a_device_after_the_consent_is_revoked(
    served: House, point: Metered
) -> None:
    headers = served.one.headers["account"]
    body = {"deviceTypeId": served.one.ids["device_type"], "hardwareId": point.eui, "hardwareIds": {}}
    added = await served.call("POST", "/device", served.one.headers["acting"], json=body)
    device = {"deviceId": added.json()["deviceId"]}
    await served.one.run("verify_meter_point", mpxn=point.mpxn)
    assert await discover(served, point, headers) == {"device": device, "networkDevice": {"eui": point.eui}}
    await served.call("POST", f"/user/verification/status/mpxn/{point.mpxn}/revocation", headers)
    assert await discover(served, point, headers) == {"device": device, "networkDevice": None}
    application = await discover(served, point, served.one.headers["application"])
    assert application["networkDevice"] == {"eui": point.eui}
