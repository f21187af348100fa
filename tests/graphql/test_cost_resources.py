"""Resources that hold the costs of another resource's energy: linked, computed, never recorded."""

from uuid import uuid4

import pytest
from strawberry import ID

from tests.support.calls import code_of, send
from tests.support.costs import cost_resource, priced_half_hours, query_field
from tests.support.house import House, Tenant
from tests.support.interfaces import to_graphql_names
from tests.support.metering import START, metered
from tests.support.refusals import refusals
from tests.support.socket import socket
from wattgate.clock import format_iso
from wattgate.operations.devices.catch_ups import network_readings
from wattgate.operations.vocabulary.cost_weights import PRICED_READINGS_PER_UNIT

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

TARIFF = "query ($id: ID!) { resource(resourceId: $id) { tariff { name } tariffs { name } } }"
FRESHNESS = "subscription ($ids: [ID!]!) { freshness(resourceIds: $ids) { resourceId freshness { state } } }"
SET = "mutation ($input: NewTariff!) { setTariff(input: $input) { ... on Tariff { resourceId } ...Refused } }"


async def test_cost_resource_has_the_tariff_of_its_consumption(served: House) -> None:
    energy, cost = await priced_pair(served.one)
    tariff = {
        "name": "Set for the cost",
        "kind": "FLAT",
        "currency": "GBP",
        "rate": 0.2,
        "validFrom": "2025-01-01T00:00:00Z",
        "timeZone": "Europe/London",
    }
    assert await query_field(served, served.one, SET, input={"resourceId": cost, **tariff}) == {"resourceId": energy}
    for resource_id in (energy, cost):
        assert (await query_field(served, served.one, TARIFF, id=resource_id))["tariff"]["name"] == "Set for the cost"
        legacy = await served.call("GET", f"/resource/{resource_id}/tariff", served.one.headers["account"])
        assert [entry["name"] for entry in legacy.json()["data"]] == ["Set for the cost"]


async def priced_pair(tenant: Tenant) -> tuple[str, str]:
    """Add a resource and one that holds its costs. Return both ids."""
    energy = await tenant.add_resource()
    return energy, await cost_resource(tenant, cost_of=ID(energy))


async def test_cost_resource_finds_its_consumption_at_the_same_meter_point(served: House) -> None:
    number = str(uuid4().int)[:13]
    expected: list[tuple[str, str | None]] = [(await cost_resource(served.one, mpxn=number), None)]
    energy = await served.one.add_resource(mpxn=number)
    expected.append((await cost_resource(served.one, mpxn=number), energy))
    expected.append((await cost_resource(served.one, mpxn=number, cost_of=None), None))
    expected.append((await cost_resource(served.one), None))
    await served.one.add_resource(mpxn=number)
    expected.append((await cost_resource(served.one, mpxn=number), None))
    query = "query ($id: ID!) { resource(resourceId: $id) { costOf } }"
    assert [(await query_field(served, served.one, query, id=cost))["costOf"] for cost, _ in expected] == [
        energy for _, energy in expected
    ]


async def test_cost_source_must_be_an_own_resource_without_costs(served: House) -> None:
    _, cost = await priced_pair(served.one)
    add = (
        "mutation ($input: NewResource!) { createResource(input: $input) {"
        " ... on Resource { resourceId } ...Refused } }"
    )
    for cost_of, reason in (
        (cost, "holds costs itself"),
        (served.other.ids["resource"], f"{served.other.ids['resource']} does not exist"),
    ):
        new_resource = {"resourceTypeId": served.one.ids["resource_type"], "name": "cost", "costOf": cost_of}
        error = await query_field(served, served.one, add, input=new_resource)
        assert error["problems"] == [{"path": ["input", "costOf"], "message": reason}]


async def test_readings_cannot_be_recorded_for_a_cost_resource(served: House) -> None:
    _, cost = await priced_pair(served.one)
    record = (
        "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
        " ... on Recorded { recorded } ...Refused } }"
    )
    series = [{"resourceId": cost, "readings": [{"at": "2026-01-05T00:00:00Z", "value": 1}]}]
    error = await query_field(served, served.one, record, series=series)
    assert error["problems"] == [
        {"path": ["series", 0, "resourceId"], "message": "is computed from its consumption; record that"}
    ]


async def test_computed_costs_are_charged_by_their_readings(served: House) -> None:
    energy, cost = await priced_half_hours(served.one, 10 * PRICED_READINGS_PER_UNIT)
    series = 'readings(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-08T00:00:00Z"}, period: P1D)'
    compared = "comparison(baseline: PREVIOUS_PERIOD) { change series { count } }"
    for selection, units in (("count", 10), (compared, 20)):
        extra = {}
        for resource_id in (energy, cost):
            query = f'{{ resource(resourceId: "{resource_id}") {{ {series} {{ {selection} }} }} }}'
            charged = (await served.graphql(query, served.one.headers["account"]))["extensions"]["cost"]
            extra[resource_id] = charged["charged"] - charged["estimated"]
        assert extra == {energy: 0, cost: units}


async def test_catch_up_of_a_cost_resource_retrieves_nothing(served: House) -> None:
    _, cost = await priced_pair(served.one)
    assert await served.gateway.runner.run(network_readings, served.one.system, {"resource_id": cost}) is None


WITHHELD = """query ($id: ID!) { resource(resourceId: $id) {
  withheld { reason message } firstTime lastTime freshness { state } current { value } noCurrentReason
  readings(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}, period: P1D) { count }
  catchUps { state }
} }"""


@pytest.mark.parametrize("has_number", [False, True])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_costs_are_withheld_with_the_energy_that_they_price(served: House, has_number: bool) -> None:
    """The costs have no meter point, or that of their energy."""
    one = served.one
    point = await metered(one)
    await one.record(point.resource_id, (START, "1"))
    cost = await cost_resource(one, cost_of=ID(point.resource_id), mpxn=point.mpxn if has_number else None)
    await one.run("verify_meter_point", mpxn=point.mpxn)
    before = await query_field(served, one, WITHHELD, id=cost)
    assert (before["withheld"], before["firstTime"], before["lastTime"]) == (None, format_iso(START), format_iso(START))
    async with socket(served.url) as client:
        await client.init(**one.headers["account"])
        await client.subscribe(FRESHNESS, ids=[cost])
        assert (await client.payload())["data"]["freshness"][0]["freshness"] is not None
        await one.run("revoke_consents", mpxns=[point.mpxn])
        for operation_id in ("1", "2"):  # the open stream ends, and a new one is refused
            ended = await client.hear()
            assert (ended["type"], ended["id"]) == ("error", operation_id)
            assert ended["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"
            await client.subscribe(FRESHNESS, "2", ids=[cost])
    answer = await served.graphql(WITHHELD, one.headers["account"], id=cost)
    withheld = answer["data"]["resource"].pop("withheld")
    assert (withheld["reason"], point.mpxn in withheld["message"]) == ("REVOKED", True)
    assert set(answer["data"]["resource"].values()) == {None}
    assert {error["code"] for error in refusals(answer)} == {"CONSENT_REVOKED"}
    for read in ("first-time", "last-time", "current"):
        refused = await served.call("GET", f"/resource/{cost}/{read}", one.headers["application"])
        assert (refused.status_code, refused.json()["resourceId"]) == (403, cost), read
    await one.run("renew_consents", mpxns=[point.mpxn])
    assert await query_field(served, one, WITHHELD, id=cost) == before


@pytest.mark.parametrize("caller", ["acting", "account"])
async def test_costs_are_at_the_meter_point_of_their_energy(served: House, ada: Tenant, caller: str) -> None:
    """A move of one meter point would otherwise open a resource of the next household at the other one."""
    point, other = await metered(ada), await metered(ada)
    without = await ada.add_resource()
    new = {"resourceTypeId": ada.ids["resource_type"], "name": "cost", "mpxn": other.mpxn}
    elsewhere = f"{point.resource_id} is at meter point {point.mpxn}, and the new resource is at {other.mpxn}"
    nowhere = f"{without} has no meter point, and the new resource is at {other.mpxn}"
    for source, reason in ((point.resource_id, elsewhere), (without, nowhere)):
        add = (
            "mutation ($input: NewResource!) { createResource(input: $input) {"
            " ... on Resource { resourceId } ...Refused } }"
        )
        new_resource = {**to_graphql_names(new), "costOf": source}
        error = await query_field(served, ada, add, caller, input=new_resource)
        assert error["problems"] == [{"path": ["input", "costOf"], "message": reason}]
        refused = await send(served, ada, "POST", "/resource", caller, **new, costOf=source)
        assert code_of(refused) == (400, "BAD_INPUT")
        assert reason in refused.text
    spelled = f"{other.mpxn[:3]} {other.mpxn[3:]}"
    same = await send(served, ada, "POST", "/resource", caller, **{**new, "mpxn": spelled}, costOf=other.resource_id)
    assert same.status_code == 200, same.text
