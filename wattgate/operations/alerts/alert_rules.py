"""Add, change and remove alert rules, and evaluate them for `app/workers/alert_rules.py`."""

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.models import AlertType, VirtualEntity, VirtualEntityResource
from wattgate.db.models.messages.alerts import MAX_RULES, RULE_DECIMALS
from wattgate.db.queries import alert_rules as queries
from wattgate.db.queries.alert_rules import LoadedRule, RuleFiring
from wattgate.db.queries.alerts import contract_of
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.templates.language.contract import RULE_VARIABLES
from wattgate.energy.alert_rules import RULE_CLASSES
from wattgate.energy.functions import function_problem, is_register
from wattgate.energy.storage_fields import ReadingField, find_field, parse_fields
from wattgate.enums import Function, RuleKind
from wattgate.errors import BadInput, ConsentRevoked, NotFound, Problem
from wattgate.operations.alerts.alert_types import find_alert_type, sending_problem
from wattgate.operations.alerts.alerts import create_alert
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.messages import alert_rules as types
from wattgate.operations.types.messages import alerts as alerts_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.time_zones import time_zone_problem

RULES_PATH = "/alertrule"
RULE_PATH = RULES_PATH + "/{ruleId}"

MAX_NUMBER = 10**12
"""Maximum absolute value of a threshold or hysteresis."""

ALLOWED_FUNCTIONS = (Function.SUM, Function.AVG, Function.MIN, Function.MAX)

_WOKEN_BY_READINGS = [kind for kind, rule_class in RULE_CLASSES.items() if not rule_class.only_ended_by_readings]

_TERMS_OF_SENDING = frozenset({"name", "alert_type_id", "channels", "quiet_from", "quiet_to"})
"""Columns of a rule that say how it sends alerts, and not what it judges."""

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=1), timedelta(days=1)

_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")


@operation(
    OperationKind.MUTATION,
    returns=types.AlertRule,
    needs=Permission.NOTIFICATION_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", RULES_PATH, Tag.ALERT_RULES, status=201),
)
async def add_alert_rule(call: Call, *, input: types.NewAlertRule) -> models.AlertRule:
    """Add an alert rule for the acting user. A user has at most 100 rules.

    The rule evaluates readings from now on. Earlier readings count only as part of its first time windows.
    """
    user_id = require_user_id(call)
    resource, field, values = await _validate_new_rule(call, user_id, input)
    rule = await call.rows.add(
        models.AlertRule(
            **values,
            user_id=user_id,
            resource_id=resource.resource_id,
            field=field.name,
            unit=field.unit,
            **queries.restart_values(call.rows.now),
        )
    )
    await _update_watched(call, resource.resource_id)
    return rule


@operation(
    OperationKind.MUTATION,
    returns=types.AlertRule,
    needs=Permission.NOTIFICATION_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", RULE_PATH, Tag.ALERT_RULES),
)
async def update_alert_rule(call: Call, *, rule_id: ids.RuleId, input: types.AlertRuleChange) -> models.AlertRule:
    """Change an alert rule. Omitted fields keep their values.

    If the change concerns what the rule judges, it starts again: if its condition is met, it fires at the next reading.
    A change of the name, the alert type, the channels or the quiet hours does not start it again.
    """
    rule = await call.rows.edit(models.AlertRule, rule_id)
    changes = to_column_values(input, models.AlertRule)
    if isinstance(input.channels, list):
        changes["channels"] = list(dict.fromkeys(input.channels))
    await _replace_short_code(call, changes)
    resource = await call.rows.get(models.Resource, rule.resource_id)
    merged = {name: getattr(rule, name) for name in models.AlertRule.model_fields} | changes
    if problems := await _validate(call, merged, find_field(parse_fields(resource.storage), rule.field)):
        raise BadInput("Invalid alert rule. See `problems`.", problems=problems)
    now = call.rows.now
    starts_again = any(changes[name] != getattr(rule, name) for name in changes.keys() - _TERMS_OF_SENDING)
    state = queries.restart_values(now) if starts_again else {"due_at": now}
    for name, value in {**changes, **state, "updated_at": now}.items():
        setattr(rule, name, value)
    await call.rows.flush()
    await _update_watched(call, rule.resource_id)
    return rule


@operation(
    OperationKind.MUTATION,
    returns=types.AlertRule,
    needs=Permission.NOTIFICATION_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", RULE_PATH, Tag.ALERT_RULES),
)
async def remove_alert_rule(call: Call, *, rule_id: ids.RuleId) -> models.AlertRule:
    """Remove an alert rule. The alerts that it has sent are kept."""
    rule = await call.rows.get(models.AlertRule, rule_id)
    await call.rows.delete(models.AlertRule, col(models.AlertRule.rule_id) == rule_id)
    await _update_watched(call, rule.resource_id)
    return rule


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_due_rules(call: Call) -> list[str]:
    """Return the applications with rules whose next evaluation is due."""
    return await call.rows.application_ids_with(
        models.AlertRule, col(models.AlertRule.enabled).is_(True), col(models.AlertRule.due_at) <= call.rows.now
    )


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def due_rules(call: Call, *, limit: int) -> list[str]:
    """Return the ids of at most `limit` rules whose next evaluation is due, the longest due first."""
    rules = await call.rows.all(
        models.AlertRule,
        col(models.AlertRule.enabled).is_(True),
        col(models.AlertRule.due_at) <= call.rows.now,
        order_by=[models.AlertRule.due_at, models.AlertRule.rule_id],
        limit=limit,
    )
    return [rule.rule_id for rule in rules]


@operation(OperationKind.QUERY, returns=dict[str, int], needs=Permission.SYSTEM)
async def rules_for_recorded_fields(call: Call, *, oldest_by_field: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Return the ids of the rules to evaluate after readings of these resource ids and fields.

    Each has the instant of the first new reading (ms since 1970). Readings matter to rules of some kinds only while
    they are active, because they can only end the condition. A rule that failed waits until it is due.
    """
    rules = await call.rows.all(
        models.AlertRule,
        col(models.AlertRule.enabled).is_(True),
        col(models.AlertRule.resource_id).in_({resource_id for resource_id, _ in oldest_by_field}),
        or_(col(models.AlertRule.kind).in_(_WOKEN_BY_READINGS), col(models.AlertRule.active).is_(True)),
        or_(col(models.AlertRule.failures) == 0, col(models.AlertRule.due_at) <= call.rows.now),
        order_by=[models.AlertRule.due_at, models.AlertRule.rule_id],
    )
    fields = {rule.rule_id: (rule.resource_id, rule.field) for rule in rules}
    return {rule_id: oldest_by_field[field] for rule_id, field in fields.items() if field in oldest_by_field}


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def evaluate_rule(call: Call, *, rule_id: str, late_from: int | None = None) -> int:
    """Evaluate the new readings of a rule, and send its alerts. Return their number.

    `late_from` (ms since 1970) is the instant of the earliest new reading. The rule may have judged later ones.

    The transaction locks the rule and stores its state with the alerts, so that each alert is sent once. While the
    alerts are rendered, no transaction is open. Another process may evaluate the rule then; this one starts again.
    """
    rule = await call.rows.edit(models.AlertRule, rule_id)
    if not rule.enabled:
        return 0
    if late_from is not None and late_from <= rule.judged_to:
        rule.late_from = late_from if rule.late_from is None else min(late_from, rule.late_from)
    (loaded_rule,) = await queries.load_rules(call.rows, [rule])
    if not loaded_rule.resource.active:  # no evaluation until the resource is open again
        return _postpone(call, rule)
    try:
        evaluation = await queries.evaluate(call.rows, loaded_rule)
    except ConsentRevoked:  # no evaluation until the consent is renewed
        return _postpone(call, rule)
    evaluation.store(rule)
    alerts = await call.outside.collect(_send_alert(call, loaded_rule, firing) for firing in evaluation.firings)
    return len(alerts)


async def _send_alert(call: Call, loaded_rule: queries.LoadedRule, firing: queries.RuleFiring) -> models.Alert:
    """Send the alert of a rule that fires, and store the time in the rule."""
    rule = loaded_rule.row
    rule.fired_at = firing.at
    return await create_alert(call, await build_alert(call.rows, loaded_rule, firing), resource_id=rule.resource_id)


def _postpone(call: Call, rule: models.AlertRule) -> int:
    """Skip the readings until now. Return the number of alerts, which is 0."""
    state = queries.restart_values(call.rows.now) | {"due_at": call.rows.now + queries.IDLE_INTERVAL}
    for name, value in state.items():
        setattr(rule, name, value)
    return 0


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def postpone_failed_rule(call: Call, *, rule_id: str, problem: str) -> int:
    """Postpone the next evaluation of a rule that failed, each time for longer. Return the number of failures.

    Otherwise rules that always fail would be evaluated first for ever, and no other rule would be. A rule that was
    removed meanwhile has none.
    """
    try:
        rule = await call.rows.edit(models.AlertRule, rule_id)
    except NotFound:
        return 0
    pause = min(_FIRST_PAUSE * 2 ** min(rule.failures, 20), _LONGEST_PAUSE)
    rule.failures, rule.problem, rule.due_at = rule.failures + 1, problem, call.rows.now + pause
    return rule.failures


async def _validate_new_rule(
    call: Call, user_id: str, input: types.NewAlertRule
) -> tuple[models.Resource, ReadingField, dict[str, Any]]:
    """Return the resource and the field of a new rule, and its other column values. Raise BadInput if it is invalid."""
    resource, problems = await _find_resource(call, user_id, input)
    fields = () if resource is None else parse_fields(resource.storage)
    field = find_field(fields, input.field) if fields else None
    if fields and field is None:
        problems.append(Problem(("input", "field"), f"the resource has no field {input.field}"))
    values = to_column_values(input, models.AlertRule, exclude={"resource_id", "classifier", "field"})
    values["channels"] = list(dict.fromkeys(input.channels))
    await _replace_short_code(call, values)
    if await call.rows.count(models.AlertRule, col(models.AlertRule.user_id) == user_id) >= MAX_RULES:
        problems.append(
            Problem(("input",), f"exceeds the maximum of {MAX_RULES} rules for each user; remove a rule first")
        )
    problems += await _validate(call, values, field)
    if resource is None or field is None or problems:
        raise BadInput("Invalid alert rule. See `problems`.", problems=problems)
    if resource.cost_of and not RULE_CLASSES[input.kind].takes_costs:
        kinds = " or ".join(kind.name for kind, rule_class in RULE_CLASSES.items() if rule_class.takes_costs)
        problem = Problem(("input", "kind"), f"must be {kinds}, because the resource holds costs")
        raise BadInput("Invalid alert rule. See `problems`.", problems=[problem])
    return resource, field, values


async def _find_resource(
    call: Call, user_id: str, input: types.NewAlertRule
) -> tuple[models.Resource | None, list[Problem]]:
    """Return the user's resource that the input names by id, or by home and classifier; otherwise the problems."""
    if (input.resource_id is None) == (input.ve_id is None):
        return None, [Problem(("input", "resourceId"), "must be given, or a home, but not both")]
    if input.resource_id is not None:
        resource = (await call.rows.get_many(models.Resource, [input.resource_id])).get(input.resource_id)
        if resource is None or resource.owner_id != user_id:
            return None, [Problem(("input", "resourceId"), f"{input.resource_id} does not exist")]
        if not resource.active:
            return None, [Problem(("input", "resourceId"), f"{input.resource_id} is closed")]
        return resource, []
    assert input.ve_id is not None
    home = (await call.rows.get_many(models.VirtualEntity, [input.ve_id])).get(input.ve_id)
    if home is None or home.owner_id != user_id:
        return None, [Problem(("input", "veId"), f"{input.ve_id} does not exist")]
    links = await call.rows.all(models.VirtualEntityResource, col(models.VirtualEntityResource.ve_id) == input.ve_id)
    of_home = (await call.rows.get_many(models.Resource, [link.resource_id for link in links])).values()
    matching = [resource for resource in of_home if resource.active and resource.classifier == input.classifier]
    if len(matching) != 1:
        message = (
            f"{len(matching)} resources of the home have the classifier {input.classifier}; give resourceId instead"
        )
        return None, [Problem(("input", "classifier"), message)]
    return matching[0], []


async def _replace_short_code(call: Call, values: dict[str, Any]) -> None:
    """Replace the short code of an alert type by its id. An unknown one stays, and `_validate` reports it."""
    if "alert_type_id" in values:
        alert_type = await find_alert_type(call.rows, values["alert_type_id"])
        values["alert_type_id"] = alert_type.alert_type_id if alert_type else values["alert_type_id"]


async def _validate(call: Call, values: dict[str, Any], field: ReadingField | None) -> list[Problem]:
    """Return the problems of a rule's values. The field is None if the resource or the field is unknown."""
    problems: list[tuple[str, str]] = []
    alert_type = (await call.rows.get_many(models.AlertType, [values["alert_type_id"]])).get(values["alert_type_id"])
    if alert_type is None:
        problems.append(("alertTypeId", f"{values['alert_type_id']} does not exist"))
    elif problem := sending_problem(alert_type):
        problems.append(("alertTypeId", problem))
    elif not sends_rules_of_kind(alert_type, values["kind"]):
        kind = values["kind"].name
        problems.append(
            ("alertTypeId", f"has other variables than rules of kind {kind}; use a type with ruleKind {kind}")
        )
    if not values["channels"]:
        problems.append(("channels", "must not be empty"))
    problems += RULE_CLASSES[values["kind"]].problems(values, field)
    if values["function"] not in ALLOWED_FUNCTIONS:
        problems.append(("function", "is not SUM, AVG, MIN or MAX"))
    elif field is not None and is_register(field) and (problem := function_problem(field, values["function"])):
        problems.append(("function", problem))
    problems += _validate_numbers(values["kind"], values["threshold"], values["hysteresis"], field)
    problems += _validate_quiet_hours(values["quiet_from"], values["quiet_to"], values["time_zone"])
    return [Problem(("input", name), message) for name, message in problems]


def _validate_numbers(
    kind: RuleKind, threshold: Decimal | None, hysteresis: Decimal, field: ReadingField | None
) -> list[tuple[str, str]]:
    rule_class = RULE_CLASSES[kind]
    if (threshold is not None) != rule_class.has_limit:
        return [("threshold", "is missing" if threshold is None else f"must be null for a rule of kind {kind.name}")]
    max_decimals = min(RULE_DECIMALS, RULE_DECIMALS if field is None else field.decimals)
    problems = []
    for name, number in (("threshold", threshold), ("hysteresis", hysteresis)):
        if number is None:
            continue
        if not number.is_finite() or abs(number) > MAX_NUMBER:
            problems.append((name, f"must be a number between -{MAX_NUMBER:,} and {MAX_NUMBER:,}"))
        elif number != round(number, max_decimals):
            problems.append((name, f"has more than {max_decimals} decimal places"))
    if problems:
        return problems
    if threshold is not None and (problem := rule_class.limit_problem(threshold)):
        problems.append(("threshold", problem))
    if hysteresis < 0:
        problems.append(("hysteresis", "is negative"))
    elif hysteresis > abs(threshold or Decimal(0)):
        problems.append(("hysteresis", "is greater than the absolute value of the threshold"))
    return problems


def _validate_quiet_hours(start: str | None, end: str | None, zone: str | None) -> list[tuple[str, str]]:
    problems = [
        (name, f"{time[:20]} is not a time of day such as 22:00")
        for name, time in (("quietFrom", start), ("quietTo", end))
        if time is not None and not _TIME_OF_DAY.fullmatch(time)
    ]
    if (start is None) != (end is None):
        problems.append(("quietFrom" if start is None else "quietTo", "is missing"))
    elif start is not None and start == end:
        problems.append(("quietTo", "is the same as quietFrom"))
    if zone is not None and (problem := time_zone_problem(zone)):
        problems.append(("timeZone", problem))
    return problems


async def _update_watched(call: Call, resource_id: str) -> None:
    """Mark whether a resource has rules, so that recording its readings wakes the workers that evaluate them."""
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


# The alerts of alert rules. Their data has exactly the variables of the rule's kind.


def sends_rules_of_kind(alert_type: AlertType, kind: RuleKind) -> bool:
    """Return whether rules of a kind supply the variables of an alert type. An undeclared type takes any data."""
    contract = contract_of(alert_type)
    return not contract.declared or contract.own == RULE_VARIABLES[kind]


async def build_alert(rows: Rows, loaded_rule: LoadedRule, firing: RuleFiring) -> alerts_types.NewAlert:
    """Return the alert that a rule sends."""
    rule = loaded_rule.row
    home_id = await _find_home_id(rows, loaded_rule)
    return alerts_types.NewAlert(
        user_id=Id(rule.user_id),
        alert_type_id=rule.alert_type_id,
        channels=list(rule.channels),
        data=Json(rule_data(loaded_rule, firing)),
        ve_id=None if home_id is None else Id(home_id),
    )


def rule_data(loaded_rule: LoadedRule, firing: RuleFiring) -> dict[str, Any]:
    """Return the variables of a firing, as `RULE_VARIABLES` declares them."""
    rule = loaded_rule.row
    data: dict[str, Any] = {
        "ruleId": rule.rule_id,
        "rule": rule.name,
        "kind": rule.kind.value,
        "resourceId": rule.resource_id,
        "resource": loaded_rule.resource.name,
        "field": rule.field,
        "unit": loaded_rule.rule.unit(rule.unit),
        "windowMinutes": rule.window_minutes,
        "at": format_iso(firing.at),
        "value": firing.value,
        "threshold": None if rule.threshold is None else f"{rule.threshold.normalize():f}",
        "period": rule.period.value,
    }
    return {variable.name: data[variable.name] for variable in RULE_VARIABLES[rule.kind]}


async def _find_home_id(rows: Rows, loaded_rule: LoadedRule) -> str | None:
    """Return the home of a rule, or else the first home of the user; both only if open and with its resource."""
    rule = loaded_rule.row
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.resource_id) == rule.resource_id)
    homes = await rows.get_many(VirtualEntity, [link.ve_id for link in links])
    own = sorted(ve_id for ve_id, home in homes.items() if home.active and home.owner_id == rule.user_id)
    return rule.ve_id if rule.ve_id in own else next(iter(own), None)
