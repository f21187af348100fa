"""The periods of a budget that a rule judges at a moment, and what it remembers of them.

Readings come late and are corrected, and quiet hours delay alerts. So a rule also judges periods that are over, and
remembers for which of them it has sent its alert. No I/O. Instants are in milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import pairwise

from wattgate.clock import from_ms
from wattgate.energy.alert_rules import INACTIVE, Episode, Firing, PaceRule, RuleState, evaluate_pace, own_part
from wattgate.energy.buckets import HOUR_MS, build_grid
from wattgate.energy.ownership import ALWAYS, Ownership


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
