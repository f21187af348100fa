"""Frames of displays: each state of a home, with the same content by both executors and on both transports."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.asking import with_rows
from tests.support.display_homes import CARBON, ELECTRICITY, EXPORTED, GAS, QUERY, DisplayHome, add_display_home
from tests.support.pairing import Interface
from tests.support.refusals import refusals
from tests.support.timed import Timed
from wattgate.app.demo.seed import HOMES
from wattgate.app.demo.simulation import HALF_HOUR, simulate_half_hour, simulate_power
from wattgate.clock import format_iso
from wattgate.enums import ReadingQuality, TariffKind, Weekday
from wattgate.operations.types.meters.tariffs import NewTariffBand, NewTariffPrice
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ReadingRecorded
from wattgate.realtime.subscriptions.display_reducer import DisplayReducer

LONDON_MIDNIGHT = datetime(2026, 6, 1, 23, tzinfo=UTC)
"""The midnight in London that follows the start of each test."""

NIGHT = NewTariffBand(name="night", rate=Decimal("7.5"), weekdays=list(Weekday), start="23:30", end="05:30")


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def energy_of(period: Any, kind: str = "electricity") -> str | None:
    energy = period[kind]["energy"]
    return None if energy is None else str(energy["value"])


def pounds(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "GBP"}


def rate(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "GBP", "per": "KILOWATT_HOUR"}


async def set_tariff(home: DisplayHome, classifier: str = ELECTRICITY, **terms: Any) -> Any:
    return await home.tenant.set_tariff(home.resource_ids[classifier], **terms)


async def set_attributes(home: DisplayHome, by: str = "graphql", **attributes: Any) -> None:
    """Set attributes of the home by GraphQL or REST."""
    if by == "graphql":
        document = (
            "mutation ($id: ID!, $set: JSON!) { setHomeAttributes(homeId: $id, attributes: $set) {"
            " ... on Home { homeId } ...Refused } }"
        )
        answer = await home.timed.house.graphql(document, home.headers, id=home.ve_id, set=attributes)
        assert not refusals(answer), answer
    else:
        path = f"/virtualentity/{home.ve_id}/attribute"
        response = await home.timed.house.call("POST", path, home.headers, json=attributes)
        assert response.status_code == 201, response.text


async def test_frame_is_the_same_by_both_executors_and_on_both_transports(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY, EXPORTED, GAS, CARBON)
    timed.clock.now = LONDON_MIDNIGHT + timedelta(hours=18, minutes=10)
    await set_tariff(home, kind=TariffKind.TIME_OF_USE, rate=Decimal(20), bands=[NIGHT], standing_charge=Decimal(50))
    await home.record_half_hours(ELECTRICITY, LONDON_MIDNIGHT, [0.5] * 36)
    await home.record(CARBON, (LONDON_MIDNIGHT + timedelta(hours=18), 88))
    await home.send_power(1500)
    first, *others = await home.frames_everywhere()
    assert len(others) == 4
    for other in others:
        assert other == first
    assert (first["frameVersion"], first["locale"], first["currency"]) == (1, "en-GB", "GBP")
    assert (first["linkTimeoutSeconds"], first["utcOffsetMinutes"]) == (35, 60)
    assert first["carbon"] == {
        "intensity": 88.0,
        "unit": "gCO2/kWh",
        "at": format_iso(LONDON_MIDNIGHT + timedelta(hours=18)),
        "validUntil": format_iso(LONDON_MIDNIGHT + timedelta(hours=19)),
        "index": "LOW",
    }


async def test_power_is_blank_from_the_instant_that_the_frame_has_announced(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await home.send_power(640)
    sent_at = timed.clock.now
    shown = await home.frame()
    assert shown["power"]["at"] == format_iso(sent_at)
    assert shown["power"]["validUntil"] == format_iso(sent_at + timedelta(minutes=2))
    valid_until = datetime.fromisoformat(shown["power"]["validUntil"])
    timed.clock.now = valid_until - seconds(1)
    last = await home.frame()
    assert (last["power"], last["freshness"]["state"]) == (shown["power"], "DELAYED")
    timed.clock.now = valid_until
    blank = await home.frame()
    assert (blank["power"], blank["ambient"], blank["freshness"]["state"]) == (None, None, "STALE")


async def test_home_without_a_tariff_has_energy_and_says_why_there_is_no_cost(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await home.record_half_hours(ELECTRICITY, timed.clock.now.replace(hour=8, minute=0), [0.25] * 8)
    shown = await home.frame()
    assert (energy_of(shown["today"]), energy_of(shown["month"])) == ("2.000", "2.000")
    assert (shown["today"]["cost"], shown["today"]["noCostReason"]) == (None, "NO_TARIFF")
    assert (shown["tariff"], shown["cheapest"], shown["currency"]) == (None, None, None)


async def test_home_without_power_has_no_level_by_power_but_energy_and_cost(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await set_tariff(home, rate=Decimal(20), kind=TariffKind.FLAT, standing_charge=Decimal(50))
    await home.record_half_hours(ELECTRICITY, LONDON_MIDNIGHT - timedelta(days=1), [0.5] * 26)
    shown = await home.frame()
    assert (shown["power"], shown["ambient"], shown["carbon"], shown["today"]["gas"]) == (None, None, None, None)
    assert shown["today"]["electricity"]["energy"] == {"value": "13.000", "unit": "KILOWATT_HOUR"}
    cost = shown["today"]["cost"]
    assert (cost["total"], cost["standingChargesWithVat"]) == (pounds("3.10"), pounds("0.50"))
    assert shown["today"]["noCostReason"] is None


async def test_export_is_power_below_zero_and_energy_of_its_own(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY, EXPORTED)
    await set_tariff(home, rate=Decimal(20), kind=TariffKind.FLAT)
    midday = timed.clock.now.replace(minute=0)
    await home.record_half_hours(ELECTRICITY, midday - timedelta(hours=1), [0.1, 0])
    await home.record_half_hours(EXPORTED, midday - timedelta(hours=1), [0.8, 1.2])
    await home.send_power(-1750)
    shown = await home.frame()
    powers = [shown["power"][name] for name in ("net", "import", "export")]
    assert powers == [{"value": value, "unit": "WATT"} for value in (-1750, 0, 1750)]
    assert (energy_of(shown["today"], "exported"), shown["today"]["cost"]["total"]) == ("2.000", pounds("0.02"))


async def test_first_minute_of_a_day_has_no_number_that_is_not_known(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY, GAS)
    await set_tariff(home, rate=Decimal(20), kind=TariffKind.FLAT, standing_charge=Decimal(50))
    timed.clock.now = LONDON_MIDNIGHT - seconds(20)
    await home.send_power(600)
    yesterday = await home.frame()
    assert yesterday["today"]["end"] == format_iso(LONDON_MIDNIGHT)
    timed.clock.now = LONDON_MIDNIGHT + seconds(5)
    shown = await home.frame()
    today = shown["today"]
    assert today["start"] == today["completeTo"] == format_iso(LONDON_MIDNIGHT)
    assert (today["electricity"]["energy"], today["gas"]["energy"]) == (None, None)
    assert today["cost"] == {
        "total": pounds("0.50"),
        "standingChargesWithVat": pounds("0.50"),
        "unpriced": [],
        "estimated": False,
    }
    assert today["noCostReason"] == "NO_READINGS"
    assert shown["power"]["net"]["value"] == 600
    timed.clock.now = LONDON_MIDNIGHT + seconds(10)
    await home.send_power(3600)
    timed.clock.now = LONDON_MIDNIGHT + seconds(50)
    today = (await home.frame())["today"]
    assert (energy_of(today), today["electricity"]["estimated"]) == ("0.042", True)  # 600 W count for 10 s


async def test_frame_is_complete_in_the_hour_before_a_clock_change(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await set_tariff(home, rate=Decimal(20), kind=TariffKind.FLAT)
    midnight = datetime(2026, 10, 24, 23, tzinfo=UTC)
    for minutes in (65, 80, 95, 110, 125):  # the clocks of London change 120 minutes after midnight
        timed.clock.now = midnight + timedelta(minutes=minutes)
        await home.record_half_hours(ELECTRICITY, midnight, [0.5] * (minutes // 30))
        assert energy_of((await home.frame())["today"]) == f"{minutes // 30 * 0.5:.3f}"


async def test_cheapest_slot_of_a_time_of_use_tariff_is_the_present_or_next_one(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await set_tariff(home, kind=TariffKind.TIME_OF_USE, rate=Decimal(20), bands=[NIGHT], vat_percent=Decimal(5))
    tonight = {
        "start": format_iso(LONDON_MIDNIGHT - HALF_HOUR),
        "end": format_iso(LONDON_MIDNIGHT + timedelta(hours=5, minutes=30)),
        "rateWithVat": rate("0.0788"),
    }
    for instant in (timed.clock.now, LONDON_MIDNIGHT - HALF_HOUR, LONDON_MIDNIGHT + timedelta(hours=5, minutes=29)):
        timed.clock.now = instant
        assert (await home.frame())["cheapest"] == tonight
    timed.clock.now = LONDON_MIDNIGHT + timedelta(hours=5, minutes=30)
    tomorrow = (await home.frame())["cheapest"]
    assert tomorrow["start"] == format_iso(LONDON_MIDNIGHT + timedelta(hours=23, minutes=30))


async def test_cheapest_slot_of_a_dynamic_tariff_is_among_the_known_prices(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    tariff = await set_tariff(home, kind=TariffKind.DYNAMIC)
    timed.clock.now = start = timed.clock.now.replace(minute=0)
    assert (await home.frame())["cheapest"] is None

    async def publish(first: datetime, *rates: int) -> None:
        prices = [
            NewTariffPrice(at=first + number * HALF_HOUR, rate=Decimal(rate)) for number, rate in enumerate(rates)
        ]
        await home.tenant.set_prices(tariff.tariff_id, prices)

    await publish(start, 20, 9, 9, 9, 30)
    slot = {
        "start": format_iso(start + HALF_HOUR),
        "end": format_iso(start + 4 * HALF_HOUR),
        "rateWithVat": rate("0.0900"),
    }
    assert (await home.frame())["cheapest"] == slot
    await publish(LONDON_MIDNIGHT + timedelta(hours=23, minutes=30), -2)
    last = (await home.frame())["cheapest"]
    assert (last["rateWithVat"], last["end"]) == (rate("-0.0200"), format_iso(LONDON_MIDNIGHT + timedelta(days=1)))


async def test_flat_tariff_has_no_cheapest_slot_and_a_constant_week_neither(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await set_tariff(home)
    assert (await home.frame())["cheapest"] is None
    same = [NewTariffBand(name="same", rate=Decimal(20), weekdays=list(Weekday), start="01:00", end="05:00")]
    await set_tariff(home, kind=TariffKind.TIME_OF_USE, rate=Decimal(20), bands=same)
    assert (await home.frame())["cheapest"] is None


async def test_locale_is_the_culture_of_the_owner_also_on_a_paired_display(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    assert (await home.frame())["locale"] == "en-GB"
    document = (
        'mutation ($id: ID!) { updateUser(userId: $id, input: {cultureCode: "fr-ca"}) {'
        " ... on User { cultureCode } ...Refused } }"
    )
    answer = await timed.house.graphql(document, timed.house.one.headers["application"], id=home.tenant.user_id)
    assert not refusals(answer), answer
    assert (await home.frame())["locale"] == "fr-CA"
    login = """mutation ($application: ID!, $username: String!) {
      authenticate(applicationId: $application, username: $username, password: "correct horse") {
          ... on Login { token }
          ...Refused } }"""
    variables = {"application": home.tenant.application_id, "username": home.username}
    account = {"token": (await timed.house.graphql(login, {}, **variables))["data"]["authenticate"]["token"]}
    pairing = Interface(timed.house, is_rest=False)
    started = await pairing.start(home.tenant, "Kitchen")
    await pairing.approve(account, started["userCode"], home.ve_id)
    paired = {"token": (await pairing.claim(home.tenant, started["deviceCode"]))["token"]}
    of_display = await timed.house.graphql(QUERY, paired, id=home.ve_id)
    assert of_display["data"]["home"]["display"] == await home.frame()


@pytest.mark.parametrize(
    ("intensity", "index"), [(0, "VERY_LOW"), (124, "LOW"), (125, "MODERATE"), (299, "HIGH"), (300, "VERY_HIGH")]
)
async def test_carbon_intensity_has_an_index_and_does_not_outlive_the_next_half_hour(
    timed: Timed, intensity: int, index: str
) -> None:
    home = await add_display_home(timed, ELECTRICITY, CARBON)
    assert (await home.frame())["carbon"] is None
    start = timed.clock.now.replace(minute=0)
    await home.record(CARBON, (start, intensity))
    shown = (await home.frame())["carbon"]
    assert (shown["intensity"], shown["index"]) == (intensity, index)
    assert shown["validUntil"] == format_iso(start + timedelta(minutes=60))
    timed.clock.now = start + timedelta(minutes=59)
    assert (await home.frame())["carbon"] == shown
    timed.clock.now = datetime.fromisoformat(shown["validUntil"])
    assert (await home.frame())["carbon"] is None


async def test_reading_of_the_carbon_intensity_changes_the_frame_in_memory(timed: Timed) -> None:
    """The frame is the same as one that is loaded: for a first, newer, corrected and older reading."""
    home = await add_display_home(timed, ELECTRICITY, CARBON)
    reducer, resource_id = DisplayReducer(home.ve_id), home.resource_ids[CARBON]
    start = timed.clock.now.replace(minute=0)
    live = await with_rows(home.tenant, reducer.load)
    assert live.carbon is None
    for at, intensity in ((start - HALF_HOUR, 80), (start, 210), (start, 190), (start - HALF_HOUR, 70)):
        await home.record(CARBON, (at, intensity))
        payload = ReadingRecorded(resource_id, "INTENSITY", "gCO2/kWh", at, intensity, ReadingQuality.ACTUAL)
        changed = reducer.apply_event(live, Event(topics.readings(resource_id), "INTENSITY", payload), timed.clock.now)
        assert changed is not None, "the home would be loaded again"
        live = changed
        loaded = await with_rows(home.tenant, reducer.load)
        assert live.carbon == loaded.carbon
    assert (await home.frame())["carbon"]["intensity"] == 190.0


async def record_demonstration(home: DisplayHome, until: datetime) -> None:
    """Record the two weeks before an instant as a home of the demonstration uses them."""
    start = until - timedelta(days=15)
    slots = [start + number * HALF_HOUR for number in range(15 * 48)]
    await home.record_half_hours(
        ELECTRICITY, start, [simulate_half_hour(HOMES[0].habits, slot).imported for slot in slots]
    )


async def test_ordinary_evening_of_the_demonstration_is_not_high_and_a_peak_is(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    timed.clock.now = LONDON_MIDNIGHT + timedelta(hours=17)
    await record_demonstration(home, LONDON_MIDNIGHT)
    levels = []
    for minute in range(0, 300, 20):
        timed.clock.now = LONDON_MIDNIGHT + timedelta(hours=17, minutes=minute)
        await home.send_power(simulate_power(HOMES[0].habits, timed.clock.now))
        shown = (await home.frame())["ambient"]
        assert shown["basis"] == "LEARNED"
        assert shown["powerLevels"]["highFrom"]["value"] >= 1000
        levels.append(shown["level"])
    assert levels.count("HIGH") <= 1
    timed.clock.now += seconds(10)
    await home.send_power(8200)
    assert (await home.frame())["ambient"]["level"] == "HIGH"


@pytest.mark.parametrize("by", ["graphql", "rest"])
async def test_daily_budget_is_set_and_removed_as_an_attribute_of_the_home(timed: Timed, by: str) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await set_tariff(home, rate=Decimal(20), kind=TariffKind.FLAT, standing_charge=Decimal(48))
    await home.send_power(700)
    assert (await home.frame())["ambient"] is None
    await set_attributes(home, by, display={"dailyBudget": "2.88"})
    levels = {name: {"value": watts, "unit": "WATT"} for name, watts in (("lowBelow", 400.0), ("highFrom", 1000.0))}
    by_budget = {"level": "MEDIUM", "basis": "BUDGET", "powerLevels": levels, "rateLevels": None}
    assert (await home.frame())["ambient"] == by_budget
    for invalid in ("lots", -1, 0, None, True, {"pounds": 2}, "1e400"):
        await set_attributes(home, by, display={"dailyBudget": invalid, "ambientBasis": "MOOD"})
        assert (await home.frame())["ambient"] is None, invalid
    await set_attributes(home, by, display={"dailyBudget": 2.88, "ambientBasis": "LEARNED"})
    assert (await home.frame())["ambient"] == by_budget
    removed = {"removeAttributes": ["display"]}
    answer = await timed.house.call("DELETE", f"/virtualentity/{home.ve_id}/attribute", home.headers, json=removed)
    assert answer.status_code == 200, answer.text
    assert (await home.frame())["ambient"] is None
