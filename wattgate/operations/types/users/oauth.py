"""GraphQL types of OAuth 2.0 (RFC 6749) with PKCE (RFC 7636)."""

import strawberry

from wattgate.operations.types.users.users import UserFields
from wattgate.operations.vocabulary import ids
from wattgate.values import terms


@strawberry.type(description="OAuth authorization code, which the client exchanges once for tokens.")
class Authorisation:
    valid: terms.Succeeded
    code: str = strawberry.field(description="Authorization code. Valid once, for 60 seconds.")
    exp: int = strawberry.field(description="When the code expires, in seconds since 1970-01-01 (UTC).")
    account_id: ids.AccountId
    name: str = strawberry.field(description="Name of the person.")
    state: str | None = strawberry.field(description="State of the request, unchanged. Null if the client sent none.")


@strawberry.type(description="OAuth access token and refresh token.")
class OAuthTokens:
    token_type: str = strawberry.field(description="Type of the access token: always bearer.")
    access_token: str = strawberry.field(
        description="Token to send in the header `token`, or as `Authorization: Bearer`."
    )
    expires_in: int = strawberry.field(description="Lifetime of the access token, in seconds.")
    refresh_token: str = strawberry.field(
        description="Token for the next exchange. Valid once: a second use revokes all tokens of the same login."
    )
    scope: str = strawberry.field(description="Granted OAuth scopes, separated by spaces: read, write.")


@strawberry.type(description="The user for whom an OAuth access token was issued.")
class OAuthUser(UserFields):
    authentication_framework: str = strawberry.field(description="How the user was authenticated: always oauth.")
