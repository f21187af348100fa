"""Half hours that the registers of displays give: estimated, replaced by actual ones, on displays and bills."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from strawberry import ID

from tests.support.display_homes import DisplayHome
from tests.support.people import active
from tests.support.timed import NOW, Timed
from wattgate.app.homes.series import SERIES, build_resource_type
from wattgate.clock import TimeRange
from wattgate.enums import Period
from wattgate.operations.types.homes import resources as types

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

MIDNIGHT = datetime(2026, 5, 31, 23, tzinfo=UTC)  # of 1 June in London
MINUTE, HALF_HOUR = timedelta(minutes=1), timedelta(minutes=30)
ELECTRICITY, GAS = SERIES[0], SERIES[2]


async def add_home(timed: Timed, series: Any = ELECTRICITY) -> DisplayHome:
    """Add a home whose resource is that of `home create --live`."""
    who = await active(timed.house.one)
    tenant = replace(timed.house.one, user_id=who["userId"])
    new_type = build_resource_type(series, live=True, source="METER")
    type_id = (await tenant.run("add_resource_type", input=new_type)).resource_type_id
    resource = types.NewResource(resource_type_id=ID(type_id), name="meter")
    resource_id = str((await tenant.run("add_resource", input=resource)).resource_id)
    home_id = await tenant.add_home(resource_id)
    return DisplayHome(timed, tenant, who["username"], home_id, {series.classifier: resource_id})


async def half_hours(home: DisplayHome, start: datetime, stop: datetime) -> dict[str, Any]:
    """Return the value and the quality of each half hour that has one."""
    (resource_id,) = home.resource_ids.values()
    span = TimeRange(start, stop)
    series = await home.tenant.run("readings", resource_id=resource_id, range=span, period=Period.PT30M)
    columns = series.columns
    rows = zip(columns.start, columns.value, columns.quality, strict=True)
    return {at[11:16]: (value, quality) for at, value, quality in rows if value is not None}


def every(minutes: int, count: int, rise: float, start: datetime = MIDNIGHT, first: float = 100) -> list[Any]:
    return [(start + n * minutes * MINUTE, f"{first + n * rise:.3f}") for n in range(count)]


async def test_a_home_with_registers_alone_shows_today_and_its_cost(timed: Timed) -> None:
    """A register each 21 minutes rises by 0.3 kWh. Energy is known to the last half hour that two of them enclose."""
    home = await add_home(timed)
    (resource_id,) = home.resource_ids.values()
    await home.tenant.set_tariff(resource_id)
    readings = [(at, value) for at, value in every(21, 67, 0.3, MIDNIGHT - timedelta(hours=2)) if at <= NOW]
    for at, value in readings:  # as a display sends them
        await home.record("electricity.consumption", (at, value), field="REGISTER")
    found = await half_hours(home, MIDNIGHT, NOW)
    assert {quality for _, quality in found.values()} == {"ESTIMATED"}
    assert len(found) == 26  # from 23:00 to 12:00
    frame = await home.frame()
    today = frame["today"]
    total = sum(value for value, _ in found.values())
    assert total == pytest.approx(26 * 30 / 7 * 0.1, abs=0.001)
    assert today["electricity"]["estimated"] is True
    assert float(today["electricity"]["energy"]["value"]) == pytest.approx(total, abs=0.001)
    assert float(today["cost"]["total"]["amount"]) >= round(total * 0.245, 2)


@pytest.mark.parametrize("order", ["ascending", "descending", "random", "together"])
async def test_energy_does_not_depend_on_the_order_of_arrival(timed: Timed, order: str) -> None:
    home = await add_home(timed)
    random = Random(7)
    readings, level = list[tuple[datetime, str]](), 1_000
    for number in range(24):
        level += random.randrange(400)
        readings.append((MIDNIGHT + (13 * number + random.randrange(5)) * MINUTE, f"{level / 1000:.3f}"))
    if order == "together":
        await home.record("electricity.consumption", *readings, field="REGISTER")
    else:
        sent = sorted(readings, reverse=order == "descending")
        if order == "random":
            random.shuffle(sent)
        for reading in sent:
            await home.record("electricity.consumption", reading, field="REGISTER")
    found = await half_hours(home, MIDNIGHT, NOW)
    edges = {at: float(value) for at, value in readings}
    slots = [MIDNIGHT + n * HALF_HOUR for n in range(60)]
    first = next(slot for slot in slots if slot >= readings[0][0])
    last = max(slot for slot in slots if slot <= readings[-1][0])
    assert len(found) == (last - first) // HALF_HOUR

    def level_at(at: datetime) -> float:
        before = max(one for one in edges if one <= at)
        after = min(one for one in edges if one >= at)
        share = (at - before) / (after - before) if after > before else 0
        return edges[before] + (edges[after] - edges[before]) * share

    expected = level_at(last) - level_at(first)
    assert sum(value for value, _ in found.values()) == pytest.approx(expected, abs=0.0011)


async def test_actual_readings_replace_derived_ones_and_are_kept(timed: Timed) -> None:
    home = await add_home(timed)
    await home.record("electricity.consumption", *every(10, 13, 0.1), field="REGISTER")
    await home.record("electricity.consumption", (MIDNIGHT + HALF_HOUR, 0.7))
    await home.record("electricity.consumption", *every(5, 25, 0.06), field="REGISTER")
    found = await half_hours(home, MIDNIGHT, MIDNIGHT + 2 * timedelta(hours=1))
    assert found == {
        "23:30": (0.7, "ACTUAL"),
        **dict.fromkeys(("23:00", "00:00", "00:30"), (0.36, "ESTIMATED")),
    }


async def test_a_rollover_continues_and_a_replaced_register_leaves_a_gap(timed: Timed) -> None:
    home = await add_home(timed)
    values = [99_999.0, 99_999.5, 0.5, 3.0]
    readings = [(MIDNIGHT + n * HALF_HOUR, value) for n, value in enumerate(values)]
    replaced = [(MIDNIGHT + (4 + n) * HALF_HOUR, value) for n, value in enumerate([1.0, 1.2, 1.1, 1.4])]
    await home.record("electricity.consumption", *readings, *replaced, field="REGISTER")
    found = await half_hours(home, MIDNIGHT, MIDNIGHT + timedelta(hours=4))
    assert {at: value for at, (value, _) in found.items()} == {
        "23:00": 0.5, "23:30": 1.0, "00:00": 2.5, "01:00": 0.2, "01:30": 0.1, "02:00": 0.1,
    }  # fmt: skip


async def test_registers_do_not_decide_the_interval_of_later_data(timed: Timed) -> None:
    home = await add_home(timed)
    await home.record("electricity.consumption", *every(10, 25, 0.1), field="REGISTER")
    quarters = [(MIDNIGHT + 15 * n * MINUTE, 0.25) for n in range(16)]
    await home.record("electricity.consumption", *quarters)
    (resource_id,) = home.resource_ids.values()
    definition = (await home.tenant.run("resource", resource_id=resource_id)).storage[0]
    assert (definition.sampling, definition.interval) == ("regular", "PT15M")
    found = await half_hours(home, MIDNIGHT, MIDNIGHT + timedelta(hours=4))
    assert found == dict.fromkeys(found, (0.5, "ACTUAL"))
    assert len(found) == 8


async def test_a_volume_gives_no_energy_in_another_unit(timed: Timed) -> None:
    home = await add_home(timed, GAS)
    await home.record("gas.consumption", *every(10, 13, 0.1), field="VOLUME")
    assert await half_hours(home, MIDNIGHT, NOW) == {}
    await home.record("gas.consumption", *every(10, 13, 1.1), field="REGISTER")
    assert len(await half_hours(home, MIDNIGHT, NOW)) == 4


async def read(home: DisplayHome, arguments: str) -> dict[str, Any]:
    """Return the readings of the register, or of another field, in half hours. `error` has the message of an error."""
    (resource_id,) = home.resource_ids.values()
    query = f"""query ($id: ID!, $range: TimeRange!) {{ resource(resourceId: $id) {{
      readings(range: $range, period: PT30M{arguments}) {{ function total buckets {{ value }} }} }} }}"""
    span = {"start": MIDNIGHT.isoformat(), "end": (MIDNIGHT + 4 * HALF_HOUR).isoformat()}
    answer = await home.timed.house.graphql(query, home.headers, id=resource_id, range=span)
    if "errors" in answer:
        return {"error": answer["errors"][0]["message"]}
    series = answer["data"]["resource"]["readings"]
    return {
        "function": series["function"],
        "total": series["total"],
        "values": [one["value"] for one in series["buckets"]],
    }


@pytest.mark.parametrize(
    ("arguments", "function", "total", "values"),
    [
        (', field: "REGISTER"', "LAST", None, [100.2, 100.5, 100.8, 101.1]),
        (', field: "REGISTER", function: FIRST', "FIRST", None, [100.0, 100.3, 100.6, 100.9]),
        (', field: "REGISTER", function: DIFFERENCE', "DIFFERENCE", None, [0.2, 0.3, 0.3, 0.3]),
        (', field: "POWER"', "AVG", None, [500, None, None, None]),
        (', field: "POWER", function: MAX', "MAX", None, [600, None, None, None]),
        ("", "SUM", 1.2, [0.3, 0.3, 0.3, 0.3]),
    ],
)
async def test_the_function_follows_the_kind_of_the_field(
    timed: Timed, arguments: str, function: str, total: float | None, values: list[float | None]
) -> None:
    home = await add_home(timed)
    await home.record("electricity.consumption", *every(10, 13, 0.1), field="REGISTER")
    await home.record("electricity.consumption", (MIDNIGHT, 400), (MIDNIGHT + MINUTE, 600), field="POWER")
    found = await read(home, arguments)
    assert (found["function"], found["total"]) == (function, total)
    assert found["values"] == values


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (', field: "REGISTER", function: SUM', "REGISTER has values of a cumulative register: use DIFFERENCE"),
        (', field: "REGISTER", function: AVG', "its functions: MIN, MAX, FIRST, LAST, COUNT, DIFFERENCE"),
        (', field: "POWER", function: SUM', "POWER has power: use AVG for its mean. SUM is not one of its functions"),
        (', field: "POWER", function: DIFFERENCE', "its functions: AVG, MIN, MAX, FIRST, LAST, COUNT"),
        (", function: DIFFERENCE", "ENERGY has amounts of intervals"),
    ],
)
async def test_a_function_without_a_meaning_is_an_error_with_those_that_have_one(
    timed: Timed, arguments: str, advice: str
) -> None:
    assert advice in (await read(await add_home(timed), arguments))["error"]


async def test_the_difference_of_a_register_continues_over_a_rollover_and_ends_at_a_replacement(timed: Timed) -> None:
    home = await add_home(timed)
    readings = [(MIDNIGHT + n * HALF_HOUR, value) for n, value in enumerate([99_999.5, 0.5, 0.25, 0.75])]
    await home.record("electricity.consumption", *readings, field="REGISTER")
    assert (await read(home, ', field: "REGISTER", function: DIFFERENCE'))["values"] == [0, 1, None, 0.5]


async def test_a_bill_counts_derived_half_hours_as_estimated(timed: Timed) -> None:
    home = await add_home(timed)
    (resource_id,) = home.resource_ids.values()
    await home.tenant.set_tariff(resource_id)
    await home.record("electricity.consumption", *every(30, 25, 1), field="REGISTER")
    query = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
      costs(range: $range, period: P1D, timeZone: "Europe/London") { buckets { energyCostWithVat estimated } } } }"""
    span = {"start": MIDNIGHT.isoformat(), "end": NOW.isoformat()}
    answer = await timed.house.graphql(query, home.headers, id=resource_id, range=span)
    assert "errors" not in answer, answer
    (bucket,) = answer["data"]["resource"]["costs"]["buckets"]
    assert bucket["estimated"] is True
    assert float(bucket["energyCostWithVat"]) == pytest.approx(24 * 0.245)
