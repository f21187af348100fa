"""The policies of the operator for the log-ins of accounts and for readings without consent."""

from datetime import timedelta
from typing import NamedTuple


class ConsentPolicy(NamedTuple):
    """Two settings of the gateway.

    `is_required` says whether data of a meter point without a recorded consent is withheld. `stores_without` says
    whether readings of a time without a valid consent are stored.
    """

    is_required: bool = True
    stores_without: bool = False


DEFAULT_CONSENT_POLICY = ConsentPolicy()


class AccountPolicy(NamedTuple):
    """Settings of the gateway for log-ins and their tokens.

    `recent_login` is the time after a log-in in which its token may change the username and the e-mail address.
    `max_tokens` is the maximum of valid log-in tokens of an account; a further one ends the oldest. `session_lifetime`
    is the time after a log-in in which its token can be renewed. Paired displays have neither limit. After
    `grant_lifetime`, the client of an OAuth grant must ask the user again. If `registers_by_mail` is true, a
    registration has one answer whether or not the name is in use, and only a mail to its address says more. With
    `allows_own_erasure`, users erase themselves and their homes.
    """

    recent_login: timedelta = timedelta(minutes=10)
    max_tokens: int = 100
    session_lifetime: timedelta = timedelta(days=90)
    grant_lifetime: timedelta = timedelta(days=365)
    registers_by_mail: bool = False
    allows_own_erasure: bool = False


DEFAULT_ACCOUNT_POLICY = AccountPolicy()
