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
from wattgate.energy.buckets import MINUTE
from wattgate.enums import Function, ThresholdSide

Sample = tuple[int, int]
"""The instant and the value of a reading."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The hours of the wall clock in which nothing is told; they may go over midnight."""

    start: time
    stop: time
    zone: tzinfo

    def holds(self, at: int) -> bool:
        """Whether an instant lies in them."""
        local = from_ms(at).astimezone(self.zone).time()
        if self.start < self.stop:
            return self.start <= local < self.stop
        return local >= self.start or local < self.stop

    def after(self, at: int) -> int:
        """The instant itself where it is not in them, or else the first full minute that is not."""
        if not self.holds(at):
            return at
        return next(minute for minute in count(at - at % MINUTE + MINUTE, MINUTE) if not self.holds(minute))


@dataclass(frozen=True, slots=True)
class Rule:
    """What a rule says. `whole` is how many samples a window has that lacks none; None where that is not known."""

    window: int
    threshold: int = 0
    hysteresis: int = 0
    function: Function = Function.SUM
    side: ThresholdSide = ThresholdSide.ABOVE
    whole: int | None = None
    quiet: Quiet | None = None


@dataclass(frozen=True, slots=True)
class State:
    """Whether a rule holds, and whether that was told."""

    active: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule came to hold: when that is told, and the value that it is told of (milliseconds for silence)."""

    at: int
    value: Fraction


def step(rule: Rule, state: State, value: Fraction, moment: int, *, fresh: bool = True) -> tuple[State, Firing | None]:
    """The state after a value that is known at a moment, and the firing if there is one.

    A rule that holds does so until the value has come back by the hysteresis. It is told once while it holds, not in
    quiet hours, and not by values that are not fresh.
    """
    sign = 1 if rule.side is ThresholdSide.ABOVE else -1
    beyond = sign * (value - rule.threshold)
    active = beyond > 0 or (state.active and beyond > -rule.hysteresis)
    return _tell(rule, replace(state, active=active), value, moment, fresh)


def _tell(rule: Rule, state: State, value: Fraction, moment: int, fresh: bool) -> tuple[State, Firing | None]:
    if not state.active:
        return State(), None
    if state.told or not fresh or (rule.quiet is not None and rule.quiet.holds(moment)):
        return state, None
    return State(active=True, told=True), Firing(moment, value)


def threshold(
    rule: Rule,
    state: State,
    samples: Iterable[Sample],
    *,
    after: int,
    fresh_from: int,
    delay: int = 0,
    now: int | None = None,
) -> tuple[State, list[Firing]]:
    """Judge the window that ends with each sample later than `after`; earlier ones only fill windows.

    What is older than `fresh_from` moves the state and is not told. It is told at `now`, or, where that is not given,
    when the sample was complete: `delay` after its instant.
    """
    firings = []
    for at, value in windows(rule, samples):
        if at <= after:
            continue
        moment = at + delay if now is None else now
        state, firing = step(rule, state, value, moment, fresh=at >= fresh_from)
        if firing:
            firings.append(firing)
    return state, firings


def windows(rule: Rule, samples: Iterable[Sample]) -> Iterator[tuple[int, Fraction]]:
    """The result over the window that ends with each sample: of all samples later than its instant less the window.

    A sum that is to stay above a threshold is judged of whole windows alone, where it is known what these are.
    """
    inside: deque[Sample] = deque()
    extremes: deque[Sample] = deque()
    sign = 1 if rule.function is Function.MAX else -1
    needed = rule.whole if rule.function is Function.SUM and rule.side is ThresholdSide.BELOW else None
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
        yield at, _result(rule.function, total, len(inside), extremes[0][1])


def _result(function: Function, total: int, size: int, extreme: int) -> Fraction:
    match function:
        case Function.SUM:
            return Fraction(total)
        case Function.AVG:
            return Fraction(total, size)
        case _:
            return Fraction(extreme)


def silence(rule: Rule, state: State, last: int, now: int) -> tuple[State, Firing | None]:
    """Judge how long it is since the last sample; the window is how long that may be."""
    return _tell(rule, replace(state, active=now - last >= rule.window), Fraction(now - last), now, True)


def silences(rule: Rule, instants: Sequence[int], until: int) -> list[Firing]:
    """When silence would have been told between samples at these instants, had each come at once, and up to the end."""
    firings = []
    for last, following in pairwise([*instants, until]):
        due = last + rule.window
        moment = rule.quiet.after(due) if rule.quiet else due
        if moment < following:
            firings.append(Firing(moment, Fraction(moment - last)))
    return firings


def projected(used: int, start: int, stop: int, now: int) -> Fraction:
    """What a period comes to if it goes on as it has until now."""
    return Fraction(used * (stop - start), now - start)


def pace(
    rule: Rule, state: State, used: int, span: tuple[int, int], now: int, *, judged: int
) -> tuple[State, Firing | None]:
    """Judge what a period comes to, once the window has gone by of it; a new period begins with a new state.

    `judged` is when it was judged before.
    """
    start, stop = span
    if judged < start:
        state = State()
    if now - start < max(rule.window, 1):
        return state, None
    return step(rule, state, projected(used, start, stop, now), now)


def paces(
    rule: Rule, edges: Sequence[int], amounts: Sequence[int], periods: Sequence[int], *, moments: Iterable[int]
) -> list[Firing]:
    """When the pace would have been told, at these moments, of amounts between edges in periods between others."""
    before = [0]
    for amount in amounts:
        before.append(before[-1] + amount)

    def until(at: int) -> int:
        return before[min(bisect_left(edges, at), len(before) - 1)]

    state, judged, firings = State(), 0, []
    for moment in moments:
        place = bisect_right(periods, moment) - 1
        if place + 1 == len(periods):
            break
        span = (periods[place], periods[place + 1])
        state, firing = pace(rule, state, until(moment) - until(span[0]), span, moment, judged=judged)
        judged = moment
        if firing:
            firings.append(firing)
    return firings
