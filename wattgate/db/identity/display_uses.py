"""Uses of the credentials of paired displays. Each use moves the end of the credential, so that a display in use stays.

The use is stored by the hour. Otherwise each request of each display would write to the database.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlmodel import col

from wattgate.db.engine import Database
from wattgate.db.models import PairedDisplay, Token
from wattgate.db.row_scope import RowScope
from wattgate.db.rows import Rows
from wattgate.errors import GatewayError

log = logging.getLogger(__name__)

DISPLAY_LIFETIME = timedelta(days=400)
"""Time after its last use in which the credential of a display is valid."""

USE_RESOLUTION = timedelta(hours=1)
"""A use is stored again only after this time."""


def is_use_due(expires_at: datetime, now: datetime) -> bool:
    """Return whether the use of a credential must be stored, because the last stored one is old."""
    return expires_at - now <= DISPLAY_LIFETIME - USE_RESOLUTION


async def record_uses(database: Database, token_ids: Mapping[str, Sequence[str]], now: datetime) -> None:
    """Store that displays are in use now, by the ids of their tokens for each application.

    A display must not fail because its use cannot be stored, so that errors are only logged.
    """
    for application_id, ids in token_ids.items():
        try:
            async with database.session(RowScope(application_id)) as session:
                rows = Rows(session, application_id, now=now)
                await rows.update(Token, col(Token.token_id).in_(ids), expires_at=now + DISPLAY_LIFETIME)
                of_tokens = col(PairedDisplay.token_id).in_(ids)
                await rows.update(PairedDisplay, of_tokens, last_seen_at=now, expires_at=now + DISPLAY_LIFETIME)
                await session.commit()
        except GatewayError as error:
            log.warning("The use of %d displays of application %s is not stored: %s", len(ids), application_id, error)
