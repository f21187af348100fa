"""Render templates before they are saved, with a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from wattgate.db import models
from wattgate.db.queries.templates import (
    TemplateChoice,
    application_culture,
    choose_from,
    current_versions,
    list_templates,
)
from wattgate.delivery.account_mail_texts import builtin_source
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.delivery.templates.language.cultures import is_culture
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.report import Preview, RenderingReport
from wattgate.enums import DeliveryKind
from wattgate.errors import BadInput, Problem
from wattgate.operations.alerts.alert_type_lookup import require_alert_type
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages.template_sources import template_source, too_expensive
from wattgate.operations.templates.preview_data import PreviewData, load_preview_data
from wattgate.operations.types.messages import template_previews as types
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import RENDER_WEIGHT, STATEMENT_WEIGHT
from wattgate.principal import Permission
from wattgate.values.annotations import Described


@dataclass(frozen=True, slots=True)
class CultureCoverageResult:
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
    alert: models.Alert | None
    template: models.Template | None
    chosen: models.Template | None
    cultures_tried: tuple[str, ...]
    coverage: list[CultureCoverageResult]
    report: RenderingReport


@dataclass(frozen=True, slots=True)
class PreviewRun:
    """A rendered preview and its inputs.

    `template` supplied the sources that the input does not replace. `templates` are those of the same alert type and
    channel. `choice` says which of them the recipient gets. `source` is the rendered source, `data` what filled it.
    """

    template: models.Template | None
    templates: list[models.Template]
    choice: TemplateChoice
    source: TemplateSource
    data: PreviewData
    preview: Preview


@operation(
    OperationKind.QUERY,
    returns=types.TemplatePreview,
    needs=Permission.TEMPLATE_READ,
    weight=STATEMENT_WEIGHT + RENDER_WEIGHT,
)
async def preview_template(
    call: Call,
    *,
    input: Annotated[types.TemplateToPreview, Described("Template to render and the data to render it with.")],
) -> TemplatePreviewResult:
    """Render a template with data and return the result with a report. Nothing is saved or sent."""
    run = await run_preview(call, input)
    rendering = run.preview.rendering
    return TemplatePreviewResult(
        subject=run.data.alert_type_name if rendering.subject == "" else rendering.subject,
        preheader=rendering.preheader,
        html=rendering.html,
        text=rendering.text,
        text_made=run.source.text is None,
        data=run.preview.data,
        data_from=run.data.source,
        alert=run.data.alert,
        template=run.template,
        chosen=run.choice.template,
        cultures_tried=run.choice.tried_cultures,
        coverage=_coverage(run.templates),
        report=run.preview.report,
    )


async def run_preview(call: Call, input: types.TemplateToPreview) -> PreviewRun:
    """Render a template with the sources and data of the input. Nothing is saved."""
    _check_culture(input.culture_code)
    named = None if input.template_id is None else await call.rows.get(models.Template, input.template_id)
    alert_type = await _find_alert_type(call, input, named)
    data = await load_preview_data(call, input, alert_type, None if named is None else named.culture_code)
    channel = input.channel_type.value if named is None else named.channel_type
    others = [] if alert_type is None else await list_templates(call.rows, alert_type.alert_type_id, channel)
    choice = choose_from(others, data.context.culture, await application_culture(call.rows))
    template = named or choice.template
    stored = None if template is None else template_source((await current_versions(call.rows, [template]))[0])
    source = _merge_source(input, stored or _builtin_source(alert_type, channel, data.context.culture))
    scope = data.context.scope(None if template is None else template.culture_code)
    try:
        preview = await call.templates.preview(source, data.values, scope)
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    return PreviewRun(template, others, choice, source, data, preview)


async def _find_alert_type(
    call: Call, input: types.TemplateToPreview, named: models.Template | None
) -> models.AlertType | None:
    """Return the alert type of the template or of the input, or None if neither names one."""
    if named is not None:
        return await call.rows.get(models.AlertType, named.alert_type_id)
    return None if input.alert_type_id is None else await require_alert_type(call.rows, input.alert_type_id)


def _check_culture(culture: str | None) -> None:
    if culture is not None and not is_culture(culture):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"Invalid culture code {culture!r}. Give a language tag such as en-GB.", problems=[problem])


def _builtin_source(alert_type: models.AlertType | None, channel: str, culture: str) -> TemplateSource | None:
    """Return the built-in template of a mail of the gateway itself, or None for other alert types and channels."""
    is_account_mail = alert_type is not None and alert_type.system_alert_type_id in ACCOUNT_MAIL_TYPES
    if alert_type is None or not is_account_mail or channel != DeliveryKind.EMAIL.value:
        return None
    return builtin_source(alert_type.system_alert_type_id, culture)


def _merge_source(input: types.TemplateToPreview, saved: TemplateSource | None) -> TemplateSource:
    """Return saved sources; those in the input replace them. Raise BadInput if there is no HTML."""
    if saved is None and input.html is None:
        problem = Problem(("input", "html"), "is missing, and no stored template supplies it", is_missing=True)
        raise BadInput(
            "No template to preview. Give html, templateId, or an alertTypeId that has a template.", problems=[problem]
        )
    saved = saved or TemplateSource("")
    parts = {part: getattr(input, part) for part in ("subject", "preheader", "html")}
    replaced = {part: source for part, source in parts.items() if source is not None}
    if input.text is not UNSET:
        replaced["text"] = input.text
    return replace(saved, **replaced)


def _coverage(templates: Sequence[models.Template]) -> list[CultureCoverageResult]:
    """Return the newest template of each culture, by culture code. An active one goes before inactive ones."""
    newest: dict[str, models.Template] = {}
    for template in sorted(templates, key=lambda template: not template.active):
        newest.setdefault(template.culture_code, template)
    return [CultureCoverageResult(culture, newest[culture]) for culture in sorted(newest)]
