"""The prices of a time, and the cheapest time for a task, over GraphQL."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.calls import code_of
from tests.support.costs import cost_resource, query_field
from tests.support.house import House
from wattgate.clock import format_iso
from wattgate.enums import Period, TariffKind, Weekday
from wattgate.operations.types.meters.tariffs import NewTariffBand, NewTariffBlock, NewTariffPrice
from wattgate.operations.vocabulary.cost_weights import PRICED_READINGS_PER_UNIT

pytestmark = pytest.mark.either_database("some tests of the module run on both")

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
CURVE = """
query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  priceCurve(range: $range) { start end band rate { amount currency per } rateWithVat { amount } }
} }
"""
WINDOW = """
query ($id: ID!, $minutes: Int!, $notBefore: DateTime, $before: DateTime, $contiguous: Boolean) {
  resource(resourceId: $id) {
    cheapestWindow(minutes: $minutes, notBefore: $notBefore, before: $before, contiguous: $contiguous) {
      start end knownTo meanRateWithVat { amount currency per } spans { start end rateWithVat { amount } }
    }
  }
}
"""


def at(hours: float) -> str:
    return format_iso(MONDAY + timedelta(hours=hours))


async def window(house: House, resource_id: str, minutes: int, **more: Any) -> Any:
    given = {"notBefore": at(0), "before": at(24), "contiguous": True, **more}
    return (await query_field(house, house.one, WINDOW, id=resource_id, minutes=minutes, **given))["cheapestWindow"]


async def curve(house: House, resource_id: str, start: str, end: str) -> Any:
    found = await query_field(house, house.one, CURVE, id=resource_id, range={"start": start, "end": end})
    return found["priceCurve"]


async def test_bands_have_their_times_and_the_night_is_the_cheapest(served: House) -> None:
    resource_id = await served.one.add_resource()
    night = NewTariffBand(name="night", rate=Decimal(8), weekdays=list(Weekday), start="23:30", end="05:30")
    await served.one.set_tariff(
        resource_id, kind=TariffKind.TIME_OF_USE, rate=Decimal(27), bands=[night], vat_percent=Decimal(5)
    )
    spans = await curve(served, resource_id, at(3), at(30))
    shown = [(span["start"], span["end"], span["band"], span["rate"]["amount"]) for span in spans]
    assert shown == [
        (at(3), at(5.5), "night", "0.08"),
        (at(5.5), at(23.5), None, "0.27"),
        (at(23.5), at(24), "night", "0.08"),
        (at(24), at(29.5), "night", "0.08"),
        (at(29.5), at(30), None, "0.27"),
    ]
    assert spans[0]["rate"] == {"amount": "0.08", "currency": "GBP", "per": "KILOWATT_HOUR"}
    found = await window(served, resource_id, 120, notBefore=at(4.5), before=at(24))
    assert (found["start"], found["end"]) == (at(4.5), at(6.5))
    assert found["meanRateWithVat"]["amount"] == "0.18375"
    found = await window(served, resource_id, 90, notBefore=at(4.5), before=at(48))
    assert (found["start"], found["end"], found["meanRateWithVat"]["amount"]) == (at(23.5), at(25), "0.084")


@pytest.mark.both_databases("prices in SQL")
async def test_a_task_runs_in_one_piece_or_in_the_cheapest_quarter_hours(served: House) -> None:
    resource_id = await served.one.add_resource()
    tariff = await served.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC, price_period=Period.PT15M)
    rates = [Decimal((n * 7) % 20 - 3) for n in range(60)]  # known until 15:00
    prices = [NewTariffPrice(at=MONDAY + n * timedelta(minutes=15), rate=rate) for n, rate in enumerate(rates)]
    await served.one.set_prices(tariff.tariff_id, prices)
    found = await window(served, resource_id, 60)
    mean = min(sum(rates[n : n + 4]) for n in range(57)) / 400
    assert Decimal(found["meanRateWithVat"]["amount"]) == mean
    assert datetime.fromisoformat(found["end"]) - datetime.fromisoformat(found["start"]) == timedelta(hours=1)
    assert found["knownTo"] == at(15)
    parts = await window(served, resource_id, 60, contiguous=False)
    cheapest = sorted(range(60), key=lambda n: (rates[n], n))[:4]
    assert [span["start"] for span in parts["spans"]] == [at(n / 4) for n in sorted(cheapest)]
    assert Decimal(parts["meanRateWithVat"]["amount"]) == sum(rates[n] for n in cheapest) / 400
    assert await window(served, resource_id, 15 * 60 + 1) is None


CHARGED_FIELDS = {
    "priceCurve": ("priceCurve(range: $range) { start }", 31),
    "cheapestWindow": ("cheapestWindow(minutes: 60, notBefore: $start, before: $week) { start }", 7),
    "cost": ("cost(range: $range) { total { amount } }", 31),
    "costs": ("costs(range: $range, period: P1D) { buckets { start } }", 31),
    "standby": ('standby(timeZone: "UTC") { __typename }', 28),
    "readings": ("readings(range: $range, period: P1D) { count }", 31),
}
"""Fields that load the prices of a number of days."""

TYPES = {"range": "TimeRange!", "start": "DateTime!", "week": "DateTime!"}
"""The types of the variables of these fields."""


@pytest.mark.parametrize(("field", "days"), CHARGED_FIELDS.values(), ids=CHARGED_FIELDS)
async def test_short_prices_are_charged_before_they_are_loaded(served: House, field: str, days: int) -> None:
    charged = {}
    for period in (Period.PT30M, Period.PT5M):
        resource_id = await served.one.add_resource()
        valid_from = datetime.now(UTC) - timedelta(days=60) if field.startswith("standby") else MONDAY
        await served.one.set_tariff(resource_id, kind=TariffKind.DYNAMIC, price_period=period, valid_from=valid_from)
        if field.startswith("readings"):  # its computed costs have them
            resource_id = await cost_resource(served.one, cost_of=ID(resource_id))
        names = [name for name in ("range", "start", "week") if f"${name}" in field]
        query = f"query ($id: ID!{''.join(f', ${name}: {TYPES[name]}' for name in names)})"
        query += f" {{ resource(resourceId: $id) {{ {field} }} }}"
        given = {"range": {"start": at(0), "end": at(31 * 24)}, "start": at(0), "week": at(7 * 24)}
        body = await served.graphql(
            query, served.one.headers["account"], id=resource_id, **{name: given[name] for name in names}
        )
        assert "errors" not in body, body["errors"]
        charged[period] = body["extensions"]["cost"]["charged"]
    assert charged[Period.PT5M] - charged[Period.PT30M] == days * (288 - 48) // PRICED_READINGS_PER_UNIT


async def test_rest_has_the_curve_and_the_window_too(served: House) -> None:
    resource_id = await served.one.add_resource()
    path, account = f"/resource/{resource_id}", served.one.headers["account"]
    task = {"minutes": 90, "notBefore": at(4.5), "before": at(48)}
    answer = await served.call("GET", f"{path}/cheapest-window", account, params=task)
    assert code_of(answer) == (404, "NOT_FOUND")  # without a tariff
    night = NewTariffBand(name="night", rate=Decimal(8), weekdays=list(Weekday), start="23:30", end="05:30")
    await served.one.set_tariff(resource_id, kind=TariffKind.TIME_OF_USE, rate=Decimal(27), bands=[night])
    answer = await served.call("GET", f"{path}/cheapest-window", account, params=task)
    assert (answer.json()["start"], answer.json()["meanRateWithVat"]["amount"]) == (at(23.5), 0.08)
    answer = await served.call("GET", f"{path}/price-curve", account, params={"start": at(3), "end": at(23)})
    assert [(span["start"], span["band"], span["rate"]["amount"]) for span in answer.json()] == [
        (at(3), "night", 0.08),
        (at(5.5), None, 0.27),
    ]
    for end in (at(3), at(3 + 31 * 24 + 1)):
        answer = await served.call("GET", f"{path}/price-curve", account, params={"start": at(3), "end": end})
        assert (code_of(answer), answer.json()["problems"][0]["path"]) == ((400, "BAD_INPUT"), ["end"])


async def test_prices_that_depend_on_the_energy_are_no_curve(served: House) -> None:
    resource_id = await served.one.add_resource()
    assert await curve(served, resource_id, at(0), at(1)) == []
    blocks = [NewTariffBlock(rate=Decimal(10), up_to=Decimal(5)), NewTariffBlock(rate=Decimal(20))]
    await served.one.set_tariff(resource_id, kind=TariffKind.BLOCK, blocks=blocks, block_period=Period.P1D)
    assert await curve(served, resource_id, at(0), at(24)) == []
    assert await window(served, resource_id, 60) is None


@pytest.mark.parametrize(
    ("variables", "path"),
    [
        ({"minutes": 0}, ["minutes"]),
        ({"minutes": 10_081}, ["minutes"]),
        ({"before": at(0)}, ["before"]),
        ({"before": at(24 * 7 + 1)}, ["before"]),
    ],
)
async def test_windows_of_wrong_arguments_are_refused(
    served: House, variables: dict[str, Any], path: list[str]
) -> None:
    given = {"id": served.one.ids["resource"], "minutes": 60, "notBefore": at(0), "contiguous": None, **variables}
    answer = await served.graphql(WINDOW, served.one.headers["account"], **given)
    (error,) = answer["errors"]
    assert (error["extensions"]["code"], error["extensions"]["problems"][0]["path"]) == ("BAD_INPUT", path)
