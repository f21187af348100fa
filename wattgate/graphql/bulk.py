"""Any number of readings into the gateway, a batch at a time: memory does not grow with their number."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from strawberry import ID

from wattgate.errors import BadInput
from wattgate.graphql.operation import Operation
from wattgate.graphql.resolvers.recording import MAX_READINGS, record_reading_columns
from wattgate.graphql.types.readings import NewReadingColumns
from wattgate.names import ReadingQuality

Run = Callable[[Operation, dict[str, Any]], Awaitable[Any]]
"""Runs an operation for the caller whose readings these are."""

Refuse = Callable[[int, str], None]
"""Told the number of each refused line and why."""

BREATH = 500
"""After how many lines others get their turn."""


class BadLine(ValueError):
    """A line that holds no reading; the message says why."""


class Unreadable(BadInput):
    """What is given cannot be read any further; what came before it may be recorded."""


@dataclass(slots=True)
class Report:
    """What became of many lines: lines with something in them, records stored, lines refused."""

    lines: int = 0
    recorded: int = 0
    refused: int = 0


@dataclass(slots=True)
class _Column:
    """Readings of one series, with the line that each stands on."""

    lines: list[int] = field(default_factory=list)
    at: list[datetime] = field(default_factory=list)
    value: list[Decimal] = field(default_factory=list)
    quality: list[ReadingQuality] = field(default_factory=list)


class Bulk:
    """Takes readings line by line and records them in batches; each batch is stored at once.

    While one batch is being stored the next one is gathered, and never more. A reading that cannot be stored is
    refused by line and reason, and the others are stored. A reading that is given again later replaces the first.
    """

    def __init__(self, run: Run, refuse: Refuse) -> None:
        self.report = Report()
        self._run = run
        self._refuse = refuse
        self._columns: dict[tuple[str, str | None], _Column] = {}
        self._waiting = 0
        self._storing: asyncio.Task[None] | None = None

    async def add(
        self,
        line: int,
        resource_id: str,
        field_name: str | None,
        at: datetime,
        value: Decimal,
        quality: ReadingQuality = ReadingQuality.ACTUAL,
    ) -> None:
        """Take the reading of a line."""
        column = self._columns.setdefault((resource_id, field_name), _Column())
        column.lines.append(line)
        column.at.append(at)
        column.value.append(value)
        column.quality.append(quality)
        self._waiting += 1
        self.report.lines += 1
        if self._waiting >= MAX_READINGS:
            await self._send()
        elif self._waiting % BREATH == 0:
            await asyncio.sleep(0)

    def refuse(self, line: int, reason: str) -> None:
        """Refuse a line in which there is no reading."""
        self.report.lines += 1
        self._refused(line, reason)

    async def finish(self) -> Report:
        """Store what still waits."""
        await self._send()
        await self._stored()
        return self.report

    async def _send(self) -> None:
        await self._stored()
        if self._waiting:
            self._storing = asyncio.create_task(self._store(self._columns))
            self._columns, self._waiting = {}, 0
            await asyncio.sleep(0)

    async def _stored(self) -> None:
        storing, self._storing = self._storing, None
        if storing is not None:
            await storing

    async def _store(self, columns: dict[tuple[str, str | None], _Column]) -> None:
        series = [
            NewReadingColumns(
                resource_id=ID(resource_id), field=name, at=column.at, value=column.value, quality=column.quality
            )
            for (resource_id, name), column in columns.items()
        ]
        done = await self._run(record_reading_columns, {"series": series})
        self.report.recorded += done.recorded
        lines = [column.lines for column in columns.values()]
        for one in sorted(done.refused, key=lambda one: lines[one.series][one.index]):
            self._refused(lines[one.series][one.index], one.reason)

    def _refused(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self._refuse(line, reason)


def quality_named(name: str) -> ReadingQuality:
    """The quality of that name, in any case; ACTUAL where it is empty. BadLine where there is none."""
    if not name:
        return ReadingQuality.ACTUAL
    try:
        return ReadingQuality[name.upper()]
    except KeyError:
        known = ", ".join(one.name for one in ReadingQuality)
        raise BadLine(f"{name!r} is not a quality; {known} are") from None
