"""Templates and their versions, the choice of the template for an alert, and templates that exclude each other."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col

from wattgate.db.models import Template, TemplateVersion, User
from wattgate.db.rows.rows import Rows
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE, culture_fallbacks

NEWEST_FIRST = (col(Template.created_at).desc(), Template.template_id)
"""The order in which alerts prefer the templates of one alert type, channel and culture."""


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
    """Return the templates of an alert type in a channel in all cultures, newest first, without archived ones."""
    return await rows.all(
        Template,
        col(Template.alert_type_id) == alert_type_id,
        col(Template.channel_type) == channel,
        col(Template.archived_at).is_(None),
        order_by=NEWEST_FIRST,
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


async def current_versions(rows: Rows, templates: Sequence[Template]) -> list[TemplateVersion]:
    """Return the current version of each template, published or not."""
    return [
        next(version for version in template_versions if version.version == template.version)
        for template, template_versions in zip(templates, await versions(rows, templates), strict=True)
    ]


async def published(rows: Rows, templates: Sequence[Template]) -> list[TemplateVersion | None]:
    """Return the published version of each template, or None if the template is not active."""
    return [
        version if template.active else None
        for template, version in zip(templates, await current_versions(rows, templates), strict=True)
    ]


async def archived_at(rows: Rows, templates: Sequence[Template]) -> list[datetime | None]:
    """Return when each template was archived. As an edge it is not in the legacy record of a template."""
    return [template.archived_at for template in templates]


async def duplicates(rows: Rows, templates: Sequence[Template]) -> list[list[Template]]:
    """Return for each template the other active ones of its alert type, channel and culture, newest first."""
    competing = await _active_by_target(rows, templates)
    return [
        [other for other in competing[_target(template)] if other.template_id != template.template_id]
        for template in templates
    ]


async def in_use(rows: Rows, templates: Sequence[Template]) -> list[bool]:
    """Return for each template whether alerts of its type, channel and culture use it: it is the newest active one."""
    competing = await _active_by_target(rows, templates)
    return [
        template.active and competing[_target(template)][0].template_id == template.template_id
        for template in templates
    ]


async def _active_by_target(rows: Rows, templates: Sequence[Template]) -> dict[tuple[str, str, str], list[Template]]:
    active = await rows.all(
        Template,
        col(Template.alert_type_id).in_({template.alert_type_id for template in templates}),
        col(Template.active).is_(True),
        order_by=NEWEST_FIRST,
    )
    by_target: dict[tuple[str, str, str], list[Template]] = defaultdict(list)
    for template in active:
        by_target[_target(template)].append(template)
    return by_target


def _target(template: Template) -> tuple[str, str, str]:
    return template.alert_type_id, template.channel_type, template.culture_code.lower()
