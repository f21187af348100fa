"""Bulk recording of readings in batches. Memory use does not grow with the number of readings."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np

from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.errors import BadInput, GatewayError, RateLimited
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, SeriesKey, record_reading_arrays
from wattgate.reading_files.cells import InvalidLine
from wattgate.requests.request_limits import check_encoding

T = TypeVar("T")

RunOperation = Callable[[Operation, Mapping[str, Any]], Awaitable[Any]]
"""Runs an operation for the caller that sent the readings."""

ReportRefusal = Callable[[int, str], None]
"""Receives the number of each refused line and the reason."""

BATCH_SIZE = 50_000
"""Number of readings in a batch."""

YIELD_EVERY_LINES = 500
"""Number of lines after which other tasks may run."""


class WorkCharge(Protocol):
    """Charges the sender of an upload."""

    async def add_work(self, size: int, lines: int, refused: int) -> None:
        """Charge `size` bytes and `lines` that are read, and lines that are refused. Raise RateLimited."""

    def mark_recorded(self) -> None:
        """Note that readings are recorded."""


class SenderGone(RateLimited):
    """The budget of the sender does not cover the rest of an upload, and the sender does not wait for it."""


class FreeWork:
    """Charges nothing: the command of an operator."""

    async def add_work(self, size: int, lines: int, refused: int) -> None:
        return

    def mark_recorded(self) -> None:
        return


FREE_WORK = FreeWork()


class UnreadableInput(BadInput):
    """The rest of the input cannot be read. Readings before this point may be recorded."""


@dataclass(slots=True)
class BulkReport:
    """The result of bulk recording: non-empty lines, recorded readings, and refused lines."""

    lines: int = 0
    recorded: int = 0
    refused: int = 0


class BulkRecorder:
    """Record readings, added line by line or in arrays, in batches that are each committed on their own.

    While one batch is stored, the next one is collected, but never more. A reading that cannot be stored is refused
    with its line and the reason; the others are stored. A later reading of the same series and time replaces an earlier
    one. With `max_reasons`, only the first refusals are reported, and further ones are counted.
    """

    def __init__(
        self,
        run: RunOperation,
        report_refusal: ReportRefusal,
        *,
        charge: WorkCharge = FREE_WORK,
        max_reasons: int | None = None,
    ) -> None:
        self.report = BulkReport()
        self._run = run
        self._report_refusal = report_refusal
        self._charge = charge
        self._max_reasons = max_reasons
        self._invalid_lines = 0
        self._buffer = _ReadingBuffer()
        self._storing: asyncio.Task[None] | None = None

    async def add(self, line: int, series: SeriesKey, at: int, value: float, quality: int = 0) -> None:
        """Add the reading of a line: time in ms since 1970, value, and quality code."""
        self._buffer.add(line, series, at, value, quality)
        self.report.lines += 1
        if len(self._buffer.lines) >= BATCH_SIZE:
            await self._flush()

    async def add_columns(
        self, first_line: int, series: Sequence[SeriesKey], at: IntArray, value: FloatArray, quality: IntArray
    ) -> None:
        """Add the readings of successive lines, as `add` does for each."""
        start = 0
        while start < len(series):
            end = min(len(series), start + BATCH_SIZE - len(self._buffer.lines))
            lines, columns = range(first_line + start, first_line + end), (at[start:end], value[start:end])
            self._buffer.extend(lines, series[start:end], *columns, quality[start:end])
            self.report.lines += end - start
            if len(self._buffer.lines) >= BATCH_SIZE:
                await self._flush()
            start = end
        await asyncio.sleep(0)

    async def add_arrays(self, lines: IntArray, batch: BulkReadingBatch) -> None:
        """Add the readings of many lines, after all earlier ones."""
        await self._flush()
        self.report.lines += len(lines)
        await self._start_storing(lines.tolist(), batch)

    def refuse_line(self, line: int, reason: str) -> None:
        """Refuse a line without a valid reading."""
        self.report.lines += 1
        self._invalid_lines += 1
        self._count_refusal(line, reason)

    def refuse_lines(self, count: int) -> None:
        """Refuse further lines, without reasons."""
        self.report.lines += count
        self.report.refused += count
        self._invalid_lines += count

    @property
    def open_reasons(self) -> int | None:
        """The number of further refusals that are reported. None means all."""
        return None if self._max_reasons is None else max(0, self._max_reasons - self.report.refused)

    async def charge_read(self, size: int = 0, lines: int = 0) -> None:
        """Charge bytes and lines before they are parsed, and the lines refused before. Other tasks run meanwhile."""
        invalid, self._invalid_lines = self._invalid_lines, 0
        await self._charge.add_work(size, lines, invalid)
        await asyncio.sleep(0)

    async def finish(self) -> BulkReport:
        """Store the buffered readings, charge the refused lines, and return the report."""
        await self._flush()
        await self._wait_until_stored()
        await self.charge_read()
        return self.report

    async def abandon(self) -> None:
        """Drop the buffered readings, and wait for the batch that is being stored."""
        self._buffer = _ReadingBuffer()
        with suppress(GatewayError):
            await self._wait_until_stored()

    async def _flush(self) -> None:
        if self._buffer.lines:
            buffer, self._buffer = self._buffer, _ReadingBuffer()
            await self._start_storing(buffer.lines, buffer.arrays())

    async def _start_storing(self, lines: list[int], batch: BulkReadingBatch) -> None:
        """Start to store a batch after the one before is stored."""
        await self._wait_until_stored()
        self._storing = asyncio.create_task(self._store_batch(lines, batch))
        await asyncio.sleep(0)

    async def _wait_until_stored(self) -> None:
        storing, self._storing = self._storing, None
        if storing is not None:
            await storing

    async def _store_batch(self, lines: list[int], batch: BulkReadingBatch) -> None:
        result = await self._run(record_reading_arrays, {"batch": replace(batch, max_reasons=self.open_reasons)})
        self.report.recorded += result.recorded
        if result.recorded:
            self._charge.mark_recorded()
        for index, reason in sorted(result.refused):
            self._count_refusal(lines[index], reason)
        self.report.refused += result.more_refused

    def _count_refusal(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self._report_refusal(line, reason)


class _ReadingBuffer:
    """Buffered readings in columns, with the line number of each."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._series_numbers: dict[SeriesKey, int] = {}
        self._series_index: list[int] = []
        self._columns: list[tuple[IntArray, FloatArray, IntArray]] = []
        self._rows: list[tuple[int, float, int]] = []

    def add(self, line: int, series: SeriesKey, at: int, value: float, quality: int) -> None:
        self.lines.append(line)
        self._series_index.append(self._series_numbers.setdefault(series, len(self._series_numbers)))
        self._rows.append((at, value, quality))

    def extend(
        self, lines: range, series: Sequence[SeriesKey], at: IntArray, value: FloatArray, quality: IntArray
    ) -> None:
        self._end_rows()
        self.lines.extend(lines)
        for key in dict.fromkeys(series):
            self._series_numbers.setdefault(key, len(self._series_numbers))
        self._series_index.extend(map(self._series_numbers.__getitem__, series))
        self._columns.append((at, value, quality))

    def arrays(self) -> BulkReadingBatch:
        self._end_rows()
        at, value, quality = map(np.concatenate, zip(*self._columns, strict=True))
        series_index = np.array(self._series_index, np.int64)
        return BulkReadingBatch(list(self._series_numbers), series_index, at, value, quality)

    def _end_rows(self) -> None:
        """Turn the readings that were added one by one into columns."""
        if self._rows:
            at, value, quality = zip(*self._rows, strict=True)
            self._rows = []
            self._columns.append((np.array(at, np.int64), np.array(value, np.float64), np.array(quality, np.int64)))


def decode_line(decoder: msgspec.json.Decoder[T], text: bytes | str) -> T:
    """Decode a line of JSON. Raise InvalidLine if the decoder rejects it, or if it is not UTF-8."""
    try:
        if isinstance(text, bytes):
            check_encoding(text)
        return decoder.decode(text)
    except UnicodeDecodeError:
        raise InvalidLine("is not UTF-8") from None
    except RecursionError:
        raise InvalidLine("is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise InvalidLine(str(error)) from None
    except msgspec.DecodeError as error:
        raise InvalidLine(f"is not JSON: {error}") from None
