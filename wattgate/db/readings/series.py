"""Readings in SQL: recorded with their rollups, read set-wise, one statement for any number of series.

All instants are milliseconds since 1970 (UTC) and all values are scaled integers; see `storage.Field`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlmodel import col

from wattgate.db.models import Reading
from wattgate.db.reader import Session, dialect_of, fetch
from wattgate.db.readings import aggregates, held_power, partitions, recording
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.recording import Readings
from wattgate.db.readings.rollups import DAYS, HOURS
from wattgate.db.rowset import Rowset, text_of
from wattgate.energy.buckets import DAY, Grid
from wattgate.energy.display.power import Held
from wattgate.energy.freshness import Receipt


class Stored(NamedTuple):
    """A stored reading; `quality` is a `ReadingQuality`'s code."""

    at: int
    value: int
    quality: int


_STORED = "r.at, r.value, r.quality"
_SERIES = Rowset("series", {"number": "bigint", "field": "int"})
_EDGE_OF_SERIES = f"""
    SELECT s.number, s.field, {_STORED}
    FROM {{series}} s CROSS JOIN reading r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at = (
        SELECT {{which}}(at) FROM reading WHERE resource_number = s.number AND field = s.field)"""
_NEWEST = Rowset("newest", {"number": "bigint", "field": "int", "since": "bigint"})
_RECEIPTS = """
    SELECT s.number, s.field, r.received_at, max(r.at)
    FROM {newest} s CROSS JOIN reading r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.since AND r.at >= coalesce((
        SELECT at FROM reading WHERE resource_number = s.number AND field = s.field AND at >= s.since
        ORDER BY at DESC LIMIT 1 OFFSET {depth}), s.since)
    GROUP BY s.number, s.field, r.received_at
    ORDER BY s.number, s.field, r.received_at"""
LATE = 31 * DAY
"""How long after its instant a reading may be received to be told to those who follow. Later ones are found by
`revised_since`."""

_RECEIVED = f"""
    SELECT s.number, s.field, {_STORED}
    FROM {{series}} s
    JOIN reading_day d ON d.resource_number = s.number AND d.field = s.field AND d.received_at >= :since
    JOIN reading r ON r.resource_number = s.number AND r.field = s.field
        AND r.at >= d.at AND r.at < d.at + {DAY} AND r.received_at >= :since
    WHERE d.at >= :oldest
    ORDER BY r.received_at, r.at, s.number, s.field
    LIMIT :limit"""
_SINCE = Rowset("since", {"number": "bigint", "field": "int", "start": "bigint"})
_FROM_ON = """
    SELECT s.number, s.field, r.at, r.value
    FROM {since} s CROSS JOIN reading r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.start AND r.at >= :oldest
    ORDER BY s.number, s.field, r.at
    LIMIT :limit"""
_PLACES = Rowset("places", {"number": "bigint", "field": "int", "at": "bigint"})
_AT_PLACES = f"""
    SELECT p.number, p.field, {_STORED}
    FROM {{places}} p CROSS JOIN reading r
    WHERE r.resource_number = p.number AND r.field = p.field AND r.at = p.at"""
_GAPS = Rowset("gaps", {"number": "bigint", "field": "int", "start": "bigint", "stop": "bigint", "step": "bigint"})
_FIRST_GAP = """
    SELECT g.number, g.field, g.start, (
        SELECT min(r.at) + g.step FROM reading r
        WHERE r.resource_number = g.number AND r.field = g.field AND r.at >= g.start AND r.at < g.stop
          AND NOT EXISTS (
            SELECT 1 FROM reading n
            WHERE n.resource_number = g.number AND n.field = g.field AND n.at = r.at + g.step))
    FROM {gaps} g"""


_NUMBERS = Rowset("numbers", {"number": "bigint", "before": "bigint"})
_OLD = """
    SELECT n.number FROM {numbers} n
    WHERE EXISTS (SELECT 1 FROM reading_day d WHERE d.resource_number = n.number AND d.at < n.before)"""
_FORGET = """
    DELETE FROM {table} WHERE EXISTS (
        SELECT 1 FROM {numbers} n WHERE n.number = {table}.resource_number AND {table}.at < n.before)"""


class Series:
    """The readings that one session sees. The keys of series come from rows that `Rows` gave, never from outside."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def record(self, readings: Readings, now_ms: int) -> None:
        """Store readings; those that are stored already with another value or quality are revised."""
        if len(readings.at):
            await recording.record(await self._session.connection(), readings, now_ms)

    async def forget(self, numbers: Sequence[int], before: int, *, limit: int) -> int:
        """Delete the readings from before a midnight (UTC) of at most so many of these resources; how many had some."""
        connection = await self._session.connection()
        found = await self._run(_OLD, _NUMBERS, [(number, before) for number in numbers])
        chosen = [(number, before) for (number,) in found[:limit]]
        if connection.dialect.name == "postgresql":  # a write under way would leave readings that no day counts
            await recording.lock(connection, [number for number, _ in chosen])
        for table in ("reading", HOURS.table, DAYS.table):
            statement = _FORGET.format(table=table, numbers=_NUMBERS.sql(connection.dialect.name))
            await connection.execute(text(statement), _NUMBERS.parameters(connection.dialect.name, chosen))
        return len(chosen)

    async def keep_house(self, now: datetime, *, unused_since: datetime) -> None:
        """On PostgreSQL drop empty partitions from before an instant, and make those of the months to come."""
        connection = await self._session.connection()
        if connection.dialect.name == "postgresql":
            await partitions.drop_empty(connection, unused_since)
            await partitions.ahead(connection, now)

    async def aggregates(self, series: Mapping[SeriesKey, int | None], grid: Grid) -> dict[SeriesKey, Aggregates]:
        """What the readings of each series amount to in each bucket; with each series the interval (ms) of its field.

        Series of one interval share their statements.
        """
        found: dict[SeriesKey, Aggregates] = {}
        for interval_ms in set(series.values()):
            alike = [key for key, interval in series.items() if interval == interval_ms]
            found |= await aggregates.read(self._session, alike, grid, interval_ms)
        return found

    async def raw(self, series: SeriesKey, start: int, stop: int, *, limit: int) -> list[Stored]:
        """At most so many readings of a series from start to before stop, oldest first."""
        number, field = series
        statement = (
            select(col(Reading.at), col(Reading.value), col(Reading.quality))
            .where(col(Reading.resource_number) == number, col(Reading.field) == field)
            .where(col(Reading.at) >= start, col(Reading.at) < stop)
            .order_by(col(Reading.at))
            .limit(limit)
        )
        return [Stored(*row) for row in await self._session.execute(statement)]

    async def from_on(
        self, series: Mapping[SeriesKey, int], *, limit: int
    ) -> dict[SeriesKey, list[tuple[int, int]]] | None:
        """The readings (instant, value) of each series from an instant on, in order; None if more than the limit."""
        found: dict[SeriesKey, list[tuple[int, int]]] = {key: [] for key in series}
        if not series:
            return found
        wanted = [(*key, start) for key, start in series.items()]
        # the oldest of all lets PostgreSQL leave out the partitions of earlier months
        rows = await self._run(_FROM_ON, _SINCE, wanted, oldest=min(series.values()), limit=limit + 1)
        if len(rows) > limit:
            return None
        for number, field, *sample in rows:
            found[number, field].append((sample[0], sample[1]))
        return found

    async def values_at(self, places: Iterable[tuple[int, int, int]]) -> dict[tuple[int, int, int], int]:
        """The stored values at places (resource number, field, at), by place."""
        found = await self._run(_AT_PLACES, _PLACES, list(places))
        return {(number, field, at): value for number, field, at, value, _ in found}

    async def first_gaps(self, spans: Sequence[tuple[int, int, int, int, int]]) -> dict[tuple[int, int, int], int]:
        """For spans (resource number, field, start, stop, step) whose first sample is there, the first that is not.

        The answer is by resource number, field and start.
        """
        found = await self._run(_FIRST_GAP, _GAPS, spans)
        return {(number, field, start): at for number, field, start, at in found}

    async def latest(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        """The newest reading of each series that has one."""
        return await self._edge_of("max", series)

    async def earliest(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        """The oldest reading of each series that has one."""
        return await self._edge_of("min", series)

    async def receipts(self, series: Sequence[tuple[int, int, int]], count: int) -> dict[SeriesKey, list[Receipt]]:
        """When the newest readings were received, at most so many of each series (resource number, field, since when).

        In order; what came at once is one receipt. To say since when spares PostgreSQL the partitions before.
        """
        by_series: dict[SeriesKey, list[Receipt]] = {(number, field): [] for number, field, _ in series}
        for number, field, *receipt in await self._run(_RECEIPTS.replace("{depth}", str(count - 1)), _NEWEST, series):
            by_series[number, field].append(Receipt(*receipt))
        return by_series

    async def held_power(self, since: Sequence[tuple[int, int, int]], until: int) -> dict[SeriesKey, list[Held]]:
        """What series of power (resource number, field, since when) held in each half hour up to an instant."""
        return await held_power.read(self._session, since, until)

    async def received(self, series: Sequence[SeriesKey], since: int, *, limit: int) -> list[tuple[SeriesKey, Stored]]:
        """At most so many readings of these series that were received since an instant, in the order of receipt."""
        found = await self._run(_RECEIVED, _SERIES, series, since=since, oldest=since - LATE, limit=limit)
        return [((number, field), Stored(*stored)) for number, field, *stored in found]

    async def _edge_of(self, which: str, series: Sequence[SeriesKey]) -> dict[SeriesKey, Stored]:
        found = await self._run(_EDGE_OF_SERIES.replace("{which}", which), _SERIES, series)
        return {(number, field): Stored(*stored) for number, field, *stored in found}

    async def _run(self, sql: str, rowset: Rowset, rows: Sequence[Any], **more: int) -> Sequence[Any]:
        dialect = dialect_of(self._session)
        statement = text_of(sql.replace(f"{{{rowset.name}}}", rowset.sql(dialect)))
        return await fetch(self._session, statement, {**rowset.parameters(dialect, rows), **more})
