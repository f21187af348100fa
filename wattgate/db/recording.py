"""Writing readings: an upsert with revisions, and the rollups of what it touched, in the caller's transaction."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db import partitions, rollups
from wattgate.db.models import Reading
from wattgate.db.rowset import Rowset


class Incoming(NamedTuple):
    """A reading on its way in: its instant in ms since 1970, its scaled value, its stored quality.

    `hourly` is its field's (`storage.Field.hourly`).
    """

    number: int
    field: int
    at: int
    value: int
    quality: int
    hourly: bool


_COLUMNS = tuple(Reading.model_fields)
_UPSERT = """
    INSERT INTO reading ({columns}) {source}
    ON CONFLICT (resource_number, field, at) DO UPDATE SET
        value = excluded.value, quality = excluded.quality,
        revision = reading.revision + 1, received_at = excluded.received_at
    WHERE reading.value <> excluded.value OR reading.quality <> excluded.quality"""
_UPSERT_ROW = text(
    _UPSERT.format(columns=", ".join(_COLUMNS), source=f"VALUES ({', '.join(f':{name}' for name in _COLUMNS)})")
)
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


async def record(connection: AsyncConnection, readings: Sequence[Incoming], now_ms: int) -> None:
    """Store readings, no two of one series and instant. One that is stored with another value is revised.

    On SQLite whoever writes has the database to themselves; on PostgreSQL writers of the same resources wait for each
    other, so that none makes rollups of what it cannot see yet.
    """
    ordered = sorted(readings)
    rows = [(one.number, one.field, one.at, one.value, one.quality, 0, now_ms) for one in ordered]
    if connection.dialect.name == "sqlite":
        await connection.execute(_UPSERT_ROW, [dict(zip(_COLUMNS, row, strict=True)) for row in rows])
    else:
        await connection.execute(_LOCK, {"numbers": sorted({one.number for one in ordered})})
        await partitions.ensure(connection, {one.at for one in ordered})
        await _copy(connection, ordered, rows)
    await rollups.refresh(connection, ((one.number, one.field, one.at, one.hourly) for one in ordered))


async def _copy(connection: AsyncConnection, ordered: Sequence[Incoming], rows: Sequence[tuple[int, ...]]) -> None:
    """COPY straight into the table where the spans of the batch are empty, else into a staging table and upsert.

    The resources are locked, so that an empty span stays empty; copying there costs half of the upsert.
    """
    spans = []
    for (number, field), some in groupby(ordered, key=lambda one: (one.number, one.field)):
        instants = [one.at for one in some]
        spans.append((number, field, instants[0], instants[-1]))
    stored = (await connection.execute(_STORED, _SPANS.parameters("postgresql", spans))).scalar_one()
    if stored:
        await connection.execute(_STAGE)
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    await driver.copy_records_to_table("staged_reading" if stored else "reading", records=rows, columns=_COLUMNS)
    if stored:
        await connection.execute(_UPSERT_STAGED)
