"""Evaluation of alert rules: from a rule, its state and samples to the next state and the firings. No I/O.

Instants and durations are in milliseconds. Values are scaled integers. Results of a window are exact fractions.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import time, tzinfo
from fractions import Fraction
from itertools import count, pairwise

from wattgate.clock import from_ms
from wattgate.energy.buckets import MINUTE_MS
from wattgate.energy.ownership import ALWAYS, Ownership
from wattgate.enums import Function, ThresholdSide

TimedValue = tuple[int, int]
"""The instant and the value of a reading."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Wall-clock hours in which no alert is sent. They may cross midnight."""

    start: time
    stop: time
    zone: tzinfo

    def contains(self, at: int) -> bool:
        """Return whether an instant is within the quiet hours."""
        local = from_ms(at).astimezone(self.zone).time()
        if self.start < self.stop:
            return self.start <= local < self.stop
        return local >= self.start or local < self.stop

    def next_allowed(self, at: int) -> int:
        """Return `at` if it is outside the quiet hours, otherwise the first full minute that is."""
        if not self.contains(at):
            return at
        return next(minute for minute in count(at - at % MINUTE_MS + MINUTE_MS, MINUTE_MS) if not self.contains(minute))


@dataclass(frozen=True, slots=True)
class Rule:
    """The conditions of an alert rule.

    `expected_samples` is the number of samples in a complete window. None means that it is not known.
    """

    window: int
    threshold: int = 0
    hysteresis: int = 0
    function: Function = Function.SUM
    side: ThresholdSide = ThresholdSide.ABOVE
    expected_samples: int | None = None
    quiet_hours: QuietHours | None = None


@dataclass(frozen=True, slots=True)
class RuleState:
    """Whether the condition of a rule is met, and whether an alert was sent for it."""

    active: bool = False
    notified: bool = False


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert to send: the instant, and the value that caused it (milliseconds for a rule about silence)."""

    at: int
    value: Fraction


def evaluate_value(
    rule: Rule, state: RuleState, value: Fraction, notify_at: int, *, fresh: bool = True
) -> tuple[RuleState, Firing | None]:
    """Return the state after a value that is known at `notify_at`, and the firing, if any.

    An active rule stays active until the value has returned past the threshold by the hysteresis. It fires once while
    it is active, never in quiet hours, and never for a value that is not fresh.
    """
    sign = 1 if rule.side is ThresholdSide.ABOVE else -1
    beyond = sign * (value - rule.threshold)
    active = beyond > 0 or (state.active and beyond > -rule.hysteresis)
    return _fire_if_allowed(rule, replace(state, active=active), value, notify_at, fresh)


def _fire_if_allowed(
    rule: Rule, state: RuleState, value: Fraction, moment: int, fresh: bool
) -> tuple[RuleState, Firing | None]:
    if not state.active:
        return RuleState(), None
    if state.notified or not fresh or (rule.quiet_hours is not None and rule.quiet_hours.contains(moment)):
        return state, None
    return RuleState(active=True, notified=True), Firing(moment, value)


def evaluate_threshold(
    rule: Rule,
    state: RuleState,
    samples: Iterable[TimedValue],
    *,
    after: int,
    fresh_from: int,
    delay: int = 0,
    now: int | None = None,
) -> tuple[RuleState, list[Firing]]:
    """Evaluate the window that ends at each sample later than `after`. Earlier samples only fill windows.

    A sample older than `fresh_from` changes the state, but does not fire. A firing is dated `now`. Without `now`, it is
    dated when the sample was complete: `delay` after its instant.
    """
    firings = []
    for at, value in window_results(rule, samples):
        if at <= after:
            continue
        moment = at + delay if now is None else now
        state, firing = evaluate_value(rule, state, value, moment, fresh=at >= fresh_from)
        if firing:
            firings.append(firing)
    return state, firings


def window_results(rule: Rule, samples: Iterable[TimedValue]) -> Iterator[tuple[int, Fraction]]:
    """Yield each sample's instant and the result over the window that ends there.

    The window of a sample at `at` has the samples later than `at - rule.window`. For a rule that fires when a sum is
    below its threshold, incomplete windows are skipped if the number of expected samples is known.
    """
    inside: deque[TimedValue] = deque()
    extremes: deque[TimedValue] = deque()
    sign = 1 if rule.function is Function.MAX else -1
    needed = rule.expected_samples if rule.function is Function.SUM and rule.side is ThresholdSide.BELOW else None
    total = 0
    for at, value in samples:
        inside.append((at, value))
        total += value
        while inside[0][0] <= at - rule.window:
            total -= inside.popleft()[1]
        while extremes and sign * extremes[-1][1] <= sign * value:
            extremes.pop()
        extremes.append((at, value))
        while extremes[0][0] <= at - rule.window:
            extremes.popleft()
        if needed is not None and len(inside) < needed:
            continue
        yield at, _window_result(rule.function, total, len(inside), extremes[0][1])


def _window_result(function: Function, total: int, size: int, extreme: int) -> Fraction:
    match function:
        case Function.SUM:
            return Fraction(total)
        case Function.AVG:
            return Fraction(total, size)
        case _:
            return Fraction(extreme)


def evaluate_silence(rule: Rule, state: RuleState, last: int, now: int) -> tuple[RuleState, Firing | None]:
    """Evaluate the time since the last sample. The rule is active when this reaches the window."""
    return _fire_if_allowed(rule, replace(state, active=now - last >= rule.window), Fraction(now - last), now, True)


def replay_silence(rule: Rule, instants: Sequence[int], end: int) -> list[Firing]:
    """Return the firings of a silence rule between samples at these instants and until `end`.

    Each sample counts as received at its own instant.
    """
    firings = []
    for last, following in pairwise([*instants, end]):
        due = last + rule.window
        moment = rule.quiet_hours.next_allowed(due) if rule.quiet_hours else due
        if moment < following:
            firings.append(Firing(moment, Fraction(moment - last)))
    return firings


def project_total(amount: int, start: int, stop: int, now: int) -> Fraction:
    """Return the projected total of the period [start, stop), if use continues at the average rate until now."""
    return Fraction(amount * (stop - start), now - start)


def evaluate_pace(
    rule: Rule, state: RuleState, amount: int, span: tuple[int, int], now: int, *, evaluated_at: int
) -> tuple[RuleState, Firing | None]:
    """Evaluate the projected total of the period `span`, once a whole window of the period has passed.

    A new period starts with a new state. `evaluated_at` is the instant of the previous evaluation.
    """
    start, stop = span
    if evaluated_at < start:
        state = RuleState()
    if now - start < max(rule.window, 1):
        return state, None
    return evaluate_value(rule, state, project_total(amount, start, stop, now), now)


def own_part(span: tuple[int, int], ownership: Ownership) -> tuple[int, int]:
    """Return the part of a period from when the household first has the resource in it. The whole one if never."""
    parts = ownership.within(*span)
    return (parts[0][0], span[1]) if parts else span


def replay_pace(
    rule: Rule,
    edges: Sequence[int],
    amounts: Sequence[int],
    periods: Sequence[int],
    *,
    moments: Iterable[int],
    ownership: Ownership = ALWAYS,
) -> list[Firing]:
    """Return the firings of a pace rule that is evaluated at each of `moments`.

    `amounts` are the amounts between consecutive `edges`. `periods` are the edges of the periods. A period counts from
    when the household has the resource.
    """
    totals = [0]
    for amount in amounts:
        totals.append(totals[-1] + amount)

    def total_until(at: int) -> int:
        return totals[min(bisect_left(edges, at), len(totals) - 1)]

    state, evaluated_at, firings = RuleState(), 0, []
    for moment in moments:
        position = bisect_right(periods, moment) - 1
        if position + 1 == len(periods):
            break
        span, amount = (periods[position], periods[position + 1]), total_until(moment) - total_until(periods[position])
        state, firing = evaluate_pace(rule, state, amount, own_part(span, ownership), moment, evaluated_at=evaluated_at)
        evaluated_at = moment
        if firing:
            firings.append(firing)
    return firings
