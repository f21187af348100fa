"""Templates, tried out."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries.templates import Choice, choose, culture_of, published, source_of, templates_for
from wattgate.delivery.templates.cultures import is_culture
from wattgate.delivery.templates.rendering import Source
from wattgate.delivery.templates.report import Preview, Report, preview
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import STATEMENTS
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.types import template_previews as types
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class Covered:
    culture_code: str
    template: models.Template


@dataclass(frozen=True, slots=True)
class Previewed:
    subject: str | None
    preheader: str | None
    html: str | None
    text: str | None
    text_made: bool
    data: Mapping[str, Any]
    data_from: types.PreviewData
    template: models.Template | None
    chosen: models.Template | None
    cultures_tried: tuple[str, ...]
    coverage: list[Covered]
    report: Report


@dataclass(frozen=True, slots=True)
class Tried:
    """A template as it is written, rendered: which one it is, who else there is, and what came of it."""

    template: models.Template | None
    others: list[models.Template]
    choice: Choice
    source: Source
    data_from: types.PreviewData
    made: Preview


@operation(Kind.QUERY, returns=types.TemplatePreview, needs=Permission.TEMPLATE_READ, weight=STATEMENTS + 20)
async def preview_template(call: Call, *, input: types.TemplateToPreview) -> Previewed:
    """A template rendered with data, and a report on it. Nothing is saved, and nothing is sent."""
    tried = await try_out(call, input)
    drafted = tried.made.draft
    return Previewed(
        drafted.subject,
        drafted.preheader,
        drafted.html,
        drafted.text,
        tried.source.text is None,
        tried.made.data,
        tried.data_from,
        tried.template,
        tried.choice.template,
        tried.choice.tried,
        _coverage(tried.others),
        tried.made.report,
    )


async def try_out(call: Call, input: types.TemplateToPreview) -> Tried:
    """What comes of a template as it is written."""
    named = None if input.template_id is None else await call.rows.get(models.Template, input.template_id)
    others, choice = await _chosen(call, input, named)
    template = named or choice.template
    source = _source(input, None if template is None else (await published(call.rows, [template]))[0])
    data, data_from = await _data(call, input)
    made = await asyncio.to_thread(preview, source, data)
    return Tried(template, others, choice, source, data_from, made)


async def _chosen(
    call: Call, input: types.TemplateToPreview, named: models.Template | None
) -> tuple[list[models.Template], Choice]:
    """The templates of the alert type and channel, and the one that somebody of the culture gets."""
    if input.culture_code is not None and not is_culture(input.culture_code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"{input.culture_code} is not a culture", problems=[problem])
    alert_type_id: str | None = input.alert_type_id
    if alert_type_id is not None:
        await call.rows.get(models.AlertType, alert_type_id)
    channel, culture = input.channel_type.value, input.culture_code
    if named is not None:
        alert_type_id, channel = named.alert_type_id, named.channel_type
        culture = culture or named.culture_code
    others = [] if alert_type_id is None else await templates_for(call.rows, alert_type_id, channel)
    return others, choose(others, culture, await culture_of(call.rows))


def _source(input: types.TemplateToPreview, version: models.TemplateVersion | None) -> Source:
    """The sources of a version of a template, each replaced by one that is given."""
    if version is None and input.html is None:
        problem = Problem(("input", "html"), "is missing, and no template is found to take it from", missing=True)
        raise BadInput("there is nothing to preview", problems=[problem])
    saved = Source("") if version is None else source_of(version)
    given = {part: getattr(input, part) for part in ("subject", "preheader", "html")}
    replaced = {part: source for part, source in given.items() if source is not None}
    if input.text is not strawberry.UNSET:
        replaced["text"] = input.text
    return replace(saved, **replaced)


async def _data(call: Call, input: types.TemplateToPreview) -> tuple[dict[str, Any] | None, types.PreviewData]:
    """What fills the markers; None where it is to be made up."""
    if input.alert_id is not None:
        alert = await call.rows.get(models.Alert, input.alert_id)
        return (alert.data if isinstance(alert.data, dict) else {}), types.PreviewData.ALERT
    if input.data is None:
        return None, types.PreviewData.MADE
    if not isinstance(input.data, dict):
        raise BadInput("the data is no object", problems=[Problem(("input", "data"), "is no object")])
    return input.data, types.PreviewData.GIVEN


def _coverage(templates: Sequence[models.Template]) -> list[Covered]:
    """By culture, the newest template, one in use before all others."""
    found: dict[str, models.Template] = {}
    for one in sorted(templates, key=lambda one: not one.active):
        found.setdefault(one.culture_code, one)
    return [Covered(culture, found[culture]) for culture in sorted(found)]
