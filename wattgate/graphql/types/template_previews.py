"""Templates tried out before anybody gets them."""

from enum import Enum

import strawberry

from wattgate.delivery.templates.diagnostics import Part, Severity
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types.alerts import Channel, Template


@strawberry.enum(description="Where the data of a preview is from.")
class PreviewData(Enum):
    GIVEN = "given"
    ALERT = "alert"
    MADE = "made"


@strawberry.type(description="One thing that is said of a template.")
class TemplateFinding:
    severity: Severity = strawberry.field(description="ERROR where it must not be sent as it is.")
    code: str = strawberry.field(description="What is said, for software, such as variable-misspelt.")
    part: Part = strawberry.field(description="The part that it is said of.")
    line: int | None = strawberry.field(description="Counted from 1, in the source; null for the part as a whole.")
    column: int | None = strawberry.field(description="Counted from 1.")
    message: str
    hint: str | None = strawberry.field(description="What may be done about it.")


@strawberry.type(description="A variable that a template names, at one of its places.")
class TemplateVariable:
    name: str = strawberry.field(description="Its path in the data, such as home.name.")
    part: Part = strawberry.field(description="The part that names it.")
    line: int = strawberry.field(description="Counted from 1.")
    column: int = strawberry.field(description="Counted from 1.")
    optional: bool = strawberry.field(description="Whether that place does without it.")


@strawberry.type(description="What is wrong with a template, and its sizes.")
class TemplateReport:
    ok: bool = strawberry.field(description="Whether nothing stands against sending it: no finding is an error.")
    findings: list[TemplateFinding] = strawberry.field(description="Errors first.")
    variables: list[TemplateVariable] = strawberry.field(description="Part by part, in their order.")
    html_bytes: int = strawberry.field(description="The size of the HTML with its styles inlined.")
    text_bytes: int = strawberry.field(description="The size of the text.")


@strawberry.type(description="A culture in which there are templates of an alert type and channel.")
class CultureCoverage:
    culture_code: str
    template: Template = strawberry.field(description="The newest in that culture, one in use before all others.")


@strawberry.type(description="A template as it would be sent. Nothing of it is saved.")
class TemplatePreview:
    subject: str | None = strawberry.field(description="null where it cannot be rendered.")
    preheader: str | None = strawberry.field(
        description="What lists of mails show after the subject; null where it cannot be rendered."
    )
    html: str | None = strawberry.field(
        description="With styles inlined and the preheader hidden in it; null where it cannot be rendered."
    )
    text: str | None = strawberry.field(description="The template's own, or made from the HTML.")
    text_made: bool = strawberry.field(description="Whether the text is made from the HTML.")
    data: Json = strawberry.field(description="What filled the markers.")
    data_from: PreviewData = strawberry.field(description="Where that is from.")
    template: Template | None = strawberry.field(description="The template whose sources these are, if one's are.")
    chosen: Template | None = strawberry.field(
        description="The one that somebody of the culture gets; null where there is none, or no alert type is known."
    )
    cultures_tried: list[str] = strawberry.field(description="The cultures tried for it, the last one with success.")
    coverage: list[CultureCoverage] = strawberry.field(description="The cultures that there are templates in.")
    report: TemplateReport = strawberry.field(description="What is wrong with it.")


@strawberry.input(
    description="What to preview: the sources of a template (templateId, or what somebody of cultureCode gets of "
    "alertTypeId by channelType), each replaced by one that is given here; and the data."
)
class TemplateToPreview:
    template_id: strawberry.ID | None = None
    alert_type_id: strawberry.ID | None = None
    channel_type: Channel = Channel.EMAIL
    culture_code: str | None = None
    subject: str | None = strawberry.field(default=None, description="The source of the subject.")
    preheader: str | None = strawberry.field(default=None, description="The source of the preheader.")
    html: str | None = strawberry.field(default=None, description="The source of the HTML.")
    text: str | None = strawberry.field(
        default=strawberry.UNSET, description="The source of the text; null where it is to be made from the HTML."
    )
    data: Json | None = strawberry.field(default=None, description="What fills the markers: an object.")
    alert_id: strawberry.ID | None = strawberry.field(
        default=None, description="An alert whose data fills the markers. Without it and data, some is made up."
    )
