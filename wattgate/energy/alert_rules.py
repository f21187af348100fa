"""Kinds of alert rules, and their evaluation: from a rule, its state and samples to the next state and the firings.

Each kind is a class with its own parameters, and `RULE_CLASSES` lists them. No I/O. Instants and durations are in
milliseconds. Values are scaled integers. Results of a window are exact fractions.
"""

import dataclasses
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time, tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, count, pairwise
from typing import Any, ClassVar, Protocol, Self

from wattgate.clock import from_ms
from wattgate.energy.buckets import HOUR_MS, MINUTE_MS, build_grid
from wattgate.energy.ownership import ALWAYS, Ownership
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import Function, Period, RuleKind, ThresholdSide

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
class Limit:
    """A limit, and the side of it on which a rule is active.

    An active rule stays active until the value has returned past the limit by the hysteresis.
    """

    value: int
    hysteresis: int = 0
    side: ThresholdSide = ThresholdSide.ABOVE

    def is_passed(self, value: tuple[int, int], *, is_active: bool) -> bool:
        """Return whether a rule is active after a value, which is a fraction: numerator, denominator."""
        numerator, denominator = value
        beyond = numerator - self.value * denominator
        if self.side is ThresholdSide.BELOW:
            beyond = -beyond
        return beyond > 0 or (is_active and beyond > -self.hysteresis * denominator)


class RuleTerms(Protocol):
    """The parameters of a rule of any kind, as they are written and stored. A kind uses some of them.

    `window_minutes` is a duration, and `threshold` a limit. The class of the kind names what it uses them for.
    """

    @property
    def window_minutes(self) -> int: ...

    @property
    def threshold(self) -> Decimal | None: ...

    @property
    def hysteresis(self) -> Decimal: ...

    @property
    def function(self) -> Function: ...

    @property
    def side(self) -> ThresholdSide: ...

    @property
    def period(self) -> Period: ...


MAX_WINDOW_MINUTES = 31 * 24 * 60
"""Maximum duration in the terms of a rule, in minutes: 31 days."""

MAX_LIVE_WINDOW_MINUTES = 24 * 60
"""Maximum window over readings without a fixed interval, such as live power, in minutes.

Each evaluation reads the whole window, so this limit is lower.
"""

BUDGET_PERIODS = {Period.P1D: 23 * 60, Period.P1W: (7 * 24 - 1) * 60, Period.P1M: (28 * 24 - 1) * 60}
"""The periods of budgets, with the minutes of the shortest one. The first part of a period is shorter."""


@dataclass(frozen=True, slots=True)
class RuleOfKind(ABC):
    """The parameters of a rule of one kind. In its quiet hours, no alert is sent."""

    has_limit: ClassVar[bool] = True
    """Whether the terms have a threshold."""

    takes_costs: ClassVar[bool] = False
    """Whether the kind can evaluate a resource that holds costs."""

    only_ended_by_readings: ClassVar[bool] = False
    """Whether readings can end the condition, but not begin it."""

    quiet_hours: QuietHours | None

    @classmethod
    @abstractmethod
    def from_terms(cls, terms: RuleTerms, field: ReadingField, quiet_hours: QuietHours | None) -> Self:
        """Return the rule with these terms for the readings of a field."""

    @classmethod
    def problems(cls, terms: Mapping[str, Any], field: ReadingField | None) -> list[tuple[str, str]]:
        """Return the names of terms that are invalid for this kind, each with the problem. Their numbers are checked.

        The field is None if it is unknown.
        """
        return _duration_problems(terms, MAX_WINDOW_MINUTES)

    @classmethod
    def limit_problem(cls, limit: Decimal) -> str | None:
        """Return what is wrong with the number of a limit, or None."""
        return None

    def unit(self, field_unit: str) -> str:
        """Return the unit of the values of firings."""
        return field_unit

    def scale(self, field: ReadingField) -> int:
        """Return the divisor that converts the values of firings to their unit."""
        return int(10**field.decimals)

    @property
    @abstractmethod
    def sample_span(self) -> int | None:
        """How long before an instant its evaluation needs samples. None if it needs totals instead."""


def _duration_problems(terms: Mapping[str, Any], maximum: int) -> list[tuple[str, str]]:
    if 1 <= terms["window_minutes"] <= maximum:
        return []
    return [("windowMinutes", f"is not between 1 and {maximum:,}")]


def _limit_of(terms: RuleTerms, field: ReadingField) -> Limit:
    assert terms.threshold is not None  # every kind with `has_limit` requires it
    return Limit(_to_stored(terms.threshold, field), _to_stored(terms.hysteresis, field), terms.side)


def _to_stored(value: Decimal, field: ReadingField) -> int:
    """Convert a number of a rule to the scaled integers of its field. It has no more decimal places than the field."""
    return int(value.scaleb(field.decimals).to_integral_exact())


@dataclass(frozen=True, slots=True)
class ThresholdRule(RuleOfKind):
    """Active while the function of the samples in each time window is beyond a limit.

    `expected_samples` is the number of samples in a complete window. None means that it is not known.
    """

    window: int
    limit: Limit
    function: Function = Function.SUM
    expected_samples: int | None = None

    @classmethod
    def from_terms(cls, terms: RuleTerms, field: ReadingField, quiet_hours: QuietHours | None) -> Self:
        window = terms.window_minutes * MINUTE_MS
        expected_samples = None if field.interval_ms is None else -(-window // field.interval_ms)
        return cls(quiet_hours, window, _limit_of(terms, field), terms.function, expected_samples)

    @property
    def sample_span(self) -> int:
        return self.window

    @classmethod
    def problems(cls, terms: Mapping[str, Any], field: ReadingField | None) -> list[tuple[str, str]]:
        is_live = field is not None and field.interval_ms is None
        return _duration_problems(terms, MAX_LIVE_WINDOW_MINUTES if is_live else MAX_WINDOW_MINUTES)


@dataclass(frozen=True, slots=True)
class SilenceRule(RuleOfKind):
    """Active when no sample has come for a time. The value of a firing is the time without a sample, in seconds."""

    has_limit = False
    only_ended_by_readings = True

    allowed_silence: int

    @classmethod
    def from_terms(cls, terms: RuleTerms, field: ReadingField, quiet_hours: QuietHours | None) -> Self:
        return cls(quiet_hours, terms.window_minutes * MINUTE_MS)

    @property
    def sample_span(self) -> int:
        return self.allowed_silence

    def unit(self, field_unit: str) -> str:
        return "s"

    def scale(self, field: ReadingField) -> int:
        return 1000


@dataclass(frozen=True, slots=True)
class PaceRule(RuleOfKind):
    """Active while the projected total of a period is beyond its budget, once a part of the period is over."""

    takes_costs = True

    first_part: int
    budget: Limit
    period: Period = Period.P1M

    @classmethod
    def from_terms(cls, terms: RuleTerms, field: ReadingField, quiet_hours: QuietHours | None) -> Self:
        return cls(quiet_hours, terms.window_minutes * MINUTE_MS, _limit_of(terms, field), terms.period)

    @property
    def sample_span(self) -> None:
        return None

    @classmethod
    def problems(cls, terms: Mapping[str, Any], field: ReadingField | None) -> list[tuple[str, str]]:
        shortest = BUDGET_PERIODS.get(terms["period"])
        if shortest is None:
            return [*_duration_problems(terms, MAX_WINDOW_MINUTES), ("period", "is not P1D, P1W or P1M")]
        return _duration_problems(terms, shortest - 1)

    @classmethod
    def limit_problem(cls, limit: Decimal) -> str | None:
        return "is the budget and must be greater than 0" if limit <= 0 else None


AnyRule = ThresholdRule | SilenceRule | PaceRule

RULE_CLASSES: Mapping[RuleKind, type[AnyRule]] = {
    RuleKind.THRESHOLD: ThresholdRule,
    RuleKind.NO_DATA: SilenceRule,
    RuleKind.PACE: PaceRule,
}
"""The class of each kind of alert rule."""


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


def _state_after(
    limit: Limit,
    quiet_hours: QuietHours | None,
    state: RuleState,
    value: tuple[int, int],
    moment: int,
) -> RuleState:
    """Return the state after a value that is known at `moment`.

    A rule fires once while it is active, and never in quiet hours.
    """
    if not limit.is_passed(value, is_active=state.active):
        return INACTIVE
    return _notified_if_allowed(quiet_hours, state, moment)


def _notified_if_allowed(quiet_hours: QuietHours | None, state: RuleState, moment: int) -> RuleState:
    """Return the state of a rule whose condition is met."""
    if state.notified:
        return state
    return ACTIVE if quiet_hours is not None and quiet_hours.contains(moment) else NOTIFIED


def _firing(before: RuleState, after: RuleState, moment: int, value: tuple[int, int]) -> Firing | None:
    """Return the firing of a rule whose state changes from `before` to `after`, if it fires."""
    return Firing(moment, Fraction(*value)) if after.notified and not before.notified else None


@dataclass(slots=True)
class Episode:
    """A time in which the condition of a rule holds.

    `start` is the instant of its first sample, and `end` that of the first sample without the condition; it is None
    while the condition holds. `notified` is whether an alert was sent for it. `firing` is the alert that is due for it.
    """

    start: int
    end: int | None = None
    notified: bool = False
    firing: Firing | None = None
    value: tuple[int, int] | None = None
    """The value of its last sample while an alert waits for the end of quiet hours."""
    quiet_until: int = 0
    """The end of these quiet hours."""

    def to_json(self) -> list[Any]:
        """Return the values that a rule stores. `from_json` reads them."""
        waiting = [] if self.value is None else [self.quiet_until, *self.value]
        return [self.start, self.end, self.notified, *waiting]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Self:
        start, end, notified, *waiting = stored
        quiet_until, value = (waiting[0], (waiting[1], waiting[2])) if waiting else (0, None)
        return cls(start, end, notified, value=value, quiet_until=quiet_until)

    def overlaps(self, other: "Episode") -> bool:
        """Return whether two episodes have a time in common."""
        return (other.end is None or self.start < other.end) and (self.end is None or other.start < self.end)


def state_before(history: Sequence[Episode], at: int) -> tuple[list[Episode], Episode | None]:
    """Return the episodes that began before an instant, and the one that had not ended then, continued."""
    earlier = [dataclasses.replace(episode) for episode in history if episode.start < at]
    if not earlier or (earlier[-1].end is not None and earlier[-1].end < at):
        return earlier, None
    earlier[-1].end = None
    return earlier, earlier[-1]


class ThresholdEvaluation:
    """An evaluation of the window that ends at each sample later than `after`. Earlier samples only fill windows.

    The window of a sample at `at` has the samples later than `at - rule.window`. For a rule that fires when a sum is
    below its threshold, incomplete windows are skipped if the number of expected samples is known.

    A sample is known `delay` after its instant, when it is complete. The rule fires then, or at the end of the quiet
    hours if its condition still holds. This depends on the samples alone, so that late readings and back-tests have
    the same firings as readings that arrive in time. A sample older than `fresh_from` fires nothing.

    `current` is the episode before the first evaluated sample. `episodes` are those that begin later. `finish` follows
    the last sample.
    """

    def __init__(
        self, rule: ThresholdRule, current: Episode | None = None, *, after: int, fresh_from: int, delay: int = 0
    ) -> None:
        self.current = current
        self.episodes: list[Episode] = []
        self._continued = current
        self._rule = rule
        self._after, self._fresh_from, self._delay = after, fresh_from, delay
        self._inside: deque[TimedValue] = deque()
        self._extremes: deque[TimedValue] = deque()
        """The samples of the window that no later one exceeds, for MIN and MAX. The first one is the result."""
        self._total = 0

    def add(self, samples: Iterable[TimedValue]) -> None:
        """Evaluate the next samples, in the order of their instants. A sample takes about a microsecond."""
        rule, limit = self._rule, self._rule.limit
        needed = rule.expected_samples if rule.function is Function.SUM and limit.side is ThresholdSide.BELOW else None
        has_extremes = rule.function in (Function.MIN, Function.MAX)
        for at, value in samples:
            self._move_window(at, value)
            if has_extremes:
                self._move_extremes(at, value)
            if at <= self._after or (needed is not None and len(self._inside) < needed):
                continue
            current = self.current
            if current is not None and current.value is not None:
                self._end_quiet_hours(current, at + self._delay - 1)
            result = self._result()
            if not limit.is_passed(result, is_active=current is not None):
                if current is not None:
                    current.end, self.current = at, None
                continue
            if current is None:
                self.current = current = Episode(at)
                self.episodes.append(current)
            if not current.notified and current.firing is None:
                self._notify(current, at, result)

    def finish(self, until: int) -> None:
        """Evaluate the quiet hours that end until an instant."""
        if self.current is not None:
            self._end_quiet_hours(self.current, until)

    def _notify(self, episode: Episode, at: int, result: tuple[int, int]) -> None:
        """Fire for a sample, or let its alert wait for the end of quiet hours."""
        if at < self._fresh_from:
            return
        moment, quiet = at + self._delay, self._rule.quiet_hours
        if quiet is None or (moment >= episode.quiet_until and not quiet.contains(moment)):
            episode.firing, episode.value = Firing(moment, Fraction(*result)), None
            return
        episode.value = result
        if moment >= episode.quiet_until:
            episode.quiet_until = quiet.next_allowed(moment)

    def _end_quiet_hours(self, episode: Episode, until: int) -> None:
        """Fire if an alert waits, and its quiet hours end until an instant."""
        if episode.value is not None and episode.firing is None and episode.quiet_until <= until:
            episode.firing, episode.value = Firing(episode.quiet_until, Fraction(*episode.value)), None

    @property
    def firings(self) -> list[Firing]:
        """The alerts that are due for the episodes."""
        episodes = self.episodes if self._continued is None else [self._continued, *self.episodes]
        return [episode.firing for episode in episodes if episode.firing is not None]

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


def evaluate_silence(rule: SilenceRule, state: RuleState, last: int, now: int) -> tuple[RuleState, Firing | None]:
    """Evaluate the time since the last sample. The rule is active when this reaches the allowed silence."""
    if now - last < rule.allowed_silence:
        return INACTIVE, None
    after = _notified_if_allowed(rule.quiet_hours, state, now)
    return after, _firing(state, after, now, (now - last, 1))


class SilenceReplay:
    """The firings of a silence rule between samples. Each sample counts as received at its own instant."""

    def __init__(self, rule: SilenceRule) -> None:
        self.firings: list[Firing] = []
        self._rule = rule
        self._last: int | None = None

    def add(self, instants: Iterable[int]) -> None:
        """Evaluate the time until each of the next instants, which are in order."""
        last, allowed = self._last, self._rule.allowed_silence
        for at in instants:
            if last is not None and last + allowed < at:
                self._judge(last, at)
            last = at
        self._last = last

    def _judge(self, last: int, following: int) -> None:
        due = last + self._rule.allowed_silence
        moment = self._rule.quiet_hours.next_allowed(due) if self._rule.quiet_hours else due
        if moment < following:
            self.firings.append(Firing(moment, Fraction(moment - last)))


def evaluate_pace(
    rule: PaceRule, state: RuleState, amount: int, span: tuple[int, int], known_until: int, moment: int
) -> tuple[RuleState, Firing | None]:
    """Evaluate the projected total of the period `span` at a moment, once its first part is over.

    `amount` is the total until `known_until`, the end of the newest reading, because readings come late. The projection
    assumes that use continues at the average rate until then. The projected total of a period that is known to its end
    is its total. `state` is that of the same period. Without its first part, the condition is not known to be met, and
    no alert waits.
    """
    start, stop = span
    known = min(known_until, stop) - start
    if known < max(rule.first_part, 1):
        return state if state.notified else INACTIVE, None
    projected = amount * (stop - start), known
    after = _state_after(rule.budget, rule.quiet_hours, state, projected, moment)
    return after, _firing(state, after, moment, projected)


def own_part(span: tuple[int, int], ownership: Ownership) -> tuple[int, int]:
    """Return the part of a period from when the household first has the resource in it. The whole one if never."""
    parts = ownership.within(*span)
    return (parts[0][0], span[1]) if parts else span


# The periods of a budget that a rule judges at a moment, and what it remembers of them.
#
# Readings come late and are corrected, and quiet hours delay alerts. So a rule also judges periods that are over, and
# remembers for which of them it has sent its alert.


@dataclass(frozen=True, slots=True)
class JudgedBudget:
    """The result of an evaluation: the state of the present period, the episodes to remember, and the alerts to send.

    The next evaluation is due at `due_at`.
    """

    state: RuleState
    episodes: list[Episode]
    firings: list[Firing]
    due_at: int


class BudgetPeriods:
    """The periods of a budget to judge at a moment.

    They are those that overlap the time from `since` on, and those whose alert waits for the end of quiet hours. An
    episode of a budget begins with its period. `history` are the episodes of the last evaluation. A period that ends
    after `fresh_from` stays remembered, because a correction can still change it.
    """

    def __init__(
        self, rule: PaceRule, zone: tzinfo, history: Sequence[Episode], *, since: int, fresh_from: int, now: int
    ) -> None:
        self._rule, self._history, self._now = rule, history, now
        first = min([since, *(episode.start for episode in history if not episode.notified)])
        edges = build_grid(from_ms(min(first, fresh_from)), from_ms(now + 1), rule.period, zone).edges
        spans = list(pairwise(edges))
        self._remembered_from = next(start for start, stop in spans if stop > fresh_from)
        self.spans = [(start, stop) for start, stop in spans if stop > first]

    def judge(self, amounts: Sequence[int], known_until: int, ownership: Ownership = ALWAYS) -> JudgedBudget:
        """Judge the periods. `amounts` are their totals until `known_until`, the end of the newest reading."""
        rule, now, judged_from = self._rule, self._now, self.spans[0][0]
        states = {episode.start: RuleState(active=True, notified=episode.notified) for episode in self._history}
        episodes = [each for each in self._history if self._remembered_from <= each.start < judged_from]
        firings, state = list[Firing](), INACTIVE
        for span, amount in zip(self.spans, amounts, strict=True):
            before, part = states.get(span[0], INACTIVE), own_part(span, ownership)
            state, firing = evaluate_pace(rule, before, amount, part, known_until, now)
            if state.active:
                episodes.append(Episode(span[0], notified=state.notified))
            if firing:
                firings.append(firing)
        due_at = now - now % HOUR_MS + HOUR_MS
        if rule.quiet_hours is not None and any(not episode.notified for episode in episodes):
            due_at = min(due_at, rule.quiet_hours.next_allowed(now))
        return JudgedBudget(state, episodes, firings, due_at)


class PaceReplay:
    """The firings of a pace rule that is evaluated at moments.

    `amounts` are the amounts between consecutive `edges`, and `known` the ends of the last readings there, or 0 without
    one. `periods` are the edges of the periods. A period counts from when the household has the resource.
    """

    def __init__(
        self,
        rule: PaceRule,
        edges: Sequence[int],
        amounts: Iterable[int],
        known: Iterable[int],
        periods: Sequence[int],
        ownership: Ownership = ALWAYS,
    ) -> None:
        self.firings: list[Firing] = []
        self._rule, self._edges, self._periods, self._ownership = rule, edges, periods, ownership
        self._totals = [0, *accumulate(amounts)]
        self._known = [0, *accumulate(known, max)]
        self._states: dict[int, RuleState] = {}
        """The states of the period of the last moment and of those since the oldest one whose alert waits."""

    def add(self, moments: Iterable[int]) -> None:
        """Evaluate the rule at the next moments, which are in order."""
        for moment in moments:
            known_until = min(self._known[max(bisect_right(self._edges, moment) - 1, 0)], moment)
            position = bisect_left(self._periods, known_until) - 1
            if not 0 <= position < len(self._periods) - 1:
                continue
            for judged in range(min(self._states, default=position), position + 1):
                self._judge(judged, known_until, moment)
            waiting = (judged for judged, state in self._states.items() if state.active and not state.notified)
            oldest = min(waiting, default=position)
            self._states = {judged: state for judged, state in self._states.items() if judged >= oldest}

    def _judge(self, position: int, known_until: int, moment: int) -> None:
        span = self._periods[position], self._periods[position + 1]
        amount = self._total_until(min(known_until, span[1])) - self._total_until(span[0])
        part, before = own_part(span, self._ownership), self._states.get(position, INACTIVE)
        self._states[position], firing = evaluate_pace(self._rule, before, amount, part, known_until, moment)
        if firing:
            self.firings.append(firing)

    def _total_until(self, at: int) -> int:
        return self._totals[min(bisect_left(self._edges, at), len(self._totals) - 1)]
