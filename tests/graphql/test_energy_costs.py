"""Costs of a resource's energy: exact explanations, buckets, and corrections by a new tariff."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.house import House
from wattgate.clock import TimeRange, format_iso
from wattgate.enums import Period, TariffKind, Weekday
from wattgate.errors import BadInput
from wattgate.operations.core.fields import find_edge
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.meters.tariffs import NewTariffBand, NewTariffBlock, NewTariffPrice

pytestmark = pytest.mark.either_database("some tests of the module run on both")

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
DAY = datetime(2026, 1, 5, tzinfo=UTC)
EVERY_DAY, WORKING_DAYS = list(Weekday), list(Weekday)[:5]
NIGHT = NewTariffBand(name="night", rate=Decimal("8.09"), weekdays=EVERY_DAY, start="23:30", end="05:30")
PEAK = NewTariffBand(name="peak", rate=Decimal("35.71"), weekdays=WORKING_DAYS, start="16:00", end="19:00")
COST = """
query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) { cost(range: $range) {
  start end energy { value unit } unpriced { value unit }
  subtotal { amount currency } total { amount currency } exact { amount currency } estimated completeness
  lines {
    kind band quantity unit rate { amount currency per } averaged subtotal { amount currency }
    tariffName tariffVersion estimated
  }
  vat { percent subtotal { amount } vat { amount } }
} } }
"""
COSTS = """
query ($id: ID!, $range: TimeRange!, $period: Period!, $zone: TimeZone! = "Europe/London") {
  resource(resourceId: $id) { costs(range: $range, period: $period, timeZone: $zone) {
    currency unit period buckets {
      start end energyCostWithVat standingChargesWithVat total unpriced estimated
    }
  } }
}
"""


def kwh_of(value: str) -> dict[str, str]:
    return {"value": value, "unit": "KILOWATT_HOUR"}


def span(start: datetime, end: datetime) -> dict[str, str]:
    return {"start": format_iso(start), "end": format_iso(end)}


async def cost_of(house: House, resource_id: str, start: datetime, end: datetime) -> Any:
    return (await query_field(house, house.one, COST, id=resource_id, range=span(start, end)))["cost"]


async def buckets_of(house: House, resource_id: str, start: datetime, end: datetime, period: str) -> Any:
    resource = await query_field(house, house.one, COSTS, id=resource_id, range=span(start, end), period=period)
    return resource["costs"]["buckets"]


async def add_day(house: House, kwh: str = "0.5", **tariff: Any) -> str:
    """Add a resource with 48 equal half hours and a tariff valid from 2024."""
    resource_id = await house.one.add_resource()
    await house.one.set_tariff(resource_id, **tariff)
    await house.one.record(resource_id, *((DAY + n * HALF_HOUR, kwh) for n in range(48)))
    return resource_id


def round_to_pence(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1), rounding=ROUND_HALF_UP)


def pounds(pence: Decimal) -> str:
    """Return whole pence as pounds with two decimals."""
    return f"{pence / 100:.2f}"


def money(pence: Decimal) -> dict[str, str]:
    return {"amount": pounds(pence), "currency": "GBP"}


def expected_rate(at: datetime) -> tuple[str | None, Decimal]:
    """Return band and rate of a half hour, computed independently of the code under test."""
    local = at.astimezone(LONDON)
    if local.strftime("%H:%M") >= "23:30" or local.strftime("%H:%M") < "05:30":
        return "night", Decimal("8.09")
    if local.weekday() < 5 and 16 <= local.hour < 19:
        return "peak", Decimal("35.71")
    return None, Decimal("27.04")


@pytest.mark.parametrize(
    ("first", "following", "changed", "slots"),
    [
        (date(2026, 3, 1), date(2026, 4, 1), date(2026, 3, 29), 46),
        (date(2025, 10, 1), date(2025, 11, 1), date(2025, 10, 26), 50),
    ],
)
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_costs_of_a_month_with_a_clock_change_are_exact_to_the_penny(
    served: House, first: date, following: date, changed: date, slots: int
) -> None:
    start, end, change = (
        datetime(day.year, day.month, day.day, tzinfo=LONDON).astimezone(UTC) for day in (first, following, changed)
    )
    energy = {start + n * HALF_HOUR: Decimal((n * 7919) % 1500).scaleb(-3) for n in range((end - start) // HALF_HOUR)}
    resource_id = await served.one.add_resource()
    await served.one.record(resource_id, *((at, str(kwh)) for at, kwh in energy.items()))
    await served.one.set_tariff(
        resource_id,
        "Night Saver",
        kind=TariffKind.TIME_OF_USE,
        rate=Decimal("27.04"),
        bands=[NIGHT, PEAK],
        standing_charge=Decimal("51.24"),
        vat_percent=Decimal(5),
    )
    used: dict[tuple[str | None, Decimal], Decimal] = defaultdict(Decimal)
    for at, kwh in energy.items():
        used[expected_rate(at)] += kwh
    days = (following - first).days
    exact = [kwh * rate for (_, rate), kwh in used.items()] + [days * Decimal("51.24")]
    subtotal = sum(map(round_to_pence, exact), Decimal(0))
    tax = round_to_pence(subtotal * 5 / 100)

    cost = await cost_of(served, resource_id, start, end)
    *lines, standing = cost["lines"]
    keys = [(line["band"], Decimal(line["rate"]["amount"]) * 100) for line in lines]
    assert {key: Decimal(line["quantity"]) for key, line in zip(keys, lines, strict=True)} == used
    assert [line["subtotal"] for line in lines] == [money(round_to_pence(used[key] * key[1])) for key in keys]
    assert {(line["unit"], line["rate"]["per"], line["rate"]["currency"]) for line in lines} == {
        ("KILOWATT_HOUR", "KILOWATT_HOUR", "GBP")
    }
    assert (standing["kind"], standing["quantity"], standing["unit"]) == ("STANDING_CHARGE", str(days), "DAY")
    assert standing["rate"] == {"amount": "0.5124", "currency": "GBP", "per": "DAY"}
    assert standing["subtotal"] == money(round_to_pence(days * Decimal("51.24")))
    assert cost["vat"] == [{"percent": "5", "subtotal": {"amount": pounds(subtotal)}, "vat": {"amount": pounds(tax)}}]
    assert (cost["subtotal"], cost["total"]) == (money(subtotal), money(subtotal + tax))
    assert Decimal(cost["exact"]["amount"]) == sum(exact) * Decimal("1.05") / 100
    assert Decimal(cost["energy"]["value"]) == sum(energy.values())
    assert (cost["unpriced"], cost["completeness"], cost["estimated"]) == (kwh_of("0"), 1, False)
    assert (cost["start"], cost["end"]) == (format_iso(start), format_iso(end))

    daily = await buckets_of(served, resource_id, start, end, "P1D")
    assert len(daily) == days
    assert abs(sum(Decimal(bucket["total"]) for bucket in daily) - Decimal(cost["exact"]["amount"])) < Decimal(
        "0.00001"
    )
    half_hourly = await buckets_of(served, resource_id, change, change + timedelta(hours=slots / 2), "PT30M")
    assert len(half_hourly) == slots
    charges = [Decimal(bucket["standingChargesWithVat"]) for bucket in half_hourly]
    assert charges == [Decimal("0.53802"), *[0] * (slots - 1)]
    for bucket in half_hourly:
        at = datetime.fromisoformat(bucket["start"])
        expected = energy[at] * expected_rate(at)[1] * Decimal("0.0105")
        assert Decimal(bucket["energyCostWithVat"]) == expected.quantize(Decimal("0.0000001"), rounding=ROUND_HALF_UP)


async def test_corrected_tariff_reprices_the_past(served: House) -> None:
    resource_id = await add_day(served, rate=Decimal(10))
    before = await cost_of(served, resource_id, DAY, DAY + timedelta(days=1))
    await served.one.set_tariff(resource_id, "Corrected", rate=Decimal(20))
    after = await cost_of(served, resource_id, DAY, DAY + timedelta(days=1))
    assert [
        (cost["total"]["amount"], cost["lines"][0]["tariffName"], cost["lines"][0]["tariffVersion"])
        for cost in (before, after)
    ] == [
        ("2.40", "Standard", 1),
        ("4.80", "Corrected", 2),
    ]
    (day,) = await buckets_of(served, resource_id, DAY, DAY + timedelta(days=1), "P1D")
    assert day["total"] == "4.8000000"


async def test_range_without_tariff_has_no_cost_and_energy_before_the_first_tariff_is_unpriced(served: House) -> None:
    resource_id = await add_day(served, valid_from=DAY + timedelta(hours=18))
    midnight, noon, night = DAY, DAY + timedelta(hours=12), DAY + timedelta(days=1)
    assert await cost_of(served, resource_id, midnight, noon) is None
    answer = await query_field(served, served.one, COSTS, id=resource_id, range=span(midnight, noon), period="PT1H")
    assert answer == {"costs": None}
    cost = await cost_of(served, resource_id, noon, night)
    assert (cost["energy"], cost["unpriced"], cost["total"]["amount"]) == (kwh_of("12"), kwh_of("6"), "1.47")
    first, *_, last = await buckets_of(served, resource_id, noon, night, "PT1H")
    assert (first["energyCostWithVat"], first["total"], first["unpriced"]) == (None, None, "1")
    assert (last["energyCostWithVat"], last["total"], last["unpriced"]) == ("0.2450000", "0.2450000", "0")


async def test_negative_rate_gives_negative_costs(served: House) -> None:
    resource_id = await add_day(served, rate=Decimal("-2.5"), standing_charge=Decimal(30), vat_percent=Decimal(5))
    cost = await cost_of(served, resource_id, DAY, DAY + timedelta(days=1))
    assert [line["subtotal"]["amount"] for line in cost["lines"]] == ["-0.60", "0.30"]
    assert (cost["subtotal"]["amount"], cost["total"]["amount"]) == ("-0.30", "-0.32")
    assert cost["vat"] == [{"percent": "5", "subtotal": {"amount": "-0.30"}, "vat": {"amount": "-0.02"}}]


async def test_block_tariff_splits_a_sample_at_the_limit_and_counts_from_the_start_of_the_month(
    served: House,
) -> None:
    blocks = [NewTariffBlock(rate=Decimal(10), up_to=Decimal("12.2")), NewTariffBlock(rate=Decimal(30))]
    resource_id = await add_day(served, kind=TariffKind.BLOCK, blocks=blocks, block_period=Period.P1M)
    noon = DAY + timedelta(hours=12)
    cost = await cost_of(served, resource_id, noon, noon + timedelta(hours=1))
    assert [(line["band"], line["quantity"], line["subtotal"]["amount"]) for line in cost["lines"]] == [
        ("block 1", "0.2", "0.02"),
        ("block 2", "0.8", "0.24"),
    ]


async def test_half_hour_without_a_price_is_reported_as_unpriced(served: House) -> None:
    resource_id = await add_day(served, kind=TariffKind.DYNAMIC)
    query = "query ($id: ID!) { resource(resourceId: $id) { tariff { tariffId } } }"
    tariff_id = (await query_field(served, served.one, query, id=resource_id))["tariff"]["tariffId"]
    prices = [NewTariffPrice(at=DAY + n * HALF_HOUR, rate=Decimal(n)) for n in range(47) if n != 1]
    await served.one.set_prices(tariff_id, prices)
    cost = await cost_of(served, resource_id, DAY, DAY + timedelta(days=1))
    (line,) = cost["lines"]
    assert (line["averaged"], line["quantity"], line["rate"]["amount"]) == (True, "23", "0.23478261")
    assert (line["subtotal"]["amount"], cost["energy"], cost["unpriced"]) == ("5.40", kwh_of("24"), kwh_of("1"))
    hours = await buckets_of(served, resource_id, DAY, DAY + timedelta(days=1), "PT30M")
    assert [(bucket["energyCostWithVat"], bucket["unpriced"]) for bucket in hours[:3]] == [
        ("0.0000000", "0"),
        (None, "0.5"),
        ("0.0100000", "0"),
    ]


async def test_completeness_is_the_share_of_stored_readings(served: House) -> None:
    resource_id = await add_day(served)
    cost = await cost_of(served, resource_id, DAY, DAY + timedelta(days=2))
    assert cost["completeness"] == 0.5
    empty = await buckets_of(served, resource_id, DAY + timedelta(days=3), DAY + timedelta(days=4), "P1D")
    assert [(bucket["energyCostWithVat"], bucket["total"]) for bucket in empty] == [(None, None)]


async def test_cost_resource_returns_the_cost_of_its_consumption(served: House) -> None:
    energy = await add_day(served, vat_percent=Decimal(20), standing_charge=Decimal(40))
    cost = await cost_resource(served.one, cost_of=ID(energy))
    day = (DAY, DAY + timedelta(days=1))
    assert await cost_of(served, cost, *day) == await cost_of(served, energy, *day) is not None


SERIES = """query ($id: ID!, $range: TimeRange!, $period: Period!, $function: Function = SUM, $since: DateTime) {
  resource(resourceId: $id) { firstTime lastTime current { field unit value } readings(
      range: $range, period: $period, function: $function, revisedSince: $since) {
    unit total count completeness quality collectedTo completeTo
    buckets { start value count quality revision estimated } } } }"""


async def series_of(served: House, resource_id: str, hours: tuple[int, int], period: str, **more: Any) -> Any:
    start, end = (DAY + timedelta(hours=hour) for hour in hours)
    return await query_field(served, served.one, SERIES, id=resource_id, range=span(start, end), period=period, **more)


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_readings_of_a_cost_resource_are_computed_from_consumption_and_tariff(served: House) -> None:
    energy = await add_day(served, vat_percent=Decimal(20), standing_charge=Decimal(40))
    cost = await cost_resource(served.one, cost_of=ID(energy))
    resource = await series_of(served, cost, (0, 24), "P1D")
    series = resource["readings"]
    assert (series["unit"], series["total"], series["count"], series["quality"]) == ("pence", 705.6, 48, "ACTUAL")
    assert [(bucket["value"], bucket["count"]) for bucket in series["buckets"]] == [(705.6, 48)]  # no standing charge
    assert (
        series["completeTo"]
        == series["collectedTo"]
        == resource["lastTime"]
        .replace("23:30", "00:00")
        .replace(resource["lastTime"][:10], (DAY + timedelta(days=1)).date().isoformat())
    )
    longer = (await series_of(served, cost, (0, 60), "P1D"))["readings"]
    assert (longer["completeTo"], longer["quality"]) == (format_iso(DAY + timedelta(days=1)), "PARTIAL")
    month = (await series_of(served, cost, (0, 60), "P1M"))["readings"]
    assert (month["completeTo"], month["count"]) == (None if DAY.day > 1 else format_iso(DAY + timedelta(days=1)), 48)
    halves = (await series_of(served, cost, (-12, 24), "PT30M"))["readings"]["buckets"]
    assert [bucket["value"] for bucket in halves] == [None] * 24 + [14.7] * 48
    for function, value in (
        ("MIN", 14.7),
        ("MAX", 14.7),
        ("AVG", 14.7),
        ("FIRST", 14.7),
        ("LAST", 14.7),
        ("COUNT", 48),
    ):
        (bucket,) = (await series_of(served, cost, (0, 24), "P1D", function=function))["readings"]["buckets"]
        assert bucket["value"] == pytest.approx(value), function
    of_energy = await series_of(served, energy, (0, 24), "P1D")
    assert [resource[name] for name in ("firstTime", "lastTime")] == [
        of_energy[name] for name in ("firstTime", "lastTime")
    ]
    assert (resource["current"], of_energy["current"]["unit"]) == (None, "kWh")  # energy is not money


async def test_corrected_tariff_changes_past_costs_and_counts_as_a_revision(served: House) -> None:
    energy = await add_day(served, rate=Decimal(10))
    cost = await cost_resource(served.one, cost_of=ID(energy))
    before = await series_of(served, cost, (0, 24), "P1D")
    as_of = datetime.now(UTC).isoformat()
    await served.one.set_tariff(energy, rate=Decimal(30))
    after = await series_of(served, cost, (0, 24), "P1D", since=as_of)
    assert after["readings"]["buckets"][0]["value"] == pytest.approx(3 * before["readings"]["buckets"][0]["value"])
    again = await series_of(served, cost, (0, 24), "P1D", since=datetime.now(UTC).isoformat())
    assert again["readings"]["buckets"] == []


async def test_legacy_client_receives_computed_costs_in_the_format_of_readings(served: House) -> None:
    energy = await add_day(served, vat_percent=Decimal(20), standing_charge=Decimal(40))
    cost = await cost_resource(served.one, cost_of=ID(energy))
    query = {
        "from": DAY.strftime("%Y-%m-%dT00:00:00"),
        "to": DAY.strftime("%Y-%m-%dT23:59:59"),
        "period": "PT1H",
        "function": "sum",
    }
    answer = await served.call("GET", f"/resource/{cost}/readings", served.one.headers["account"], params=query)
    body = answer.json()
    assert [value for _, value in body["data"]] == [29.4] * 24
    assert (body["units"], body["classifier"]) == ("pence", "electricity.consumption.cost")
    stored = await served.call("GET", f"/resource/{cost}/platformbinary", served.one.headers["account"])
    assert (stored.status_code, stored.json()["code"]) == (404, "NOT_SUPPORTED")
    for path in ("first-time", "last-time", "current", "tariff", "tariff-list"):
        answer = await served.call("GET", f"/resource/{cost}/{path}", served.one.headers["account"])
        assert answer.status_code == 200, path


async def test_one_query_returns_the_costs_of_all_resources_of_a_home(served: House) -> None:
    resource_ids = [await add_day(served, rate=Decimal(rate)) for rate in (10, 20, 30)]
    home = await served.one.add_home(*resource_ids)
    query = """query ($id: ID!, $range: TimeRange!) { home(homeId: $id) { resources {
        cost(range: $range) { total { amount } } currentRates { rate { amount } } tariff { rate { amount } } } } }"""
    result = await query_field(served, served.one, query, id=home, range=span(DAY, DAY + timedelta(days=1)))
    costs = {
        (resource["cost"]["total"]["amount"], resource["currentRates"]["rate"]["amount"])
        for resource in result["resources"]
    }
    assert costs == {("2.40", "0.1"), ("4.80", "0.2"), ("7.20", "0.3")}


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_costs_are_withheld_without_consent(served: House) -> None:
    number = str(uuid4().int)[:13]
    energy = await served.one.add_resource(mpxn=number)
    cost = await cost_resource(served.one, mpxn=number)
    await served.one.set_tariff(energy)
    await served.one.run("verify_meter_point", mpxn=number)
    await served.one.run("revoke_consents", mpxns=[number])
    for resource_id in (energy, cost):
        error = await query_field(served, served.one, COST, id=resource_id, range=span(DAY, DAY + timedelta(days=1)))
        assert error["code"] == "CONSENT_REVOKED"


@pytest.mark.parametrize(
    ("start", "end", "period", "path"),
    [
        (DAY, DAY, "P1D", ["range", "end"]),
        (DAY, DAY - timedelta(days=1), "P1D", ["range", "end"]),
    ],
)
async def test_empty_range_is_rejected_with_its_path(
    served: House, start: datetime, end: datetime, period: str, path: list[str]
) -> None:
    resource_id = served.one.ids["resource"]
    error = await query_field(served, served.one, COSTS, id=resource_id, range=span(start, end), period=period)
    assert [problem["path"] for problem in error["problems"]] == [path]
    error = await query_field(served, served.one, COST, id=resource_id, range=span(start, end))
    assert [problem["path"] for problem in error["problems"]] == [path]


@pytest.mark.parametrize(
    ("days", "period", "path", "code"),
    [
        (2001, Period.P1D, ("range",), "COST_TOO_HIGH"),
        (1000, Period.PT30M, ("period",), "BAD_INPUT"),
    ],
)
async def test_range_that_is_too_long_is_rejected_by_cost_or_by_the_edge(
    served: House, days: int, period: Period, path: tuple[str, ...], code: str
) -> None:
    resource_id, end = served.one.ids["resource"], DAY + timedelta(days=days)
    error = await query_field(served, served.one, COSTS, id=resource_id, range=span(DAY, end), period=period.value)
    assert error["code"] == code
    resource = await served.one.run("resource", resource_id=resource_id)
    arguments = {"range": TimeRange(DAY, end), "period": period}
    with pytest.raises(BadInput) as caught:
        await served.gateway.runner.load(find_edge(Resource, "costs"), served.one.system, [resource], arguments)
    assert [problem.path for problem in caught.value.problems] == [path]


async def test_range_with_too_many_readings_is_rejected_not_truncated(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource_id = await add_day(served)
    monkeypatch.setattr("wattgate.db.queries.series.costs.MAX_SAMPLES", 47)
    answer = await served.graphql(
        COST, served.one.headers["account"], id=resource_id, range=span(DAY, DAY + timedelta(days=1))
    )
    assert answer["errors"][0]["message"] == "The range has more than 47 readings. Request a shorter range."
    assert answer["data"]["resource"]["cost"] is None
    assert (await cost_of(served, resource_id, DAY, DAY + timedelta(hours=23)))["total"]["amount"] == "5.64"
