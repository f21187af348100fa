"""The contracts of alert types, and their newest alerts."""

from collections.abc import Sequence

from sqlmodel import col

from wattgate.db.models import Alert, AlertType
from wattgate.db.rows.rows import Rows
from wattgate.delivery.templates.language.contract import Contract, ContractVariable, build_contract
from wattgate.enums import RuleKind

MAX_RECENT_ALERTS = 50
"""Maximum alerts of a type that are listed."""


def contract_of(alert_type: AlertType) -> Contract:
    """Return the contract of an alert type. The samples of the alert's name and code are those of the type."""
    contract = build_contract(alert_type.system_alert_type_id, alert_type.rule_kind, alert_type.variables)
    return contract.with_samples({"alert.name": alert_type.name, "alert.code": alert_type.system_alert_type_id})


async def variables(rows: Rows, alert_types: Sequence[AlertType]) -> list[list[ContractVariable]]:
    """Return the variables of each alert type: first those of every alert, then its own."""
    return [contract_of(alert_type).listed() for alert_type in alert_types]


async def rule_kinds(rows: Rows, alert_types: Sequence[AlertType]) -> list[RuleKind | None]:
    """Return the kind of the rules that send alerts of each type, or None."""
    return [alert_type.rule_kind for alert_type in alert_types]


async def declared(rows: Rows, alert_types: Sequence[AlertType]) -> list[bool]:
    """Return whether the variables of each alert type are declared."""
    return [contract_of(alert_type).declared for alert_type in alert_types]


async def recent_alerts(rows: Rows, alert_type_id: str, limit: int, user_id: str | None = None) -> list[Alert]:
    """Return the newest alerts of a type, newest first. With a user, return only those to the user."""
    conditions = [col(Alert.alert_type_id) == alert_type_id]
    if user_id is not None:
        conditions.append(col(Alert.user_id) == user_id)
    newest_first = [col(Alert.created_at).desc(), Alert.alert_id]
    return await rows.all(Alert, *conditions, order_by=newest_first, limit=limit)
