"""How the guessing of passwords is slowed down: account by account, longer with every failure."""

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col

from wattgate.db.models import Account
from wattgate.errors import RateLimited

FREE = 5
"""How many wrong passwords in a row cost no waiting."""

FIRST_WAIT = timedelta(seconds=2)
LONGEST_WAIT = timedelta(minutes=15)


def refuse_in_haste(failures: int, failed_at: datetime | None, now: datetime) -> None:
    """RateLimited where the account has failed so often that its next attempt has to wait."""
    if failures < FREE or failed_at is None:
        return
    doublings = min(failures - FREE, 20)  # far beyond the longest wait, and a number that stays small
    seconds = (failed_at + min(FIRST_WAIT * 2**doublings, LONGEST_WAIT) - now).total_seconds()
    if seconds > 0:
        raise RateLimited("too many wrong passwords; wait before the next attempt", retry_after=int(seconds) + 1)


def failed(now: datetime) -> dict[str, Any]:
    """What a wrong password changes on its account: the count alone, not when the record was changed."""
    return {"failures": col(Account.failures) + 1, "failed_at": now, "updated_at": col(Account.updated_at)}


def succeeded() -> dict[str, Any]:
    """What the right password changes on an account that has failed before."""
    return {"failures": 0, "failed_at": None, "updated_at": col(Account.updated_at)}
