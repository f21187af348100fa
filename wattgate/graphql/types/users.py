"""Users, and what their accounts keep."""

from datetime import datetime

import strawberry

from wattgate.graphql.core.scalars import Json


@strawberry.type(description="How web apps subscribe to pushes.")
class WebPush:
    public_key: str | None = strawberry.field(
        description="The applicationServerKey, in base64url; null where the gateway has no key for Web Push."
    )


@strawberry.type(description="An app that can be pushed to.")
class MobileAppToken:
    mobile_app_token_id: strawberry.ID = strawberry.field(description="The token's record.")
    account_id: strawberry.ID
    token: str = strawberry.field(description="The push token, or a browser's subscription as JSON.")
    created_at: datetime


@strawberry.type(description="An account of a user, in short.")
class UserApplication:
    active: bool = strawberry.field(description="Whether the account can log in.")
    account_id: strawberry.ID
    application_id: strawberry.ID


@strawberry.type(description="A person, who owns homes and meters and logs in by accounts.")
class User:
    user_id: strawberry.ID
    applications: list[UserApplication] = strawberry.field(description="The user's accounts, oldest first.")
    status: str = strawberry.field(description="unverified, active or inactive.")
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A user with a first account.")
class NewUser:
    username: str = strawberry.field(description="Unique in the directory.")
    directory_id: strawberry.ID | None = strawberry.field(
        default=None, description="The application's own directory where it is left out."
    )
    name: str = ""
    email: str = ""
    password: str | None = strawberry.field(
        default=None, description="At least 8 characters. Without one the account cannot log in."
    )


@strawberry.type(description="A user whose e-mail address has been verified.")
class Verified:
    valid: bool
    user_id: strawberry.ID
    status: str


@strawberry.type(description="The names under which an account keeps free objects.")
class AccountProfiles:
    account_id: strawberry.ID
    profile_names: list[str]


@strawberry.type(description="A free object that an account keeps under a name.")
class AccountProfile:
    profile_name: str
    account_id: strawberry.ID
    user_id: strawberry.ID
    data: Json
    created_at: datetime
    updated_at: datetime


@strawberry.type(description="The one free object of an account, in which its apps find each other's state.")
class AccountSession:
    account_id: strawberry.ID
    data: Json
