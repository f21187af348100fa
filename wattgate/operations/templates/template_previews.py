"""Render templates before they are saved, with a report, and send them in test mails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.models import Alert, AlertType
from wattgate.db.queries.alerts import contract_of, recent_alerts
from wattgate.db.queries.templates import (
    TemplateChoice,
    application_culture,
    choose_from,
    current_versions,
    list_templates,
    versions,
)
from wattgate.db.rows.lookups import not_found
from wattgate.delivery.account_mail_texts import builtin_source
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, parse_mailbox
from wattgate.delivery.outbound_http import OutboundHttpClient
from wattgate.delivery.templates.language.contract_values import data_problems
from wattgate.delivery.templates.language.cultures import is_culture
from wattgate.delivery.templates.language.diagnostics import Finding, TemplateLimitExceeded
from wattgate.delivery.templates.link_trial import MAX_TRIED_ADDRESSES, TRIAL_SECONDS, mail_addresses, try_addresses
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource
from wattgate.delivery.templates.report import Preview, RenderingReport
from wattgate.enums import Channel, DeliveryKind, DeliveryState
from wattgate.errors import BadInput, NotFound, Problem, Unavailable
from wattgate.operations.alerts.alert_types import require_alert_type
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.messages import outbox
from wattgate.operations.messages.message_context import (
    MessageContext,
    load_context,
    merge_groups,
    sample_context,
    template_source,
    too_expensive,
)
from wattgate.operations.types.messages import mail as mail_types
from wattgate.operations.types.messages import template_previews as types
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import (
    MUTATION_WEIGHT,
    RENDER_WEIGHT,
    STATEMENT_WEIGHT,
    TRIAL_WEIGHT,
)
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

# The data of a preview: of the request, of a sent alert, or samples.

MAX_CANDIDATES = 10
"""Maximum alerts that are searched for data that fits the variables of their type."""


@dataclass(frozen=True, slots=True)
class PreviewData:
    """The values of a preview, or None if samples are generated, and where they are from."""

    values: dict[str, Any] | None
    source: types.PreviewData
    context: MessageContext
    alert: Alert | None = None
    alert_type_name: str = ""


async def load_preview_data(
    call: Call,
    input: types.TemplateToPreview,
    alert_type: AlertType | None,
    template_culture: str | None,
    *,
    is_mail: bool = True,
) -> PreviewData:
    """Return the data of a preview: of the input, else of its alert, else of the newest alert, else samples."""
    if input.data is not None and not isinstance(input.data, dict):
        raise BadInput("Invalid data. Give a JSON object.", problems=[Problem(("input", "data"), "is not an object")])
    alert = await _find_alert(call, input, alert_type)
    name = "" if alert_type is None else alert_type.name
    if alert is not None:
        alert_type = alert_type or await call.rows.get(AlertType, alert.alert_type_id)
        context = await load_context(call.rows, alert, alert_type, call.outbound_policy, input.culture_code)
        context = context if is_mail else context.without_unsubscribing()
        return PreviewData(context.merge(alert.data), types.PreviewData.ALERT, context, alert, name)
    culture = input.culture_code or template_culture or await application_culture(call.rows)
    context = sample_context(alert_type, culture, call.outbound_policy)
    context = context if is_mail else context.without_unsubscribing()
    if isinstance(input.data, Mapping):
        values = merge_groups(context.base, input.data)
        return PreviewData(values, types.PreviewData.GIVEN, context, alert_type_name=name)
    return PreviewData(None, types.PreviewData.MADE, context, alert_type_name=name)


async def _find_alert(call: Call, input: types.TemplateToPreview, alert_type: AlertType | None) -> Alert | None:
    """Return the alert that the input names, or the newest one that fits the alert type, or None.

    Callers that see their own records only get alerts to their own user only.
    """
    own_user_id = call.principal.user_id if call.principal.sees_own_records_only else None
    if input.alert_id is not None:
        alert = await call.rows.get(Alert, input.alert_id)
        if own_user_id is not None and alert.user_id != own_user_id:
            raise not_found(Alert, input.alert_id)
        return alert
    if input.data is not None or input.samples or alert_type is None:
        return None
    contract = contract_of(alert_type)
    for candidate in await recent_alerts(call.rows, alert_type.alert_type_id, MAX_CANDIDATES, own_user_id):
        if isinstance(candidate.data, dict) and not data_problems(contract, candidate.data):
            return candidate
    return None


# Render templates before they are saved, with a report.


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
    channel = input.channel_type.value if named is None else named.channel_type
    is_mail, culture = channel == Channel.EMAIL.value, None if named is None else named.culture_code
    data = await load_preview_data(call, input, alert_type, culture, is_mail=is_mail)
    others = [] if alert_type is None else await list_templates(call.rows, alert_type.alert_type_id, channel)
    choice = choose_from(others, data.context.culture, await application_culture(call.rows))
    template = named or choice.template
    stored = None if template is None else template_source(await _find_version(call, template, input.version))
    source = _merge_source(input, stored or _builtin_source(alert_type, channel, data.context.culture))
    can_unsubscribe = is_mail and (alert_type is None or alert_type.system_alert_type_id not in ACCOUNT_MAIL_TYPES)
    scope = data.context.scope(_edited_culture(input, named, choice), can_unsubscribe=can_unsubscribe)
    try:
        preview = await call.templates.preview(source, data.values, scope)
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    preview = _with_tried_links(call, preview) if input.try_links else preview
    return PreviewRun(template, others, choice, source, data, preview)


def _with_tried_links(call: Call, preview: Preview) -> Preview:
    """Return a preview whose report says which links and images answer. The caller pays for each request."""
    policy = call.outbound_policy
    addresses = mail_addresses(preview.rendering.html or "", policy.public_url)

    async def work() -> list[Finding]:
        if call.templates.charge is not None:
            await call.templates.charge.add_units(TRIAL_WEIGHT * min(len(addresses), MAX_TRIED_ADDRESSES))
        http = OutboundHttpClient(policy.egress, timeout_seconds=TRIAL_SECONDS)
        return await try_addresses(http, addresses, call.templates.owner)

    return preview.with_findings(call.outside.result(("links", tuple(addresses)), work))


async def _find_version(call: Call, template: models.Template, number: int | None) -> models.TemplateVersion:
    """Return a version of a template: the current one without a number."""
    if number is None:
        return (await current_versions(call.rows, [template]))[0]
    (known,) = await versions(call.rows, [template])
    found = next((version for version in known if version.version == number), None)
    if found is None:
        raise NotFound(f"The template has no version {number}.")
    return found


def _edited_culture(
    input: types.TemplateToPreview, named: models.Template | None, choice: TemplateChoice
) -> str | None:
    """Return the culture of the template that is previewed.

    A new template whose HTML is in the input is for the culture of the input. The template that its readers get until
    it is published can have another one.
    """
    if named is not None:
        return named.culture_code
    if input.html is not None and input.culture_code is not None:
        return input.culture_code
    return None if choice.template is None else choice.template.culture_code


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


# Send previews of templates as test mails, to addresses that the settings allow.

MAX_WAITING_MAILS = 20
"""Maximum test mails of an application that wait for delivery."""

MAX_KEPT_TEST_MAILS = 200
"""Maximum stored test mails of an application. Above it, the oldest are deleted."""

FINAL_STATES = (DeliveryState.SENT, DeliveryState.FAILED)


@dataclass(frozen=True, slots=True)
class SentTestMailResult:
    """A test mail and its delivery state."""

    test_mail: models.TestMail
    state: DeliveryState
    reason: str | None


@operation(
    OperationKind.MUTATION,
    returns=mail_types.SentTestMail,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    weight=MUTATION_WEIGHT + RENDER_WEIGHT,
)
async def send_test_mail(
    call: Call,
    *,
    address: Annotated[
        terms.Text500, Described("E-mail address of the recipient. WATTGATE_TEST_ADDRESSES must allow it.")
    ],
    input: Annotated[TemplateToPreview, Described("Template to render and the data to render it with.")],
) -> SentTestMailResult:
    """Send the preview of a template as a mail. The subject starts with [TEST]."""
    mailbox = _check_address(call, address)
    mail = (await _render_mail(call, input)).marked_as_test()
    await _check_capacity(call)
    test_mail = await call.rows.add(
        models.TestMail(
            address=mailbox.address,
            subject=mail.subject,
            html=mail.html,
            text=mail.text,
            created_by=call.principal.account_id,
            created_at=call.rows.now,
        )
    )
    await call.rows.keep_newest(models.TestMail, MAX_KEPT_TEST_MAILS)
    delivery = await outbox.enqueue(call, DeliveryKind.TEST_MAIL, test_mail.test_mail_id, address=mailbox.address)
    return SentTestMailResult(test_mail, delivery.state, None)


@operation(OperationKind.QUERY, returns=mail_types.SentTestMail, needs=Permission.TEMPLATE_WRITE)
async def test_mail(call: Call, *, test_mail_id: ids.TestMailId) -> SentTestMailResult:
    """Return a test mail and the state of its delivery. A template editor sees only those of the own account."""
    mail = await call.rows.get(models.TestMail, test_mail_id)
    if call.principal.sees_own_records_only and mail.created_by != call.principal.account_id:
        raise not_found(models.TestMail, test_mail_id)
    (delivery,) = await call.rows.all(models.Delivery, col(models.Delivery.target_id) == test_mail_id)
    return SentTestMailResult(mail, delivery.state, delivery.reason)


def _check_address(call: Call, address: str) -> Mailbox:
    try:
        mailbox = parse_mailbox(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None
    if not call.outbound_policy.test_mail_addresses.allows(mailbox):
        problem = Problem(("address",), "is not allowed by WATTGATE_TEST_ADDRESSES")
        raise BadInput(
            f"{mailbox.address} may not receive test mails. Add it to WATTGATE_TEST_ADDRESSES.", problems=[problem]
        )
    return mailbox


async def _render_mail(call: Call, input: TemplateToPreview) -> RenderedTemplate:
    """Render the mail. Raise BadInput if the template is for another channel or has errors."""
    run = await run_preview(call, input)
    channel = input.channel_type.value if run.template is None else run.template.channel_type
    if channel != Channel.EMAIL.value:
        problem = Problem(("input", "channelType"), "is not EMAIL")
        raise BadInput("Only templates of the channel EMAIL can be sent as a test mail.", problems=[problem])
    errors = run.preview.rendering.errors
    if errors:
        problems = [Problem(("input",), str(error)) for error in errors]
        raise BadInput(f"The template has errors and would not be sent: {errors[0].message}", problems=problems)
    mail = run.preview.rendering.complete
    return replace(mail, subject=mail.subject or run.data.alert_type_name)


async def _check_capacity(call: Call) -> None:
    waiting = await call.rows.count(
        models.Delivery,
        col(models.Delivery.kind) == DeliveryKind.TEST_MAIL,
        col(models.Delivery.state).not_in(FINAL_STATES),
    )
    if waiting >= MAX_WAITING_MAILS:
        raise Unavailable(f"{waiting} test mails are already waiting for delivery. Try again later.", retry_after=60)
