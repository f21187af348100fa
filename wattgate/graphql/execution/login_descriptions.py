"""Descriptions of the enum values of the log-in and external directories, for `enum_descriptions`."""

from collections.abc import Mapping
from types import MappingProxyType

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
