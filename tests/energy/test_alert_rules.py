"""Evaluation of alert rules, compared with a simple reference model."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import to_ms
from wattgate.energy import alert_rules
from wattgate.energy.alert_rules import (
    INACTIVE,
    Firing,
    Limit,
    PaceReplay,
    PaceRule,
    QuietHours,
    RuleState,
    SilenceReplay,
    SilenceRule,
    ThresholdEvaluation,
    ThresholdRule,
)
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS
from wattgate.enums import Function, ThresholdSide

LONDON = ZoneInfo("Europe/London")
NIGHT = QuietHours(time(22), time(7), LONDON)
FUNCTIONS = [Function.SUM, Function.AVG, Function.MIN, Function.MAX]

samples = st.lists(
    st.tuples(st.integers(0, 3 * 24 * 60), st.integers(-20, 20)), max_size=40, unique_by=lambda one: one[0]
).map(lambda some: [(at * MINUTE_MS, value) for at, value in sorted(some)])
rules = st.builds(
    ThresholdRule,
    window=st.integers(1, 600).map(lambda minutes: minutes * MINUTE_MS),
    limit=st.builds(Limit, st.integers(-30, 30), st.integers(0, 20), st.sampled_from(ThresholdSide)),
    function=st.sampled_from(FUNCTIONS),
    expected_samples=st.sampled_from([None, 2]),
    quiet_hours=st.sampled_from([None, NIGHT, QuietHours(time(12), time(13, 30), UTC)]),
)


def reference_result(rule: ThresholdRule, readings: list[alert_rules.TimedValue], at: int) -> Fraction | None:
    """Return the result of the window that ends at an instant, computed from all readings."""
    values = [value for when, value in readings if at - rule.window < when <= at]
    match rule.function:
        case Function.SUM:
            is_incomplete = (
                rule.limit.side is ThresholdSide.BELOW
                and rule.expected_samples is not None
                and len(values) < rule.expected_samples
            )
            return None if is_incomplete else Fraction(sum(values))
        case Function.AVG:
            return Fraction(sum(values), len(values))
        case Function.MIN:
            return Fraction(min(values))
        case _:
            return Fraction(max(values))


def reference_firings(
    rule: ThresholdRule, readings: list[alert_rules.TimedValue], after: int, fresh_from: int
) -> list[int]:
    """Return the instants at which a rule fires."""
    limit, active, notified = rule.limit, False, False
    fired = []
    for at, _ in readings:
        value = reference_result(rule, readings, at)
        if at <= after or value is None:
            continue
        if limit.side is ThresholdSide.ABOVE:
            active = value > limit.value or (active and value > limit.value - limit.hysteresis)
        else:
            active = value < limit.value or (active and value < limit.value + limit.hysteresis)
        notified = notified and active
        if active and not notified and at >= fresh_from and not (rule.quiet_hours and rule.quiet_hours.contains(at)):
            notified = True
            fired.append(at)
    return fired


def evaluate(
    rule: ThresholdRule, readings: list[alert_rules.TimedValue], state: RuleState = INACTIVE, **options: int
) -> tuple[RuleState, list[Firing]]:
    """Evaluate all readings at once. Return the state and the firings."""
    evaluation = ThresholdEvaluation(rule, state, **{"after": -1, "fresh_from": 0, **options})
    evaluation.add(readings)
    return evaluation.state, evaluation.firings


@given(rules, samples, st.integers(-1, DAY_MS), st.integers(0, 2 * DAY_MS))
def test_threshold_fires_as_in_the_reference_model(
    rule: ThresholdRule, readings: list[alert_rules.TimedValue], after: int, fresh_from: int
) -> None:
    _, firings = evaluate(rule, readings, after=after, fresh_from=fresh_from)
    assert [firing.at for firing in firings] == reference_firings(rule, readings, after, fresh_from)


@given(rules, samples, st.integers(0, 40))
def test_firings_do_not_depend_on_how_samples_are_split(
    rule: ThresholdRule, readings: list[alert_rules.TimedValue], cut: int
) -> None:
    whole = evaluate(rule, readings)
    first = readings[:cut]
    state, before = evaluate(rule, first)
    last_at = first[-1][0] if first else -1
    window_readings = [reading for reading in readings if reading[0] > last_at - rule.window]
    state, after = evaluate(rule, window_readings, state, after=last_at)
    assert (state, before + after) == whole
    in_parts = ThresholdEvaluation(rule, INACTIVE, after=-1, fresh_from=0)
    in_parts.add(first)
    in_parts.add(readings[cut:])
    assert (in_parts.state, in_parts.firings) == whole


@given(st.integers(0, 365 * 24 * 60), st.sampled_from([NIGHT, QuietHours(time(1, 15), time(1, 45), LONDON)]))
def test_next_allowed_minute_is_the_first_after_quiet_hours(minute: int, quiet: QuietHours) -> None:
    at = to_ms(datetime(2026, 1, 1, tzinfo=UTC)) + minute * MINUTE_MS
    end = quiet.next_allowed(at)
    assert not quiet.contains(end)
    assert all(quiet.contains(minute_ms) for minute_ms in range(at, end, MINUTE_MS))


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=20, unique=True).map(sorted),
    st.integers(1, 900),
    st.sampled_from([None, NIGHT]),
)
def test_replayed_silence_fires_as_an_evaluation_every_minute(
    minutes: list[int], window: int, quiet: QuietHours | None
) -> None:
    rule, until = SilenceRule(quiet, window * MINUTE_MS), 3001
    instants = [minute * MINUTE_MS for minute in minutes]
    state, firings = INACTIVE, []
    for minute in range(minutes[0], until):
        last = max(earlier for earlier in minutes if earlier <= minute)
        state, firing = alert_rules.evaluate_silence(rule, state, last * MINUTE_MS, minute * MINUTE_MS)
        firings += [firing] if firing else []
    replay = SilenceReplay(rule)
    replay.add(instants)
    replay.add([until * MINUTE_MS])
    assert replay.firings == firings


@pytest.mark.parametrize(
    ("at", "quiet"),
    [("2026-01-10T21:59", False), ("2026-01-10T22:00", True), ("2026-07-10T21:00", True), ("2026-07-10T06:00", False)],
)
def test_quiet_hours_use_the_wall_clock_of_the_home(at: str, quiet: bool) -> None:
    assert NIGHT.contains(to_ms(datetime.fromisoformat(at).replace(tzinfo=UTC))) is quiet


def test_pace_fires_once_in_each_period_that_will_exceed_the_budget() -> None:
    day = PaceRule(None, 6 * HOUR_MS, Limit(240))
    edges = list(range(0, 2 * DAY_MS + 1, HOUR_MS))
    # The projected total exceeds the budget on day 1 from hour 19, and on day 2 as soon as its first part is over.
    amounts = [5] * 12 + [20] * 12 + [11] * 24
    replay = PaceReplay(day, edges, amounts, [0, DAY_MS, 2 * DAY_MS])
    replay.add(edges)
    assert [firing.at // HOUR_MS for firing in replay.firings] == [19, 30]


def test_sum_below_a_threshold_is_not_evaluated_in_incomplete_windows() -> None:
    rule = ThresholdRule(None, HOUR_MS, Limit(10, side=ThresholdSide.BELOW), expected_samples=2)
    half = 30 * MINUTE_MS
    assert evaluate(rule, [(0, 3), (4 * half, 3)])[1] == []
    assert len(evaluate(rule, [(0, 3), (half, 3)])[1]) == 1


def test_firing_is_dated_when_its_sample_is_complete() -> None:
    delay = timedelta(minutes=30) // timedelta(milliseconds=1)
    firings = evaluate(ThresholdRule(None, HOUR_MS, Limit(0)), [(0, 1)], delay=delay)[1]
    assert firings == [Firing(delay, Fraction(1))]
