"""Webhooks: endpoints that receive events, the events, their deliveries to callback URLs, and failures."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, Integer
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field, new_id, updated_at_field
from wattgate.db.models.tenancy import Tenanted


class WebhookEndpoint(Tenanted, table=True):
    """An endpoint that receives an application's events that match one of the patterns in `events`.

    `secret` signs each message. Until `secret_expires_at`, `secret_before` signs it too. Nothing is sent until
    `paused_until`. The last three columns are a `delivery.circuit_breaker.EndpointHealth`.
    """

    __tablename__ = "webhook_endpoint"
    key: ClassVar[str] = "endpoint_id"

    endpoint_id: str = AssignedId()
    url: str
    events: list[str] = Field(sa_type=JsonColumn)
    description: str = ""
    enabled: bool = True
    disabled_reason: str | None = None
    ordered: bool = True
    secret: str
    secret_before: str | None = None
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

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    event_id: str = Field(default_factory=new_id, unique=True)
    event_code: str
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    payload: Any = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()


class Webhook(Tenanted, table=True):
    """One event for one callback URL. `failed_attempts` and `successful_attempt` have the members of SPEC.md.

    `endpoint_id` is its endpoint, which may be deleted. The callback of an alert has none. `subject_id` is the user in
    the payload, who sees the record only if it is `user_id` too.
    """

    key: ClassVar[str] = "webhook_id"
    owner: ClassVar[str | None] = "user_id"

    webhook_id: str = AssignedId()
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    subject_id: str | None = Field(default=None, index=True)
    callback_url: str
    payload: Any = Field(sa_type=JsonColumn)
    endpoint_id: str | None = Field(default=None, index=True)
    event_id: str | None = None
    event_number: int | None = Field(default=None, sa_type=BigInteger)
    status: str = "pending"
    active: bool = True
    number_of_attempts: int = 0
    successful_attempt: Any = Field(default=None, sa_type=JsonColumn)
    failed_attempts: list[Any] = Field(default_factory=list, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class WebhookError(Tenanted, table=True):
    """A webhook whose last attempt, `attempt`, failed. It exists from the first failure until an attempt succeeds."""

    __tablename__ = "webhook_error"
    key: ClassVar[str] = "error_id"
    owner: ClassVar[str | None] = "user_id"

    error_id: str = AssignedId()
    webhook_id: str = Field(foreign_key="webhook.webhook_id", index=True)
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    callback_url: str
    attempt: Any = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()
