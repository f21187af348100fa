"""Tariffs: validation, corrections, withdrawal, prices and permissions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select
from sqlmodel import col

from tests.support.chance import examples
from tests.support.costs import query_field
from tests.support.house import House
from tests.support.pricing import EVERY_DAY, WORKING_DAYS, band, band_at, blocks, tariff
from tests.support.refusals import refusal_of, refusals
from wattgate.clock import TimeRange, format_iso, utc_now
from wattgate.db.models import Resource, Tariff, TariffBand, WebhookEvent
from wattgate.db.queries.series.costs import explain_costs, no_cost_reasons
from wattgate.db.queries.series.current_readings import current_rates
from wattgate.db.queries.series.price_windows import price_curves
from wattgate.db.queries.series.tariffs import (
    INCLUDED_TARIFFS,
    SHOWN_TARIFF_READINGS,
    current_tariffs,
    tariff_histories,
)
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.energy.costs.tariffs import find_problems
from wattgate.enums import ComponentBasis, Period, TariffKind, Weekday
from wattgate.errors import NotFound
from wattgate.operations.tariffs import withdraw_tariff
from wattgate.operations.types.meters.tariffs import (
    NewComponentWindow,
    NewPeakStep,
    NewPriceFormula,
    NewTariffBand,
    NewTariffBlock,
    NewTariffComponent,
    NewTariffPrice,
)
from wattgate.operations.vocabulary.cost_weights import PRICED_READINGS_PER_UNIT

pytestmark = pytest.mark.either_database("some tests of the module run on both")

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MONDAY = datetime(2026, 1, 5)
SET = """
mutation ($input: NewTariff!) {
  setTariff(input: $input) {
    ... on Tariff {
      tariffId version supersededAt currency per vatPercent rate { amount } rateWithVat { amount currency per }
      bands { name rate { amount } rateWithVat { amount } weekdays start end }
      blocks { upTo { value unit } rate { amount } rateWithVat { amount } }
      standingCharge { amount currency per } standingChargeWithVat { amount }
    }
    ...Refused
  }
}
"""
WITHDRAW = (
    "mutation ($id: ID!) { withdrawTariff(tariffId: $id) { ... on Tariff { tariffId supersededAt } ...Refused } }"
)
PRICES = """
mutation ($id: ID!, $prices: [NewTariffPrice!]!, $currency: Currency! = "GBP") {
  setTariffPrices(tariffId: $id, currency: $currency, prices: $prices) {
      ... on TariffPricesSet { recorded } ...Refused }
}
"""
TARIFFS = """
query ($id: ID!, $superseded: Boolean! = false, $upcoming: Boolean! = false) {
  resource(resourceId: $id) {
    tariff { tariffId name version }
    currentRates { rate { amount } rateWithVat { amount per } standingChargeWithVat { amount per } band }
    tariffs(superseded: $superseded, upcoming: $upcoming) { name version supersededAt }
  }
}
"""


def problems(tariff_: Tariff) -> list[tuple[tuple[Any, ...], str]]:
    return [(problem.path, problem.message) for problem in find_problems(tariff_, NOW)]


def time_of_use(*bands: TariffBand, rate: str | None = "30", **more: Any) -> Tariff:
    return tariff(TariffKind.TIME_OF_USE, bands=list(bands), rate=rate and Decimal(rate), **more)


def test_valid_tariff_has_no_problems() -> None:
    valid = [
        tariff(rate=Decimal("-3.141592"), vat_rate=Decimal("17.5"), time_zone="Asia/Kathmandu"),
        time_of_use(band("night", "7", "23:30", "05:30")),
        time_of_use(band("all", "7", "00:00", "00:00"), rate=None),
        time_of_use(band("day", "20", "07:00", "22:00"), band("night", "-1", "22:00", "07:00"), rate=None),
        tariff(TariffKind.BLOCK, blocks=blocks(("2.5", "20"), (None, "30")), block_period=Period.P1W),
        tariff(TariffKind.DYNAMIC, valid_from=NOW + timedelta(days=700)),
    ]
    assert [(number, problems(one)) for number, one in enumerate(valid) if problems(one)] == []


def test_invalid_tariff_has_a_problem_with_its_path() -> None:
    expected: list[tuple[Tariff, tuple[Any, ...], str]] = [
        (tariff(rate=None), ("rate",), "is missing: a FLAT tariff needs it"),
        (tariff(name=" "), ("name",), "is empty"),
        (tariff(rate=Decimal("0.0000001")), ("rate",), "0.000000001 has more than 8 decimal places"),
        (tariff(rate=Decimal("1000000.1")), ("rate",), "10000.001 is not between -10,000 and 10,000"),
        (tariff(rate=Decimal("NaN")), ("rate",), "NaN is not a number"),
        (tariff(standing_charge=Decimal("Infinity")), ("standingCharge",), "Infinity is not a number"),
        (tariff(vat_rate=Decimal(101)), ("vatPercent",), "101 is not between 0 and 100 percent"),
        (tariff(vat_rate=Decimal(-1)), ("vatPercent",), "-1 is not between 0 and 100 percent"),
        (tariff(time_zone="Mars/Olympus"), ("timeZone",), "'Mars/Olympus' is not an IANA time zone"),
        (tariff(time_zone="../etc"), ("timeZone",), "'../etc' is not an IANA time zone"),
        (
            tariff(valid_from=datetime(1999, 12, 31, tzinfo=UTC)),
            ("validFrom",),
            "1999-12-31T00:00:00.000Z is before 2000-01-01T00:00:00.000Z",
        ),
        (
            tariff(valid_from=datetime(2029, 1, 1, tzinfo=UTC)),
            ("validFrom",),
            "2029-01-01T00:00:00.000Z is more than two years ahead",
        ),
        (tariff(bands=[band("b", "1", "00:00", "01:00")]), ("bands",), "does not belong to a FLAT tariff"),
        (tariff(blocks=blocks((None, "1"))), ("blocks",), "does not belong to a FLAT tariff"),
        (tariff(block_period=Period.P1M), ("blockPeriod",), "does not belong to a FLAT tariff"),
        (tariff(TariffKind.DYNAMIC, rate=Decimal(0)), ("rate",), "does not belong to a DYNAMIC tariff"),
        (time_of_use(), ("bands",), "is missing: a TIME_OF_USE tariff needs it"),
        (
            time_of_use(*(band(str(n), "1", f"0{n // 7}:00", f"0{n // 7}:30", [Weekday(n % 7)]) for n in range(51))),
            ("bands",),
            "are more than 50",
        ),
        (
            time_of_use(band("night", "7", "23:60", "05:30")),
            ("bands", 0, "start"),
            "'23:60' is not a time from 00:00 to 23:59",
        ),
        (
            time_of_use(band("night", "7", "23:30", "24:00")),
            ("bands", 0, "end"),
            "'24:00' is not a time from 00:00 to 23:59",
        ),
        (
            time_of_use(band("night", "7", "23:30", "05:30", [])),
            ("bands", 0, "weekdays"),
            "are empty: name the days on which it starts",
        ),
        (
            time_of_use(band("night", "7", "23:30", "05:30", [Weekday.MONDAY, Weekday.MONDAY])),
            ("bands", 0, "weekdays"),
            "name a day twice",
        ),
        (time_of_use(band("", "7", "23:30", "05:30")), ("bands", 0, "name"), "is empty"),
        (time_of_use(band("night", "Infinity", "23:30", "05:30")), ("bands", 0, "rate"), "Infinity is not a number"),
        (
            time_of_use(band("day", "20", "07:00", "22:30"), band("night", "7", "22:00", "07:30", WORKING_DAYS)),
            ("bands", 1),
            "'night' overlaps 'day' on MONDAY at 22:00",
        ),
        (
            time_of_use(
                band("monday", "20", "00:00", "01:00", [Weekday.MONDAY]),
                band("sunday", "7", "23:00", "00:30", [Weekday.SUNDAY]),
            ),
            ("bands", 1),
            "'sunday' overlaps 'monday' on MONDAY at 00:00",
        ),
        (
            time_of_use(band("day", "20", "07:00", "22:00"), rate=None),
            ("rate",),
            "is missing: no band covers MONDAY at 00:00",
        ),
        (
            time_of_use(band("all", "20", "07:00", "07:00")),
            ("rate",),
            "never applies: the bands cover the whole week",
        ),
        (
            tariff(TariffKind.BLOCK, blocks=blocks(("1", "2"), (None, "3"))),
            ("blockPeriod",),
            "is missing: a BLOCK tariff needs it",
        ),
        (
            tariff(TariffKind.BLOCK, blocks=blocks((None, "3")), block_period=Period.PT1H),
            ("blockPeriod",),
            "PT1H is not a day, week, month, quarter or year",
        ),
        (tariff(TariffKind.BLOCK, block_period=Period.P1M), ("blocks",), "is missing: a BLOCK tariff needs it"),
        (
            tariff(TariffKind.BLOCK, blocks=blocks(("1", "2"), ("5", "3")), block_period=Period.P1M),
            ("blocks", 1, "upTo"),
            "the last block has no limit",
        ),
        (
            tariff(TariffKind.BLOCK, blocks=blocks((None, "2"), (None, "3")), block_period=Period.P1M),
            ("blocks", 0, "upTo"),
            "only the last block has no limit",
        ),
        (
            tariff(TariffKind.BLOCK, blocks=blocks(("5", "2"), ("5", "3"), (None, "4")), block_period=Period.P1M),
            ("blocks",),
            "do not ascend from 0",
        ),
        (
            tariff(TariffKind.BLOCK, blocks=blocks(("-1", "2"), (None, "4")), block_period=Period.P1M),
            ("blocks",),
            "do not ascend from 0",
        ),
    ]
    assert [
        (path, message, found)
        for invalid, path, message in expected
        if (found := problems(invalid)) != [(path, message)]
    ] == []


def test_all_problems_are_reported_at_once() -> None:
    invalid = time_of_use(band("", "1", "1:00", "02:60", []), rate="1e9", time_zone="?", vat_rate=Decimal(200))
    assert [path for path, _ in problems(invalid)] == [
        ("rate",),
        ("vatPercent",),
        ("timeZone",),
        ("bands", 0, "name"),
        ("bands", 0, "weekdays"),
        ("bands", 0, "start"),
        ("bands", 0, "end"),
    ]


EDGES = st.integers(0, 47).map(lambda slot: f"{slot // 2:02d}:{slot % 2 * 30:02d}")
DAYS = st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True)


@settings(max_examples=examples(200))
@given(specs=st.lists(st.tuples(DAYS, EDGES, EDGES), min_size=1, max_size=4))
def test_overlaps_and_gaps_of_bands_are_found(
    specs: list[tuple[list[Weekday], str, str]],
) -> None:
    bands = [band(f"band {number}", "1", start, end, days) for number, (days, start, end) in enumerate(specs)]
    times = [MONDAY + n * timedelta(minutes=30) for n in range(7 * 48)]
    holding = [[item for item in bands if band_at([item], time)] for time in times]
    found = problems(time_of_use(*bands, rate=None))
    assert any("overlaps" in message for _, message in found) == any(len(active) > 1 for active in holding)
    gap = next((time for time, active in zip(times, holding, strict=True) if not active), None)
    expected = gap and f"is missing: no band covers {gap.strftime('%A').upper()} at {gap.strftime('%H:%M')}"
    assert [message for path, message in found if path == ("rate",)] == ([expected] if expected else [])


def tariff_fields(resource_id: str, **more: Any) -> dict[str, Any]:
    fields = {
        "resourceId": resource_id,
        "name": "Fixed",
        "kind": "FLAT",
        "currency": "GBP",
        "rate": "0.2",
        "validFrom": "2025-01-01T00:00:00Z",
        "timeZone": "Europe/London",
    }
    return {**fields, **more}


COMPONENTS = """
query ($id: ID!) {
  resource(resourceId: $id) {
    tariff { components { name basis rate { amount per } rateWithVat { amount } vatPercent peakDays minimumKilowatts
      window { weekdays start end seasonStart seasonEnd } steps { upToKilowatts rateWithVat { per } } } }
    currentRates { rate { amount } rateWithVat { amount } standingCharge { amount } standingChargeWithVat { amount } }
  }
}
"""


LINES_OF_JANUARY = """
query ($id: ID!) {
  resource(resourceId: $id) {
    cost(range: {start: "2026-01-01T00:00:00Z", end: "2026-02-01T00:00:00Z"}) { lines { component quantity } }
  }
}
"""


async def test_components_are_part_of_the_rates_that_clients_read(served: House) -> None:
    resource_id = await served.one.add_resource()
    levy = NewTariffComponent(name="Levy", basis=ComponentBasis.ENERGY, rate=Decimal(2), vat_percent=Decimal(0))
    fee = NewTariffComponent(name="Fee", basis=ComponentBasis.DAY, rate=Decimal(5))
    peak = NewTariffComponent(
        name="Peak",
        basis=ComponentBasis.PEAK,
        rate=Decimal(0),
        peak_days=3,
        minimum_kilowatts=Decimal("2.5"),
        window=NewComponentWindow(
            weekdays=[Weekday.SATURDAY], start="07:00", end="19:00", season_start="11-01", season_end="01-31"
        ),
    )
    terms: dict[str, Any] = {"rate": Decimal(20), "standing_charge": Decimal("40.123457"), "vat_percent": Decimal(5)}
    steps = [NewPeakStep(rate=Decimal(0), up_to_kilowatts=Decimal(2)), NewPeakStep(rate=Decimal(0))]
    step = NewTariffComponent(name="Step", basis=ComponentBasis.PEAK, rate=Decimal(0), steps=steps)
    await served.one.set_tariff(resource_id, kind=TariffKind.FLAT, components=[levy, fee, peak, step], **terms)
    found = (await served.graphql(COMPONENTS, served.one.headers["account"], id=resource_id))["data"]["resource"]
    window = {"weekdays": ["SATURDAY"], "start": "07:00", "end": "19:00", "seasonStart": "11-01", "seasonEnd": "01-31"}
    shown_steps = [{"upToKilowatts": limit, "rateWithVat": {"per": "MONTH"}} for limit in ("2", None)]
    assert [list(component.values()) for component in found["tariff"]["components"]] == [
        ["Levy", "ENERGY", {"amount": "0.02", "per": "KILOWATT_HOUR"}, {"amount": "0.02"}, "0", None, None, None, []],
        ["Fee", "DAY", {"amount": "0.05", "per": "DAY"}, {"amount": "0.0525"}, "5", None, None, None, []],
        ["Peak", "PEAK", {"amount": "0", "per": "KILOWATT"}, {"amount": "0"}, "5", 3, "2.5", window, []],
        ["Step", "PEAK", {"amount": "0", "per": "KILOWATT"}, {"amount": "0"}, "5", None, None, None, shown_steps],
    ]
    amounts = {name: rate["amount"] for name, rate in found["currentRates"].items()}
    assert amounts == {
        "rate": "0.22",
        "rateWithVat": "0.23",
        "standingCharge": "0.45123457",
        "standingChargeWithVat": "0.4737962985",
    }
    saturday, sunday = (datetime(2026, 1, day, 12, tzinfo=UTC) for day in (10, 11))
    await served.one.record(resource_id, (saturday, "2"), (sunday, "9"))
    january = await served.graphql(LINES_OF_JANUARY, served.one.headers["account"], id=resource_id)
    quantities = {line["component"]: line["quantity"] for line in january["data"]["resource"]["cost"]["lines"]}
    assert quantities["Peak"] == "4", "days without readings are not part of the mean of three days"
    body = (await served.call("GET", f"/resource/{resource_id}/tariff", served.one.headers["account"])).json()
    (entry,) = body["data"]
    assert entry["currentRates"] == {"rate": 23, "standingCharge": 47.37962985}
    assert entry["plan"][0]["planDetail"] == [{"rate": 23}, {"standing": 47.37962985}]


FORMULA = """
query ($id: ID!, $range: TimeRange!) {
  resource(resourceId: $id) {
    tariff { priceFormula { factor floor { amount } cap { amount per } } components { inLimits window { start } }
      prices(range: $range) { rate rateWithVat } }
    currentRates { rate { amount } rateWithVat { amount } }
    priceCurve(range: $range) { start rate { amount } rateWithVat { amount } }
    cheapestWindow(minutes: 30) { meanRateWithVat { amount } }
    cost(range: $range) { lines { kind component quantity subtotal { amount } } exact { amount } }
  }
}
"""


@pytest.mark.both_databases("the formula in SQL")
async def test_the_formula_applies_wherever_a_price_is_read(served: House) -> None:
    """Prices of 10 and 45 pence, as a source gave them, at the rates of an Agile tariff: 22 and at most 60 pence."""
    resource_id = await served.one.add_resource()
    day = NewComponentWindow(weekdays=list(Weekday), start="00:00", end="00:00")
    peak, fee = (
        NewTariffComponent(name=name, basis=ComponentBasis.ENERGY, rate=Decimal(12), window=day, in_limits=limited)
        for name, limited in (("Peak", True), ("Network", False))
    )
    tariff = await served.one.set_tariff(
        resource_id,
        kind=TariffKind.DYNAMIC,
        price_formula=NewPriceFormula(factor=Decimal("2.2"), cap=Decimal(60)),
        components=[peak, fee],
        vat_percent=Decimal(5),
    )
    now = utc_now()
    start = now.replace(minute=now.minute // 30 * 30, second=0, microsecond=0)
    starts = [start + timedelta(minutes=30 * number) for number in (0, 1)]
    prices = [NewTariffPrice(at=at, rate=Decimal(price)) for at, price in zip(starts, (45, 10), strict=True)]
    await served.one.set_prices(tariff.tariff_id, prices)
    await served.one.record(resource_id, (start, "2"))
    span = {"start": format_iso(start), "end": format_iso(start + timedelta(hours=1))}
    headers = served.one.headers["account"]
    found = (await served.graphql(FORMULA, headers, id=resource_id, range=span))["data"]["resource"]
    assert found["tariff"] == {
        "priceFormula": {"factor": "2.2", "floor": None, "cap": {"amount": "0.6", "per": "KILOWATT_HOUR"}},
        "components": [{"inLimits": limited, "window": {"start": "00:00"}} for limited in (True, False)],
        "prices": [{"rate": "0.45", "rateWithVat": "0.4725"}, {"rate": "0.1", "rateWithVat": "0.105"}],
    }
    rates = [{"rate": {"amount": "0.72"}, "rateWithVat": {"amount": "0.756"}}]
    rates.append({"rate": {"amount": "0.46"}, "rateWithVat": {"amount": "0.483"}})
    assert found["currentRates"] == rates[0]
    assert found["priceCurve"] == [{"start": format_iso(at), **rate} for at, rate in zip(starts, rates, strict=True)]
    assert found["cheapestWindow"]["meanRateWithVat"]["amount"] == "0.483"
    assert found["cost"] == {
        "lines": [
            {"kind": "ENERGY", "component": None, "quantity": "2", "subtotal": {"amount": "0.96"}},
            {"kind": "COMPONENT", "component": "Peak", "quantity": "2", "subtotal": {"amount": "0.24"}},
            {"kind": "COMPONENT", "component": "Network", "quantity": "2", "subtotal": {"amount": "0.24"}},
        ],
        "exact": {"amount": "1.512"},
    }
    (legacy,) = (await served.call("GET", f"/resource/{resource_id}/tariff", headers)).json()["data"]
    assert legacy["currentRates"]["rate"] == 75.6
    refused = {"priceFormula": {"factor": "0", "floor": "0.5", "cap": "0.4"}}
    answer = await served.graphql(SET, headers, input=tariff_fields(resource_id, **refused))
    assert [problem["path"] for problem in refusal_of(answer)["problems"]] == [
        ["input", "priceFormula"],
        ["input", "priceFormula", "factor"],
        ["input", "priceFormula", "floor"],
    ]


async def test_a_tariff_without_a_time_zone_has_that_of_the_home(served: House) -> None:
    """A tariff with the zone of another country prices the night an hour early or late."""
    resource_id = await served.one.add_resource()
    without_zone = tariff_fields(resource_id)
    del without_zone["timeZone"]
    set_tariff = "mutation ($input: NewTariff!) { setTariff(input: $input) { ... on Tariff { timeZone } ...Refused } }"
    add_home = "mutation ($input: NewHome!) { createHome(input: $input) { ... on Home { homeId } ...Refused } }"

    async def answer() -> Any:
        return await served.graphql(set_tariff, served.one.headers["account"], input=without_zone)

    async def home(zone: str | None) -> None:
        home_input: dict[str, Any] = {
            "homeTypeId": served.one.ids["virtual_entity_type"],
            "name": "Home",
            "timeZone": zone,
        }
        home_input["resources"] = [{"resourceId": resource_id}]
        added = await served.graphql(add_home, served.one.headers["account"], input=home_input)
        assert not refusals(added), added

    for zone, message in (
        (None, "is missing, and no home with the resource has one"),
        ("Europe/Paris", None),
        ("Europe/Paris", None),
        ("Australia/Sydney", "is missing, and the homes with the resource have Australia/Sydney, Europe/Paris"),
    ):
        await home(zone)
        given = await answer()
        if message is None:
            assert given["data"]["setTariff"] == {"timeZone": "Europe/Paris"}
        else:
            (problem,) = refusal_of(given)["problems"]
            assert problem == {"path": ["input", "timeZone"], "message": message}


async def test_tariff_with_overlapping_bands_is_rejected(served: House) -> None:
    bands = [
        {"name": "day", "rate": "0.3", "weekdays": ["SATURDAY"], "start": "07:00", "end": "00:00"},
        {"name": "night", "rate": "0.09", "weekdays": ["FRIDAY"], "start": "23:00", "end": "07:30"},
    ]
    tariff_input = tariff_fields(served.one.ids["resource"], kind="TIME_OF_USE", bands=bands)
    error = await query_field(served, served.one, SET, input=tariff_input)
    assert error["code"] == "BAD_INPUT"
    assert error["problems"] == [
        {"path": ["input", "bands", 1], "message": "'night' overlaps 'day' on SATURDAY at 07:00"}
    ]


async def test_corrected_tariff_replaces_the_first_and_both_stay_listed(served: House) -> None:
    resource_id = await served.one.add_resource()
    first = await query_field(served, served.one, SET, input=tariff_fields(resource_id))
    later = await query_field(
        served, served.one, SET, input=tariff_fields(resource_id, name="Later", validFrom="2026-01-01T00:00:00Z")
    )
    corrected = await query_field(
        served, served.one, SET, input=tariff_fields(resource_id, name="Corrected", rate=0.215, vatPercent=5)
    )
    assert (first["version"], later["version"], corrected["version"]) == (1, 2, 3)
    assert (corrected["rate"], corrected["vatPercent"], corrected["supersededAt"]) == ({"amount": "0.215"}, "5", None)
    assert corrected["rateWithVat"] == {"amount": "0.22575", "currency": "GBP", "per": "KILOWATT_HOUR"}
    current = await query_field(served, served.one, TARIFFS, id=resource_id)
    assert [entry["name"] for entry in current["tariffs"]] == ["Later", "Corrected"]
    assert current["tariff"]["name"] == "Later"
    every = await query_field(served, served.one, TARIFFS, id=resource_id, superseded=True)
    assert [(entry["name"], entry["supersededAt"] is None) for entry in every["tariffs"]] == [
        ("Later", True),
        ("Corrected", True),
        ("Fixed", False),
    ]


async def test_withdrawing_a_tariff_restores_the_previous_one(served: House) -> None:
    resource_id = await served.one.add_resource()
    await served.one.set_tariff(resource_id, "Before")
    await served.one.set_tariff(resource_id, "Mistaken", datetime(2025, 5, 1, tzinfo=UTC))
    mistaken = (await query_field(served, served.one, TARIFFS, id=resource_id))["tariff"]
    assert mistaken["name"] == "Mistaken"
    first, second = [await query_field(served, served.one, WITHDRAW, id=mistaken["tariffId"]) for _ in range(2)]
    assert first == second
    assert first["supersededAt"]
    assert (await query_field(served, served.one, TARIFFS, id=resource_id))["tariff"]["name"] == "Before"


async def test_upcoming_tariff_is_listed_only_on_request(served: House) -> None:
    resource_id = await served.one.add_resource()
    await served.one.set_tariff(resource_id, "To come", utc_now() + timedelta(days=30))
    assert await query_field(served, served.one, TARIFFS, id=resource_id) == {
        "tariff": None,
        "currentRates": None,
        "tariffs": [],
    }
    upcoming = await query_field(served, served.one, TARIFFS, id=resource_id, upcoming=True)
    assert [entry["name"] for entry in upcoming["tariffs"]] == ["To come"]


MANY = 40


class NotPaid(Exception):
    """Ends a query that charges its caller."""


class WatchedRows(Rows):
    """Rows that count the loaded tariffs. They run only as far as their caller pays."""

    loaded = 0

    async def find(self, lookup: Lookup[Any], *arguments: Any, **options: Any) -> list[Any]:
        found = await super().find(lookup, *arguments, **options)
        self.loaded += len(found) if lookup.model is Tariff else 0
        return found

    async def all(self, model: Any, *where: Any, **options: Any) -> list[Any]:
        found = await super().all(model, *where, **options)
        self.loaded += len(found) if model is Tariff else 0
        return found

    def refuse(self, readings: int) -> None:
        if readings:
            raise NotPaid(readings)


@pytest.mark.both_databases("the tariff in force in SQL")
async def test_tariffs_are_loaded_as_far_as_they_are_needed_and_paid(served: House) -> None:
    """A resource may have 2,000 tariffs, each with 50 bands."""
    resource_id = await served.one.add_resource()
    bands = [NewTariffBand(name="b", rate=Decimal(1), weekdays=list(Weekday), start="00:00", end="07:00")]
    for day in range(MANY):
        valid_from = NOW - timedelta(days=MANY - day)
        kind: dict[str, Any] = {"kind": TariffKind.TIME_OF_USE, "rate": Decimal(day), "bands": bands}
        await served.one.set_tariff(resource_id, f"of day {day}", valid_from, **kind)
    assert served.one.account.application_id is not None
    scope, faults = RowScope(served.one.account.application_id), list[Any]()
    now, whole = NOW - timedelta(hours=1), TimeRange(NOW - timedelta(days=MANY + 1), NOW)
    last_day = TimeRange(NOW - timedelta(days=2), now)
    loads: list[tuple[Callable[..., Awaitable[list[Any]]], dict[str, Any], int, bool]] = [
        (current_tariffs, {}, 1, True),
        (current_rates, {}, 1, True),
        (no_cost_reasons, {"range": whole}, 1, True),
        (explain_costs, {"range": last_day}, 2, True),
        (price_curves, {"range": last_day}, 2, True),
        (price_curves, {"range": whole_month(now)}, INCLUDED_TARIFFS + 2, False),
        (explain_costs, {"range": whole}, INCLUDED_TARIFFS + 1, False),
        (tariff_histories, {}, 0, False),
        (tariff_histories, {"superseded": True, "upcoming": True}, 0, False),
    ]
    for load, arguments, most, is_paid in loads:
        async with served.gateway.database.reader(scope) as session:
            rows = WatchedRows(session, scope.application_id, now=now)
            rows.charge_readings = rows.refuse
            resource = await rows.get(Resource, resource_id)
            try:
                results, was_paid = await load(rows, [resource], **arguments), True
            except NotPaid:
                results, was_paid = [None], False
        if (rows.loaded > most, was_paid) != (False, is_paid):
            faults.append((load.__name__, arguments, rows.loaded, was_paid))
        if load is current_tariffs and results[0].name != f"of day {MANY - 1}":
            faults.append(results)
    assert faults == []


def whole_month(now: datetime) -> TimeRange:
    return TimeRange(now - timedelta(days=30), now)


async def test_the_other_tariffs_of_a_list_are_charged_by_their_bands(served: House) -> None:
    charged = []
    for number in (5, 21):
        resource_id = await served.one.add_resource()
        for day in range(number):
            await served.one.set_tariff(resource_id, valid_from=NOW - timedelta(days=800 + day))
        query = f'{{ resource(resourceId: "{resource_id}") {{ tariffs {{ name }} }} }}'
        body = await served.graphql(query, served.one.headers["account"])
        charged.append(body["extensions"]["cost"]["charged"])
    assert charged[1] - charged[0] == 16 + 16 * SHOWN_TARIFF_READINGS // PRICED_READINGS_PER_UNIT


async def test_a_tariff_is_set_without_those_before_it(served: House) -> None:
    """Only the version of the newest one is needed. PostgreSQL would write the bands of all to find that one."""
    statements = list[str]()
    resource_id = await served.one.add_resource()
    await served.one.set_tariff(resource_id)

    def record(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        statements.append(statement)

    engine = served.gateway.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", record)
    try:
        await served.one.set_tariff(resource_id, valid_from=NOW)
    finally:
        event.remove(engine, "before_cursor_execute", record)
    assert [one for one in statements if one.startswith("SELECT tariff.") and "ORDER BY" in one] == []
    assert statements != []


@pytest.mark.both_databases("a main path of its area")
async def test_simultaneous_tariffs_get_different_versions_and_one_applies(served: House) -> None:
    resource_id = await served.one.add_resource()
    calls = (query_field(served, served.one, SET, input=tariff_fields(resource_id, name=str(n))) for n in range(4))
    assert sorted(response["version"] for response in await asyncio.gather(*calls)) == [1, 2, 3, 4]
    assert len((await query_field(served, served.one, TARIFFS, id=resource_id))["tariffs"]) == 1


@pytest.mark.both_databases("a main path of its area")
async def test_tariff_of_another_tenant_or_user_is_not_found(served: House) -> None:
    theirs = await served.one.set_tariff(await served.one.add_resource(), kind=TariffKind.DYNAMIC)
    for query, variables in (
        (WITHDRAW, {"id": theirs.tariff_id}),
        (PRICES, {"id": theirs.tariff_id, "prices": []}),
        (SET, {"input": tariff_fields(theirs.resource_id)}),
    ):
        for caller in ("account", "acting", "administrator"):
            assert (await query_field(served, served.other, query, caller, **variables))["code"] == "NOT_FOUND"
    neighbour = replace(served.one.account, user_id="a neighbour")
    with pytest.raises(NotFound, match=f"No tariff with ID {theirs.tariff_id}"):
        await served.gateway.runner.run(withdraw_tariff, neighbour, {"tariff_id": theirs.tariff_id})


async def test_prices_are_upserted_and_invalid_ones_rejected_with_their_path(served: House) -> None:
    resource_id = await served.one.add_resource()
    dynamic = await served.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC)
    at = datetime(2026, 1, 5, tzinfo=UTC)
    valid = {"at": format_iso(at), "rate": "-0.0125"}
    assert await query_field(served, served.one, PRICES, id=dynamic.tariff_id, prices=[valid, valid]) == {"recorded": 1}
    assert await query_field(served, served.one, PRICES, id=dynamic.tariff_id, prices=[{**valid, "rate": 0.09}]) == {
        "recorded": 1
    }
    prices = [
        valid,
        {**valid, "rate": "0.02"},
        {"at": format_iso(at + timedelta(minutes=10)), "rate": "0.01"},
        {"at": "2023-12-31T23:30:00Z", "rate": "0.01"},
        {"at": format_iso(at + timedelta(minutes=30)), "rate": "0.011234567"},
        {"at": "8999-01-01T00:00:00Z", "rate": "0.01"},
    ]
    error = await query_field(served, served.one, PRICES, id=dynamic.tariff_id, prices=prices)
    assert [(tuple(problem["path"]), problem["message"]) for problem in error["problems"]] == [
        (("prices", 1, "at"), "is given twice with different rates"),
        (("prices", 2, "at"), "2026-01-05T00:10:00.000Z does not begin a period of 30 minutes"),
        (
            ("prices", 3, "at"),
            "2023-12-31T23:30:00.000Z is before the tariff is valid, from 2024-01-01T00:00:00.000Z on",
        ),
        (("prices", 4, "rate"), "0.011234567 has more than 8 decimal places"),
        (("prices", 5, "at"), "8999-01-01T00:00:00.000Z is more than two years ahead"),
    ]
    query = """query ($id: ID!) { resource(resourceId: $id) { tariff {
        prices(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}) { at rate } } } }"""
    resource = await query_field(served, served.one, query, id=resource_id)
    assert resource["tariff"]["prices"] == [{"at": format_iso(at), "rate": "0.09"}]
    later = {**valid, "at": format_iso(at + timedelta(hours=1))}
    await query_field(served, served.one, PRICES, id=dynamic.tariff_id, prices=[valid, later])
    assert await arrivals(served, resource_id) == [
        ("2026-01-05T00:00:00.000Z", "2026-01-05T00:30:00.000Z"),
        ("2026-01-05T01:00:00.000Z", "2026-01-05T01:30:00.000Z"),
    ]


async def arrivals(house: House, resource_id: str) -> list[tuple[str, str]]:
    """Return the new time of each webhook event about prices of a resource, in the order of the events."""
    statement = select(WebhookEvent).where(col(WebhookEvent.event_code) == "tariff.prices.arrived")
    async with house.gateway.database.engine.connect() as connection:
        rows = (await connection.execute(statement.order_by(col(WebhookEvent.number)))).all()
    payloads = [row.payload for row in rows if row.payload["resourceId"] == resource_id]
    return [(payload["newFrom"], payload["knownTo"]) for payload in payloads]


@pytest.mark.stalls("10,001 prices become objects in one step of 50 to 100 ms, before the resolver can count them")
async def test_prices_need_a_dynamic_tariff_in_force_and_are_at_most_10_000(served: House) -> None:
    resource_id = await served.one.add_resource()
    flat = await served.one.set_tariff(resource_id)
    dynamic = await served.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC)
    price = {"at": "2026-01-05T00:00:00Z", "rate": "1"}
    error = await query_field(served, served.one, PRICES, id=flat.tariff_id, prices=[price])
    assert error["problems"] == [{"path": ["tariffId"], "message": "was replaced or withdrawn"}]
    error = await query_field(served, served.one, PRICES, id=dynamic.tariff_id, prices=[price] * 10_001)
    assert error["problems"] == [{"path": ["prices"], "message": "contain 10,001 prices"}]
    other = await served.one.set_tariff(await served.one.add_resource())
    error = await query_field(served, served.one, PRICES, id=other.tariff_id, prices=[price])
    assert error["problems"] == [{"path": ["tariffId"], "message": "is FLAT, not DYNAMIC"}]


@pytest.mark.both_databases("a main path of its area")
async def test_account_sets_the_tariff_of_its_own_resource(served: House) -> None:
    resource_id = await served.one.add_resource()
    for caller in ("account", "acting", "administrator"):
        assert (await query_field(served, served.one, SET, caller, input=tariff_fields(resource_id)))["version"]


async def test_current_rate_of_a_block_tariff_is_that_of_the_reached_block(served: House) -> None:
    resource_id = await served.one.add_resource()
    block_list = [NewTariffBlock(rate=Decimal(10), up_to=Decimal(2)), NewTariffBlock(rate=Decimal(20))]
    await served.one.set_tariff(
        resource_id, kind=TariffKind.BLOCK, blocks=block_list, block_period=Period.P1Y, vat_percent=Decimal(5)
    )
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    rates = []
    for kwh in ("1.999", "2"):
        await served.one.record(resource_id, (midnight, kwh))
        rates.append((await query_field(served, served.one, TARIFFS, id=resource_id))["currentRates"])
    assert rates == [
        {
            "rate": {"amount": rate},
            "rateWithVat": {"amount": with_vat, "per": "KILOWATT_HOUR"},
            "standingChargeWithVat": {"amount": "0", "per": "DAY"},
            "band": band_name,
        }
        for rate, with_vat, band_name in (("0.1", "0.105", "block 1"), ("0.2", "0.21", "block 2"))
    ]


@pytest.mark.parametrize("currency", ["XAU", "gbp", "GBX", "DEM"])
async def test_text_that_is_no_active_currency_is_rejected(served: House, currency: str) -> None:
    """A code of another form is no Currency. Gold has no minor unit, and the mark is not in circulation any more."""
    resource_id = await served.one.add_resource()
    dynamic = await served.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC)
    for document, variables, path in (
        (SET, {"input": tariff_fields(resource_id, currency=currency)}, ["input", "currency"]),
        (PRICES, {"id": dynamic.tariff_id, "currency": currency, "prices": []}, ["currency"]),
    ):
        answer = await served.graphql(document, served.one.headers["application"], **variables)
        extensions = refusal_of(answer)
        assert extensions["code"] == "BAD_INPUT"
        if currency.isupper():
            assert extensions["problems"] == [
                {"path": path, "message": f"{currency} is not a currency of ISO 4217 in circulation"}
            ]
        else:
            assert "ISO 4217" in refusal_of(answer)["message"]


async def test_rates_are_exact_in_the_major_unit(served: House) -> None:
    """Eight decimal places of a pound are six of a penny. No number has an exponent."""
    resource_id = await served.one.add_resource()
    blocks = [{"rate": "0.00000001", "upTo": "1200"}, {"rate": "9999.99999999"}]
    terms = {"kind": "BLOCK", "rate": None, "blocks": blocks, "blockPeriod": "P1M", "standingCharge": "0.0001"}
    tariff = await query_field(served, served.one, SET, input=tariff_fields(resource_id, **terms, vatPercent="17.5"))
    assert (tariff["currency"], tariff["per"]) == ("GBP", "KILOWATT_HOUR")
    assert tariff["blocks"] == [
        {
            "upTo": {"value": "1200", "unit": "KILOWATT_HOUR"},
            "rate": {"amount": "0.00000001"},
            "rateWithVat": {"amount": "0.00000001175"},
        },
        {"upTo": None, "rate": {"amount": "9999.99999999"}, "rateWithVat": {"amount": "11749.99999998825"}},
    ]
    assert tariff["standingCharge"] == {"amount": "0.0001", "currency": "GBP", "per": "DAY"}
    assert tariff["standingChargeWithVat"] == {"amount": "0.0001175"}
