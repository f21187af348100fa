"""The alerts of alert rules. Their data has exactly the variables of the rule's kind."""

from typing import Any

from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db.models import AlertType, VirtualEntity, VirtualEntityResource
from wattgate.db.queries.alert_rules import LoadedRule, RuleFiring
from wattgate.db.queries.alert_types import contract_of
from wattgate.db.rows.rows import Rows
from wattgate.delivery.templates.language.contract import RULE_VARIABLES
from wattgate.enums import RuleKind
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json


def sends_rules_of_kind(alert_type: AlertType, kind: RuleKind) -> bool:
    """Return whether rules of a kind supply the variables of an alert type. An undeclared type takes any data."""
    contract = contract_of(alert_type)
    return not contract.declared or contract.own == RULE_VARIABLES[kind]


async def build_alert(rows: Rows, loaded_rule: LoadedRule, firing: RuleFiring) -> types.NewAlert:
    """Return the alert that a rule sends."""
    rule = loaded_rule.row
    home_id = await _find_home_id(rows, loaded_rule)
    return types.NewAlert(
        user_id=Id(rule.user_id),
        alert_type_id=rule.alert_type_id,
        channels=[types.Channel(channel) for channel in rule.channels],
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
        "unit": "s" if rule.kind is RuleKind.NO_DATA else rule.unit,
        "windowMinutes": rule.window_minutes,
        "at": format_iso(firing.at),
        "value": firing.value,
    }
    if rule.threshold is not None:
        data["threshold"] = f"{rule.threshold.normalize():f}"
    if rule.kind is RuleKind.PACE:
        data["period"] = rule.period.value
    return data


async def _find_home_id(rows: Rows, loaded_rule: LoadedRule) -> str | None:
    """Return the home of a rule, or else the first open home of the user with its resource."""
    rule = loaded_rule.row
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.resource_id) == rule.resource_id)
    candidates = [rule.ve_id, *sorted(link.ve_id for link in links)]
    homes = await rows.get_many(VirtualEntity, [ve_id for ve_id in candidates if ve_id is not None])
    own = (ve_id for ve_id in candidates if ve_id in homes and homes[ve_id].owner_id == rule.user_id)
    return next(own, None)
