"""Evaluation of alert rules: from a rule, its state and samples to the next state and the firings. No I/O.

Instants and durations are in milliseconds. Values are scaled integers. Results of a window are exact fractions.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import time, tzinfo
from fractions import Fraction
from itertools import accumulate, count

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
        minute = at - at % MINUTE_MS
        local = from_ms(minute).astimezone(self.zone)
        wait = (self.stop.hour - local.hour) * 60 + self.stop.minute - local.minute
        end = minute + wait % (24 * 60) * MINUTE_MS
        if from_ms(end).astimezone(self.zone).utcoffset() == local.utcoffset():
            return end
        return next(moment for moment in count(minute + MINUTE_MS, MINUTE_MS) if not self.contains(moment))


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


INACTIVE, ACTIVE, NOTIFIED = RuleState(), RuleState(active=True), RuleState(active=True, notified=True)


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert to send: the instant, and the value that caused it (milliseconds for a rule about silence)."""

    at: int
    value: Fraction


def evaluate_value(
    rule: Rule, state: RuleState, value: tuple[int, int], moment: int, *, fresh: bool = True
) -> RuleState:
    """Return the state after a value that is known at `moment`. The value is a fraction: numerator, denominator.

    An active rule stays active until the value has returned past the threshold by the hysteresis. It fires once while
    it is active, never in quiet hours, and never for a value that is not fresh.
    """
    numerator, denominator = value
    beyond = numerator - rule.threshold * denominator
    if rule.side is ThresholdSide.BELOW:
        beyond = -beyond
    if beyond <= 0 and not (state.active and beyond > -rule.hysteresis * denominator):
        return INACTIVE
    return _notified_if_allowed(rule, state, moment, fresh=fresh)


def _notified_if_allowed(rule: Rule, state: RuleState, moment: int, *, fresh: bool = True) -> RuleState:
    """Return the state of a rule whose condition is met."""
    if state.notified:
        return state
    if not fresh or (rule.quiet_hours is not None and rule.quiet_hours.contains(moment)):
        return ACTIVE
    return NOTIFIED


def _firing(before: RuleState, after: RuleState, moment: int, value: tuple[int, int]) -> Firing | None:
    """Return the firing of a rule whose state changes from `before` to `after`, if it fires."""
    return Firing(moment, Fraction(*value)) if after.notified and not before.notified else None


class ThresholdEvaluation:
    """An evaluation of the window that ends at each sample later than `after`. Earlier samples only fill windows.

    The window of a sample at `at` has the samples later than `at - rule.window`. For a rule that fires when a sum is
    below its threshold, incomplete windows are skipped if the number of expected samples is known.

    A sample older than `fresh_from` changes the state, but does not fire. A firing is dated `now`. Without `now`, it is
    dated when the sample was complete: `delay` after its instant.
    """

    def __init__(
        self, rule: Rule, state: RuleState, *, after: int, fresh_from: int, delay: int = 0, now: int | None = None
    ) -> None:
        self.state = state
        self.firings: list[Firing] = []
        self._rule = rule
        self._after, self._fresh_from, self._delay, self._now = after, fresh_from, delay, now
        self._inside: deque[TimedValue] = deque()
        self._extremes: deque[TimedValue] = deque()
        """The samples of the window that no later one exceeds, for MIN and MAX. The first one is the result."""
        self._total = 0

    def add(self, samples: Iterable[TimedValue]) -> None:
        """Evaluate the next samples, in the order of their instants. A sample takes about a microsecond."""
        rule = self._rule
        needed = rule.expected_samples if rule.function is Function.SUM and rule.side is ThresholdSide.BELOW else None
        has_extremes = rule.function in (Function.MIN, Function.MAX)
        for at, value in samples:
            self._move_window(at, value)
            if has_extremes:
                self._move_extremes(at, value)
            if at <= self._after or (needed is not None and len(self._inside) < needed):
                continue
            result = self._result()
            moment = at + self._delay if self._now is None else self._now
            after = evaluate_value(rule, self.state, result, moment, fresh=at >= self._fresh_from)
            if firing := _firing(self.state, after, moment, result):
                self.firings.append(firing)
            self.state = after

    def _move_window(self, at: int, value: int) -> None:
        inside, start = self._inside, at - self._rule.window
        inside.append((at, value))
        self._total += value
        while inside[0][0] <= start:
            self._total -= inside.popleft()[1]

    def _move_extremes(self, at: int, value: int) -> None:
        extremes, start = self._extremes, at - self._rule.window
        if self._rule.function is Function.MAX:
            while extremes and extremes[-1][1] <= value:
                extremes.pop()
        else:
            while extremes and extremes[-1][1] >= value:
                extremes.pop()
        extremes.append((at, value))
        while extremes[0][0] <= start:
            extremes.popleft()

    def _result(self) -> tuple[int, int]:
        """Return the result of the function over the window, as a fraction."""
        match self._rule.function:
            case Function.SUM:
                return self._total, 1
            case Function.AVG:
                return self._total, len(self._inside)
            case _:
                return self._extremes[0][1], 1


def evaluate_silence(rule: Rule, state: RuleState, last: int, now: int) -> tuple[RuleState, Firing | None]:
    """Evaluate the time since the last sample. The rule is active when this reaches the window."""
    if now - last < rule.window:
        return INACTIVE, None
    after = _notified_if_allowed(rule, state, now)
    return after, _firing(state, after, now, (now - last, 1))


class SilenceReplay:
    """The firings of a silence rule between samples. Each sample counts as received at its own instant."""

    def __init__(self, rule: Rule) -> None:
        self.firings: list[Firing] = []
        self._rule = rule
        self._last: int | None = None

    def add(self, instants: Iterable[int]) -> None:
        """Evaluate the time until each of the next instants, which are in order."""
        last, window = self._last, self._rule.window
        for at in instants:
            if last is not None and last + window < at:
                self._judge(last, at)
            last = at
        self._last = last

    def _judge(self, last: int, following: int) -> None:
        due = last + self._rule.window
        moment = self._rule.quiet_hours.next_allowed(due) if self._rule.quiet_hours else due
        if moment < following:
            self.firings.append(Firing(moment, Fraction(moment - last)))


def evaluate_pace(
    rule: Rule, state: RuleState, amount: int, span: tuple[int, int], now: int, *, evaluated_at: int
) -> tuple[RuleState, Firing | None]:
    """Evaluate the projected total of the period `span`, once a whole window of the period has passed.

    The projection assumes that use continues at the average rate until now. A new period starts with a new state.
    `evaluated_at` is the instant of the previous evaluation.
    """
    start, stop = span
    if evaluated_at < start:
        state = INACTIVE
    if now - start < max(rule.window, 1):
        return state, None
    projected = amount * (stop - start), now - start
    after = evaluate_value(rule, state, projected, now)
    return after, _firing(state, after, now, projected)


def own_part(span: tuple[int, int], ownership: Ownership) -> tuple[int, int]:
    """Return the part of a period from when the household first has the resource in it. The whole one if never."""
    parts = ownership.within(*span)
    return (parts[0][0], span[1]) if parts else span


class PaceReplay:
    """The firings of a pace rule that is evaluated at moments.

    `amounts` are the amounts between consecutive `edges`. `periods` are the edges of the periods. A period counts from
    when the household has the resource.
    """

    def __init__(
        self,
        rule: Rule,
        edges: Sequence[int],
        amounts: Iterable[int],
        periods: Sequence[int],
        ownership: Ownership = ALWAYS,
    ) -> None:
        self.firings: list[Firing] = []
        self._rule, self._edges, self._periods, self._ownership = rule, edges, periods, ownership
        self._totals = [0, *accumulate(amounts)]
        self._state, self._evaluated_at = INACTIVE, 0

    def add(self, moments: Iterable[int]) -> None:
        """Evaluate the rule at the next moments, which are in order."""
        for moment in moments:
            position = bisect_right(self._periods, moment) - 1
            if position + 1 == len(self._periods):
                break
            span = self._periods[position], self._periods[position + 1]
            amount = self._total_until(moment) - self._total_until(span[0])
            self._state, firing = evaluate_pace(
                self._rule,
                self._state,
                amount,
                own_part(span, self._ownership),
                moment,
                evaluated_at=self._evaluated_at,
            )
            self._evaluated_at = moment
            if firing:
                self.firings.append(firing)

    def _total_until(self, at: int) -> int:
        return self._totals[min(bisect_left(self._edges, at), len(self._totals) - 1)]
