"""The access log before it is stored: who read the data of which household, counted in memory by the hour.

Requests only add to counters in memory. A worker stores them, so that no request writes to the database for the log.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from wattgate.metrics import ACCESSES_DROPPED
from wattgate.principal import Principal, Role
from wattgate.requests.client import current_client
from wattgate.requests.request_context import format_actor

MAX_PENDING_COUNTERS = 50_000
"""Maximum counters in memory. While storage fails, further reads are only counted in a metric."""

FLUSH_AT = 10_000
"""Number of counters from which the worker stores them at once."""

PURPOSES: Mapping[Role, str] = {
    Role.ACCOUNT: "own use",
    Role.DISPLAY: "own use",
    Role.MEMBER: "shared home",
    Role.TEMPLATE_EDITOR: "own use",
    Role.ADMINISTRATOR: "administration",
    Role.APPLICATION: "service",
}
"""The purpose of the reads of each role, unless the request declares another one. Other roles leave no entry."""


PARTS_OF_READS: Mapping[str, str] = {"noCurrentReasons": "currentReadings"}
"""Operations whose reads are a part of those of another one: why a value is missing is known by looking for it."""


class Reader(NamedTuple):
    """A caller that reads with one operation for one purpose in one hour."""

    application_id: str
    operation: str
    purpose: str
    role: str
    reader: str
    user_id: str | None
    hour: datetime

    @property
    def is_account(self) -> bool:
        return self.reader.startswith("account:")


class ReadData(NamedTuple):
    """The data of one resource of a household."""

    user_id: str
    resource_id: str


@dataclass(slots=True)
class ReadCounter:
    """The number of reads since the last flush, and their first and last instant."""

    count: int
    first_at: datetime
    last_at: datetime


Counters = dict[tuple[Reader, ReadData], ReadCounter]


@dataclass(slots=True)
class AccessLog:
    """The counters that are not stored yet, of one process."""

    max_counters: int = MAX_PENDING_COUNTERS
    _counters: Counters = field(default_factory=dict)
    _is_due: asyncio.Event = field(default_factory=asyncio.Event)

    def __len__(self) -> int:
        return len(self._counters)

    def add(self, reader: Reader, data: Iterable[ReadData], at: datetime) -> None:
        """Count a read of the data of each resource."""
        counters = self._counters
        for read in data:
            counter = counters.get((reader, read))
            if counter is not None:
                counter.count += 1
                counter.last_at = at
            elif len(counters) < self.max_counters:
                counters[reader, read] = ReadCounter(1, at, at)
            else:
                ACCESSES_DROPPED.inc()
        if len(counters) >= FLUSH_AT:
            self._is_due.set()

    def take(self) -> Counters:
        """Return all counters and start again from none."""
        taken, self._counters = self._counters, {}
        self._is_due.clear()
        return taken

    def restore(self, counters: Counters) -> None:
        """Take back counters that could not be stored, as many as there may be."""
        for key, counter in counters.items():
            known = self._counters.get(key)
            if known is not None:
                known.count += counter.count
                known.first_at = min(known.first_at, counter.first_at)
            elif len(self._counters) < self.max_counters:
                self._counters[key] = counter
            else:
                ACCESSES_DROPPED.inc(counter.count)

    async def wait_until_due(self, max_seconds: float) -> None:
        """Wait until there are many counters, for at most `max_seconds`."""
        try:
            async with asyncio.timeout(max_seconds):
                await self._is_due.wait()
        except TimeoutError:
            return


class RequestReads:
    """The reads of one request. Each operation counts once for a resource, however often the request evaluates it."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()


class AccessRecorder:
    """Records the reads of one operation for one caller."""

    def __init__(self, log: AccessLog, principal: Principal, operation: str, reads: RequestReads) -> None:
        self._log = log
        self._principal = principal
        self._operation = PARTS_OF_READS.get(operation, operation)
        self._seen = reads.seen

    def record(self, resources: Iterable[tuple[str, str]], at: datetime) -> None:
        """Record a read of the data of resources: pairs of the ids of their owner and of the resource."""
        operation, seen = self._operation, self._seen
        new = {ReadData(*pair) for pair in resources if (operation, pair[1]) not in seen}
        if not new:
            return
        seen.update((operation, data.resource_id) for data in new)
        principal = self._principal
        reader = Reader(
            application_id=principal.application_id or "",
            operation=operation,
            purpose=current_client().purpose or PURPOSES[principal.role],
            role=principal.role.value,
            reader=format_actor(principal),
            user_id=principal.member_user_id or principal.user_id,
            hour=at.replace(minute=0, second=0, microsecond=0),
        )
        self._log.add(reader, new, at)


def is_logged(principal: Principal) -> bool:
    """Return whether the reads of a caller are recorded: those of everyone but the gateway itself."""
    return principal.role in PURPOSES
