"""Templates, tried out."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries.templates import (
    TemplateChoice,
    application_culture,
    choose_from,
    list_templates,
    published,
)
from wattgate.delivery.templates.cultures import is_culture
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.report import Preview, RenderingReport, render_preview
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import STATEMENT_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.services.template_sources import template_source
from wattgate.graphql.types import template_previews as types
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class CultureTemplate:
    culture_code: str
    template: models.Template


@dataclass(frozen=True, slots=True)
class TemplatePreviewResult:
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
    coverage: list[CultureTemplate]
    report: RenderingReport


@dataclass(frozen=True, slots=True)
class PreviewRun:
    """A template as it is written, rendered: which one it is, who else there is, and what came of it."""

    template: models.Template | None
    templates: list[models.Template]
    choice: TemplateChoice
    source: TemplateSource
    data_from: types.PreviewData
    preview: Preview


@operation(
    OperationKind.QUERY, returns=types.TemplatePreview, needs=Permission.TEMPLATE_READ, weight=STATEMENT_WEIGHT + 20
)
async def preview_template(call: Call, *, input: types.TemplateToPreview) -> TemplatePreviewResult:
    """Render a template with data and return the result with a report. Nothing is saved or sent."""
    tried = await run_preview(call, input)
    drafted = tried.preview.rendering
    return TemplatePreviewResult(
        drafted.subject,
        drafted.preheader,
        drafted.html,
        drafted.text,
        tried.source.text is None,
        tried.preview.data,
        tried.data_from,
        tried.template,
        tried.choice.template,
        tried.choice.tried_cultures,
        _coverage(tried.templates),
        tried.preview.report,
    )


async def run_preview(call: Call, input: types.TemplateToPreview) -> PreviewRun:
    """What comes of a template as it is written."""
    named = None if input.template_id is None else await call.rows.get(models.Template, input.template_id)
    others, choice = await _choose_template(call, input, named)
    template = named or choice.template
    source = _merge_source(input, None if template is None else (await published(call.rows, [template]))[0])
    data, data_from = await _preview_data(call, input)
    made = await asyncio.to_thread(render_preview, source, data)
    return PreviewRun(template, others, choice, source, data_from, made)


async def _choose_template(
    call: Call, input: types.TemplateToPreview, named: models.Template | None
) -> tuple[list[models.Template], TemplateChoice]:
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
    others = [] if alert_type_id is None else await list_templates(call.rows, alert_type_id, channel)
    return others, choose_from(others, culture, await application_culture(call.rows))


def _merge_source(input: types.TemplateToPreview, version: models.TemplateVersion | None) -> TemplateSource:
    """The sources of a version of a template, each replaced by one that is given."""
    if version is None and input.html is None:
        problem = Problem(("input", "html"), "is missing, and no template is found to take it from", is_missing=True)
        raise BadInput("there is nothing to preview", problems=[problem])
    saved = TemplateSource("") if version is None else template_source(version)
    given = {part: getattr(input, part) for part in ("subject", "preheader", "html")}
    replaced = {part: source for part, source in given.items() if source is not None}
    if input.text is not strawberry.UNSET:
        replaced["text"] = input.text
    return replace(saved, **replaced)


async def _preview_data(call: Call, input: types.TemplateToPreview) -> tuple[dict[str, Any] | None, types.PreviewData]:
    """What fills the markers; None where it is to be made up."""
    if input.alert_id is not None:
        alert = await call.rows.get(models.Alert, input.alert_id)
        return (alert.data if isinstance(alert.data, dict) else {}), types.PreviewData.ALERT
    if input.data is None:
        return None, types.PreviewData.MADE
    if not isinstance(input.data, dict):
        raise BadInput("the data is no object", problems=[Problem(("input", "data"), "is no object")])
    return input.data, types.PreviewData.GIVEN


def _coverage(templates: Sequence[models.Template]) -> list[CultureTemplate]:
    """By culture, the newest template, one in use before all others."""
    found: dict[str, models.Template] = {}
    for one in sorted(templates, key=lambda one: not one.active):
        found.setdefault(one.culture_code, one)
    return [CultureTemplate(culture, found[culture]) for culture in sorted(found)]
