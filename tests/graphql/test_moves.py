"""Resources and devices that change, close and move to another user. History stays with the old owner."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.calls import code_of, report, send
from tests.support.house import House, Tenant
from tests.support.metering import START, add_device, metered, resource_at
from tests.support.residents import resident
from tests.support.sample_records import silence_rule
from wattgate.clock import utc_now
from wattgate.errors import BadInput, Conflict
from wattgate.operations.devices import catch_ups

pytestmark = pytest.mark.either_database("some tests of the module run on both")

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def put(served: House, who: Tenant, path: str, caller: str = "account", **body: Any) -> httpx.Response:
    answer: httpx.Response = await send(served, who, "PUT", path, caller, **body)
    return answer


async def get(served: House, who: Tenant, path: str, caller: str = "account") -> httpx.Response:
    answer: httpx.Response = await send(served, who, "GET", path, caller)
    return answer


@pytest.fixture
async def owner(served: House) -> Tenant:
    return await resident(served.one)


@pytest.fixture
async def next_owner(served: House) -> Tenant:
    return await resident(served.one)


async def test_resource_is_changed_on_both_interfaces(served: House, owner: Tenant) -> None:
    resource_id = await owner.add_resource()
    changed = await put(served, owner, f"/resource/{resource_id}", name="Heat pump", label="HP", mpxn="1", ownerId="x")
    assert changed.status_code == 200, changed.text
    assert (changed.json()["name"], changed.json()["label"]) == ("Heat pump", "HP")
    assert (changed.json()["mpxn"], changed.json()["ownerId"]) == (None, owner.user_id)
    mutation = """mutation ($id: ID!) { updateResource(resourceId: $id, input: {description: "Cellar"}) {
      ... on Resource {
          name description
      }
    } }"""
    answer = await served.graphql(mutation, owner.headers["account"], id=resource_id)
    assert answer["data"]["updateResource"] == {"name": "Heat pump", "description": "Cellar"}
    stranger = await resident(served.one)
    assert code_of(await put(served, stranger, f"/resource/{resource_id}", name="Mine")) == (404, "NOT_FOUND")
    assert code_of(await put(served, owner, f"/resource/{resource_id}", name=None)) == (400, "BAD_INPUT")


async def test_closed_resource_keeps_its_readings_and_gets_no_new_ones_until_it_is_open(
    served: House, owner: Tenant
) -> None:
    point = await metered(owner)
    path = f"/resource/{point.resource_id}"
    await owner.record(point.resource_id, (START, "0.5"))
    reading = {"readings": [{"at": "2026-03-02T00:00:00Z", "value": 0.25}]}
    assert (await put(served, owner, path, active=False)).json()["active"] is False
    assert (await get(served, owner, "/resource")).json() == []
    assert (await get(served, owner, f"{path}/last-time")).json()["data"] == {"lastTs": int(START.timestamp())}
    refused = await served.call("POST", f"{path}/readings", owner.headers["account"], json=reading)
    assert code_of(refused) == (400, "BAD_INPUT")
    for suffix in ("catchup", "meterread"):
        assert code_of(await get(served, owner, f"{path}/{suffix}")) == (409, "CONFLICT")
    assert (await put(served, owner, path, active=True)).json()["active"] is True
    assert (await served.call("POST", f"{path}/readings", owner.headers["account"], json=reading)).status_code == 200
    assert (await get(served, owner, f"{path}/catchup")).status_code == 200


async def test_catch_up_that_waits_while_its_resource_is_closed_retrieves_nothing(served: House, owner: Tenant) -> None:
    point = await metered(owner)
    await put(served, owner, f"/resource/{point.resource_id}", active=False)
    with pytest.raises(Conflict):
        await served.gateway.runner.run(catch_ups.network_readings, owner.system, {"resource_id": point.resource_id})


async def move(served: House, path: str, user_id: str, caller: str = "application") -> httpx.Response:
    return await put(served, served.one, f"{path}/owner", caller, userId=user_id)


async def test_moved_resource_stays_closed_when_nobody_lives_there(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    for resource_id in (point.resource_id, await owner.add_resource("without a meter point")):
        path = f"/resource/{resource_id}"
        moved = (await move(served, path, next_owner.user_id)).json()
        assert (await put(served, next_owner, f"/resource/{moved['resourceId']}", active=False)).status_code == 200
        assert code_of(await put(served, owner, path, active=True)) == (409, "CONFLICT")


@pytest.mark.both_databases("separation of users and applications")
async def test_moved_resource_starts_without_history_and_the_old_one_keeps_it(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    home_id = await owner.add_home(point.resource_id)
    await owner.record(point.resource_id, (START, "0.5"))
    await owner.set_tariff(point.resource_id)
    moved = await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    assert moved.status_code == 200, moved.text
    new = moved.json()
    assert (new["ownerId"], new["mpxn"], new["active"]) == (next_owner.user_id, point.mpxn, True)
    assert new["resourceId"] != point.resource_id
    path = f"/resource/{new['resourceId']}"
    assert (await get(served, next_owner, f"{path}/current")).json()["data"] == []
    assert (await get(served, next_owner, f"{path}/tariff")).json()["data"] == []
    for suffix in ("", "/current", "/tariff-list"):
        assert code_of(await get(served, next_owner, f"/resource/{point.resource_id}{suffix}"))[0] == 404
    old = (await get(served, owner, f"/resource/{point.resource_id}")).json()
    assert (old["active"], old["ownerId"]) == (False, owner.user_id)
    assert (await get(served, owner, f"/resource/{point.resource_id}/current")).json()["data"] != []
    assert (await get(served, owner, f"/resource/{point.resource_id}/tariff")).json()["data"] != []
    assert (await get(served, owner, f"/virtualentity/{home_id}")).json()["resources"] == []
    assert code_of(await get(served, owner, path))[0] == 404


@pytest.mark.both_databases("separation of users and applications")
async def test_moved_resource_is_never_opened_again_by_its_old_owner(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    for caller in ("account", "acting", "administrator"):
        answer = await put(served, owner, f"/resource/{point.resource_id}", caller, active=True)
        assert code_of(answer) == (409, "CONFLICT")
    for suffix in ("catchup", "meterread"):  # they would ask the network for the next owner's data
        assert code_of(await get(served, owner, f"/resource/{point.resource_id}/{suffix}")) == (409, "CONFLICT")
    third = await resident(served.one)
    assert code_of(await move(served, f"/resource/{point.resource_id}", third.user_id)) == (409, "CONFLICT")


async def test_a_repeated_move_returns_the_same_resource(served: House, owner: Tenant, next_owner: Tenant) -> None:
    point = await metered(owner)
    answers = await asyncio.gather(
        *(move(served, f"/resource/{point.resource_id}", next_owner.user_id) for _ in range(4))
    )
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["resourceId"] for answer in answers}) == 1
    assert len((await get(served, next_owner, "/resource")).json()) == 1


@pytest.mark.both_databases("separation of users and applications")
async def test_old_owner_has_no_access_by_another_resource_at_the_meter_point(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    open_one, closed_one = [await resource_at(owner, point.mpxn) for _ in range(2)]
    await put(served, owner, f"/resource/{closed_one}", active=False)
    await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    for resource_id in (open_one, closed_one):
        assert (await get(served, owner, f"/resource/{resource_id}")).json()["active"] is False
        for caller in ("account", "acting", "administrator"):
            answer = await put(served, owner, f"/resource/{resource_id}", caller, active=True)
            assert code_of(answer) == (409, "CONFLICT")
        assert code_of(await get(served, owner, f"/resource/{resource_id}/meterread")) == (409, "CONFLICT")
    again = await served.call(
        "POST",
        "/resource",
        owner.headers["account"],
        json={"resourceTypeId": owner.ids["resource_type"], "name": "again", "mpxn": point.mpxn},
    )
    assert code_of(again)[0] == 403


@pytest.mark.both_databases("separation of users and applications")
async def test_nobody_opens_a_resource_where_another_user_lives(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    path = f"/resource/{point.resource_id}"
    await put(served, owner, path, active=False)
    assert (await put(served, owner, path, active=True)).status_code == 200
    await put(served, owner, path, active=False)
    await resource_at(next_owner, point.mpxn)
    for caller in ("account", "acting", "administrator"):
        assert code_of(await put(served, owner, path, caller, active=True)) == (409, "CONFLICT")


async def test_costs_move_with_the_resource_of_their_energy(served: House, owner: Tenant, next_owner: Tenant) -> None:
    energy = await owner.add_resource()
    cost = await owner.add_resource("cost", cost_of=energy)
    assert code_of(await move(served, f"/resource/{cost}", next_owner.user_id)) == (409, "CONFLICT")
    moved = (await move(served, f"/resource/{energy}", next_owner.user_id)).json()
    new_cost = [item for item in (await get(served, next_owner, "/resource")).json() if item["costOf"]]
    assert [item["costOf"] for item in new_cost] == [moved["resourceId"]]
    assert (await get(served, owner, "/resource")).json() == []


@pytest.mark.parametrize("kind", ["resource", "device"])
@pytest.mark.both_databases("separation of users and applications")
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_only_the_application_moves_records_and_only_to_its_own_active_users(
    served: House, owner: Tenant, next_owner: Tenant, kind: str
) -> None:
    resource_id = await owner.add_resource()
    path = f"/{kind}/{resource_id if kind == 'resource' else await add_device(owner, resource_id)}"
    for caller in ("account", "acting"):
        refused = await put(served, owner, f"{path}/owner", caller, userId=next_owner.user_id)
        assert code_of(refused) == (403, "FORBIDDEN")
    for user_id in (UNKNOWN, served.other.user_id):
        refused = await move(served, path, user_id)
        assert code_of(refused) == (400, "BAD_INPUT")
        assert refused.json()["problems"] == [{"path": ["userId"], "message": f"{user_id} does not exist"}]
    closed = await resident(served.one)
    await served.call("DELETE", f"/user/{closed.user_id}", served.one.headers["application"])
    assert code_of(await move(served, path, closed.user_id)) == (400, "BAD_INPUT")
    assert code_of(await move(served, path, owner.user_id)) == (409, "CONFLICT")
    foreign = await put(served, served.other, f"{path}/owner", "application", userId=served.other.user_id)
    assert code_of(foreign) == (404, "NOT_FOUND")
    assert (await move(served, path, next_owner.user_id, "administrator")).status_code == 200


@pytest.mark.both_databases("separation of users and applications")
async def test_old_owner_cannot_claim_devices_at_the_meter_point_of_a_moved_resource(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    await owner.run("verify_meter_point", mpxn=point.mpxn)
    await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    device = {"deviceTypeId": owner.ids["device_type"], "hardwareId": point.eui, "hardwareIds": {}}
    assert code_of(await served.call("POST", "/device", owner.headers["account"], json=device)) == (403, "FORBIDDEN")
    await next_owner.run("verify_meter_point", mpxn=point.mpxn)
    added = await served.call("POST", "/device", next_owner.headers["account"], json=device)
    assert added.status_code == 200, added.text


async def test_device_is_changed_and_its_sensors_feed_only_resources_of_its_owner(served: House, owner: Tenant) -> None:
    first, second = await owner.add_resource(), await owner.add_resource()
    path = f"/device/{await add_device(owner, first)}"
    sensors = {"sensors": [{"protocolId": "ELEC", "resourceId": second}]}
    changed = await put(
        served, owner, path, description="Hall", hardwareIds={"serialNumber": "S-1"}, protocol=sensors, hardwareId="x"
    )
    assert changed.status_code == 200, changed.text
    body = changed.json()
    assert (body["description"], body["hardwareIds"]) == ("Hall", {"serialNumber": "S-1"})
    assert [sensor["resourceId"] for sensor in body["protocol"]["sensors"]] == [second]
    assert body["hardwareId"] != "x"
    foreign = {"sensors": [{"protocolId": "ELEC", "resourceId": served.one.ids["resource"]}]}
    for caller in ("account", "administrator"):
        assert code_of(await put(served, owner, path, caller, protocol=foreign)) == (400, "BAD_INPUT")
    for name in ("protocol", "hardwareIds"):
        nulls: dict[str, Any] = {name: None}
        assert code_of(await put(served, owner, path, **nulls)) == (400, "BAD_INPUT")
    assert code_of(await put(served, await resident(served.one), path, description="Mine"))[0] == 404


async def test_removed_device_keeps_its_history_and_frees_its_hardware_id(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    device_id = await add_device(owner, await owner.add_resource())
    path = f"/device/{device_id}"
    hardware_id = (await get(served, owner, path)).json()["hardwareId"]
    removed = await served.call("DELETE", path, owner.headers["account"])
    assert (removed.status_code, removed.json()["active"], removed.json()["hardwareId"]) == (200, False, hardware_id)
    assert (await served.call("DELETE", path, owner.headers["account"])).status_code == 200
    assert (await get(served, owner, "/device")).json() == []
    assert code_of(await get(served, owner, f"/discover/{hardware_id}"))[0] == 404
    assert code_of(await put(served, owner, path, description="x")) == (409, "CONFLICT")
    assert code_of(await move(served, path, next_owner.user_id)) == (409, "CONFLICT")
    body = {"deviceTypeId": owner.ids["device_type"], "hardwareId": hardware_id, "hardwareIds": {}}
    added = await served.call("POST", "/device", next_owner.headers["acting"], json=body)
    assert added.status_code == 200, added.text
    assert (await get(served, owner, path)).json()["ownerId"] == owner.user_id
    assert code_of(await get(served, next_owner, path))[0] == 404


@pytest.mark.both_databases("separation of users and applications")
async def test_moved_device_shows_its_new_owner_nothing_of_the_old_one(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    device_id = await add_device(owner, point.resource_id)
    await put(served, owner, f"/device/{device_id}", description="At Ada's", hardwareIds={"MPAN": point.mpxn})
    hardware_id = (await get(served, owner, f"/device/{device_id}")).json()["hardwareId"]
    await report(served, owner, hardware_id, utc_now())
    moved = await move(served, f"/device/{device_id}", next_owner.user_id)
    assert moved.status_code == 200, moved.text
    new = moved.json()
    assert (new["ownerId"], new["hardwareId"], new["description"]) == (next_owner.user_id, hardware_id, "")
    assert (new["hardwareIds"], new["proof"], new["deviceId"] == device_id) == ({}, "APPLICATION", False)
    query = "query ($id: ID!) { device(deviceId: $id) { networkState { at } status { found } resources { name } } }"
    answer = await served.graphql(query, next_owner.headers["account"], id=new["deviceId"])
    assert answer["data"]["device"] == {"networkState": None, "status": {"found": False}, "resources": []}
    assert (await get(served, owner, f"/device/{device_id}")).json()["active"] is False


@pytest.mark.parametrize("first", ["resource", "device"])
async def test_readings_of_a_moved_device_go_to_the_moved_resource_in_either_order(
    served: House, owner: Tenant, next_owner: Tenant, first: str
) -> None:
    point = await metered(owner)
    device_id = await add_device(owner, point.resource_id)
    paths = [f"/resource/{point.resource_id}", f"/device/{device_id}"]
    answers = [await move(served, path, next_owner.user_id) for path in (paths if first == "resource" else paths[::-1])]
    assert [answer.status_code for answer in answers] == [200, 200]
    bodies = {("device" if "deviceId" in answer.json() else "resource"): answer.json() for answer in answers}
    assert await report(served, next_owner, bodies["device"]["hardwareId"], utc_now()) == 1
    new_path, old_path = f"/resource/{bodies['resource']['resourceId']}", paths[0]
    assert [value for _, value in (await get(served, next_owner, f"{new_path}/current")).json()["data"]] == [230]
    assert (await get(served, owner, f"{old_path}/current")).json()["data"] == []


async def test_moved_resource_is_fed_only_by_the_one_device_that_can_measure_it(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    elsewhere, point = await metered(owner), await metered(owner)
    other_display = await moved_display(served, owner, next_owner, point.resource_id, MPAN=elsewhere.mpxn)
    display = await moved_display(served, owner, next_owner, point.resource_id)
    moved = (await move(served, f"/resource/{point.resource_id}", next_owner.user_id)).json()
    assert await fed_by(served, next_owner, display) == [moved["resourceId"]]
    assert await fed_by(served, next_owner, other_display) == []


async def test_moved_resource_is_fed_by_no_device_if_several_can_measure_it(
    served: House, owner: Tenant, next_owner: Tenant
) -> None:
    point = await metered(owner)
    displays = [await moved_display(served, owner, next_owner, point.resource_id) for _ in range(2)]
    await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    assert [await fed_by(served, next_owner, display) for display in displays] == [[], []]


async def moved_display(served: House, owner: Tenant, next_owner: Tenant, resource_id: str, **hardware_ids: str) -> str:
    """Move a display that feeds a resource to another user, so that its sensor is free. Return its new ID."""
    old_id = await add_device(owner, resource_id)
    device_id = str((await move(served, f"/device/{old_id}", next_owner.user_id)).json()["deviceId"])
    assert (await put(served, next_owner, f"/device/{device_id}", hardwareIds=hardware_ids)).status_code == 200
    return device_id


async def fed_by(served: House, tenant: Tenant, device_id: str) -> list[str]:
    """Return the resources that a device feeds."""
    device = (await get(served, tenant, f"/device/{device_id}")).json()
    return [sensor["resourceId"] for sensor in device["protocol"]["sensors"] if sensor["resourceId"]]


async def test_rules_and_enrolments_of_a_moved_resource_end(served: House, owner: Tenant, next_owner: Tenant) -> None:
    point = await metered(owner)
    await owner.run("verify_meter_point", mpxn=point.mpxn)
    await owner.run("opt_in_to_dfs")
    rule = await owner.run("add_alert_rule", input=silence_rule(owner, resource_id=point.resource_id, enabled=True))
    await move(served, f"/resource/{point.resource_id}", next_owner.user_id)
    kept = await get(served, owner, f"/alertrule/{rule.rule_id}")
    assert (kept.json()["enabled"], kept.json()["resourceId"]) == (False, point.resource_id)
    assert (await get(served, next_owner, "/alertrule")).json() == []
    assert (await get(served, owner, "/dfs/user")).json() == []
    assert (await get(served, owner, "/user/verification/status")).json()["meterPointVerification"][0]["mpxn"]
    with pytest.raises(BadInput, match="the user has no meter point"):
        await owner.run("opt_in_to_dfs")


async def test_device_that_was_added_under_its_eui_sends_under_its_mac_address(served: House, owner: Tenant) -> None:
    resource_id = await owner.add_resource()
    mac = uuid4().hex[:12].upper()
    body = {
        "deviceTypeId": owner.ids["device_type"],
        "hardwareId": f"{mac[:6]}FFFE{mac[6:]}",
        "hardwareIds": {},
        "protocol": {"sensors": [{"protocolId": "ELEC", "resourceId": resource_id}]},
    }
    assert (await served.call("POST", "/device", owner.headers["acting"], json=body)).status_code == 200
    assert await report(served, owner, mac, utc_now()) == 1
    assert await report(served, owner, uuid4().hex[:12], utc_now()) == 0
