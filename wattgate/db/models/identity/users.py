"""Users, their accounts and tokens, one-time codes, push tokens of apps, profiles and sessions."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, UniqueConstraint, false, true
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import AssignedId, EnumText, JsonColumn, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.enums import UserStatus


class OneTimeCode(Tenanted, table=True):
    """A code that was sent to an account's holder. Only its digest is stored. `failures` counts wrong attempts."""

    __tablename__ = "one_time_code"
    key: ClassVar[str] = "code_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("Its operation limits the open codes of an account.")

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("Its operation limits an account to 10 changes in 24 hours.")

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("The mails to an address and to a user are limited.")

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("Its operation replaces the oldest token of an account.")

    mobile_app_token_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    token: str
    digest: bytes | None = None
    added_by_token_id: str | None = Field(default=None, index=True)
    created_at: datetime = created_at_field()


MAX_PROFILES = 100
"""Maximum profiles of an account."""


class AccountProfile(Tenanted, table=True):
    """An object of any form that an account's apps store under a name."""

    __tablename__ = "account_profile"
    __table_args__ = (UniqueConstraint("account_id", "profile_name"),)
    key: ClassVar[str] = "profile_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("profiles", per_parent=("account_id", MAX_PROFILES))

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("An account has one.")

    account_id: str = Field(primary_key=True, foreign_key="account.account_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    data: dict[str, Any] = Field(sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


# Users, their accounts, and the tokens of the accounts.


class User(Tenanted, table=True):
    """A person. Records of homes and meters belong to users; logins belong to their accounts.

    `status` is unverified, active, inactive or suspended. `culture_code` is the language and region of messages to the
    user; None is the culture of the application. After `erased_at`, the record is the pseudonym of a person whose data
    is erased.
    """

    __tablename__ = "app_user"  # "user" is a reserved word of PostgreSQL
    key: ClassVar[str] = "user_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("users", grows_with_users=True)

    user_id: str = AssignedId()
    status: UserStatus = Field(default=UserStatus.ACTIVE, sa_type=EnumText(UserStatus))
    active: bool = True
    culture_code: str | None = None
    erased_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Account(Tenanted, table=True):
    """A user's login in one directory of the application.

    An `administrator` manages the records of the application. A `template_editor` manages its templates and sees the
    records of its own user only. `status` is as for users; only an `active` account can log in. If `email` is empty and
    `mails_username` is set, mails go to the username. `second_factor` is true if a log-in also needs a code. `failures`
    and `failed_at` are unused: see `LoginBackoff`.
    """

    __table_args__ = (
        UniqueConstraint("application_id", "directory_id", "username"),
        Index(None, "status", "created_at"),
    )
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("accounts", per_user=50, grows_with_users=True)

    account_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    directory_id: str = Field()
    name: str = ""
    username: str
    email: str = ""
    password_hash: str | None = None
    administrator: bool = False
    template_editor: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    status: UserStatus = Field(default=UserStatus.ACTIVE, sa_type=EnumText(UserStatus))
    active: bool = True
    mails_username: bool = Field(default=True, sa_column_kwargs={"server_default": true()})
    second_factor: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    failed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class LoginBackoff(Tenanted, table=True):
    """Failed attempts with a username from unknown sources, whether or not an account has the name.

    `backoff_id` is a digest of the application, the directory, the name and the kind of attempt.
    """

    __tablename__ = "login_backoff"
    key: ClassVar[str] = "backoff_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An application has at most 100,000. The oldest are forgotten.")

    backoff_id: str = Field(primary_key=True)
    failures: int = 1
    failed_at: datetime = Field(sa_type=UtcDateTime, index=True)


class LoginSource(Tenanted, table=True):
    """A device or a network address from which an account has logged in. Only its digest is stored.

    `failures` counts the wrong passwords from there since the last right one. `failed_at` is the time of the newest.
    """

    __tablename__ = "login_source"
    __table_args__ = (UniqueConstraint("account_id", "digest"),)
    key: ClassVar[str] = "source_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An account has at most 20 devices and 10 addresses.")

    source_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    kind: str
    digest: bytes
    failures: int = 0
    failed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    used_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class Token(Tenanted, table=True):
    """An access token that is valid until `expires_at`. Only its SHA-256 digest is stored.

    A token of an OAuth client has the `authentication_framework` oauth, a `scope` (names separated by spaces), the
    `family` that all tokens from one authorization code share, and the `grant_type` of its request. The token of a
    paired display has the `authentication_framework` display, and `ve_id`: the only home that it may read.
    `authenticated_at` is the time of the log-in from which the token comes, if that is not its creation.
    """

    key: ClassVar[str] = "token_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "A log-in deletes expired tokens, and ends the oldest above the maximum of an account."
    )

    token_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    digest: bytes = Field(unique=True)
    scope: str | None = None
    family: str | None = Field(default=None, index=True)
    authentication_framework: str | None = None
    grant_type: str | None = None
    ve_id: str | None = Field(default=None, foreign_key="virtual_entity.ve_id", index=True)
    created_at: datetime = created_at_field()
    authenticated_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
