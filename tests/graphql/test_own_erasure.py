"""A person erases one home, and then everything, on a private gateway. Other gateways leave this to their operator."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support.house import PASSWORD, House, house
from tests.support.planted import ADD_HOME, ADD_RESOURCE, HALF_HOURS, HARDWARE_ID, MPAN, Planted, plant
from tests.support.refusals import refusal_of
from tests.support.servers import Databases
from tests.support.timed import Clock
from tests.support.traces import find_in_tables
from tests.support.waiting import until_answer
from wattgate.db import models
from wattgate.principal import Permission, Principal, Role

pytestmark = pytest.mark.both_databases("separation of users and applications")

ERASE = """mutation ($homeId: ID, $everything: Boolean, $password: String) {
  eraseMyData(homeId: $homeId, everything: $everything, password: $password) {
    ... on Erasure { state userId } ...Refused } }"""
EXPORT = "mutation { exportMyData { ... on DataExport { state } ...Refused } }"
HOMES = "{ viewer { homes { edges { node { homeId } } } } }"


@pytest.fixture(scope="module")
async def clock(databases: Databases) -> Clock:
    return Clock()


@pytest.fixture(scope="module")
async def place(databases: Databases, clock: Clock) -> AsyncIterator[House]:
    """A private gateway on each engine."""
    async with databases() as url, house(url, clock=clock, deliver=False, private_gateway=True) as served:
        yield served


async def _add_second_home(planted: Planted) -> None:
    """Add a home that shares the resource without a meter point with the first one, and has one of its own."""
    ids, tenant = planted.ids, planted.tenant
    cellar = {"resourceTypeId": tenant.ids["resource_type"], "name": "Cellar"}
    ids["cellar"] = (await planted.ask(ADD_RESOURCE, i=cellar))["resourceId"]
    home = {"homeTypeId": tenant.ids["virtual_entity_type"], "name": "Second"}
    both = [{"resourceId": ids["unbilled"]}, {"resourceId": ids["cellar"]}]
    ids["second"] = (await planted.ask(ADD_HOME, i={**home, "resources": both}))["homeId"]
    link = """mutation ($h: ID!, $r: ID!) { addResourceToHome(homeId: $h, resourceId: $r) {
      ... on Home { homeId } ...Refused } }"""
    await planted.ask(link, h=ids["home"], r=ids["unbilled"])


async def _stored(planted: Planted) -> dict[str, Any]:
    """Return the state of each resource: whether the person owns it, and the numbers of its readings and tariffs."""

    async def read(rows: Any) -> dict[str, Any]:
        found = {}
        for name in ("billed", "unbilled"):
            resource = await rows.get(models.Resource, planted.ids[name])
            energy = await rows.readings.list_readings((resource.number, 0), 0, 2**62, limit=10)
            tariffs = await rows.count(models.Tariff, models.Tariff.resource_id == planted.ids[name])
            found[name] = (resource.owner_id == planted.user_id, len(energy), tariffs)
        return found

    principal = Principal(Role.SYSTEM, application_id=planted.tenant.application_id)
    return dict(await planted.tenant.gateway.runner.read(principal, Permission.SYSTEM, read))


async def _until(planted: Planted, expected: dict[str, Any]) -> None:
    async def is_reached() -> bool:
        return await _stored(planted) == expected

    await until_answer(is_reached)


async def test_a_person_erases_one_home_and_then_everything(place: House, clock: Clock) -> None:
    planted = await plant(place, place.one)
    await _add_second_home(planted)
    assert await _stored(planted) == {"billed": (True, 4, 1), "unbilled": (True, 4, 1)}
    await planted.ask(EXPORT, planted.headers)
    for none_or_both in ({}, {"homeId": planted.ids["home"], "everything": True}):
        refused = refusal_of(await place.graphql(ERASE, planted.headers, **none_or_both))
        assert refused["code"] == "BAD_INPUT", refused
    other_name = await place.call(
        "POST", f"/user/{planted.user_id}/erasure", planted.headers, json={"homeId": planted.ids["home"]}
    )
    assert other_name.status_code == 400, other_name.text  # it erased the user
    erased = await planted.ask(ERASE, planted.headers, homeId=planted.ids["home"])
    export = await place.call("GET", f"/user/{planted.user_id}/export", planted.headers)
    assert export.status_code == 404, export.text  # it had the readings of the home
    assert erased["userId"] != planted.user_id
    homes = await planted.ask(HOMES, planted.headers)
    assert [edge["node"]["homeId"] for edge in homes["homes"]["edges"]] == [planted.ids["second"]]
    await _until(planted, {"billed": (False, 0, 0), "unbilled": (True, 4, 1)})
    # the meter point is the person's again, from the time before
    meter = {"resourceTypeId": place.one.ids["resource_type"], "name": "New meter", "meterPointNumber": MPAN}
    meter_id = (await planted.ask(ADD_RESOURCE, i=meter))["resourceId"]
    readings = [{"at": at.isoformat(), "value": "0.5"} for at in HALF_HOURS]
    record = "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } ...Refused } }"
    assert (await planted.ask(record, s=[{"resourceId": meter_id, "readings": readings}]))["recorded"] == 4
    # an old log-in needs the password
    clock.now += timedelta(minutes=30)
    old = refusal_of(await place.graphql(ERASE, planted.headers, everything=True))
    assert old["code"] == "REAUTHENTICATION_REQUIRED", old
    wrong = refusal_of(await place.graphql(ERASE, planted.headers, everything=True, password="wrong horse"))
    assert (wrong["code"], wrong["problems"][0]["path"]) == ("BAD_INPUT", ["password"]), wrong
    erased = await planted.ask(ERASE, planted.headers, everything=True, password=PASSWORD)
    assert erased["userId"] == planted.user_id
    assert (await place.call("GET", "/user/" + planted.user_id, planted.headers)).status_code == 401
    await _until(planted, {"billed": (False, 0, 0), "unbilled": (True, 0, 0)})

    async def has_no_trace() -> bool:
        return not await find_in_tables(place.gateway.database, HARDWARE_ID, "xyzzyq", "plugh")

    await until_answer(has_no_trace)


async def test_a_resource_of_two_homes_goes_with_the_second_one(place: House) -> None:
    """It also goes if the worker has not deleted the first home yet: the erasures come at once."""
    planted = await plant(place, place.other)
    await _add_second_home(planted)
    erasures = (planted.ask(ERASE, planted.headers, homeId=planted.ids[name]) for name in ("home", "second"))
    await asyncio.gather(*erasures)
    await _until(planted, {"billed": (False, 0, 0), "unbilled": (False, 0, 0)})
    await planted.ask(ERASE, planted.headers, everything=True)  # another test searches the database for traces


async def test_only_the_own_home_of_a_person_is_erased(place: House) -> None:
    """Also an administrator, who sees the homes of all, erases only own ones."""
    tenant = place.other
    home = {"homeTypeId": tenant.ids["virtual_entity_type"], "name": "Grace's home", "resources": []}
    acting = {**tenant.headers["application"], "userId": tenant.user_id}
    added = await place.graphql(ADD_HOME, acting, i=home)
    home_id = added["data"]["createHome"]["homeId"]
    variables = {"homeId": home_id, "password": PASSWORD}
    refused = refusal_of(await place.graphql(ERASE, tenant.headers["administrator"], **variables))
    assert refused["code"] == "NOT_FOUND", refused
    answer = await place.call("POST", "/user/unknown/erasure", tenant.headers["account"], json={})
    assert answer.status_code == 404, answer.text


async def test_the_operator_of_another_gateway_erases(served: House) -> None:
    refused = refusal_of(await served.graphql(ERASE, served.one.headers["account"], everything=True))
    assert (refused["code"], "WATTGATE_PRIVATE_GATEWAY=true" in refused["message"]) == ("CONFLICT", True), refused
