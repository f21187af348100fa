"""Templates and their versions, and which of them an alert gets."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Template, TemplateVersion
from wattgate.db.rows import Rows
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE, culture_fallbacks


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """The template that was found, if one was, and the cultures that were tried, the last of them its own."""

    template: Template | None
    tried_cultures: tuple[str, ...]


async def choose_template(rows: Rows, alert_type_id: str, channel: str, culture: str | None) -> TemplateChoice:
    """The template of an alert type in a channel for somebody of a culture; of several, the newest in use."""
    return choose_from(await list_templates(rows, alert_type_id, channel), culture, await application_culture(rows))


async def application_culture(rows: Rows) -> str:
    """The culture of an application."""
    application = await rows.application()
    return application.culture_code if application else DEFAULT_CULTURE


async def list_templates(rows: Rows, alert_type_id: str, channel: str) -> list[Template]:
    """The templates of an alert type in a channel, newest first, in all cultures."""
    return await rows.all(
        Template,
        col(Template.alert_type_id) == alert_type_id,
        col(Template.channel_type) == channel,
        order_by=[col(Template.created_at).desc(), Template.template_id],
    )


def choose_from(templates: Sequence[Template], culture: str | None, default: str = DEFAULT_CULTURE) -> TemplateChoice:
    """The first template in use along the chain of cultures."""
    tried_cultures = []
    for candidate_culture in culture_fallbacks(culture, default):
        tried_cultures.append(candidate_culture)
        for template in templates:
            if template.active and template.culture_code.lower() == candidate_culture.lower():
                return TemplateChoice(template, tuple(tried_cultures))
    return TemplateChoice(None, tuple(tried_cultures))


async def versions(rows: Rows, templates: Sequence[Template]) -> list[list[TemplateVersion]]:
    """The versions of each template, newest first."""
    version_rows = await rows.all(
        TemplateVersion,
        col(TemplateVersion.template_id).in_({template.template_id for template in templates}),
        order_by=[col(TemplateVersion.version).desc()],
    )
    by_template: dict[str, list[TemplateVersion]] = defaultdict(list)
    for version in version_rows:
        by_template[version.template_id].append(version)
    return [by_template[template.template_id] for template in templates]


async def published(rows: Rows, templates: Sequence[Template]) -> list[TemplateVersion]:
    """The version of each template that is sent."""
    return [
        next(version for version in template_versions if version.version == template.version)
        for template, template_versions in zip(templates, await versions(rows, templates), strict=True)
    ]
