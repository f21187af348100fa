"""Moves of meter points with all that belongs to them, and their previews, which change nothing."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import text

from tests.support.calls import code_of
from tests.support.house import STORAGE, House, Tenant
from tests.support.interfaces import to_graphql_names
from tests.support.metering import HALF_HOUR, START, Metered, add_device, metered
from tests.support.residents import resident
from tests.support.sample_records import silence_rule
from tests.support.tables import check_rollups
from wattgate.clock import format_iso, utc_now
from wattgate.energy.meters.meter_points import check_digit
from wattgate.errors import Conflict
from wattgate.operations.moves import meter_point_moves
from wattgate.operations.tenancies import tenancies
from wattgate.operations.types.homes.meter_points import MeterPointMove
from wattgate.operations.types.homes.resources import NewResourceType

pytestmark = pytest.mark.either_database("some tests of the module run on both")

TABLES = {
    "resource": "resource_id",
    "device": "device_id",
    "alert_rule": "rule_id",
    "meter_point_consent": "consent_id",
    "dfs_user": "dfs_user_id",
    "virtual_entity": "ve_id",
    "meter_point_tenancy": "tenancy_id",
}
"""The tables that a move changes, with their keys."""

OF_WORKERS = {
    "alert_rule": ("active", "told", "judged_to", "due_at", "fired_at"),
    "meter_point_tenancy": ("listed_change",),
}
"""The state of rules, and whether the list of erasures has a tenancy. A worker writes them at any time."""

PREVIEW = """query (
  $mpxn: MeterPointNumber!, $userId: ID!, $movedInAt: DateTime, $deviceIds: [ID!], $homeName: String
) {
  move: meterPointMove(
    meterPointNumber: $mpxn, userId: $userId, movedInAt: $movedInAt, deviceIds: $deviceIds, homeName: $homeName
  ) { ...all }
}"""
MOVE = PREVIEW.replace("query", "mutation", 1).replace("meterPointMove", "moveMeterPoint")
ALL = """fragment all on MeterPointMove {
  meterPointNumber formerUserId userId movedInAt disabledAlertRuleIds endedConsent endedEnrolmentIds withdrawnReadings
  homeName homeId resources { resourceId resourceTypeId classifier active successorId }
  devices { deviceId hardwareId moves successorId }
}"""


async def graphql(house: House, document: str, **variables: Any) -> Any:
    answer = await house.graphql(f"{document} {ALL}", house.one.headers["application"], **variables)
    assert "errors" not in answer, answer
    return answer["data"]["move"]


async def rest(house: House, method: str, mpxn: str, **values: Any) -> httpx.Response:
    members = {"params" if method == "GET" else "json": values}
    path = f"/resource/meter-point/{mpxn}/move"
    answer: httpx.Response = await house.call(method, path, house.one.headers["application"], **members)
    return answer


async def stored(house: House, who: Tenant) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the records of a user, by table and key, and the number of readings.

    The columns of OF_WORKERS are left out.
    """
    async with house.gateway.database.engine.begin() as connection:
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for table, key in TABLES.items():
            left_out = dict.fromkeys(OF_WORKERS.get(table, ()))
            owner = "owner_id" if table in ("resource", "device", "virtual_entity") else "user_id"
            rows = await connection.execute(text(f"SELECT * FROM {table} WHERE {owner} = :id"), {"id": who.user_id})
            found[table] = {str(row[key]): {**row, **left_out} for row in rows.mappings()}
        numbers = ", ".join(str(resource["number"]) for resource in found["resource"].values())
        counted = await connection.execute(
            text(f"SELECT count(*) AS n FROM reading WHERE resource_number IN ({numbers or '-1'})")
        )
        found["reading"] = {"count": dict(counted.mappings().one())}
    return found


async def furnished(house: House, ada: Tenant) -> tuple[Metered, str, str]:
    """Give a household two types of resources, two devices, a home, a rule, a consent, an enrolment and readings.

    Return its meter point, the device that measures it, and the one that measures another meter point.
    """
    point, other = await metered(ada), await metered(ada)
    live_type = NewResourceType(name="live power", classifier="electricity.power", storage=STORAGE)
    live = (await house.one.run("add_resource_type", input=live_type)).resource_type_id
    values = {"resourceTypeId": live, "name": "live", "mpxn": point.mpxn}
    answer = await house.call("POST", "/resource", ada.headers["acting"], json=values)
    assert answer.status_code == 200, answer.text
    display, elsewhere = await add_device(ada, point.resource_id), await add_device(ada, other.resource_id)
    await ada.add_home(point.resource_id)
    await ada.run("verify_meter_point", mpxn=point.mpxn)
    await ada.run("add_alert_rule", input=silence_rule(ada, resource_id=point.resource_id, enabled=True))
    await ada.run("opt_in_to_dfs", mpxn=point.mpxn)
    await ada.record(point.resource_id, *((START + n * HALF_HOUR, "0.5") for n in range(100)))
    return point, display, elsewhere


@pytest.mark.both_databases("separation of households")
async def test_a_preview_equals_the_effect_and_changes_nothing(served: House, ada: Tenant, bob: Tenant) -> None:
    point, display, elsewhere = await furnished(served, ada)
    moved_in = START + 37 * HALF_HOUR
    request = {
        "mpxn": point.mpxn,
        "userId": bob.user_id,
        "movedInAt": format_iso(moved_in),
        "deviceIds": None,
        "homeName": "Bob's flat",
    }
    before = await stored(served, ada)
    preview = await graphql(served, PREVIEW, **request)
    by_rest = await rest(
        served, "GET", point.mpxn, **{name: request[name] for name in ("userId", "movedInAt", "homeName")}
    )
    assert to_graphql_names(by_rest.json()) == preview
    assert await stored(served, ada) == before
    move = await graphql(served, MOVE, **request)
    after, bobs = await stored(served, ada), await stored(served, bob)

    def changed(table: str, column: str) -> set[str]:
        return {key for key, row in before[table].items() if after[table][key][column] != row[column]}

    assert {one["resourceId"] for one in preview["resources"] if one["active"]} == changed("resource", "active")
    assert {one["resourceId"] for one in preview["resources"]} == changed("resource", "successor_id")
    assert {one["deviceId"] for one in preview["devices"] if one["moves"]} == changed("device", "active") == {display}
    assert set(preview["disabledAlertRuleIds"]) == changed("alert_rule", "enabled") != set()
    assert preview["endedConsent"] is bool(changed("meter_point_consent", "ended_at")) is True
    assert set(preview["endedEnrolmentIds"]) == changed("dfs_user", "active") != set()
    assert preview["withdrawnReadings"] == before["reading"]["count"]["n"] - after["reading"]["count"]["n"] == 63
    assert len(changed("meter_point_tenancy", "ended_at")) == 1
    assert {one["successorId"] for one in move["resources"]} == set(bobs["resource"])
    assert {one["successorId"] for one in move["devices"]} == set(bobs["device"])
    assert [move["homeId"]] == list(bobs["virtual_entity"])
    assert elsewhere not in {one["deviceId"] for one in preview["devices"]}
    for result in (preview, move):  # only the new records differ
        result["homeId"] = None
        for one in (*result["resources"], *result["devices"]):
            one["successorId"] = None
    assert preview == move
    listed = await served.call("GET", f"/virtualentity/{next(iter(bobs['virtual_entity']))}", bob.headers["account"])
    assert {one["resourceId"] for one in listed.json()["resources"]} == set(bobs["resource"])


async def test_the_device_that_stays_is_chosen(served: House, ada: Tenant, bob: Tenant) -> None:
    point, display, elsewhere = await furnished(served, ada)
    preview = await graphql(served, PREVIEW, mpxn=point.mpxn, userId=bob.user_id, deviceIds=[elsewhere])
    assert {one["deviceId"]: one["moves"] for one in preview["devices"]} == {elsewhere: True, display: False}
    answer = await rest(served, "POST", point.mpxn, userId=bob.user_id, deviceIds=[])
    assert answer.status_code == 200, answer.text
    assert [one["moves"] for one in answer.json()["devices"]] == [False]
    kept = (await stored(served, ada))["device"][display]
    assert (bool(kept["active"]), kept["remains_at"]) == (True, point.mpxn)
    bobs = await served.call("GET", "/device", bob.headers["account"])
    assert bobs.json() == []


async def test_the_new_resources_join_an_open_home_of_the_user(served: House, ada: Tenant, bob: Tenant) -> None:
    point, own, other = await metered(ada), await bob.add_home(), await metered(bob)
    (name,) = [row["name"] for row in (await stored(served, bob))["virtual_entity"].values()]
    move = await graphql(served, MOVE, mpxn=point.mpxn, userId=bob.user_id, homeName=name)
    assert move["homeId"] == own
    joined = await bob.add_home(other.resource_id)
    await served.call("PUT", f"/virtualentity/{joined}", bob.headers["account"], json={"name": "Elsewhere"})
    again = await metered(ada)
    answer = await rest(served, "POST", again.mpxn, userId=bob.user_id, homeName="Elsewhere")
    assert code_of(answer) == (409, "CONFLICT")
    assert other.mpxn in answer.text


async def test_moves_that_cannot_be_are_refused_and_change_nothing(served: House, ada: Tenant, bob: Tenant) -> None:
    point, stranger = await metered(ada), await resident(served.other)
    device = await add_device(bob)
    ahead = format_iso(utc_now() + timedelta(hours=1))
    cases: dict[str, tuple[str, dict[str, Any], tuple[int, str]]] = {
        "unknown meter point": ("999", {"userId": bob.user_id}, (404, "NOT_FOUND")),
        "no meter point": ("12-x", {"userId": bob.user_id}, (404, "NOT_FOUND")),
        "lives there": (point.mpxn, {"userId": ada.user_id}, (409, "CONFLICT")),
        "of another application": (point.mpxn, {"userId": stranger.user_id}, (400, "BAD_INPUT")),
        "in the future": (point.mpxn, {"userId": bob.user_id, "movedInAt": ahead}, (400, "BAD_INPUT")),
        "device of another": (point.mpxn, {"userId": bob.user_id, "deviceIds": [device]}, (400, "BAD_INPUT")),
    }
    before = await stored(served, ada)
    for name, (mpxn, values, code) in cases.items():
        assert code_of(await rest(served, "POST", mpxn, **values)) == code, name
        query = {key: value for key, value in values.items() if key != "deviceIds"}
        if query == values:
            assert code_of(await rest(served, "GET", mpxn, **query)) == code, name
    own = await served.call("POST", f"/resource/meter-point/{point.mpxn}/move", ada.headers["account"], json={})
    assert own.status_code == 403
    assert await stored(served, ada) == before
    await served.call("PUT", f"/resource/{point.resource_id}", ada.headers["account"], json={"active": False})
    assert code_of(await rest(served, "POST", point.mpxn, userId=bob.user_id)) == (409, "CONFLICT")


async def test_a_household_moves_out_and_back_again(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    away, back = START + HALF_HOUR, START + 2 * HALF_HOUR
    await graphql(served, MOVE, mpxn=point.mpxn, userId=bob.user_id, movedInAt=format_iso(away))
    early = {"userId": ada.user_id, "movedInAt": format_iso(START)}
    assert code_of(await rest(served, "POST", point.mpxn, **early)) == (409, "CONFLICT")
    await graphql(served, MOVE, mpxn=point.mpxn, userId=ada.user_id, movedInAt=format_iso(back))
    spans = [
        (row["began_at"], row["ended_at"])
        for who in (ada, bob)
        for row in (await stored(served, who))["meter_point_tenancy"].values()
    ]
    texts = sorted([str(began or "")[:16], str(ended or "")[:16]] for began, ended in spans)
    first, second = (datetime.strftime(at, "%Y-%m-%d %H:%M") for at in (away, back))
    assert texts == [["", first], [first, second], [second, ""]]


@pytest.mark.both_databases("separation of households")
async def test_two_gateways_that_move_a_meter_point_at_once_move_it_once(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    arguments = {"mpxn": point.mpxn, "user_id": bob.user_id}
    moves = (
        rest(served, "POST", point.mpxn, userId=bob.user_id),  # by the served gateway
        served.gateway.runner.run(meter_point_moves.move_meter_point, replace(ada.system, user_id=None), arguments),
    )
    answers = await asyncio.gather(*moves, return_exceptions=True)
    outcomes = [answer.status_code if isinstance(answer, httpx.Response) else type(answer) for answer in answers]
    assert outcomes in ([200, Conflict], [409, MeterPointMove])
    assert len((await stored(served, bob))["resource"]) == 1


async def test_the_devices_of_a_home_with_two_meter_points_follow_the_first(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    """A display measures electricity and gas. It moves with the first meter point, and feeds both of the next user."""
    point, gas = await metered(ada), await metered(ada)
    gas_type = NewResourceType(name="gas", classifier="gas.consumption", storage=STORAGE)
    type_id = (await served.one.run("add_resource_type", input=gas_type)).resource_type_id
    values = {"resourceTypeId": type_id, "name": "gas", "mpxn": gas.mpxn}
    second = (await served.call("POST", "/resource", ada.headers["acting"], json=values)).json()["resourceId"]
    await add_device(ada, point.resource_id, second)
    first_move = await graphql(served, MOVE, mpxn=point.mpxn, userId=bob.user_id)
    second_move = await graphql(served, MOVE, mpxn=gas.mpxn, userId=bob.user_id)
    (device_id,) = [one["successorId"] for one in first_move["devices"]]
    device = await served.call("GET", f"/device/{device_id}", bob.headers["account"])
    fed = {sensor["resourceId"] for sensor in device.json()["protocol"]["sensors"]}
    new = {one["resourceId"]: one["successorId"] for one in (*first_move["resources"], *second_move["resources"])}
    assert fed == {new[point.resource_id], new[second]}


@pytest.mark.parametrize("spelling", ["{a}-{b}", "{a} {b}", "\uff11{rest}", "{bare}"])
async def test_a_move_takes_each_spelling_of_the_meter_point(
    served: House, ada: Tenant, bob: Tenant, spelling: str
) -> None:
    """`createResource` takes each of them. An MPAN without its check digit is one of them."""
    bare = f"1{uuid4().int % 10**11:011}"
    number = bare + check_digit(bare)
    await served.call(
        "POST",
        "/resource",
        ada.headers["acting"],
        json={"resourceTypeId": ada.ids["resource_type"], "mpxn": number, "name": "meter"},
    )
    written = spelling.format(a=number[:4], b=number[4:], rest=number[1:], bare=bare)
    preview = await rest(served, "GET", quote(written), userId=bob.user_id)
    assert (preview.status_code, preview.json().get("mpxn")) == (200, number), preview.text
    assert (await graphql(served, MOVE, mpxn=written, userId=bob.user_id))["meterPointNumber"] == number
    assert code_of(await rest(served, "GET", "no-digits", userId=bob.user_id)) == (404, "NOT_FOUND")


@pytest.mark.both_databases("separation of households")
async def test_a_late_move_deletes_many_readings_in_pieces(
    served: House, ada: Tenant, bob: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ada has 100 half hours, 30 of them from before the move. One transaction deletes 20, or one day (UTC)."""
    monkeypatch.setattr(tenancies, "MAX_WITHDRAWN_READINGS", 20)
    point = await metered(ada)
    await ada.record(point.resource_id, *((START + n * HALF_HOUR, "0.5") for n in range(100)))
    request = {"userId": bob.user_id, "movedInAt": format_iso(START + 30 * HALF_HOUR)}
    before = await stored(served, ada)
    refused = await rest(served, "POST", point.mpxn, **request)
    assert code_of(refused) == (409, "CONFLICT")
    assert "70 readings" in refused.text
    assert await stored(served, ada) == before
    piece = {"mpxn": point.mpxn, "moved_in_at": START + 30 * HALF_HOUR, "user_id": bob.user_id}
    system = replace(ada.system, user_id=None)
    left = []
    while await served.gateway.runner.run(meter_point_moves.withdraw_before_move, system, piece):
        left.append((await stored(served, ada))["reading"]["count"]["n"])
        async with served.gateway.database.engine.begin() as connection:
            assert await connection.run_sync(check_rollups, [point.resource_id]) > 0
    assert left == [96, 48]  # the newest days: 4 half hours, 48, and 18 that the move itself deletes
    answer = await rest(served, "POST", point.mpxn, **request)
    assert (answer.status_code, answer.json()["withdrawnReadings"]) == (200, 18)
    assert (await stored(served, ada))["reading"]["count"]["n"] == 30
