"""Template sources for the renderer, built from stored template versions."""

from wattgate.db.models import TemplateVersion
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.errors import BadInput, Problem


def template_source(version: TemplateVersion) -> TemplateSource:
    """Return the sources of a version as the renderer takes them."""
    return TemplateSource(version.html_template, version.subject, version.preheader, version.text)


def too_expensive(error: TemplateLimitExceeded) -> BadInput:
    """Return the error for a template that was stopped at a limit of time or memory."""
    problems = [Problem(("input",), str(finding)) for finding in error.findings]
    return BadInput(f"The template was stopped at a limit: {error.findings[0].message}.", problems=problems)
