"""Evaluation of alert rules with stored readings: the current state of a rule, and back-tests."""

import dataclasses
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import AlertRule, Resource, VirtualEntity, VirtualEntityResource
from wattgate.db.models.messages.alerts import RULE_DECIMALS
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.ownership import load_ownerships
from wattgate.db.queries.series.readings import load_consented_aggregates
from wattgate.db.queries.tenancies import consent_gaps
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import alert_rules, buckets
from wattgate.energy.alert_rules import (
    RULE_CLASSES,
    AnyRule,
    BudgetPeriods,
    Episode,
    Firing,
    PaceReplay,
    PaceRule,
    QuietHours,
    RuleState,
    SilenceReplay,
    SilenceRule,
    ThresholdEvaluation,
    ThresholdRule,
    TimedValue,
    state_before,
)
from wattgate.energy.consent_gaps import ConsentGaps, find_gap, last_gap_end
from wattgate.energy.ownership import Ownership
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import Period
from wattgate.errors import BadInput, GatewayError, Problem
from wattgate.pauses import slices
from wattgate.values.annotations import Described

log = logging.getLogger(__name__)

MAX_NOTIFIED_AGE = timedelta(days=2)
"""The maximum age of a reading that can send an alert. Meters' half hours can be a day late; history is older."""

MAX_BACK_TEST_DAYS = 366
MAX_SAMPLES = 600_000
"""The maximum number of readings that an evaluation, or all back-tests of a request, evaluate.

These are 30 days of two rules on live power.
"""

MAX_FIRINGS = 50
"""The maximum number of alerts that one evaluation sends. Of more firings, it sends the newest.

Half hours of two days, the maximum age, are no more.
"""

HALF_HOURS_OF_DAY = 48

MAX_LISTED_FIRINGS = 1_000
"""The maximum number of firings that a back-test lists."""


@dataclass(frozen=True, slots=True)
class RuleFiring:
    """A firing: its time and its value in the rule's unit, with at most six decimal places.

    For silence, the value is its duration in seconds.
    """

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class BackTest:
    """The number of times that a rule would have fired in a range of time, and the first of these firings.

    `sample_count` is the number of readings that were evaluated.
    """

    start: datetime
    end: datetime
    count: int
    firings: list[RuleFiring]
    sample_count: int


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """A rule with the resource, field and zone that its evaluation needs.

    `gaps` are the times without the consent of the household. The rule uses no reading of them. `ownership` is when the
    household has the resource.
    """

    row: AlertRule
    resource: Resource
    field: ReadingField
    zone: ZoneInfo
    rule: AnyRule
    gaps: ConsentGaps
    ownership: Ownership

    @property
    def series_key(self) -> SeriesKey:
        return series_key(self.resource, self.field)

    def consented(self, samples: Iterable[TimedValue]) -> Iterable[TimedValue]:
        """Return the samples of times with consent."""
        return (sample for sample in samples if find_gap(self.gaps, sample[0]) is None) if self.gaps else samples

    def to_rule_firing(self, firing: Firing) -> RuleFiring:
        """Convert a firing to its time and its value in the rule's unit."""
        return RuleFiring(from_ms(firing.at), float(round(firing.value / self.rule.scale(self.field), RULE_DECIMALS)))


async def load_rules(rows: Rows, rules: Sequence[AlertRule]) -> list[LoadedRule]:
    """Load the resources and zones of rules, and convert their numbers for evaluation."""
    resources = await rows.get_many(Resource, {rule.resource_id for rule in rules})
    zones = await _load_zones(rows, rules)
    loaded_rules = []
    gaps_by_id = await consent_gaps(rows, resources.values())
    ownerships = await load_ownerships(rows, resources.values())
    for row, zone in zip(rules, zones, strict=True):
        resource = resources[row.resource_id]
        field = require_field(resource, row.field)
        rule = RULE_CLASSES[row.kind].from_terms(row, field, _quiet_hours(row, zone))
        gaps = gaps_by_id.get(row.resource_id, ())
        loaded_rules.append(LoadedRule(row, resource, field, zone, rule, gaps, ownerships[row.resource_id]))
    return loaded_rules


def _quiet_hours(row: AlertRule, zone: ZoneInfo) -> QuietHours | None:
    if row.quiet_from is None or row.quiet_to is None:
        return None
    start, stop = (datetime.strptime(text, "%H:%M").time() for text in (row.quiet_from, row.quiet_to))
    return QuietHours(start, stop, zone)


async def _load_zones(rows: Rows, rules: Sequence[AlertRule]) -> list[ZoneInfo]:
    """Return the zone of each rule: its own, or that of its home, or of the first home of its resource, or UTC."""
    resource_ids = {rule.resource_id for rule in rules if rule.time_zone is None}
    links = await rows.all(
        VirtualEntityResource,
        col(VirtualEntityResource.resource_id).in_(resource_ids),
        order_by=[VirtualEntityResource.ve_id],
    )
    home_ids = {link.ve_id for link in links} | {rule.ve_id for rule in rules if rule.ve_id}
    homes = await rows.get_many(VirtualEntity, home_ids)
    zone_by_home = {ve_id: home.time_zone for ve_id, home in homes.items() if home.time_zone}
    zone_by_resource = {
        link.resource_id: zone_by_home[link.ve_id] for link in reversed(links) if link.ve_id in zone_by_home
    }
    names = [
        rule.time_zone or zone_by_home.get(rule.ve_id or "") or zone_by_resource.get(rule.resource_id) or "UTC"
        for rule in rules
    ]
    return [ZoneInfo(name) for name in names]


@dataclass(frozen=True, slots=True)
class RuleEvaluation:
    """The result of an evaluation: the new state, the firings to send, and the time of the next evaluation.

    Readings up to `judged_to` (ms since 1970) are evaluated. The alerts of `firings` are for `episodes`, which are the
    newest ones. With `late_from`, the next evaluation begins again at this instant.
    """

    state: RuleState
    judged_to: int
    due_at: datetime
    firings: list[RuleFiring]
    episodes: list[Episode] = dataclasses.field(default_factory=list)
    late_from: int | None = None

    def store(self, row: AlertRule) -> None:
        """Store the state in the rule."""
        row.active, row.told, row.late_from = self.state.active, self.state.notified, self.late_from
        row.judged_to, row.due_at = self.judged_to, self.due_at
        row.episodes = [episode.to_json() for episode in self.episodes]
        row.failures, row.problem = 0, None


IDLE_INTERVAL = timedelta(minutes=30)
"""The time between evaluations of a rule that nothing else triggers."""

MAX_BACKLOG = timedelta(days=31)
"""How far back an evaluation reads the readings that arrived since the last evaluation. Older ones are skipped."""


MAX_EPISODES = 100
"""The maximum number of episodes that a rule remembers."""


def restart_values(now: datetime) -> dict[str, Any]:
    """Return the column values of a rule that starts at an instant: it judges later readings only."""
    now_ms = to_ms(now)
    return {
        "active": False,
        "told": False,
        "episodes": [],
        "judged_from": now_ms,
        "judged_to": now_ms,
        "late_from": None,
        "due_at": now,
        "failures": 0,
        "problem": None,
    }


async def evaluate(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    """Evaluate a rule with the readings that are stored, in any order. Raise ConsentRevoked without valid consent.

    Readings that came late or were corrected change the past, so that it is evaluated again from them on. An episode
    that overlaps a notified one causes no other alert. One that was not known before causes its alert now.
    """
    for error in (await find_consent_errors(rows, [loaded_rule.resource])).values():
        raise error
    match loaded_rule.rule:
        case ThresholdRule() as rule:
            return await _evaluate_threshold(rows, loaded_rule, rule)
        case SilenceRule() as rule:
            return await _evaluate_silence(rows, loaded_rule, rule)
        case PaceRule() as rule:
            return await _evaluate_pace(rows, loaded_rule, rule)


async def _evaluate_threshold(rows: Rows, loaded_rule: LoadedRule, rule: ThresholdRule) -> RuleEvaluation:
    row, now, fresh_from = loaded_rule.row, to_ms(rows.now), to_ms(rows.now - MAX_NOTIFIED_AGE)
    history = [Episode.from_json(stored) for stored in row.episodes]
    after = max(row.judged_to, to_ms(rows.now - MAX_BACKLOG))
    if row.late_from is not None:
        after = min(after, max(row.late_from, row.judged_from + 1, fresh_from) - 1)
    samples_by_key = await rows.readings.list_since({loaded_rule.series_key: after - rule.window}, limit=MAX_SAMPLES)
    if samples_by_key is None:
        log.warning("Alert rule %s has more than %d new readings; they are skipped", row.rule_id, MAX_SAMPLES)
        return RuleEvaluation(RuleState(row.active, row.told), now, rows.now + IDLE_INTERVAL, [], history)
    earlier, current = state_before(history, after + 1)
    delay = loaded_rule.field.interval_ms or 0
    evaluation = ThresholdEvaluation(rule, current, after=after, fresh_from=fresh_from, delay=delay)
    judged_to = row.judged_to
    async for part in slices(loaded_rule.consented(samples_by_key[loaded_rule.series_key])):
        evaluation.add(part)
        judged_to = max(judged_to, part[-1][0])
    evaluation.finish(now)
    episodes = [*earlier, *evaluation.episodes]
    _mark_notified(episodes, history)
    recent = [episode for episode in episodes if episode.end is None or episode.end > fresh_from][-MAX_EPISODES:]
    return _with_due_firings(loaded_rule, recent, evaluation.current, judged_to, rows.now)


def _mark_notified(episodes: Sequence[Episode], history: Sequence[Episode]) -> None:
    """Mark the episodes for which an alert was sent: late readings may have moved their limits."""
    notified = [episode for episode in history if episode.notified]
    for episode in episodes:
        if not episode.notified and any(episode.overlaps(earlier) for earlier in notified):
            episode.notified, episode.firing = True, None


def _with_due_firings(
    loaded_rule: LoadedRule, episodes: list[Episode], current: Episode | None, judged_to: int, now: datetime
) -> RuleEvaluation:
    """Return the evaluation that sends the alerts that are due. In quiet hours, it sends none, and they stay due."""
    quiet, now_ms = loaded_rule.rule.quiet_hours, to_ms(now)
    due, due_at, late_from = [episode for episode in episodes if episode.firing], now + IDLE_INTERVAL, None
    firings: list[RuleFiring] = []
    if due and quiet is not None and quiet.contains(now_ms):
        due_at, late_from = from_ms(quiet.next_allowed(now_ms)), due[0].start
    else:
        for episode in due:
            episode.notified = True
        sent = [Firing(now_ms, episode.firing.value) for episode in due if episode.firing][-MAX_FIRINGS:]
        if len(sent) < len(due):
            rule_id = loaded_rule.row.rule_id
            log.warning("Alert rule %s fired %d times at once; %d alerts are sent", rule_id, len(due), MAX_FIRINGS)
        firings = [loaded_rule.to_rule_firing(firing) for firing in sent]
        if current is not None and current.value is not None:
            due_at = min(due_at, from_ms(current.quiet_until))
    state = RuleState(current is not None, current is not None and current.notified)
    return RuleEvaluation(state, judged_to, due_at, firings, episodes, late_from)


async def _evaluate_silence(rows: Rows, loaded_rule: LoadedRule, rule: SilenceRule) -> RuleEvaluation:
    now = to_ms(rows.now)
    newest = (await rows.readings.latest([loaded_rule.series_key], until=now)).get(loaded_rule.series_key)
    ends = [last_gap_end(loaded_rule.gaps, now) or 0, 0 if newest is None else newest.at]
    last = max(loaded_rule.row.judged_to, *ends)  # the time without consent is no silence
    state, firing = alert_rules.evaluate_silence(
        rule, RuleState(loaded_rule.row.active, loaded_rule.row.told), last, now
    )
    if not state.active:
        due_at = from_ms(last + rule.allowed_silence)
    elif rule.quiet_hours is not None and not state.notified:
        due_at = from_ms(rule.quiet_hours.next_allowed(now))
    else:
        due_at = rows.now + IDLE_INTERVAL
    return RuleEvaluation(
        state, loaded_rule.row.judged_to, due_at, [loaded_rule.to_rule_firing(firing)] if firing else []
    )


async def _evaluate_pace(rows: Rows, loaded_rule: LoadedRule, rule: PaceRule) -> RuleEvaluation:
    """Evaluate the present period, and earlier ones whose last readings came since the last evaluation."""
    row, now, fresh_from = loaded_rule.row, to_ms(rows.now), to_ms(rows.now - MAX_NOTIFIED_AGE)
    since = min(row.judged_to, now if row.late_from is None else row.late_from)
    since = max(since, row.judged_from, fresh_from)
    history = [Episode.from_json(stored) for stored in row.episodes]
    periods = BudgetPeriods(rule, loaded_rule.zone, history, since=since, fresh_from=fresh_from, now=now)
    start, until = from_ms(periods.spans[0][0]), rows.now + timedelta(milliseconds=1)
    grid = buckets.build_grid(start, until, Period.P1D, loaded_rule.zone)
    (aggregates,) = await load_consented_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(aggregates, GatewayError):
        raise aggregates
    known_until = min(max(_known_ends(aggregates, loaded_rule.field), default=0), now)
    days = list(zip(grid.starts, aggregates.sum, strict=True))
    amounts = [sum(value for at, value in days if first <= at < stop) for first, stop in periods.spans]
    judged = periods.judge(amounts, known_until, loaded_rule.ownership)
    firings = [loaded_rule.to_rule_firing(firing) for firing in judged.firings]
    judged_to = max(row.judged_to, known_until)
    return RuleEvaluation(judged.state, judged_to, from_ms(judged.due_at), firings, judged.episodes)


def _known_ends(aggregates: Aggregates, field: ReadingField) -> Iterator[int]:
    """Yield the end of the newest reading of each bucket (ms since 1970), or 0 if it has none."""
    for count, last_at in zip(aggregates.count, aggregates.last_at, strict=True):
        yield last_at + (field.interval_ms or 0) if count else 0


async def back_test(
    rows: Rows,
    parents: Sequence[AlertRule],
    *,
    days: Annotated[int, Described("Number of days back from now: 1 to 366.")] = 30,
) -> list[BackTest | GatewayError]:
    """Return when each rule would have fired in the last days, if each reading had arrived when it was measured."""
    if not 1 <= days <= MAX_BACK_TEST_DAYS:
        raise BadInput(
            f"A back-test covers 1 to {MAX_BACK_TEST_DAYS} days, not {days}.",
            problems=[Problem(("days",), f"is not 1 to {MAX_BACK_TEST_DAYS}")],
        )
    loaded_rules = await load_rules(rows, parents)
    start = rows.now - timedelta(days=days)
    spans = [
        (loaded_rule.series_key, loaded_rule.rule.sample_span)
        for loaded_rule in loaded_rules
        if loaded_rule.rule.sample_span is not None
    ]
    samples_by_key = await _load_samples(rows, spans, to_ms(start))
    results: list[BackTest | GatewayError] = []
    for loaded_rule in loaded_rules:
        needs_samples = loaded_rule.rule.sample_span is not None
        samples = samples_by_key[loaded_rule.series_key] if needs_samples else []
        sample_count = len(samples) if needs_samples else days * HALF_HOURS_OF_DAY
        firings = await _replay(rows, loaded_rule, samples, start)
        if isinstance(firings, GatewayError):
            results.append(firings)
        else:
            listed = [loaded_rule.to_rule_firing(firing) for firing in firings[:MAX_LISTED_FIRINGS]]
            results.append(BackTest(start, rows.now, len(firings), listed, sample_count))
    return replace_withheld(
        await find_consent_errors(rows, [loaded_rule.resource for loaded_rule in loaded_rules]),
        [loaded_rule.resource for loaded_rule in loaded_rules],
        results,
    )


async def _load_samples(
    rows: Rows, spans: Sequence[tuple[SeriesKey, int]], start: int
) -> dict[SeriesKey, list[TimedValue]]:
    """Load the samples of series from an instant on, with those of a span of time before it."""
    since: dict[SeriesKey, int] = {}
    for key, span in spans:
        since[key] = min(since.get(key, start), start - span)
    samples = await rows.readings.list_since(since, limit=MAX_SAMPLES)
    if samples is None or sum(len(samples[key]) for key, _ in spans) > MAX_SAMPLES:
        problem = Problem(("days",), f"have more than {MAX_SAMPLES:,} readings")
        raise BadInput(
            f"The back-tests would read more than {MAX_SAMPLES:,} readings. Request fewer days or rules.",
            problems=[problem],
        )
    return samples


async def _replay(
    rows: Rows, loaded_rule: LoadedRule, samples: Sequence[TimedValue], start: datetime
) -> list[Firing] | GatewayError:
    match loaded_rule.rule:
        case ThresholdRule() as rule:
            return await _replay_threshold(loaded_rule, rule, samples, to_ms(start), to_ms(rows.now))
        case SilenceRule() as rule:
            return await _replay_silence(loaded_rule, rule, samples, to_ms(start), to_ms(rows.now))
        case PaceRule() as rule:
            return await _replay_pace(rows, loaded_rule, rule, start)


async def _replay_threshold(
    loaded_rule: LoadedRule, rule: ThresholdRule, samples: Sequence[TimedValue], start: int, end: int
) -> list[Firing]:
    delay = loaded_rule.field.interval_ms or 0
    evaluation = ThresholdEvaluation(rule, after=start - 1, fresh_from=start, delay=delay)
    window_start = start - rule.window
    async for part in slices(sample for sample in loaded_rule.consented(samples) if sample[0] > window_start):
        evaluation.add(part)
    evaluation.finish(end)
    return evaluation.firings


async def _replay_silence(
    loaded_rule: LoadedRule, rule: SilenceRule, samples: Sequence[TimedValue], start: int, end: int
) -> list[Firing]:
    replay = SilenceReplay(rule)
    # the time without consent is no silence
    ends = sorted(gap.stop for gap in loaded_rule.gaps if gap.stop is not None)
    instants = (at for at, _ in loaded_rule.consented(samples))
    async for part in slices(at for at in merge(ends, instants) if at < end):
        replay.add(part)
    replay.add([end])
    return [firing for firing in replay.firings if firing.at >= start and find_gap(loaded_rule.gaps, firing.at) is None]


async def _replay_pace(
    rows: Rows, loaded_rule: LoadedRule, rule: PaceRule, start: datetime
) -> list[Firing] | GatewayError:
    """Evaluate the pace at each half hour, with the energy that is known until then."""
    end = rows.now
    periods = buckets.build_grid(start, end, rule.period, loaded_rule.zone)
    grid = buckets.build_grid(from_ms(periods.start), end, Period.PT30M, UTC)
    (aggregates,) = await load_consented_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(aggregates, GatewayError):
        return aggregates
    known = _known_ends(aggregates, loaded_rule.field)
    replay = PaceReplay(rule, grid.edges, aggregates.sum, known, periods.edges, loaded_rule.ownership)
    async for moments in slices(edge for edge in grid.edges if to_ms(start) <= edge <= to_ms(end)):
        replay.add(moments)
    return replay.firings
