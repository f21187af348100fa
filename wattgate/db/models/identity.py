"""Users, their accounts, and the tokens those accounts carry."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, UtcDateTime, created_at, updated_at
from wattgate.db.models.tenancy import Tenanted


class User(Tenanted, table=True):
    """A person. Rows of homes and meters belong to users; log-ins belong to their accounts.

    `status` is unverified, active or inactive.
    """

    __tablename__ = "app_user"  # "user" is a reserved word of PostgreSQL
    key: ClassVar[str] = "user_id"
    owner: ClassVar[str | None] = "user_id"

    user_id: str = AssignedId()
    status: str = "active"
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class Account(Tenanted, table=True):
    """A user's log-in in one directory of the application.

    `status` is unverified, active or inactive; only an `active` account can log in. `failures` counts the wrong
    passwords since the last right one, and `failed_at` says when the newest was given.
    """

    __table_args__ = (UniqueConstraint("application_id", "directory_id", "username"),)
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"

    account_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    directory_id: str = Field()
    name: str = ""
    username: str
    email: str = ""
    password_hash: str | None = None
    administrator: bool = False
    status: str = "active"
    active: bool = True
    failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    failed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class Token(Tenanted, table=True):
    """A log-in that lasts until `expires_at`. The token itself is never stored, only its SHA-256 digest.

    A token of an OAuth client has the `authentication_framework` oauth, a `scope` (names with a space between them),
    the `family` of all tokens that go back to one authorization code, and the `grant_type` that it was asked with.
    """

    key: ClassVar[str] = "token_id"
    owner: ClassVar[str | None] = "user_id"

    token_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    digest: bytes = Field(unique=True)
    scope: str | None = None
    family: str | None = Field(default=None, index=True)
    authentication_framework: str | None = None
    grant_type: str | None = None
    created_at: datetime = created_at()
    expires_at: datetime = Field(sa_type=UtcDateTime)
