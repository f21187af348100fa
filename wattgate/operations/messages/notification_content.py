"""The content of a notification: a template that is rendered when the alert is sent, and stored as it was sent."""

from wattgate.db.models import Alert, AlertType, Notification
from wattgate.db.queries import templates as queries
from wattgate.delivery.templates.language.diagnostics import TemplateError
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.message_context import MessageContext
from wattgate.operations.messages.template_sources import template_source


async def render_content(
    call: Call, alert: Alert, notification: Notification, alert_type: AlertType, context: MessageContext
) -> str | None:
    """Set the content of a notification. Return the error of its template, or None if there is none.

    If there is no template, or it cannot be rendered, use the name and description of the alert type, because a short
    alert is better than none.
    """
    choice = await queries.choose_template(call.rows, alert.alert_type_id, notification.channel, context.culture)
    notification.subject, notification.text = alert_type.name, alert_type.description or alert_type.name
    if choice.template is None:
        return None
    (version,) = await queries.current_versions(call.rows, [choice.template])
    notification.template_id, notification.template_version = version.template_id, version.version
    try:
        rendered = await call.templates.render(
            template_source(version), context.merge(alert.data), context.scope(choice.template.culture_code)
        )
    except TemplateError as error:
        return str(error.findings[0])
    notification.subject, notification.html, notification.text = (
        rendered.subject or alert_type.name,
        rendered.html,
        rendered.text,
    )
    return None
