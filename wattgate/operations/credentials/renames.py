"""New usernames of existing users, with a bound that keeps them from trying which names others have."""

from wattgate.db.identity.login_backoff import (
    TAKEN_NAME,
    backoff_id,
    count_failure,
    enforce_login_backoff,
    load_failures,
)
from wattgate.db.models import Account
from wattgate.db.rows.rows import Rows
from wattgate.errors import Conflict
from wattgate.operations.credentials.login import validate_new_username


async def choose_new_username(rows: Rows, account: Account, username: str) -> str:
    """Return a free username for an account as it is stored. Raise as `validate_new_username` does.

    The holder who tries names that others have must wait, as after wrong passwords: raise RateLimited. A successful
    rename does not reset the count. Applications and administrators list all users, so they need not wait.
    """
    if rows.user_id is None:
        return await validate_new_username(rows, username, account.directory_id)
    key = backoff_id(rows, account.directory_id, account.user_id, TAKEN_NAME)
    enforce_login_backoff(*await load_failures(rows, key), rows.now, "usernames that are in use")
    try:
        return await validate_new_username(rows, username, account.directory_id)
    except Conflict as taken:
        await count_failure(rows, key)
        raise Conflict(taken.message, commits_changes=True) from None
