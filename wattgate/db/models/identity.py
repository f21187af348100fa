"""Users, their accounts, and the tokens of the accounts."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import Tenanted


class User(Tenanted, table=True):
    """A person. Records of homes and meters belong to users; logins belong to their accounts.

    `status` is unverified, active or inactive.
    """

    __tablename__ = "app_user"  # "user" is a reserved word of PostgreSQL
    key: ClassVar[str] = "user_id"
    owner: ClassVar[str | None] = "user_id"

    user_id: str = AssignedId()
    status: str = "active"
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Account(Tenanted, table=True):
    """A user's login in one directory of the application.

    `status` is unverified, active or inactive; only an `active` account can log in. `failures` counts the wrong
    passwords since the last right one, and `failed_at` is the time of the newest one.
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
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Token(Tenanted, table=True):
    """An access token that is valid until `expires_at`. Only its SHA-256 digest is stored.

    A token of an OAuth client has the `authentication_framework` oauth, a `scope` (names separated by spaces), the
    `family` that all tokens from one authorization code share, and the `grant_type` of its request.
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
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)
