"""Add and change alert types. The alert types of the gateway's own mails are protected."""

from typing import Any

import strawberry

from wattgate.db import models
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.graphql.core.inputs import apply_input, to_column_values
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.types import alerts as types
from wattgate.principal import AuthScheme, Permission


@operation(
    OperationKind.MUTATION,
    returns=types.AlertType,
    needs=Permission.ALERT_WRITE,
    rest=RestRoute("POST", "/alerttype", scheme=AuthScheme.BASIC),
)
async def add_alert_type(call: Call, *, input: types.NewAlertType) -> models.AlertType:
    """Add an alert type to the application."""
    _check_short_code(input.system_alert_type_id)
    return await call.rows.add(models.AlertType(**to_column_values(input, models.AlertType)))


@operation(
    OperationKind.MUTATION,
    returns=types.AlertType,
    needs=Permission.ALERT_WRITE,
    rest=RestRoute("PUT", "/alerttype/{alertTypeId}", scheme=AuthScheme.BASIC),
)
async def update_alert_type(
    call: Call, *, alert_type_id: strawberry.ID, input: types.AlertTypeChange
) -> models.AlertType:
    """Change an alert type. Omitted fields keep their values.

    The short code and the activity of the alert types of the gateway's own mails, such as account.verify, cannot
    change.
    """
    alert_type = await call.rows.edit(models.AlertType, alert_type_id)
    changes = to_column_values(input, models.AlertType)
    if alert_type.system_alert_type_id in ACCOUNT_MAIL_TYPES:
        _check_fixed_fields(alert_type, changes)
    elif "system_alert_type_id" in changes:
        _check_short_code(changes["system_alert_type_id"])
    return apply_input(alert_type, input)


def _check_short_code(short_code: str) -> None:
    if short_code in ACCOUNT_MAIL_TYPES:
        raise Conflict(
            f"The short code {short_code} belongs to a mail of the gateway itself, and the application has its alert "
            "type already. Use another one."
        )


def _check_fixed_fields(alert_type: models.AlertType, changes: dict[str, Any]) -> None:
    fixed = {"system_alert_type_id": "systemAlertTypeId", "active": "active"}
    problems = [
        Problem(("input", shown), "cannot change")
        for name, shown in fixed.items()
        if name in changes and changes[name] != getattr(alert_type, name)
    ]
    if problems:
        raise BadInput(
            f"{alert_type.system_alert_type_id} is a mail of the gateway itself. Only its name and description can "
            "change.",
            problems=problems,
        )
