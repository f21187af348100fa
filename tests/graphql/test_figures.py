"""Figures of a home are the same at each interface and size, and those of a slow model that goes minute by minute."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from strawberry import ID

from tests.support import people
from tests.support.chance import FUZZ, examples
from tests.support.costs import COST_STORAGE
from tests.support.house import STORAGE, Tenant
from tests.support.minute_model import (
    MINUTE,
    Figures,
    ModelHome,
    draw_home,
    draw_prices,
    fixed_offset,
    round_half_away,
)
from tests.support.timed import RECORD, Timed
from wattgate.clock import format_iso, from_ms, to_ms
from wattgate.enums import Period, TariffKind
from wattgate.operations.types.homes.resources import NewResource, NewResourceType
from wattgate.operations.types.homes.virtual_entities import NewVirtualEntity, OwnedResource
from wattgate.operations.types.meters.tariffs import NewTariffPrice

HOMES = int(os.environ.get("WATTGATE_TEST_FIGURES", examples(5)))
"""How many homes the walk draws. `make figures N=...` sets the number."""

FIRST_HOME = int(os.environ.get(FUZZ, 0))
"""The number of the first home. `make fuzz FROM=...` draws other homes."""

PERIODS = (Period.PT1H, Period.P1D, Period.P1W, Period.P1M)
SPANS = " ".join(f"${name}: TimeRange!" for name in ("day", "week", "month"))
COSTS = "{ buckets { start end energyCostWithVat standingChargesWithVat total unpriced } }"
FIGURES = f"""query ($home: ID!, $id: ID!, $cost: ID!, $zone: TimeZone!, {SPANS}) {{
  home(homeId: $home) {{ display {{ today {{ ...period }} month {{ ...period }} }} }}
  energy: resource(resourceId: $id) {{
    dayBill: cost(range: $day) {{ ...bill }} weekBill: cost(range: $week) {{ ...bill }}
    monthBill: cost(range: $month) {{ ...bill }}
    hours: costs(range: $day, period: PT1H, timeZone: $zone) {COSTS}
    days: costs(range: $month, period: P1D, timeZone: $zone) {COSTS}
    weeks: costs(range: $week, period: P1W, timeZone: $zone) {COSTS}
    months: costs(range: $month, period: P1M, timeZone: $zone) {COSTS}
    dayReadings: readings(range: $day, period: PT1H, timeZone: $zone) {{ ...series }}
    monthReadings: readings(range: $month, period: P1D, timeZone: $zone) {{ ...series }}
    wholeMonth: readings(range: $month, period: P1M, timeZone: $zone) {{ ...series }} }}
  cost: resource(resourceId: $cost) {{
    hours: readings(range: $day, period: PT1H, timeZone: $zone) {{ total }}
    days: readings(range: $month, period: P1D, timeZone: $zone) {{
      total comparison(baseline: PREVIOUS_PERIOD) {{ current {{ value }} }} }}
    months: readings(range: $month, period: P1M, timeZone: $zone) {{ total }} }}
}}
fragment period on DisplayPeriod {{ start end completeTo electricity {{ energy {{ value }} unknownShare }}
  cost {{ total {{ amount }} standingChargesWithVat {{ amount }} unpriced {{ value }} }} }}
fragment bill on CostExplanation {{ energy {{ value }} unpriced {{ value }} exact {{ amount }} completeness }}
fragment series on ReadingSeries {{ total completeness buckets {{ start value completeness }} }}"""


class DrawnHome:
    """A drawn home at a gateway, its model, and what the interfaces say of it."""

    def __init__(self, timed: Timed, model: ModelHome, tenant: Tenant) -> None:
        self.timed, self.model, self.tenant = timed, model, tenant
        self.ids: dict[str, str] = {}
        self.spans = {period: model.span(period) for period in PERIODS}

    @property
    def headers(self) -> dict[str, str]:
        return {**self.tenant.headers["application"], "userId": self.tenant.user_id}

    async def add(self, chance: Random, terms: list[dict[str, Any]]) -> None:
        energy = replace(
            STORAGE[0],
            interval=f"PT{self.model.interval // MINUTE}M",
            start=from_ms(self.model.storage_start).isoformat(),
        )
        self.ids["id"] = await self._add_resource("electricity.consumption", [energy, STORAGE[1]])
        self.ids["cost"] = await self._add_resource(
            "electricity.consumption.cost", [COST_STORAGE], cost_of=ID(self.ids["id"])
        )
        home = NewVirtualEntity(
            ve_type_id=ID(self.tenant.ids["virtual_entity_type"]),
            name="Home",
            time_zone=str(self.model.zone),
            resources=[OwnedResource(resource_id=ID(self.ids["id"]))],
        )
        self.ids["home"] = str((await self.tenant.run("add_virtual_entity", input=home)).ve_id)
        for each in terms:
            stored = (await self.tenant.set_tariff(self.ids["id"], **each)).stored
            self.model.tariffs.append(stored)
            if stored.kind is TariffKind.DYNAMIC:
                prices = self.model.prices[stored.tariff_id] = draw_prices(chance, self.model, stored)
                rates = [NewTariffPrice(at=from_ms(at), rate=Decimal(rate).scaleb(-6)) for at, rate in prices]
                if rates:
                    await self.tenant.set_prices(stored.tariff_id, rates)
        await self._record()

    async def _add_resource(self, classifier: str, storage: list[Any], **values: Any) -> str:
        resource_type = NewResourceType(name="drawn", classifier=classifier, storage=storage)
        type_id = (await self.tenant.run("add_resource_type", input=resource_type)).resource_type_id
        resource = NewResource(resource_type_id=ID(type_id), name="drawn", **values)
        return str((await self.tenant.run("add_resource", input=resource)).resource_id)

    async def _record(self) -> None:
        readings = [
            {"at": format_iso(from_ms(at)), "value": str(Decimal(value).scaleb(-3))}
            for at, value in self.model.watt_hours.items()
        ]
        for first in range(0, len(readings), 1_000):
            series = [{"resourceId": self.ids["id"], "readings": readings[first : first + 1_000]}]
            answer = await self.timed.house.graphql(RECORD, self.headers, series=series)
            assert "errors" not in answer, answer

    async def figures(self) -> Any:
        ranges = {
            name: {"start": format_iso(from_ms(start)), "end": format_iso(from_ms(stop))}
            for name, period in (("day", Period.P1D), ("week", Period.P1W), ("month", Period.P1M))
            for start, stop in (self.spans[period],)
        }
        answer = await self.timed.house.graphql(FIGURES, self.headers, **self.ids, **ranges, zone=str(self.model.zone))
        assert "errors" not in answer, answer
        return answer["data"]

    async def rest_total(self, resource: str) -> Any:
        """Return the sum of today by REST; None if the clocks change today, which REST cannot express."""
        start, stop = self.spans[Period.P1D]
        zone = fixed_offset(self.model, range(start, stop, 30 * MINUTE))
        if zone is None:
            return None
        day, offset = from_ms(start).astimezone(zone), zone.utcoffset(None)
        if (day.hour, day.minute) != (0, 0):
            return None
        wall = day.strftime("%Y-%m-%dT%H:%M:%S")
        query = {"from": wall, "to": wall, "period": "P1D", "function": "sum", "nulls": "1"}
        query["offset"] = str(-int(offset.total_seconds()) // 60)
        path = f"/resource/{self.ids[resource]}/readings"
        answer = await self.timed.house.call("GET", path, self.headers, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"][0][1]


def money(amount: Fraction | None, decimals: int) -> Decimal | None:
    """Return pence as a rounded amount of pounds."""
    return None if amount is None else round_half_away(amount / 100, decimals)


def number(value: str | float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def compare_display(
    shown: Any, expected: Figures, span: tuple[int, int], has_tariff: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each compared figure, its value on the display, and that of the model."""
    yield "bounds", tuple(to_ms(datetime.fromisoformat(shown[name])) for name in ("start", "end")), span
    energy = shown["electricity"]["energy"]
    yield (
        "display energy",
        energy and number(energy["value"]),
        round_half_away(expected.energy, 3) if expected.has_energy else None,
    )
    if has_tariff:
        cost = shown["cost"]
        yield "display total", number((cost["total"] or {}).get("amount")), money(expected.total, 2)
        yield "display standing", number(cost["standingChargesWithVat"]["amount"]), money(expected.standing, 2)
        unpriced = sum(Decimal(each["value"]) for each in cost["unpriced"])
        yield "display unpriced", unpriced, round_half_away(expected.unpriced, 9)


def compare_costs(found: Any, expected: Figures) -> Iterator[tuple[Any, ...]]:
    """Yield the compared figures of a bucket of costs."""
    energy_cost = expected.energy_cost if expected.has_price else None
    exact = money(energy_cost, 7), money(expected.standing, 7)
    yield "energy cost", number(found["energyCostWithVat"]), exact[0]
    yield "standing", number(found["standingChargesWithVat"]), exact[1]
    total = None if expected.total is None else sum(filter(None, exact), Decimal(0))
    yield "total", number(found["total"]), total
    yield "unpriced", number(found["unpriced"]), round_half_away(expected.unpriced, 9)


def compare_bill(bill: Any, expected: Figures) -> Iterator[tuple[Any, ...]]:
    yield "bill exact", number(bill["exact"]["amount"]), money(expected.energy_cost + expected.standing, 25)
    yield "bill energy", number(bill["energy"]["value"]), round_half_away(expected.energy, 9)
    yield "bill unpriced", number(bill["unpriced"]["value"]), round_half_away(expected.unpriced, 9)
    yield "bill completeness", bill["completeness"], share(expected)


def share(expected: Figures) -> float | None:
    return expected.stored / expected.expected if expected.expected else None


def compare_series(series: Any, expected: Figures) -> Iterator[tuple[Any, ...]]:
    total = round_half_away(expected.energy, 3) if expected.has_energy else None
    yield "total of readings", number(series["total"]), total
    yield "completeness of readings", series["completeness"], share(expected)
    values = [number(bucket["value"]) for bucket in series["buckets"]]
    known = [value for value in values if value is not None]
    yield "sum of readings", sum(known, Decimal(0)), total or 0


async def disagreements(home: DrawnHome) -> list[str]:
    """Return every figure of a home that differs from the model, with both values."""
    found, model = await home.figures(), home.model
    by_period = {period: model.figures(*home.spans[period]) for period in PERIODS}
    day, week, month = (by_period[period] for period in PERIODS[1:])
    has_tariff = bool(model.tariffs)
    compared: list[tuple[Any, ...]] = []
    display = found["home"]["display"]
    for name, period, expected in (("today", Period.P1D, day), ("month", Period.P1M, month)):
        compared += compare_display(display[name], expected, home.spans[period], has_tariff)
    energy, cost = found["energy"], found["cost"]
    for name, expected in (("dayReadings", day), ("monthReadings", month), ("wholeMonth", month)):
        compared += compare_series(energy[name], expected)
    if energy["days"] is not None:
        for name, expected in (("day", day), ("week", week), ("month", month)):
            if energy[f"{name}Bill"] is not None:
                compared += compare_bill(energy[f"{name}Bill"], expected)
        buckets = [("weeks", week), ("months", month), ("days", day), ("hours", by_period[Period.PT1H])]
        starts = dict(zip(("weeks", "months", "days", "hours"), reversed_spans(home), strict=True))
        for name, expected in buckets:
            if energy[name] is not None:
                start = format_iso(from_ms(starts[name]))
                (bucket,) = [bucket for bucket in energy[name]["buckets"] if bucket["start"] == start]
                compared += [(f"{name} {each[0]}", *each[1:]) for each in compare_costs(bucket, expected)]
        for name, expected in (("hours", day), ("days", month), ("months", month)):
            total = round_half_away(expected.energy_cost, 4) if expected.has_price else None
            compared.append((f"cost resource by {name}", number(cost[name]["total"]), total))
        if (comparison := cost["days"]["comparison"]) is not None:
            compared.append(("comparison", comparison["current"]["value"], cost["days"]["total"]))
        if (rest := await home.rest_total("cost")) is not None:
            compared.append(("REST cost", number(rest), round_half_away(day.energy_cost, 4)))
    if (rest := await home.rest_total("id")) is not None:
        compared.append(("REST energy", number(rest), round_half_away(day.energy, 3)))
    return [f"{name}: {got}, the model has {wanted}" for name, got, wanted in compared if got != wanted]


def reversed_spans(home: DrawnHome) -> tuple[int, int, int, int]:
    """Return the starts of the week, the month, the day and the hour."""
    week, month, day, hour = (home.spans[period][0] for period in (Period.P1W, Period.P1M, Period.P1D, Period.PT1H))
    return week, month, day, hour


async def drawn_home(timed: Timed, seed: int) -> DrawnHome:
    chance = Random(seed)
    model, terms = draw_home(chance)
    timed.clock.now = from_ms(model.now)
    who = await people.active(timed.house.one)
    home = DrawnHome(timed, model, replace(timed.house.one, user_id=who["userId"]))
    await home.add(chance, terms)
    return home


async def test_figures_of_drawn_homes_are_the_same_everywhere(timed: Timed, subtests: pytest.Subtests) -> None:
    """`make figures N=500` draws more homes."""
    for seed in range(FIRST_HOME, FIRST_HOME + HOMES):
        with subtests.test(f"home {seed}"):
            assert await disagreements(await drawn_home(timed, seed)) == []
