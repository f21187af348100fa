"""Any number of readings into the gateway, a batch at a time: memory does not grow with their number."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import msgspec
import numpy as np

from wattgate.energy.arrays import IntArray
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.resolvers.bulk_recording import BulkReadingBatch, SeriesKey, record_reading_arrays

T = TypeVar("T")

RunOperation = Callable[[Operation, dict[str, Any]], Awaitable[Any]]
"""Runs an operation for the caller whose readings these are."""

ReportRefusal = Callable[[int, str], None]
"""Told the number of each refused line and why."""

BATCH_SIZE = 50_000
"""How many readings are stored at once."""

YIELD_EVERY_LINES = 500
"""After how many lines others get their turn."""

MAX_EXACT_CHARACTERS = 15
"""A number of so many characters is told exactly by a double."""


class InvalidLine(ValueError):
    """A line that holds no reading; the message says why."""


class UnreadableInput(BadInput):
    """What is given cannot be read any further; what came before it may be recorded."""


@dataclass(slots=True)
class BulkReport:
    """What became of many lines: lines with something in them, records stored, lines refused."""

    lines: int = 0
    recorded: int = 0
    refused: int = 0


class BulkRecorder:
    """Takes readings line by line or in arrays, and records them in batches; each batch is stored at once.

    While one batch is being stored the next one is gathered, and never more. A reading that cannot be stored is
    refused by line and reason, and the others are stored. A reading that is given again later replaces the first.
    """

    def __init__(self, run: RunOperation, report_refusal: ReportRefusal) -> None:
        self.report = BulkReport()
        self._run = run
        self._report_refusal = report_refusal
        self._buffer = _ReadingBuffer()
        self._storing: asyncio.Task[None] | None = None

    async def add(self, line: int, series: SeriesKey, at: int, value: float, quality: int = 0) -> None:
        """Take the reading of a line: its instant in ms since 1970, its value, and the code of its quality."""
        self._buffer.add(line, series, at, value, quality)
        self.report.lines += 1
        buffered = len(self._buffer.lines)
        if buffered >= BATCH_SIZE:
            await self._flush()
        elif buffered % YIELD_EVERY_LINES == 0:
            await asyncio.sleep(0)

    async def add_arrays(self, lines: IntArray, batch: BulkReadingBatch) -> None:
        """Take the readings of many lines, in order after those before."""
        await self._flush()
        self.report.lines += len(lines)
        await self._start_storing(lines.tolist(), batch)

    def refuse_line(self, line: int, reason: str) -> None:
        """Refuse a line in which there is no reading."""
        self.report.lines += 1
        self._count_refusal(line, reason)

    async def finish(self) -> BulkReport:
        """Store what still waits."""
        await self._flush()
        await self._wait_until_stored()
        return self.report

    async def _flush(self) -> None:
        if self._buffer.lines:
            buffer, self._buffer = self._buffer, _ReadingBuffer()
            await self._start_storing(buffer.lines, buffer.arrays())

    async def _start_storing(self, lines: list[int], batch: BulkReadingBatch) -> None:
        """Begin to store a batch, once the one before is stored."""
        await self._wait_until_stored()
        self._storing = asyncio.create_task(self._store_batch(lines, batch))
        await asyncio.sleep(0)

    async def _wait_until_stored(self) -> None:
        storing, self._storing = self._storing, None
        if storing is not None:
            await storing

    async def _store_batch(self, lines: list[int], batch: BulkReadingBatch) -> None:
        result = await self._run(record_reading_arrays, {"batch": batch})
        self.report.recorded += result.recorded
        for index, reason in sorted(result.refused):
            self._count_refusal(lines[index], reason)

    def _count_refusal(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self._report_refusal(line, reason)


class _ReadingBuffer:
    """Readings that wait to be stored, in columns, with the line that each stands on."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._series_numbers: dict[SeriesKey, int] = {}
        self._series_index: list[int] = []
        self._at: list[int] = []
        self._value: list[float] = []
        self._quality: list[int] = []

    def add(self, line: int, series: SeriesKey, at: int, value: float, quality: int) -> None:
        self.lines.append(line)
        self._series_index.append(self._series_numbers.setdefault(series, len(self._series_numbers)))
        self._at.append(at)
        self._value.append(value)
        self._quality.append(quality)

    def arrays(self) -> BulkReadingBatch:
        series_index, at, quality = (
            np.array(column, np.int64) for column in (self._series_index, self._at, self._quality)
        )
        return BulkReadingBatch(
            list(self._series_numbers), series_index, at, np.array(self._value, np.float64), quality
        )


def decode_line(decoder: msgspec.json.Decoder[T], text: bytes | str) -> T:
    """What a line of JSON says. BadLine where it says nothing that the decoder takes."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise InvalidLine(str(error)) from None
    except msgspec.DecodeError as error:
        raise InvalidLine(f"is not JSON: {error}") from None


def parse_number(text: str) -> float:
    """The number that a text holds. BadLine where it holds none, or one that a double tells apart from none near it."""
    try:
        value = float(text)
        exact = len(text) <= MAX_EXACT_CHARACTERS or Decimal(repr(value)) == Decimal(text)
    except (ValueError, InvalidOperation):
        raise InvalidLine(f"{text!r} is not a number") from None
    if "_" in text or not text.isascii():  # which Python would take
        raise InvalidLine(f"{text!r} is not a number")
    if not exact and math.isfinite(value):
        raise InvalidLine(f"{text} has more digits than can be kept")
    return value


def parse_quality(name: str) -> int:
    """The code of the quality of that name, in any case; of ACTUAL where it is empty. BadLine where there is none."""
    if not name:
        return 0
    try:
        return QUALITY_CODES[ReadingQuality[name.upper()]]
    except KeyError:
        names = ", ".join(quality.name for quality in ReadingQuality)
        raise InvalidLine(f"{name!r} is not a quality; {names} are") from None
