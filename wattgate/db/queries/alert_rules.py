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
from wattgate.db.queries.consent import either, withheld
from wattgate.db.queries.readings import amounts
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import field_of, key_of
from wattgate.db.rows import Rows
from wattgate.energy import alert_rules, buckets
from wattgate.energy.alert_rules import Firing, Quiet, Rule, State
from wattgate.energy.buckets import HOUR
from wattgate.energy.storage_fields import Field
from wattgate.enums import Period, RuleKind
from wattgate.errors import BadInput, GatewayError, Problem

log = logging.getLogger(__name__)

FRESH = timedelta(days=2)
"""How old a reading may be on arrival to be told of: meters' half hours may come a day late, history is none of it."""

MAX_DAYS = 366
MAX_SAMPLES = 3_000_000
"""How many readings one back-test reads at most: 30 days of ten rules on live power."""

MAX_TOLD = 1_000
"""How many firings a back-test tells one by one."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A firing: when, and the value that it was for, in the rule's unit; of silence its seconds."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class BackTest:
    """How often a rule would have fired in a range of time; the first times of them."""

    start: datetime
    end: datetime
    count: int
    firings: list[Fired]


@dataclass(frozen=True, slots=True)
class Watched:
    """A rule with what it is judged by."""

    row: AlertRule
    resource: Resource
    field: Field
    zone: ZoneInfo
    rule: Rule

    @property
    def key(self) -> SeriesKey:
        return key_of(self.resource, self.field)

    def told(self, firing: Firing) -> Fired:
        """A firing as it is told."""
        scale = 1000 if self.row.kind is RuleKind.NO_DATA else 10**self.field.decimals
        return Fired(from_ms(firing.at), float(firing.value / scale))


async def watched(rows: Rows, found: Sequence[AlertRule]) -> list[Watched]:
    """Rules with their resources, zones and numbers as they are judged."""
    resources = await rows.many(Resource, {one.resource_id for one in found})
    zones = await _zones(rows, found)
    made = []
    for row, zone in zip(found, zones, strict=True):
        resource = resources[row.resource_id]
        field = field_of(resource, row.field)
        made.append(Watched(row, resource, field, zone, _rule(row, field, zone)))
    return made


def _rule(row: AlertRule, field: Field, zone: ZoneInfo) -> Rule:
    window = row.window_minutes * buckets.MINUTE
    quiet = None
    if row.quiet_from is not None and row.quiet_to is not None:
        start, stop = (datetime.strptime(one, "%H:%M").time() for one in (row.quiet_from, row.quiet_to))
        quiet = Quiet(start, stop, zone)
    return Rule(
        window=window,
        threshold=0 if row.threshold is None else _scaled(row.threshold, field),
        hysteresis=_scaled(row.hysteresis, field),
        function=row.function,
        side=row.side,
        whole=None if field.interval_ms is None else window // field.interval_ms,
        quiet=quiet,
    )


def _scaled(value: Decimal, field: Field) -> int:
    """A number of a rule as values of its field are stored; it has no more decimal places than they."""
    return int(value.scaleb(field.decimals).to_integral_exact())


async def _zones(rows: Rows, found: Sequence[AlertRule]) -> list[ZoneInfo]:
    """The zone of each rule: its own, or that of its home, or of the first home that its resource belongs to."""
    wanted = {one.resource_id for one in found if one.time_zone is None}
    links = await rows.all(
        VirtualEntityResource,
        col(VirtualEntityResource.resource_id).in_(wanted),
        order_by=[VirtualEntityResource.ve_id],
    )
    homes = await rows.many(VirtualEntity, {one.ve_id for one in links} | {one.ve_id for one in found if one.ve_id})
    of_home = {ve_id: home.time_zone for ve_id, home in homes.items() if home.time_zone}
    of_resource = {one.resource_id: of_home[one.ve_id] for one in reversed(links) if one.ve_id in of_home}
    names = [
        one.time_zone or of_home.get(one.ve_id or "") or of_resource.get(one.resource_id) or "UTC" for one in found
    ]
    return [ZoneInfo(name) for name in names]


@dataclass(frozen=True, slots=True)
class Judged:
    """How a rule stands after it was looked at, what is to be told, and when it is to be looked at again."""

    state: State
    judged_to: int
    due_at: datetime
    firings: list[Fired]


IDLE = timedelta(minutes=30)
"""After how long a rule is looked at that nothing has woken."""

OLDEST = timedelta(days=31)
"""How far back readings are judged that have come since a rule was looked at before; older ones are passed over."""


async def judge(rows: Rows, one: Watched) -> Judged:
    """Judge what has come since the rule was looked at before. ConsentRevoked where its readings may not be had."""
    for refusal in (await withheld(rows, [one.resource])).values():
        raise refusal
    match one.row.kind:
        case RuleKind.THRESHOLD:
            return await _judge_threshold(rows, one)
        case RuleKind.NO_DATA:
            return await _judge_silence(rows, one)
        case RuleKind.PACE:
            return await _judge_pace(rows, one)


async def _judge_threshold(rows: Rows, one: Watched) -> Judged:
    now = to_ms(rows.now)
    after = max(one.row.judged_to, to_ms(rows.now - OLDEST))
    found = await rows.series.from_on({one.key: after - one.rule.window}, limit=MAX_SAMPLES)
    state, due = State(one.row.active, one.row.told), rows.now + IDLE
    if found is None:
        log.warning(
            "more readings than can be judged have come for alert rule %s; it passes them over", one.row.rule_id
        )
        return Judged(state, now, due, [])
    samples = found[one.key]
    state, firings = alert_rules.threshold(
        one.rule, state, samples, after=after, fresh_from=to_ms(rows.now - FRESH), now=now
    )
    judged_to = max([after, *(at for at, _ in samples[-1:])])
    return Judged(state, judged_to, due, [one.told(firing) for firing in firings])


async def _judge_silence(rows: Rows, one: Watched) -> Judged:
    now, quiet = to_ms(rows.now), one.rule.quiet
    newest = (await rows.series.latest([one.key])).get(one.key)
    last = one.row.judged_to if newest is None else max(newest.at, one.row.judged_to)
    state, firing = alert_rules.silence(one.rule, State(one.row.active, one.row.told), last, now)
    if not state.active:
        due = from_ms(last + one.rule.window)
    elif quiet is not None and not state.told:
        due = from_ms(quiet.after(now))
    else:
        due = rows.now + IDLE
    return Judged(state, one.row.judged_to, due, [one.told(firing)] if firing else [])


async def _judge_pace(rows: Rows, one: Watched) -> Judged:
    now, state = to_ms(rows.now), State(one.row.active, one.row.told)
    current = buckets.grid(rows.now, rows.now + timedelta(milliseconds=1), one.row.period, one.zone)
    grid = buckets.grid(from_ms(current.start), rows.now + timedelta(milliseconds=1), Period.P1D, one.zone)
    (found,) = await amounts(rows, [one.resource], [one.field], grid)
    if isinstance(found, GatewayError):
        raise found
    span = (current.start, current.stop)
    state, firing = alert_rules.pace(one.rule, state, sum(found.sum), span, now, judged=one.row.judged_to)
    return Judged(state, now, from_ms(now - now % HOUR + HOUR), [one.told(firing)] if firing else [])


async def back_test(rows: Rows, parents: Sequence[AlertRule], *, days: int = 30) -> list[BackTest | GatewayError]:
    """How often each rule would have fired in the last days, and when, had readings come as they were measured."""
    if not 1 <= days <= MAX_DAYS:
        raise BadInput("a back-test goes over 1 to 366 days", problems=[Problem(("days",), f"is not 1 to {MAX_DAYS}")])
    found = await watched(rows, parents)
    start = rows.now - timedelta(days=days)
    sampled = await _sampled(rows, [one for one in found if one.row.kind is not RuleKind.PACE], to_ms(start))
    told: list[BackTest | GatewayError] = []
    for one in found:
        if one.row.kind is RuleKind.PACE:
            fired = await _paces(rows, one, start)
        else:
            fired = _fired(one, sampled[one.key], to_ms(start), to_ms(rows.now))
        told.append(fired if isinstance(fired, GatewayError) else _told(one, fired, start, rows.now))
    return either(await withheld(rows, [one.resource for one in found]), [one.resource for one in found], told)


def _told(one: Watched, firings: list[Firing], start: datetime, end: datetime) -> BackTest:
    return BackTest(start, end, len(firings), [one.told(firing) for firing in firings[:MAX_TOLD]])


async def _sampled(rows: Rows, found: Sequence[Watched], start: int) -> dict[SeriesKey, list[alert_rules.Sample]]:
    """The samples by which rules are judged from an instant on: with those that fill their first windows."""
    since: dict[SeriesKey, int] = {}
    for one in found:
        since[one.key] = min(since.get(one.key, start), start - one.rule.window)
    samples = await rows.series.from_on(since, limit=MAX_SAMPLES)
    if samples is None:
        problem = Problem(("days",), f"are more than {MAX_SAMPLES:,} readings")
        raise BadInput("the back-test goes over too many readings: ask fewer days", problems=[problem])
    return samples


def _fired(one: Watched, samples: list[alert_rules.Sample], start: int, end: int) -> list[Firing]:
    if one.row.kind is RuleKind.NO_DATA:
        instants = [at for at, _ in samples if at < end]
        return [firing for firing in alert_rules.silences(one.rule, instants, end) if firing.at >= start]
    own = [sample for sample in samples if sample[0] > start - one.rule.window]
    delay = one.field.interval_ms or 0
    return alert_rules.threshold(one.rule, State(), own, after=start - 1, fresh_from=start, delay=delay)[1]


async def _paces(rows: Rows, one: Watched, start: datetime) -> list[Firing] | GatewayError:
    """The pace at each half hour, of what has been used until then."""
    end = rows.now
    periods = buckets.grid(start, end, one.row.period, one.zone)
    grid = buckets.grid(from_ms(periods.start), end, Period.PT30M, UTC)
    (found,) = await amounts(rows, [one.resource], [one.field], grid)
    if isinstance(found, GatewayError):
        return found
    moments = [edge for edge in grid.edges if to_ms(start) <= edge <= to_ms(end)]
    return alert_rules.paces(one.rule, grid.edges, found.sum, periods.edges, moments=moments)
