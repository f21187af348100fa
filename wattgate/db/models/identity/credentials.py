"""Credentials besides tokens: second factors, external directories, OAuth clients and paired displays."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, Index, UniqueConstraint
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import AssignedId, JsonColumn, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.enums import AccountRule, PairingState, TokenCheck

# External directories: OpenID Connect providers of an application, and the accounts of their users.


class Directory(Tenanted, table=True):
    """An OpenID Connect provider whose users have accounts in the application.

    The issuer and the subject of a token identify its user, so the issuer never changes. `session_seconds` is the
    maximum lifetime of the gateway's tokens for these accounts. The client is that of the gateway at the provider.
    """

    key: ClassVar[str] = "directory_id"
    quota: ClassVar[Quota | NoQuota] = Quota("directories", per_application=50)

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("An account has at most one.")

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


# Displays that users have paired with their homes, and the pairings that are under way (RFC 8628).


class DisplayPairing(Tenanted, table=True):
    """A pairing that a display has started. Only the digests of its two codes are stored.

    `name` is the name that the display suggests, then the one that the user gives. `user_id`, `account_id` and `ve_id`
    are set when a user approves it, `token_id` when the display has taken its credential. `interval` is the number of
    seconds between two requests of the display, and `polled_at` the time of the last one.
    """

    __tablename__ = "display_pairing"
    __table_args__ = (Index(None, "application_id", "expires_at"),)
    key: ClassVar[str] = "pairing_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "Its operation limits those of an application, and maintenance deletes old ones."
    )

    pairing_id: str = AssignedId()
    device_digest: bytes = Field(unique=True)
    user_digest: bytes = Field(unique=True)
    state: PairingState = Field(default=PairingState.PENDING, sa_type=Enum(PairingState, native_enum=False, length=16))
    name: str = ""
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    account_id: str | None = Field(default=None, foreign_key="account.account_id", index=True)
    ve_id: str | None = Field(default=None, foreign_key="virtual_entity.ve_id", index=True)
    token_id: str | None = None
    interval: int
    polled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)


MAX_PAIRED_DISPLAYS = 50
"""Maximum paired displays of a user."""


class PairedDisplay(Tenanted, table=True):
    """A display of a home, with a credential of its own: the token with `token_id`. It ends with that token.

    `last_seen_at` is stored again only after some time, and `expires_at` with it.
    """

    __tablename__ = "paired_display"
    key: ClassVar[str] = "display_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("paired displays", per_user=MAX_PAIRED_DISPLAYS)

    display_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    ve_id: str = Field(foreign_key="virtual_entity.ve_id", index=True)
    token_id: str = Field(unique=True)
    name: str
    created_at: datetime = created_at_field()
    last_seen_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)


# OAuth 2.0: the clients of an application, and their authorization codes and refresh tokens.


class OAuthClient(Tenanted, table=True):
    """Software that requests access from users of an application. A public client (`secret_digest` None) has no secret.

    `scope` has the names of all scopes that it may request, separated by spaces.
    """

    __tablename__ = "oauth_client"
    key: ClassVar[str] = "client_id"
    quota: ClassVar[Quota | NoQuota] = Quota("OAuth clients", per_application=1_000)

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("The token endpoint deletes expired codes.")

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
    quota: ClassVar[Quota | NoQuota] = NoQuota("The token endpoint deletes expired tokens, and costs 1,000 units.")

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


class SecondFactor(Tenanted, table=True):
    """The secret from which an app makes codes (RFC 6238). It is encrypted.

    It is in use when `confirmed_at` is set; `Account.second_factor` is true then. `last_step` is the time step of the
    newest accepted code. No code of that step or an earlier one is accepted again.
    """

    __tablename__ = "second_factor"
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An account has at most one.")

    account_id: str = Field(primary_key=True, foreign_key="account.account_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    secret: str
    last_step: int = 0
    confirmed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class RecoveryCode(Tenanted, table=True):
    """A code that replaces a code of the app once. Only its digest is stored. A used code is deleted."""

    __tablename__ = "recovery_code"
    key: ClassVar[str] = "recovery_code_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An account has ten.")

    recovery_code_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    digest: bytes
    created_at: datetime = created_at_field()
