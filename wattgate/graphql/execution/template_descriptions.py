"""Descriptions of the arguments and enum values of operations on templates. `descriptions` includes them."""

from collections.abc import Mapping
from types import MappingProxyType

TEMPLATE_ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "previewTemplate.input": "Template to render and the data to render it with.",
        "publishTemplate.version": "Number of the version to publish.",
        "rollBackTemplate.version": "Number of a version that was published before. Default: the newest one that is "
        "older than the current version.",
        "shareTemplatePreview.version": "Number of the version that the link shows. Default: the newest one.",
        "shareTemplatePreview.hours": "Lifetime of the link in hours, from 1 to 720.",
        "recentAlerts.limit": "Maximum number of alerts: 1 to 50.",
        "sendTestMail.address": "E-mail address of the recipient. WATTGATE_TEST_ADDRESSES must allow it.",
        "sendTestMail.input": "Template to render and the data to render it with.",
        "templates.includeArchived": "Whether the list contains archived templates.",
    }
)
"""Descriptions by operation and argument."""

TEMPLATE_VALUES: Mapping[str, str] = MappingProxyType(
    {
        "TemplatePart.SUBJECT": "Subject of a mail, or title of a push message.",
        "TemplatePart.PREHEADER": "Preview text that mail programs show after the subject.",
        "TemplatePart.HTML": "HTML body.",
        "TemplatePart.TEXT": "Plain-text body.",
        "FindingSeverity.ERROR": "The template cannot be published until this is fixed.",
        "FindingSeverity.WARNING": "Some recipients may see less than intended.",
        "FindingSeverity.INFO": "Informational.",
    }
)
"""Descriptions by enum and value."""
