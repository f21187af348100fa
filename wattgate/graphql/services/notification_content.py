"""What a notification says: a template rendered when the alert is sent, and kept as it went out."""

import asyncio

from wattgate.db.models import Alert, AlertType, Notification, TemplateVersion
from wattgate.db.queries import templates as queries
from wattgate.delivery.templates.diagnostics import TemplateError
from wattgate.delivery.templates.rendering import RenderedTemplate, render
from wattgate.graphql.core.operation import Call
from wattgate.graphql.services.template_sources import template_source


async def render_content(call: Call, alert: Alert, sent: Notification) -> str | None:
    """Put on a notification what it says; why its template does not serve, where one does not.

    Without a template that serves, it says what kind of alert it is: an alert that is told shortly is better than none.
    """
    choice = await queries.choose_template(call.rows, alert.alert_type_id, sent.channel, alert.culture_code)
    kind = await call.rows.get(AlertType, alert.alert_type_id)
    sent.subject, sent.text = kind.name, kind.description or kind.name
    if choice.template is None:
        return None
    (version,) = await queries.published(call.rows, [choice.template])
    sent.template_id, sent.template_version = version.template_id, version.version
    try:
        made = await asyncio.to_thread(_render_version, version, alert)
    except TemplateError as fault:
        return str(fault.findings[0])
    sent.subject, sent.html, sent.text = made.subject or kind.name, made.html, made.text
    return None


def _render_version(version: TemplateVersion, alert: Alert) -> RenderedTemplate:
    return render(template_source(version), alert.data if isinstance(alert.data, dict) else {})
