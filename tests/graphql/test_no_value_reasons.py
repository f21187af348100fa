"""Costs that are unknown: null with the reason in GraphQL and REST, and the zeros of the legacy rule of `nulls`."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.house import House
from wattgate.clock import format_iso
from wattgate.enums import TariffKind
from wattgate.operations.types.meters.tariffs import NewTariffPrice

DAY = datetime(2026, 1, 5, tzinfo=UTC)
HOUR, HALF_HOUR = timedelta(hours=1), timedelta(minutes=30)
SERIES = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
    readings(range: $range, period: PT1H) {
      total noValueReason buckets { value noValueReason completeness } columns { noValueReason }
      comparison(baseline: PREVIOUS_PERIOD) { previous { value noValueReason } current { noValueReason } } }
    cost(range: $range) { total { amount } } noCostReason(range: $range)
    costs(range: $range, period: PT1H) { buckets { energyCostWithVat total noValueReason } } } }"""
NO_RANGE = {"start": format_iso(DAY), "end": format_iso(DAY)}


async def priced_pair(house: House, hours: int = 24, **tariff: Any) -> tuple[str, str, Any]:
    """Add a resource with 0.5 kWh in each half hour of some hours, and one with its costs. Return the tariff too."""
    energy = await house.one.add_resource()
    await house.one.record(energy, *((DAY + n * HALF_HOUR, "0.5") for n in range(2 * hours)))
    set_tariff = await house.one.set_tariff(energy, **tariff) if tariff else None
    return energy, await cost_resource(house.one, cost_of=ID(energy)), set_tariff


async def day_of(house: House, resource_id: str) -> Any:
    """Return what GraphQL answers about the day. The reasons of buckets and of columns must agree."""
    range_ = {"start": format_iso(DAY), "end": format_iso(DAY + timedelta(days=1))}
    answer = await query_field(house, house.one, SERIES, id=resource_id, range=range_)
    readings = answer["readings"]
    assert readings["columns"]["noValueReason"] == [bucket["noValueReason"] for bucket in readings["buckets"]]
    for bucket in readings["buckets"]:
        assert (bucket["value"] is None) == (bucket["noValueReason"] is not None)
    for bucket in (answer["costs"] or {"buckets": []})["buckets"]:
        assert (
            (bucket["energyCostWithVat"] is None) == (bucket["total"] is None) == (bucket["noValueReason"] is not None)
        )
    return answer


async def rest_day(house: House, resource_id: str, **query: str) -> Any:
    span = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "PT1H", "function": "sum"}
    headers = house.one.headers["account"]
    answer = await house.call("GET", f"/resource/{resource_id}/readings", headers, params={**span, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def reasons(body: Any) -> list[tuple[str, int]]:
    assert all(entry["message"].endswith(".") for entry in body["noValue"])
    return [(entry["reason"], entry["rows"]) for entry in body["noValue"]]


async def test_costs_without_a_tariff_are_null_with_their_reason(served: House) -> None:
    energy, cost, _ = await priced_pair(served)
    for resource_id in (energy, cost):
        answer = await day_of(served, resource_id)
        assert (answer["cost"], answer["costs"], answer["noCostReason"]) == (None, None, "NO_TARIFF")
    readings = answer["readings"]
    assert (readings["total"], readings["noValueReason"], readings["comparison"]) == (None, "NO_TARIFF", None)
    assert [(bucket["value"], bucket["noValueReason"]) for bucket in readings["buckets"]] == [(None, "NO_TARIFF")] * 24
    body = await rest_day(served, cost, nulls="1")
    assert [value for _, value in body["data"]] == [None] * 24
    assert reasons(body) == [("NO_TARIFF", 24)]


@pytest.mark.parametrize("query", [{}, {"nulls": "0"}, {"nulls": "false"}])
async def test_legacy_rule_of_nulls_asks_for_zeros_and_the_reason_stays(served: House, query: dict[str, str]) -> None:
    _, cost, _ = await priced_pair(served)
    body = await rest_day(served, cost, **query)
    assert [value for _, value in body["data"]] == [0] * 24
    assert reasons(body) == [("NO_TARIFF", 24)]


async def test_each_bucket_without_a_tariff_has_the_reason(served: House) -> None:
    _, cost, _ = await priced_pair(served, rate=Decimal(20), valid_from=DAY + 18 * HOUR + HALF_HOUR)
    answer = await day_of(served, cost)
    assert (answer["readings"]["total"], answer["readings"]["noValueReason"]) == (110, None)
    assert [bucket["noValueReason"] for bucket in answer["readings"]["buckets"]] == ["NO_TARIFF"] * 18 + [None] * 6
    assert answer["readings"]["buckets"][18] == {"value": 10, "noValueReason": None, "completeness": 0.5}
    assert [bucket["noValueReason"] for bucket in answer["costs"]["buckets"]] == ["NO_TARIFF"] * 18 + [None] * 6
    assert answer["noCostReason"] is None
    assert reasons(await rest_day(served, cost, nulls="1")) == [("NO_TARIFF", 18)]


async def test_buckets_without_a_price_or_without_readings_have_their_reasons(served: House) -> None:
    energy, cost, tariff = await priced_pair(served, hours=20, kind=TariffKind.DYNAMIC)
    prices = [NewTariffPrice(at=DAY + n * HALF_HOUR, rate=Decimal(10)) for n in range(48) if n not in (4, 5, 6)]
    await served.one.set_prices(tariff.tariff_id, prices)
    expected = [None] * 2 + ["NO_PRICE"] + [None] * 17 + ["NO_READINGS"] * 4
    answer = await day_of(served, cost)
    assert [bucket["noValueReason"] for bucket in answer["readings"]["buckets"]] == expected
    for resource_id in (energy, cost):
        answer = await day_of(served, resource_id)
        assert [bucket["noValueReason"] for bucket in answer["costs"]["buckets"]] == expected
    for query in ({"nulls": "1"}, {}):
        assert reasons(await rest_day(served, cost, **query)) == [("NO_READINGS", 4), ("NO_PRICE", 1)]


async def test_day_before_the_tariff_has_the_reason_in_a_comparison(served: House) -> None:
    energy, cost, _ = await priced_pair(served, rate=Decimal(20), valid_from=DAY)
    await served.one.record(energy, *((DAY - n * HALF_HOUR, "0.5") for n in range(1, 49)))
    comparison = (await day_of(served, cost))["readings"]["comparison"]
    assert comparison["previous"] == {"value": None, "noValueReason": "NO_TARIFF"}
    assert comparison["current"] == {"noValueReason": None}


async def test_complete_costs_have_no_reason(served: House) -> None:
    _, cost, _ = await priced_pair(served, rate=Decimal(20))
    answer = await day_of(served, cost)
    assert (answer["readings"]["noValueReason"], answer["noCostReason"]) == (None, None)
    assert "noValue" not in await rest_day(served, cost)


async def test_missing_readings_of_a_meter_have_a_reason_in_graphql_only(served: House) -> None:
    energy = await served.one.add_resource()
    answer = await day_of(served, energy)
    assert (answer["readings"]["total"], answer["readings"]["noValueReason"]) == (None, "NO_READINGS")
    assert "noValue" not in await rest_day(served, energy, nulls="1")


async def test_other_tenant_learns_no_reason(served: House) -> None:
    energy, _, _ = await priced_pair(served)
    answer = await query_field(served, served.other, SERIES, id=energy, range=NO_RANGE)
    assert answer["code"] == "NOT_FOUND"


async def test_empty_range_of_a_reason_is_refused(served: House) -> None:
    energy, _, _ = await priced_pair(served)
    query = "query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) { noCostReason(range: $range) } }"
    answer = await query_field(served, served.one, query, id=energy, range=NO_RANGE)
    assert answer["code"] == "BAD_INPUT"
