"""Types of users, accounts, tokens, profiles and sessions in legacy formats."""

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

from wattgate.annotations import Described
from wattgate.graphql.types.accounts import Token
from wattgate.graphql.types.oauth import OAuthTokens
from wattgate.rest_compat.wire.shapes import Ok, RecordShape, Uuid, Valid


class ClosedAccount(TypedDict):
    """Account after its deletion."""

    valid: Valid
    accountId: Annotated[Uuid, Described("ID of the account.")]
    userId: Annotated[Uuid, Described("ID of the user.")]
    status: Annotated[str, Meta(description="Status of the account.")]


class DeletedUser(TypedDict):
    """Acknowledgement that a user is deleted."""

    valid: Valid


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


class ProfileName(TypedDict):
    """The member that every profile has."""

    profileName: Annotated[str, Meta(description="Name of the profile.")]


TOKEN = RecordShape(
    "ListedToken", Token, OAuthTokenMembers, omitted=frozenset({"authenticationFramework", "grantType"})
)
OAUTH_TOKENS = RecordShape(
    "OAuthTokens",
    OAuthTokens,
    OAuthTokensMembers,
    omitted=frozenset({"tokenType", "accessToken", "expiresIn", "refreshToken"}),
)
DEVICE_CODES = RecordShape(
    "DeviceCodes", added=DeviceCodesMembers, description="Codes of a pairing, as in RFC 8628, section 3.2."
)
PROFILE = RecordShape(
    "StoredProfile", added=ProfileName, is_open=True, description="Profile: its name, and members that clients choose."
)
PROFILE_TO_SAVE = RecordShape(
    "ProfileToSave", added=ProfileName, is_open=True, description="Profile: its name, and members that clients choose."
)
SESSION = RecordShape(
    "AccountSessionData", is_open=True, description="Data of the session. Clients choose the members."
)
