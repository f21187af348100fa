"""OAuth 2.0 (RFC 6749) with PKCE (RFC 7636)."""

import strawberry

from wattgate.graphql.types.users import User


@strawberry.type(description="An authorization code, which the client exchanges for tokens once.")
class Authorisation:
    valid: bool
    code: str = strawberry.field(description="Good for one exchange, within 60 seconds.")
    exp: int = strawberry.field(description="When the code expires, in seconds since 1970 (UTC).")
    account_id: strawberry.ID
    name: str
    state: str | None = strawberry.field(description="What the client gave as its state.")


@strawberry.type(description="The tokens of an OAuth client.")
class OAuthTokens:
    token_type: str = strawberry.field(description="Always bearer.")
    access_token: str = strawberry.field(description="Send it in the header `token`, or as Bearer.")
    expires_in: int = strawberry.field(description="For how long the access token is good, in seconds.")
    refresh_token: str = strawberry.field(description="Good for one exchange; a second one ends all of these tokens.")
    scope: str = strawberry.field(description="What the access token may be used for: read, write.")


@strawberry.type(description="The user for whom an OAuth access token was issued.")
class OAuthUser(User):
    authentication_framework: str = strawberry.field(description="Always oauth.")
