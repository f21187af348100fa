"""Template sources for the renderer, built from stored template versions."""

from wattgate.db.models import TemplateVersion
from wattgate.delivery.templates.rendering import TemplateSource


def template_source(version: TemplateVersion) -> TemplateSource:
    """Return the sources of a version as the renderer takes them."""
    return TemplateSource(version.html_template, version.subject, version.preheader, version.text)
