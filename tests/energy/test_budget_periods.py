"""The periods that a budget judges, compared with a model that judges all of them at each evaluation."""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import from_ms, to_ms
from wattgate.energy.alert_rules import BudgetPeriods, Episode, Limit, PaceReplay, PaceRule, QuietHours
from wattgate.energy.buckets import DAY_MS, HOUR_MS, build_grid
from wattgate.enums import Period

BERLIN = ZoneInfo("Europe/Berlin")
BEGIN = to_ms(datetime(2026, 3, 27, tzinfo=UTC))
"""Two days before a clock change, five before the end of a month."""

STEP = 6 * HOUR_MS
"""The interval of the readings."""

FRESH = 2 * DAY_MS

budgets = st.builds(
    PaceRule,
    quiet_hours=st.sampled_from([None, QuietHours(time(22), time(7), BERLIN), QuietHours(time(11), time(15, 30), UTC)]),
    first_part=st.sampled_from([HOUR_MS, 12 * HOUR_MS, 22 * HOUR_MS]),
    budget=st.builds(Limit, st.integers(5, 60), st.integers(0, 5)),
    period=st.sampled_from([Period.P1D, Period.P1W, Period.P1M]),
)
arrivals = st.lists(
    st.tuples(st.integers(0, 7 * 24 * 2), st.integers(0, 7 * 4), st.integers(0, 30)), min_size=1, max_size=30
).map(lambda some: sorted((BEGIN + half * HOUR_MS // 2, BEGIN + at * STEP, value) for half, at, value in some))
"""When a reading arrives, its instant and its value: in any order, with corrections."""


def known_until(known: Mapping[int, int], first: int, now: int) -> int:
    return min(max((at + STEP for at in known if at >= first), default=0), now)


def amount_of(known: Mapping[int, int], span: tuple[int, int]) -> int:
    return sum(value for at, value in known.items() if span[0] <= at < span[1])


class Worker:
    """A rule as the worker stores it: it evaluates at each arrival, and when it is due."""

    def __init__(self, rule: PaceRule) -> None:
        self.rule, self.known, self.fired = rule, dict[int, int](), list[tuple[int, int]]()
        self.judged_to, self.due_at, self.stored = BEGIN, BEGIN, list[list[object]]()

    def evaluate(self, now: int, late_from: int | None = None) -> None:
        history = [Episode.from_json(each) for each in self.stored]
        since = min(self.judged_to, now if late_from is None else late_from)
        since, fresh_from = max(since, BEGIN, now - FRESH), now - FRESH
        periods = BudgetPeriods(self.rule, BERLIN, history, since=since, fresh_from=fresh_from, now=now)
        until = known_until(self.known, periods.spans[0][0], now)
        judged = periods.judge([amount_of(self.known, span) for span in periods.spans], until)
        sent = {each.start for each in history if each.notified}
        begun = [each.start for each in judged.episodes if each.notified and each.start not in sent]
        assert len(judged.firings) == len(begun)
        self.fired += [(now, start) for start in begun]
        self.stored, self.due_at = [each.to_json() for each in judged.episodes], judged.due_at
        self.judged_to = max(self.judged_to, until)


class Model:
    """It remembers the state of every period, and judges all that are not older than two days, or wait."""

    def __init__(self, rule: PaceRule) -> None:
        self.rule, self.known, self.fired = rule, dict[int, int](), list[tuple[int, int]]()
        self.active, self.sent = set[int](), set[int]()
        edges = build_grid(from_ms(BEGIN), from_ms(BEGIN + 12 * DAY_MS), rule.period, BERLIN).edges
        self.spans = list(pairwise(edges))

    def evaluate(self, now: int) -> None:
        rule, until = self.rule, known_until(self.known, 0, now)
        is_quiet = rule.quiet_hours is not None and rule.quiet_hours.contains(now)
        for start, stop in self.spans:
            is_waiting = start in self.active and start not in self.sent
            if stop <= max(now - FRESH, BEGIN) and not is_waiting:
                continue
            part = min(until, stop) - start
            if start > now or part < rule.first_part:
                continue
            total = amount_of(self.known, (start, stop)) * (stop - start)
            limit = rule.budget.value - (rule.budget.hysteresis if start in self.active else 0)
            if total <= limit * part:
                self.active.discard(start)
                self.sent.discard(start)
                continue
            self.active.add(start)
            if start not in self.sent and not is_quiet:
                self.sent.add(start)
                self.fired.append((now, start))


def walk(rule: PaceRule, given: list[tuple[int, int, int]]) -> tuple[Worker, Model]:
    """Let the worker and the model see the same readings. Both evaluate when the worker does."""
    worker, model = Worker(rule), Model(rule)

    def evaluate(now: int, late_from: int | None = None) -> None:
        worker.evaluate(now, late_from)
        model.evaluate(now)

    for arrival, at, value in [*given, (given[-1][0] + 2 * DAY_MS, 0, 0)]:
        while worker.due_at < arrival:
            evaluate(worker.due_at)
        if at:
            worker.known[at] = model.known[at] = value
            evaluate(arrival, at)
    return worker, model


@given(budgets, arrivals)
def test_each_period_fires_as_in_the_model(rule: PaceRule, given: list[tuple[int, int, int]]) -> None:
    worker, model = walk(rule, given)
    assert worker.fired == model.fired


def test_a_correction_of_a_period_that_is_over_sends_no_second_alert() -> None:
    """The alert of the first day is sent. The second day is judged, and then a reading of the first is corrected."""
    rule = PaceRule(None, HOUR_MS, Limit(5), Period.P1D)
    days = [(BEGIN + DAY_MS + n * STEP, BEGIN + n * STEP, 3 if n < 4 else 0) for n in range(8)]
    worker, _ = walk(rule, [*days, (BEGIN + 2 * DAY_MS + 20 * HOUR_MS, BEGIN + STEP, 4)])
    assert len({start for _, start in worker.fired}) == len(worker.fired)


def test_a_period_that_waits_is_sent_after_two_days() -> None:
    """Its last reading comes two days after its end, in quiet hours. The next days are judged meanwhile."""
    rule = PaceRule(QuietHours(time(18), time(17), UTC), HOUR_MS, Limit(5), Period.P1D)
    start = build_grid(from_ms(BEGIN), from_ms(BEGIN + 1), Period.P1D, BERLIN).edges[0]
    late = start + 3 * DAY_MS - HOUR_MS
    given = [(late, BEGIN, 9), *((late + n * HOUR_MS, BEGIN + 2 * DAY_MS + n * STEP, 0) for n in range(1, 5))]
    worker, _ = walk(rule, given)
    ((sent_at, period),) = worker.fired
    assert period == start
    assert from_ms(sent_at).time() == time(17)
    assert sent_at - (start + DAY_MS) > FRESH


@given(
    st.lists(st.integers(0, 12), min_size=6, max_size=12),
    st.sampled_from([None, QuietHours(time(20), time(7), UTC), QuietHours(time(0), time(18), UTC)]),
)
def test_back_test_fires_for_the_periods_for_which_the_worker_fires(
    amounts: list[int], quiet_hours: QuietHours | None
) -> None:
    """Each reading arrives when it is complete. Both judge each full hour."""
    rule = PaceRule(quiet_hours, HOUR_MS, Limit(20), Period.P1D)
    edges = [BEGIN + n * STEP for n in range(len(amounts) + 8)]
    worker, _ = walk(rule, [(at + STEP, at, value) for at, value in zip(edges, amounts, strict=False)])
    ends = [edge + STEP for edge in edges[: len(amounts)]] + [0] * 7
    end = from_ms(edges[-1])
    periods = build_grid(from_ms(BEGIN), end + timedelta(milliseconds=1), Period.P1D, BERLIN).edges
    replay = PaceReplay(rule, edges, [*amounts, *[0] * 7], ends, periods)
    replay.add(range(BEGIN, edges[-1] + 1, HOUR_MS))
    assert [firing.at for firing in replay.firings] == [at for at, _ in worker.fired if at <= edges[-1]]
