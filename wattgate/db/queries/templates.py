"""Which template an alert gets."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db.models import Template
from wattgate.db.rows import Rows
from wattgate.messages.templates.cultures import DEFAULT_CULTURE, chain_of


@dataclass(frozen=True, slots=True)
class Choice:
    """The template that was found, if one was, and the cultures that were tried, the last of them its own."""

    template: Template | None
    tried: tuple[str, ...]


async def choose_template(rows: Rows, alert_type_id: str, channel: str, culture: str | None) -> Choice:
    """The template of an alert type in a channel for somebody of a culture; of several, the newest in use."""
    return choose(await templates_for(rows, alert_type_id, channel), culture)


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
