"""Write and read readings as Apache Arrow IPC streams. Both directions use the same column names.

https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # else the first conversion of a column imports it, on the event loop
from numpy.typing import NDArray

from wattgate.db.queries.series.raw_readings import RawReadingsResult
from wattgate.energy.arrays import IntArray
from wattgate.energy.storage_fields import QUALITY_CODES, parse_fields
from wattgate.enums import ReadingQuality
from wattgate.errors import MAX_LISTED_PROBLEMS
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.readings.bulk_recorder import BATCH_SIZE, UnreadableInput
from wattgate.operations.readings.bulk_recording import BulkReadingBatch
from wattgate.reading_files.cells import InvalidLine, parse_quality
from wattgate.rest_compat.arrow.frames import END_OF_STREAM, ChargeRead, read_record_batches
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
"""Schema of the response: instants, each value as the nearest double, the storage field and the quality name."""

MAX_EXACT_INTEGER = 2**53
"""The largest magnitude up to which each integer is a double."""

MAX_SECONDS = (2**63 - 1) // 1000
"""The largest magnitude of seconds that fit in 64 bits as ms."""

RejectedRows = list[tuple[int, str]]
"""Rejected rows: number and reason."""

_QUALITY_CODES = {"": 0, **{quality.name: QUALITY_CODES[quality] for quality in ReadingQuality}}


async def stream_readings(result: RestResult, rerun: RerunOperation) -> AsyncIterator[bytes]:
    """Yield an Arrow stream with the readings of the field in the query, or of all fields one after another.

    At most one page is in memory. If reading a page fails, the stream has no end marker, and clients detect the error.
    """
    page: RawReadingsResult = result.result
    has_field = "field" in result.request.query
    other_fields = [] if has_field else [field.name for field in parse_fields(page.resource.storage)[1:]]
    yield READINGS_SCHEMA.serialize().to_pybytes()
    while True:
        if page.stored:
            yield _encode_batch(page)
        if page.next is not None:
            page = await rerun(field=page.field, start=page.next)
        elif other_fields:
            page = await rerun(field=other_fields.pop(0))
        else:
            break
    yield END_OF_STREAM


def _encode_batch(page: RawReadingsResult) -> bytes:
    columns = [
        pa.array([reading.at for reading in page.stored], pa.int64()).cast(INSTANT_TYPE),
        pa.array(page.value, pa.float64()),
        pa.repeat(page.field, len(page.stored)),
        pa.array(page.quality, pa.string()),
    ]
    return bytes(pa.record_batch(columns, schema=READINGS_SCHEMA).serialize())


async def read_arrays(
    chunks: AsyncIterator[bytes], charge: ChargeRead
) -> AsyncIterator[tuple[tuple[IntArray, BulkReadingBatch], RejectedRows, int]]:
    """Yield the rows of a stream in batches: the numbers and content of the readings, and the rejected rows.

    Of the rejected rows, yield the first MAX_LISTED_PROBLEMS with their reasons, and the number of the others.

    Columns: resourceId (text), timestamp (with a time zone), value (double, decimal or integer), and optionally field
    and quality (text). The defaults are the resource's first field and ACTUAL. Text may be dictionary-encoded.
    Raise UnreadableInput if the stream cannot be decoded.
    """
    first = 1
    async for batch in read_record_batches(chunks, charge):
        for start in range(0, batch.num_rows, BATCH_SIZE):
            await charge(0, min(batch.num_rows - start, BATCH_SIZE))
            try:
                yield _parse_batch(batch.slice(start, BATCH_SIZE), first + start)
            except UnicodeDecodeError:  # pyarrow validates text values, but not the names of columns and time zones
                raise UnreadableInput("a name in the schema is not valid UTF-8") from None
        first += batch.num_rows


def _parse_batch(batch: pa.RecordBatch, first: int) -> tuple[tuple[IntArray, BulkReadingBatch], RejectedRows, int]:
    lines = np.arange(first, first + batch.num_rows)
    ids, id_index = _text_column(batch, "resourceId", required=True)
    names, field_index = _text_column(batch, "field", required=False)
    quality_names, quality_index = _text_column(batch, "quality", required=False)
    time_column, value_column = _column(batch, "timestamp", _is_instant), _column(batch, "value", _is_number)
    instants = time_column.cast(INSTANT_TYPE, safe=False).cast(pa.int64())
    values = value_column.cast(pa.float64(), safe=False)
    quality = np.array([*(_QUALITY_CODES.get(name.upper(), -1) for name in quality_names), 0])[quality_index]
    rules: list[tuple[NDArray[np.bool_], Callable[[int], str]]] = [
        (
            (id_index >= 0) & _is_valid(instants) & _is_valid(values),
            lambda row: "has no resourceId, timestamp or value",
        ),
        (
            np.array([*(len(text) <= MAX_ID_CHARACTERS for text in ids), True])[id_index],
            lambda row: f"its resourceId is longer than {MAX_ID_CHARACTERS} characters",
        ),
        (
            _is_within(time_column, _max_instant(time_column.type)),
            lambda row: "has a timestamp outside the supported range of times",
        ),
        (
            _is_within(value_column, _max_value(value_column.type)),
            lambda row: "has a value with more digits than can be stored",
        ),
        (quality >= 0, lambda row: _quality_error(quality_names[quality_index[row]])),
    ]
    accepted: NDArray[np.bool_] = np.logical_and.reduce([is_kept for is_kept, _ in rules])

    def reason(row: int) -> str:
        return next(describe(row) for is_kept, describe in rules if not is_kept[row])

    rejected = np.flatnonzero(~accepted)
    listed = [(int(lines[row]), reason(row)) for row in rejected[:MAX_LISTED_PROBLEMS].tolist()]
    fields = [*names, None]  # index -1 selects the default
    pairs, series_index = np.unique((id_index * len(fields) + field_index + 1)[accepted], return_inverse=True)
    arrays = BulkReadingBatch(
        series=[(ids[pair // len(fields)], fields[pair % len(fields) - 1]) for pair in pairs.tolist()],
        series_index=series_index.astype(np.int64),
        at=_to_numpy(instants)[accepted].astype(np.int64),
        value=_to_numpy(values)[accepted].astype(np.float64),
        quality=quality[accepted].astype(np.int64),
    )
    return (lines[accepted], arrays), listed, len(rejected) - len(listed)


def _quality_error(name: str) -> str:
    try:
        parse_quality(name)
    except InvalidLine as bad:
        return str(bad)
    raise AssertionError(f"{name!r} is rejected in a batch, but is a quality")


def _text_column(batch: pa.RecordBatch, name: str, *, required: bool) -> tuple[list[str], IntArray]:
    """Return the distinct texts of a column, and for each row the index of its text, or -1 for null."""
    if not required and name not in batch.schema.names:
        return [], np.full(batch.num_rows, -1, dtype=np.int64)
    column = _column(batch, name, _is_text)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if encoded.dictionary.null_count:
        raise UnreadableInput(f"the dictionary of the column {name} contains nulls")
    indices = _to_numpy(encoded.indices.cast(pa.int64()).fill_null(-1)).astype(np.int64)
    used, index = _distinct(indices, len(encoded.dictionary))
    has_null = int(used.size > 0 and used[0] < 0)
    texts = encoded.dictionary.take(pa.array(used[has_null:])).cast(pa.string()).to_pylist()
    return texts, index - has_null


def _distinct(indices: IntArray, dictionary_size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct indices of a column in ascending order, and for each row the position of its index there.

    A dictionary may have millions of texts that no row uses. Unless it is larger than the column, counting costs less
    than sorting.
    """
    if dictionary_size > len(indices):
        used, position = np.unique(indices, return_inverse=True)
        return used, position.astype(np.int64).reshape(-1)
    is_used = np.bincount(indices + 1, minlength=dictionary_size + 1) > 0  # null is -1
    return np.flatnonzero(is_used) - 1, (np.cumsum(is_used) - 1)[indices + 1]


def _column(batch: pa.RecordBatch, name: str, is_supported: Callable[[pa.DataType], bool]) -> pa.Array:
    positions = batch.schema.get_all_field_indices(name)
    if len(positions) != 1:
        raise UnreadableInput(
            f"the stream has no column {name}" if not positions else f"the stream has two columns {name}"
        )
    column = batch.column(positions[0])
    type_ = _value_type(column.type)
    if not is_supported(type_):
        raise UnreadableInput(f"the column {name} is of type {type_}")
    return column


def _max_instant(type_: pa.DataType) -> int | None:
    """Return the largest magnitude of the stored integers that is exact as ms, or None if all are."""
    return MAX_SECONDS if _value_type(type_).unit == "s" else None


def _max_value(type_: pa.DataType) -> int | None:
    """Return the largest magnitude of integers that is exact as a double, or None if the column has other numbers."""
    return MAX_EXACT_INTEGER if pa.types.is_integer(_value_type(type_)) else None


def _is_within(column: pa.Array, maximum: int | None) -> NDArray[np.bool_]:
    """Return which stored integers have at most a magnitude. Null counts as 0."""
    if maximum is None:
        return np.ones(len(column), np.bool_)
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    numbers = _to_numpy(plain if pa.types.is_integer(plain.type) else plain.cast(pa.int64()))
    within: NDArray[np.bool_] = (numbers <= maximum) & (numbers >= -maximum)
    return within


def _value_type(type_: pa.DataType) -> Any:
    """Return the type of the values of a column, also of one with a dictionary."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _is_valid(column: pa.Array) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _to_numpy(column: pa.Array) -> NDArray[Any]:
    numbers: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_instant(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is not None)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_float64(type_) or pa.types.is_decimal(type_) or pa.types.is_integer(type_))
