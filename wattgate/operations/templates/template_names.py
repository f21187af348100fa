"""Check of the names in a template before it is published."""

from wattgate.db.models import AlertType, Template
from wattgate.db.queries.alert_types import contract_of
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.scope import RenderScope
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.template_sources import too_expensive


async def check_names(call: Call, template: Template, source: TemplateSource) -> None:
    """Raise BadInput if a source uses a name that its alert type does not declare.

    Without a declaration, every name is allowed: the data of alerts decides.
    """
    alert_type = await call.rows.get(AlertType, template.alert_type_id)
    contract = contract_of(alert_type)
    if not contract.declared:
        return
    try:
        findings = await call.templates.check(source, RenderScope(contract))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    if findings:
        raise BadInput(
            f"The template does not fit alert type {alert_type.system_alert_type_id!r} and cannot be published: "
            f"{findings[0]}",
            problems=[Problem(("input",), str(finding)) for finding in findings],
        )
