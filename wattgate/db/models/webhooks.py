"""Webhooks: events on their way to a callback URL, and what failed."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field

from wattgate.db.columns import AssignedId, Json, created_at, updated_at
from wattgate.db.models.tenancy import Tenanted


class Webhook(Tenanted, table=True):
    """One event for one callback URL. `failed_attempts` and `successful_attempt` have the members of SPEC.md."""

    key: ClassVar[str] = "webhook_id"
    owner: ClassVar[str | None] = "user_id"

    webhook_id: str = AssignedId()
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    callback_url: str
    payload: Any = Field(sa_type=Json)
    status: str = "pending"
    active: bool = True
    number_of_attempts: int = 0
    successful_attempt: Any = Field(default=None, sa_type=Json)
    failed_attempts: list[Any] = Field(default_factory=list, sa_type=Json)
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class WebhookError(Tenanted, table=True):
    """A webhook that was given up; `attempt` is the last one."""

    __tablename__ = "webhook_error"
    key: ClassVar[str] = "error_id"
    owner: ClassVar[str | None] = "user_id"

    error_id: str = AssignedId()
    webhook_id: str = Field(foreign_key="webhook.webhook_id", index=True)
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    callback_url: str
    attempt: Any = Field(sa_type=Json)
    created_at: datetime = created_at()
