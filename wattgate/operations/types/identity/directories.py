"""GraphQL types of external directories: OpenID Connect providers whose users have accounts in the application."""

import strawberry

from wattgate.db import models
from wattgate.enums import AccountRule, TokenCheck
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.values import terms

DEFAULT_SESSION_SECONDS = 86_400
DEFAULT_CLOCK_SKEW_SECONDS = 60

_NAME = "Name of the directory for people."
_AUDIENCES = "Accepted audiences (aud) of tokens, such as the client ID of your app: 1 to 20."
_ALGORITHMS = "Accepted signature algorithms: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA."
_RULE = (
    "Users who may log in without an account in the directory. EXISTING: nobody. LINK: users of the application with "
    "the same verified e-mail address. CREATE: all, as new users."
)
_CHECK = (
    "How the gateway checks whether a token is still valid, besides its signature and times. SIGNATURE: not at all. "
    "USERINFO: it sends the access token to the userinfo endpoint. INTROSPECTION: it asks the introspection endpoint."
)
_SKEW = "Tolerated difference between the clocks of the directory and the gateway, in seconds: 0 to 300."
_SESSION = "Maximum lifetime of a token of the gateway for accounts of the directory, in seconds: 60 to 604,800."
_CLIENT = "Client ID of the gateway at the directory. Only INTROSPECTION needs it."
_SECRET = "Client secret of the gateway at the directory. Only INTROSPECTION needs it. It is never shown."  # noqa: S105
_ACTIVE = "Whether users can log in with tokens of the directory. False also ends the tokens of its accounts."


@strawberry.type(description="OpenID Connect provider whose users have accounts in the application.")
class Directory(Node, model=models.Directory):
    directory_id: ids.DirectoryId
    application_id: ids.ApplicationId
    name: str = strawberry.field(description=_NAME)
    issuer: str = strawberry.field(description="Issuer (iss) of the tokens: an https URL.")
    audiences: list[str] = strawberry.field(description=_AUDIENCES)
    algorithms: list[str] = strawberry.field(description=_ALGORITHMS)
    account_rule: AccountRule = strawberry.field(description=_RULE)
    token_check: TokenCheck = strawberry.field(description=_CHECK)
    clock_skew_seconds: int = strawberry.field(description=_SKEW)
    session_seconds: int = strawberry.field(description=_SESSION)
    client_id: str = strawberry.field(description=_CLIENT)
    active: bool = strawberry.field(description=_ACTIVE)
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.input(description="External directory to add.")
class NewDirectory:
    name: terms.Text200 = strawberry.field(description=_NAME)
    issuer: terms.Text500 = strawberry.field(
        description="Issuer (iss) of the tokens: an https URL, exactly as in the tokens. It cannot be changed."
    )
    audiences: list[terms.Text200] = strawberry.field(description=_AUDIENCES)
    algorithms: list[terms.Text100] = strawberry.field(default_factory=lambda: ["RS256"], description=_ALGORITHMS)
    account_rule: AccountRule = strawberry.field(default=AccountRule.EXISTING, description=_RULE)
    token_check: TokenCheck = strawberry.field(default=TokenCheck.SIGNATURE, description=_CHECK)
    clock_skew_seconds: int = strawberry.field(default=DEFAULT_CLOCK_SKEW_SECONDS, description=_SKEW)
    session_seconds: int = strawberry.field(default=DEFAULT_SESSION_SECONDS, description=_SESSION)
    client_id: terms.Text200 = strawberry.field(default="", description=_CLIENT)
    client_secret: terms.Secret | None = strawberry.field(default=None, description=_SECRET)


@strawberry.input(description="Fields of an external directory to change. Omitted fields keep their values.")
class DirectoryChange:
    name: terms.Text200 | None = strawberry.field(default=strawberry.UNSET, description=_NAME)
    audiences: list[terms.Text200] | None = strawberry.field(default=strawberry.UNSET, description=_AUDIENCES)
    algorithms: list[terms.Text100] | None = strawberry.field(default=strawberry.UNSET, description=_ALGORITHMS)
    account_rule: AccountRule | None = strawberry.field(default=strawberry.UNSET, description=_RULE)
    token_check: TokenCheck | None = strawberry.field(default=strawberry.UNSET, description=_CHECK)
    clock_skew_seconds: int | None = strawberry.field(default=strawberry.UNSET, description=_SKEW)
    session_seconds: int | None = strawberry.field(default=strawberry.UNSET, description=_SESSION)
    client_id: terms.Text200 | None = strawberry.field(default=strawberry.UNSET, description=_CLIENT)
    client_secret: terms.Secret | None = strawberry.field(default=strawberry.UNSET, description=_SECRET)
    active: bool | None = strawberry.field(default=strawberry.UNSET, description=_ACTIVE)
