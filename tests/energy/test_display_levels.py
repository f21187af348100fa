"""Levels of a display: an ordinary evening is not HIGH, and a real peak is."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import mean

import pytest

from tests.support.appliances import EVENING, half_hours_of, simulate_minutes
from wattgate.app.demo.seed import HOMES, DemoHome
from wattgate.app.demo.simulation import HALF_HOUR, simulate_half_hour, simulate_power
from wattgate.energy.display.ambient import (
    DAY_SLOTS,
    LEARNING_DAYS,
    MIN_HIGH_WATTS,
    MIN_KNOWN_DAYS,
    LearnedPower,
    PowerLevels,
    learn_power,
    power_reference,
    power_within_budget,
    price_reference,
)
from wattgate.enums import AmbientBasis, AmbientLevel, RateUnit

LOW, MEDIUM, HIGH = AmbientLevel
MIDNIGHT = datetime(2026, 11, 23, tzinfo=UTC)
PEAKS = {"an electric shower": 8500, "a car on a wall box": 7200, "a tumble dryer and an oven": 4700}
"""Powers that a family wants to notice at any time, in W above the use of the moment."""


def level_at(learned: LearnedPower, minute: int, watts: float) -> AmbientLevel:
    levels = learned.levels[minute // 30]
    assert levels is not None
    return power_reference(levels, AmbientBasis.LEARNED).compare(watts).level


def evening_levels(learned: LearnedPower, power: Callable[[int], float]) -> Counter[AmbientLevel]:
    return Counter(level_at(learned, minute, max(0.0, power(minute))) for minute in EVENING)


def share_of_high(counts: Counter[AmbientLevel]) -> float:
    return counts[HIGH] / counts.total()


def demo_days(home: DemoHome, midnight: datetime) -> list[list[float]]:
    """Return the mean imported power of a demonstration home in each half hour of the days before a midnight."""
    return [
        [
            simulate_half_hour(home.habits, midnight - timedelta(days=day) + slot * HALF_HOUR).imported * 2000
            for slot in range(DAY_SLOTS)
        ]
        for day in range(LEARNING_DAYS, 0, -1)
    ]


@pytest.mark.parametrize("home", HOMES, ids=lambda home: str(home.name))
def test_evenings_of_the_demonstration_are_seldom_high(home: DemoHome) -> None:
    shares = []
    for day in range(14):
        midnight = MIDNIGHT + timedelta(days=day)
        learned = learn_power(demo_days(home, midnight))

        def power(minute: int, midnight: datetime = midnight) -> float:
            return simulate_power(home.habits, midnight + timedelta(minutes=minute))

        shares.append(share_of_high(evening_levels(learned, power)))
    assert mean(shares) < 0.1
    assert max(shares) < 0.25


def test_evenings_with_dinner_and_dishwasher_are_seldom_high() -> None:
    shares = []
    for family in range(0, 2000, 100):
        learned = learn_power([half_hours_of(simulate_minutes(family + day)) for day in range(LEARNING_DAYS)])
        today = simulate_minutes(family + LEARNING_DAYS)
        shares.append(share_of_high(evening_levels(learned, today.__getitem__)))
    assert mean(shares) < 0.1
    assert sorted(shares)[len(shares) // 2] < 0.1


@pytest.mark.parametrize("peak", PEAKS.values(), ids=PEAKS)
def test_real_peak_is_high_at_any_time_of_day(peak: int) -> None:
    learned = learn_power([half_hours_of(simulate_minutes(day)) for day in range(LEARNING_DAYS)])
    today = simulate_minutes(LEARNING_DAYS)
    assert {level_at(learned, minute, watts + peak) for minute, watts in enumerate(today)} == {HIGH}


def test_usual_charge_of_a_car_at_night_is_not_high_but_it_is_by_day() -> None:
    night = [7200.0 + 150] * 8 + [400.0] * (DAY_SLOTS - 8)
    learned = learn_power([night] * LEARNING_DAYS)
    assert level_at(learned, 2 * 60, 7400) is MEDIUM
    assert level_at(learned, 18 * 60, 7400) is HIGH


def test_single_night_with_a_peak_does_not_make_it_usual() -> None:
    quiet = [150.0] * DAY_SLOTS
    learned = learn_power([[7200.0] * DAY_SLOTS, *[quiet] * (LEARNING_DAYS - 1)])
    assert learned.levels[4] == PowerLevels(low_below=120.0, high_from=MIN_HIGH_WATTS)


def test_nothing_below_a_kilowatt_is_high_and_a_fridge_does_not_end_low() -> None:
    learned = learn_power([[20.0] * DAY_SLOTS] * LEARNING_DAYS)
    assert [level_at(learned, 3 * 60, watts) for watts in (60, 79, 80, 999, 1000)] == [LOW, LOW, MEDIUM, MEDIUM, HIGH]


def test_dinner_that_moves_by_half_an_hour_is_usual() -> None:
    days = [[300.0] * DAY_SLOTS for _ in range(LEARNING_DAYS)]
    for number, day in enumerate(days):
        day[36 + number % 2] = 2400.0
    learned = learn_power(days)
    assert {level_at(learned, minute, 2400) for minute in range(17 * 60 + 30, 19 * 60 + 30)} == {MEDIUM}


@pytest.mark.parametrize("known", [0, MIN_KNOWN_DAYS - 1, MIN_KNOWN_DAYS])
def test_half_hour_without_enough_known_days_has_no_level(known: int) -> None:
    days: list[Sequence[float | None]] = [[300.0] * DAY_SLOTS for _ in range(known)]
    days += [[None] * DAY_SLOTS for _ in range(LEARNING_DAYS - known)]
    learned = learn_power(days)
    assert [levels is not None for levels in learned.levels] == [known >= MIN_KNOWN_DAYS] * DAY_SLOTS
    assert learned.mean_watts == (300.0 if known >= MIN_KNOWN_DAYS else None)
    assert learn_power([]) == LearnedPower((None,) * DAY_SLOTS, None)


def test_budget_follows_the_usual_shape_of_the_day() -> None:
    """A home that spends exactly its budget has the same levels as without one."""
    days = [half_hours_of(simulate_minutes(day)) for day in range(LEARNING_DAYS)]
    learned = learn_power(days)
    usual_day = mean(mean(day) for day in days)
    assert learned.mean_watts == pytest.approx(usual_day)
    for slot, levels in enumerate(learned.levels):
        assert learned.within_budget(slot, usual_day) == pytest.approx(levels)
    dinner = learned.levels[37]
    assert dinner is not None
    half = learned.within_budget(37, usual_day / 2)
    assert half.high_from == pytest.approx(max(dinner.high_from / 2, MIN_HIGH_WATTS))
    assert LearnedPower().within_budget(37, 800) == pytest.approx(PowerLevels(640, 1200))


def test_budget_without_a_price_or_below_the_standing_charge_has_no_power() -> None:
    assert power_within_budget(Decimal(288), Decimal(48), Decimal(20)) == pytest.approx(500)
    for terms in ((48, 48, 20), (288, 48, None), (288, 48, 0), (288, 48, -3)):
        budget, standing, rate = (None if term is None else Decimal(term) for term in terms)
        assert budget is not None
        assert standing is not None
        assert power_within_budget(budget, standing, rate) is None


def test_level_of_a_price_is_relative_to_the_mean_also_if_it_is_negative() -> None:
    usual, negative = (price_reference(Decimal(mean), RateUnit.KILOWATT_HOUR, "GBP") for mean in (20, -4))
    assert [usual.compare(rate).level for rate in (0.1599, 0.16, 0.2499, 0.25)] == [LOW, MEDIUM, MEDIUM, HIGH]
    assert [negative.compare(rate).level for rate in (-0.05, -0.04, -0.029)] == [LOW, MEDIUM, HIGH]
