"""Descriptions of the enum values of templates, for `enum_descriptions`."""

from collections.abc import Mapping
from types import MappingProxyType

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
