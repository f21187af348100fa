"""When alert rules hold, and when that is told: a rule, its state and samples in, the state and firings out. Pure.

Instants and lengths are in milliseconds, values are scaled integers; results of a window are exact fractions.
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
from wattgate.enums import Function, ThresholdSide

TimedValue = tuple[int, int]
"""The instant and the value of a reading."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """The hours of the wall clock in which nothing is told; they may go over midnight."""

    start: time
    stop: time
    zone: tzinfo

    def contains(self, at: int) -> bool:
        """Whether an instant lies in them."""
        local = from_ms(at).astimezone(self.zone).time()
        if self.start < self.stop:
            return self.start <= local < self.stop
        return local >= self.start or local < self.stop

    def next_allowed(self, at: int) -> int:
        """The instant itself where it is not in them, or else the first full minute that is not."""
        if not self.contains(at):
            return at
        return next(minute for minute in count(at - at % MINUTE_MS + MINUTE_MS, MINUTE_MS) if not self.contains(minute))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says. `whole` is how many samples a window has that lacks none; None where that is not known."""

    window: int
    threshold: int = 0
    hysteresis: int = 0
    function: Function = Function.SUM
    side: ThresholdSide = ThresholdSide.ABOVE
    expected_samples: int | None = None
    quiet_hours: QuietHours | None = None


@dataclass(frozen=True, slots=True)
class RuleState:
    """Whether a rule holds, and whether that was told."""

    active: bool = False
    notified: bool = False


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule came to hold: when that is told, and the value that it is told of (milliseconds for silence)."""

    at: int
    value: Fraction


def evaluate_value(
    rule: Rule, state: RuleState, value: Fraction, notify_at: int, *, fresh: bool = True
) -> tuple[RuleState, Firing | None]:
    """The state after a value that is known at a moment, and the firing if there is one.

    A rule that holds does so until the value has come back by the hysteresis. It is told once while it holds, not in
    quiet hours, and not by values that are not fresh.
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
    """Judge the window that ends with each sample later than `after`; earlier ones only fill windows.

    What is older than `fresh_from` moves the state and is not told. It is told at `now`, or, where that is not given,
    when the sample was complete: `delay` after its instant.
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
    """The result over the window that ends with each sample: of all samples later than its instant less the window.

    A sum that is to stay above a threshold is judged of whole windows alone, where it is known what these are.
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
    """Judge how long it is since the last sample; the window is how long that may be."""
    return _fire_if_allowed(rule, replace(state, active=now - last >= rule.window), Fraction(now - last), now, True)


def replay_silence(rule: Rule, instants: Sequence[int], end: int) -> list[Firing]:
    """When silence would have been told between samples at these instants, had each come at once, and up to the end."""
    firings = []
    for last, following in pairwise([*instants, end]):
        due = last + rule.window
        moment = rule.quiet_hours.next_allowed(due) if rule.quiet_hours else due
        if moment < following:
            firings.append(Firing(moment, Fraction(moment - last)))
    return firings


def project_total(used: int, start: int, stop: int, now: int) -> Fraction:
    """What a period comes to if it goes on as it has until now."""
    return Fraction(used * (stop - start), now - start)


def evaluate_pace(
    rule: Rule, state: RuleState, used: int, span: tuple[int, int], now: int, *, evaluated_at: int
) -> tuple[RuleState, Firing | None]:
    """Judge what a period comes to, once the window has gone by of it; a new period begins with a new state.

    `judged` is when it was judged before.
    """
    start, stop = span
    if evaluated_at < start:
        state = RuleState()
    if now - start < max(rule.window, 1):
        return state, None
    return evaluate_value(rule, state, project_total(used, start, stop, now), now)


def replay_pace(
    rule: Rule, edges: Sequence[int], amounts: Sequence[int], periods: Sequence[int], *, moments: Iterable[int]
) -> list[Firing]:
    """When the pace would have been told, at these moments, of amounts between edges in periods between others."""
    before = [0]
    for amount in amounts:
        before.append(before[-1] + amount)

    def until(at: int) -> int:
        return before[min(bisect_left(edges, at), len(before) - 1)]

    state, judged, firings = RuleState(), 0, []
    for moment in moments:
        place = bisect_right(periods, moment) - 1
        if place + 1 == len(periods):
            break
        span = (periods[place], periods[place + 1])
        state, firing = evaluate_pace(rule, state, until(moment) - until(span[0]), span, moment, evaluated_at=judged)
        judged = moment
        if firing:
            firings.append(firing)
    return firings
