"""Totals of money contain the standing charge and VAT. Series of readings say which of both they contain."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.house import House
from wattgate.clock import format_iso
from wattgate.enums import TariffKind

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

DAY = datetime(2026, 1, 5, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
TOTALS = """query ($id: ID!, $cost: ID!, $range: TimeRange!) {
  energy: resource(resourceId: $id) {
    cost(range: $range) { subtotal { amount } total { amount } exact { amount } }
    costs(range: $range, period: P1D) { buckets { energyCostWithVat standingChargesWithVat total } }
    readings(range: $range, period: P1D) { ...inclusions comparison(baseline: PREVIOUS_PERIOD) { ...compared } } }
  cost: resource(resourceId: $cost) {
    readings(range: $range, period: P1D) {
      total ...inclusions comparison(baseline: PREVIOUS_PERIOD) { ...compared series { ...inclusions } } } } }
fragment inclusions on ReadingSeries { includesStandingCharge includesVat }
fragment compared on Comparison { includesStandingCharge includesVat }"""
WITHOUT, UNKNOWN = (
    {"includesStandingCharge": False, "includesVat": True},
    {"includesStandingCharge": None, "includesVat": None},
)
DISPLAY = """query ($id: ID!) { home(homeId: $id) { display {
  today { ...period } month { ...period } } } }
fragment period on DisplayPeriod {
  noCostReason cost { total { amount currency } standingChargesWithVat { amount } unpriced { value unit } } }"""
BOTH = {"includesStandingCharge", "includesVat"}


async def priced_day(house: House) -> tuple[str, str]:
    """Add a day of 24 kWh at 20p, a standing charge of 50p and VAT of 5 %. Return it and the resource of its cost."""
    energy = await house.one.add_resource()
    await house.one.set_tariff(energy, rate=Decimal(20), standing_charge=Decimal(50), vat_percent=Decimal(5))
    await house.one.record(energy, *((DAY + n * HALF_HOUR, "0.5") for n in range(48)))
    return energy, await cost_resource(house.one, cost_of=ID(energy))


async def test_totals_of_a_day_contain_the_standing_charge_and_vat(served: House) -> None:
    energy, cost = await priced_day(served)
    range_ = {"start": format_iso(DAY), "end": format_iso(DAY + timedelta(days=1))}
    answer = await served.graphql(TOTALS, served.one.headers["account"], id=energy, cost=cost, range=range_)
    bill, costs = answer["data"]["energy"]["cost"], answer["data"]["energy"]["costs"]
    series = answer["data"]["cost"]["readings"]
    assert [bill[name]["amount"] for name in ("subtotal", "total", "exact")] == ["5.30", "5.57", "5.565"]
    assert costs["buckets"] == [
        {"energyCostWithVat": "5.0400000", "standingChargesWithVat": "0.5250000", "total": "5.5650000"}
    ]
    comparison = series.pop("comparison")
    assert series == {"total": 504.0, **WITHOUT}
    assert comparison == {**WITHOUT, "series": WITHOUT}
    measured = answer["data"]["energy"]["readings"]
    assert measured.pop("comparison") == UNKNOWN
    assert measured == UNKNOWN


async def test_rest_readings_of_a_cost_name_their_parts(served: House) -> None:
    energy, cost = await priced_day(served)
    span = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "P1D", "function": "sum"}
    headers = served.one.headers["account"]
    body = (await served.call("GET", f"/resource/{cost}/readings", headers, params=span)).json()
    assert body["data"] == [[int(DAY.timestamp()), 504.0]]
    assert {name: body[name] for name in BOTH} == WITHOUT
    measured = (await served.call("GET", f"/resource/{energy}/readings", headers, params=span)).json()
    assert not BOTH & set(measured)


async def test_recorded_costs_claim_no_parts(served: House) -> None:
    cost = await cost_resource(served.one, cost_of=None)
    await served.one.record(cost, (DAY, "12.5"))
    query = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
        readings(range: $range, period: P1D) { includesStandingCharge includesVat } } }"""
    range_ = {"start": format_iso(DAY), "end": format_iso(DAY + timedelta(days=1))}
    assert (await query_field(served, served.one, query, id=cost, range=range_))["readings"] == UNKNOWN


async def shown_periods(house: House, *resource_ids: str) -> list[Any]:
    home = await house.one.add_home(*resource_ids)
    frame = (await query_field(house, house.one, DISPLAY, id=home))["display"]
    return [frame["today"], frame["month"]]


async def add_today(house: House) -> str:
    """Add a resource with energy at the present hour."""
    energy = await house.one.add_resource()
    await house.one.record(energy, (datetime.now(UTC).replace(minute=0, second=0, microsecond=0), "0.5"))
    return energy


async def test_costs_of_a_display_contain_the_standing_charge_and_vat(served: House) -> None:
    energy = await add_today(served)
    await served.one.set_tariff(energy, rate=Decimal(20), standing_charge=Decimal(40), vat_percent=Decimal(5))
    for period in await shown_periods(served, energy):
        total, charges = period["cost"]["total"], period["cost"]["standingChargesWithVat"]
        assert Decimal(total["amount"]) == Decimal(charges["amount"]) + Decimal("0.11")
        assert (total["currency"], period["cost"]["unpriced"]) == ("GBP", [])
        assert period["noCostReason"] is None


async def test_display_without_a_cost_says_why(served: House) -> None:
    energy = await add_today(served)
    assert [(period["cost"], period["noCostReason"]) for period in await shown_periods(served, energy)] == [
        (None, "NO_TARIFF")
    ] * 2
    await served.one.set_tariff(energy, kind=TariffKind.DYNAMIC)
    shown = [(period["cost"]["total"], period["noCostReason"]) for period in await shown_periods(served, energy)]
    assert shown == [(None, "NO_PRICE")] * 2
    silent = await served.one.add_resource()
    await served.one.set_tariff(silent, rate=Decimal(20))
    shown = [(period["cost"]["total"], period["noCostReason"]) for period in await shown_periods(served, silent)]
    assert shown == [(None, "NO_READINGS")] * 2
    assert [(period["cost"], period["noCostReason"]) for period in await shown_periods(served)] == [
        (None, "NO_READINGS")
    ] * 2
