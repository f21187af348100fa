"""Find an alert type by its id or short code."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import col

from wattgate.db.models import AlertType
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem


async def find_alert_type(rows: Rows, id_or_code: str) -> AlertType | None:
    """Return the alert type with this id, or the active one with this short code, or None."""
    alert_types = await rows.all(
        AlertType,
        (col(AlertType.alert_type_id) == id_or_code)
        | ((col(AlertType.system_alert_type_id) == id_or_code) & col(AlertType.active).is_(True)),
        order_by=[AlertType.name],
    )
    return alert_types[0] if alert_types else None


def sending_problem(alert_type: AlertType) -> str | None:
    """Return why callers and rules cannot send alerts of a type, or None if they can."""
    if alert_type.system_alert_type_id in ACCOUNT_MAIL_TYPES:
        return f"{alert_type.system_alert_type_id} is a mail of the gateway itself, which only the gateway sends"
    return None


def check_free_code(short_code: str) -> None:
    """Raise Conflict if a short code belongs to a mail of the gateway itself."""
    if short_code in ACCOUNT_MAIL_TYPES:
        raise Conflict(
            f"The short code {short_code} belongs to a mail of the gateway itself, and the application has its alert "
            "type already. Use another one."
        )


def check_fixed_fields(alert_type: AlertType, changes: Mapping[str, Any]) -> None:
    """Raise BadInput or Conflict if changes of an alert type take or give up the short code of a gateway's own mail."""
    if alert_type.system_alert_type_id not in ACCOUNT_MAIL_TYPES:
        return check_free_code(changes.get("system_alert_type_id", alert_type.system_alert_type_id))
    problems = [
        Problem(("input", to_camel_case(name)), "cannot change")
        for name, value in changes.items()
        if name not in ("name", "description") and value != getattr(alert_type, name)
    ]
    if problems:
        raise BadInput(
            f"{alert_type.system_alert_type_id} is a mail of the gateway itself. Only its name and description can "
            "change.",
            problems=problems,
        )
    return None


def account_mail_alert_types() -> list[AlertType]:
    """Return the alert types of the gateway's own mails, which each application has."""
    return [
        AlertType(name=kind.name, system_alert_type_id=short_code, description=kind.description)
        for short_code, kind in ACCOUNT_MAIL_TYPES.items()
    ]


async def require_alert_type(rows: Rows, id_or_code: str) -> AlertType:
    """Return the alert type with this id or short code. Raise NotFound if there is none."""
    alert_type = await find_alert_type(rows, id_or_code)
    if alert_type is None:
        raise NotFound(f"No alert type has the id or short code {id_or_code!r}.")
    return alert_type
