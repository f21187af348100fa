"""GraphQL types of accounts, their tokens, second factors and users."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.queries.users import user_loader
from wattgate.enums import UserStatus
from wattgate.operations.core.fields import RestForm, edge, field_with_rest_form, optional_type, rest_only_field
from wattgate.operations.core.pagination import ListFilter, filter_input
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryOptional
from wattgate.principal import Permission
from wattgate.values import terms

# The edges from a record to a user.


def owner_edge(noun: str, column: str = "owner_id", verb: str = "owns") -> Any:
    """Return the edge to the user whose id is in a column, and who owns the record."""
    return user_edge(column, f"User who {verb} the {noun}. Null if the caller may not see the user.")


def user_edge(column: str, description: str) -> Any:
    """Return the edge to the user whose id is in a column. `User` itself refers to the types that have this edge."""
    return edge(
        user_loader(column),
        needs=Permission.USER_READ,
        graphql_type=optional_type("User", "users.users"),
        description=description,
    )


# GraphQL types of the second factor of an account.


@filter_input("Filter of a list of accounts.")
class AccountFilter(ListFilter):
    username: terms.Text200 | None = strawberry.field(default=UNSET, description="Name with which the account logs in.")
    name: terms.Text200 | None = strawberry.field(default=UNSET, description="Name of the person.")

    special: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
        {"username": lambda username: col(models.Account.username) == username.strip().lower()}
    )


@strawberry.type(description="Second factor of an account: codes of an app, by time (TOTP).")
class SecondFactor:
    enabled: bool = strawberry.field(description="Whether a log-in needs a code.")
    required: bool = strawberry.field(
        description="Whether the account must enrol a second factor before it can do anything else."
    )
    confirmed_at: datetime | None = strawberry.field(description="When it was confirmed. Null if it is not enabled.")
    recovery_codes: int = strawberry.field(description="Number of recovery codes that were not used.")


@strawberry.type(description="Secret of a new second factor, which is shown only in this result.")
class SecondFactorEnrolment:
    secret: str = strawberry.field(description="Secret in base32, to type into an app.")
    uri: str = strawberry.field(description="Address with otpauth:, to show as a QR code.")


@strawberry.type(description="Recovery codes of a second factor, which are shown only in this result.")
class RecoveryCodes:
    recovery_codes: list[str] = strawberry.field(
        description="Ten codes. Each replaces a code of the app once, such as after the loss of the phone."
    )


# GraphQL types of accounts and tokens.


@strawberry.type(description="Login of a user in one directory of the application. A user can have several accounts.")
class Account(Node, model=models.Account):
    account_id: ids.AccountId
    application_id: ids.ApplicationId
    user_id: ids.UserId
    directory_id: ids.DirectoryId
    name: str = strawberry.field(description="Name of the person.")
    username: terms.Username
    email: terms.Email
    status: UserStatus = strawberry.field(description="Status of the account.")
    active: bool = strawberry.field(description="Whether the account can log in.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    user: Any = owner_edge("account", "user_id", "logs in with")


@strawberry.input(description="Account to add to an existing user.")
class NewAccount:
    username: terms.NewLoginName
    user_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the user who gets the account. Default: the acting user."
    )
    directory_id: strawberry.ID | None = strawberry.field(
        default=None, description="ID of the directory. Default: the application's own directory."
    )
    name: terms.Text200 = strawberry.field(default="", description="Name of the person.")
    email: terms.Email = ""
    password: terms.FirstPassword | None = None


@strawberry.input(description="Fields of an account to change.")
class AccountChange:
    name: terms.Text200 | None = strawberry.field(default=strawberry.UNSET, description="Name of the person.")
    status: UserStatus | None = strawberry.field(
        default=strawberry.UNSET,
        description="The value active makes an unverified account active, for applications and administrators. The "
        "present status changes nothing.",
    )


class Expiring:
    """A part of types with `expires_at`: the same time in seconds since 1970, which REST has."""

    @property
    def exp(self) -> int | None:
        return None if self.expires_at is None else to_ms(self.expires_at) // 1000  # type: ignore[attr-defined]


def expiry_field(subject: str, type_: Any = int, *, note: str = "") -> Any:
    """Return the field `expiresAt`. REST has it as `exp`, of the given type."""
    description = f"When the {subject} expires"
    rest_form = RestForm("exp", type_, f"{description}, in seconds since 1970-01-01 (UTC).{note}", name="exp")
    return field_with_rest_form("expiresAt", rest_form, description=f"{description}.{note}")


@strawberry.type(description="A new token and the account that it belongs to.")
class Login(Expiring):
    valid: terms.Succeeded
    token: str = strawberry.field(description="Token to send in the header `token`, or as `Authorization: Bearer`.")
    expires_at: datetime = expiry_field("token")
    account_id: ids.AccountId
    application_id: ids.ApplicationId
    name: str = strawberry.field(description="Name of the person.")
    user_groups: list[Json] = rest_only_field(description="Always empty. Legacy clients expect this field.")
    functional_group_accounts: list[Json] = rest_only_field(
        description="Always empty. Legacy clients expect this field."
    )
    is_temp_auth: bool = rest_only_field(description="Always false. Legacy clients expect this field.")


@strawberry.type(description="Valid credentials of the present request.")
class TokenStatus(Expiring):
    valid: bool = strawberry.field(description="Always true, because invalid credentials return an error.")
    expires_at: datetime | None = expiry_field("token", StrawberryOptional(int), note=" Null for Basic credentials.")
    account_id: ids.AccountId
    application_id: ids.ApplicationId


@strawberry.type(description="An additional token for the same account.")
class NewToken(Expiring):
    valid: terms.Succeeded
    expires_at: datetime = expiry_field("token")
    token: terms.Token


@strawberry.type(description="Acknowledgement of a successful call.")
class Done:
    valid: terms.Succeeded


DONE = Done(valid=True)
"""The answer of REST in place of the record that a call has changed or ended. Legacy clients read it."""


@strawberry.type(
    description="Request of a code by mail. It is the same whether an account has the name or not, so that nobody "
    "finds names with it."
)
class CodeRequest:
    expires_at: datetime = strawberry.field(description="When the code expires, if a mail is sent.")


@strawberry.type(description="Record of an issued token. The token itself is not stored and cannot be shown.")
class Token:
    token_id: ids.TokenId
    user_id: ids.UserId
    account_id: ids.AccountId
    created_at: terms.CreatedAt
    expires_at: datetime = strawberry.field(description="When the token expires.")
    authentication_framework: str | None = strawberry.field(
        description="`oauth` if an OAuth client requested the token, `display` for the token of a paired display. Null "
        "if the user logged in."
    )
    grant_type: str | None = strawberry.field(
        description="OAuth grant type of the token: authorization_code, refresh_token, or that of RFC 8628 for a "
        "paired display. Null if the user logged in."
    )


@strawberry.type(description="Dates of a token that the directory issued.")
class DirectoryToken:
    token_issue_date: datetime | None = strawberry.field(
        description="When the token was issued. Null if there is no valid token."
    )
    token_expiry_date: datetime | None = strawberry.field(
        description="When the token expires. Null if there is no valid token."
    )


@strawberry.type(description="Response of the directory that holds an account.")
class DirectoryAnswer:
    data: DirectoryToken = strawberry.field(description="Dates of the token.")
    valid: bool = strawberry.field(description="Whether the directory confirms that the token is valid.")
    reason: str | None = strawberry.field(description="Why the token is not valid. Null if it is.")


@strawberry.type(description="Status of an account and of its token.")
class AccountStatus:
    status: UserStatus = strawberry.field(description="Status of the account.")
    active: bool = strawberry.field(description="Whether the account can log in.")
    account_id: ids.AccountId
    application_id: ids.ApplicationId
    directory_id: ids.DirectoryId
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    directory: DirectoryAnswer = strawberry.field(description="Response of the directory about the token.")
