"""Alert rules over stored readings: how one stands now, and how often rules would have fired."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import AlertRule, Resource, VirtualEntity, VirtualEntityResource
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.readings import load_aggregates
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.db.rows import Rows
from wattgate.energy import alert_rules, buckets
from wattgate.energy.alert_rules import Firing, QuietHours, Rule, RuleState
from wattgate.energy.buckets import HOUR_MS
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import Period, RuleKind
from wattgate.errors import BadInput, GatewayError, Problem

log = logging.getLogger(__name__)

MAX_NOTIFIED_AGE = timedelta(days=2)
"""How old a reading may be on arrival to be told of: meters' half hours may come a day late, history is none of it."""

MAX_BACK_TEST_DAYS = 366
MAX_SAMPLES = 3_000_000
"""How many readings one back-test reads at most: 30 days of ten rules on live power."""

MAX_LISTED_FIRINGS = 1_000
"""How many firings a back-test tells one by one."""


@dataclass(frozen=True, slots=True)
class RuleFiring:
    """A firing: when, and the value that it was for, in the rule's unit; of silence its seconds."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class BackTest:
    """How often a rule would have fired in a range of time; the first times of them."""

    start: datetime
    end: datetime
    count: int
    firings: list[RuleFiring]


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """A rule with what it is judged by."""

    row: AlertRule
    resource: Resource
    field: ReadingField
    zone: ZoneInfo
    rule: Rule

    @property
    def series_key(self) -> SeriesKey:
        return series_key(self.resource, self.field)

    def to_rule_firing(self, firing: Firing) -> RuleFiring:
        """A firing as it is told."""
        scale = 1000 if self.row.kind is RuleKind.NO_DATA else 10**self.field.decimals
        return RuleFiring(from_ms(firing.at), float(firing.value / scale))


async def load_rules(rows: Rows, rules: Sequence[AlertRule]) -> list[LoadedRule]:
    """Rules with their resources, zones and numbers as they are judged."""
    resources = await rows.get_many(Resource, {one.resource_id for one in rules})
    zones = await _load_zones(rows, rules)
    made = []
    for row, zone in zip(rules, zones, strict=True):
        resource = resources[row.resource_id]
        field = require_field(resource, row.field)
        made.append(LoadedRule(row, resource, field, zone, _to_rule(row, field, zone)))
    return made


def _to_rule(row: AlertRule, field: ReadingField, zone: ZoneInfo) -> Rule:
    window = row.window_minutes * buckets.MINUTE_MS
    quiet = None
    if row.quiet_from is not None and row.quiet_to is not None:
        start, stop = (datetime.strptime(one, "%H:%M").time() for one in (row.quiet_from, row.quiet_to))
        quiet = QuietHours(start, stop, zone)
    return Rule(
        window=window,
        threshold=0 if row.threshold is None else _to_stored(row.threshold, field),
        hysteresis=_to_stored(row.hysteresis, field),
        function=row.function,
        side=row.side,
        expected_samples=None if field.interval_ms is None else window // field.interval_ms,
        quiet_hours=quiet,
    )


def _to_stored(value: Decimal, field: ReadingField) -> int:
    """A number of a rule as values of its field are stored; it has no more decimal places than they."""
    return int(value.scaleb(field.decimals).to_integral_exact())


async def _load_zones(rows: Rows, rules: Sequence[AlertRule]) -> list[ZoneInfo]:
    """The zone of each rule: its own, or that of its home, or of the first home that its resource belongs to."""
    wanted = {one.resource_id for one in rules if one.time_zone is None}
    links = await rows.all(
        VirtualEntityResource,
        col(VirtualEntityResource.resource_id).in_(wanted),
        order_by=[VirtualEntityResource.ve_id],
    )
    homes = await rows.get_many(VirtualEntity, {one.ve_id for one in links} | {one.ve_id for one in rules if one.ve_id})
    of_home = {ve_id: home.time_zone for ve_id, home in homes.items() if home.time_zone}
    of_resource = {one.resource_id: of_home[one.ve_id] for one in reversed(links) if one.ve_id in of_home}
    names = [
        one.time_zone or of_home.get(one.ve_id or "") or of_resource.get(one.resource_id) or "UTC" for one in rules
    ]
    return [ZoneInfo(name) for name in names]


@dataclass(frozen=True, slots=True)
class RuleEvaluation:
    """How a rule stands after it was looked at, what is to be told, and when it is to be looked at again."""

    state: RuleState
    judged_to: int
    due_at: datetime
    firings: list[RuleFiring]


IDLE_INTERVAL = timedelta(minutes=30)
"""After how long a rule is looked at that nothing has woken."""

MAX_BACKLOG = timedelta(days=31)
"""How far back readings are judged that have come since a rule was looked at before; older ones are passed over."""


async def evaluate(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    """Judge what has come since the rule was looked at before. ConsentRevoked where its readings may not be had."""
    for refusal in (await find_consent_errors(rows, [loaded_rule.resource])).values():
        raise refusal
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
    found = await rows.readings.list_since({loaded_rule.series_key: after - loaded_rule.rule.window}, limit=MAX_SAMPLES)
    state, due = RuleState(loaded_rule.row.active, loaded_rule.row.told), rows.now + IDLE_INTERVAL
    if found is None:
        log.warning(
            "more readings than can be judged have come for alert rule %s; it passes them over", loaded_rule.row.rule_id
        )
        return RuleEvaluation(state, now, due, [])
    samples = found[loaded_rule.series_key]
    state, firings = alert_rules.evaluate_threshold(
        loaded_rule.rule, state, samples, after=after, fresh_from=to_ms(rows.now - MAX_NOTIFIED_AGE), now=now
    )
    judged_to = max([after, *(at for at, _ in samples[-1:])])
    return RuleEvaluation(state, judged_to, due, [loaded_rule.to_rule_firing(firing) for firing in firings])


async def _evaluate_silence(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    now, quiet = to_ms(rows.now), loaded_rule.rule.quiet_hours
    newest = (await rows.readings.latest([loaded_rule.series_key])).get(loaded_rule.series_key)
    last = loaded_rule.row.judged_to if newest is None else max(newest.at, loaded_rule.row.judged_to)
    state, firing = alert_rules.evaluate_silence(
        loaded_rule.rule, RuleState(loaded_rule.row.active, loaded_rule.row.told), last, now
    )
    if not state.active:
        due = from_ms(last + loaded_rule.rule.window)
    elif quiet is not None and not state.notified:
        due = from_ms(quiet.next_allowed(now))
    else:
        due = rows.now + IDLE_INTERVAL
    return RuleEvaluation(state, loaded_rule.row.judged_to, due, [loaded_rule.to_rule_firing(firing)] if firing else [])


async def _evaluate_pace(rows: Rows, loaded_rule: LoadedRule) -> RuleEvaluation:
    now, state = to_ms(rows.now), RuleState(loaded_rule.row.active, loaded_rule.row.told)
    current = buckets.build_grid(
        rows.now, rows.now + timedelta(milliseconds=1), loaded_rule.row.period, loaded_rule.zone
    )
    grid = buckets.build_grid(
        from_ms(current.start), rows.now + timedelta(milliseconds=1), Period.P1D, loaded_rule.zone
    )
    (found,) = await load_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(found, GatewayError):
        raise found
    span = (current.start, current.stop)
    state, firing = alert_rules.evaluate_pace(
        loaded_rule.rule, state, sum(found.sum), span, now, evaluated_at=loaded_rule.row.judged_to
    )
    return RuleEvaluation(
        state, now, from_ms(now - now % HOUR_MS + HOUR_MS), [loaded_rule.to_rule_firing(firing)] if firing else []
    )


async def back_test(rows: Rows, parents: Sequence[AlertRule], *, days: int = 30) -> list[BackTest | GatewayError]:
    """How often each rule would have fired in the last days, and when, had readings come as they were measured."""
    if not 1 <= days <= MAX_BACK_TEST_DAYS:
        raise BadInput(
            "a back-test goes over 1 to 366 days", problems=[Problem(("days",), f"is not 1 to {MAX_BACK_TEST_DAYS}")]
        )
    found = await load_rules(rows, parents)
    start = rows.now - timedelta(days=days)
    sampled = await _load_samples(rows, [one for one in found if one.row.kind is not RuleKind.PACE], to_ms(start))
    told: list[BackTest | GatewayError] = []
    for one in found:
        if one.row.kind is RuleKind.PACE:
            fired = await _replay_pace(rows, one, start)
        else:
            fired = _replay_samples(one, sampled[one.series_key], to_ms(start), to_ms(rows.now))
        told.append(fired if isinstance(fired, GatewayError) else _to_back_test(one, fired, start, rows.now))
    return replace_withheld(
        await find_consent_errors(rows, [one.resource for one in found]), [one.resource for one in found], told
    )


def _to_back_test(loaded_rule: LoadedRule, firings: list[Firing], start: datetime, end: datetime) -> BackTest:
    return BackTest(
        start, end, len(firings), [loaded_rule.to_rule_firing(firing) for firing in firings[:MAX_LISTED_FIRINGS]]
    )


async def _load_samples(
    rows: Rows, loaded_rules: Sequence[LoadedRule], start: int
) -> dict[SeriesKey, list[alert_rules.TimedValue]]:
    """The samples by which rules are judged from an instant on: with those that fill their first windows."""
    since: dict[SeriesKey, int] = {}
    for one in loaded_rules:
        since[one.series_key] = min(since.get(one.series_key, start), start - one.rule.window)
    samples = await rows.readings.list_since(since, limit=MAX_SAMPLES)
    if samples is None:
        problem = Problem(("days",), f"are more than {MAX_SAMPLES:,} readings")
        raise BadInput("the back-test goes over too many readings: ask fewer days", problems=[problem])
    return samples


def _replay_samples(
    loaded_rule: LoadedRule, samples: list[alert_rules.TimedValue], start: int, end: int
) -> list[Firing]:
    if loaded_rule.row.kind is RuleKind.NO_DATA:
        instants = [at for at, _ in samples if at < end]
        return [firing for firing in alert_rules.replay_silence(loaded_rule.rule, instants, end) if firing.at >= start]
    own = [sample for sample in samples if sample[0] > start - loaded_rule.rule.window]
    delay = loaded_rule.field.interval_ms or 0
    return alert_rules.evaluate_threshold(
        loaded_rule.rule, RuleState(), own, after=start - 1, fresh_from=start, delay=delay
    )[1]


async def _replay_pace(rows: Rows, loaded_rule: LoadedRule, start: datetime) -> list[Firing] | GatewayError:
    """The pace at each half hour, of what has been used until then."""
    end = rows.now
    periods = buckets.build_grid(start, end, loaded_rule.row.period, loaded_rule.zone)
    grid = buckets.build_grid(from_ms(periods.start), end, Period.PT30M, UTC)
    (found,) = await load_aggregates(rows, [loaded_rule.resource], [loaded_rule.field], grid)
    if isinstance(found, GatewayError):
        return found
    moments = [edge for edge in grid.edges if to_ms(start) <= edge <= to_ms(end)]
    return alert_rules.replay_pace(loaded_rule.rule, grid.edges, found.sum, periods.edges, moments=moments)
