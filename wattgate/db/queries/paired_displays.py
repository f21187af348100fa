"""Batch loader of the paired displays of users."""

from collections.abc import Sequence

from sqlmodel import col

from wattgate.db.models import PairedDisplay
from wattgate.db.rows import Rows


async def displays_of_users(rows: Rows, user_ids: Sequence[str]) -> list[list[PairedDisplay]]:
    """Return the paired displays of each user whose credential is valid, oldest first."""
    displays = await rows.all(
        PairedDisplay,
        col(PairedDisplay.user_id).in_(set(user_ids)),
        col(PairedDisplay.expires_at) > rows.now,
        order_by=[PairedDisplay.created_at, PairedDisplay.display_id],
    )
    return [[display for display in displays if display.user_id == user_id] for user_id in user_ids]
