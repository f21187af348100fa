"""Streams of readings in Apache Arrow: only the documented error, and the rows that pyarrow reads."""

import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tests.fuzz.event_loop import run
from tests.fuzz.harness import Harness
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.operations.readings.bulk_recorder import UnreadableInput
from wattgate.rest_compat.arrow.frames import CONTINUATION
from wattgate.rest_compat.arrow.readings import RejectedRows, read_arrays

Row = tuple[int, str, str | None, int, str, int]
"""The number of a row, its resource, field, instant in ms, the text of its value, and the code of its quality."""


def check(data: bytes) -> bool:
    at_once = read([data])
    assert read([data[start : start + 100] for start in range(0, len(data), 100)]) == at_once
    rows, rejected, unlisted, is_complete = at_once
    numbers = sorted([row[0] for row in rows] + [number for number, _ in rejected])
    count = len(numbers) + unlisted
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= set(range(1, count + 1))
    assert {row[-1] for row in rows} <= set(QUALITY_CODES.values())
    if is_complete and numbers and (expected := rows_of_library(data)) is not None:
        assert count == len(expected)
        for row in rows:
            assert row[:-1] == (row[0], *expected[row[0] - 1]), (row, expected[row[0] - 1])
    return rows != []


async def charge_nothing(size: int = 0, lines: int = 0) -> None:
    """Take the place of the charge of an upload."""


def read(chunks: list[bytes]) -> tuple[list[Row], RejectedRows, int, bool]:
    """Return the accepted rows of a stream, the rejected ones, the number of others, and whether it has an end."""
    rows, rejected, unlisted = list[Row](), RejectedRows(), 0

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> None:
        nonlocal unlisted
        async for (lines, batch), refused, more in read_arrays(body(), charge_nothing):
            rejected.extend(refused)
            unlisted += more
            columns = (lines, batch.series_index, batch.at, batch.value, batch.quality)
            for line, index, at, value, quality in zip(*(column.tolist() for column in columns), strict=True):
                rows.append(
                    (line, *batch.series[index], at, repr(value), quality)
                )  # a text, because NaN equals nothing

    try:
        run(collect())
    except UnreadableInput:
        return rows, rejected, unlisted, False
    return rows, rejected, unlisted, True


def rows_of_library(data: bytes) -> list[tuple[Any, ...]] | None:
    """Return the resource, field, instant and value of each row, as pyarrow reads the whole stream.

    None if Python cannot write a value: pyarrow accepts decimals with millions of digits after the point.
    """
    with pa.ipc.open_stream(io.BytesIO(data)) as reader:
        table = reader.read_all()
    fields = table.column("field").to_pylist() if "field" in table.column_names else [None] * table.num_rows
    timestamps = table.column("timestamp")
    if pa.types.is_dictionary(timestamps.type):
        timestamps = timestamps.cast(timestamps.type.value_type)
    instants = [to_ms(count, timestamps.type.unit) for count in timestamps.cast(pa.int64()).to_pylist()]
    try:
        values = [repr(None if value is None else float(value)) for value in table.column("value").to_pylist()]
    except InvalidOperation:
        return None
    return list(zip(table.column("resourceId").to_pylist(), fields, instants, values, strict=True))


def to_ms(count: int | None, unit: str) -> int | None:
    """Return ms, as the division in C rounds: towards 0."""
    factor = {"s": Fraction(1_000), "ms": Fraction(1), "us": Fraction(1, 1_000), "ns": Fraction(1, 1_000_000)}[unit]
    return None if count is None else int(count * factor)


START = datetime(2026, 1, 1, tzinfo=UTC)


def stream(*counts: int, **changes: Any) -> bytes:
    """Return a stream with batches of so many rows. `changes` add columns or replace them."""
    sink = pa.BufferOutputStream()
    writer = None
    for count in counts:
        columns: dict[str, Any] = {
            "resourceId": pa.array(["a resource"] * count, pa.string()),
            "timestamp": pa.array([START + n * timedelta(minutes=30) for n in range(count)], pa.timestamp("us", "UTC")),
            "value": pa.array([n / 1000 for n in range(count)], pa.float64()),
        }
        columns |= {name: build(count) for name, build in changes.items()}
        batch = pa.record_batch(columns)
        writer = writer or pa.ipc.new_stream(sink, batch.schema)
        writer.write_batch(batch)
    assert writer is not None
    writer.close()
    return bytes(sink.getvalue())


def _alternating(*texts: str | None) -> Any:
    return lambda count: pa.array([texts[n % len(texts)] for n in range(count)], pa.string())


HARNESS = Harness(
    "arrow",
    check,
    (
        stream(3),
        stream(2, 0, 2, field=_alternating("POWER", None), quality=_alternating("ACTUAL", "odd", None)),
        stream(3, resourceId=lambda count: pa.array(["a", "b", "a"][:count]).dictionary_encode()),
        stream(2, value=lambda count: pa.array([Decimal("1.5")] * count, pa.decimal128(9, 3))),
        stream(2, timestamp=lambda count: pa.array([0, None][:count], pa.timestamp("s", "Europe/Paris"))),
        stream(2, timestamp=lambda count: pa.array([2**62, -(2**40)][:count], pa.timestamp("s", "UTC"))),
        stream(3, value=lambda count: pa.array([2**53, 2**53 + 1, 2**63][:count], pa.uint64())),
        stream(
            2,
            value=lambda count: pa.array([1] * count, pa.int64()),
            other=lambda count: pa.array([[1]] * count, pa.list_(pa.int8())),
        ),
    ),
    (
        *(bytes(1), bytes(4), bytes(8), b"\xff\xff\xff\xff", b"\x01", b"\x00\x01\x00\x00", b"\xff\xff\xff\x7f"),
        *(CONTINUATION.to_bytes(4, "little") + bytes(4), b"UTC\0", b"value\0\0\0", b"field\0\0\0", b"\x80"),
    ),
    {"rows": lambda count: stream(count), "batches": lambda count: stream(*[1] * count)},
)
