"""The mails of the gateway itself to the holders of accounts: their alert types, and links to the pages of codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlencode

VERIFY, RESET = "account.verify", "account.reset"
CONFIRM_EMAIL = "account.confirm-email"
EMAIL_CHANGE_REQUESTED, EMAIL_CHANGED = "account.email-change-requested", "account.email-changed"
PASSWORD_CHANGED = "account.password-changed"  # noqa: S105 (the name of a mail)
TENANCY_ENDED = "account.tenancy-ended"
HOME_INVITATION = "account.home-invitation"

VERIFY_PAGE, RESET_PAGE, CONFIRM_EMAIL_PAGE = "/verify", "/reset", "/confirm-email"


@dataclass(frozen=True, slots=True)
class AccountMailType:
    """An alert type that only the gateway sends, by mail. Each application has it and can have templates for it.

    `page` is the page of the gateway that takes the code of the mail, or None. A code without a page is
    `entered_in_app`. The mail is sent to an address that has unsubscribed if the security of the account depends on it:
    `for_security`. A mail that `proves_address` goes to an address that somebody has entered, and its holder may be a
    stranger.
    """

    name: str
    description: str
    page: str | None = None
    for_security: bool = True
    proves_address: bool = False
    entered_in_app: bool = False

    @property
    def has_code(self) -> bool:
        """Whether the mail has a code."""
        return self.page is not None or self.entered_in_app


ACCOUNT_MAIL_TYPES: Mapping[str, AccountMailType] = MappingProxyType(
    {
        VERIFY: AccountMailType(
            "System: registration", "Code that makes a registered account active", VERIFY_PAGE, proves_address=True
        ),
        RESET: AccountMailType("System: password reset", "Code that sets a new password", RESET_PAGE),
        CONFIRM_EMAIL: AccountMailType(
            "System: confirm e-mail address",
            "Code that confirms a new e-mail address",
            CONFIRM_EMAIL_PAGE,
            proves_address=True,
        ),
        EMAIL_CHANGE_REQUESTED: AccountMailType(
            "System: e-mail change requested", "Notice to the old address before a new one is confirmed"
        ),
        EMAIL_CHANGED: AccountMailType("System: e-mail address changed", "Notice to the old address"),
        PASSWORD_CHANGED: AccountMailType("System: password changed", "Notice after a change or reset of the password"),
        HOME_INVITATION: AccountMailType(
            "System: home invitation",
            "Code with which another person may read a home, to the address of that person",
            for_security=False,
            proves_address=True,
            entered_in_app=True,
        ),
        TENANCY_ENDED: AccountMailType(
            "System: moved out", "Notice that another user has moved in at the meter point", for_security=False
        ),
    }
)
"""The alert types of the gateway's own mails by their short codes."""


def code_link(base_url: str, page: str, application_id: str, username: str, code: str) -> str:
    """Return the link to a page that takes a code.

    The code is in the fragment, which browsers do not send: it gets into no access log and no `Referer`.
    """
    query = urlencode({"application": application_id})
    return f"{base_url.rstrip('/')}{page}?{query}#{urlencode({'username': username, 'code': code})}"
