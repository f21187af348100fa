"""Templates and their versions, and which of them an alert gets."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Template, TemplateVersion
from wattgate.db.rows import Rows
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE, chain_of
from wattgate.delivery.templates.rendering import Source


@dataclass(frozen=True, slots=True)
class Choice:
    """The template that was found, if one was, and the cultures that were tried, the last of them its own."""

    template: Template | None
    tried: tuple[str, ...]


async def choose_template(rows: Rows, alert_type_id: str, channel: str, culture: str | None) -> Choice:
    """The template of an alert type in a channel for somebody of a culture; of several, the newest in use."""
    return choose(await templates_for(rows, alert_type_id, channel), culture, await culture_of(rows))


async def culture_of(rows: Rows) -> str:
    """The culture of an application."""
    application = await rows.application()
    return application.culture_code if application else DEFAULT_CULTURE


async def templates_for(rows: Rows, alert_type_id: str, channel: str) -> list[Template]:
    """The templates of an alert type in a channel, newest first, in all cultures."""
    return await rows.all(
        Template,
        col(Template.alert_type_id) == alert_type_id,
        col(Template.channel_type) == channel,
        order_by=[col(Template.created_at).desc(), Template.template_id],
    )


def choose(templates: Sequence[Template], culture: str | None, default: str = DEFAULT_CULTURE) -> Choice:
    """The first template in use along the chain of cultures."""
    tried = []
    for one in chain_of(culture, default):
        tried.append(one)
        for template in templates:
            if template.active and template.culture_code.lower() == one.lower():
                return Choice(template, tuple(tried))
    return Choice(None, tuple(tried))


async def versions(rows: Rows, templates: Sequence[Template]) -> list[list[TemplateVersion]]:
    """The versions of each template, newest first."""
    found = await rows.all(
        TemplateVersion,
        col(TemplateVersion.template_id).in_({one.template_id for one in templates}),
        order_by=[col(TemplateVersion.version).desc()],
    )
    by_template: dict[str, list[TemplateVersion]] = defaultdict(list)
    for version in found:
        by_template[version.template_id].append(version)
    return [by_template[one.template_id] for one in templates]


async def published(rows: Rows, templates: Sequence[Template]) -> list[TemplateVersion]:
    """The version of each template that is sent."""
    return [
        next(version for version in some if version.version == template.version)
        for template, some in zip(templates, await versions(rows, templates), strict=True)
    ]


def source_of(version: TemplateVersion) -> Source:
    """What a version says, to be rendered."""
    return Source(version.html_template, version.subject, version.preheader, version.text)
