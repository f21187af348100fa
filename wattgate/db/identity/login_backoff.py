"""Login backoff: the wait after wrong passwords, for each account, which doubles with each failure."""

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col

from wattgate.db.models import Account
from wattgate.errors import RateLimited

FREE_ATTEMPTS = 5
"""The number of wrong passwords in a row without a wait."""

MIN_WAIT = timedelta(seconds=2)
MAX_WAIT = timedelta(minutes=15)


def enforce_login_backoff(failures: int, failed_at: datetime | None, now: datetime) -> None:
    """Raise RateLimited if the account must still wait after its wrong passwords."""
    if failures < FREE_ATTEMPTS or failed_at is None:
        return
    doublings = min(failures - FREE_ATTEMPTS, 20)  # more than MAX_WAIT needs; the cap avoids huge numbers
    seconds = (failed_at + min(MIN_WAIT * 2**doublings, MAX_WAIT) - now).total_seconds()
    if seconds > 0:
        retry_after = int(seconds) + 1
        raise RateLimited(
            f"Too many wrong passwords. Wait {retry_after} s before the next attempt.", retry_after=retry_after
        )


def failed_login_values(now: datetime) -> dict[str, Any]:
    """Return the changes of an account after a wrong password. `updated_at` keeps its value."""
    return {"failures": col(Account.failures) + 1, "failed_at": now, "updated_at": col(Account.updated_at)}


def successful_login_values() -> dict[str, Any]:
    """Return the changes of an account after the right password that follows failures."""
    return {"failures": 0, "failed_at": None, "updated_at": col(Account.updated_at)}
