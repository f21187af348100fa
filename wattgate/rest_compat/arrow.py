"""Readings as Apache Arrow IPC streams, out and in; columns have the same names both ways.

https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from wattgate.clock import from_ms
from wattgate.db.storage import fields_of
from wattgate.graphql.bulk import BadLine, Unreadable, quality_named
from wattgate.graphql.resolvers.raw_readings import RawReadings
from wattgate.names import ReadingQuality
from wattgate.rest_compat.arrow_frames import END_OF_STREAM, record_batches
from wattgate.rest_compat.exchange import Again, Answer

INSTANT = pa.timestamp("ms", tz="UTC")
SCHEMA = pa.schema(
    [
        pa.field("timestamp", INSTANT, nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
        pa.field("quality", pa.string(), nullable=False),
    ]
)
"""What is answered: instants, the nearest double of each value, the storage field, the name of the quality."""

SLICE = 10_000
"""How many rows of a batch are turned into Python's values at once."""

Row = tuple[str, str | None, datetime, Decimal, ReadingQuality]
"""What a row of a stream says: resource, field, instant, value and quality."""


async def stream(answer: Answer, again: Again) -> AsyncIterator[bytes]:
    """The readings of the one field that the query names, or of all fields one after another.

    One page at a time is held; a stream that breaks off has no end marker, which readers tell as an error.
    """
    page: RawReadings = answer.result
    named = "field" in answer.exchange.query
    further = [] if named else [field.name for field in fields_of(page.resource.storage)[1:]]
    yield SCHEMA.serialize().to_pybytes()
    while True:
        if page.stored:
            yield _batch(page)
        if page.next is not None:
            page = await again(field=page.field, start=page.next)
        elif further:
            page = await again(field=further.pop(0))
        else:
            break
    yield END_OF_STREAM


def _batch(page: RawReadings) -> bytes:
    columns = [
        pa.array([one.at for one in page.stored], pa.int64()).cast(INSTANT),
        pa.array(page.value, pa.float64()),
        pa.repeat(page.field, len(page.stored)),
        pa.array(page.quality, pa.string()),
    ]
    return bytes(pa.record_batch(columns, schema=SCHEMA).serialize())


async def rows_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[Iterator[Row | BadLine]]:
    """The rows of a stream, some at a time: those that hold no reading as what is wrong with them.

    Columns: resourceId (text), timestamp (with a time zone), value (double, decimal or integer), and, where they are
    not the resource's first field and ACTUAL, field and quality (texts). Texts may be dictionary-encoded.
    """
    async for batch in record_batches(chunks):
        for start in range(0, batch.num_rows, SLICE):
            yield _rows(batch.slice(start, SLICE))


def _rows(batch: pa.RecordBatch) -> Iterator[Row | BadLine]:
    columns = [_column(batch, name) for name in _READS]
    for resource_id, at, value, field, quality in zip(*columns, strict=True):
        if resource_id is None or at is None or value is None:
            yield BadLine("has no resourceId, timestamp or value")
            continue
        try:
            yield resource_id, field, from_ms(at), value, quality_named(quality or "")
        except BadLine as bad:
            yield bad
        except OverflowError:
            yield BadLine("has a timestamp that no calendar reaches")


def _column(batch: pa.RecordBatch, name: str) -> list[Any]:
    """A column's values as Python's, by how it is read."""
    required, taken, read = _READS[name]
    places = batch.schema.get_all_field_indices(name)
    if not places and not required:
        return [None] * batch.num_rows
    if len(places) != 1:
        raise Unreadable(f"the stream has no column {name}" if not places else f"the stream has two columns {name}")
    column = batch.column(places[0])
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not taken(column.type):
        raise Unreadable(f"the column {name} is of type {column.type}")
    return read(column)


def _texts(column: pa.Array) -> list[Any]:
    return list(column.cast(pa.string()).to_pylist())


def _instants(column: pa.Array) -> list[Any]:
    return list(column.cast(INSTANT, safe=False).cast(pa.int64()).to_pylist())


def _values(column: pa.Array) -> list[Any]:
    return [None if value is None else Decimal(str(value)) for value in column.to_pylist()]


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_instant(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is not None)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_float64(type_) or pa.types.is_decimal(type_) or pa.types.is_integer(type_))


_READS: Mapping[str, tuple[bool, Callable[[pa.DataType], bool], Callable[[pa.Array], list[Any]]]] = MappingProxyType(
    {
        "resourceId": (True, _is_text, _texts),
        "timestamp": (True, _is_instant, _instants),
        "value": (True, _is_number, _values),
        "field": (False, _is_text, _texts),
        "quality": (False, _is_text, _texts),
    }
)
"""Each column: whether it has to be there, of which types it may be, and how it is read."""
