"""The outbox: messages to send to other systems, and the records of mails and webhooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlalchemy import BigInteger, Enum, Index, Integer, LargeBinary, UniqueConstraint, text
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import (
    AssignedId,
    EnumText,
    JsonColumn,
    UtcDateTime,
    created_at_field,
    new_id,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.enums import DeliveryKind, DeliveryState, SuppressionCause, WebhookStatus

OPEN = text("state IN ('WAITING', 'LEASED')")
LEASED = text("state = 'LEASED'")
PENDING = text("status = 'pending'")
"""The conditions of partial indexes. A query that uses one states it in the same words: see `is_literally`."""


class Delivery(Tenanted, table=True):
    """A message to send, written in the same transaction as its cause.

    `target_id` is the notification or webhook to deliver. `address` is the receiver if the target has several; each of
    them has its own delivery. Deliveries with the same `order_key` are sent one after the other, by `number`. A worker
    that claims a delivery increments `attempts` and has a lease until `leased_until`. `reference` is the receiver's id
    of the message. A SUPPRESSED delivery exceeded a bound when it was added; it is kept and never sent.
    """

    __table_args__ = (
        Index("ix_delivery_due", "application_id", "due_at", "number", sqlite_where=OPEN, postgresql_where=OPEN),
        Index("ix_delivery_open", "application_id", "order_key", "number", sqlite_where=OPEN, postgresql_where=OPEN),
        Index("ix_delivery_leased", "application_id", "order_key", sqlite_where=LEASED, postgresql_where=LEASED),
        Index(None, "ended_at"),
        Index(None, "application_id", "address", "created_at"),
        Index(None, "user_id", "created_at"),
    )
    key: ClassVar[str] = "delivery_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "It belongs to a notification or a webhook, whose number is limited by their cost."
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    delivery_id: str = Field(default_factory=new_id, unique=True)
    kind: DeliveryKind = Field(sa_type=Enum(DeliveryKind, native_enum=False, length=16))
    target_id: str = Field(index=True)
    address: str | None = None
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id")
    order_key: str | None = None
    state: DeliveryState = Field(
        default=DeliveryState.WAITING, sa_type=Enum(DeliveryState, native_enum=False, length=16)
    )
    attempts: int = 0
    due_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    leased_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    worker: str | None = None
    reason: str | None = None
    reference: str | None = None
    created_at: datetime = created_at_field()
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


# Webhooks: endpoints that receive events, the events, their deliveries to callback URLs, and failures.


MAX_ENDPOINTS = 50
"""Maximum webhook endpoints of an application."""


class WebhookEndpoint(Tenanted, table=True):
    """An endpoint that receives an application's events that match one of the patterns in `events`.

    `secret` signs each message. `old_secrets` is a list of `operations.webhooks.endpoint_secrets.OldSecret` in JSON.
    Each signs too until its own end, the last one until `secret_expires_at`. Nothing is sent until `paused_until`. The
    last three columns are a `operations.webhooks.webhooks.EndpointHealth`.
    """

    __tablename__ = "webhook_endpoint"
    key: ClassVar[str] = "endpoint_id"
    quota: ClassVar[Quota | NoQuota] = Quota("webhook endpoints", per_application=MAX_ENDPOINTS)

    endpoint_id: str = AssignedId()
    url: str
    events: list[str] = Field(sa_type=JsonColumn)
    description: str = ""
    enabled: bool = True
    disabled_reason: str | None = None
    ordered: bool = True
    secret: str
    old_secrets: str | None = None
    secret_expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
    failures: int = 0
    failing_since: datetime | None = Field(default=None, sa_type=UtcDateTime)
    paused_until: datetime | None = Field(default=None, sa_type=UtcDateTime)


class WebhookEvent(Tenanted, table=True):
    """An event, stored so that it can be sent again. `number` is the order of events."""

    __tablename__ = "webhook_event"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "event_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("Maintenance deletes it after its retention time.")

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    event_id: str = Field(default_factory=new_id, unique=True)
    event_code: str
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    payload: Any = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()


_EACH_ATTEMPT = "It belongs to a delivery, and maintenance deletes it after its retention time."
"""Why an attempt has no quota."""


class WebhookAttempt(msgspec.Struct, frozen=True):
    """An attempt to deliver a webhook.

    `status_code` is None without a response, and `reason` None after a success.
    """

    number: int
    at: datetime
    status_code: int | None
    reason: str | None


def _parse_attempt(attempt: Mapping[str, Any]) -> WebhookAttempt:
    """Return an attempt from its JSON in SPEC.md's form."""
    error = attempt.get("error") or {}
    return WebhookAttempt(
        number=attempt["attempt"],
        at=datetime.fromisoformat(attempt.get("successedAt") or attempt["attemptAt"]),
        status_code=attempt["statusCode"] or None,
        reason=(error.get("error") or {}).get("message"),
    )


class Webhook(Tenanted, table=True):
    """One event for one callback URL. `failed_attempts` and `successful_attempt` have the members of SPEC.md.

    `endpoint_id` is its endpoint, which may be deleted. The callback of an alert has none. `subject_id` is the user in
    the payload, who sees the record only if it is `user_id` too.
    """

    __table_args__ = (
        Index(None, "endpoint_id", "event_number"),
        Index("ix_webhook_pending", "endpoint_id", sqlite_where=PENDING, postgresql_where=PENDING),
        Index(None, "updated_at"),
    )
    key: ClassVar[str] = "webhook_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(_EACH_ATTEMPT)

    webhook_id: str = AssignedId()
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    subject_id: str | None = Field(default=None, index=True)
    callback_url: str
    payload: Any = Field(sa_type=JsonColumn)
    endpoint_id: str | None = None
    event_id: str | None = None
    event_number: int | None = Field(default=None, sa_type=BigInteger)
    status: WebhookStatus = Field(default=WebhookStatus.PENDING, sa_type=EnumText(WebhookStatus))
    active: bool = True
    number_of_attempts: int = 0
    successful_attempt: Any = Field(default=None, sa_type=JsonColumn)
    failed_attempts: list[Any] = Field(default_factory=list, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()

    @property
    def person_id(self) -> str | None:
        """The user that the event is about, who sees the record only if it is `user_id` too."""
        return self.user_id or self.subject_id

    @property
    def success(self) -> WebhookAttempt | None:
        """The attempt that succeeded."""
        return _parse_attempt(self.successful_attempt) if self.successful_attempt else None

    @property
    def failures(self) -> list[WebhookAttempt]:
        """The attempts that failed, the first one first."""
        return [_parse_attempt(attempt) for attempt in self.failed_attempts]


class WebhookError(Tenanted, table=True):
    """A webhook whose last attempt, `attempt`, failed. It exists from the first failure until an attempt succeeds."""

    __tablename__ = "webhook_error"
    key: ClassVar[str] = "error_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(_EACH_ATTEMPT)

    error_id: str = AssignedId()
    webhook_id: str = Field(foreign_key="webhook.webhook_id", index=True)
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    callback_url: str
    attempt: Any = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()

    @property
    def failure(self) -> WebhookAttempt | None:
        """The last attempt. None if the webhook failed without one."""
        return _parse_attempt(self.attempt) if self.attempt else None


# Mail: suppressed addresses, test mails of templates, and mails that are kept if there is no mail server.


class MailSuppression(Tenanted, table=True):
    """An address to which the application sends no mail. It is in lower case, in the form
    of `delivery.mail_addresses`.

    `reason` is the response of a mail server or of a report, and `delivery_id` is the last delivery to the address.
    """

    __tablename__ = "mail_suppression"
    __table_args__ = (UniqueConstraint("application_id", "address"),)
    key: ClassVar[str] = "suppression_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An application has one for each address that rejected mail.")

    suppression_id: str = AssignedId()
    address: str
    cause: SuppressionCause = Field(sa_type=Enum(SuppressionCause, native_enum=False, length=16))
    reason: str | None = None
    delivery_id: str | None = None
    created_at: datetime = created_at_field()


class TestMail(Tenanted, table=True):
    """A rendered template that is sent as a test to an address. `created_by` is the account of the sender."""

    __tablename__ = "test_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "test_mail_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("Its operation keeps the newest test mails only.")

    test_mail_id: str = AssignedId()
    address: str
    subject: str
    html: str
    text: str
    created_by: str | None = None
    created_at: datetime = created_at_field()


class KeptMail(Tenanted, table=True):
    """A mail that would have been sent. Each delivery has one, independent of its number of attempts.

    `user_id` is the user of the delivery.
    """

    __tablename__ = "kept_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "delivery_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("Its operation keeps the newest mails only.")

    delivery_id: str = Field(primary_key=True)
    user_id: str | None = Field(default=None, index=True)
    recipient: str
    subject: str
    content: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = created_at_field()
