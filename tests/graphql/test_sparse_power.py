"""Energy of today from power at any interval: the readings count for as long as their learned interval says."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.display_homes import ELECTRICITY, DisplayHome, add_display_home
from tests.support.timed import Timed

pytestmark = pytest.mark.both_databases("integrals of power in SQL")

MIDNIGHT = datetime(2026, 5, 31, 23, tzinfo=UTC)  # of 1 June in London
LATER = MIDNIGHT + timedelta(hours=2, minutes=40)
"""When the tests ask. More hours would be more messages, and no other case."""

HOURS = (LATER - MIDNIGHT) / timedelta(hours=1)

one_database_each = pytest.mark.alternate_databases("the intervals are read by the same statements")


async def send_every(home: DisplayHome, seconds: int, start: datetime, stop: datetime, watts: int = 600) -> None:
    """Send power as a display does: each reading when it is measured."""
    home.timed.clock.now = start
    while home.timed.clock.now < stop:
        await home.send_power(watts)
        home.timed.pass_time(timedelta(seconds=seconds))
    home.timed.clock.now = stop


@one_database_each
@pytest.mark.parametrize("seconds", [120, 150, 300, 420, 600, 1_200])
async def test_energy_of_today_is_right_for_each_interval(timed: Timed, seconds: int) -> None:
    """The first reading is before midnight and none is at midnight or at a half hour."""
    home = await add_display_home(timed, ELECTRICITY)
    await send_every(home, seconds, MIDNIGHT - timedelta(minutes=61, seconds=7), LATER)
    electricity = (await home.frame())["today"]["electricity"]
    assert electricity["estimated"] is True
    assert float(electricity["energy"]["value"]) == pytest.approx(0.6 * HOURS, rel=0.01)
    assert electricity["unknownShare"] == pytest.approx(0, abs=0.01)


@one_database_each
@pytest.mark.parametrize("seconds", [120, 600])
async def test_a_pause_is_unknown_and_its_share_is_stated(timed: Timed, seconds: int) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await send_every(home, seconds, MIDNIGHT - timedelta(minutes=61), MIDNIGHT + timedelta(hours=1))
    await send_every(home, seconds, MIDNIGHT + timedelta(hours=2), LATER)
    electricity = (await home.frame())["today"]["electricity"]
    assert electricity["unknownShare"] == pytest.approx(1 / HOURS, abs=0.06)
    assert float(electricity["energy"]["value"]) == pytest.approx(0.6 * (HOURS - 1), abs=0.31)
