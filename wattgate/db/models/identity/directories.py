"""External directories: OpenID Connect providers of an application, and the accounts of their users."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import AccountRule, TokenCheck


class Directory(Tenanted, table=True):
    """An OpenID Connect provider whose users have accounts in the application.

    The issuer and the subject of a token identify its user, so the issuer never changes. `session_seconds` is the
    maximum lifetime of the gateway's tokens for these accounts. The client is that of the gateway at the provider.
    """

    key: ClassVar[str] = "directory_id"

    directory_id: str = AssignedId()
    name: str
    issuer: str
    audiences: list[str] = Field(sa_type=JsonColumn)
    algorithms: list[str] = Field(sa_type=JsonColumn)
    account_rule: AccountRule = Field(sa_type=Enum(AccountRule, native_enum=False, length=16))
    token_check: TokenCheck = Field(sa_type=Enum(TokenCheck, native_enum=False, length=16))
    clock_skew_seconds: int
    session_seconds: int
    client_id: str = ""
    client_secret: str | None = None
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class ExternalAccount(Tenanted, table=True):
    """The user of an external directory to whom an account belongs, and the newest token of the directory.

    `token` is the JSON Web Token, and `access_token` the one with which the provider answers questions, if it is
    another one. Both are encrypted. They serve only to find out whether they are still valid. `used_tokens` has the
    digests of the tokens with which the user has logged in, each with the time when it is too old, in seconds since
    1970: a token logs in once.
    """

    __tablename__ = "external_account"
    __table_args__ = (UniqueConstraint("directory_id", "subject"),)
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"

    account_id: str = Field(primary_key=True, foreign_key="account.account_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    directory_id: str = Field(foreign_key="directory.directory_id", index=True)
    subject: str
    token: str | None = None
    access_token: str | None = None
    token_issued_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    token_expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    used_tokens: dict[str, int] | None = Field(default=None, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
