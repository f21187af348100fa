"""`current` of cost resources: pence an hour at the rate of the moment, or null with its reason. Never power."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from strawberry import ID

from tests.support.costs import COST_STORAGE, cost_resource, query_field
from tests.support.house import STORAGE, House, Tenant
from wattgate.enums import Period, TariffKind
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.meters.tariffs import NewTariffBlock, NewTariffPrice

pytestmark = pytest.mark.either_database("some tests of the module run on both")

CURRENT = """query ($id: ID!) { resource(resourceId: $id) {
    current { resourceId field unit at value includesStandingCharge includesVat } noCurrentReason } }"""
HALF_HOUR = timedelta(minutes=30)


def seconds_ago(seconds: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=seconds)


async def powered_pair(tenant: Tenant, watts: str = "1500", age: int = 30) -> tuple[str, str, datetime]:
    """Add a resource with one power reading, and a resource with its costs. Return both ids and the instant."""
    energy = await tenant.add_resource()
    at = seconds_ago(age)
    await tenant.record(energy, (at, watts), field="POWER")
    return energy, await cost_resource(tenant, cost_of=ID(energy)), at


async def currents(house: House, resource_id: str) -> tuple[Any, Any, Any]:
    """Return `current`, the reason of its absence, and the body of the REST response."""
    found = await query_field(house, house.one, CURRENT, id=resource_id)
    rest = await house.call("GET", f"/resource/{resource_id}/current", house.one.headers["account"])
    assert rest.status_code == 200, rest.text
    return found["current"], found["noCurrentReason"], rest.json()


async def assert_cost_per_hour(house: House, cost: str, at: datetime, pence: float) -> None:
    current, reason, rest = await currents(house, cost)
    assert (current["resourceId"], current["field"], current["unit"]) == (cost, "COST_PER_HOUR", "pence/hour")
    assert (datetime.fromisoformat(current["at"]), current["value"], reason) == (at, pence, None)
    assert (current["includesStandingCharge"], current["includesVat"]) == (False, True)
    assert (rest["data"], rest["units"]) == ([[int(at.timestamp()), pence]], "pence/hour")
    assert (rest["includesStandingCharge"], rest["includesVat"]) == (False, True)
    assert "noValue" not in rest


async def assert_no_cost(house: House, cost: str, reason: str) -> None:
    current, found_reason, rest = await currents(house, cost)
    assert (current, found_reason) == (None, reason)
    ((absence),) = rest["noValue"]
    assert (rest["data"], rest["units"], absence["reason"]) == ([], "pence/hour", reason)
    assert absence["message"].endswith(".")


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_current_cost_is_the_power_at_the_present_rate(served: House) -> None:
    energy, cost, at = await powered_pair(served.one)
    await served.one.set_tariff(energy, rate=Decimal(20), standing_charge=Decimal("53.8"), vat_percent=Decimal(5))
    await assert_cost_per_hour(served, cost, at, 31.5)
    measured, _, rest = await currents(served, energy)
    assert (measured["field"], measured["unit"], measured["value"]) == ("POWER", "W", 1500)
    assert (measured["includesStandingCharge"], measured["includesVat"]) == (None, None)
    assert (rest["units"], "includesVat" in rest) == ("W", False)


async def test_home_that_exports_costs_nothing_at_present(served: House) -> None:
    energy, cost, at = await powered_pair(served.one, "-750")
    await served.one.set_tariff(energy, rate=Decimal(20))
    await assert_cost_per_hour(served, cost, at, 0)


async def test_current_cost_has_the_rate_of_the_present_block(served: House) -> None:
    energy, cost, at = await powered_pair(served.one, "1000")
    blocks = [NewTariffBlock(rate=Decimal(10), up_to=Decimal(5)), NewTariffBlock(rate=Decimal(30))]
    await served.one.set_tariff(energy, kind=TariffKind.BLOCK, blocks=blocks, block_period=Period.P1Y)
    await assert_cost_per_hour(served, cost, at, 10)
    start = seconds_ago(0).replace(minute=0, second=0) - timedelta(hours=1)
    if start.year == at.year:
        await served.one.record(energy, (start, "6"))
        await assert_cost_per_hour(served, cost, at, 30)


async def test_current_cost_without_a_tariff_is_null_with_its_reason(served: House) -> None:
    energy, cost, _ = await powered_pair(served.one)
    await assert_no_cost(served, cost, "NO_TARIFF")
    await served.one.set_tariff(energy, valid_from=datetime.now(UTC) + timedelta(days=1))
    await assert_no_cost(served, cost, "NO_TARIFF")


async def test_current_cost_without_a_price_is_null_with_its_reason(served: House) -> None:
    energy, cost, at = await powered_pair(served.one, "2000")
    tariff = await served.one.set_tariff(energy, kind=TariffKind.DYNAMIC)
    await assert_no_cost(served, cost, "NO_PRICE")
    slot = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    prices = [NewTariffPrice(at=slot + n * HALF_HOUR, rate=Decimal("-1.25")) for n in range(4)]
    await served.one.set_prices(tariff.tariff_id, prices)
    await assert_cost_per_hour(served, cost, at, -2.5)


async def test_current_cost_without_fresh_power_is_null_with_its_reason(served: House) -> None:
    energy, cost, _ = await powered_pair(served.one, age=20 * 60)
    await served.one.set_tariff(energy, rate=Decimal(20))
    await served.one.record(energy, (seconds_ago(7200).replace(minute=0, second=0), "0.321"))
    await assert_no_cost(served, cost, "NO_POWER")


async def test_current_gas_cost_is_never_energy(served: House) -> None:
    gas_type = types.NewResourceType(name="gas", classifier="gas.consumption", storage=STORAGE[:1])
    type_id = (await served.one.run("add_resource_type", input=gas_type)).resource_type_id
    new_resource = types.NewResource(resource_type_id=ID(type_id), name="gas")
    gas = (await served.one.run("add_resource", input=new_resource)).resource_id
    await served.one.set_tariff(gas, rate=Decimal(6))
    await served.one.record(gas, (datetime(2026, 1, 5, tzinfo=UTC), "3.5"))
    cost = await cost_resource(served.one, cost_of=ID(gas))
    await assert_no_cost(served, cost, "NO_POWER")


async def test_current_of_recorded_costs_is_the_newest_cost(served: House) -> None:
    cost_type = types.NewResourceType(
        name="cost", classifier="electricity.consumption.cost", storage=[COST_STORAGE, STORAGE[1]]
    )
    type_id = (await served.one.run("add_resource_type", input=cost_type)).resource_type_id
    new_resource = types.NewResource(resource_type_id=ID(type_id), name="recorded cost", cost_of=None)
    cost = (await served.one.run("add_resource", input=new_resource)).resource_id
    current, reason, rest = await currents(served, cost)
    assert (current, reason, rest["data"], rest["noValue"][0]["reason"]) == (None, "NO_READINGS", [], "NO_READINGS")
    await served.one.record(cost, (seconds_ago(10), "1437"), field="POWER")
    assert (await currents(served, cost))[1] == "NO_READINGS"
    await served.one.record(cost, (datetime(2026, 1, 5, tzinfo=UTC), "12.5"))
    current, reason, rest = await currents(served, cost)
    assert (current["field"], current["unit"], current["value"], reason) == ("COST", "pence", 12.5, None)
    assert (rest["data"][0][1], rest["units"]) == (12.5, "pence")


async def test_measured_resource_without_readings_has_a_reason_too(served: House) -> None:
    current, reason, rest = await currents(served, await served.one.add_resource())
    assert (current, reason, rest["data"], rest["units"]) == (None, "NO_READINGS", [], "kWh")
    assert [absence["reason"] for absence in rest["noValue"]] == ["NO_READINGS"]


async def test_stale_power_is_not_the_same_as_no_reading(served: House) -> None:
    power_type = types.NewResourceType(name="power", classifier="electricity.consumption", storage=[STORAGE[1]])
    type_id = (await served.one.run("add_resource_type", input=power_type)).resource_type_id
    new_resource = types.NewResource(resource_type_id=ID(type_id), name="power")
    resource_id = (await served.one.run("add_resource", input=new_resource)).resource_id
    assert (await currents(served, resource_id))[1] == "NO_READINGS"
    await served.one.record(resource_id, (seconds_ago(20 * 60), "500"))
    current, reason, rest = await currents(served, resource_id)
    assert (current, reason, rest["data"], rest["noValue"][0]["reason"]) == (None, "NO_POWER", [], "NO_POWER")


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_current_cost_needs_consent_to_the_energy(served: House) -> None:
    number = str(uuid4().int)[:13]
    energy = await served.one.add_resource(mpxn=number)
    cost = await cost_resource(served.one, cost_of=ID(energy))
    await served.one.record(energy, (seconds_ago(30), "1500"), field="POWER")
    await served.one.set_tariff(energy, rate=Decimal(20))
    await served.one.run("verify_meter_point", mpxn=number)
    await assert_cost_per_hour(served, cost, datetime.fromisoformat((await currents(served, cost))[0]["at"]), 30)
    await served.one.run("revoke_consents", mpxns=[number])
    answer = await query_field(
        served, served.one, "query ($id: ID!) { resource(resourceId: $id) { current { value } } }", id=cost
    )
    assert answer["code"] == "CONSENT_REVOKED"
    rest = await served.call("GET", f"/resource/{cost}/current", served.one.headers["account"])
    assert (rest.status_code, rest.json()["code"]) == (403, "CONSENT_REVOKED")


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_other_tenant_finds_no_current_cost(served: House) -> None:
    _, cost, _ = await powered_pair(served.one)
    assert (await query_field(served, served.other, CURRENT, id=cost))["code"] == "NOT_FOUND"
    rest = await served.call("GET", f"/resource/{cost}/current", served.other.headers["account"])
    assert rest.status_code == 404
