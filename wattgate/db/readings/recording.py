"""Writes of readings in the caller's transaction: an upsert with revisions, then the update of the rollups."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db.column_types import TableParameter
from wattgate.db.connections.reader import fetch_in_transaction
from wattgate.db.models import Reading
from wattgate.db.readings import partitions, rollups
from wattgate.db.scope.tenancy_guard import UnscopedStatementError
from wattgate.energy.arrays import IntArray, is_group_start


class ReadingRow(NamedTuple):
    """A reading to store: its instant in ms since 1970, its scaled value, and the code of its quality.

    `number` is that of the resource. `hourly` is `ReadingField.has_hourly_rollup` of the field.
    """

    number: int
    field: int
    at: int
    value: int
    quality: int
    hourly: bool


@dataclass(frozen=True, slots=True)
class ReadingColumns:
    """Readings in columns, sorted by number, field and instant. Each combination of the three occurs once."""

    number: IntArray
    field: IntArray
    at: IntArray
    value: IntArray
    quality: IntArray
    hourly: IntArray

    @classmethod
    def from_rows(cls, incoming: Iterable[ReadingRow]) -> "ReadingColumns":
        columns = np.array(sorted(incoming), dtype=np.int64).reshape(-1, len(fields(cls))).T
        return cls(*columns)

    def series_bounds(self) -> IntArray:
        """Return the positions at which the readings of each series begin, and the end of the last series."""
        return np.append(np.flatnonzero(is_group_start(self.number, self.field)), len(self.at))

    def oldest_by_series(self) -> dict[tuple[int, int], int]:
        """Return the instant of the first reading of each series, by resource number and field index."""
        starts = self.series_bounds()[:-1]
        number, field, at = (column[starts].tolist() for column in (self.number, self.field, self.at))
        return dict(zip(zip(number, field, strict=True), at, strict=True))

    def newest_by_series(self) -> list[ReadingRow]:
        """Return the last reading of each series."""
        ends = self.series_bounds()[1:] - 1
        columns = [getattr(self, column.name)[ends].tolist() for column in fields(self)]
        return [ReadingRow(*row) for row in zip(*columns, strict=True)]


_COLUMNS = tuple(Reading.model_fields)
_UPSERT = """
    INSERT INTO reading ({columns}) {source}
    ON CONFLICT (resource_number, field, at) DO UPDATE SET
        value = excluded.value, quality = excluded.quality,
        revision = reading.revision + 1, received_at = excluded.received_at
    WHERE reading.value <> excluded.value OR reading.quality <> excluded.quality"""
_UPSERT_ROW = _UPSERT.format(columns=", ".join(_COLUMNS), source=f"VALUES ({', '.join('?' * len(_COLUMNS))})")
_UPSERT_STAGED = text(
    _UPSERT.format(columns=", ".join(_COLUMNS), source=f"SELECT {', '.join(_COLUMNS)} FROM staged_reading WHERE true")  # noqa: S608 (names of our own columns only; values are parameters)
)
_CREATE_STAGING = text("CREATE TEMPORARY TABLE IF NOT EXISTS staged_reading (LIKE reading) ON COMMIT DELETE ROWS")
_LOCK_RESOURCES = text("SELECT number FROM resource WHERE number = ANY(:numbers) ORDER BY number FOR NO KEY UPDATE")
_SPANS = TableParameter("spans", {"number": "bigint", "field": "int", "first": "bigint", "last": "bigint"})
_EXISTS_IN_SPANS = text(f"""
    SELECT EXISTS (SELECT 1 FROM {_SPANS.sql("postgresql")} s CROSS JOIN LATERAL (
        SELECT 1 FROM reading r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at BETWEEN s.first AND s.last LIMIT 1) r)""")  # noqa: S608 (names of our own columns only; values are parameters)

# A row of PostgreSQL's binary COPY: the count of columns, then the length and value of each, all big-endian.
# https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS
_COPY_TYPES = {"resource_number": ">i8", "field": ">i2", "at": ">i8", "value": ">i8"} | {
    "quality": ">i2",
    "revision": ">i4",
    "received_at": ">i8",
}
_COPY_ROW = np.dtype(
    [("columns", ">i2"), *((part, type_) for name in _COLUMNS for part, type_ in (
        (f"{name} length", ">i4"), (name, _COPY_TYPES[name])
    ))]
)  # fmt: skip
_COPY_HEADER, _COPY_TRAILER = b"PGCOPY\n\xff\r\n\x00" + bytes(8), b"\xff\xff"


async def upsert_readings(connection: AsyncConnection, readings: ReadingColumns, now_ms: int) -> None:
    """Store readings. A stored reading with another value or quality is revised.

    On SQLite only one transaction writes at a time. On PostgreSQL, lock the resources first. Writers of the same
    resources wait for each other, so that none computes rollups without the uncommitted readings of another.
    """
    if connection.dialect.name == "sqlite":
        columns = (readings.number, readings.field, readings.at, readings.value, readings.quality)
        rows = [(*row, 0, now_ms) for row in zip(*(column.tolist() for column in columns), strict=True)]
        await connection.exec_driver_sql(_UPSERT_ROW, rows)
    else:
        months = np.unique(readings.at.astype("datetime64[ms]").astype("datetime64[M]"))
        await partitions.ensure_partitions(connection, months.astype("datetime64[ms]").astype(np.int64).tolist())
        await _copy_readings(connection, readings, now_ms)
    await rollups.refresh_rollups(connection, readings.number, readings.field, readings.at, readings.hourly)


async def lock_resources(connection: AsyncConnection, numbers: Sequence[int]) -> None:
    """Lock the readings of these resources on PostgreSQL until the transaction ends. Readers do not wait.

    Raise UnscopedStatementError if the policies do not show all of them: writes of readings themselves run without.
    """
    locked = await fetch_in_transaction(connection, _LOCK_RESOURCES, {"numbers": numbers})
    if len(locked) != len(numbers):
        raise UnscopedStatementError(
            f"{len(numbers) - len(locked)} of {len(numbers)} resources are not in the scope of the session. "
            "Take their numbers from Rows."
        )


async def _copy_readings(connection: AsyncConnection, readings: ReadingColumns, now_ms: int) -> None:
    """COPY directly into the table if the spans of the batch are empty, else into a staging table and upsert.

    The resources are locked, so an empty span stays empty. The direct COPY takes half the time of the upsert.
    """
    bounds = readings.series_bounds()
    starts, ends = bounds[:-1], bounds[1:] - 1
    columns = (readings.number[starts], readings.field[starts], readings.at[starts], readings.at[ends])
    spans = list(zip(*(column.tolist() for column in columns), strict=True))
    parameters = _SPANS.parameters("postgresql", spans)
    ((has_stored,),) = await fetch_in_transaction(connection, _EXISTS_IN_SPANS, parameters)
    if has_stored:
        await connection.execute(_CREATE_STAGING)
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    table = "staged_reading" if has_stored else "reading"
    await driver.copy_to_table(
        table, source=io.BytesIO(_encode_copy(readings, now_ms)), columns=_COLUMNS, format="binary"
    )
    if has_stored:
        await connection.execute(_UPSERT_STAGED)


def _encode_copy(readings: ReadingColumns, now_ms: int) -> bytes:
    """Encode readings in the format of PostgreSQL's binary COPY."""
    rows = np.zeros(len(readings.at), _COPY_ROW)
    rows["columns"] = len(_COLUMNS)
    for name in _COLUMNS:
        rows[f"{name} length"] = _COPY_ROW[name].itemsize
    rows["resource_number"], rows["field"], rows["at"] = readings.number, readings.field, readings.at
    rows["value"], rows["quality"], rows["received_at"] = readings.value, readings.quality, now_ms
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER
