"""GraphQL types of users, push tokens, profiles, sessions and OAuth 2.0."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.enums import UserStatus
from wattgate.operations.types.identity.accounts import Expiring, expiry_field
from wattgate.operations.types.users.user_records import UserRecords
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.values import terms


@strawberry.type(description="Settings that a web app needs to subscribe to push messages.")
class WebPush:
    public_key: str | None = strawberry.field(
        description="Value for `applicationServerKey`, in base64url. Null if Web Push is not configured."
    )


@strawberry.type(description="Push token of an app or a browser.")
class MobileAppToken:
    mobile_app_token_id: strawberry.ID = strawberry.field(description="ID of the push token record.")
    account_id: ids.AccountId
    token: str = strawberry.field(description="Push token, or push subscription of a browser as JSON.")
    created_at: terms.CreatedAt


@strawberry.type(description="Short form of an account of a user.")
class UserApplication:
    active: bool = strawberry.field(description="Whether the account can log in.")
    account_id: ids.AccountId
    application_id: ids.ApplicationId


@strawberry.type
class UserFields:
    """The fields of a user that several types have."""

    user_id: ids.UserId
    application_id: ids.ApplicationId
    applications: list[UserApplication] = strawberry.field(description="Accounts of the user, oldest first.")
    status: UserStatus = strawberry.field(description="Status of the user.")
    active: terms.Active
    culture_code: str = strawberry.field(
        description="Language and region of messages to the user. The application's culture if the user has none."
    )
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.type(description="Person who owns homes and meters and logs in with accounts.")
class User(Node, UserFields, UserRecords, model=models.User):
    pass


@strawberry.input(description="User to add, with the first account.")
class NewUser:
    username: terms.NewLoginName
    directory_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the directory. Default: the application's own directory."
    )
    name: terms.Text200 = strawberry.field(default="", description="Name of the person.")
    email: terms.Email = ""
    password: terms.FirstPassword | None = None
    culture_code: terms.Text100 | None = strawberry.field(
        default=None,
        description="Language and region of messages to the user, such as fr-CA. Default: the application's culture.",
    )


@strawberry.input(description="Fields of a user to change.")
class UserChange:
    culture_code: terms.Text100 | None = strawberry.field(
        default=strawberry.UNSET,
        description="Language and region of messages to the user, such as fr-CA. Null for the application's culture.",
    )


@strawberry.type(description="Result of a verified e-mail address.")
class Verified:
    valid: terms.Succeeded
    user_id: ids.UserId
    status: UserStatus = strawberry.field(description="Status of the user.")


@strawberry.type(description="Names of the profiles of an account.")
class AccountProfiles:
    account_id: ids.AccountId
    profile_names: list[str] = strawberry.field(description="Names of the account's profiles, in alphabetical order.")


@strawberry.type(description="Free-form JSON object that an account stores under a name.")
class AccountProfile:
    profile_name: terms.ProfileName
    account_id: ids.AccountId
    user_id: ids.UserId
    data: Json = strawberry.field(description="Stored JSON object.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.type(description="Free-form JSON object that all apps of an account share. Each account has one.")
class AccountSession:
    account_id: ids.AccountId
    data: Json = strawberry.field(description="Stored JSON object.")


# GraphQL types of OAuth 2.0 (RFC 6749) with PKCE (RFC 7636).


@strawberry.type(description="OAuth authorization code, which the client exchanges once for tokens.")
class Authorisation(Expiring):
    valid: terms.Succeeded
    code: str = strawberry.field(description="Authorization code. Valid once, for 60 seconds.")
    expires_at: datetime = expiry_field("code")
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
