"""When alert rules hold and when that is told, against a plain model."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import to_ms
from wattgate.energy import alert_rules
from wattgate.energy.alert_rules import Firing, Quiet, Rule, State
from wattgate.energy.buckets import DAY, HOUR, MINUTE
from wattgate.enums import Function, ThresholdSide

LONDON = ZoneInfo("Europe/London")
NIGHT = Quiet(time(22), time(7), LONDON)
FUNCTIONS = [Function.SUM, Function.AVG, Function.MIN, Function.MAX]

samples = st.lists(
    st.tuples(st.integers(0, 3 * 24 * 60), st.integers(-20, 20)), max_size=40, unique_by=lambda one: one[0]
).map(lambda some: [(at * MINUTE, value) for at, value in sorted(some)])
some_rules = st.builds(
    Rule,
    window=st.integers(1, 600).map(lambda minutes: minutes * MINUTE),
    threshold=st.integers(-30, 30),
    hysteresis=st.integers(0, 20),
    function=st.sampled_from(FUNCTIONS),
    side=st.sampled_from(ThresholdSide),
    whole=st.sampled_from([None, 2]),
    quiet=st.sampled_from([None, NIGHT, Quiet(time(12), time(13, 30), UTC)]),
)


def plain_result(rule: Rule, known: list[alert_rules.Sample], at: int) -> Fraction | None:
    """The result of the window that ends at an instant, looked up anew."""
    inside = [value for when, value in known if at - rule.window < when <= at]
    match rule.function:
        case Function.SUM:
            lacking = rule.side is ThresholdSide.BELOW and rule.whole is not None and len(inside) < rule.whole
            return None if lacking else Fraction(sum(inside))
        case Function.AVG:
            return Fraction(sum(inside), len(inside))
        case Function.MIN:
            return Fraction(min(inside))
        case _:
            return Fraction(max(inside))


def plain(rule: Rule, known: list[alert_rules.Sample], after: int, fresh_from: int) -> list[int]:
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
        if holds and not told and at >= fresh_from and not (rule.quiet and rule.quiet.holds(at)):
            told = True
            fired.append(at)
    return fired


@given(some_rules, samples, st.integers(-1, DAY), st.integers(0, 2 * DAY))
def test_a_threshold_fires_as_the_plain_model_says(
    rule: Rule, known: list[alert_rules.Sample], after: int, fresh_from: int
) -> None:
    _, firings = alert_rules.threshold(rule, State(), known, after=after, fresh_from=fresh_from)
    assert [one.at for one in firings] == plain(rule, known, after, fresh_from)


@given(some_rules, samples, st.integers(0, 40))
def test_it_does_not_matter_in_how_many_parts_samples_come(
    rule: Rule, known: list[alert_rules.Sample], cut: int
) -> None:
    whole = alert_rules.threshold(rule, State(), known, after=-1, fresh_from=0)
    first = known[:cut]
    state, before = alert_rules.threshold(rule, State(), first, after=-1, fresh_from=0)
    seen = first[-1][0] if first else -1
    filling = [one for one in known if one[0] > seen - rule.window]
    state, then = alert_rules.threshold(rule, state, filling, after=seen, fresh_from=0)
    assert (state, before + then) == whole


@given(st.integers(0, 365 * 24 * 60), st.sampled_from([NIGHT, Quiet(time(1, 15), time(1, 45), LONDON)]))
def test_after_quiet_hours_is_the_first_minute_that_is_not_quiet(minute: int, quiet: Quiet) -> None:
    at = to_ms(datetime(2026, 1, 1, tzinfo=UTC)) + minute * MINUTE
    end = quiet.after(at)
    assert not quiet.holds(end)
    assert all(quiet.holds(one) for one in range(at, end, MINUTE))


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=20, unique=True).map(sorted),
    st.integers(1, 900),
    st.sampled_from([None, NIGHT]),
)
def test_silence_is_told_when_looking_every_minute_would_tell_it(
    minutes: list[int], window: int, quiet: Quiet | None
) -> None:
    rule, until = Rule(window=window * MINUTE, quiet=quiet), 3001
    instants = [minute * MINUTE for minute in minutes]
    state, told = State(), []
    for minute in range(minutes[0], until):
        last = max(one for one in minutes if one <= minute)
        state, firing = alert_rules.silence(rule, state, last * MINUTE, minute * MINUTE)
        told += [firing] if firing else []
    assert alert_rules.silences(rule, instants, until * MINUTE) == told


@pytest.mark.parametrize(
    ("at", "quiet"),
    [("2026-01-10T21:59", False), ("2026-01-10T22:00", True), ("2026-07-10T21:00", True), ("2026-07-10T06:00", False)],
)
def test_quiet_hours_are_those_of_the_homes_clock(at: str, quiet: bool) -> None:
    assert NIGHT.holds(to_ms(datetime.fromisoformat(at).replace(tzinfo=UTC))) is quiet


def test_a_budget_is_told_once_a_period_when_it_will_be_exceeded() -> None:
    day = Rule(window=6 * HOUR, threshold=240)
    edges = list(range(0, 2 * DAY + 1, HOUR))
    amounts = [5] * 12 + [20] * 12 + [11] * 24  # the first day will exceed it from the 19th hour on, the second at once
    firings = alert_rules.paces(day, edges, amounts, [0, DAY, 2 * DAY], moments=edges)
    assert [one.at // HOUR for one in firings] == [19, 30]


def test_a_sum_that_is_to_stay_above_a_threshold_is_not_judged_while_samples_are_missing() -> None:
    rule = Rule(window=HOUR, threshold=10, side=ThresholdSide.BELOW, whole=2)
    half = 30 * MINUTE
    assert alert_rules.threshold(rule, State(), [(0, 3), (4 * half, 3)], after=-1, fresh_from=0)[1] == []
    assert len(alert_rules.threshold(rule, State(), [(0, 3), (half, 3)], after=-1, fresh_from=0)[1]) == 1


def test_the_moment_of_a_firing_is_when_its_sample_is_complete() -> None:
    delay = timedelta(minutes=30) // timedelta(milliseconds=1)
    firings = alert_rules.threshold(Rule(window=HOUR), State(), [(0, 1)], after=-1, fresh_from=0, delay=delay)[1]
    assert firings == [Firing(delay, Fraction(1))]
