"""Events in the database, which one process stores for the others.

So a gateway without Redis learns what a command ends or changes, and each gateway learns it while Redis is unavailable.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.models import StoredEvent
from wattgate.db.scope.row_scope import SystemAccess, system_access

LATE_SECONDS = 15.0
"""Time for which an event with a lower number may still appear.

PostgreSQL gives a number before the commit, so the transactions of two numbers can end in the other order.
"""

MAX_FIRST_EVENTS = 1_000
"""Maximum number of older events in the first result of a reader."""

EVENT_LIFETIME = timedelta(hours=1)
"""Time after which stored events are deleted. Every running process has read them by then."""

_NEWEST = select(func.coalesce(func.max(col(StoredEvent.number)), 0))

_AFTER = (
    select(col(StoredEvent.number), col(StoredEvent.origin), col(StoredEvent.topic), col(StoredEvent.content))
    .where(col(StoredEvent.number) > bindparam("number"))
    .order_by(col(StoredEvent.number))
)
"""A constant, so that it is compiled once: every gateway executes it some times a second."""


class EncodedEvent(NamedTuple):
    """An encoded event and its topic, and whether this process has stored it."""

    topic: str
    content: str
    is_own: bool = False


async def insert_events(session: AsyncSession, origin: str, events: Sequence[EncodedEvent]) -> None:
    """Store events in the transaction that causes them. `origin` is the `instance_id` of the own database."""
    with system_access(session, SystemAccess.SHARE_EVENTS):
        session.add_all(StoredEvent(origin=origin, topic=event.topic, content=event.content) for event in events)
        await session.flush()


async def delete_old_events(session: AsyncSession, now: datetime) -> None:
    """Delete the events that every running process has read."""
    is_old = col(StoredEvent.created_at) < now - EVENT_LIFETIME
    with system_access(session, SystemAccess.SHARE_EVENTS):
        await session.execute(delete(StoredEvent).where(is_old))


class StoredEventReader:
    """Reads each stored event once, those of the own process too. `time` returns seconds of a monotonic clock."""

    def __init__(self, database: Database, time: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._time = time
        self._passed: int | None = None
        """The highest number up to which no event can appear any more. None before the first result."""
        self._read_at: dict[int, float] = {}
        """The numbers above `_passed` that were read, with the time of that."""

    async def read_new(self) -> list[EncodedEvent]:
        """Return the events that appeared since the last call, and at first the newest of the older ones."""
        async with self._database.reader(SystemAccess.SHARE_EVENTS) as session:
            if self._passed is None:
                self._passed = max(0, (await fetch(session, _NEWEST))[0][0] - MAX_FIRST_EVENTS)
            rows = await fetch(session, _AFTER, {"number": self._passed})
        now = self._time()
        own = self._database.instance_id
        new = [
            EncodedEvent(topic, content, origin == own)
            for number, origin, topic, content in rows
            if number not in self._read_at
        ]
        for number, *_ in rows:
            self._read_at.setdefault(number, now)
        self._pass_old(now)
        return new

    def _pass_old(self, now: float) -> None:
        for number in sorted(self._read_at):
            if self._read_at[number] > now - LATE_SECONDS:
                break
            del self._read_at[number]
            self._passed = number
