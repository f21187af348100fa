"""Evaluation of alert rules with stored readings: the current state of a rule, and back-tests."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from heapq import merge
from typing import Annotated
from zoneinfo import ZoneInfo

from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import AlertRule, Resource, VirtualEntity, VirtualEntityResource
from wattgate.db.models.messages.alerts import RULE_DECIMALS
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.ownership import load_ownerships
from wattgate.db.queries.series.readings import load_consented_aggregates
from wattgate.db.queries.tenancies import consent_gaps
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import alert_rules, buckets
from wattgate.energy.alert_rules import (
    INACTIVE,
    Firing,
    PaceReplay,
    QuietHours,
    Rule,
    RuleState,
    SilenceReplay,
    ThresholdEvaluation,
    TimedValue,
)
from wattgate.energy.buckets import HOUR_MS
from wattgate.energy.consent_gaps import ConsentGaps, find_gap, last_gap_end
from wattgate.energy.ownership import Ownership
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import Period, RuleKind
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
    rule: Rule
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
        scale = 1000 if self.row.kind is RuleKind.NO_DATA else 10**self.field.decimals
        return RuleFiring(from_ms(firing.at), float(round(firing.value / scale, RULE_DECIMALS)))


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
        rule, gaps = _to_rule(row, field, zone), gaps_by_id.get(row.resource_id, ())
        loaded_rules.append(LoadedRule(row, resource, field, zone, rule, gaps, ownerships[row.resource_id]))
    return loaded_rules


def _to_rule(row: AlertRule, field: ReadingField, zone: ZoneInfo) -> Rule:
    window = row.window_minutes * buckets.MINUTE_MS
    quiet_hours = None
    if row.quiet_from is not None and row.quiet_to is not None:
        start, stop = (datetime.strptime(text, "%H:%M").time() for text in (row.quiet_from, row.quiet_to))
        quiet_hours = QuietHours(start, stop, zone)
    return Rule(
        window=window,
        threshold=0 if row.threshold is None else _to_stored(row.threshold, field),
        hysteresis=_to_stored(row.hysteresis, field),
        function=row.function,
        side=row.side,
        expected_samples=None if field.interval_ms is None else window // field.interval_ms,
        quiet_hours=quiet_hours,
    )


def _to_stored(value: Decimal, field: ReadingField) -> int:
    """Convert a number of a rule to the scaled integers of its field. It has no more decimal places than the field."""
    return int(value.scaleb(field.decimals).to_integral_exact())


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

    Readings up to `judged_to` (ms since 1970) are evaluated.
    """

    state: RuleState
    judged_to: int
    due_at: datetime
    firings: list[RuleFiring]


IDLE_INTERVAL = timedelta(minutes=30)
"""The time between evaluations of a rule that nothing else triggers."""

MAX_BACKLOG = timedelta(days=31)
"""How far back an evaluation reads the readings that arrived since the last evaluation. Older ones are skipped."""


async def evaluate(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    """Evaluate a rule with the readings since the last evaluation. Raise ConsentRevoked without valid consent."""
    for error in (await find_consent_errors(rows, [loaded_rule.resource])).values():
        raise error
    match loaded_rule.row.kind:
        case RuleKind.THRESHOLD:
            return await _evaluate_threshold(rows, loaded_rule)
        case RuleKind.NO_DATA:
            return await _evaluate_silence(rows, loaded_rule)
        case RuleKind.PACE:
            return await _evaluate_pace(rows, loaded_rule)


async def _evaluate_threshold(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    now = to_ms(rows.now)
    after = max(loaded_rule.row.judged_to, to_ms(rows.now - MAX_BACKLOG))
    samples_by_key = await rows.readings.list_since(
        {loaded_rule.series_key: after - loaded_rule.rule.window}, limit=MAX_SAMPLES
    )
    state, due_at = RuleState(loaded_rule.row.active, loaded_rule.row.told), rows.now + IDLE_INTERVAL
    if samples_by_key is None:
        log.warning(
            "Alert rule %s has more than %d new readings; they are skipped", loaded_rule.row.rule_id, MAX_SAMPLES
        )
        return RuleEvaluation(state, now, due_at, [])
    evaluation = ThresholdEvaluation(
        loaded_rule.rule, state, after=after, fresh_from=to_ms(rows.now - MAX_NOTIFIED_AGE), now=now
    )
    judged_to = after
    async for part in slices(loaded_rule.consented(samples_by_key[loaded_rule.series_key])):
        evaluation.add(part)
        judged_to = max(judged_to, part[-1][0])
    firings = evaluation.firings[-MAX_FIRINGS:]
    if len(firings) < len(evaluation.firings):
        number = len(evaluation.firings)
        log.warning(
            "Alert rule %s fired %d times at once; %d alerts are sent", loaded_rule.row.rule_id, number, MAX_FIRINGS
        )
    return RuleEvaluation(
        evaluation.state, judged_to, due_at, [loaded_rule.to_rule_firing(firing) for firing in firings]
    )


async def _evaluate_silence(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    now, quiet_hours = to_ms(rows.now), loaded_rule.rule.quiet_hours
    newest = (await rows.readings.latest([loaded_rule.series_key])).get(loaded_rule.series_key)
    ends = [last_gap_end(loaded_rule.gaps, now) or 0, 0 if newest is None else newest.at]
    last = max(loaded_rule.row.judged_to, *ends)  # the time without consent is no silence
    state, firing = alert_rules.evaluate_silence(
        loaded_rule.rule, RuleState(loaded_rule.row.active, loaded_rule.row.told), last, now
    )
    if not state.active:
        due_at = from_ms(last + loaded_rule.rule.window)
    elif quiet_hours is not None and not state.notified:
        due_at = from_ms(quiet_hours.next_allowed(now))
    else:
        due_at = rows.now + IDLE_INTERVAL
    return RuleEvaluation(
        state, loaded_rule.row.judged_to, due_at, [loaded_rule.to_rule_firing(firing)] if firing else []
    )


async def _evaluate_pace(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    now, state = to_ms(rows.now), RuleState(loaded_rule.row.active, loaded_rule.row.told)
    current_period = buckets.build_grid(
        rows.now, rows.now + timedelta(milliseconds=1), loaded_rule.row.period, loaded_rule.zone
    )
    grid = buckets.build_grid(
        from_ms(current_period.start), rows.now + timedelta(milliseconds=1), Period.P1D, loaded_rule.zone
    )
    (aggregates,) = await load_consented_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(aggregates, GatewayError):
        raise aggregates
    span = alert_rules.own_part((current_period.start, current_period.stop), loaded_rule.ownership)
    state, firing = alert_rules.evaluate_pace(
        loaded_rule.rule, state, sum(aggregates.sum), span, now, evaluated_at=loaded_rule.row.judged_to
    )
    return RuleEvaluation(
        state, now, from_ms(now - now % HOUR_MS + HOUR_MS), [loaded_rule.to_rule_firing(firing)] if firing else []
    )


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
    samples_by_key = await _load_samples(
        rows, [loaded_rule for loaded_rule in loaded_rules if loaded_rule.row.kind is not RuleKind.PACE], to_ms(start)
    )
    results: list[BackTest | GatewayError] = []
    for loaded_rule in loaded_rules:
        if loaded_rule.row.kind is RuleKind.PACE:
            firings, sample_count = await _replay_pace(rows, loaded_rule, start), days * HALF_HOURS_OF_DAY
        else:
            samples = samples_by_key[loaded_rule.series_key]
            firings, sample_count = await _replay_samples(loaded_rule, samples, start, rows.now), len(samples)
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
    rows: Rows, loaded_rules: Sequence[LoadedRule], start: int
) -> dict[SeriesKey, list[alert_rules.TimedValue]]:
    """Load the samples of rules from an instant on, with the samples before it that their first windows need."""
    since: dict[SeriesKey, int] = {}
    for loaded_rule in loaded_rules:
        since[loaded_rule.series_key] = min(since.get(loaded_rule.series_key, start), start - loaded_rule.rule.window)
    samples = await rows.readings.list_since(since, limit=MAX_SAMPLES)
    if samples is None or sum(len(samples[loaded_rule.series_key]) for loaded_rule in loaded_rules) > MAX_SAMPLES:
        problem = Problem(("days",), f"have more than {MAX_SAMPLES:,} readings")
        raise BadInput(
            f"The back-tests would read more than {MAX_SAMPLES:,} readings. Request fewer days or rules.",
            problems=[problem],
        )
    return samples


async def _replay_samples(
    loaded_rule: LoadedRule, samples: Sequence[TimedValue], start: datetime, end: datetime
) -> list[Firing]:
    if loaded_rule.row.kind is RuleKind.NO_DATA:
        return await _replay_silence(loaded_rule, samples, to_ms(start), to_ms(end))
    start_ms, delay = to_ms(start), loaded_rule.field.interval_ms or 0
    evaluation = ThresholdEvaluation(loaded_rule.rule, INACTIVE, after=start_ms - 1, fresh_from=start_ms, delay=delay)
    window_start = start_ms - loaded_rule.rule.window
    async for part in slices(sample for sample in loaded_rule.consented(samples) if sample[0] > window_start):
        evaluation.add(part)
    return evaluation.firings


async def _replay_silence(loaded_rule: LoadedRule, samples: Sequence[TimedValue], start: int, end: int) -> list[Firing]:
    replay = SilenceReplay(loaded_rule.rule)
    # the time without consent is no silence
    ends = sorted(gap.stop for gap in loaded_rule.gaps if gap.stop is not None)
    instants = (at for at, _ in loaded_rule.consented(samples))
    async for part in slices(at for at in merge(ends, instants) if at < end):
        replay.add(part)
    replay.add([end])
    return [firing for firing in replay.firings if firing.at >= start and find_gap(loaded_rule.gaps, firing.at) is None]


async def _replay_pace(rows: Rows, loaded_rule: LoadedRule, start: datetime) -> list[Firing] | GatewayError:
    """Evaluate the pace at each half hour, with the energy used until then."""
    end = rows.now
    periods = buckets.build_grid(start, end, loaded_rule.row.period, loaded_rule.zone)
    grid = buckets.build_grid(from_ms(periods.start), end, Period.PT30M, UTC)
    (aggregates,) = await load_consented_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(aggregates, GatewayError):
        return aggregates
    replay = PaceReplay(loaded_rule.rule, grid.edges, aggregates.sum, periods.edges, loaded_rule.ownership)
    async for moments in slices(edge for edge in grid.edges if to_ms(start) <= edge <= to_ms(end)):
        replay.add(moments)
    return replay.firings
