"""The root fields that return long lists page by page. `Viewer` and `Application` have the same lists as edges.

A list that grows with the number of users or with time has pages. A list that people write, or whose length a quota or
the nature of its records limits, is a plain list.
"""

from wattgate.db import models
from wattgate.graphql.core.pagination import paginate
from wattgate.graphql.services.consent_results import build_receipt
from wattgate.graphql.types import access_log as access_types
from wattgate.graphql.types import accounts as account_types
from wattgate.graphql.types import alerts as alert_types
from wattgate.graphql.types import audit as audit_types
from wattgate.graphql.types import consent as consent_types
from wattgate.graphql.types import content as content_types
from wattgate.graphql.types import mail as mail_types
from wattgate.graphql.types import prompts as prompt_types
from wattgate.graphql.types import resources as resource_types
from wattgate.graphql.types import virtual_entities as home_types
from wattgate.graphql.types import webhooks as webhook_types
from wattgate.principal import Permission

CONNECTIONS = (
    # under their plain names
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
    # deprecated: their plain names were those of lists without pages
    paginate(
        "account_connection",
        models.Account,
        account_types.Account,
        needs=Permission.ACCOUNT_READ,
        noun="accounts",
        deprecation="Use `application { accounts }` or `viewer { accounts }`.",
    ),
    paginate(
        "alert_connection",
        models.Alert,
        alert_types.Alert,
        needs=Permission.NOTIFICATION_READ,
        noun="alerts",
        deprecation="Use `alerts`.",
    ),
    paginate(
        "mail_suppression_connection",
        models.MailSuppression,
        mail_types.MailSuppression,
        needs=Permission.NOTIFICATION_SEND,
        noun="suppressed mail addresses",
        deprecation="Use `mailSuppressions`.",
    ),
    paginate(
        "webhook_connection",
        models.Webhook,
        webhook_types.Webhook,
        needs=Permission.WEBHOOK_READ,
        noun="webhooks",
        deprecation="Use `application { webhooks }` or `viewer { webhooks }`.",
    ),
    paginate(
        "webhook_error_connection",
        models.WebhookError,
        webhook_types.WebhookError,
        needs=Permission.WEBHOOK_READ,
        noun="webhook errors",
        deprecation="Use `application { webhookErrors }` or `viewer { webhookErrors }`.",
    ),
    paginate(
        "user_action_connection",
        models.UserAction,
        prompt_types.UserAction,
        needs=Permission.RESPONSE_READ,
        noun="user actions",
        deprecation="Use `application { userActions }` or `viewer { userActions }`.",
    ),
    paginate(
        "prompt_user_connection",
        models.PromptUser,
        prompt_types.PromptUser,
        needs=Permission.RESPONSE_READ,
        noun="prompt outcomes",
        deprecation="Use `application { promptUsers }` or `viewer { promptUsers }`.",
    ),
    paginate(
        "virtual_entity_connection",
        models.VirtualEntity,
        home_types.VirtualEntity,
        needs=Permission.VIRTUAL_ENTITY_READ,
        noun="virtual entities",
        deprecation="Use `application { virtualEntities }` or `viewer { homes }`.",
    ),
    paginate(
        "resource_connection",
        models.Resource,
        resource_types.Resource,
        needs=Permission.RESOURCE_READ,
        noun="resources",
        deprecation="Use `application { resources }` or `viewer { resources }`.",
    ),
    paginate(
        "access_log_connection",
        models.AccessRecord,
        access_types.AccessRecord,
        needs=Permission.CONSENT_READ,
        noun="reads of households' data",
        deprecation="Use `application { accessLog }` or `viewer { accessLog }`.",
    ),
    paginate(
        "consent_receipt_connection",
        models.ConsentChange,
        consent_types.ConsentReceipt,
        needs=Permission.CONSENT_READ,
        noun="receipts of consents",
        build=build_receipt,
        deprecation="Use `application { consentReceipts }` or `viewer { consentReceipts }`.",
    ),
    paginate(
        "audit_entry_connection",
        models.AuditEntry,
        audit_types.AuditEntry,
        needs=Permission.AUDIT_READ,
        noun="audit entries",
        deprecation="Use `auditEntries`.",
    ),
    paginate(
        "device_connection",
        models.Device,
        resource_types.Device,
        needs=Permission.DEVICE_READ,
        noun="devices",
        deprecation="Use `application { devices }` or `viewer { devices }`.",
    ),
    paginate(
        "terms_conditions_user_connection",
        models.TermsConditionsUser,
        content_types.TermsConditionsUser,
        needs=Permission.RESPONSE_READ,
        noun="answers to terms and conditions",
        deprecation="Use `application { termsConditionsUsers }` or `viewer { termsConditionsUsers }`.",
    ),
)
"""The paginated root fields. GraphQL has them; REST has plain lists."""
