"""Evaluation of alert rules, compared with a simple reference model."""

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import to_ms
from wattgate.energy import alert_rules
from wattgate.energy.alert_rules import (
    INACTIVE,
    Episode,
    Firing,
    Limit,
    PaceReplay,
    PaceRule,
    QuietHours,
    SilenceReplay,
    SilenceRule,
    ThresholdEvaluation,
    ThresholdRule,
    TimedValue,
    state_before,
)
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS
from wattgate.energy.storage_fields import StorageDefinition, StorageField, parse_fields
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


def reference_result(rule: ThresholdRule, readings: list[TimedValue], at: int) -> Fraction | None:
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
    rule: ThresholdRule, readings: list[TimedValue], after: int, fresh_from: int, until: int
) -> list[int]:
    """Return the instants at which a rule fires: it is judged at each reading and at each minute of quiet hours."""
    limit, active, notified, is_fresh = rule.limit, False, False, False
    fired = []
    minutes = range(0, until + 1, MINUTE_MS) if rule.quiet_hours else ()
    known = dict(readings)
    for at in sorted({*known, *minutes}):
        if at in known:
            value = reference_result(rule, readings, at)
            if at <= after or value is None:
                continue
            if limit.side is ThresholdSide.ABOVE:
                active = value > limit.value or (active and value > limit.value - limit.hysteresis)
            else:
                active = value < limit.value or (active and value < limit.value + limit.hysteresis)
            notified = notified and active
            is_fresh = at >= fresh_from
        if active and not notified and is_fresh and not (rule.quiet_hours and rule.quiet_hours.contains(at)):
            notified = True
            fired.append(at)
    return fired


END = 4 * DAY_MS
"""Later than all samples, and outside the quiet hours."""


def evaluate(
    rule: ThresholdRule, readings: list[TimedValue], current: Episode | None = None, **options: int
) -> tuple[Episode | None, list[Episode]]:
    """Evaluate all readings at once. Return the last episode, if it has not ended, and those that began."""
    evaluation = ThresholdEvaluation(rule, current, **{"after": -1, "fresh_from": 0, **options})
    evaluation.add(readings)
    return evaluation.current, evaluation.episodes


def firings_of(rule: ThresholdRule, readings: list[TimedValue], **options: int) -> list[Firing]:
    """Return the firings of readings that are all known, until the end of the last quiet hours."""
    evaluation = ThresholdEvaluation(rule, None, **{"after": -1, "fresh_from": 0, **options})
    evaluation.add(readings)
    evaluation.finish(END)
    return evaluation.firings


@given(rules, samples, st.integers(-1, DAY_MS), st.integers(0, 2 * DAY_MS))
def test_threshold_fires_as_in_the_reference_model(
    rule: ThresholdRule, readings: list[TimedValue], after: int, fresh_from: int
) -> None:
    firings = firings_of(rule, readings, after=after, fresh_from=fresh_from)
    assert [firing.at for firing in firings] == reference_firings(rule, readings, after, fresh_from, END)


@given(rules, samples, st.integers(0, 40))
def test_firings_do_not_depend_on_how_samples_are_split(
    rule: ThresholdRule, readings: list[TimedValue], cut: int
) -> None:
    whole = firings_of(rule, readings)
    first = readings[:cut]
    _, before = evaluate(rule, first)
    last_at = first[-1][0] if first else -1
    stored = [Episode.from_json(each.to_json()) for each in before]
    for episode, each in zip(stored, before, strict=True):
        episode.notified = each.firing is not None
    _, current = state_before(stored, last_at + 1)
    window_readings = [reading for reading in readings if reading[0] > last_at - rule.window]
    rest = ThresholdEvaluation(rule, current, after=last_at, fresh_from=0)
    rest.add(window_readings)
    rest.finish(END)
    assert [each.firing for each in before if each.firing] + rest.firings == whole
    in_parts = ThresholdEvaluation(rule, after=-1, fresh_from=0)
    in_parts.add(first)
    in_parts.add(readings[cut:])
    in_parts.finish(END)
    assert in_parts.firings == whole


@given(rules, samples, st.randoms(use_true_random=False))
def test_readings_in_any_order_lead_to_the_episodes_of_readings_in_time(
    rule: ThresholdRule, readings: list[TimedValue], random: Random
) -> None:
    """Each arrival is evaluated again from its own instant, as a worker does it."""
    known = dict[int, int]()
    history, judged_to = list[Episode](), -1
    for at, value in random.sample(readings, len(readings)):
        known[at] = value
        after = min(judged_to, at - 1)
        earlier, current = state_before(history, after + 1)
        evaluation = ThresholdEvaluation(rule, current, after=after, fresh_from=0)
        evaluation.add(reading for reading in sorted(known.items()) if reading[0] > after - rule.window)
        history, judged_to = [*earlier, *evaluation.episodes], max(judged_to, at)
    _, in_time = evaluate(rule, readings)
    assert [(each.start, each.end) for each in history] == [(each.start, each.end) for each in in_time]


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
    replay = PaceReplay(day, edges, amounts, edges[1:], [0, DAY_MS, 2 * DAY_MS])
    replay.add(edges)
    assert [firing.at // HOUR_MS for firing in replay.firings] == [19, 30]


def test_pace_of_steady_use_is_the_same_at_each_moment_between_readings() -> None:
    """48 a day is more than 46.5. Between two readings, the part that is not known yet is no saving."""
    rule, state, fired = PaceRule(None, 6 * HOUR_MS, Limit(465)), INACTIVE, []
    for minute in range(6 * 60, 24 * 60):
        known_until = minute // 30 * 30 * MINUTE_MS
        state, firing = alert_rules.evaluate_pace(
            rule, state, 10 * (minute // 30), (0, DAY_MS), known_until, minute * MINUTE_MS
        )
        fired += [minute] if firing else []
    assert fired == [6 * 60]


@pytest.mark.parametrize(("amount", "fires"), [(465, False), (466, True)])
def test_pace_of_a_period_that_is_known_to_its_end_judges_its_total(amount: int, fires: bool) -> None:
    rule, later = PaceRule(None, 6 * HOUR_MS, Limit(465)), 30 * HOUR_MS
    _, firing = alert_rules.evaluate_pace(rule, INACTIVE, amount, (0, DAY_MS), later, later)
    assert firing == (Firing(later, Fraction(amount)) if fires else None)


def test_sum_below_a_threshold_is_not_evaluated_in_incomplete_windows() -> None:
    rule = ThresholdRule(None, HOUR_MS, Limit(10, side=ThresholdSide.BELOW), expected_samples=2)
    half = 30 * MINUTE_MS
    assert firings_of(rule, [(0, 3), (4 * half, 3)]) == []
    assert len(firings_of(rule, [(0, 3), (half, 3)])) == 1


def test_a_window_that_is_no_multiple_of_the_interval_expects_the_interval_that_it_cuts() -> None:
    terms = SimpleNamespace(
        window_minutes=45, threshold=Decimal(1), hysteresis=Decimal(0), function=Function.SUM, side=ThresholdSide.BELOW
    )
    energy = StorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")
    half_hours = StorageDefinition("timeseries", "regular", "2026-01-01T00:00:00Z", (energy,), interval="PT30M")
    (field,) = parse_fields([half_hours])
    rule = ThresholdRule.from_terms(terms, field, None)
    assert rule.expected_samples == 2


def test_firing_is_dated_when_its_sample_is_complete() -> None:
    delay = timedelta(minutes=30) // timedelta(milliseconds=1)
    firings = firings_of(ThresholdRule(None, HOUR_MS, Limit(0)), [(0, 1)], delay=delay)
    assert firings == [Firing(delay, Fraction(1))]
