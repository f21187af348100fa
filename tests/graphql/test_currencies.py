"""Tariffs, costs and displays in other currencies than the pound, and prices for quarter hours."""

from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from strawberry import ID

from tests.support.costs import query_field
from tests.support.house import House, Tenant
from wattgate.clock import format_iso
from wattgate.operations.types.homes import resources as resource_types

pytestmark = pytest.mark.either_database("some tests of the module run on both")

BRUSSELS = ZoneInfo("Europe/Brussels")
QUARTER = timedelta(minutes=15)
SET = """
mutation ($input: NewTariff!) {
  setTariff(input: $input) { ... on Tariff { tariffId currency pricePeriod } ...Refused }
}
"""
PRICES = """
mutation ($id: ID!, $currency: Currency!, $prices: [NewTariffPrice!]!) {
  setTariffPrices(tariffId: $id, currency: $currency, prices: $prices) {
    ... on TariffPricesSet { recorded } ...Refused
  }
}
"""
COST = """
query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  cost(range: $range) { total { amount currency } exact { amount currency } unpriced { value } }
  costs(range: $range, period: PT15M, timeZone: "Europe/Brussels") { currency buckets { start energyCostWithVat } }
} }
"""
READ_PRICES = """
query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  tariff { currency pricePeriod prices(range: $range) { at end rate } }
} }
"""


def span(start: datetime, end: datetime) -> dict[str, str]:
    return {"start": format_iso(start), "end": format_iso(end)}


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=BRUSSELS).astimezone(UTC)


async def set_tariff(house: House, resource_id: str, **terms: Any) -> Any:
    given = {
        "resourceId": resource_id,
        "name": "Contract",
        "kind": "FLAT",
        "currency": "EUR",
        "validFrom": "2025-01-01T00:00:00Z",
        "timeZone": "Europe/Brussels",
        **terms,
    }
    return await query_field(house, house.one, SET, input=given)


async def add_resource(tenant: Tenant, minutes: int) -> str:
    """Add a resource of electricity in kWh, with a reading for each number of minutes."""
    storage = resource_types.NewStorageDefinition(
        type="timeseries",
        sampling="regular",
        interval=f"PT{minutes}M",
        start="2014-01-06T00:00:00+00:00",
        fields=[resource_types.NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")],
    )
    new_type = resource_types.NewResourceType(name="energy", classifier="electricity.consumption", storage=[storage])
    added = await tenant.run("add_resource_type", input=new_type)
    new = resource_types.NewResource(resource_type_id=ID(added.resource_type_id), name="electricity")
    return str((await tenant.run("add_resource", input=new)).resource_id)


@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25)], ids=["23 hours", "25 hours"])
@pytest.mark.both_databases("prices and readings in SQL")
async def test_quarter_hours_are_priced_to_the_cent_on_a_clock_change_day(served: House, day: date) -> None:
    """Data of half hours costs what data of quarter hours costs, if its energy is spread over it evenly."""
    start, end = midnight(day), midnight(day + timedelta(days=1))
    count = (end - start) // QUARTER
    assert count in (92, 100)
    prices = [Decimal((n * 37) % 400 - 90) / 1000 for n in range(count)]
    energy = [Decimal((n // 2 * 53) % 900) / 1000 for n in range(count)]  # equal in both quarters of a half hour
    net = sum((kwh * price for kwh, price in zip(energy, prices, strict=True)), Decimal(0))
    vat, cent = Decimal("0.06"), Decimal("0.01")
    rounded = net.quantize(cent, ROUND_HALF_UP)
    total = rounded + (rounded * vat).quantize(cent, ROUND_HALF_UP)
    totals = []
    for minutes in (15, 30):
        resource_id = await add_resource(served.one, minutes)
        step = minutes // 15
        values = [str(sum(energy[n : n + step])) for n in range(0, count, step)]
        readings = [(start + n * step * QUARTER, value) for n, value in enumerate(values)]
        await served.one.record(resource_id, *readings)
        tariff = await set_tariff(served, resource_id, kind="DYNAMIC", pricePeriod="PT15M", vatPercent="6")
        assert (tariff["currency"], tariff["pricePeriod"]) == ("EUR", "PT15M")
        listed = [{"at": format_iso(start + n * QUARTER), "rate": f"{price:f}"} for n, price in enumerate(prices)]
        stored = await query_field(served, served.one, PRICES, id=tariff["tariffId"], currency="EUR", prices=listed)
        assert stored == {"recorded": count}
        found = await query_field(served, served.one, COST, id=resource_id, range=span(start, end))
        assert Decimal(found["cost"]["exact"]["amount"]) == net * (1 + vat)
        assert found["cost"]["unpriced"]["value"] in (0, "0")
        assert found["costs"]["currency"] == "EUR"
        totals.append(found["cost"]["total"])
        shown = await query_field(served, served.one, READ_PRICES, id=resource_id, range=span(start, end))
        ends = [(price["at"], price["end"]) for price in shown["tariff"]["prices"]]
        assert ends == [(format_iso(start + n * QUARTER), format_iso(start + (n + 1) * QUARTER)) for n in range(count)]
    assert totals[0] == totals[1] == {"amount": f"{total:.2f}", "currency": "EUR"}


async def test_prices_of_another_currency_or_period_are_refused(served: House) -> None:
    tariff = await set_tariff(served, await served.one.add_resource(), kind="DYNAMIC", pricePeriod="PT1H")
    price = {"at": "2026-01-05T00:15:00Z", "rate": "0.1"}
    refused = await query_field(served, served.one, PRICES, id=tariff["tariffId"], currency="NOK", prices=[])
    assert (refused["code"], refused["problems"][0]["message"]) == ("BAD_INPUT", "is NOK, and the tariff is in EUR")
    refused = await query_field(served, served.one, PRICES, id=tariff["tariffId"], currency="EUR", prices=[price])
    assert refused["problems"][0]["message"] == "2026-01-05T00:15:00.000Z does not begin a period of 60 minutes"


async def test_costs_in_two_currencies_are_never_added(served: House) -> None:
    """A household may move to a contract in another currency, as where a country adopts the euro."""
    resource_id = await served.one.add_resource()
    euro = datetime(2025, 12, 31, 22, tzinfo=UTC)
    await set_tariff(served, resource_id, currency="SEK", rate="0.26", timeZone="Europe/Stockholm")
    await set_tariff(served, resource_id, rate="0.13", timeZone="Europe/Stockholm", validFrom=format_iso(euro))
    hours = [euro + timedelta(hours=n) for n in (-2, -1, 0, 1)]
    await served.one.record(resource_id, *((at, "10") for at in hours))
    totals = [
        (await query_field(served, served.one, COST, id=resource_id, range=span(start, start + timedelta(hours=2))))
        for start in (hours[0], hours[2])
    ]
    assert [found["cost"]["total"] for found in totals] == [
        {"amount": "5.20", "currency": "SEK"},
        {"amount": "2.60", "currency": "EUR"},
    ]
    answer = await served.graphql(
        COST, served.one.headers["account"], id=resource_id, range=span(hours[0], hours[2] + timedelta(hours=1))
    )
    assert {error["message"] for error in answer["errors"]} == {
        "The range has tariffs in SEK and EUR, which cannot be added. Ask for each part alone."
    }


READINGS = """
query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  readings(range: $range, period: P1D, function: SUM) { unit buckets { value } }
} }
"""


@pytest.mark.parametrize(
    ("currency", "unit", "value"), [("EUR", "EUR", 1.06), ("GBP", "pence", 106), ("EUR", "pence", None)]
)
async def test_computed_costs_have_the_unit_of_their_currency(
    served: House, currency: str, unit: str, value: float | None
) -> None:
    """Costs in pounds are in pence, as the specification says. Others are in the major unit."""
    energy = await served.one.add_resource()
    storage = resource_types.NewStorageDefinition(
        type="timeseries",
        sampling="regular",
        start="2014-01-06T00:00:00+00:00",
        fields=[resource_types.NewStorageField(field_name="COST", unit=unit, datatype="fixedpoint(4)", negative=True)],
    )
    new_type = resource_types.NewResourceType(name="cost", classifier="electricity.consumption.cost", storage=[storage])
    added = await served.one.run("add_resource_type", input=new_type)
    new = resource_types.NewResource(resource_type_id=ID(added.resource_type_id), name="cost", cost_of=ID(energy))
    cost = str((await served.one.run("add_resource", input=new)).resource_id)
    await set_tariff(served, energy, currency=currency, rate="0.5", vatPercent="6")
    start = datetime(2026, 1, 5, tzinfo=UTC)
    await served.one.record(energy, (start, "2"))
    answer = await served.graphql(
        READINGS, served.one.headers["account"], id=cost, range=span(start, start + timedelta(days=1))
    )
    if value is None:
        assert "costs in pence, and its tariff is in EUR" in answer["errors"][0]["message"]
    else:
        found = answer["data"]["resource"]["readings"]
        assert (found["unit"], found["buckets"][0]["value"]) == (unit, value)
