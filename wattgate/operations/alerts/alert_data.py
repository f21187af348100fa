"""Check of an alert's data against the variables of its alert type."""

from typing import Any

from wattgate.db.models import AlertType
from wattgate.db.queries.alert_types import contract_of
from wattgate.delivery.templates.language.contract_values import data_problems
from wattgate.errors import BadInput, Problem


def check_data(alert_type: AlertType, data: Any) -> None:
    """Raise BadInput if data lacks a required variable, or has a wrong type or an undeclared name."""
    problems = data_problems(contract_of(alert_type), data)
    if not problems:
        return
    path, message = problems[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    more = f" Problems in total: {len(problems)}; see `problems`." if len(problems) > 1 else ""
    raise BadInput(
        f"The data does not fit the variables of alert type {alert_type.system_alert_type_id!r}: "
        f"{name or 'data'} {message}.{more}",
        problems=[
            Problem(("input", "data", *path), message, is_missing=message.startswith("is missing"))
            for path, message in problems
        ],
    )
