"""The interval and the phase of readings: compared with a slow model, and the readings that do not fit them."""

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import format_iso_ms, to_ms
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS
from wattgate.energy.sampling import (
    INTERVALS_MS,
    MAX_STEP_MS,
    MIN_EQUAL_DISTANCES,
    SamplingGrid,
    Spacing,
    Step,
    describe_intervals,
    find_steps,
    format_length,
    intervals_of,
    learned_grid,
)
from wattgate.energy.storage_fields import (
    StorageDefinition,
    StorageError,
    StorageField,
    StorageLimits,
    is_divided,
    is_learning,
    parse_fields,
    with_grid,
)

START = to_ms(datetime(2026, 3, 1, tzinfo=UTC))
MINUTES = sorted(interval // MINUTE_MS for interval in INTERVALS_MS)


def instants(*parts: tuple[int, int], start: int = START) -> np.ndarray:
    """Return instants in which each part continues with a number of distances of some minutes."""
    distances = [minutes * MINUTE_MS for minutes, count in parts for _ in range(count)]
    return np.cumsum([start, *distances]).astype(np.int64)


def slow_steps(at: list[int]) -> dict[int, Step]:
    """Return the steps of sorted instants, found one by one."""
    runs: list[list[int]] = []
    for before, after in pairwise(dict.fromkeys(at)):
        if runs and runs[-1][0] == after - before:
            runs[-1][2] += 1
        else:
            runs.append([after - before, before, 1])
    steps: dict[int, Step] = {}
    for step, first, length in runs:
        if length >= MIN_EQUAL_DISTANCES and step <= MAX_STEP_MS:
            known = steps.get(step, Step(first, first, 0, 0))
            last = first + step * length
            steps[step] = Step(known.first_ms, last, max(known.longest, length), known.total + length)
    return steps


@given(
    distances=st.lists(st.sampled_from([0, 1, 1, 1, 1, 5, 30]), max_size=40),
    cuts=st.lists(st.integers(0, 41), max_size=6),
)
def test_steps_are_those_of_the_slow_model_however_the_instants_arrive(distances: list[int], cuts: list[int]) -> None:
    at = np.cumsum([START, *(one * MINUTE_MS for one in distances)]).astype(np.int64)
    spacing = Spacing()
    for part in np.split(at, sorted(min(cut, len(at)) for cut in cuts)):
        spacing.add(part)
    assert spacing.finish() == slow_steps(at.tolist())


@pytest.mark.parametrize("minutes", MINUTES)
@pytest.mark.parametrize("phase", [0, 15, 45])
def test_an_interval_and_its_phase_are_learned_from_four_readings(minutes: int, phase: int) -> None:
    at = instants((minutes, MIN_EQUAL_DISTANCES), start=START + phase * MINUTE_MS)
    grid = SamplingGrid(minutes * MINUTE_MS, phase % minutes * MINUTE_MS)
    assert learned_grid(find_steps(at)) == grid
    assert learned_grid(find_steps(at[:-1])) is None
    assert learned_grid(find_steps(at[::-1])) == grid


@given(
    minutes=st.sampled_from(MINUTES),
    phase=st.integers(0, 59),
    lost=st.sets(st.integers(0, 95), max_size=8),
)
def test_lost_readings_do_not_change_the_learned_interval(minutes: int, phase: int, lost: set[int]) -> None:
    at = instants((minutes, 95), start=START + phase * MINUTE_MS)
    kept = np.delete(at, list(lost))
    assert learned_grid(find_steps(kept)) == SamplingGrid(minutes * MINUTE_MS, phase % minutes * MINUTE_MS)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([(30, 48), (15, 96)], [30, 15]),
        ([(60, 8), (30, 400)], [60, 30]),
        ([(5, 12), (30, 8), (5, 12)], [5, 30]),
        ([(30, 40), (60, 3), (30, 40)], [30]),  # single readings are lost
        ([(24 * 60, 6)], [24 * 60]),
    ],
)
def test_several_intervals_of_a_series_have_no_grid(parts: list[tuple[int, int]], found: list[int]) -> None:
    steps = find_steps(instants(*parts))
    assert [step // MINUTE_MS for step, _ in intervals_of(steps)] == found
    assert (learned_grid(steps) is None) == (len(found) > 1 or found[0] > 60)


def test_intervals_are_described_with_their_first_instant() -> None:
    text = describe_intervals(intervals_of(find_steps(instants((30, 48), (15, 96)))))
    change = format_iso_ms(START + DAY_MS)
    assert text == f"intervals of 30 minutes from 2026-03-01T00:00:00.000Z and 15 minutes from {change}"
    assert [format_length(one) for one in (HOUR_MS, 2 * DAY_MS, 1_000)] == ["1 hour", "2 days", "1 second"]


def test_a_learned_definition_becomes_regular_and_others_stay() -> None:
    learned = StorageDefinition(
        "timeseries", "learned", "2014-01-06T00:00:00+00:00", (StorageField("E", "kWh", "integer"),)
    )
    live = StorageDefinition(
        "timeseries", "irregular", "2014-01-06T00:00:00+00:00", (StorageField("P", "W", "integer"),)
    )
    storage = with_grid((learned, live), "E", 15 * MINUTE_MS, 5 * MINUTE_MS)
    assert (storage[0].sampling, storage[0].interval, storage[0].start) == (
        "regular", "PT15M", "2014-01-05T23:50:00+00:00",
    )  # fmt: skip
    assert storage[1] == live
    assert (is_learning((learned, live)), is_learning(storage)) == (True, False)
    early = StorageDefinition("timeseries", "learned", "1970-01-01T00:00:00+00:00", learned.fields)
    assert with_grid([early], "E", HOUR_MS, 45 * MINUTE_MS)[0].start == "1970-01-01T00:45:00+00:00"
    with pytest.raises(StorageError, match="learned sampling takes no interval"):
        parse_fields([StorageDefinition("timeseries", "learned", learned.start, learned.fields, "PT1H")])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), min_size=1, max_size=30))
def test_readings_of_divided_intervals_are_rejected_like_in_the_slow_model(readings: list[tuple[int, int]]) -> None:
    """Each number is five minutes, and the interval has thirty."""
    field, number = (np.array(column, np.int64) for column in zip(*readings, strict=True))
    off = number % 6 != 0
    divided = {(one, at // 6) for one, at in readings if at % 6}
    assert is_divided(field, number // 6, off).tolist() == [(one, at // 6) in divided for one, at in readings]


def test_only_whole_minutes_inside_an_interval_make_it_divided() -> None:
    fields = (StorageField("E", "kWh", "integer"),)
    (field,) = parse_fields([StorageDefinition("timeseries", "regular", "2014-01-06T00:00:00Z", fields)])
    limits, index = StorageLimits.from_fields([field], [0]), np.zeros(5, np.int64)
    at = START + np.array([0, 30, 45, 60, 60], np.int64) * MINUTE_MS
    divided = limits.find_divided(index, at + np.array([0, 0, 0, 0, 20_000]))
    assert divided is not None
    assert divided.tolist() == [False, True, True, False, False]
    assert limits.find_divided(index, at + np.array([0, 0, 100, 0, 20_000])) is None
