"""Resources that tell what the energy of others costs: linked, computed, never recorded."""

from uuid import uuid4

from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.house import House, Tenant
from wattgate.graphql.resolvers.catch_ups import network_readings

TARIFF = "query ($id: ID!) { resource(resourceId: $id) { tariff { name } tariffs { name } } }"
SET = "mutation ($input: NewTariff!) { setTariff(input: $input) { resourceId } }"


async def test_a_resource_that_tells_a_cost_has_the_tariff_of_its_consumption(served: House) -> None:
    energy, cost = await priced_pair(served.one)
    given = {"name": "Set for the cost", "kind": "FLAT", "rate": 20, "validFrom": "2025-01-01T00:00:00Z"}
    assert await query_field(served, served.one, SET, input={"resourceId": cost, **given}) == {"resourceId": energy}
    for resource_id in (energy, cost):
        assert (await query_field(served, served.one, TARIFF, id=resource_id))["tariff"]["name"] == "Set for the cost"
        legacy = await served.call("GET", f"/resource/{resource_id}/tariff", served.one.headers["account"])
        assert [one["name"] for one in legacy.json()["data"]] == ["Set for the cost"]


async def priced_pair(tenant: Tenant) -> tuple[str, str]:
    """A new resource, and one that tells its cost."""
    energy = await tenant.add_resource()
    return energy, await cost_resource(tenant, cost_of=ID(energy))


async def test_a_resource_that_tells_a_cost_finds_its_consumption_at_the_same_meter_point(served: House) -> None:
    number = str(uuid4().int)[:13]
    made: list[tuple[str, str | None]] = [(await cost_resource(served.one, mpxn=number), None)]
    energy = await served.one.add_resource(mpxn=number)
    made.append((await cost_resource(served.one, mpxn=number), energy))
    made.append((await cost_resource(served.one, mpxn=number, cost_of=None), None))
    made.append((await cost_resource(served.one), None))
    await served.one.add_resource(mpxn=number)
    made.append((await cost_resource(served.one, mpxn=number), None))
    query = "query ($id: ID!) { resource(resourceId: $id) { costOf } }"
    assert [(await query_field(served, served.one, query, id=one))["costOf"] for one, _ in made] == [
        of for _, of in made
    ]


async def test_what_a_cost_is_of_must_be_ones_own_and_no_cost_itself(served: House) -> None:
    _, cost = await priced_pair(served.one)
    add = "mutation ($input: NewResource!) { addResource(input: $input) { resourceId } }"
    for of, reason in (
        (cost, "tells a cost itself"),
        (served.other.ids["resource"], f"{served.other.ids['resource']} does not exist"),
    ):
        wish = {"resourceTypeId": served.one.ids["resource_type"], "name": "cost", "costOf": of}
        refused = await query_field(served, served.one, add, input=wish)
        assert refused["problems"] == [{"path": ["input", "costOf"], "message": reason}]


async def test_nothing_is_recorded_for_a_resource_that_is_computed(served: House) -> None:
    _, cost = await priced_pair(served.one)
    record = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
    series = [{"resourceId": cost, "readings": [{"at": "2026-01-05T00:00:00Z", "value": 1}]}]
    refused = await query_field(served, served.one, record, series=series)
    assert refused["problems"] == [
        {"path": ["series", 0, "resourceId"], "message": "is computed from its consumption; record that"}
    ]


async def test_a_catch_up_of_a_resource_that_is_computed_has_nothing_to_bring(served: House) -> None:
    _, cost = await priced_pair(served.one)
    assert await served.gateway.runner.run(network_readings, served.one.system, {"resource_id": cost}) is None
