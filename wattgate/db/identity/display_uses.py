"""Uses of the credentials of paired displays. Each use moves the end of the credential, so that a display in use stays.

The use is stored by the hour. Otherwise each request of each display would write to the database.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlmodel import col

from wattgate.db.credential_changes import extending_tokens
from wattgate.db.models import PairedDisplay, Token
from wattgate.db.rows.rows import Rows

DISPLAY_LIFETIME = timedelta(days=400)
"""Time after its last use in which the credential of a display is valid."""

USE_RESOLUTION = timedelta(hours=1)
"""A use is stored again only after this time."""


def is_use_due(expires_at: datetime, now: datetime) -> bool:
    """Return whether the use of a credential must be stored, because the last stored one is old."""
    return expires_at - now <= DISPLAY_LIFETIME - USE_RESOLUTION


async def store_uses(rows: Rows, token_ids: Collection[str]) -> None:
    """Store that the displays with these tokens are in use now. An expired token stays expired."""
    expires_at = rows.now + DISPLAY_LIFETIME
    is_valid = col(Token.token_id).in_(token_ids), col(Token.expires_at) > rows.now
    with extending_tokens(rows.write_session):
        found = await rows.update(Token, *is_valid, expires_at=expires_at)
    if found:
        of_tokens = col(PairedDisplay.token_id).in_(token_ids), col(PairedDisplay.expires_at) > rows.now
        await rows.update(PairedDisplay, *of_tokens, last_seen_at=rows.now, expires_at=expires_at)
