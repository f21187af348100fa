"""Templates and their versions, and the choice of the template for an alert."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Template, TemplateVersion, User
from wattgate.db.rows import Rows
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE, culture_fallbacks


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """The chosen template, or None, and the cultures that were tried. The last one is that of the template."""

    template: Template | None
    tried_cultures: tuple[str, ...]


async def choose_template(rows: Rows, alert_type_id: str, channel: str, culture: str | None) -> TemplateChoice:
    """Choose the template of an alert type in a channel for a culture. Of several, take the newest active one."""
    return choose_from(await list_templates(rows, alert_type_id, channel), culture, await application_culture(rows))


async def application_culture(rows: Rows) -> str:
    """Return the culture of the application."""
    application = await rows.application()
    return application.culture_code if application else DEFAULT_CULTURE


async def user_culture(rows: Rows, user: User) -> str:
    """Return the culture of messages to a user: the user's own, or else that of the application."""
    return user.culture_code or await application_culture(rows)


async def list_templates(rows: Rows, alert_type_id: str, channel: str) -> list[Template]:
    """Return the templates of an alert type in a channel in all cultures, newest first."""
    return await rows.all(
        Template,
        col(Template.alert_type_id) == alert_type_id,
        col(Template.channel_type) == channel,
        order_by=[col(Template.created_at).desc(), Template.template_id],
    )


def choose_from(templates: Sequence[Template], culture: str | None, default: str = DEFAULT_CULTURE) -> TemplateChoice:
    """Choose the first active template along the fallback chain of cultures."""
    tried_cultures = []
    for candidate_culture in culture_fallbacks(culture, default):
        tried_cultures.append(candidate_culture)
        for template in templates:
            if template.active and template.culture_code.lower() == candidate_culture.lower():
                return TemplateChoice(template, tuple(tried_cultures))
    return TemplateChoice(None, tuple(tried_cultures))


async def versions(rows: Rows, templates: Sequence[Template]) -> list[list[TemplateVersion]]:
    """Return the versions of each template, newest first."""
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
    """Return the published version of each template."""
    return [
        next(version for version in template_versions if version.version == template.version)
        for template, template_versions in zip(templates, await versions(rows, templates), strict=True)
    ]
