"""Records of an account other than its login: one-time codes, push tokens of apps, profiles and session."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import Tenanted


class OneTimeCode(Tenanted, table=True):
    """A code that was sent to an account's holder. Only its digest is stored. `failures` counts wrong attempts."""

    __tablename__ = "one_time_code"
    key: ClassVar[str] = "code_id"
    owner: ClassVar[str | None] = "user_id"

    code_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    purpose: str
    digest: bytes
    failures: int = 0
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)


class EmailChange(Tenanted, table=True):
    """A new e-mail address of an account, until it is confirmed there. Only the digest of the code is stored.

    A change is kept for a day after its creation, to bound the changes of an account. It is `active` until it is
    confirmed or replaced.
    """

    __tablename__ = "email_change"
    key: ClassVar[str] = "change_id"
    owner: ClassVar[str | None] = "user_id"

    change_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    email: str
    digest: bytes = Field(unique=True)
    active: bool = True
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)


class AccountMail(Tenanted, table=True):
    """A mail of the gateway itself to the holder of an account. `name` is the short code of its alert type.

    The content is rendered when the mail is sent. `secret` is its code, encrypted, and is None after the delivery has
    ended. The mail is not sent after `expires_at`. `tenancy_id` is the tenancy whose end it reports.
    """

    __tablename__ = "account_mail"
    key: ClassVar[str] = "account_mail_id"
    owner: ClassVar[str | None] = "user_id"

    account_mail_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    name: str
    secret: str | None = None
    tenancy_id: str | None = Field(default=None, foreign_key="meter_point_tenancy.tenancy_id")
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class MobileAppToken(Tenanted, table=True):
    """The push token of an app in which an account is logged in. It belongs to one account of the application.

    `digest` identifies the app: the stored token is encrypted, so SQL cannot compare it. `added_by_token_id` is the
    log-in token that added it, which may have expired since. A push token without one hangs on the account alone.
    """

    __tablename__ = "mobile_app_token"
    __table_args__ = (UniqueConstraint("account_id", "token"), Index(None, "application_id", "digest", unique=True))
    key: ClassVar[str] = "mobile_app_token_id"
    owner: ClassVar[str | None] = "user_id"

    mobile_app_token_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    token: str
    digest: bytes | None = None
    added_by_token_id: str | None = Field(default=None, index=True)
    created_at: datetime = created_at_field()


class AccountProfile(Tenanted, table=True):
    """An object of any form that an account's apps store under a name."""

    __tablename__ = "account_profile"
    __table_args__ = (UniqueConstraint("account_id", "profile_name"),)
    key: ClassVar[str] = "profile_id"
    owner: ClassVar[str | None] = "user_id"

    profile_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    profile_name: str
    data: dict[str, Any] = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class AccountSession(Tenanted, table=True):
    """An object of any form with which the apps of an account share state. Each account has one."""

    __tablename__ = "account_session"
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"

    account_id: str = Field(primary_key=True, foreign_key="account.account_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    data: dict[str, Any] = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
