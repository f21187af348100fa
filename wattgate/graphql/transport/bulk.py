"""Any number of readings into the gateway, a batch at a time: memory does not grow with their number."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import msgspec
import numpy as np

from wattgate.energy.arrays import Integers
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.resolvers.bulk_recording import ReadingArrays, Series, record_reading_arrays

T = TypeVar("T")

Run = Callable[[Operation, dict[str, Any]], Awaitable[Any]]
"""Runs an operation for the caller whose readings these are."""

Refuse = Callable[[int, str], None]
"""Told the number of each refused line and why."""

BATCH = 50_000
"""How many readings are stored at once."""

BREATH = 500
"""After how many lines others get their turn."""

EXACT_DIGITS = 15
"""A number of so many characters is told exactly by a double."""


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


class Bulk:
    """Takes readings line by line or in arrays, and records them in batches; each batch is stored at once.

    While one batch is being stored the next one is gathered, and never more. A reading that cannot be stored is
    refused by line and reason, and the others are stored. A reading that is given again later replaces the first.
    """

    def __init__(self, run: Run, refuse: Refuse) -> None:
        self.report = Report()
        self._run = run
        self._refuse = refuse
        self._gathered = _Gathered()
        self._storing: asyncio.Task[None] | None = None

    async def add(self, line: int, series: Series, at: int, value: float, quality: int = 0) -> None:
        """Take the reading of a line: its instant in ms since 1970, its value, and the code of its quality."""
        self._gathered.add(line, series, at, value, quality)
        self.report.lines += 1
        waiting = len(self._gathered.lines)
        if waiting >= BATCH:
            await self._send()
        elif waiting % BREATH == 0:
            await asyncio.sleep(0)

    async def add_arrays(self, lines: Integers, batch: ReadingArrays) -> None:
        """Take the readings of many lines, in order after those before."""
        await self._send()
        self.report.lines += len(lines)
        await self._start(lines.tolist(), batch)

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
        if self._gathered.lines:
            gathered, self._gathered = self._gathered, _Gathered()
            await self._start(gathered.lines, gathered.arrays())

    async def _start(self, lines: list[int], batch: ReadingArrays) -> None:
        """Begin to store a batch, once the one before is stored."""
        await self._stored()
        self._storing = asyncio.create_task(self._store(lines, batch))
        await asyncio.sleep(0)

    async def _stored(self) -> None:
        storing, self._storing = self._storing, None
        if storing is not None:
            await storing

    async def _store(self, lines: list[int], batch: ReadingArrays) -> None:
        done = await self._run(record_reading_arrays, {"batch": batch})
        self.report.recorded += done.recorded
        for index, reason in sorted(done.refused):
            self._refused(lines[index], reason)

    def _refused(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self._refuse(line, reason)


class _Gathered:
    """Readings that wait to be stored, in columns, with the line that each stands on."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._places: dict[Series, int] = {}
        self._place: list[int] = []
        self._at: list[int] = []
        self._value: list[float] = []
        self._quality: list[int] = []

    def add(self, line: int, series: Series, at: int, value: float, quality: int) -> None:
        self.lines.append(line)
        self._place.append(self._places.setdefault(series, len(self._places)))
        self._at.append(at)
        self._value.append(value)
        self._quality.append(quality)

    def arrays(self) -> ReadingArrays:
        place, at, quality = (np.array(column, np.int64) for column in (self._place, self._at, self._quality))
        return ReadingArrays(list(self._places), place, at, np.array(self._value, np.float64), quality)


def decoded(decoder: msgspec.json.Decoder[T], text: bytes | str) -> T:
    """What a line of JSON says. BadLine where it says nothing that the decoder takes."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise BadLine(str(error)) from None
    except msgspec.DecodeError as error:
        raise BadLine(f"is not JSON: {error}") from None


def number_of(text: str) -> float:
    """The number that a text holds. BadLine where it holds none, or one that a double tells apart from none near it."""
    try:
        value = float(text)
        exact = len(text) <= EXACT_DIGITS or Decimal(repr(value)) == Decimal(text)
    except (ValueError, InvalidOperation):
        raise BadLine(f"{text!r} is not a number") from None
    if "_" in text or not text.isascii():  # which Python would take
        raise BadLine(f"{text!r} is not a number")
    if not exact and math.isfinite(value):
        raise BadLine(f"{text} has more digits than can be kept")
    return value


def quality_code(name: str) -> int:
    """The code of the quality of that name, in any case; of ACTUAL where it is empty. BadLine where there is none."""
    if not name:
        return 0
    try:
        return QUALITY_CODES[ReadingQuality[name.upper()]]
    except KeyError:
        known = ", ".join(one.name for one in ReadingQuality)
        raise BadLine(f"{name!r} is not a quality; {known} are") from None
