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
from wattgate.errors import MAX_TOLD, Problem
from wattgate.graphql.resolvers.raw_readings import ARROW
from wattgate.graphql.transport.bulk import BadLine, Bulk, Run, Unreadable, decoded, number_of, quality_code
from wattgate.rest_compat.arrow import readings

log = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
MAX_LINE = 64 * 1024
"""Bytes of the longest line that is read; a longer one is refused."""

Chunks = AsyncIterator[bytes]
Take = Callable[[Chunks, Bulk], Awaitable[None]]
"""Reads a body and adds each reading to a bulk. BadInput where it cannot be read any further."""


class Line(msgspec.Struct, rename="camel"):
    """A line of NDJSON: one reading. Members that it does not have are passed over."""

    resource_id: str
    at: Annotated[datetime, Meta(tz=True)]
    value: float | str
    field: str | None = None
    quality: str = ""


_DECODER = msgspec.json.Decoder(Line)


async def take_lines(chunks: Chunks, bulk: Bulk) -> None:
    """Newline-delimited JSON: a reading a line."""
    number = 0
    async for text in _lines(chunks):
        number += 1
        if not text.strip():
            continue
        try:
            line = _line(text)
            value = line.value if isinstance(line.value, float) else number_of(line.value)
            quality = quality_code(line.quality)
        except BadLine as bad:
            bulk.refuse(number, str(bad))
        else:
            await bulk.add(number, (line.resource_id, line.field), to_ms(line.at), value, quality)


async def take_batches(chunks: Chunks, bulk: Bulk) -> None:
    """An Apache Arrow IPC stream: a reading a row."""
    async for taken, refused in readings.arrays_of(chunks):
        for line, reason in refused:
            bulk.refuse(line, reason)
        await bulk.add_arrays(*taken)


TAKES: Mapping[str, Take] = MappingProxyType({NDJSON: take_lines, ARROW: take_batches})
"""How bodies are read, by their media type."""


async def record_stream(take: Take, chunks: Chunks, run: Run) -> dict[str, Any]:
    """Record what a body holds: how many readings were recorded and refused, and the first refusals."""
    refused: list[Problem] = []

    def refuse(line: int, reason: str) -> None:
        if len(refused) < MAX_TOLD:
            refused.append(Problem((line,), reason))

    bulk = Bulk(run, refuse)
    try:
        await take(chunks, bulk)
    except Unreadable as error:
        report = await bulk.finish()
        message = f"{error.message}; of what came before it {report.recorded:,} readings are recorded"
        raise Unreadable(message, problems=refused) from None
    except ClientDisconnect:
        log.info("a client left before its readings were all here; those that were are recorded")
    report = await bulk.finish()
    told: dict[str, Any] = {"status": "OK", "recorded": report.recorded, "refused": report.refused}
    if refused:
        told["problems"] = [{"line": problem.path[0], "message": problem.message} for problem in refused]
    if report.refused > MAX_TOLD:
        told["moreProblems"] = report.refused - MAX_TOLD
    return told


def _line(text: bytes) -> Line:
    if len(text) > MAX_LINE:
        raise BadLine(f"is longer than {MAX_LINE:,} bytes")
    return decoded(_DECODER, text)


async def _lines(chunks: Chunks) -> AsyncIterator[bytes]:
    """The lines of a body without their ends; of one that is too long only so much that it can be told."""
    rest = b""
    async for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        for line in whole:
            yield rest + line
            rest = b""
        rest = (rest + tail)[: MAX_LINE + 1]
    if rest:
        yield rest
