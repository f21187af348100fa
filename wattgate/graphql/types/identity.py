"""Accounts and tokens."""

from datetime import datetime

import strawberry

from wattgate.graphql.types.scalars import Json


@strawberry.type(description="A user's log-in in one directory of the application.")
class Account:
    account_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    directory_id: strawberry.ID
    name: str = strawberry.field(description="The person's name.")
    username: str
    email: str
    status: str = strawberry.field(description="active or inactive.")
    active: bool
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
