"""Hourly and daily (UTC) aggregates of readings. Each write updates them, so that long spans are read from few rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db.column_types import TableParameter
from wattgate.db.connections.reader import fetch_in_transaction
from wattgate.db.models.homes.resources import Rollup
from wattgate.energy.arrays import IntArray, is_group_start
from wattgate.energy.buckets import DAY_MS, HOUR_MS

KEY_COLUMNS = ("resource_number", "field", "at")
AGGREGATE_COLUMNS = tuple(name for name in Rollup.model_fields if name not in KEY_COLUMNS)
"""The aggregates of a span: count, sum, min, max, first_at, last_at, estimated, revision, received_at."""


@dataclass(frozen=True, slots=True)
class ReadingSource:
    """A table to read spans from. Its rows begin every `interval_ms`. `expressions` compute AGGREGATE_COLUMNS."""

    table: str
    interval_ms: int
    expressions: Mapping[str, str]

    @property
    def select_list(self) -> str:
        return ", ".join(f"{expression} AS {name}" for name, expression in self.expressions.items())


READING_SOURCE = ReadingSource(
    "reading",
    1,
    {
        "count": "count(*)",
        "sum": "CAST(sum(r.value) AS bigint)",
        "min": "min(r.value)",
        "max": "max(r.value)",
        "first_at": "min(r.at)",
        "last_at": "max(r.at)",
        "estimated": "count(*) - count(CASE r.quality WHEN 0 THEN 0 END)",
        "revision": "CAST(sum(r.revision) AS bigint)",
        "received_at": "max(r.received_at)",
    },
)
_ROLLUP_EXPRESSIONS = {
    "count": "CAST(sum(r.count) AS bigint)",
    "sum": "CAST(sum(r.sum) AS bigint)",
    "min": "min(r.min)",
    "max": "max(r.max)",
    "first_at": "min(r.first_at)",
    "last_at": "max(r.last_at)",
    "estimated": "CAST(sum(r.estimated) AS bigint)",
    "revision": "CAST(sum(r.revision) AS bigint)",
    "received_at": "max(r.received_at)",
}
HOUR_SOURCE = ReadingSource("reading_hour", HOUR_MS, _ROLLUP_EXPRESSIONS)
DAY_SOURCE = ReadingSource("reading_day", DAY_MS, _ROLLUP_EXPRESSIONS)

_SOURCES = {source.table: source for source in (READING_SOURCE, HOUR_SOURCE, DAY_SOURCE)}

_TOUCHED = TableParameter("touched", {"number": "bigint", "field": "int", "start": "bigint"})
_MATCH = "r.resource_number = t.number AND r.field = t.field AND r.at >= t.start AND r.at < t.start + {size}"
_SELECT_ROLLUPS = {
    "sqlite": """
        SELECT t.number, t.field, t.start, {selected} FROM {touched} t CROSS JOIN {source} r WHERE {match}
        GROUP BY t.number, t.field, t.start""",
    "postgresql": """
        SELECT t.number, t.field, t.start, a.* FROM {touched} t
        CROSS JOIN LATERAL (SELECT {selected} FROM {source} r WHERE {match}) a
        WHERE a.count > 0 ORDER BY t.number, t.field, t.start""",
}
_UPSERT = """
    INSERT INTO {table} ({columns}) {select}
    ON CONFLICT ({key}) DO UPDATE SET {replaced}"""


async def refresh_rollups(
    connection: AsyncConnection, number: IntArray, field: IntArray, at: IntArray, hourly: IntArray
) -> None:
    """Update the rollups after a write of readings, which are in columns and sorted by key.

    Each affected rollup is computed from the stored readings again, so that revised readings are included.
    """
    is_hourly = hourly.astype(bool)
    for level, source, selected in (
        (HOUR_SOURCE, READING_SOURCE, is_hourly),
        (DAY_SOURCE, HOUR_SOURCE, is_hourly),
        (DAY_SOURCE, READING_SOURCE, ~is_hourly),
    ):
        if selected.any():
            await _refresh_level(
                connection,
                level,
                source,
                _touched_spans(number[selected], field[selected], at[selected], level.interval_ms),
            )


def _touched_spans(number: IntArray, field: IntArray, at: IntArray, size: int) -> list[tuple[int, int, int]]:
    """Return the rollup rows that contain these readings: resource number, field and start."""
    columns = (number, field, at - at % size)
    first = is_group_start(*columns)
    return list(zip(*(column[first].tolist() for column in columns), strict=True))


async def _refresh_level(
    connection: AsyncConnection, level: ReadingSource, source: ReadingSource, spans: list[tuple[int, int, int]]
) -> None:
    """Compute the rollup rows of a level for these spans from a finer source."""
    dialect = connection.dialect.name
    statement = _refresh_statement(dialect, level.table, source.table)
    await fetch_in_transaction(connection, statement, _TOUCHED.parameters(dialect, spans))


@cache
def _refresh_statement(dialect: str, level_table: str, source_table: str) -> TextClause:
    """Return the statement that computes rows of a level from a source, which are given by the names of their tables.

    It is built and parsed once.
    """
    level, source = _SOURCES[level_table], _SOURCES[source_table]
    select = _SELECT_ROLLUPS[dialect].format(
        selected=source.select_list,
        source=source.table,
        touched=_TOUCHED.sql(dialect),
        match=_MATCH.format(size=level.interval_ms),
    )
    upsert = _UPSERT.format(
        table=level.table,
        columns=", ".join((*KEY_COLUMNS, *AGGREGATE_COLUMNS)),
        key=", ".join(KEY_COLUMNS),
        select=select,
        replaced=", ".join(f"{name} = excluded.{name}" for name in AGGREGATE_COLUMNS),
    )
    return text(upsert)
