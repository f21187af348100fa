"""Legacy formats of users, accounts, tokens, profiles and sessions."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, GatewayError, ProblemPath, Unauthenticated, UnsupportedMediaType
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.credentials.login import WeakPassword
from wattgate.operations.personal_data.data_exports import ExportPartResult
from wattgate.operations.types.identity.accounts import Token
from wattgate.operations.types.users.users import OAuthTokens
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RerunOperation, RestResult
from wattgate.rest_compat.wire_shapes import EXAMPLE_TIME, EXAMPLE_UUID, ListOf, Ok, RecordShape, Uuid, Valid
from wattgate.values.annotations import Described


async def stream_archive(result: RestResult, rerun: RerunOperation) -> AsyncIterator[bytes]:
    """Yield the archive from the part of the result to its last part. One part is in memory at a time."""
    part: ExportPartResult = result.result
    yield part.data
    while part.number + 1 < part.parts:
        part = await rerun(number=part.number + 1, export_id=part.export_id)
        yield part.data


DATA_EXPORT_FORMATS: Mapping[str, LegacyFormat] = MappingProxyType(
    {"GET /user/{userId}/export.zip application/zip": LegacyFormat(render_stream=stream_archive)}
)


# Types of users, accounts, tokens, profiles and sessions in legacy formats.


class ClosedAccount(TypedDict):
    """Account after its deletion."""

    valid: Valid
    accountId: Annotated[Uuid, Described("ID of the account.")]
    userId: Annotated[Uuid, Described("ID of the user.")]
    status: Annotated[str, Meta(description="Status of the account.")]


CLOSED_ACCOUNT_EXAMPLE: ClosedAccount = {
    "valid": True,
    "accountId": EXAMPLE_UUID,
    "userId": EXAMPLE_UUID,
    "status": "inactive",
}


class DeletedUser(TypedDict):
    """Acknowledgement that a user is deleted."""

    valid: Valid


DELETED_USER_EXAMPLE: DeletedUser = {"valid": True}


class OAuthTokenMembers(TypedDict, total=False):
    """Members that only OAuth tokens have."""

    authenticationFramework: Annotated[str, Meta(description="How the token was requested: oauth or display.")]
    grant_type: Annotated[
        str, Meta(description="OAuth grant type: authorization_code, refresh_token, or that of RFC 8628.")
    ]


class OAuthTokensMembers(TypedDict):
    """Members of OAuth tokens with the names of RFC 6749."""

    token_type: Annotated[str, Meta(description="Type of the access token: always bearer.")]
    access_token: Annotated[
        str, Meta(description="Token to send in the header `token`, or as `Authorization: Bearer`.")
    ]
    expires_in: Annotated[int, Meta(description="Lifetime of the access token, in seconds.")]
    refresh_token: NotRequired[
        Annotated[str, Meta(description="Token for the next exchange. Valid once. A display has none.")]
    ]
    refresh_type: NotRequired[
        Annotated[str, Meta(description="The refresh token again, under a name that legacy clients read.")]
    ]


class DeviceCodesMembers(TypedDict):
    """Members of a started pairing with the names of RFC 8628."""

    device_code: Annotated[str, Meta(description="Secret with which the display asks for its credential.")]
    user_code: Annotated[str, Meta(description="Code that the user enters, such as BCDF-2345.")]
    verification_uri: Annotated[str, Meta(description="Address of the page on which the user enters the code.")]
    verification_uri_complete: Annotated[str, Meta(description="Same address with the code, for a link or QR code.")]
    expires_in: Annotated[int, Meta(description="Lifetime of both codes, in seconds.")]
    interval: Annotated[int, Meta(description="Minimum time between two token requests, in seconds.")]
    qr_code: Annotated[
        list[str], Meta(description="Rows of the QR code of `verification_uri_complete`: 1 is dark, 0 is light.")
    ]


class SavedProfile(TypedDict):
    """Acknowledgement that a profile is stored."""

    status: Ok
    profileName: Annotated[str, Meta(description="Name of the profile.")]
    devUserId: Annotated[Uuid, Meta(description="ID of the user who owns the profile.")]


SAVED_PROFILE_EXAMPLE: SavedProfile = {"status": "OK", "profileName": "Settings", "devUserId": EXAMPLE_UUID}


class ProfileName(TypedDict):
    """The member that every profile has."""

    profileName: Annotated[str, Meta(description="Name of the profile.")]


TOKEN = RecordShape(
    "ListedToken", Token, OAuthTokenMembers, omitted=frozenset({"authenticationFramework", "grantType"})
)
_LOG_IN_TOKEN = {
    "tokenId": EXAMPLE_UUID,
    "userId": EXAMPLE_UUID,
    "accountId": EXAMPLE_UUID,
    "createdAt": EXAMPLE_TIME,
    "expiresAt": EXAMPLE_TIME,
}
_OAUTH_MEMBERS: OAuthTokenMembers = {"authenticationFramework": "oauth", "grant_type": "refresh_token"}
TOKENS_EXAMPLE = [_LOG_IN_TOKEN, {**_LOG_IN_TOKEN, **_OAUTH_MEMBERS}]

_REDIRECT = "https://client.example/back"
AUTHORISATION_EXAMPLE = {
    "applicationId": EXAMPLE_UUID,
    "username": "ada@example.org",
    "password": "correct horse",
    "client_id": EXAMPLE_UUID,
    "redirect_uri": _REDIRECT,
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "scope": "read",
    "state": "any text of the client",
}
TOKEN_EXCHANGE_EXAMPLE = {
    "client_id": EXAMPLE_UUID,
    "client_secret": "the client's secret",
    "grant_type": "authorization_code",
    "code": "the authorization code",
    "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "redirect_uri": _REDIRECT,
}
OAUTH_TOKENS = RecordShape(
    "OAuthTokens",
    OAuthTokens,
    OAuthTokensMembers,
    omitted=frozenset({"tokenType", "accessToken", "expiresIn", "refreshToken"}),
)
OAUTH_TOKENS_EXAMPLE = {
    "token_type": "bearer",
    "access_token": "the access token",
    "expires_in": 604800,
    "refresh_token": "the refresh token",
    "refresh_type": "the refresh token",
    "scope": "read",
}
DEVICE_CODES = RecordShape(
    "DeviceCodes", added=DeviceCodesMembers, description="Codes of a pairing, as in RFC 8628, section 3.2."
)
PROFILE = RecordShape(
    "StoredProfile", added=ProfileName, is_open=True, description="Profile: its name, and members that clients choose."
)
PROFILE_TO_SAVE = RecordShape(
    "ProfileToSave", added=ProfileName, is_open=True, description="Profile: its name, and members that clients choose."
)
PROFILE_EXAMPLE: dict[str, Any] = {"profileName": "Settings", "dark": True}
SESSION = RecordShape(
    "AccountSessionData", is_open=True, description="Data of the session. Clients choose the members."
)
SESSION_EXAMPLE = {"page": "today"}


# Legacy formats of users, accounts, tokens, profiles and sessions.


OAUTH_NAMES = (
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
)
"""Members whose names RFC 6749, RFC 7636 and RFC 8628 define."""

OAUTH_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = {(to_camel_case(name),): (name,) for name in OAUTH_NAMES}


def _parse_oauth_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body; members of the OAuth standards change from snake case to camel case."""
    members = request.body_members.items()
    return RawArguments({to_camel_case(name) if name in OAUTH_NAMES else name: value for name, value in members})


OAUTH_ERRORS: Mapping[type[GatewayError], str] = MappingProxyType(
    {BadInput: "invalid_request", UnsupportedMediaType: "invalid_request", Unauthenticated: "invalid_client"}
)
"""The codes of RFC 6749, section 5.2, by the class of the error."""


def _transform_oauth_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of RFC 6749, section 5.2: `error` is a code, and `error_description` is the message."""
    usual = OAUTH_ERRORS.get(type(error), "temporarily_unavailable")
    return {**body, "error": error.reason or usual, "error_description": body["error"]}


def _transform_new_password_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with the error text that legacy clients know for a weak new password."""
    return {**body, "error": "weak new password"} if isinstance(error, WeakPassword) else body


def _oauth_tokens_body(result: RestResult) -> dict[str, Any]:
    """Return the tokens. The refresh token is repeated as `refresh_type`, which legacy clients read.

    A display has no refresh token.
    """
    granted = result.result
    refresh = {"refresh_token": granted.refresh_token, "refresh_type": granted.refresh_token}
    return {
        "token_type": granted.token_type,
        "access_token": granted.access_token,
        "expires_in": granted.expires_in,
        **(refresh if granted.refresh_token else {}),
        "scope": granted.scope,
    }


def _parse_device_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body: `client_id` is the ID of the application. A display has no choice of scopes."""
    names = {"client_id": "applicationId"}
    members = request.body_members.items()
    return RawArguments({names.get(name, name): value for name, value in members if name != "scope"})


def _device_body(result: RestResult) -> dict[str, Any]:
    """Return the response of RFC 8628, section 3.2, and the modules of the QR code."""
    started = result.result
    return {
        "device_code": started.device_code,
        "user_code": started.user_code,
        "verification_uri": started.verification_uri,
        "verification_uri_complete": started.verification_uri_complete,
        "expires_in": started.expires_in,
        "interval": started.interval,
        "qr_code": started.qr_code,
    }


def _tokens_body(result: RestResult) -> list[dict[str, Any]]:
    """Return the tokens; only OAuth tokens have `authenticationFramework` and `grant_type`."""
    listed = []
    for token in result.rendered:
        grant_type, framework = token.pop("grantType"), token.pop("authenticationFramework")
        oauth = {"authenticationFramework": framework, "grant_type": grant_type} if framework else {}
        listed.append({**token, **oauth})
    return listed


def _closed_account_body(result: RestResult) -> dict[str, Any]:
    return {"valid": True, **{name: result.rendered[name] for name in ("accountId", "userId", "status")}}


def _parse_profile_arguments(request: LegacyRequest) -> RawArguments:
    """Convert the body: `profileName` is the name of the profile, and all other members are its data."""
    body = dict(request.body_members)
    name = {"profileName": body.pop("profileName")} if "profileName" in body else {}
    return RawArguments({**name, "data": body})


def _saved_profile_body(result: RestResult) -> dict[str, Any]:
    return {"status": "OK", "profileName": result.result.profile_name, "devUserId": result.result.user_id}


def _profile_body(result: RestResult) -> dict[str, Any]:
    return {**result.result.data, "profileName": result.result.profile_name}


ACCOUNT_FORMATS: Mapping[str, LegacyFormat] = {
    "POST /auth": LegacyFormat(rejection_members={"valid": False}),
    "DELETE /auth/deleteToken": LegacyFormat(rejection_members={"valid": False}),
    "GET /auth/token": LegacyFormat(render_body=_tokens_body, response=ListOf(TOKEN), response_example=TOKENS_EXAMPLE),
    "POST /auth/oauth": LegacyFormat(
        parse_arguments=_parse_oauth_arguments,
        request_paths=OAUTH_REQUEST_PATHS,
        rejection_members={"valid": False},
        body_example=AUTHORISATION_EXAMPLE,
    ),
    "POST /auth/oauth/access": LegacyFormat(
        parse_arguments=_parse_oauth_arguments,
        request_paths=OAUTH_REQUEST_PATHS,
        render_body=_oauth_tokens_body,
        response=OAUTH_TOKENS,
        accepts_form=True,
        transform_error=_transform_oauth_error,
        body_example=TOKEN_EXCHANGE_EXAMPLE,
        response_example=OAUTH_TOKENS_EXAMPLE,
    ),
    "POST /auth/oauth/device": LegacyFormat(
        parse_arguments=_parse_device_arguments,
        request_paths={("applicationId",): ("client_id",)},
        render_body=_device_body,
        response=DEVICE_CODES,
        accepts_form=True,
        transform_error=_transform_oauth_error,
    ),
    "POST /account/changepassword": LegacyFormat(transform_error=_transform_new_password_error),
    "PUT /user/resetpassword": LegacyFormat(transform_error=_transform_new_password_error),
    "DELETE /account/{accountId}": LegacyFormat(
        render_body=_closed_account_body, response=ClosedAccount, response_example=CLOSED_ACCOUNT_EXAMPLE
    ),
    "DELETE /user/{userId}": LegacyFormat(
        render_body=lambda result: {"valid": True},
        response=DeletedUser,
        response_example=DELETED_USER_EXAMPLE,
    ),
    "POST /accountprofile": LegacyFormat(
        parse_arguments=_parse_profile_arguments,
        render_body=_saved_profile_body,
        body=PROFILE_TO_SAVE,
        response=SavedProfile,
        body_example=PROFILE_EXAMPLE,
        response_example=SAVED_PROFILE_EXAMPLE,
    ),
    "GET /accountprofile/{profileName}": LegacyFormat(
        render_body=_profile_body, response=PROFILE, response_example=PROFILE_EXAMPLE
    ),
    "GET /accountsession": LegacyFormat(
        render_body=lambda result: result.result.data, response=SESSION, response_example=SESSION_EXAMPLE
    ),
    "PUT /accountsession": LegacyFormat(
        parse_arguments=lambda request: RawArguments({"values": request.body}),
        request_paths={("values",): ()},
        render_body=lambda result: result.result.data,
        body=SESSION,
        response=SESSION,
        body_example=SESSION_EXAMPLE,
        response_example=SESSION_EXAMPLE,
    ),
}
