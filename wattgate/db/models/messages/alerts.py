"""Records of the notification system: alert types, templates, alerts, notifications and their delivery steps."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Enum, Index, UniqueConstraint
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import (
    AssignedId,
    EnumText,
    EnumTexts,
    FixedPoint,
    JsonColumn,
    StructColumn,
    UtcDateTime,
    created_at_field,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.delivery.templates.language.contract import VariableDeclaration
from wattgate.enums import Channel, Function, NotificationState, Period, Priority, RuleKind, StepStatus, ThresholdSide


class AlertType(Tenanted, table=True):
    """A type of alert. `system_alert_type_id` is the short code of the system's alert type, such as CM01.

    `variables` are those that the application has declared for its alerts. If `rule_kind` is set, they are those of the
    rules of this kind instead. If both are None, the variables are undeclared.
    """

    __tablename__ = "alert_type"
    key: ClassVar[str] = "alert_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("alert types", per_application=1_000)

    alert_type_id: str = AssignedId()
    name: str
    system_alert_type_id: str
    description: str = ""
    active: bool = True
    variables: list[VariableDeclaration] | None = Field(
        default=None, sa_type=StructColumn(VariableDeclaration), nullable=True
    )
    rule_kind: RuleKind | None = Field(default=None, sa_type=Enum(RuleKind, native_enum=False, length=16))


class Template(Tenanted, table=True):
    """The content of alerts of one type, channel and culture. `html_template` has markers in double braces.

    `version` is the version that alerts use while the template is active, and the newest draft before its first
    publication. `html_template` is a copy of its HTML; `TemplateVersion` has its full content. An archived template is
    not active.
    """

    key: ClassVar[str] = "template_id"
    quota: ClassVar[Quota | NoQuota] = Quota("templates", per_application=5_000)

    template_id: str = AssignedId()
    alert_type_id: str = Field(foreign_key="alert_type.alert_type_id", index=True)
    name: str
    system_alert_type_id: str = ""
    description: str = ""
    channel_type: Channel = Field(sa_type=EnumText(Channel))
    culture_code: str
    html_template: str
    version: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
    active: bool = True
    archived_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class TemplateVersion(Tenanted, table=True):
    """A version of a template's content. Versions are added and never changed, except for the columns of publication.

    `created_by` and `published_by` are accounts; None is the application itself. If `text` is None, the plain text is
    generated from the HTML.
    """

    __tablename__ = "template_version"
    __table_args__ = (UniqueConstraint("template_id", "version"),)
    key: ClassVar[str] = "version_id"
    quota: ClassVar[Quota | NoQuota] = Quota("versions of templates", per_parent=("template_id", 1_000))

    version_id: str = AssignedId()
    template_id: str = Field(foreign_key="template.template_id")
    version: int
    subject: str = ""
    preheader: str = ""
    html_template: str
    text: str | None = None
    created_at: datetime = created_at_field()
    created_by: str | None = None
    published_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    published_by: str | None = None


class Alert(Tenanted, table=True):
    """An alert to a user. `read_at` is the time at which the user read it.

    `data` fills the markers of the template. `culture_code` selects the template; None is the culture of the user.
    `ve_id` is the home that the alert is about; None is the user's oldest active home. `resource_id` is the resource
    whose readings the alert of a rule reports. Its deliveries need the consent for that resource.
    """

    key: ClassVar[str] = "alert_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "An alert costs 300 units. It is a message, and refusing it would lose it."
    )

    alert_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    alert_type_id: str = Field(foreign_key="alert_type.alert_type_id", index=True)
    system_alert_type_id: str
    channels: list[Channel] = Field(sa_type=EnumTexts(Channel))
    priority: Priority = Field(sa_type=EnumText(Priority))
    callback_url: str | None = None
    data: Any = Field(default=None, sa_type=JsonColumn)
    culture_code: str | None = None
    ve_id: str | None = None
    resource_id: str | None = None
    created_at: datetime = created_at_field()
    read_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Notification(Tenanted, table=True):
    """An alert in one channel. `status` is the value of the legacy interface: OK, or ERROR after a failure.

    `subject`, `html` and `text` are its content, rendered from `template_version` of the template. Without a template,
    the mail of a rule has a built-in text, and other content is the name and description of the alert type.
    """

    key: ClassVar[str] = "notification_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An alert has at most one for each channel.")

    notification_id: str = AssignedId()
    alert_id: str = Field(foreign_key="alert.alert_id", index=True)
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    channel: Channel = Field(sa_type=EnumText(Channel))
    status: StepStatus = Field(default=StepStatus.OK, sa_type=EnumText(StepStatus))
    state: NotificationState = Field(
        default=NotificationState.WAITING, sa_type=Enum(NotificationState, native_enum=False, length=16)
    )
    data: Any = Field(default=None, sa_type=JsonColumn)
    template_id: str | None = None
    template_version: int | None = None
    subject: str | None = None
    html: str | None = None
    text: str | None = None
    created_at: datetime = created_at_field()
    status_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class NotificationLog(Tenanted, table=True):
    """A delivery step of a notification. `detail` is the reason for its status, if there is one."""

    __tablename__ = "notification_log"
    key: ClassVar[str] = "log_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("A notification has a few for each attempt, and attempts are limited.")

    log_id: str = AssignedId()
    notification_id: str = Field(foreign_key="notification.notification_id", index=True)
    alert_id: str = Field(foreign_key="alert.alert_id")
    user_id: str = Field(foreign_key="app_user.user_id")
    channel: Channel = Field(sa_type=EnumText(Channel))
    stage: str
    step: int
    status: StepStatus = Field(default=StepStatus.OK, sa_type=EnumText(StepStatus))
    detail: str | None = None
    status_at: datetime = created_at_field()


RULE_DECIMALS = 6
"""The maximum number of decimal places in the numbers of rules."""


MAX_RULES = 100
"""Maximum alert rules of a user."""


class AlertRule(Tenanted, table=True):
    """A rule on the readings of a field of a resource; its alerts go to the user.

    `threshold` and `hysteresis` are in `unit`, which is the unit of the field. Quiet hours are texts such as 22:00, in
    the zone of the rule or else of the home. The columns from `function` to `period` are the terms as they are written.
    The class of the kind in `energy/alert_rules.py` says what it uses them for.

    The columns from `active` on are the state of the rule. `active` is true while the condition holds, `told` if an
    alert was sent for it. `episodes` are the newest times in which the condition held, as `Episode.to_json` has
    them. Readings from `judged_from` up to `judged_to` are evaluated. `late_from` is the earliest of those
    that came or changed since. Instants are in ms since 1970. The next evaluation is at `due_at` or earlier. The last
    `failures` evaluations failed, because of `problem`.
    """

    __tablename__ = "alert_rule"
    __table_args__ = (Index(None, "enabled", "due_at"),)
    key: ClassVar[str] = "rule_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("alert rules", per_user=MAX_RULES)

    rule_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    name: str
    resource_id: str = Field(foreign_key="resource.resource_id", index=True)
    ve_id: str | None = Field(default=None, foreign_key="virtual_entity.ve_id")
    field: str
    unit: str
    kind: RuleKind = Field(sa_type=Enum(RuleKind, native_enum=False, length=16))
    function: Function = Field(default=Function.SUM, sa_type=Enum(Function, native_enum=False, length=16))
    side: ThresholdSide = Field(default=ThresholdSide.ABOVE, sa_type=Enum(ThresholdSide, native_enum=False, length=16))
    threshold: Decimal | None = Field(default=None, sa_type=FixedPoint(RULE_DECIMALS))
    hysteresis: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RULE_DECIMALS))
    window_minutes: int
    period: Period = Field(default=Period.P1M, sa_type=Enum(Period, native_enum=False, length=16))
    quiet_from: str | None = None
    quiet_to: str | None = None
    time_zone: str | None = None
    alert_type_id: str = Field(foreign_key="alert_type.alert_type_id")
    channels: list[Channel] = Field(sa_type=EnumTexts(Channel))
    enabled: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    active: bool = False
    told: bool = False
    episodes: list[Any] = Field(default_factory=list, sa_type=JsonColumn)
    judged_from: int = Field(default=0, sa_type=BigInteger)
    judged_to: int = Field(default=0, sa_type=BigInteger)
    late_from: int | None = Field(default=None, sa_type=BigInteger)
    failures: int = 0
    problem: str | None = None
    due_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    fired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
