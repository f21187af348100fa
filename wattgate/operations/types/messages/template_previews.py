"""GraphQL types of template previews."""

from datetime import datetime
from enum import Enum

import strawberry

from wattgate.delivery.templates.language.diagnostics import Severity, TemplatePart
from wattgate.enums import Channel
from wattgate.operations.types.messages.alerts import Alert, Template
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import Json, enum_type
from wattgate.values import terms


@enum_type(
    "Source of the data of a preview.",
    GIVEN="Data of the request.",
    ALERT="Data of an alert that was sent.",
    MADE="Samples of the variables of the alert type, or values generated from their names.",
)
class PreviewData(Enum):
    GIVEN = "given"
    ALERT = "alert"
    MADE = "made"


@strawberry.type(description="Error, warning or hint about a template.")
class TemplateFinding:
    severity: Severity = strawberry.field(
        description="Severity of the finding. A template with an ERROR cannot be published."
    )
    code: str = strawberry.field(description="Machine-readable code of the finding, such as variable-misspelt.")
    part: TemplatePart = strawberry.field(description="Part of the template that has the finding.")
    line: int | None = strawberry.field(description="Line in the source, counted from 1. Null for the part as a whole.")
    column: int | None = strawberry.field(
        description="Column in the line, counted from 1. Null for the part as a whole."
    )
    message: str = strawberry.field(description="Human-readable description of the finding.")
    hint: str | None = strawberry.field(description="How to fix the finding. Null if there is no suggestion.")


@strawberry.type(description="One use of a variable in a template.")
class TemplateVariable:
    name: str = strawberry.field(description="Path of the variable in the data, such as home.name.")
    part: TemplatePart = strawberry.field(description="Part of the template that uses the variable.")
    line: int = strawberry.field(description="Line in the source, counted from 1.")
    column: int = strawberry.field(description="Column in the line, counted from 1.")
    optional: bool = strawberry.field(description="Whether the template renders without the variable here.")


@strawberry.type(description="Report on a template: findings, variables and sizes.")
class TemplateReport:
    ok: bool = strawberry.field(description="Whether the template can be published: no finding is an ERROR.")
    findings: list[TemplateFinding] = strawberry.field(description="All findings, errors first.")
    variables: list[TemplateVariable] = strawberry.field(description="Uses of variables, by part and position.")
    html_bytes: int = strawberry.field(description="Size of the HTML with inlined styles, in bytes.")
    text_bytes: int = strawberry.field(description="Size of the plain text, in bytes.")
    names_checked: bool = strawberry.field(
        description="Whether all names of variables were compared with the declared variables of the alert type. If "
        "not, a misspelt name can remain unnoticed."
    )


@strawberry.type(description="A culture for which the alert type and channel have templates.")
class CultureCoverage:
    culture_code: terms.CultureCode
    template: Template = strawberry.field(
        description="Newest active template of the culture, or the newest inactive one."
    )


@strawberry.type(description="Template as it would be sent, with a report. It is not saved.")
class TemplatePreview:
    subject: str | None = strawberry.field(description="Rendered subject. Null if it cannot be rendered.")
    preheader: str | None = strawberry.field(
        description="Rendered preview text that mail programs show after the subject. Null if it cannot be rendered."
    )
    html: str | None = strawberry.field(
        description="Rendered HTML with inlined styles and a hidden preheader. Null if it cannot be rendered."
    )
    text: str | None = strawberry.field(description="Rendered plain text. Null if it cannot be rendered.")
    text_made: bool = strawberry.field(description="Whether the text was generated from the HTML.")
    data: Json = strawberry.field(description="JSON object whose members filled the markers.")
    data_from: PreviewData = strawberry.field(description="Source of the data.")
    alert: Alert | None = strawberry.field(
        description="Alert whose data, recipient and home were used. Null if the data is not from an alert."
    )
    template: Template | None = strawberry.field(
        description="Template whose sources were used. Null if the input has all sources."
    )
    chosen: Template | None = strawberry.field(
        description="Template that a user of the culture receives. Null if there is none, or if no alert type is known."
    )
    cultures_tried: list[str] = strawberry.field(description="Cultures that were searched for `chosen`, in order.")
    coverage: list[CultureCoverage] = strawberry.field(description="Cultures for which there are templates.")
    report: TemplateReport = strawberry.field(description="Report on the template.")


@strawberry.type(
    description="Link to the preview of a version of a template. Everybody who has it can see the preview."
)
class SharedTemplatePreview:
    preview_url: str = strawberry.field(description="Address of the preview. It contains no credentials of the caller.")
    version: int = strawberry.field(description="Number of the version that the link shows.")
    expires_at: datetime = strawberry.field(description="When the link stops working.")


@strawberry.input(
    description="Template to preview, and its data. The sources come from the template `templateId`, or from the "
    "template that a user of `cultureCode` receives for `alertTypeId` and `channelType`. Sources in this input replace "
    "them."
)
class TemplateToPreview:
    template_id: ids.TemplateId | None = None
    version: int | None = strawberry.field(
        default=None,
        description="Number of the version of the template whose sources are used. Default: the current one.",
    )
    alert_type_id: ids.AlertTypeId | None = None
    channel_type: Channel = strawberry.field(default=Channel.EMAIL, description=terms.CHANNEL_TYPE)
    culture_code: terms.Text100 | None = strawberry.field(
        default=None,
        description="Language and region of the user, such as en-GB. Default: that of the alert's user, or else of the "
        "template, or else of the application. With `html` and without `templateId`, it is also that of the template.",
    )
    subject: terms.Text2000 | None = strawberry.field(default=None, description="Template source of the subject.")
    preheader: terms.Text2000 | None = strawberry.field(default=None, description="Template source of the preheader.")
    html: terms.Source | None = strawberry.field(default=None, description="Template source of the HTML.")
    text: terms.TemplateText | None = strawberry.UNSET
    data: Json | None = strawberry.field(
        default=None,
        description="JSON object whose members fill the markers. Samples fill the variables of every alert that it "
        "does not have.",
    )
    alert_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="ID of an alert whose data, recipient and home fill the markers. Without it and `data`, the newest "
        "alert of the type is used, or samples of the variables if there is none.",
    )
    samples: bool = strawberry.field(
        default=False, description="Whether to use samples of the variables instead of the newest alert."
    )
    try_links: bool = strawberry.field(
        default=False,
        description="Whether to request the links and images of the rendered HTML, at most 20, and to report those "
        "that do not answer. Only public https addresses are requested, unless the operator permits others.",
    )
