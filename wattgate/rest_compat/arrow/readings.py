"""Readings as Apache Arrow IPC streams, out and in; columns have the same names both ways.

https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wattgate.energy.arrays import Integers
from wattgate.energy.storage_fields import fields_of
from wattgate.graphql.resolvers.bulk_recording import ReadingArrays
from wattgate.graphql.resolvers.raw_readings import RawReadings
from wattgate.graphql.transport.bulk import BATCH, BadLine, Unreadable, quality_code
from wattgate.rest_compat.arrow.frames import END_OF_STREAM, record_batches
from wattgate.rest_compat.legacy_request import Again, Answer

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

Refusals = list[tuple[int, str]]
"""Lines that hold no reading, and why."""


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


async def arrays_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[tuple[Integers, ReadingArrays], Refusals]]:
    """The rows of a stream, some at a time: their numbers with what they hold, and those that hold no reading.

    Columns: resourceId (text), timestamp (with a time zone), value (double, decimal or integer), and, where they are
    not the resource's first field and ACTUAL, field and quality (texts). Texts may be dictionary-encoded.
    """
    first = 1
    async for batch in record_batches(chunks):
        for start in range(0, batch.num_rows, BATCH):
            try:
                yield _arrays(batch.slice(start, BATCH), first + start)
            except UnicodeDecodeError:  # pyarrow validates texts, but not the names of columns and zones
                raise Unreadable("the schema holds what is no text") from None
        first += batch.num_rows


def _arrays(batch: pa.RecordBatch, first: int) -> tuple[tuple[Integers, ReadingArrays], Refusals]:
    lines = np.arange(first, first + batch.num_rows)
    ids, of_id = _texts(batch, "resourceId", required=True)
    names, of_field = _texts(batch, "field", required=False)
    words, of_quality = _texts(batch, "quality", required=False)
    instants = _column(batch, "timestamp", _is_instant).cast(INSTANT, safe=False).cast(pa.int64())
    values = _column(batch, "value", _is_number).cast(pa.float64())
    whole = (of_id >= 0) & _there(instants) & _there(values)
    refused = [(int(line), "has no resourceId, timestamp or value") for line in lines[~whole]]
    codes, wrong = _qualities(words)
    quality = codes[of_quality]
    good = whole & (quality >= 0)
    refused += [(int(lines[row]), wrong[int(of_quality[row])]) for row in np.flatnonzero(whole & ~good)]
    keys, place = np.unique(np.stack((of_id[good], of_field[good])), axis=1, return_inverse=True)
    arrays = ReadingArrays(
        series=[(ids[one], names[other] if other >= 0 else None) for one, other in keys.T.tolist()],
        place=place.reshape(-1).astype(np.int64),
        at=_numbers(instants)[good].astype(np.int64),
        value=_numbers(values)[good].astype(np.float64),
        quality=quality[good],
    )
    return (lines[good], arrays), sorted(refused)


def _qualities(words: list[str]) -> tuple[Integers, dict[int, str]]:
    """The code of each word, -1 where it is none, with the reason; ACTUAL stands last, for rows without a word."""
    codes, wrong = [], dict[int, str]()
    for place, word in enumerate(words):
        try:
            codes.append(quality_code(word))
        except BadLine as bad:
            codes.append(-1)
            wrong[place] = str(bad)
    return np.array([*codes, 0], dtype=np.int64), wrong


def _texts(batch: pa.RecordBatch, name: str, *, required: bool) -> tuple[list[str], Integers]:
    """The different texts of a column, and which of them stands in each row: -1 where there is none."""
    if not required and name not in batch.schema.names:
        return [], np.full(batch.num_rows, -1, dtype=np.int64)
    column = _column(batch, name, _is_text)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if encoded.dictionary.null_count:
        raise Unreadable(f"the dictionary of the column {name} holds nulls")
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    return texts, _numbers(encoded.indices.cast(pa.int64()).fill_null(-1)).astype(np.int64)


def _column(batch: pa.RecordBatch, name: str, taken: Callable[[pa.DataType], bool]) -> pa.Array:
    places = batch.schema.get_all_field_indices(name)
    if len(places) != 1:
        raise Unreadable(f"the stream has no column {name}" if not places else f"the stream has two columns {name}")
    column = batch.column(places[0])
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not taken(type_):
        raise Unreadable(f"the column {name} is of type {type_}")
    return column


def _there(column: pa.Array) -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return there


def _numbers(column: pa.Array) -> NDArray[Any]:
    numbers: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_instant(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is not None)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_float64(type_) or pa.types.is_decimal(type_) or pa.types.is_integer(type_))
