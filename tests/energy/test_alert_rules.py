"""When alert rules hold and when that is told, against a plain model."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import to_ms
from wattgate.energy import alert_rules
from wattgate.energy.alert_rules import Firing, QuietHours, Rule, RuleState
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS
from wattgate.enums import Function, ThresholdSide

LONDON = ZoneInfo("Europe/London")
NIGHT = QuietHours(time(22), time(7), LONDON)
FUNCTIONS = [Function.SUM, Function.AVG, Function.MIN, Function.MAX]

samples = st.lists(
    st.tuples(st.integers(0, 3 * 24 * 60), st.integers(-20, 20)), max_size=40, unique_by=lambda one: one[0]
).map(lambda some: [(at * MINUTE_MS, value) for at, value in sorted(some)])
some_rules = st.builds(
    Rule,
    window=st.integers(1, 600).map(lambda minutes: minutes * MINUTE_MS),
    threshold=st.integers(-30, 30),
    hysteresis=st.integers(0, 20),
    function=st.sampled_from(FUNCTIONS),
    side=st.sampled_from(ThresholdSide),
    expected_samples=st.sampled_from([None, 2]),
    quiet_hours=st.sampled_from([None, NIGHT, QuietHours(time(12), time(13, 30), UTC)]),
)


def plain_result(rule: Rule, known: list[alert_rules.TimedValue], at: int) -> Fraction | None:
    """The result of the window that ends at an instant, looked up anew."""
    inside = [value for when, value in known if at - rule.window < when <= at]
    match rule.function:
        case Function.SUM:
            lacking = (
                rule.side is ThresholdSide.BELOW
                and rule.expected_samples is not None
                and len(inside) < rule.expected_samples
            )
            return None if lacking else Fraction(sum(inside))
        case Function.AVG:
            return Fraction(sum(inside), len(inside))
        case Function.MIN:
            return Fraction(min(inside))
        case _:
            return Fraction(max(inside))


def plain(rule: Rule, known: list[alert_rules.TimedValue], after: int, fresh_from: int) -> list[int]:
    """When a rule fires: the same, said with plain words."""
    holds = told = False
    fired = []
    for at, _ in known:
        value = plain_result(rule, known, at)
        if at <= after or value is None:
            continue
        if rule.side is ThresholdSide.ABOVE:
            holds = value > rule.threshold or (holds and value > rule.threshold - rule.hysteresis)
        else:
            holds = value < rule.threshold or (holds and value < rule.threshold + rule.hysteresis)
        told = told and holds
        if holds and not told and at >= fresh_from and not (rule.quiet_hours and rule.quiet_hours.contains(at)):
            told = True
            fired.append(at)
    return fired


@given(some_rules, samples, st.integers(-1, DAY_MS), st.integers(0, 2 * DAY_MS))
def test_a_threshold_fires_as_the_plain_model_says(
    rule: Rule, known: list[alert_rules.TimedValue], after: int, fresh_from: int
) -> None:
    _, firings = alert_rules.evaluate_threshold(rule, RuleState(), known, after=after, fresh_from=fresh_from)
    assert [one.at for one in firings] == plain(rule, known, after, fresh_from)


@given(some_rules, samples, st.integers(0, 40))
def test_it_does_not_matter_in_how_many_parts_samples_come(
    rule: Rule, known: list[alert_rules.TimedValue], cut: int
) -> None:
    whole = alert_rules.evaluate_threshold(rule, RuleState(), known, after=-1, fresh_from=0)
    first = known[:cut]
    state, before = alert_rules.evaluate_threshold(rule, RuleState(), first, after=-1, fresh_from=0)
    seen = first[-1][0] if first else -1
    filling = [one for one in known if one[0] > seen - rule.window]
    state, then = alert_rules.evaluate_threshold(rule, state, filling, after=seen, fresh_from=0)
    assert (state, before + then) == whole


@given(st.integers(0, 365 * 24 * 60), st.sampled_from([NIGHT, QuietHours(time(1, 15), time(1, 45), LONDON)]))
def test_after_quiet_hours_is_the_first_minute_that_is_not_quiet(minute: int, quiet: QuietHours) -> None:
    at = to_ms(datetime(2026, 1, 1, tzinfo=UTC)) + minute * MINUTE_MS
    end = quiet.next_allowed(at)
    assert not quiet.contains(end)
    assert all(quiet.contains(one) for one in range(at, end, MINUTE_MS))


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=20, unique=True).map(sorted),
    st.integers(1, 900),
    st.sampled_from([None, NIGHT]),
)
def test_silence_is_told_when_looking_every_minute_would_tell_it(
    minutes: list[int], window: int, quiet: QuietHours | None
) -> None:
    rule, until = Rule(window=window * MINUTE_MS, quiet_hours=quiet), 3001
    instants = [minute * MINUTE_MS for minute in minutes]
    state, told = RuleState(), []
    for minute in range(minutes[0], until):
        last = max(one for one in minutes if one <= minute)
        state, firing = alert_rules.evaluate_silence(rule, state, last * MINUTE_MS, minute * MINUTE_MS)
        told += [firing] if firing else []
    assert alert_rules.replay_silence(rule, instants, until * MINUTE_MS) == told


@pytest.mark.parametrize(
    ("at", "quiet"),
    [("2026-01-10T21:59", False), ("2026-01-10T22:00", True), ("2026-07-10T21:00", True), ("2026-07-10T06:00", False)],
)
def test_quiet_hours_are_those_of_the_homes_clock(at: str, quiet: bool) -> None:
    assert NIGHT.contains(to_ms(datetime.fromisoformat(at).replace(tzinfo=UTC))) is quiet


def test_a_budget_is_told_once_a_period_when_it_will_be_exceeded() -> None:
    day = Rule(window=6 * HOUR_MS, threshold=240)
    edges = list(range(0, 2 * DAY_MS + 1, HOUR_MS))
    amounts = [5] * 12 + [20] * 12 + [11] * 24  # the first day will exceed it from the 19th hour on, the second at once
    firings = alert_rules.replay_pace(day, edges, amounts, [0, DAY_MS, 2 * DAY_MS], moments=edges)
    assert [one.at // HOUR_MS for one in firings] == [19, 30]


def test_a_sum_that_is_to_stay_above_a_threshold_is_not_judged_while_samples_are_missing() -> None:
    rule = Rule(window=HOUR_MS, threshold=10, side=ThresholdSide.BELOW, expected_samples=2)
    half = 30 * MINUTE_MS
    assert alert_rules.evaluate_threshold(rule, RuleState(), [(0, 3), (4 * half, 3)], after=-1, fresh_from=0)[1] == []
    assert len(alert_rules.evaluate_threshold(rule, RuleState(), [(0, 3), (half, 3)], after=-1, fresh_from=0)[1]) == 1


def test_the_moment_of_a_firing_is_when_its_sample_is_complete() -> None:
    delay = timedelta(minutes=30) // timedelta(milliseconds=1)
    firings = alert_rules.evaluate_threshold(
        Rule(window=HOUR_MS), RuleState(), [(0, 1)], after=-1, fresh_from=0, delay=delay
    )[1]
    assert firings == [Firing(delay, Fraction(1))]
