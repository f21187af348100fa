"""The content of a template: the parts of a version, and their checks."""

from collections.abc import Mapping
from typing import Any

from wattgate.db import models
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded, TemplatePart
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.template_sources import too_expensive
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary.arguments import UNSET

CONTENT_PARTS = {
    "subject": TemplatePart.SUBJECT,
    "preheader": TemplatePart.PREHEADER,
    "html_template": TemplatePart.HTML,
    "text": TemplatePart.TEXT,
}
"""The template part in each content column of a version."""


def changed_content(input: types.TemplateChange | types.NewTemplateVersion) -> dict[str, Any]:
    """Return the content that an input sets. Raise BadInput if a part other than the text is null."""
    changed = {name: getattr(input, name) for name in CONTENT_PARTS if getattr(input, name) is not UNSET}
    nulls = [name for name, value in changed.items() if value is None and name != "text"]
    if nulls:
        problems = [Problem(("input", to_camel_case(name)), "must not be null") for name in nulls]
        raise BadInput("A required value is null. See `problems`.", problems=problems)
    return changed


def content_of(version: models.TemplateVersion) -> dict[str, Any]:
    """Return the content of a version, by column."""
    return {name: getattr(version, name) for name in CONTENT_PARTS}


async def check_content(call: Call, content: Mapping[str, Any]) -> None:
    """Raise BadInput, with line and column, if a part is not a valid template."""
    sources = {part.value: content[name] or "" for name, part in CONTENT_PARTS.items()}
    try:
        findings = await call.templates.check(TemplateSource(**sources))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    problems = [Problem(("input", member_of(finding.part)), str(finding)) for finding in findings]
    if problems:
        raise BadInput(f"Invalid template: {problems[0].message}", problems=problems)


def member_of(part: TemplatePart) -> str:
    """Return the member of the input that has a part of the template."""
    return to_camel_case(next(name for name, known in CONTENT_PARTS.items() if known is part))
