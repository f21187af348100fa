"""Alert rules: added, changed, removed; and evaluated, which `app/workers/alert_rules.py` runs."""

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import strawberry
from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import iso, to_ms
from wattgate.db import models
from wattgate.db.models.alert_rules import DECIMALS
from wattgate.db.queries import alert_rules as queries
from wattgate.energy.storage_fields import Field, field_named, fields_of
from wattgate.enums import Function, Period, RuleKind
from wattgate.errors import BadInput, ConsentRevoked, Problem
from wattgate.graphql.core.inputs import values_of
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.resolvers.alerts import send_alert
from wattgate.graphql.types import alert_rules as types
from wattgate.graphql.types import alerts as alert_types
from wattgate.principal import Permission

BASE = "/alertrule"
ONE = BASE + "/{ruleId}"

MAX_RULES = 100
"""How many rules a user has at most."""

MAX_WINDOW = 31 * 24 * 60
"""The longest window, in minutes."""

MAX_LIVE_WINDOW = 24 * 60
"""The longest window over readings that come at no fixed interval, such as live power: all of it is read each time."""

MAX_NUMBER = 10**12

FUNCTIONS = (Function.SUM, Function.AVG, Function.MIN, Function.MAX)
PERIODS = (Period.P1D, Period.P1W, Period.P1M)

_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")


@operation(
    Kind.MUTATION,
    returns=types.AlertRule,
    needs=Permission.NOTIFICATION_WRITE,
    rest=Rest("POST", BASE, status=201),
)
async def add_alert_rule(call: Call, *, input: types.NewAlertRule) -> models.AlertRule:
    """Add a rule on readings. Readings of instants before that are not judged; they fill its first windows."""
    user_id = owner_of(call)
    resource, problems = await _resource(call, user_id, input)
    known = () if resource is None else fields_of(resource.storage)
    field = field_named(known, input.field) if known else None
    if known and field is None:
        problems.append(Problem(("input", "field"), f"the resource has no field {input.field}"))
    values = values_of(input, models.AlertRule, leave_out={"resource_id", "classifier", "field"})
    values["channels"] = _channels(input.channels)
    if await call.rows.count(models.AlertRule, col(models.AlertRule.user_id) == user_id) >= MAX_RULES:
        problems.append(Problem(("input",), f"would be one rule more than {MAX_RULES}"))
    problems += await _problems(call, values, field)
    if resource is None or field is None or problems:
        raise BadInput("the rule cannot be like this", problems=problems)
    if resource.cost_of and input.kind is not RuleKind.PACE:
        problem = Problem(("input", "kind"), "the resource tells a cost, which has a pace alone")
        raise BadInput("the rule cannot be like this", problems=[problem])
    made = await call.rows.add(
        models.AlertRule(
            **values,
            user_id=user_id,
            resource_id=resource.resource_id,
            field=field.name,
            unit=field.unit,
            judged_to=to_ms(call.rows.now),
            due_at=call.rows.now,
        )
    )
    await _watch(call, resource.resource_id)
    return made


@operation(Kind.MUTATION, returns=types.AlertRule, needs=Permission.NOTIFICATION_WRITE, rest=Rest("PUT", ONE))
async def update_alert_rule(call: Call, *, rule_id: strawberry.ID, input: types.AlertRuleChange) -> models.AlertRule:
    """Change a rule. It begins anew: what holds at the moment is told again with the next reading."""
    rule = await call.rows.edit(models.AlertRule, rule_id)
    changes = values_of(input, models.AlertRule)
    if isinstance(input.channels, list):
        changes["channels"] = _channels(input.channels)
    resource = await call.rows.get(models.Resource, rule.resource_id)
    merged = {name: getattr(rule, name) for name in models.AlertRule.model_fields} | changes
    if problems := await _problems(call, merged, field_named(fields_of(resource.storage), rule.field)):
        raise BadInput("the rule cannot be like this", problems=problems)
    now = call.rows.now
    begins = {"active": False, "told": False, "judged_to": to_ms(now), "due_at": now, "updated_at": now}
    for name, value in {**changes, **begins}.items():
        setattr(rule, name, value)
    await call.rows.flush()
    await _watch(call, rule.resource_id)
    return rule


@operation(Kind.MUTATION, returns=types.AlertRule, needs=Permission.NOTIFICATION_WRITE, rest=Rest("DELETE", ONE))
async def remove_alert_rule(call: Call, *, rule_id: strawberry.ID) -> models.AlertRule:
    """Remove a rule. The alerts that it has sent stay."""
    rule = await call.rows.get(models.AlertRule, rule_id)
    await call.rows.delete(models.AlertRule, col(models.AlertRule.rule_id) == rule_id)
    await _watch(call, rule.resource_id)
    return rule


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_with_due_rules(call: Call) -> list[str]:
    """The applications that have rules which time alone says are to be looked at."""
    return await call.rows.applications_with(
        models.AlertRule, col(models.AlertRule.enabled).is_(True), col(models.AlertRule.due_at) <= call.rows.now
    )


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def due_rules(call: Call, *, limit: int) -> list[str]:
    """The ids of at most so many rules that time alone says are to be looked at."""
    found = await call.rows.all(
        models.AlertRule,
        col(models.AlertRule.enabled).is_(True),
        col(models.AlertRule.due_at) <= call.rows.now,
        order_by=[models.AlertRule.due_at, models.AlertRule.rule_id],
        limit=limit,
    )
    return [one.rule_id for one in found]


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def woken_rules(call: Call, *, places: Collection[tuple[str, str]]) -> list[str]:
    """The ids of the rules for which readings of these resources and fields matter: silence only where there is one."""
    found = await call.rows.all(
        models.AlertRule,
        col(models.AlertRule.enabled).is_(True),
        col(models.AlertRule.resource_id).in_({resource_id for resource_id, _ in places}),
        or_(col(models.AlertRule.kind) != RuleKind.NO_DATA, col(models.AlertRule.active).is_(True)),
        order_by=[models.AlertRule.due_at, models.AlertRule.rule_id],
    )
    recorded = set(places)
    return [one.rule_id for one in found if (one.resource_id, one.field) in recorded]


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def evaluate_rule(call: Call, *, rule_id: str) -> int:
    """Judge what has come since a rule was looked at before, and send its alerts; how many these are.

    How the rule stands and its alerts are one transaction, in which nobody else has the rule: each is sent once.
    """
    row = await call.rows.edit(models.AlertRule, rule_id)
    if not row.enabled:
        return 0
    (one,) = await queries.watched(call.rows, [row])
    try:
        judged = await queries.judge(call.rows, one)
    except ConsentRevoked:  # silent until it is renewed
        row.due_at = call.rows.now + queries.IDLE
        row.judged_to = to_ms(call.rows.now)
        return 0
    row.active, row.told = judged.state.active, judged.state.told
    row.judged_to, row.due_at = judged.judged_to, judged.due_at
    for fired in judged.firings:
        row.fired_at = fired.at
        await send_alert.resolver(call, input=_alert(row, fired))
    return len(judged.firings)


def _alert(row: models.AlertRule, fired: queries.Fired) -> alert_types.NewAlert:
    return alert_types.NewAlert(
        user_id=strawberry.ID(row.user_id),
        alert_type_id=row.alert_type_id,
        channels=[alert_types.Channel(one) for one in row.channels],
        data=Json(
            {
                "ruleId": row.rule_id,
                "rule": row.name,
                "kind": row.kind.value,
                "resourceId": row.resource_id,
                "field": row.field,
                "value": fired.value,
                "unit": "s" if row.kind is RuleKind.NO_DATA else row.unit,
                "threshold": None if row.threshold is None else f"{row.threshold.normalize():f}",
                "at": iso(fired.at),
            }
        ),
    )


async def _resource(
    call: Call, user_id: str, input: types.NewAlertRule
) -> tuple[models.Resource | None, list[Problem]]:
    """The user's resource that the rule is for; or what is wrong with how it is named."""
    if (input.resource_id is None) == (input.ve_id is None):
        return None, [Problem(("input", "resourceId"), "give either a resource or a home")]
    if input.resource_id is not None:
        found = (await call.rows.many(models.Resource, [input.resource_id])).get(input.resource_id)
        if found is None or found.owner_id != user_id:
            return None, [Problem(("input", "resourceId"), f"{input.resource_id} does not exist")]
        return found, []
    assert input.ve_id is not None
    home = (await call.rows.many(models.VirtualEntity, [input.ve_id])).get(input.ve_id)
    if home is None or home.owner_id != user_id:
        return None, [Problem(("input", "veId"), f"{input.ve_id} does not exist")]
    links = await call.rows.all(models.VirtualEntityResource, col(models.VirtualEntityResource.ve_id) == input.ve_id)
    of_home = (await call.rows.many(models.Resource, [one.resource_id for one in links])).values()
    fitting = [one for one in of_home if one.active and one.classifier == input.classifier]
    if len(fitting) != 1:
        told = f"{len(fitting)} resources of the home are of {input.classifier}; name one by resourceId"
        return None, [Problem(("input", "classifier"), told)]
    return fitting[0], []


def _channels(given: Sequence[alert_types.Channel]) -> list[str]:
    return list(dict.fromkeys(one.value for one in given))


async def _problems(call: Call, values: dict[str, Any], field: Field | None) -> list[Problem]:
    """What is wrong with a rule, each with its place."""
    told: list[tuple[str, str]] = []
    if not await call.rows.many(models.AlertType, [values["alert_type_id"]]):
        told.append(("alertTypeId", f"{values['alert_type_id']} does not exist"))
    if not values["channels"]:
        told.append(("channels", "are none"))
    live = values["kind"] is RuleKind.THRESHOLD and field is not None and field.interval_ms is None
    longest = MAX_LIVE_WINDOW if live else MAX_WINDOW
    if not 1 <= values["window_minutes"] <= longest:
        told.append(("windowMinutes", f"is not 1 to {longest:,}"))
    if values["kind"] is RuleKind.PACE and values["period"] not in PERIODS:
        told.append(("period", "is not P1D, P1W or P1M"))
    if values["function"] not in FUNCTIONS:
        told.append(("function", "is not SUM, AVG, MIN or MAX"))
    told += _problems_of_numbers(values["kind"], values["threshold"], values["hysteresis"], field)
    told += _problems_of_hours(values["quiet_from"], values["quiet_to"], values["time_zone"])
    return [Problem(("input", place), message) for place, message in told]


def _problems_of_numbers(
    kind: RuleKind, threshold: Decimal | None, hysteresis: Decimal, field: Field | None
) -> list[tuple[str, str]]:
    if (threshold is None) != (kind is RuleKind.NO_DATA):
        return [("threshold", "is missing" if threshold is None else "means nothing where there is no data")]
    places = min(DECIMALS, DECIMALS if field is None else field.decimals)
    told = []
    for place, number in (("threshold", threshold), ("hysteresis", hysteresis)):
        if number is None:
            continue
        if not number.is_finite() or abs(number) > MAX_NUMBER:
            told.append((place, "is no number that a rule can have"))
        elif number != round(number, places):
            told.append((place, f"has more than {places} decimal places"))
    if told:
        return told
    if kind is RuleKind.PACE and threshold is not None and threshold <= 0:
        told.append(("threshold", "is a budget, and not more than 0"))
    if hysteresis < 0:
        told.append(("hysteresis", "is negative"))
    elif hysteresis > abs(threshold or Decimal(0)):
        told.append(("hysteresis", "is above the threshold"))
    return told


def _problems_of_hours(start: str | None, stop: str | None, zone: str | None) -> list[tuple[str, str]]:
    told = [
        (place, f"{one[:20]} is not a time of day such as 22:00")
        for place, one in (("quietFrom", start), ("quietTo", stop))
        if one is not None and not _TIME.fullmatch(one)
    ]
    if (start is None) != (stop is None):
        told.append(("quietFrom" if start is None else "quietTo", "is missing"))
    elif start is not None and start == stop:
        told.append(("quietTo", "is when they begin"))
    try:
        ZoneInfo(zone or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        told.append(("timeZone", f"{zone} is not an IANA time zone"))
    return told


async def _watch(call: Call, resource_id: str) -> None:
    """Have what is recorded for a resource told to the rules, if it has some."""
    count = await call.rows.count(
        models.AlertRule,
        col(models.AlertRule.resource_id) == resource_id,
        col(models.AlertRule.enabled).is_(True),
    )
    await call.rows.update(
        models.Resource,
        col(models.Resource.resource_id) == resource_id,
        watched=count > 0,
        updated_at=col(models.Resource.updated_at),
    )
