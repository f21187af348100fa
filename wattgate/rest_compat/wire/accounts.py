"""Types of users, accounts, tokens, profiles and sessions in legacy formats."""

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from wattgate.operations.types.identity.accounts import Token
from wattgate.operations.types.users.oauth import OAuthTokens
from wattgate.rest_compat.wire.shapes import EXAMPLE_TIME, EXAMPLE_UUID, Ok, RecordShape, Uuid, Valid
from wattgate.values.annotations import Described


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
