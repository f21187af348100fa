"""The users to whom the application moves resources and devices."""

from sqlmodel import col

from wattgate.db.models import User
from wattgate.db.rows.rows import Rows
from wattgate.errors import BadInput, Conflict, Problem


async def require_new_owner(rows: Rows, user_id: str, owner_id: str) -> None:
    """Raise BadInput unless the user exists and is active. Raise Conflict if it is the present owner."""
    await lock_new_owner(rows, user_id)
    await check_new_owner(rows, user_id)
    if user_id == owner_id:
        raise Conflict(f"User {user_id} is the owner already.")


async def lock_new_owner(rows: Rows, user_id: str) -> None:
    """Keep an erasure of the user from beginning until the transaction ends."""
    await rows.lock(User, col(User.user_id) == user_id, shared=True)


async def check_new_owner(rows: Rows, user_id: str) -> None:
    """Raise BadInput unless the user exists and is active."""
    user = (await rows.get_many(User, [user_id])).get(user_id)
    if user is None or not user.active:
        reason = "is not active" if user else "does not exist"
        raise BadInput("Invalid new owner. See `problems`.", problems=[Problem(("userId",), f"{user_id} {reason}")])
