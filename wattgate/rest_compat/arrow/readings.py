"""Readings as Apache Arrow IPC streams, out and in; columns have the same names both ways.

https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wattgate.energy.arrays import IntArray
from wattgate.energy.storage_fields import parse_fields
from wattgate.graphql.resolvers.bulk_recording import BulkReadingBatch
from wattgate.graphql.resolvers.raw_readings import RawReadingsResult
from wattgate.graphql.transport.bulk_recorder import BATCH_SIZE, InvalidLine, UnreadableInput, parse_quality
from wattgate.rest_compat.arrow.frames import END_OF_STREAM, read_record_batches
from wattgate.rest_compat.legacy_request import RerunOperation, RestResult

INSTANT_TYPE = pa.timestamp("ms", tz="UTC")
READINGS_SCHEMA = pa.schema(
    [
        pa.field("timestamp", INSTANT_TYPE, nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
        pa.field("quality", pa.string(), nullable=False),
    ]
)
"""What is answered: instants, the nearest double of each value, the storage field, the name of the quality."""

RejectedRows = list[tuple[int, str]]
"""Lines that hold no reading, and why."""


async def stream_readings(result: RestResult, rerun: RerunOperation) -> AsyncIterator[bytes]:
    """The readings of the one field that the query names, or of all fields one after another.

    One page at a time is held; a stream that breaks off has no end marker, which readers tell as an error.
    """
    page: RawReadingsResult = result.result
    named = "field" in result.request.query
    further = [] if named else [field.name for field in parse_fields(page.resource.storage)[1:]]
    yield READINGS_SCHEMA.serialize().to_pybytes()
    while True:
        if page.stored:
            yield _encode_batch(page)
        if page.next is not None:
            page = await rerun(field=page.field, start=page.next)
        elif further:
            page = await rerun(field=further.pop(0))
        else:
            break
    yield END_OF_STREAM


def _encode_batch(page: RawReadingsResult) -> bytes:
    columns = [
        pa.array([one.at for one in page.stored], pa.int64()).cast(INSTANT_TYPE),
        pa.array(page.value, pa.float64()),
        pa.repeat(page.field, len(page.stored)),
        pa.array(page.quality, pa.string()),
    ]
    return bytes(pa.record_batch(columns, schema=READINGS_SCHEMA).serialize())


async def read_arrays(
    chunks: AsyncIterator[bytes],
) -> AsyncIterator[tuple[tuple[IntArray, BulkReadingBatch], RejectedRows]]:
    """The rows of a stream, some at a time: their numbers with what they hold, and those that hold no reading.

    Columns: resourceId (text), timestamp (with a time zone), value (double, decimal or integer), and, where they are
    not the resource's first field and ACTUAL, field and quality (texts). Texts may be dictionary-encoded.
    """
    first = 1
    async for batch in read_record_batches(chunks):
        for start in range(0, batch.num_rows, BATCH_SIZE):
            try:
                yield _parse_batch(batch.slice(start, BATCH_SIZE), first + start)
            except UnicodeDecodeError:  # pyarrow validates texts, but not the names of columns and zones
                raise UnreadableInput("the schema holds what is no text") from None
        first += batch.num_rows


def _parse_batch(batch: pa.RecordBatch, first: int) -> tuple[tuple[IntArray, BulkReadingBatch], RejectedRows]:
    lines = np.arange(first, first + batch.num_rows)
    ids, of_id = _text_column(batch, "resourceId", required=True)
    names, of_field = _text_column(batch, "field", required=False)
    words, of_quality = _text_column(batch, "quality", required=False)
    instants = _column(batch, "timestamp", _is_instant).cast(INSTANT_TYPE, safe=False).cast(pa.int64())
    values = _column(batch, "value", _is_number).cast(pa.float64())
    whole = (of_id >= 0) & _is_valid(instants) & _is_valid(values)
    refused = [(int(line), "has no resourceId, timestamp or value") for line in lines[~whole]]
    codes, wrong = _quality_codes(words)
    quality = codes[of_quality]
    good = whole & (quality >= 0)
    refused += [(int(lines[row]), wrong[int(of_quality[row])]) for row in np.flatnonzero(whole & ~good)]
    keys, place = np.unique(np.stack((of_id[good], of_field[good])), axis=1, return_inverse=True)
    arrays = BulkReadingBatch(
        series=[(ids[one], names[other] if other >= 0 else None) for one, other in keys.T.tolist()],
        series_index=place.reshape(-1).astype(np.int64),
        at=_to_numpy(instants)[good].astype(np.int64),
        value=_to_numpy(values)[good].astype(np.float64),
        quality=quality[good],
    )
    return (lines[good], arrays), sorted(refused)


def _quality_codes(names: list[str]) -> tuple[IntArray, dict[int, str]]:
    """The code of each word, -1 where it is none, with the reason; ACTUAL stands last, for rows without a word."""
    codes, wrong = [], dict[int, str]()
    for place, word in enumerate(names):
        try:
            codes.append(parse_quality(word))
        except InvalidLine as bad:
            codes.append(-1)
            wrong[place] = str(bad)
    return np.array([*codes, 0], dtype=np.int64), wrong


def _text_column(batch: pa.RecordBatch, name: str, *, required: bool) -> tuple[list[str], IntArray]:
    """The different texts of a column, and which of them stands in each row: -1 where there is none."""
    if not required and name not in batch.schema.names:
        return [], np.full(batch.num_rows, -1, dtype=np.int64)
    column = _column(batch, name, _is_text)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if encoded.dictionary.null_count:
        raise UnreadableInput(f"the dictionary of the column {name} holds nulls")
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    return texts, _to_numpy(encoded.indices.cast(pa.int64()).fill_null(-1)).astype(np.int64)


def _column(batch: pa.RecordBatch, name: str, is_supported: Callable[[pa.DataType], bool]) -> pa.Array:
    places = batch.schema.get_all_field_indices(name)
    if len(places) != 1:
        raise UnreadableInput(
            f"the stream has no column {name}" if not places else f"the stream has two columns {name}"
        )
    column = batch.column(places[0])
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_supported(type_):
        raise UnreadableInput(f"the column {name} is of type {type_}")
    return column


def _is_valid(column: pa.Array) -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return there


def _to_numpy(column: pa.Array) -> NDArray[Any]:
    numbers: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_instant(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is not None)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_float64(type_) or pa.types.is_decimal(type_) or pa.types.is_integer(type_))
