"""What readings amount to in hours and days (UTC), kept with every write so that long spans are read from few rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from wattgate.db.models.resources import Rollup
from wattgate.db.rowset import Rowset
from wattgate.energy.arrays import Integers, firsts
from wattgate.energy.buckets import DAY, HOUR

KEY = ("resource_number", "field", "at")
AMOUNTS = tuple(name for name in Rollup.model_fields if name not in KEY)
"""What is kept of a span: count, sum, min, max, first_at, last_at, estimated, revision, received_at."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table that spans can be read from: its rows begin every `size` ms; `amounts` are the AMOUNTS of many rows."""

    table: str
    size: int
    amounts: Mapping[str, str]

    @property
    def selected(self) -> str:
        return ", ".join(f"{expression} AS {name}" for name, expression in self.amounts.items())


READINGS = Source(
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
_OF_ROLLUPS = {
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
HOURS = Source("reading_hour", HOUR, _OF_ROLLUPS)
DAYS = Source("reading_day", DAY, _OF_ROLLUPS)

_TOUCHED = Rowset("touched", {"number": "bigint", "field": "int", "start": "bigint"})
_MATCH = "r.resource_number = t.number AND r.field = t.field AND r.at >= t.start AND r.at < t.start + {size}"
_SELECT = {
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


async def refresh(
    connection: AsyncConnection, number: Integers, field: Integers, at: Integers, hourly: Integers
) -> None:
    """Bring the rollups up to date after a write of readings, given in columns and in the order of their key.

    They are made anew of what is stored, so that a corrected reading corrects them too.
    """
    fine = hourly.astype(bool)
    for level, source, touched in ((HOURS, READINGS, fine), (DAYS, HOURS, fine), (DAYS, READINGS, ~fine)):
        if touched.any():
            await _make(connection, level, source, _spans(number[touched], field[touched], at[touched], level.size))


def _spans(number: Integers, field: Integers, at: Integers, size: int) -> list[tuple[int, int, int]]:
    """The rows of a level that hold these readings: resource number, field and start."""
    columns = (number, field, at - at % size)
    first = firsts(*columns)
    return list(zip(*(column[first].tolist() for column in columns), strict=True))


async def _make(connection: AsyncConnection, level: Source, source: Source, spans: list[tuple[int, int, int]]) -> None:
    """Make the rows of a level that begin where the spans do, of those of a finer source."""
    dialect = connection.dialect.name
    select = _SELECT[dialect].format(
        selected=source.selected,
        source=source.table,
        touched=_TOUCHED.sql(dialect),
        match=_MATCH.format(size=level.size),
    )
    statement = _UPSERT.format(
        table=level.table,
        columns=", ".join((*KEY, *AMOUNTS)),
        key=", ".join(KEY),
        select=select,
        replaced=", ".join(f"{name} = excluded.{name}" for name in AMOUNTS),
    )
    await connection.execute(text(statement), _TOUCHED.parameters(dialect, spans))
