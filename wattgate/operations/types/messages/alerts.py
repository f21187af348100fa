"""GraphQL types of alerts and their types, of notifications and of message templates."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import alerts as queries
from wattgate.db.queries import templates as template_queries
from wattgate.db.queries.content import reference_loader
from wattgate.enums import Channel, NotificationState, Priority, RuleKind, StepStatus
from wattgate.operations.core.fields import edge
from wattgate.operations.core.pagination import Connection, ListFilter, connection_edge, filter_input
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.operations.types.identity.accounts import owner_edge
from wattgate.operations.types.messages.alert_types import VARIABLES_SIZE, AlertVariable
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission
from wattgate.values import terms


@filter_input("Filter of a list of alert types.")
class AlertTypeFilter(ListFilter):
    system_alert_type_id: terms.Text200 | None = strawberry.field(
        default=UNSET, description="Short code of the alert type, such as CM01."
    )


@filter_input("Filter of a list of alerts.")
class AlertFilter(ListFilter):
    unread: bool | None = strawberry.field(
        default=UNSET, description="Whether the user has not marked the alert as read."
    )
    alert_type_id: strawberry.ID | None = strawberry.field(default=UNSET, description="ID of the alert type.")
    since: datetime | None = strawberry.field(
        default=UNSET, description="Return only alerts that were sent at this instant or later."
    )

    special: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
        {
            "unread": lambda unread: col(models.Alert.read_at).is_(None) == unread,
            "since": lambda since: col(models.Alert.created_at) >= since,
        }
    )


@filter_input("Filter of a list of templates.")
class TemplateFilter(ListFilter):
    alert_type_id: strawberry.ID | None = strawberry.field(default=UNSET, description="ID of the alert type.")
    channel_type: Channel | None = strawberry.field(default=UNSET, description=terms.CHANNEL_TYPE)
    culture_code: terms.Text100 | None = strawberry.field(
        default=UNSET, description="Culture of the template, such as en-GB."
    )
    archived: bool | None = strawberry.field(default=UNSET, description="Whether the template is archived.")

    special: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
        {"archived": lambda archived: col(models.Template.archived_at).is_not(None) == archived}
    )


@strawberry.type(description="Type of alert, to which alerts and templates belong.")
class AlertType(Node, model=models.AlertType):
    alert_type_id: ids.AlertTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    system_alert_type_id: str = strawberry.field(description="Short code of the alert type, such as CM01.")
    description: terms.Description
    active: terms.Active
    rule_kind: RuleKind | None = edge(
        queries.rule_kinds,
        needs=Permission.ALERT_READ,
        description="Kind of the alert rules that send alerts of this type and define its variables. Null if the "
        "application sends them.",
    )
    declared: bool = edge(
        queries.declared,
        needs=Permission.ALERT_READ,
        description="Whether the variables are declared. If not, alerts may have any data, and names in templates "
        "cannot be checked.",
    )
    variables: list[AlertVariable] = edge(
        queries.variables,
        needs=Permission.ALERT_READ,
        sizes=[VARIABLES_SIZE],
        description="Variables that templates may use: first those of every alert, then those of the type.",
    )
    alerts: "Connection[Alert]" = connection_edge(
        models.Alert,
        column="alert_type_id",
        needs=Permission.NOTIFICATION_READ,
        filter_type=AlertFilter,
        description="Alerts of the type that the caller may see. `last: 10` returns the ten newest ones.",
    )


@strawberry.type(description="One version of the texts of a template. Published versions stay on record.")
class TemplateVersion:
    template_id: ids.TemplateId
    version: int = strawberry.field(description="Number of the version, counted from 1.")
    subject: str = strawberry.field(description="Template source of the mail subject or the push message title.")
    preheader: str = strawberry.field(
        description="Template source of the preview text that mail programs show after the subject."
    )
    html_template: terms.HtmlTemplate
    text: str | None = strawberry.field(
        description="Template source of the plain text. Null if the text is generated from the HTML."
    )
    created_at: terms.CreatedAt
    created_by: strawberry.ID | None = strawberry.field(
        description="ID of the account that created the version. Null if the application created it."
    )
    published_at: datetime | None = strawberry.field(
        description="When the version was last published. Null if it never was."
    )
    published_by: strawberry.ID | None = strawberry.field(
        description="ID of the account that published the version. Null if the application published it or nobody did."
    )


@strawberry.type(
    description="Message template of an alert type for one channel and one culture. Alerts use its published version."
)
class Template(Node, model=models.Template):
    template_id: ids.TemplateId
    alert_type_id: ids.AlertTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    system_alert_type_id: terms.SystemAlertTypeId
    description: terms.Description
    channel_type: Channel = strawberry.field(description=terms.CHANNEL_TYPE)
    culture_code: terms.CultureCode
    html_template: terms.HtmlTemplate
    active: bool = strawberry.field(description="Whether the template has a published version.")
    alert_type: AlertType | None = edge(
        reference_loader(models.AlertType, "alert_type_id"),
        needs=Permission.ALERT_READ,
        description="The alert type. Null if the caller may not see it.",
    )
    published: TemplateVersion | None = edge(
        template_queries.published,
        needs=Permission.TEMPLATE_READ,
        description="The published version, which alerts use. Null if the template is a draft, inactive or archived.",
    )
    archived_at: datetime | None = edge(
        template_queries.archived_at,
        needs=Permission.TEMPLATE_READ,
        description="When the template was archived. Null if it is not archived.",
    )
    in_use: bool = edge(
        template_queries.in_use,
        needs=Permission.TEMPLATE_READ,
        description="Whether alerts of this type, channel and culture use the template. Of several active templates, "
        "alerts use the newest one.",
    )
    duplicates: list["Template"] = edge(
        template_queries.duplicates,
        needs=Permission.TEMPLATE_READ,
        description="Other active templates of the same alert type, channel and culture, newest first.",
        sizes=(ListSize(2),),
    )
    versions: list[TemplateVersion] = edge(
        template_queries.versions, needs=Permission.TEMPLATE_READ, description="All versions, newest first."
    )


PUBLISHES = (
    "Whether to publish version 1 immediately, so that alerts use it. A template with an ERROR in its report is then "
    "rejected. By default, the template is a draft."
)


@strawberry.input(description="Template to add.")
class NewTemplate:
    alert_type_id: ids.AlertTypeId
    name: terms.Name
    channel_type: Channel = strawberry.field(description=terms.CHANNEL_TYPE)
    culture_code: terms.CultureCode
    html_template: terms.HtmlTemplate
    application_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the caller's application. Any other ID is rejected."
    )
    system_alert_type_id: terms.Text200 | None = strawberry.field(
        default=None, description="Short code of the alert type, such as CM01. Default: the code of the alert type."
    )
    description: terms.Description = ""
    active: bool = strawberry.field(default=False, description=PUBLISHES)
    subject: terms.TemplateSubject = ""
    preheader: terms.TemplatePreheader = ""
    text: terms.TemplateText | None = None


@strawberry.input(description="Fields of a template to change. Omitted fields keep their values.")
class TemplateChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    html_template: terms.HtmlTemplate | None = strawberry.UNSET
    culture_code: terms.CultureCode | None = strawberry.UNSET
    active: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="True publishes the current version. False withdraws it: alerts no longer use the template.",
    )
    subject: terms.TemplateSubject | None = strawberry.UNSET
    preheader: terms.TemplatePreheader | None = strawberry.UNSET
    text: terms.TemplateText | None = strawberry.UNSET


@strawberry.input(description="Texts of a template to add for one alert type, channel and culture.")
class NewTemplateText:
    name: terms.Name
    html_template: terms.HtmlTemplate
    description: terms.Description = ""
    active: bool = strawberry.field(default=False, description=PUBLISHES)
    subject: terms.TemplateSubject = ""
    preheader: terms.TemplatePreheader = ""
    text: terms.TemplateText | None = None


@strawberry.input(
    description="Texts of a new version of a template. Omitted fields are copied from the newest version."
)
class NewTemplateVersion:
    subject: terms.TemplateSubject | None = strawberry.UNSET
    preheader: terms.TemplatePreheader | None = strawberry.UNSET
    html_template: terms.HtmlTemplate | None = strawberry.UNSET
    text: terms.TemplateText | None = strawberry.UNSET


@strawberry.type(description="Log entry of a notification: one step of its delivery.")
class NotificationLog:
    notification_id: ids.NotificationId
    alert_id: ids.AlertId
    user_id: ids.UserId
    channel: terms.AlertChannel
    stage: str = strawberry.field(description="Step in words, such as Sent or Attempt Failed.")
    step: int = strawberry.field(description="Number of the step, counted from 1.")
    status: StepStatus = strawberry.field(description="Result of the step.")
    detail: str | None = strawberry.field(
        description="Details, such as the reason of an error. Null if there are none."
    )
    status_at: datetime = strawberry.field(description="When the step took place.")


@strawberry.type(description="Delivery of an alert through one channel.")
class Notification(Node, model=models.Notification):
    notification_id: ids.NotificationId
    application_id: ids.ApplicationId
    alert_id: ids.AlertId
    user_id: ids.UserId
    channel: terms.AlertChannel
    status: StepStatus = strawberry.field(description="Result of the delivery so far: ERROR after it failed.")
    state: NotificationState = strawberry.field(description="State of the delivery.")
    data: Json | None = strawberry.field(description="JSON object whose members fill the markers of the template.")
    template_id: strawberry.ID | None = strawberry.field(
        description="ID of the template that was used. Null if there was none."
    )
    template_version: int | None = strawberry.field(
        description="Number of the template version that was used. Null if there was no template."
    )
    subject: str | None = strawberry.field(
        description="Rendered mail subject or push message title. Null if there was no template."
    )
    html: str | None = strawberry.field(description="Rendered HTML. Null if there was no template.")
    text: str | None = strawberry.field(description="Rendered plain text. Null if there was no template.")
    created_at: terms.CreatedAt
    status_at: datetime = strawberry.field(description="When the status last changed.")
    log: list[NotificationLog] = edge(
        queries.logs,
        needs=Permission.NOTIFICATION_READ,
        sizes=[ListSize(5)],
        description="Log of the delivery so far, oldest step first.",
    )
    alert: "Alert | None" = edge(
        reference_loader(models.Alert, "alert_id"),
        needs=Permission.NOTIFICATION_READ,
        description="The alert. Null if the caller may not see it.",
    )


@strawberry.type(description="An alert to a user, with one notification for each channel.")
class Alert(Node, model=models.Alert):
    alert_id: ids.AlertId
    application_id: ids.ApplicationId
    user_id: ids.UserId
    alert_type_id: ids.AlertTypeId
    system_alert_type_id: terms.SystemAlertTypeId
    channels: list[Channel] = strawberry.field(description=terms.CHANNELS)
    priority: Priority = strawberry.field(description="Urgency of the alert.")
    callback_url: str | None = strawberry.field(
        description="URL that receives the webhooks of the alert. Null if there is none."
    )
    data: Json | None = strawberry.field(description="JSON object whose members fill the markers of the templates.")
    ve_id: strawberry.ID | None = strawberry.field(
        description="ID of the home that the alert is about. Null stands for the user's oldest home."
    )
    created_at: terms.CreatedAt
    read_at: datetime | None = strawberry.field(
        description="When the user marked the alert as read. Null if the alert is unread."
    )
    alert_type: AlertType | None = edge(
        reference_loader(models.AlertType, "alert_type_id"),
        needs=Permission.ALERT_READ,
        description="The alert type. Null if the caller may not see it.",
    )
    notifications: list[Notification] = edge(
        queries.notifications,
        needs=Permission.NOTIFICATION_READ,
        sizes=[ListSize(3)],
        description="Notifications of the alert, one for each channel.",
    )
    virtual_entity: VirtualEntity | None = edge(
        reference_loader(models.VirtualEntity, "ve_id"),
        needs=Permission.VIRTUAL_ENTITY_READ,
        description="Home that the alert is about. Null if it is about none, or if the caller may not see it.",
    )
    user: Any = owner_edge("alert", "user_id", "gets")


@strawberry.type(description="Result of marking alerts as read.")
class MarkedAlerts:
    marked: int = strawberry.field(description="Number of alerts that were unread before.")
    unread: int = strawberry.field(description="Number of the user's alerts that are still unread.")


@strawberry.input(description="Alert to send.")
class NewAlert:
    user_id: ids.UserId
    alert_type_id: terms.Text200 = strawberry.field(
        description="ID of the alert type, or its short code, such as CM01."
    )
    channels: list[Channel] = strawberry.field(description=terms.CHANNELS)
    priority: Priority = strawberry.field(default=Priority.LOW, description="Urgency of the alert: High or Low.")
    callback_url: terms.Url | None = strawberry.field(
        default=None, description="URL that receives the webhooks of the alert."
    )
    data: Json | None = strawberry.field(
        default=None,
        description="JSON object with the variables of the alert type, which fill the markers of the templates. "
        "Values that do not fit the declared variables are rejected.",
    )
    ve_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the user's home that the alert is about. Default: the user's oldest home."
    )
    culture_code: terms.Text100 | None = strawberry.field(
        default=None,
        description="Language and region of the messages, such as fr-CA. Default: the user's culture.",
    )
