"""The root fields that return long lists page by page. `Viewer` and `Application` have the same lists as edges.

A list that grows with the number of users or with time has pages. A list that people write, or whose length a quota or
the nature of its records limits, is a plain list.
"""

from wattgate.db import models
from wattgate.operations.core.pagination import paginate
from wattgate.operations.types.identity import personal_data as audit_types
from wattgate.operations.types.messages import alerts as alert_types
from wattgate.operations.types.messages import mail as mail_types
from wattgate.principal import Permission

CONNECTIONS = (
    paginate("alerts", models.Alert, alert_types.Alert, needs=Permission.NOTIFICATION_READ, noun="alerts"),
    paginate(
        "mail_suppressions",
        models.MailSuppression,
        mail_types.MailSuppression,
        needs=Permission.NOTIFICATION_SEND,
        noun="suppressed mail addresses",
    ),
    paginate(
        "audit_entries", models.AuditEntry, audit_types.AuditEntry, needs=Permission.AUDIT_READ, noun="audit entries"
    ),
)
"""The paginated root fields. GraphQL has them; REST has plain lists."""
