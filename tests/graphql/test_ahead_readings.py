"""Nothing in the future is current: a reading that is dated ahead counts from its instant on, at each interface."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.asking import with_rows
from tests.support.display_homes import CARBON, ELECTRICITY, GAS, DisplayHome, add_display_home
from tests.support.timed import Timed
from wattgate.clock import format_iso
from wattgate.enums import ReadingQuality
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ReadingRecorded
from wattgate.realtime.subscriptions.display_reducer import DisplayReducer
from wattgate.realtime.subscriptions.freshness_reducers import ResourceFreshnessReducer

CURRENT = """query ($id: ID!) { resource(resourceId: $id) {
  current { at value } freshness(field: "POWER") { state asOf } } }"""


async def current(home: DisplayHome) -> tuple[Any, ...]:
    """Return the instant and the value of the present power by GraphQL, REST and the display, and its freshness."""
    resource_id = home.resource_ids[ELECTRICITY]
    answer = await home.timed.house.graphql(CURRENT, home.headers, id=resource_id)
    found = answer["data"]["resource"]
    rest = await home.timed.house.call("GET", f"/resource/{resource_id}/current", home.headers)
    ((seconds, value),) = rest.json()["data"]
    frame = await home.frame()
    by_rest = format_iso(datetime.fromtimestamp(seconds, home.timed.clock.now.tzinfo)), value
    by_display = (frame["power"]["at"], frame["power"]["import"]["value"]) if frame["power"] else None
    fresh = frame["freshness"]["state"], frame["freshness"]["asOf"]
    assert by_rest == (found["current"]["at"], found["current"]["value"])
    assert by_display in (by_rest, None)
    assert fresh == (found["freshness"]["state"], found["freshness"]["asOf"])
    return *by_rest, *fresh


@pytest.mark.parametrize("ahead", [timedelta(minutes=4), timedelta(seconds=1), timedelta(minutes=5)])
async def test_reading_dated_ahead_is_not_current_before_its_instant(timed: Timed, ahead: timedelta) -> None:
    home = await add_display_home(timed, ELECTRICITY, CARBON)
    now = timed.clock.now
    await home.record(ELECTRICITY, (now, 400), field="POWER")
    await home.record(ELECTRICITY, (now + ahead, 9_000), field="POWER")
    for later in (timedelta(0), ahead - timedelta(milliseconds=500)):
        timed.clock.now = now + later
        at, value, _, as_of = await current(home)
        assert (at, value, as_of) == (format_iso(now), 400, format_iso(now))
    timed.clock.now = now + ahead
    assert await current(home) == (format_iso(now + ahead), 9_000, "LIVE", format_iso(now + ahead))


def power(resource_id: str, at: datetime, watts: float) -> Event:
    reading = ReadingRecorded(resource_id, "POWER", "W", at, watts, ReadingQuality.ACTUAL)
    return Event(topics.readings(resource_id), "POWER", reading)


async def test_live_display_shows_true_readings_until_the_instant_of_one_dated_ahead(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    resource_id, now = home.resource_ids[ELECTRICITY], timed.clock.now
    await home.record(ELECTRICITY, (now, 400), field="POWER")
    display, freshness = DisplayReducer(home.ve_id), ResourceFreshnessReducer([resource_id])
    frame = await with_rows(home.tenant, display.load)
    items = await with_rows(home.tenant, freshness.load)
    ahead = now + timedelta(minutes=4)
    steps = [
        (now, ahead, 9_000, 400),
        *((now + timedelta(seconds=n), now + timedelta(seconds=n), n, n) for n in (10, 20)),
    ]
    for received, at, watts, shown in steps:
        event = power(resource_id, at, watts)
        frame = display.apply_event(frame, event, received) or frame
        items = freshness.apply_event(items, event, received) or items
        assert frame.power is not None
        assert (frame.power.net.value, frame.freshness.as_of) == (shown, min(at, frame.at))
    last = now + timedelta(seconds=20)
    silent = last + timedelta(minutes=3)
    frame, items = display.advance(frame, silent) or frame, freshness.advance(items, silent) or items
    assert (frame.power, frame.freshness.as_of, frame.freshness.state.value) == (None, last, "STALE")
    assert display.next_change(frame) <= int(ahead.timestamp() * 1_000)
    frame, items = display.advance(frame, ahead) or frame, freshness.advance(items, ahead) or items
    assert frame.power is not None
    assert (frame.power.net.value, frame.freshness.as_of, frame.freshness.state.value) == (9_000, ahead, "LIVE")
    assert [item.freshness.state.value for item in items] == ["LIVE"]  # type: ignore[union-attr]


async def test_display_names_the_energy_without_a_price_in_each_unit(timed: Timed) -> None:
    home = await add_display_home(timed, ELECTRICITY, GAS)
    for classifier in (ELECTRICITY, GAS):
        await home.record_half_hours(classifier, timed.clock.now.replace(hour=8, minute=0), [0.25] * 4)
    await home.tenant.set_tariff(home.resource_ids[GAS], valid_from=timed.clock.now.replace(hour=9, minute=0))
    cost = (await home.frame())["today"]["cost"]
    assert cost["unpriced"] == [{"value": "1.5", "unit": "KILOWATT_HOUR"}]
