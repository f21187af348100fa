"""Readings in SQL: written by upsert, read set-wise, one statement for any number of series.

All instants are milliseconds since 1970 (UTC) and all values are scaled integers; see `storage.Field`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.models import Reading

SeriesKey = tuple[int, int]
"""Number of the resource and index of its storage field."""


class Stored(NamedTuple):
    at: int
    value: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the readings inside one bucket amount to: how many they are (never 0) and their scaled values."""

    count: int
    sum: int
    min: int
    max: int


# The wanted series, and the wanted buckets, come as one array parameter each: the text of a statement never
# changes, and each bucket is one range of the primary key.
_SERIES = {
    "sqlite": "(SELECT value ->> 0 AS number, value ->> 1 AS field FROM json_each(:series))",
    "postgresql": "(SELECT * FROM unnest(CAST(:numbers AS bigint[]), CAST(:fields AS int[])) AS u(number, field))",
}
_BUCKETS = {
    "sqlite": """
        SELECT s.number, s.field, b.key AS position, count(*), sum(r.value), min(r.value), max(r.value)
        FROM {series} s CROSS JOIN json_each(:buckets) b CROSS JOIN reading r
        WHERE r.resource_number = s.number AND r.field = s.field
          AND r.at >= b.value ->> 0 AND r.at < b.value ->> 1
        GROUP BY s.number, s.field, b.key""",
    "postgresql": """
        SELECT s.number, s.field, b.position - 1, a.count, a.sum, a.min, a.max
        FROM {series} s
        CROSS JOIN unnest(CAST(:starts AS bigint[]), CAST(:stops AS bigint[]))
            WITH ORDINALITY AS b(start, stop, position)
        CROSS JOIN LATERAL (
            SELECT count(*) AS count, CAST(sum(r.value) AS bigint) AS sum, min(r.value) AS min, max(r.value) AS max
            FROM reading r
            WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= b.start AND r.at < b.stop
        ) a
        WHERE a.count > 0""",
}
_EDGE_OF_SERIES = """
    SELECT s.number, s.field, r.at, r.value
    FROM {series} s CROSS JOIN reading r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at = (
        SELECT {which}(at) FROM reading WHERE resource_number = s.number AND field = s.field)"""


class Series:
    """The readings that one session sees. The keys of series come from rows that `Rows` gave, never from outside."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def record(self, readings: Sequence[tuple[int, int, int, int]]) -> None:
        """Upsert readings given as (resource number, field, at, value); no two with the same first three."""
        insert = (sqlite if self._dialect == "sqlite" else postgresql).insert(Reading)
        statement = insert.on_conflict_do_update(
            index_elements=["resource_number", "field", "at"], set_={"value": insert.excluded.value}
        )
        columns = ("resource_number", "field", "at", "value")
        # in key order, so that two writers of the same series wait for each other instead of deadlocking
        rows = [dict(zip(columns, reading, strict=True)) for reading in sorted(readings)]
        connection = await self._session.connection()
        await connection.execute(statement, rows)

    async def buckets(self, series: Sequence[SeriesKey], edges: Sequence[int]) -> dict[SeriesKey, dict[int, Aggregate]]:
        """For each series, by position of the bucket between consecutive edges, what its readings amount to.

        A bucket holds its first instant and not its last. Buckets without readings are left out.
        """
        spans = list(pairwise(edges))
        if self._dialect == "sqlite":
            parameters: dict[str, Any] = {"buckets": orjson.dumps(spans).decode()}
        else:
            parameters = {"starts": [start for start, _ in spans], "stops": [stop for _, stop in spans]}
        found: dict[SeriesKey, dict[int, Aggregate]] = {key: {} for key in series}
        for number, field, position, *amounts in await self._run(_BUCKETS[self._dialect], series, parameters):
            found[number, field][position] = Aggregate(*amounts)
        return found

    async def raw(self, series: SeriesKey, start: int, stop: int, *, limit: int) -> list[Stored]:
        """At most so many readings of a series from start to before stop, oldest first."""
        number, field = series
        statement = (
            select(col(Reading.at), col(Reading.value))
            .where(col(Reading.resource_number) == number, col(Reading.field) == field)
            .where(col(Reading.at) >= start, col(Reading.at) < stop)
            .order_by(col(Reading.at))
            .limit(limit)
        )
        return [Stored(*row) for row in await self._session.execute(statement)]

    async def latest(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        """The newest reading of each series that has one."""
        return await self._edge_of("max", series)

    async def earliest(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        """The oldest reading of each series that has one."""
        return await self._edge_of("min", series)

    async def _edge_of(self, which: str, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        statement = _EDGE_OF_SERIES.replace("{which}", which)
        return {
            (number, field): Stored(at, value) for number, field, at, value in await self._run(statement, series, {})
        }

    async def _run(self, statement: str, series: Sequence[SeriesKey], parameters: dict[str, Any]) -> Sequence[Any]:
        if self._dialect == "sqlite":
            parameters["series"] = orjson.dumps(series).decode()
        else:
            parameters["numbers"] = [number for number, _ in series]
            parameters["fields"] = [field for _, field in series]
        connection = await self._session.connection()
        return (await connection.execute(text(statement.format(series=_SERIES[self._dialect])), parameters)).all()

    @property
    def _dialect(self) -> str:
        return self._session.get_bind().dialect.name
