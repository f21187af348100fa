"""Bulk upload of readings: record an NDJSON body or an Arrow stream of any length while it arrives.

Each line or row is accepted or refused on its own; line numbers start at 1. Accepted readings are stored in batches of
50,000. If the body ends early or becomes unreadable, the readings before that point stay recorded and the response
reports their number. An upload whose client has gone does not wait for its budget: it ends, and the log has the number.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from starlette.requests import ClientDisconnect

from wattgate.clock import to_ms
from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.energy.plain_columns import parse_instants
from wattgate.errors import MAX_LISTED_PROBLEMS, Problem, RateLimited
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.readings.bulk_recorder import (
    FREE_WORK,
    YIELD_EVERY_LINES,
    BulkRecorder,
    BulkReport,
    RunOperation,
    SenderGone,
    UnreadableInput,
    WorkCharge,
    decode_line,
)
from wattgate.operations.readings.bulk_recording import SeriesKey
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.reading_files.cells import InvalidLine, parse_number, parse_quality
from wattgate.requests.request_limits import check_encoding
from wattgate.rest_compat import arrow

log = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
MAX_LINE_BYTES = 64 * 1024
"""Maximum length of an NDJSON line; a longer line is refused."""

MAX_REASON_CHARACTERS = 300
"""Maximum characters of the reason of a refusal, which may repeat a text of the line."""

NEWLINE = ord("\n")

LineText = Annotated[str, Meta(max_length=MAX_ID_CHARACTERS)]

ByteChunks = AsyncIterator[bytes]
BodyReader = Callable[[ByteChunks, BulkRecorder], Awaitable[None]]
"""Read a body and add each reading to the recorder. Raise UnreadableInput if the rest of the body cannot be read."""


class NdjsonReading(msgspec.Struct, rename="camel", gc=False):
    """A line of NDJSON: one reading, whose time is not parsed yet. Unknown members are ignored."""

    resource_id: LineText
    at: str
    value: float | str
    field: LineText | None = None
    quality: str = ""


_DECODER = msgspec.json.Decoder(NdjsonReading)

_Instant = Annotated[datetime, Meta(tz=True)]


async def read_ndjson(chunks: ByteChunks, bulk: BulkRecorder) -> None:
    """Read newline-delimited JSON with one reading on each line. Blank lines are ignored but counted."""
    number = 0
    async for block, count in _split_blocks(chunks, bulk):
        columns = _parse_plain_lines(block, count)
        if columns is None:
            await _add_lines(bulk, number + 1, block.split(b"\n"))
        else:
            await bulk.add_columns(number + 1, *columns)
        number += count


async def _add_lines(bulk: BulkRecorder, first: int, texts: Sequence[bytes]) -> None:
    """Add lines one by one. Other tasks may run after each YIELD_EVERY_LINES of them that are not empty."""
    read = 0
    for number, text in enumerate(texts, first):
        if text and not text.isspace():
            await _add_line(bulk, number, text)
            read += 1
            if read % YIELD_EVERY_LINES == 0:
                await bulk.charge_read()


async def _add_line(bulk: BulkRecorder, number: int, text: bytes) -> None:
    try:
        line = _parse_line(text)
        at = _parse_instant(line.at)
        value = line.value if isinstance(line.value, float) else parse_number(line.value)
        quality = parse_quality(line.quality)
    except InvalidLine as bad:
        bulk.refuse_line(number, str(bad))
    else:
        await bulk.add(number, (line.resource_id, line.field), at, value, quality)


async def read_arrow(chunks: ByteChunks, bulk: BulkRecorder) -> None:
    """Read an Apache Arrow IPC stream with one reading in each row."""
    async for rows, rejected_rows, more_rejected in arrow.read_arrays(_charged(chunks, bulk), bulk.charge_read):
        for line, reason in rejected_rows:
            bulk.refuse_line(line, reason)
        bulk.refuse_lines(more_rejected)
        await bulk.add_arrays(*rows)


async def _charged(chunks: ByteChunks, bulk: BulkRecorder) -> ByteChunks:
    """Yield the chunks, each after it is charged."""
    async for chunk in chunks:
        await bulk.charge_read(len(chunk))
        yield chunk


BODY_READERS: Mapping[str, BodyReader] = MappingProxyType({NDJSON: read_ndjson, ARROW: read_arrow})
"""The body readers by media type."""


async def record_stream(
    read_body: BodyReader, chunks: ByteChunks, run: RunOperation, charge: WorkCharge = FREE_WORK
) -> dict[str, Any]:
    """Record the readings of a body and return the response body.

    `run` charges each batch, and `charge` the read bytes and lines. The response counts the recorded and refused
    readings and lists the first refusals. Raise UnreadableInput if the body becomes unreadable; the readings before
    that point are recorded.
    """
    listed_problems: list[Problem] = []

    def refuse(line: int, reason: str) -> None:
        if len(listed_problems) < MAX_LISTED_PROBLEMS:
            listed_problems.append(Problem((line,), reason[:MAX_REASON_CHARACTERS]))

    bulk = BulkRecorder(run, refuse, charge=charge, max_reasons=MAX_LISTED_PROBLEMS)
    try:
        report = await _record_body(read_body, chunks, bulk)
    except UnreadableInput as error:
        report = await bulk.finish()
        message = f"{error.message}; {report.recorded:,} readings before this point are recorded"
        raise UnreadableInput(message, problems=listed_problems) from None
    except RateLimited as error:
        await bulk.abandon()
        if isinstance(error, SenderGone):
            log.info(
                "The client has gone while its upload waited for its budget; %d readings before that are recorded",
                bulk.report.recorded,
            )
        message = f"{error.message} {bulk.report.recorded:,} readings before this point are recorded."
        raise RateLimited(message, retry_after=error.retry_after, problems=listed_problems) from None
    body: dict[str, Any] = {"status": "OK", "recorded": report.recorded, "refused": report.refused}
    if listed_problems:
        body["problems"] = [{"line": problem.path[0], "message": problem.message} for problem in listed_problems]
    if report.refused > MAX_LISTED_PROBLEMS:
        body["moreProblems"] = report.refused - MAX_LISTED_PROBLEMS
    return body


async def _record_body(read_body: BodyReader, chunks: ByteChunks, bulk: BulkRecorder) -> BulkReport:
    """Record a body up to its end, or up to the point at which the client disconnects."""
    try:
        await read_body(chunks, bulk)
    except ClientDisconnect:
        log.info("The client disconnected during a bulk upload; the readings received so far are recorded")
    return await bulk.finish()


def _parse_line(text: bytes) -> NdjsonReading:
    if len(text) > MAX_LINE_BYTES:
        raise InvalidLine(f"is longer than {MAX_LINE_BYTES:,} bytes")
    return decode_line(_DECODER, text)


def _parse_instant(text: str) -> int:
    """Return an instant in ms since 1970. Raise InvalidLine if the text is none, or has no UTC offset."""
    try:
        return to_ms(msgspec.convert(text, _Instant))
    except msgspec.ValidationError as error:
        raise InvalidLine(f"{error} - at `$.at`") from None


def _parse_plain_lines(text: bytes, count: int) -> tuple[list[SeriesKey], IntArray, FloatArray, IntArray] | None:
    """Return the series, times, values and qualities of `count` lines whose form is the usual one.

    Return None if a line has another form or is invalid: each has to be parsed on its own. Each newline is between
    two objects, which JSON allows only between two readings. With as many readings as lines, each line is one.
    """
    is_plain = text.startswith(b"{") and text.endswith(b"}") and text.count(b"}\n{") + 1 == count
    if not (is_plain and _has_short_lines(text)):
        return None
    try:
        check_encoding(text)
        readings = _DECODER.decode_lines(text)
        codes = {name: parse_quality(name) for name in {reading.quality for reading in readings}}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidLine):
        return None
    values = [reading.value for reading in readings]
    if len(readings) != count or set(map(type, values)) != {float}:
        return None
    at = parse_instants([reading.at for reading in readings])
    if at is None:
        return None
    series = [(reading.resource_id, reading.field) for reading in readings]
    if len(codes) == 1:
        quality = np.full(count, codes[readings[0].quality], np.int64)
    else:
        quality = np.array([codes[reading.quality] for reading in readings], np.int64)
    return series, at, np.array(values, np.float64), quality


def _has_short_lines(text: bytes) -> bool:
    """Return whether each line has at most MAX_LINE_BYTES bytes."""
    if len(text) <= MAX_LINE_BYTES:
        return True
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE)
    return bool(np.diff(newlines, prepend=-1, append=len(text)).max() <= MAX_LINE_BYTES + 1)


async def _split_blocks(chunks: ByteChunks, bulk: BulkRecorder) -> AsyncIterator[tuple[bytes, int]]:
    """Yield the lines of a body, those that end in a chunk together, without the newline of the last one.

    Also yield their number. The bytes and lines of a chunk are charged first, in one call, because each lets the event
    loop run. At most MAX_LINE_BYTES + 1 bytes of an unfinished line are buffered: enough to detect
    that it is too long.
    """
    unfinished = b""
    async for chunk in chunks:
        count = chunk.count(b"\n")
        await bulk.charge_read(len(chunk), count)
        lines, _, tail = chunk.rpartition(b"\n")
        if count:
            yield unfinished + lines, count
            unfinished = b""
        unfinished = (unfinished + tail)[: MAX_LINE_BYTES + 1]
    if unfinished:
        await bulk.charge_read(lines=1)
        yield unfinished, 1
