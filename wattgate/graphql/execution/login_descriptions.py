"""Descriptions of the log-in, the second factor and external directories, for `descriptions`."""

from collections.abc import Mapping
from types import MappingProxyType

_CODE = "Code of the app, or a recovery code. Required if the account has a second factor."
_APPLICATION = "ID of the application. Required unless the header `applicationId` has it."
_PASSWORD = "Password of the account."  # noqa: S105 (a description)

LOGIN_FIELD_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "authenticate.accessToken": "Access token that the directory issued together with `directoryToken`, for its "
        "userinfo or introspection endpoint. Default: `directoryToken`.",
        "authenticate.code": _CODE,
        "authenticate.directoryToken": "Token of the external directory `directoryId`: an ID token or access token in "
        "the form of a JSON Web Token.",
        "authenticate.password": "Password of the account. Required without `directoryToken`.",
        "authenticate.username": "Username of the account. Required without `directoryToken`.",
        "authorise.code": _CODE,
        **{f"{operation}.applicationId": _APPLICATION for operation in ("claimDisplayPairing", "startDisplayPairing")},
        "approveDisplayPairing.name": "Name of the display, such as Kitchen. Default: the name that it suggests.",
        "approveDisplayPairing.veId": "ID of the home that the display may read.",
        "renamePairedDisplay.name": "New name of the display.",
        "startDisplayPairing.name": "Name that the display suggests, such as its model. The user can change it.",
        **{
            f"{operation}.deviceCode": "Device code that `startDisplayPairing` returned."
            for operation in ("claimDisplayPairing", "grantOauthTokens")
        },
        **{
            f"{operation}DisplayPairing.userCode": "Code that the display shows, in any case and with any separators."
            for operation in ("approve", "check", "deny")
        },
        **{
            f"{owner}.displayId": "ID of the paired display."
            for owner in ("PairedDisplay", "renamePairedDisplay", "revokePairedDisplay")
        },
        **{
            f"{operation}.password": "Password of the calling account. Required if the log-in of the token is old."
            for operation in ("changeEmail", "renameUser")
        },
        **{
            f"{operation}.code": "Code of the app, or a recovery code. Required beside `password` if the account has a "
            "second factor."
            for operation in ("changeEmail", "renameUser")
        },
        "confirmSecondFactor.code": "Code that the app shows.",
        "enrolSecondFactor.password": _PASSWORD,
        "removeSecondFactor.code": _CODE,
        "removeSecondFactor.password": _PASSWORD,
    }
)

LOGIN_ENUM_VALUE_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "AccountRule.EXISTING": "Nobody. The application adds the accounts.",
        "AccountRule.LINK": "The only user of the application with the same e-mail address, if the directory has "
        "verified it.",
        "AccountRule.CREATE": "Everybody. The gateway creates a new user.",
        "PairingState.PENDING": "No user has answered yet.",
        "PairingState.APPROVED": "A user has approved the display for a home.",
        "PairingState.DENIED": "A user has refused the display, or the home no longer belongs to the user.",
        "TokenCheck.SIGNATURE": "Not at all.",
        "TokenCheck.USERINFO": "It sends the access token to the userinfo endpoint of the directory.",
        "TokenCheck.INTROSPECTION": "It asks the introspection endpoint of the directory (RFC 7662).",
    }
)
