"""Totals of money say whether they include the standing charge and VAT, because two totals of a period may differ."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type
from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from wattgate.clock import format_iso
from wattgate.enums import TariffKind

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

DAY = datetime(2026, 1, 5, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
TOTALS = """query ($id: ID!, $cost: ID!, $range: TimeRange!) {
  energy: resource(resourceId: $id) {
    cost(range: $range) { total exact includesStandingCharge includesVat }
    costs(range: $range, period: P1D) { includesStandingCharge includesVat buckets { energy standingCharge total } }
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
DISPLAY = """query ($id: ID!) { virtualEntity(veId: $id) { display {
  today { ...period } month { ...period } } } }
fragment period on DisplayPeriod {
  noCostReason cost { total standingCharge includesStandingCharge includesVat unpriced } }"""
BOTH = {"includesStandingCharge", "includesVat"}


async def priced_day(house: House) -> tuple[str, str]:
    """Add a day of 24 kWh at 20p, a standing charge of 50p and VAT of 5 %. Return it and the resource of its cost."""
    energy = await house.one.add_resource()
    await house.one.set_tariff(energy, rate=Decimal(20), standing_charge=Decimal(50), vat_rate=Decimal(5))
    await house.one.record(energy, *((DAY + n * HALF_HOUR, "0.5") for n in range(48)))
    return energy, await cost_resource(house.one, cost_of=ID(energy))


async def test_two_totals_of_a_day_name_their_parts(served: House) -> None:
    energy, cost = await priced_day(served)
    range_ = {"start": format_iso(DAY), "end": format_iso(DAY + timedelta(days=1))}
    answer = await served.graphql(TOTALS, served.one.headers["account"], id=energy, cost=cost, range=range_)
    bill, costs = answer["data"]["energy"]["cost"], answer["data"]["energy"]["costs"]
    series = answer["data"]["cost"]["readings"]
    assert (bill["exact"], bill["includesStandingCharge"], bill["includesVat"]) == ("556.5", True, True)
    assert (costs["buckets"][0]["total"], costs["includesStandingCharge"], costs["includesVat"]) == (
        "556.50000",
        True,
        True,
    )
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


async def test_display_names_the_parts_of_its_costs(served: House) -> None:
    energy = await add_today(served)
    await served.one.set_tariff(energy, rate=Decimal(20), standing_charge=Decimal(40), vat_rate=Decimal(5))
    for period in await shown_periods(served, energy):
        assert {name: period["cost"][name] for name in BOTH} == dict.fromkeys(BOTH, True)
        assert Decimal(period["cost"]["total"]) == Decimal(period["cost"]["standingCharge"]) + Decimal("0.11")
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


def test_each_type_with_a_currency_and_a_total_names_its_parts() -> None:
    types = SCHEMA.type_map.values()
    objects = [type_ for type_ in types if isinstance(type_, GraphQLObjectType) and "currency" in type_.fields]
    with_totals = [
        type_.name
        for type_ in objects
        if "total" in type_.fields or any(_has_total(field.type) for field in type_.fields.values())
    ]
    assert sorted(with_totals) == ["CostExplanation", "CostSeries", "DisplayCost"]
    for type_ in objects:
        assert type_.name not in with_totals or set(type_.fields) >= BOTH, type_.name


def _has_total(type_: Any) -> bool:
    named = get_named_type(type_)
    return isinstance(named, GraphQLObjectType) and named.name.startswith("Cost") and "total" in named.fields
