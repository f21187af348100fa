"""Find the user that a command is for, by the username or the ID."""

from wattgate.app.homes.applications import list_accounts
from wattgate.app.homes.named_records import MAX_COMPARED, unknown_name
from wattgate.db.models import User
from wattgate.db.rows.rows import Rows
from wattgate.operations.credentials.login import find_account


async def find_user(rows: Rows, text: str) -> str | None:
    """Return the ID of the user with this username or ID, or None."""
    if text in await rows.get_many(User, [text]):
        return text
    account = await find_account(rows, text)
    return None if account is None else account.user_id


async def require_user(rows: Rows, text: str) -> str:
    """Return the ID of the user with this username or ID. Raise NotFound with the nearest usernames."""
    user_id = await find_user(rows, text)
    if user_id is None:
        usernames = [account.username for account in await list_accounts(rows, MAX_COMPARED)]
        raise unknown_name("user", text, usernames, "wattgate user list")
    return user_id
