"""Templates on record: added, changed, published and rolled back."""

from collections.abc import Mapping
from typing import Any

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import templates as queries
from wattgate.delivery.templates.cultures import is_culture
from wattgate.delivery.templates.diagnostics import Severity, TemplateLimitExceeded, TemplatePart, TemplateSyntaxError
from wattgate.delivery.templates.engine import parse_template
from wattgate.delivery.templates.report import build_report
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.graphql.core.inputs import to_column_values
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.template_sources import template_source
from wattgate.graphql.types import alerts as types
from wattgate.principal import AuthScheme, Permission

CONTENT_PARTS = {
    "subject": TemplatePart.SUBJECT,
    "preheader": TemplatePart.PREHEADER,
    "html_template": TemplatePart.HTML,
    "text": TemplatePart.TEXT,
}
"""The members of a version that say something, and which part each is."""


@operation(
    OperationKind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=RestRoute("POST", "/template", scheme=AuthScheme.BASIC),
)
async def add_template(call: Call, *, input: types.NewTemplate) -> models.Template:
    """Add a template for an alert type, channel and culture. It is published immediately."""
    kinds = await call.rows.get_many(models.AlertType, [input.alert_type_id])
    problems = []
    if not kinds:
        problems.append(Problem(("input", "alertTypeId"), f"{input.alert_type_id} does not exist"))
    if input.application_id not in (None, call.rows.application_id):
        problems.append(Problem(("input", "applicationId"), "is not the caller's application"))
    if problems:
        raise BadInput("the template refers to what does not exist", problems=problems)
    template = _build_template(kinds[input.alert_type_id], input.channel_type, input.culture_code, input)
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
    found = await call.rows.all(
        models.Template,
        col(models.Template.alert_type_id) == alert_type_id,
        col(models.Template.channel_type) == channel_type.value,
        col(models.Template.culture_code) == culture_code,
        order_by=[models.Template.created_at],
    )
    if not found:
        raise NotFound(f"no template of alert type {alert_type_id} for {channel_type.value} in {culture_code}")
    return found[-1]


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
    kind = await call.rows.get(models.AlertType, alert_type_id)
    return await _store_template(call, _build_template(kind, channel_type, culture_code, input), input)


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
    given = _changed_content(input)
    if given:
        (last,) = await queries.published(call.rows, [template])
        await _publish(call, template, await _add_version(call, template, {**_content_of(last), **given}))
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
    wanted = await _edit_version(call, template, version)
    errors = [
        Problem(("version",), str(one))
        for one in build_report(template_source(wanted)).findings
        if one.severity is Severity.ERROR
    ]
    if errors:
        raise BadInput(f"version {version} must not be sent as it is: {errors[0].message}", problems=errors)
    await _publish(call, template, wanted)
    return template


@operation(OperationKind.MUTATION, returns=types.Template, needs=Permission.TEMPLATE_WRITE)
async def roll_back_template(call: Call, *, template_id: strawberry.ID) -> models.Template:
    """Publish the previously published version of a template again."""
    template = await call.rows.edit(models.Template, template_id)
    (some,) = await queries.versions(call.rows, [template])
    before = [one for one in some if one.version < template.version and one.published_at is not None]
    if not before:
        raise Conflict(f"no version of the template was published before version {template.version}")
    await _publish(call, template, await _edit_version(call, template, before[0].version))
    return template


def _build_template(
    kind: models.AlertType,
    channel_type: types.Channel,
    culture_code: str,
    input: types.NewTemplate | types.NewTemplateText,
) -> models.Template:
    return models.Template(
        alert_type_id=kind.alert_type_id,
        name=input.name,
        system_alert_type_id=kind.system_alert_type_id,
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
    said = {name: getattr(input, name) for name in CONTENT_PARTS}
    _check_content(said)
    await call.rows.add(template)
    await _publish(call, template, await _add_version(call, template, said))
    return template


async def _add_version(call: Call, template: models.Template, content: Mapping[str, Any]) -> models.TemplateVersion:
    """Add a version with the next number; whoever edits the template waits until this is done."""
    _check_content(content)
    known = await call.rows.count(
        models.TemplateVersion, col(models.TemplateVersion.template_id) == template.template_id
    )
    return await call.rows.add(
        models.TemplateVersion(
            template_id=template.template_id,
            version=known + 1,
            created_at=call.rows.now,
            created_by=call.principal.account_id,
            **content,
        )
    )


async def _edit_version(call: Call, template: models.Template, version: int) -> models.TemplateVersion:
    found = await call.rows.first(
        models.TemplateVersion,
        col(models.TemplateVersion.template_id) == template.template_id,
        col(models.TemplateVersion.version) == version,
    )
    if found is None:
        raise NotFound(f"the template has no version {version}")
    return await call.rows.edit(models.TemplateVersion, found.version_id)


async def _publish(call: Call, template: models.Template, version: models.TemplateVersion) -> None:
    template.version, template.html_template = version.version, version.html_template
    version.published_at, version.published_by = call.rows.now, call.principal.account_id
    await call.rows.flush()


def _changed_content(input: types.TemplateChange | types.NewTemplateVersion) -> dict[str, Any]:
    """What an input says anew. BadInput for a null where there must be something."""
    given = {name: getattr(input, name) for name in CONTENT_PARTS if getattr(input, name) is not strawberry.UNSET}
    nulls = [name for name, value in given.items() if value is None and name != "text"]
    if nulls:
        problems = [Problem(("input", to_camel_case(name)), "must not be null") for name in nulls]
        raise BadInput("a value that must be there is null", problems=problems)
    return given


def _content_of(version: models.TemplateVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in CONTENT_PARTS}


def _check_content(content: Mapping[str, Any]) -> None:
    """BadInput with line and column for what is no template."""
    problems = []
    for name, part in CONTENT_PARTS.items():
        try:
            parse_template(content[name] or "", part)
        except (TemplateSyntaxError, TemplateLimitExceeded) as fault:
            problems += [Problem(("input", to_camel_case(name)), str(one)) for one in fault.findings]
    if problems:
        raise BadInput(f"the template cannot be read: {problems[0].message}", problems=problems)


def _check_culture(code: str) -> None:
    if not is_culture(code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"{code} is not a culture", problems=[problem])
