"""The work on templates that can run in another process, as plain functions of a source and data."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wattgate.delivery.templates.contract_check import contract_findings
from wattgate.delivery.templates.language.diagnostics import (
    Finding,
    Severity,
    TemplateLimitExceeded,
    TemplateSyntaxError,
)
from wattgate.delivery.templates.language.engine import parse_template
from wattgate.delivery.templates.language.output_writer import RenderLimits
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource, render
from wattgate.delivery.templates.report import Preview, render_preview, required_variables
from wattgate.delivery.templates.scope import RenderScope

TemplateData = Mapping[str, Any]

TemplateTask = Callable[[TemplateSource, TemplateData | None, RenderLimits, RenderScope], Any]


def check_sources(
    source: TemplateSource, data: TemplateData | None, limits: RenderLimits, scope: RenderScope
) -> list[Finding]:
    """Return the errors that prevent the parts of a template from being parsed, and names outside its contract."""
    findings: list[Finding] = []
    for part, part_source in source.parts():
        try:
            parse_template(part_source, part)
        except (TemplateSyntaxError, TemplateLimitExceeded) as error:
            findings += error.findings
    outside = contract_findings(scope.contract, required_variables(source), data or {})
    return findings or [finding for finding in outside if finding.severity is Severity.ERROR]


def render_template(
    source: TemplateSource, data: TemplateData | None, limits: RenderLimits, scope: RenderScope
) -> RenderedTemplate:
    """Return the message of a template. Raise a TemplateError if it has errors."""
    return render(source, data or {}, limits, scope)


def preview_template(
    source: TemplateSource, data: TemplateData | None, limits: RenderLimits, scope: RenderScope
) -> Preview:
    """Return a preview. Its data is empty if `data` was given, because the caller already has it."""
    preview = render_preview(source, data, limits, scope)
    return preview if data is None else replace(preview, data={})


TASKS: Mapping[str, tuple[TemplateTask, Any]] = {
    "check": (check_sources, list[Finding]),
    "render": (render_template, RenderedTemplate),
    "preview": (preview_template, Preview),
}
"""The tasks by name, with the types of their results."""
