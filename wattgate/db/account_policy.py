"""The policy of the operator for the log-ins of accounts."""

from datetime import timedelta
from typing import NamedTuple


class AccountPolicy(NamedTuple):
    """Settings of the gateway for log-ins and their tokens.

    `recent_login` is the time after a log-in in which its token may change the username and the e-mail address.
    """

    recent_login: timedelta = timedelta(minutes=10)


DEFAULT_ACCOUNT_POLICY = AccountPolicy()
