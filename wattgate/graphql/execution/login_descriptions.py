"""Descriptions of the log-in, the second factor and external directories, for `descriptions`."""

from collections.abc import Mapping
from types import MappingProxyType

_CODE = "Code of the app, or a recovery code. Required if the account has a second factor."
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
        "TokenCheck.SIGNATURE": "Not at all.",
        "TokenCheck.USERINFO": "It sends the access token to the userinfo endpoint of the directory.",
        "TokenCheck.INTROSPECTION": "It asks the introspection endpoint of the directory (RFC 7662).",
    }
)
