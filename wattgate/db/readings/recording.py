"""Writing readings: an upsert with revisions, and the rollups of what it touched, in the caller's transaction."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db.models import Reading
from wattgate.db.readings import partitions, rollups
from wattgate.db.rowset import Rowset
from wattgate.energy.arrays import Integers, firsts


class Incoming(NamedTuple):
    """A reading on its way in: its instant in ms since 1970, its scaled value, the code of its quality.

    `hourly` is its field's (`storage.Field.hourly`).
    """

    number: int
    field: int
    at: int
    value: int
    quality: int
    hourly: bool


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings in columns, in the order of number, field and instant; no two have the same of these three."""

    number: Integers
    field: Integers
    at: Integers
    value: Integers
    quality: Integers
    hourly: Integers

    @classmethod
    def of(cls, incoming: Iterable[Incoming]) -> "Readings":
        columns = np.array(sorted(incoming), dtype=np.int64).reshape(-1, len(fields(cls))).T
        return cls(*columns)

    def series(self) -> Integers:
        """The places at which the readings of a series begin, and the end."""
        return np.append(np.flatnonzero(firsts(self.number, self.field)), len(self.at))

    def newest(self) -> list[Incoming]:
        """The last reading of each series."""
        ends = self.series()[1:] - 1
        columns = [getattr(self, column.name)[ends].tolist() for column in fields(self)]
        return [Incoming(*one) for one in zip(*columns, strict=True)]


_COLUMNS = tuple(Reading.model_fields)
_UPSERT = """
    INSERT INTO reading ({columns}) {source}
    ON CONFLICT (resource_number, field, at) DO UPDATE SET
        value = excluded.value, quality = excluded.quality,
        revision = reading.revision + 1, received_at = excluded.received_at
    WHERE reading.value <> excluded.value OR reading.quality <> excluded.quality"""
_UPSERT_ROW = _UPSERT.format(columns=", ".join(_COLUMNS), source=f"VALUES ({', '.join('?' * len(_COLUMNS))})")
_UPSERT_STAGED = text(
    _UPSERT.format(columns=", ".join(_COLUMNS), source=f"SELECT {', '.join(_COLUMNS)} FROM staged_reading WHERE true")
)
_STAGE = text("CREATE TEMPORARY TABLE IF NOT EXISTS staged_reading (LIKE reading) ON COMMIT DELETE ROWS")
_LOCK = text("SELECT number FROM resource WHERE number = ANY(:numbers) ORDER BY number FOR NO KEY UPDATE")
_SPANS = Rowset("spans", {"number": "bigint", "field": "int", "first": "bigint", "last": "bigint"})
_STORED = text(f"""
    SELECT EXISTS (SELECT 1 FROM {_SPANS.sql("postgresql")} s CROSS JOIN LATERAL (
        SELECT 1 FROM reading r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at BETWEEN s.first AND s.last LIMIT 1) r)""")

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


async def record(connection: AsyncConnection, readings: Readings, now_ms: int) -> None:
    """Store readings. One that is stored with another value or quality is revised.

    On SQLite whoever writes has the database to themselves; on PostgreSQL writers of the same resources wait for each
    other, so that none makes rollups of what it cannot see yet.
    """
    if connection.dialect.name == "sqlite":
        columns = (readings.number, readings.field, readings.at, readings.value, readings.quality)
        rows = [(*row, 0, now_ms) for row in zip(*(column.tolist() for column in columns), strict=True)]
        await connection.exec_driver_sql(_UPSERT_ROW, rows)
    else:
        await lock(connection, np.unique(readings.number).tolist())
        months = np.unique(readings.at.astype("datetime64[ms]").astype("datetime64[M]"))
        await partitions.ensure(connection, months.astype("datetime64[ms]").astype(np.int64).tolist())
        await _copy(connection, readings, now_ms)
    await rollups.refresh(connection, readings.number, readings.field, readings.at, readings.hourly)


async def lock(connection: AsyncConnection, numbers: Sequence[int]) -> None:
    """On PostgreSQL have the readings of these resources to oneself until the transaction ends; readers do not wait."""
    await connection.execute(_LOCK, {"numbers": numbers})


async def _copy(connection: AsyncConnection, readings: Readings, now_ms: int) -> None:
    """COPY straight into the table where the spans of the batch are empty, else into a staging table and upsert.

    The resources are locked, so that an empty span stays empty; copying there costs half of the upsert.
    """
    begins = readings.series()
    starts, ends = begins[:-1], begins[1:] - 1
    columns = (readings.number[starts], readings.field[starts], readings.at[starts], readings.at[ends])
    spans = list(zip(*(column.tolist() for column in columns), strict=True))
    stored = (await connection.execute(_STORED, _SPANS.parameters("postgresql", spans))).scalar_one()
    if stored:
        await connection.execute(_STAGE)
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    table = "staged_reading" if stored else "reading"
    await driver.copy_to_table(table, source=io.BytesIO(_binary(readings, now_ms)), columns=_COLUMNS, format="binary")
    if stored:
        await connection.execute(_UPSERT_STAGED)


def _binary(readings: Readings, now_ms: int) -> bytes:
    """The readings as PostgreSQL's binary COPY takes them."""
    rows = np.zeros(len(readings.at), _COPY_ROW)
    rows["columns"] = len(_COLUMNS)
    for name in _COLUMNS:
        rows[f"{name} length"] = _COPY_ROW[name].itemsize
    rows["resource_number"], rows["field"], rows["at"] = readings.number, readings.field, readings.at
    rows["value"], rows["quality"], rows["received_at"] = readings.value, readings.quality, now_ms
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER
