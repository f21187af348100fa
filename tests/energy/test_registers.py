"""Energy of intervals from registers: compared with a slow exact model, exact at both ends, and gaps."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.energy.buckets import HALF_HOUR_MS, HOUR_MS, MINUTE_MS
from wattgate.energy.meters.registers import MAX_GAP_MS, RegisterPoint, derive_energy, register_rise

START = 1_772_323_200_000  # 2026-03-01, UTC


def points(*readings: tuple[int, int]) -> list[RegisterPoint]:
    """Return readings of a register in Wh, each with its minute."""
    return [RegisterPoint(START + minute * MINUTE_MS, value) for minute, value in readings]


def derive(*readings: tuple[int, int], interval_ms: int = HALF_HOUR_MS, energy_decimals: int = 3) -> dict[int, int]:
    found = derive_energy(
        points(*readings), decimals=3, energy_decimals=energy_decimals, interval_ms=interval_ms, phase_ms=0
    )
    return {(at - START) // MINUTE_MS: energy for at, energy in found.items()}


@given(
    steps=st.lists(st.tuples(st.integers(1, 150), st.integers(0, 4_000)), min_size=1, max_size=12),
    first=st.integers(0, 10**8),
    interval=st.sampled_from([5, 15, 30, 60]),
    energy_decimals=st.sampled_from([0, 2, 3, 5]),
)
def test_energy_is_that_of_the_slow_model_and_adds_up(
    steps: list[tuple[int, int]], first: int, interval: int, energy_decimals: int
) -> None:
    """The model interpolates with fractions, at each end of each interval."""
    readings: list[tuple[int, int]] = [(7, first)]
    for minutes, rise in steps:
        readings.append((readings[-1][0] + minutes, readings[-1][1] + min(rise, 1_000 + minutes * 1_600)))

    def level(minute: int) -> Fraction | None:
        for (before, low), (after, high) in pairwise(readings):
            if before <= minute <= after and (after - before) * MINUTE_MS <= MAX_GAP_MS:
                return Fraction(low) + Fraction(high - low) * (minute - before) / (after - before)
        return None

    def is_known(start: int, stop: int) -> bool:
        return all(level(minute) is not None for minute in range(start, stop + 1)) and not any(
            start < before < stop and (after - before) * MINUTE_MS > MAX_GAP_MS
            for (before, _), (after, _) in pairwise(readings)
        )

    scale = Fraction(10**energy_decimals, 1_000)
    expected: dict[int, int] = {}
    for start in range(0, readings[-1][0], interval):
        low, high = level(start), level(start + interval)
        if low is not None and high is not None and is_known(start, start + interval):
            expected[start] = int(high * scale // 1 - low * scale // 1)
    found = derive(*readings, interval_ms=interval * MINUTE_MS, energy_decimals=energy_decimals)
    assert found == expected


@given(st.lists(st.integers(0, 3_000), min_size=2, max_size=48), st.integers(1, 46))
def test_parts_that_arrive_in_two_calls_give_the_same_energy(rises: list[int], cut: int) -> None:
    readings: list[tuple[int, int]] = [(7, 500)]
    for rise in rises:
        readings.append((readings[-1][0] + 11, readings[-1][1] + rise))
    cut = min(cut, len(readings) - 1)
    both = derive(*readings[: cut + 1]) | derive(*readings[max(0, cut - 4) :])
    assert both == derive(*readings)


def test_registers_at_both_ends_give_their_exact_difference() -> None:
    found = derive((0, 1_000), (7, 1_003), (29, 1_011), (61, 1_500), (120, 2_222))
    assert list(found) == [0, 30, 60, 90]
    assert sum(found.values()) == 1_222


@pytest.mark.parametrize(
    ("before", "after", "rise"),
    [
        (99_999_000, 3_000, 4_000),  # five digits: 99999 to 00003
        (9_999_500, 250, 750),
        (99_999_999_900, 100, 200),  # eight digits
        (12_345_678, 12_345_677, None),  # down by one digit
        (12_345_678, 12_345_078, None),
        (12_345_678, 0, None),  # replaced
        (54_321_000, 200, None),
        (9_500, 200, None),  # no meter has one digit
        (1_000, 150_000, None),  # faster than any home
        (1_000, 2_000, 1_000),
    ],
)
def test_a_register_begins_anew_only_after_its_highest_number(before: int, after: int, rise: int | None) -> None:
    first, second = points((0, before), (30, after))
    assert register_rise(first, second, 3) == rise


def test_a_rollover_continues_and_a_replacement_leaves_its_interval_out() -> None:
    assert derive((0, 99_999_000), (30, 99_999_500), (60, 500), (90, 800)) == {0: 500, 30: 1_000, 60: 300}
    assert derive((0, 54_321_000), (30, 54_321_500), (45, 100), (60, 300), (90, 600)) == {0: 500, 60: 300}


@pytest.mark.parametrize("wrong", [100, 60_000_000, 49_999_900])
def test_a_single_wrong_register_is_left_out(wrong: int) -> None:
    assert derive((0, 50_000_000), (30, 50_000_500), (40, wrong), (60, 50_001_000)) == {0: 500, 30: 500}


def test_nothing_is_interpolated_in_a_longer_gap() -> None:
    hours = MAX_GAP_MS // HOUR_MS
    assert derive((0, 0), (60 * hours, 400)) == {30 * n: 100 for n in range(2 * hours)}
    assert derive((0, 0), (60 * hours + 1, 400), (60 * hours + 60, 500)) == {60 * hours + 30: 51}
    assert derive() == derive((5, 100)) == {}
