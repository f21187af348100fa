"""OAuth 2.0: the clients of an application, and their authorization codes and refresh tokens."""

from datetime import datetime
from typing import ClassVar

from sqlmodel import Field

from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted


class OAuthClient(Tenanted, table=True):
    """Software that requests access from users of an application. A public client (`secret_digest` None) has no secret.

    `scope` has the names of all scopes that it may request, separated by spaces.
    """

    __tablename__ = "oauth_client"
    key: ClassVar[str] = "client_id"

    client_id: str = AssignedId()
    name: str
    secret_digest: bytes | None = None
    redirect_uris: list[str] = Field(sa_type=JsonColumn)
    scope: str = "read"
    active: bool = True
    created_at: datetime = created_at_field()


class AuthorizationCode(Tenanted, table=True):
    """A code that its client exchanges for tokens, once. `family` is shared by all tokens from this code."""

    __tablename__ = "authorization_code"
    key: ClassVar[str] = "code_id"
    owner: ClassVar[str | None] = "user_id"

    code_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    client_id: str = Field(foreign_key="oauth_client.client_id", index=True)
    family: str
    digest: bytes = Field(unique=True)
    redirect_uri: str
    code_challenge: str
    scope: str
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)


class RefreshToken(Tenanted, table=True):
    """A token that its client exchanges for new tokens, once. It is kept after use, to detect a second use as theft.

    `granted_at` is the time at which the user granted the access, if that is not its creation.
    """

    __tablename__ = "refresh_token"
    key: ClassVar[str] = "refresh_token_id"
    owner: ClassVar[str | None] = "user_id"

    refresh_token_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    client_id: str = Field(foreign_key="oauth_client.client_id", index=True)
    family: str = Field(index=True)
    digest: bytes = Field(unique=True)
    scope: str
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    granted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
