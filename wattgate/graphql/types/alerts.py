"""The notification system's records."""

from datetime import datetime
from enum import Enum

import strawberry

from wattgate.db import models
from wattgate.db.queries import alerts as queries
from wattgate.db.queries import templates as template_queries
from wattgate.db.queries.references import referred
from wattgate.enums import NotificationState
from wattgate.graphql.core.cost_weights import Size
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.scalars import Json
from wattgate.principal import Permission


@strawberry.enum(description="How an alert reaches a person.")
class Channel(Enum):
    EMAIL = "email"
    PUSH = "push"
    INBOX = "inbox"


@strawberry.enum(description="How urgent an alert is.")
class Priority(Enum):
    HIGH = "High"
    LOW = "Low"


@strawberry.type(description="A kind of alert.")
class AlertType:
    alert_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    system_alert_type_id: str = strawberry.field(description="The short code of the system alert kind, such as CM01.")
    description: str
    active: bool


@strawberry.input(description="A kind of alert to add.")
class NewAlertType:
    system_alert_type_id: str
    name: str
    description: str = ""


@strawberry.input(description="What may change on a kind of alert; what is left out stays as it is.")
class AlertTypeChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    system_alert_type_id: str | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET


@strawberry.type(description="What a template says, said, or may say.")
class TemplateVersion:
    template_id: strawberry.ID
    version: int = strawberry.field(description="Counted from 1.")
    subject: str = strawberry.field(description="The source of the subject, or of a push message's title.")
    preheader: str = strawberry.field(description="The source of what lists of mails show after the subject.")
    html_template: str
    text: str | None = strawberry.field(description="The source of the text; null where it is made from the HTML.")
    created_at: datetime
    created_by: strawberry.ID | None = strawberry.field(
        description="The account that wrote it; null where the application did."
    )
    published_at: datetime | None = strawberry.field(description="When it was last published; null where it never was.")
    published_by: strawberry.ID | None = strawberry.field(
        description="The account that published it; null where the application did, or nobody."
    )


@strawberry.type(description="What an alert of some type says in one channel and culture.")
class Template:
    template_id: strawberry.ID
    alert_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    system_alert_type_id: str
    description: str
    channel_type: str = strawberry.field(description="email, push or inbox.")
    culture_code: str = strawberry.field(description="A language-region tag, such as en-GB.")
    html_template: str = strawberry.field(description="HTML with markers in double braces, such as {{name}}.")
    active: bool
    alert_type: AlertType | None = edge(
        referred(models.AlertType, "alert_type_id"), needs=Permission.ALERT_READ, description="The kind of alert."
    )
    published: TemplateVersion = edge(
        template_queries.published, needs=Permission.TEMPLATE_READ, description="The version that is sent."
    )
    versions: list[TemplateVersion] = edge(
        template_queries.versions, needs=Permission.TEMPLATE_READ, description="Every version, the newest first."
    )


@strawberry.input(description="A template to add.")
class NewTemplate:
    alert_type_id: strawberry.ID
    name: str
    channel_type: Channel
    culture_code: str
    html_template: str
    application_id: strawberry.ID | None = strawberry.field(
        default=None, description="The caller's own application; another one is refused."
    )
    system_alert_type_id: str | None = strawberry.field(
        default=None, description="The alert type's where it is left out."
    )
    description: str = ""
    active: bool = True
    subject: str = strawberry.field(default="", description="The source of the subject, or of a push message's title.")
    preheader: str = strawberry.field(default="", description="The source of what lists of mails show after it.")
    text: str | None = strawberry.field(
        default=None, description="The source of the text; null makes it from the HTML."
    )


@strawberry.input(description="What may change on a template; what is left out stays as it is.")
class TemplateChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    html_template: str | None = strawberry.UNSET
    culture_code: str | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET
    subject: str | None = strawberry.field(default=strawberry.UNSET, description="The source of the subject.")
    preheader: str | None = strawberry.field(default=strawberry.UNSET, description="The source of the preheader.")
    text: str | None = strawberry.field(
        default=strawberry.UNSET, description="The source of the text; null makes it from the HTML."
    )


@strawberry.input(description="A template for one alert type, channel and culture.")
class NewTemplateText:
    name: str
    html_template: str
    description: str = ""
    active: bool = True
    subject: str = strawberry.field(default="", description="The source of the subject, or of a push message's title.")
    preheader: str = strawberry.field(default="", description="The source of what lists of mails show after it.")
    text: str | None = strawberry.field(
        default=None, description="The source of the text; null makes it from the HTML."
    )


@strawberry.input(description="What a template may say; what is left out is as in the newest version.")
class NewTemplateVersion:
    subject: str | None = strawberry.field(default=strawberry.UNSET, description="The source of the subject.")
    preheader: str | None = strawberry.field(default=strawberry.UNSET, description="The source of the preheader.")
    html_template: str | None = strawberry.UNSET
    text: str | None = strawberry.field(
        default=strawberry.UNSET, description="The source of the text; null makes it from the HTML."
    )


@strawberry.type(description="A step of a notification's way.")
class NotificationLog:
    notification_id: strawberry.ID
    alert_id: strawberry.ID
    user_id: strawberry.ID
    channel: str
    stage: str
    step: int = strawberry.field(description="Counted from 1.")
    status: str = strawberry.field(description="OK or ERROR.")
    detail: str | None = strawberry.field(description="Why it went as it did, where there is something to say.")
    status_at: datetime


@strawberry.type(description="An alert on its way through one channel.")
class Notification:
    notification_id: strawberry.ID
    alert_id: strawberry.ID
    user_id: strawberry.ID
    channel: str
    status: str = strawberry.field(description="OK, or ERROR once it failed.")
    state: NotificationState = strawberry.field(description="Whether it has gone out.")
    data: Json | None
    template_id: strawberry.ID | None = strawberry.field(
        description="The template that it was made from; null where there was none for it."
    )
    template_version: int | None = strawberry.field(description="The version of the template.")
    subject: str | None = strawberry.field(description="What it says: the subject of a mail, the title of a message.")
    html: str | None = strawberry.field(description="What it says, as HTML; null where there was no template.")
    text: str | None = strawberry.field(description="What it says, as text.")
    created_at: datetime
    status_at: datetime
    log: list[NotificationLog] = edge(
        queries.logs,
        needs=Permission.NOTIFICATION_READ,
        sizes=[Size(5)],
        description="What happened so far, first step first.",
    )


@strawberry.type(description="An alert to a user.")
class Alert:
    alert_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    alert_type_id: strawberry.ID
    system_alert_type_id: str
    channels: list[str] = strawberry.field(description="Of email, push and inbox, those it is sent by.")
    priority: str = strawberry.field(description="High or Low.")
    callback_url: str | None
    data: Json | None = strawberry.field(description="What fills the markers of the templates.")
    created_at: datetime
    read_at: datetime | None = strawberry.field(description="When the user read it; null where they have not.")
    alert_type: AlertType | None = edge(
        referred(models.AlertType, "alert_type_id"), needs=Permission.ALERT_READ, description="The kind of alert."
    )
    notifications: list[Notification] = edge(
        queries.notifications, needs=Permission.NOTIFICATION_READ, sizes=[Size(3)], description="One for each channel."
    )


@strawberry.type(description="What became of a wish to mark alerts as read.")
class MarkedAlerts:
    marked: int = strawberry.field(description="How many were not read before.")
    unread: int = strawberry.field(description="How many of the user's alerts are not read now.")


@strawberry.input(description="An alert to send.")
class NewAlert:
    user_id: strawberry.ID
    alert_type_id: str = strawberry.field(description="The id of an alert type, or its short code, such as CM01.")
    channels: list[Channel]
    priority: Priority = Priority.LOW
    callback_url: str | None = strawberry.field(default=None, description="Where webhooks about it go.")
    data: Json | None = strawberry.field(default=None, description="What fills the markers of the templates.")
    culture_code: str | None = strawberry.field(
        default=None, description="In what it is told, such as fr-CA; the application's culture where it is left out."
    )
