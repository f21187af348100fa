"""Accounts and tokens."""

from datetime import datetime

import strawberry

from wattgate.graphql.core.scalars import Json


@strawberry.type(description="A user's log-in in one directory of the application.")
class Account:
    account_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    directory_id: strawberry.ID
    name: str = strawberry.field(description="The person's name.")
    username: str
    email: str
    status: str = strawberry.field(description="unverified, active or inactive.")
    active: bool = strawberry.field(description="Whether the account can log in.")
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A log-in for a user that exists.")
class NewAccount:
    username: str = strawberry.field(description="Unique in the directory.")
    user_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose account; the user for whom the call is made where it is left out."
    )
    directory_id: strawberry.ID | None = strawberry.field(
        default=None, description="The application's own directory where it is left out."
    )
    name: str = ""
    email: str = ""
    password: str | None = strawberry.field(
        default=None, description="At least 8 characters. Without one the account cannot log in."
    )


@strawberry.input(description="What may change on an account.")
class AccountChange:
    name: str | None = strawberry.field(default=strawberry.UNSET, description="The person's name.")


@strawberry.type(description="A new token, and whose it is.")
class Login:
    valid: bool
    token: str = strawberry.field(description="Send it in the header `token`, or as Bearer.")
    exp: int = strawberry.field(description="When the token expires, in seconds since 1970 (UTC).")
    account_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    user_groups: list[Json]
    functional_group_accounts: list[Json]
    is_temp_auth: bool


@strawberry.type(description="A token that is good for calls now.")
class TokenStatus:
    valid: bool
    exp: int | None = strawberry.field(
        description="When the token expires, in seconds since 1970 (UTC); null for Basic credentials."
    )
    account_id: strawberry.ID
    application_id: strawberry.ID


@strawberry.type(description="A further token of the same account.")
class NewToken:
    valid: bool
    exp: int = strawberry.field(description="When the token expires, in seconds since 1970 (UTC).")
    token: str


@strawberry.type(description="Whether something was done.")
class Done:
    valid: bool


@strawberry.type(description="A token on record. The token itself is not kept and cannot be shown.")
class Token:
    token_id: strawberry.ID
    user_id: strawberry.ID
    account_id: strawberry.ID
    created_at: datetime
    expires_at: datetime
    authentication_framework: str | None = strawberry.field(
        description="oauth, where an OAuth client asked for the token; null where the user logged in."
    )
    grant_type: str | None = strawberry.field(
        description="How an OAuth client got the token: authorization_code or refresh_token."
    )


@strawberry.type(description="What a directory says of a token that it issued.")
class DirectoryToken:
    token_issue_date: datetime | None = strawberry.field(description="Null where there is no good token.")
    token_expiry_date: datetime | None = strawberry.field(description="Null where there is no good token.")


@strawberry.type(description="The answer of the directory in which an account is kept.")
class DirectoryAnswer:
    data: DirectoryToken


@strawberry.type(description="Whether an account can log in.")
class AccountStatus:
    status: str = strawberry.field(description="unverified, active or inactive.")
    active: bool
    account_id: strawberry.ID
    application_id: strawberry.ID
    directory_id: strawberry.ID
    created_at: datetime
    updated_at: datetime
    directory: DirectoryAnswer
