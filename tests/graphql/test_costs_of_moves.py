"""Costs and completeness of households that live at a meter point one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from strawberry import ID

from tests.graphql.test_former_households import statements_with
from tests.support.calls import send
from tests.support.costs import cost_resource
from tests.support.house import Tenant
from tests.support.metering import HALF_HOUR, Metered, metered, resource_at
from tests.support.pairing import Interface
from tests.support.refusals import refusals
from tests.support.residents import resident
from tests.support.socket import socket
from tests.support.timed import Timed
from wattgate.clock import format_iso
from wattgate.enums import Channel, Period, RuleKind, TariffKind
from wattgate.operations.alerts.alert_rules import evaluate_rule
from wattgate.operations.core.fields import find_edge
from wattgate.operations.types.messages.alert_rules import AlertRule, NewAlertRule

MONTH = {"start": "2026-05-31T23:00:00Z", "end": "2026-06-30T23:00:00Z"}
"""June 2026 in London. It begins on a Monday."""

START = datetime(2026, 5, 31, 23, tzinfo=UTC)
NOW = datetime(2026, 6, 28, 10, 10, tzinfo=UTC)
SO_FAR = datetime(2026, 6, 27, 23, tzinfo=UTC)
BOB_MOVED_IN = datetime(2026, 6, 11, 9, 17, tzinfo=UTC)
ADA_CAME_BACK = datetime(2026, 6, 19, 23, tzinfo=UTC)
"""Midnight of June 20 in London: she pays for that day."""

FIGURES = """
query ($id: ID!, $cost: ID!, $range: TimeRange!, $whole: TimeRange!) {
  resource(resourceId: $id) {
    cost(range: $range) { completeness exact { amount } lines { kind quantity subtotal { amount } } }
    days: costs(range: $whole, period: P1D, timeZone: "Europe/London")
      { buckets { start standingChargesWithVat energyCostWithVat } }
    weeks: costs(range: $whole, period: P1W, timeZone: "Europe/London")
      { buckets { standingChargesWithVat energyCostWithVat } }
    months: costs(range: $whole, period: P1M, timeZone: "Europe/London")
      { buckets { standingChargesWithVat energyCostWithVat } }
    readings(range: $range, period: P1D, timeZone: "Europe/London") {
      count completeness quality completeTo
      buckets { count quality completeness }
    }
  }
  costs: resource(resourceId: $cost) {
    readings(range: $range, period: P1D, timeZone: "Europe/London") { total quality }
  }
}
"""
DAYS = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  costs(range: $range, period: P1D, timeZone: "Europe/London") { buckets { standingChargesWithVat } } } }"""
BILL = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
  cost(range: $range) { lines { kind quantity } } } }"""
LIVE = "subscription ($id: ID!) { display(homeId: $id) { month { cost { standingChargesWithVat { amount } } } } }"
FRAME = """query ($id: ID!) { home(homeId: $id) { display { month {
  start completeTo cost { standingChargesWithVat { amount } total { amount } } } } } }"""
MOVE = """mutation ($mpxn: MeterPointNumber!, $userId: ID!, $at: DateTime!) {
  moveMeterPoint(meterPointNumber: $mpxn, userId: $userId, movedInAt: $at, homeName: "Home") {
    ... on MeterPointMove {
      homeId resources { resourceId successorId }
    }
    ...Refused
  }
}"""


@dataclass(frozen=True)
class Stay:
    """The resources of a household, from when until when it records half hours, and the days that it pays for."""

    who: Tenant
    energy: str
    cost: str
    start: datetime
    stop: datetime
    days: Sequence[int]


async def ask(timed: Timed, document: str, headers: dict[str, str], **variables: Any) -> Any:
    answer = await timed.house.graphql(document, headers, **variables)
    assert not refusals(answer), answer
    return answer["data"]


async def move(timed: Timed, point: Metered, to: Tenant, at: datetime) -> tuple[str, dict[str, str]]:
    """Move a meter point to a user by GraphQL. Return the new home, and the new resources by the old ones."""
    headers = timed.house.one.headers["application"]
    variables = {"mpxn": point.mpxn, "userId": to.user_id, "at": format_iso(at)}
    moved = (await ask(timed, MOVE, headers, **variables))["moveMeterPoint"]
    return moved["homeId"], {each["resourceId"]: each["successorId"] for each in moved["resources"]}


async def settle(stay: Stay) -> Stay:
    """Set a tariff that is valid for years, and record each half hour of a stay. It uses 0.5 kWh for 10 pence."""
    await stay.who.set_tariff(stay.energy, rate=Decimal(20), kind=TariffKind.FLAT, standing_charge=Decimal(50))
    count = -(-(stay.stop - stay.start) // HALF_HOUR)
    await stay.who.record(stay.energy, *((stay.start + n * HALF_HOUR, "0.5") for n in range(count)))
    return stay


async def faults_of(timed: Timed, name: str, stay: Stay) -> list[str]:
    """Return the figures of a stay that are wrong, with the name of the household."""
    headers, found = stay.who.headers["acting"], dict[str, tuple[Any, Any]]()
    so_far = {**MONTH, "end": format_iso(SO_FAR)}
    answer = await ask(timed, FIGURES, headers, id=stay.energy, cost=stay.cost, range=so_far, whole=MONTH)
    resource, series = answer["resource"], answer["resource"]["readings"]
    count, days_so_far = -(-(stay.stop - stay.start) // HALF_HOUR), [day for day in stay.days if day < NOW.day]
    lines = {line["kind"]: (line["quantity"], line["subtotal"]["amount"]) for line in resource["cost"]["lines"]}
    found["energy"] = lines.get("ENERGY"), (str(count * Decimal("0.5")).removesuffix(".0"), f"{count * 10 / 100:.2f}")
    found["standing"] = lines.get("STANDING_CHARGE"), (str(len(days_so_far)), f"{len(days_so_far) / 2:.2f}")
    found["completeness"] = resource["cost"]["completeness"], 1
    charged = [
        day for day, bucket in enumerate(resource["days"]["buckets"], 1) if Decimal(bucket["standingChargesWithVat"])
    ]
    begun = [day for day in stay.days if day <= NOW.day]
    found["charged"] = charged, begun
    for period in ("days", "weeks", "months"):
        total = sum(Decimal(bucket["standingChargesWithVat"]) for bucket in resource[period]["buckets"])
        found[period] = total, Decimal("0.5") * len(begun)
    found["quality"] = (series["quality"], series["completeness"]), ("ACTUAL", 1)
    found["cost resource"] = answer["costs"]["readings"], {"total": count * 10, "quality": "ACTUAL"}
    period = f"period=P1D&function=sum&from=2026-05-31T23:00:00&to={SO_FAR:%Y-%m-%dT%H:%M:%S}&offset=0"
    rest = await timed.house.call("GET", f"/resource/{stay.cost}/readings?{period}", headers)
    found["REST"] = sum(value or 0 for _, value in rest.json()["data"]), count * 10
    return [f"{name}: {what} is {got}, not {right}" for what, (got, right) in found.items() if got != right]


async def charged_days(timed: Timed, resource_id: str, headers: dict[str, str]) -> Decimal:
    costs = (await ask(timed, DAYS, headers, id=resource_id, range=MONTH))["resource"]["costs"]
    return sum((Decimal(each["standingChargesWithVat"]) for each in costs["buckets"]) if costs else (), Decimal(0)) * 2


async def frame(timed: Timed, ve_id: str, headers: dict[str, str]) -> Any:
    return (await ask(timed, FRAME, headers, id=ve_id))["home"]["display"]["month"]


async def test_each_household_pays_for_its_own_days(timed: Timed) -> None:
    """Ada moves out, Bob in, and Ada comes back, in one month. All figures of both interfaces agree."""
    timed.clock.now = NOW
    ada, bob = await resident(timed.house.one), await resident(timed.house.one)
    point = await metered(ada)
    cost = await cost_resource(ada, mpxn=point.mpxn, cost_of=ID(point.resource_id))
    old_home = await Interface(timed.house, is_rest=False).pair(ada, await ada.add_home(point.resource_id))
    first = await settle(Stay(ada, point.resource_id, cost, START, BOB_MOVED_IN, range(1, 12)))
    _, new = await move(timed, point, bob, BOB_MOVED_IN)
    middle = await settle(
        Stay(bob, new[first.energy], new[cost], BOB_MOVED_IN + timedelta(minutes=13), ADA_CAME_BACK, range(12, 20))
    )
    ve_id, new = await move(timed, point, ada, ADA_CAME_BACK)
    last = await settle(Stay(ada, new[middle.energy], new[middle.cost], ADA_CAME_BACK, SO_FAR, range(20, 31)))
    stays = {"Ada": first, "Bob": middle, "Ada again": last}
    assert [fault for name, stay in stays.items() for fault in await faults_of(timed, name, stay)] == []

    shown = await frame(timed, ve_id, ada.headers["acting"])
    used = (SO_FAR - ADA_CAME_BACK) // HALF_HOUR * Decimal("0.1")
    assert shown == {
        "start": format_iso(START),
        "completeTo": format_iso(SO_FAR),
        "cost": {"standingChargesWithVat": {"amount": "4.50"}, "total": {"amount": str(used + Decimal("4.50"))}},
    }
    paired = await Interface(timed.house, is_rest=False).pair(ada, ve_id)
    assert await frame(timed, ve_id, paired.headers) == shown
    assert await charged_days(timed, first.energy, old_home.headers) == len(first.days)

    async with socket(timed.house.url) as client:
        await client.init(**ada.headers["acting"])
        await client.subscribe(LIVE, id=ve_id)
        await client.payload()
        await ada.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=ADA_CAME_BACK + timedelta(days=1))
        while (await client.payload())["data"]["display"]["month"]["cost"]["standingChargesWithVat"][
            "amount"
        ] != "4.00":
            pass
    assert await faults_of(timed, "Ada", first) == []  # her first stay has its readings still


async def test_a_household_without_a_successor_pays_until_it_leaves(timed: Timed) -> None:
    """A user who closes the last resource at a meter point has moved out there, and continues with the next one."""
    timed.clock.now = NOW
    ada = await resident(timed.house.one)
    point = await metered(ada)
    await ada.set_tariff(point.resource_id, standing_charge=Decimal(50))
    charged = []
    for active in (True, False, True):
        await send(timed.house, ada, "PUT", f"/resource/{point.resource_id}", "acting", active=active)
        charged.append(await charged_days(timed, point.resource_id, ada.headers["acting"]))
    assert charged == [28, 28, 28]  # the days that have begun


async def test_each_day_is_charged_once_for_a_resource_and_the_one_that_replaces_it(timed: Timed) -> None:
    """A household closes a resource and adds one of the same type: the tariffs of the open one decide which days."""
    timed.clock.now = BOB_MOVED_IN
    ada = await resident(timed.house.one)
    point = await metered(ada)
    old, headers = point.resource_id, ada.headers["acting"]
    cost = await cost_resource(ada, mpxn=point.mpxn, cost_of=ID(old))
    await ada.set_tariff(old, standing_charge=Decimal(50))
    await send(timed.house, ada, "PUT", f"/resource/{old}", "acting", active=False)
    new = await resource_at(ada, point.mpxn)
    timed.clock.now = NOW

    async def charged() -> list[Decimal]:
        days = [await charged_days(timed, each, headers) for each in (old, new)]
        bill = await ask(timed, BILL, headers, id=cost, range=MONTH)
        lines = {line["kind"]: Decimal(line["quantity"]) for line in bill["resource"]["cost"]["lines"]}
        assert lines.get("STANDING_CHARGE", 0) == days[0]
        return days

    days = [await charged()]
    await ada.set_tariff(new, standing_charge=Decimal(50), valid_from=datetime(2026, 6, 10, 23, tzinfo=UTC))
    days.append(await charged())
    await ada.set_tariff(new, standing_charge=Decimal(50))
    days.append(await charged())
    for resource_id, active in ((new, False), (old, True)):
        await send(timed.house, ada, "PUT", f"/resource/{resource_id}", "acting", active=active)
    days.append(await charged())
    assert days == [[28, 0], [10, 18], [0, 28], [28, 0]]  # the days that have begun
    with statements_with("classifier IN ") as asked:
        await charged_days(timed, old, headers)
        assert asked == []  # an open resource needs no other one
        await charged_days(timed, new, headers)
        assert len(asked) == 1


async def test_a_pace_counts_from_the_move(timed: Timed) -> None:
    """Bob moves in at 06:00 and uses 4 kWh until 10:00: 18 kWh at the midnight, and not 9 as from the day's begin."""
    timed.clock.now = NOW
    ada, bob = await resident(timed.house.one), await resident(timed.house.one)
    point = await metered(ada)
    moved_in = NOW.replace(hour=6, minute=0)
    _, new = await move(timed, point, bob, moved_in)
    resource_id = new[point.resource_id]
    declared = NewAlertRule(
        name="budget",
        kind=RuleKind.PACE,
        threshold=Decimal(12),
        period=Period.P1D,
        time_zone="UTC",
        window_minutes=60,
        alert_type_id=ID(bob.ids["alert_type"]),
        channels=[Channel.INBOX],
        resource_id=ID(resource_id),
    )
    rule = await bob.run("add_alert_rule", input=declared)
    await bob.record(resource_id, *((moved_in + n * HALF_HOUR, "0.5") for n in range(8)))
    (test,) = await bob.gateway.runner.load(find_edge(AlertRule, "back_test"), bob.system, [rule], {"days": 1})
    await bob.gateway.runner.run(evaluate_rule, bob.system, {"rule_id": rule.rule_id})
    (alert,) = await bob.run("user_alerts")
    assert (round(alert.data["value"], 2), test.count) == (18, 1)
