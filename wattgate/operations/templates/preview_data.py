"""The data of a preview: of the request, of a sent alert, or samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wattgate.db.models import Alert, AlertType
from wattgate.db.queries.alert_types import contract_of, recent_alerts
from wattgate.db.queries.templates import application_culture
from wattgate.db.rows.lookups import not_found
from wattgate.delivery.templates.language.contract_values import data_problems
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.message_context import MessageContext, load_context, merge_groups, sample_context
from wattgate.operations.types.messages import template_previews as types

MAX_CANDIDATES = 10
"""Maximum alerts that are searched for data that fits the variables of their type."""


@dataclass(frozen=True, slots=True)
class PreviewData:
    """The values of a preview, or None if samples are generated, and where they are from."""

    values: dict[str, Any] | None
    source: types.PreviewData
    context: MessageContext
    alert: Alert | None = None
    alert_type_name: str = ""


async def load_preview_data(
    call: Call, input: types.TemplateToPreview, alert_type: AlertType | None, template_culture: str | None
) -> PreviewData:
    """Return the data of a preview: of the input, else of its alert, else of the newest alert, else samples."""
    if input.data is not None and not isinstance(input.data, dict):
        raise BadInput("Invalid data. Give a JSON object.", problems=[Problem(("input", "data"), "is not an object")])
    alert = await _find_alert(call, input, alert_type)
    name = "" if alert_type is None else alert_type.name
    if alert is not None:
        alert_type = alert_type or await call.rows.get(AlertType, alert.alert_type_id)
        context = await load_context(call.rows, alert, alert_type, input.culture_code)
        return PreviewData(context.merge(alert.data), types.PreviewData.ALERT, context, alert, name)
    culture = input.culture_code or template_culture or await application_culture(call.rows)
    context = sample_context(alert_type, culture)
    if isinstance(input.data, Mapping):
        values = merge_groups(context.base, input.data)
        return PreviewData(values, types.PreviewData.GIVEN, context, alert_type_name=name)
    return PreviewData(None, types.PreviewData.MADE, context, alert_type_name=name)


async def _find_alert(call: Call, input: types.TemplateToPreview, alert_type: AlertType | None) -> Alert | None:
    """Return the alert that the input names, or the newest one that fits the alert type, or None.

    Callers that see their own records only get alerts to their own user only.
    """
    own_user_id = call.principal.user_id if call.principal.sees_own_records_only else None
    if input.alert_id is not None:
        alert = await call.rows.get(Alert, input.alert_id)
        if own_user_id is not None and alert.user_id != own_user_id:
            raise not_found(Alert, input.alert_id)
        return alert
    if input.data is not None or input.samples or alert_type is None:
        return None
    contract = contract_of(alert_type)
    for candidate in await recent_alerts(call.rows, alert_type.alert_type_id, MAX_CANDIDATES, own_user_id):
        if isinstance(candidate.data, dict) and not data_problems(contract, candidate.data):
            return candidate
    return None
