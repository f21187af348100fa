"""Any number of readings in one request body, NDJSON or an Arrow stream, recorded while it arrives.

Each line or row is taken or refused by its number, from 1; what is taken is stored in batches of 50,000. A body that
breaks off or cannot be read any further leaves the batches before as they are, and the answer says how far it came.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import ClientDisconnect

from wattgate.clock import to_ms
from wattgate.errors import MAX_LISTED_PROBLEMS, Problem
from wattgate.graphql.resolvers.raw_readings import ARROW
from wattgate.graphql.transport.bulk_recorder import (
    BulkRecorder,
    InvalidLine,
    RunOperation,
    UnreadableInput,
    decode_line,
    parse_number,
    parse_quality,
)
from wattgate.rest_compat.arrow import readings

log = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
MAX_LINE_BYTES = 64 * 1024
"""Bytes of the longest line that is read; a longer one is refused."""

ByteChunks = AsyncIterator[bytes]
BodyReader = Callable[[ByteChunks, BulkRecorder], Awaitable[None]]
"""Reads a body and adds each reading to a bulk. BadInput where it cannot be read any further."""


class NdjsonReading(msgspec.Struct, rename="camel"):
    """A line of NDJSON: one reading. Members that it does not have are passed over."""

    resource_id: str
    at: Annotated[datetime, Meta(tz=True)]
    value: float | str
    field: str | None = None
    quality: str = ""


_DECODER = msgspec.json.Decoder(NdjsonReading)


async def read_ndjson(chunks: ByteChunks, bulk: BulkRecorder) -> None:
    """Newline-delimited JSON: a reading a line."""
    number = 0
    async for text in _split_lines(chunks):
        number += 1
        if not text.strip():
            continue
        try:
            line = _parse_line(text)
            value = line.value if isinstance(line.value, float) else parse_number(line.value)
            quality = parse_quality(line.quality)
        except InvalidLine as bad:
            bulk.refuse_line(number, str(bad))
        else:
            await bulk.add(number, (line.resource_id, line.field), to_ms(line.at), value, quality)


async def read_arrow(chunks: ByteChunks, bulk: BulkRecorder) -> None:
    """An Apache Arrow IPC stream: a reading a row."""
    async for rows, rejected_rows in readings.read_arrays(chunks):
        for line, reason in rejected_rows:
            bulk.refuse_line(line, reason)
        await bulk.add_arrays(*rows)


BODY_READERS: Mapping[str, BodyReader] = MappingProxyType({NDJSON: read_ndjson, ARROW: read_arrow})
"""How bodies are read, by their media type."""


async def record_stream(read_body: BodyReader, chunks: ByteChunks, run: RunOperation) -> dict[str, Any]:
    """Record what a body holds: how many readings were recorded and refused, and the first refusals."""
    listed_problems: list[Problem] = []

    def refuse(line: int, reason: str) -> None:
        if len(listed_problems) < MAX_LISTED_PROBLEMS:
            listed_problems.append(Problem((line,), reason))

    bulk = BulkRecorder(run, refuse)
    try:
        await read_body(chunks, bulk)
    except UnreadableInput as error:
        report = await bulk.finish()
        message = f"{error.message}; of what came before it {report.recorded:,} readings are recorded"
        raise UnreadableInput(message, problems=listed_problems) from None
    except ClientDisconnect:
        log.info("a client left before its readings were all here; those that were are recorded")
    report = await bulk.finish()
    body: dict[str, Any] = {"status": "OK", "recorded": report.recorded, "refused": report.refused}
    if listed_problems:
        body["problems"] = [{"line": problem.path[0], "message": problem.message} for problem in listed_problems]
    if report.refused > MAX_LISTED_PROBLEMS:
        body["moreProblems"] = report.refused - MAX_LISTED_PROBLEMS
    return body


def _parse_line(text: bytes) -> NdjsonReading:
    if len(text) > MAX_LINE_BYTES:
        raise InvalidLine(f"is longer than {MAX_LINE_BYTES:,} bytes")
    return decode_line(_DECODER, text)


async def _split_lines(chunks: ByteChunks) -> AsyncIterator[bytes]:
    """The lines of a body without their ends; of one that is too long only so much that it can be told."""
    unfinished = b""
    async for chunk in chunks:
        *lines, tail = chunk.split(b"\n")
        for line in lines:
            yield unfinished + line
            unfinished = b""
        unfinished = (unfinished + tail)[: MAX_LINE_BYTES + 1]
    if unfinished:
        yield unfinished
