"""Add, change, publish, roll back and archive templates, and check their content."""

from collections.abc import Mapping
from typing import Annotated, Any

from sqlalchemy import func
from sqlmodel import col

from wattgate.db import models
from wattgate.db.models import AlertType, Template
from wattgate.db.queries import templates as queries
from wattgate.db.queries.alerts import contract_of
from wattgate.delivery.templates.language.cultures import canonical_culture, is_culture
from wattgate.delivery.templates.language.diagnostics import Severity, TemplateLimitExceeded, TemplatePart
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import Channel, to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem, ProblemPath, QuotaExceeded
from wattgate.operations.alerts.alert_types import find_alert_type, require_alert_type
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.messages.message_context import sample_context, template_source, too_expensive
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission
from wattgate.values import terms
from wattgate.values.annotations import Described


@operation(
    OperationKind.QUERY,
    returns=list[types.Template],
    needs=Permission.TEMPLATE_READ,
    rest=RestRoute("GET", "/template", Tag.TEMPLATES),
    sizes=(ListSize(DEFAULT_LIST_SIZE),),
    in_graphql=("application", "templates"),
)
async def templates(
    call: Call, *, include_archived: Annotated[bool, Described("Whether the list contains archived templates.")] = False
) -> list[models.Template]:
    """List the templates that the caller may see. Archived ones are left out unless `includeArchived` is true."""
    where = [] if include_archived else [col(models.Template.archived_at).is_(None)]
    return await call.rows.all(models.Template, *where, order_by=[models.Template.created_at])


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template", Tag.TEMPLATES, scheme=AuthScheme.BASIC),
)
async def add_template(call: Call, *, input: types.NewTemplate) -> models.Template:
    """Add a template for an alert type, channel and culture. It is a draft unless `active` is true."""
    alert_type = await find_alert_type(call.rows, input.alert_type_id)
    problems = []
    if alert_type is None:
        problems.append(Problem(("input", "alertTypeId"), f"{input.alert_type_id} does not exist"))
    if input.application_id not in (None, call.rows.application_id):
        problems.append(Problem(("input", "applicationId"), "is not the caller's application"))
    if alert_type is not None and input.system_alert_type_id not in (None, alert_type.system_alert_type_id):
        code = alert_type.system_alert_type_id
        problems.append(Problem(("input", "systemAlertTypeId"), f"is not {code}, the short code of the alert type"))
    if alert_type is None or problems:
        raise BadInput("Invalid reference in the template. See `problems`.", problems=problems)
    template = _build_template(alert_type, input.channel_type, input.culture_code, input)
    return await _store_template(call, template, input)


@operation(
    OperationKind.QUERY,
    returns=types.Template,
    needs=Permission.TEMPLATE_READ,
    rest=RestRoute("GET", "/template/{alertTypeId}/{channelType}/{cultureCode}", Tag.TEMPLATES),
)
async def template_for(
    call: Call,
    *,
    alert_type_id: ids.AlertTypeId,
    channel_type: Annotated[Channel, Described(terms.CHANNEL_TYPE)],
    culture_code: terms.CultureCode,
) -> models.Template:
    """Return the newest template of an alert type, channel and culture that is not archived."""
    alert_type = await require_alert_type(call.rows, alert_type_id)
    templates = await call.rows.all(
        models.Template,
        col(models.Template.alert_type_id) == alert_type.alert_type_id,
        col(models.Template.channel_type) == channel_type.value,
        func.lower(models.Template.culture_code) == culture_code.lower(),
        col(models.Template.archived_at).is_(None),
        order_by=[models.Template.created_at],
    )
    if not templates:
        raise NotFound(f"No template of alert type {alert_type_id} for {channel_type.value} in {culture_code}.")
    return templates[-1]


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{alertTypeId}/{channelType}/{cultureCode}", Tag.TEMPLATES),
)
async def add_template_for(
    call: Call,
    *,
    alert_type_id: ids.AlertTypeId,
    channel_type: Annotated[Channel, Described(terms.CHANNEL_TYPE)],
    culture_code: terms.CultureCode,
    input: types.NewTemplateText,
) -> models.Template:
    """Add a template for an alert type, channel and culture. It is a draft unless `active` is true."""
    alert_type = await require_alert_type(call.rows, alert_type_id)
    return await _store_template(call, _build_template(alert_type, channel_type, culture_code, input), input)


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", "/template/{templateId}", Tag.TEMPLATES),
    raises=(Conflict, QuotaExceeded),
)
async def update_template(call: Call, *, template_id: ids.TemplateId, input: types.TemplateChange) -> models.Template:
    """Change a template. Omitted fields keep their values.

    Changed texts become a new version. If the template is active, that version is published immediately.
    """
    template = await _edit_template(call, template_id)
    for name, value in to_column_values(input, models.Template, exclude=(*CONTENT_PARTS, "active")).items():
        setattr(template, name, value)
    template.culture_code = _normal_culture(template.culture_code)
    is_active = template.active if input.active in (UNSET, None) else bool(input.active)
    changed, publishes = changed_content(input), is_active and not template.active
    (current,) = await queries.current_versions(call.rows, [template])
    if changed:
        current = await _add_version(call, template, {**content_of(current), **changed})
        template.version, template.html_template = current.version, current.html_template
        publishes = is_active
    if publishes:
        await _require_no_errors(call, template, current)
        await _publish(call, template, await _edit_version(call, template, current.version))
    template.active = is_active
    return template


@operation(
    OperationKind.MUTATION,
    returns=types.TemplateVersion,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/version", Tag.TEMPLATES),
)
async def add_template_version(
    call: Call, *, template_id: ids.TemplateId, input: types.NewTemplateVersion
) -> models.TemplateVersion:
    """Add a version of a template. Alerts do not use it until it is published."""
    template = await _edit_template(call, template_id)
    ((newest, *others),) = await queries.versions(call.rows, [template])
    added = await _add_version(call, template, {**content_of(newest), **changed_content(input)})
    if all(version.published_at is None for version in (newest, *others)):
        template.version, template.html_template = added.version, added.html_template
    return added


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/publish", Tag.TEMPLATES),
    raises=(Conflict,),
)
async def publish_template(
    call: Call, *, template_id: ids.TemplateId, version: Annotated[int, Described("Number of the version to publish.")]
) -> models.Template:
    """Publish a version of a template and activate the template, so that alerts use it.

    A version whose report has an ERROR is rejected.
    """
    template = await _edit_template(call, template_id)
    to_publish = await _edit_version(call, template, version)
    await _require_no_errors(call, template, to_publish, ("version",))
    await _publish(call, template, to_publish)
    return template


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/rollback", Tag.TEMPLATES),
    raises=(Conflict,),
)
async def roll_back_template(
    call: Call,
    *,
    template_id: ids.TemplateId,
    version: Annotated[
        int,
        Described(
            "Number of a version that was published before. Default: the newest one that is older than the "
            "current version."
        ),
    ]
    | None = None,
) -> models.Template:
    """Publish a version of a template again that was published before, without a check of its report.

    Without `version`, take the newest one that is older than the current version. With it, this also reverses a
    publication or an earlier roll back.
    """
    template = await _edit_template(call, template_id)
    (versions,) = await queries.versions(call.rows, [template])
    former = [known.version for known in versions if known.published_at is not None]
    if version is None:
        version = next((number for number in former if number < template.version), None)
        if version is None:
            raise Conflict(f"No version of the template was published before version {template.version}.")
    elif version not in former:
        raise Conflict(f"Version {version} of the template was never published. Publish it with publishTemplate.")
    await _publish(call, template, await _edit_version(call, template, version))
    return template


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/archive", Tag.TEMPLATES),
)
async def archive_template(call: Call, *, template_id: ids.TemplateId) -> models.Template:
    """Archive a template: alerts no longer use it, lists leave it out, and it cannot be changed.

    Its versions are kept. Links to its previews stop working.
    """
    template = await call.rows.edit(models.Template, template_id)
    template.active = False
    template.archived_at = template.archived_at or call.rows.now
    return template


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/restore", Tag.TEMPLATES),
    raises=(Conflict,),
)
async def restore_template(call: Call, *, template_id: ids.TemplateId) -> models.Template:
    """Restore an archived template. Alerts do not use it until a version is published again."""
    template = await call.rows.edit(models.Template, template_id)
    template.archived_at = None
    return template


def _build_template(
    alert_type: models.AlertType,
    channel_type: Channel,
    culture_code: str,
    input: types.NewTemplate | types.NewTemplateText,
) -> models.Template:
    return models.Template(
        alert_type_id=alert_type.alert_type_id,
        name=input.name,
        system_alert_type_id=alert_type.system_alert_type_id,
        description=input.description,
        channel_type=channel_type,
        culture_code=culture_code,
        html_template=input.html_template,
        active=False,
    )


async def _store_template(
    call: Call, template: models.Template, input: types.NewTemplate | types.NewTemplateText
) -> models.Template:
    template.culture_code = _normal_culture(template.culture_code)
    content = {name: getattr(input, name) for name in CONTENT_PARTS}
    await check_content(call, content)
    await call.rows.add(template)
    version = await _add_version(call, template, content)
    if input.active:
        await _require_no_errors(call, template, version)
        await _publish(call, template, version)
    return template


async def _edit_template(call: Call, template_id: str) -> models.Template:
    """Return a template to change. Raise Conflict if it is archived."""
    template = await call.rows.edit(models.Template, template_id)
    if template.archived_at is not None:
        raise Conflict("The template is archived and cannot be changed. Restore it first with restoreTemplate.")
    return template


async def _add_version(call: Call, template: models.Template, content: Mapping[str, Any]) -> models.TemplateVersion:
    """Add a version with the next number. The caller has locked the template."""
    await check_content(call, content)
    count = await call.rows.count(
        models.TemplateVersion, col(models.TemplateVersion.template_id) == template.template_id
    )
    return await call.rows.add(
        models.TemplateVersion(
            template_id=template.template_id,
            version=count + 1,
            created_at=call.rows.now,
            created_by=call.principal.account_id,
            **content,
        )
    )


async def _edit_version(call: Call, template: models.Template, version: int) -> models.TemplateVersion:
    known = await call.rows.first(
        models.TemplateVersion,
        col(models.TemplateVersion.template_id) == template.template_id,
        col(models.TemplateVersion.version) == version,
    )
    if known is None:
        raise NotFound(f"The template has no version {version}.")
    return await call.rows.edit(models.TemplateVersion, known.version_id)


async def _require_no_errors(
    call: Call, template: models.Template, version: models.TemplateVersion, path: ProblemPath | None = None
) -> None:
    """Raise BadInput if a version uses a name that its alert type does not declare, or its report has an ERROR.

    `path` is the argument that names the version.
    """
    source = template_source(version)
    await check_names(call, template, source)
    alert_type = await call.rows.get(models.AlertType, template.alert_type_id)
    scope = sample_context(alert_type, template.culture_code).scope(template.culture_code)
    try:
        report = (await call.templates.preview(source, None, scope)).report
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    errors = [
        Problem(path or ("input", member_of(finding.part)), str(finding))
        for finding in report.findings
        if finding.severity is Severity.ERROR
    ]
    if errors:
        message = f"Version {version.version} has errors and cannot be published: {errors[0].message}"
        raise BadInput(message, problems=errors)


async def _publish(call: Call, template: models.Template, version: models.TemplateVersion) -> None:
    template.active = True
    template.version, template.html_template = version.version, version.html_template
    version.published_at, version.published_by = call.rows.now, call.principal.account_id
    await call.rows.flush()


def _normal_culture(code: str) -> str:
    """Return a language tag in the usual case, such as en-GB. Raise BadInput if the text is none."""
    if not is_culture(code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"Invalid culture code {code!r}. Give a language tag such as en-GB.", problems=[problem])
    return canonical_culture(code)


# The content of a template: the parts of a version, and their checks.


async def check_names(call: Call, template: Template, source: TemplateSource) -> None:
    """Raise BadInput if a source uses a name that its alert type does not declare.

    Without a declaration, every name is allowed: the data of alerts decides.
    """
    alert_type = await call.rows.get(AlertType, template.alert_type_id)
    contract = contract_of(alert_type)
    if not contract.declared:
        return
    try:
        findings = await call.templates.check(source, RenderScope(contract))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    if findings:
        raise BadInput(
            f"The template does not fit alert type {alert_type.system_alert_type_id!r} and cannot be published: "
            f"{findings[0]}",
            problems=[Problem(("input",), str(finding)) for finding in findings],
        )


CONTENT_PARTS = {
    "subject": TemplatePart.SUBJECT,
    "preheader": TemplatePart.PREHEADER,
    "html_template": TemplatePart.HTML,
    "text": TemplatePart.TEXT,
}
"""The template part in each content column of a version."""


def changed_content(input: types.TemplateChange | types.NewTemplateVersion) -> dict[str, Any]:
    """Return the content that an input sets. Raise BadInput if a part other than the text is null."""
    changed = {name: getattr(input, name) for name in CONTENT_PARTS if getattr(input, name) is not UNSET}
    nulls = [name for name, value in changed.items() if value is None and name != "text"]
    if nulls:
        problems = [Problem(("input", to_camel_case(name)), "must not be null") for name in nulls]
        raise BadInput("A required value is null. See `problems`.", problems=problems)
    return changed


def content_of(version: models.TemplateVersion) -> dict[str, Any]:
    """Return the content of a version, by column."""
    return {name: getattr(version, name) for name in CONTENT_PARTS}


async def check_content(call: Call, content: Mapping[str, Any]) -> None:
    """Raise BadInput, with line and column, if a part is not a valid template."""
    sources = {part.value: content[name] or "" for name, part in CONTENT_PARTS.items()}
    try:
        findings = await call.templates.check(TemplateSource(**sources))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    problems = [Problem(("input", member_of(finding.part)), str(finding)) for finding in findings]
    if problems:
        raise BadInput(f"Invalid template: {problems[0].message}", problems=problems)


def member_of(part: TemplatePart) -> str:
    """Return the member of the input that has a part of the template."""
    return to_camel_case(next(name for name, known in CONTENT_PARTS.items() if known is part))
