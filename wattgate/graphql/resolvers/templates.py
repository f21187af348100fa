"""Add, change, publish and roll back templates."""

from collections.abc import Mapping
from typing import Any

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import templates as queries
from wattgate.delivery.templates.cultures import is_culture
from wattgate.delivery.templates.diagnostics import Severity, TemplateLimitExceeded, TemplatePart
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.graphql.core.inputs import to_column_values
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.alert_types import find_alert_type, require_alert_type
from wattgate.graphql.services.message_context import sample_context
from wattgate.graphql.services.template_names import check_names
from wattgate.graphql.services.template_sources import template_source, too_expensive
from wattgate.graphql.types import alerts as types
from wattgate.principal import AuthScheme, Permission

CONTENT_PARTS = {
    "subject": TemplatePart.SUBJECT,
    "preheader": TemplatePart.PREHEADER,
    "html_template": TemplatePart.HTML,
    "text": TemplatePart.TEXT,
}
"""The template part in each content column of a version."""


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=RestRoute("POST", "/template", scheme=AuthScheme.BASIC),
)
async def add_template(call: Call, *, input: types.NewTemplate) -> models.Template:
    """Add a template for an alert type, channel and culture. It is published immediately."""
    alert_type = await find_alert_type(call.rows, input.alert_type_id)
    problems = []
    if alert_type is None:
        problems.append(Problem(("input", "alertTypeId"), f"{input.alert_type_id} does not exist"))
    if input.application_id not in (None, call.rows.application_id):
        problems.append(Problem(("input", "applicationId"), "is not the caller's application"))
    if alert_type is None or problems:
        raise BadInput("Invalid reference in the template. See `problems`.", problems=problems)
    template = _build_template(alert_type, input.channel_type, input.culture_code, input)
    template.system_alert_type_id = input.system_alert_type_id or template.system_alert_type_id
    return await _store_template(call, template, input)


@operation(
    OperationKind.QUERY,
    returns=types.Template,
    needs=Permission.TEMPLATE_READ,
    rest=RestRoute("GET", "/template/{alertTypeId}/{channelType}/{cultureCode}"),
)
async def template_for(
    call: Call, *, alert_type_id: strawberry.ID, channel_type: types.Channel, culture_code: str
) -> models.Template:
    """Return the newest template of an alert type, channel and culture."""
    alert_type = await require_alert_type(call.rows, alert_type_id)
    templates = await call.rows.all(
        models.Template,
        col(models.Template.alert_type_id) == alert_type.alert_type_id,
        col(models.Template.channel_type) == channel_type.value,
        col(models.Template.culture_code) == culture_code,
        order_by=[models.Template.created_at],
    )
    if not templates:
        raise NotFound(f"No template of alert type {alert_type_id} for {channel_type.value} in {culture_code}.")
    return templates[-1]


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=RestRoute("POST", "/template/{alertTypeId}/{channelType}/{cultureCode}"),
)
async def add_template_for(
    call: Call,
    *,
    alert_type_id: strawberry.ID,
    channel_type: types.Channel,
    culture_code: str,
    input: types.NewTemplateText,
) -> models.Template:
    """Add a template for an alert type, channel and culture. It is published immediately."""
    alert_type = await require_alert_type(call.rows, alert_type_id)
    return await _store_template(call, _build_template(alert_type, channel_type, culture_code, input), input)


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=RestRoute("PUT", "/template/{templateId}"),
)
async def update_template(call: Call, *, template_id: strawberry.ID, input: types.TemplateChange) -> models.Template:
    """Change a template. Omitted fields keep their values.

    Changed texts become a new version, which is published immediately.
    """
    template = await call.rows.edit(models.Template, template_id)
    for name, value in to_column_values(input, models.Template, exclude=CONTENT_PARTS).items():
        setattr(template, name, value)
    _check_culture(template.culture_code)
    changed = _changed_content(input)
    if changed:
        (last,) = await queries.published(call.rows, [template])
        await _publish(call, template, await _add_version(call, template, {**_content_of(last), **changed}))
    return template


@operation(OperationKind.MUTATION, returns=types.TemplateVersion, needs=Permission.TEMPLATE_WRITE)
async def add_template_version(
    call: Call, *, template_id: strawberry.ID, input: types.NewTemplateVersion
) -> models.TemplateVersion:
    """Add a version of a template. Alerts do not use it until it is published."""
    template = await call.rows.edit(models.Template, template_id)
    ((newest, *_),) = await queries.versions(call.rows, [template])
    return await _add_version(call, template, {**_content_of(newest), **_changed_content(input)})


@operation(OperationKind.MUTATION, returns=types.Template, needs=Permission.TEMPLATE_WRITE)
async def publish_template(call: Call, *, template_id: strawberry.ID, version: int) -> models.Template:
    """Publish a version of a template, so that alerts use it.

    A version whose report has an ERROR is rejected.
    """
    template = await call.rows.edit(models.Template, template_id)
    to_publish = await _edit_version(call, template, version)
    alert_type = await call.rows.get(models.AlertType, template.alert_type_id)
    scope = sample_context(alert_type, template.culture_code).scope(template.culture_code)
    try:
        report = (await call.templates.preview(template_source(to_publish), None, scope)).report
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    errors = [Problem(("version",), str(finding)) for finding in report.findings if finding.severity is Severity.ERROR]
    if errors:
        raise BadInput(f"Version {version} has errors and cannot be published: {errors[0].message}", problems=errors)
    await _publish(call, template, to_publish)
    return template


@operation(OperationKind.MUTATION, returns=types.Template, needs=Permission.TEMPLATE_WRITE)
async def roll_back_template(call: Call, *, template_id: strawberry.ID) -> models.Template:
    """Publish the previously published version of a template again."""
    template = await call.rows.edit(models.Template, template_id)
    (versions,) = await queries.versions(call.rows, [template])
    earlier = [
        version for version in versions if version.version < template.version and version.published_at is not None
    ]
    if not earlier:
        raise Conflict(f"No version of the template was published before version {template.version}.")
    await _publish(call, template, await _edit_version(call, template, earlier[0].version))
    return template


def _build_template(
    alert_type: models.AlertType,
    channel_type: types.Channel,
    culture_code: str,
    input: types.NewTemplate | types.NewTemplateText,
) -> models.Template:
    return models.Template(
        alert_type_id=alert_type.alert_type_id,
        name=input.name,
        system_alert_type_id=alert_type.system_alert_type_id,
        description=input.description,
        channel_type=channel_type.value,
        culture_code=culture_code,
        html_template=input.html_template,
        active=input.active,
    )


async def _store_template(
    call: Call, template: models.Template, input: types.NewTemplate | types.NewTemplateText
) -> models.Template:
    _check_culture(template.culture_code)
    content = {name: getattr(input, name) for name in CONTENT_PARTS}
    await _check_content(call, content)
    await call.rows.add(template)
    await _publish(call, template, await _add_version(call, template, content))
    return template


async def _add_version(call: Call, template: models.Template, content: Mapping[str, Any]) -> models.TemplateVersion:
    """Add a version with the next number. The caller has locked the template."""
    await _check_content(call, content)
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


async def _publish(call: Call, template: models.Template, version: models.TemplateVersion) -> None:
    """Publish a version. Raise BadInput if it uses a name that the alert type does not declare."""
    await check_names(call, template, template_source(version))
    template.version, template.html_template = version.version, version.html_template
    version.published_at, version.published_by = call.rows.now, call.principal.account_id
    await call.rows.flush()


def _changed_content(input: types.TemplateChange | types.NewTemplateVersion) -> dict[str, Any]:
    """Return the content that an input sets. Raise BadInput if a part other than the text is null."""
    changed = {name: getattr(input, name) for name in CONTENT_PARTS if getattr(input, name) is not strawberry.UNSET}
    nulls = [name for name, value in changed.items() if value is None and name != "text"]
    if nulls:
        problems = [Problem(("input", to_camel_case(name)), "must not be null") for name in nulls]
        raise BadInput("A required value is null. See `problems`.", problems=problems)
    return changed


def _content_of(version: models.TemplateVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in CONTENT_PARTS}


async def _check_content(call: Call, content: Mapping[str, Any]) -> None:
    """Raise BadInput, with line and column, if a part is not a valid template."""
    sources = {part.value: content[name] or "" for name, part in CONTENT_PARTS.items()}
    try:
        findings = await call.templates.check(TemplateSource(**sources))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None
    names = {part: name for name, part in CONTENT_PARTS.items()}
    problems = [Problem(("input", to_camel_case(names[finding.part])), str(finding)) for finding in findings]
    if problems:
        raise BadInput(f"Invalid template: {problems[0].message}", problems=problems)


def _check_culture(code: str) -> None:
    if not is_culture(code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"Invalid culture code {code!r}. Give a language tag such as en-GB.", problems=[problem])
