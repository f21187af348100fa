"""Integrals of live power over half hours, reading by reading, compared with a slow model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.energy.buckets import HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.display.live_power import (
    MAX_HOLD_MS,
    MIN_HOLD_MS,
    PowerIntegral,
    PowerSource,
    hold_of_interval,
)
from wattgate.energy.storage_fields import ReadingField

FIELD = ReadingField(1, "POWER", "W", 0, True, None, 0)
SLOT = 600 * HALF_HOUR_MS


def slow_integrals(readings: list[tuple[int, int]], hold: int, now: int) -> dict[int, tuple[int, int]]:
    """Return the integral and the known time of each half hour (number of it), minute by minute."""
    found: dict[int, tuple[int, int]] = {}
    for minute in range(readings[0][0], now):
        at, watts = [reading for reading in readings if reading[0] <= minute][-1]
        if minute - at < hold:
            total, known = found.get(minute // 30, (0, 0))
            found[minute // 30] = total + watts * MINUTE_MS, known + MINUTE_MS
    return found


@given(
    distances=st.lists(st.tuples(st.integers(1, 40), st.integers(-3_000, 3_000)), min_size=1, max_size=12),
    hold=st.integers(2, 30),
    waited=st.integers(0, 45),
)
def test_each_finished_half_hour_has_the_integral_of_the_slow_model(
    distances: list[tuple[int, int]], hold: int, waited: int
) -> None:
    """The newest reading may already count after its half hour, when the next one arrives."""
    readings, minute = list[tuple[int, int]](), 7
    for distance, watts in distances:
        readings.append((minute, watts))
        minute += distance
    first = readings[0]
    until = SLOT + (first[0] + min(waited, hold)) * MINUTE_MS
    source = PowerSource(
        "id", FIELD, False, SLOT + first[0] * MINUTE_MS, first[1], PowerIntegral(SLOT, 0, 0, 0),
        SLOT + first[0] * MINUTE_MS, hold * MINUTE_MS,
    )  # fmt: skip
    overrun = source.integral_at(until)
    source = PowerSource("id", FIELD, False, source.at, first[1], overrun, max(until, source.at), hold * MINUTE_MS)
    finished = []
    for at, watts in readings[1:]:
        source, ended = source.with_reading(max(SLOT + at * MINUTE_MS, source.integrated_to), watts)
        finished += [ended] if ended else []
    if len(readings) > 1 and SLOT + readings[1][0] * MINUTE_MS < until:
        return  # a reading before the end of the loaded time does not occur
    expected = slow_integrals(readings, hold, readings[-1][0])
    for one in finished:
        total, known = expected.get((one.at - SLOT) // HALF_HOUR_MS, (0, 0))
        assert (one.positive - one.negative, one.known_ms) == (total, known)


@pytest.mark.parametrize(("minutes", "hold"), [(0.2, 2), (1, 2), (2.5, 5), (10, 20), (15, 30), (20, 30), (24 * 60, 30)])
def test_a_reading_counts_for_two_intervals_within_bounds(minutes: float, hold: int) -> None:
    assert hold_of_interval(round(minutes * MINUTE_MS)) == hold * MINUTE_MS
    assert MIN_HOLD_MS <= hold * MINUTE_MS <= MAX_HOLD_MS
