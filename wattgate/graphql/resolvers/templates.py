"""Templates on record: added, changed, published and rolled back."""

from collections.abc import Mapping
from typing import Any

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import templates as queries
from wattgate.delivery.templates.cultures import is_culture
from wattgate.delivery.templates.diagnostics import DoesNotParse, Part, Severity, TooMuch
from wattgate.delivery.templates.engine import parse
from wattgate.delivery.templates.report import report
from wattgate.enums import camel
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.graphql.core.inputs import values_of
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.types import alerts as types
from wattgate.principal import Permission, Scheme

SAID = {
    "subject": Part.SUBJECT,
    "preheader": Part.PREHEADER,
    "html_template": Part.HTML,
    "text": Part.TEXT,
}
"""The members of a version that say something, and which part each is."""


@operation(
    Kind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=Rest("POST", "/template", scheme=Scheme.BASIC),
)
async def add_template(call: Call, *, input: types.NewTemplate) -> models.Template:
    """Add a template for an alert type in one channel and culture. It is published at once."""
    kinds = await call.rows.many(models.AlertType, [input.alert_type_id])
    problems = []
    if not kinds:
        problems.append(Problem(("input", "alertTypeId"), f"{input.alert_type_id} does not exist"))
    if input.application_id not in (None, call.rows.application_id):
        problems.append(Problem(("input", "applicationId"), "is not the caller's application"))
    if problems:
        raise BadInput("the template refers to what does not exist", problems=problems)
    template = _new(kinds[input.alert_type_id], input.channel_type, input.culture_code, input)
    template.system_alert_type_id = input.system_alert_type_id or template.system_alert_type_id
    return await _added(call, template, input)


@operation(
    Kind.QUERY,
    returns=types.Template,
    needs=Permission.TEMPLATE_READ,
    rest=Rest("GET", "/template/{alertTypeId}/{channelType}/{cultureCode}"),
)
async def template_for(
    call: Call, *, alert_type_id: strawberry.ID, channel_type: types.Channel, culture_code: str
) -> models.Template:
    """The newest template of an alert type, channel and culture."""
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
    Kind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=Rest("POST", "/template/{alertTypeId}/{channelType}/{cultureCode}"),
)
async def add_template_for(
    call: Call,
    *,
    alert_type_id: strawberry.ID,
    channel_type: types.Channel,
    culture_code: str,
    input: types.NewTemplateText,
) -> models.Template:
    """Add a template for an alert type, channel and culture. It is published at once."""
    kind = await call.rows.get(models.AlertType, alert_type_id)
    return await _added(call, _new(kind, channel_type, culture_code, input), input)


@operation(
    Kind.MUTATION,
    returns=types.Template,
    needs=Permission.TEMPLATE_WRITE,
    rest=Rest("PUT", "/template/{templateId}"),
)
async def update_template(call: Call, *, template_id: strawberry.ID, input: types.TemplateChange) -> models.Template:
    """Change a template; what is left out stays as it is. What it says becomes a version that is published at once."""
    template = await call.rows.edit(models.Template, template_id)
    for name, value in values_of(input, models.Template, leave_out=SAID).items():
        setattr(template, name, value)
    _check_culture(template.culture_code)
    given = _given(input)
    if given:
        (last,) = await queries.published(call.rows, [template])
        await _publish(call, template, await _add_version(call, template, {**_said(last), **given}))
    return template


@operation(Kind.MUTATION, returns=types.TemplateVersion, needs=Permission.TEMPLATE_WRITE)
async def add_template_version(
    call: Call, *, template_id: strawberry.ID, input: types.NewTemplateVersion
) -> models.TemplateVersion:
    """Add a version of a template, which is not sent until it is published."""
    template = await call.rows.edit(models.Template, template_id)
    ((newest, *_),) = await queries.versions(call.rows, [template])
    return await _add_version(call, template, {**_said(newest), **_given(input)})


@operation(Kind.MUTATION, returns=types.Template, needs=Permission.TEMPLATE_WRITE)
async def publish_template(call: Call, *, template_id: strawberry.ID, version: int) -> models.Template:
    """Make a version of a template the one that is sent. Refused where its report has errors."""
    template = await call.rows.edit(models.Template, template_id)
    wanted = await _version(call, template, version)
    errors = [
        Problem(("version",), str(one))
        for one in report(queries.source_of(wanted)).findings
        if one.severity is Severity.ERROR
    ]
    if errors:
        raise BadInput(f"version {version} must not be sent as it is: {errors[0].message}", problems=errors)
    await _publish(call, template, wanted)
    return template


@operation(Kind.MUTATION, returns=types.Template, needs=Permission.TEMPLATE_WRITE)
async def roll_back_template(call: Call, *, template_id: strawberry.ID) -> models.Template:
    """Publish the version of a template that was published before the present one."""
    template = await call.rows.edit(models.Template, template_id)
    (some,) = await queries.versions(call.rows, [template])
    before = [one for one in some if one.version < template.version and one.published_at is not None]
    if not before:
        raise Conflict(f"no version of the template was published before version {template.version}")
    await _publish(call, template, await _version(call, template, before[0].version))
    return template


def _new(
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


async def _added(
    call: Call, template: models.Template, input: types.NewTemplate | types.NewTemplateText
) -> models.Template:
    _check_culture(template.culture_code)
    said = {name: getattr(input, name) for name in SAID}
    _check_said(said)
    await call.rows.add(template)
    await _publish(call, template, await _add_version(call, template, said))
    return template


async def _add_version(call: Call, template: models.Template, said: Mapping[str, Any]) -> models.TemplateVersion:
    """Add a version with the next number; whoever edits the template waits until this is done."""
    _check_said(said)
    known = await call.rows.count(
        models.TemplateVersion, col(models.TemplateVersion.template_id) == template.template_id
    )
    return await call.rows.add(
        models.TemplateVersion(
            template_id=template.template_id,
            version=known + 1,
            created_at=call.rows.now,
            created_by=call.principal.account_id,
            **said,
        )
    )


async def _version(call: Call, template: models.Template, version: int) -> models.TemplateVersion:
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


def _given(input: types.TemplateChange | types.NewTemplateVersion) -> dict[str, Any]:
    """What an input says anew. BadInput for a null where there must be something."""
    given = {name: getattr(input, name) for name in SAID if getattr(input, name) is not strawberry.UNSET}
    nulls = [name for name, value in given.items() if value is None and name != "text"]
    if nulls:
        problems = [Problem(("input", camel(name)), "must not be null") for name in nulls]
        raise BadInput("a value that must be there is null", problems=problems)
    return given


def _said(version: models.TemplateVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in SAID}


def _check_said(said: Mapping[str, Any]) -> None:
    """BadInput with line and column for what is no template."""
    problems = []
    for name, part in SAID.items():
        try:
            parse(said[name] or "", part)
        except (DoesNotParse, TooMuch) as fault:
            problems += [Problem(("input", camel(name)), str(one)) for one in fault.findings]
    if problems:
        raise BadInput(f"the template cannot be read: {problems[0].message}", problems=problems)


def _check_culture(code: str) -> None:
    if not is_culture(code):
        problem = Problem(("input", "cultureCode"), "is not a language tag such as en-GB")
        raise BadInput(f"{code} is not a culture", problems=[problem])
