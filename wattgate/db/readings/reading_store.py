"""Readings in SQL: writes with rollups, and reads of any number of series in one statement.

All instants are milliseconds since 1970 (UTC). All values are scaled integers; see `ReadingField`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import text

from wattgate.db.column_types import TableParameter, cached_text
from wattgate.db.connections.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings import aggregates, partitions, recording, withdrawals
from wattgate.db.readings.aggregates import Aggregates, SeriesKey, insert_tables
from wattgate.db.readings.power_integrals import fetch_power_integrals
from wattgate.db.readings.recording import ReadingColumns
from wattgate.db.readings.withdrawals import Deletion, WithdrawnFields
from wattgate.db.scope.row_scope import SystemAccess, system_access
from wattgate.energy.arrays import IntArray
from wattgate.energy.buckets import DAY_MS, BucketGrid
from wattgate.energy.display.live_power import PowerIntegral
from wattgate.energy.freshness import Receipt
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.energy.withdrawals import ALWAYS, Withdrawal
from wattgate.enums import ReadingQuality
from wattgate.pauses import slices


class StoredReading(NamedTuple):
    """A stored reading. `quality` is the code of a `ReadingQuality`."""

    at: int
    value: int
    quality: int


_READING_COLUMNS = "r.at, r.value, r.quality"
_SERIES = TableParameter("series", {"number": "bigint", "field": "int"})
_SELECT_EXTREME = f"""
    SELECT s.number, s.field, {_READING_COLUMNS}
    FROM {{series}} s CROSS JOIN {{reading}} r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at = (
        SELECT at FROM {{reading}} WHERE resource_number = s.number AND field = s.field{{until}}
        ORDER BY at {{order}} LIMIT 1)"""  # noqa: S608 (names of our own columns only; values are parameters)
_SELECT_LIST = f"""
    SELECT {_READING_COLUMNS} FROM {{reading}} r
    WHERE r.resource_number = :number AND r.field = :field AND r.at >= :start AND r.at < :stop
    ORDER BY r.at LIMIT :limit"""  # noqa: S608 (names of our own columns only; values are parameters)
_NEWEST = TableParameter("newest", {"number": "bigint", "field": "int", "since": "bigint"})
_SELECT_RECEIPTS = """
    SELECT s.number, s.field, r.received_at, max(r.at)
    FROM {newest} s CROSS JOIN {reading} r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= coalesce((
        SELECT at FROM {reading} WHERE resource_number = s.number AND field = s.field AND at >= s.since
        ORDER BY at DESC LIMIT 1 OFFSET {depth}), s.since)
    GROUP BY s.number, s.field, r.received_at
    ORDER BY s.number, s.field, r.received_at"""
_BETWEEN = TableParameter("spans", {"number": "bigint", "field": "int", "first": "bigint", "last": "bigint"})
_SELECT_BETWEEN = f"""
    SELECT s.number, s.field, {_READING_COLUMNS}
    FROM {{spans}} s CROSS JOIN {{reading}} r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.first AND r.at <= s.last
        AND r.at >= :oldest AND r.at <= :newest
    ORDER BY s.number, s.field, r.at"""  # noqa: S608 (names of our own columns only; values are parameters)
_NEIGHBOUR = """(
        SELECT at FROM {reading} WHERE resource_number = s.number AND field = s.field AND """
_NEIGHBOUR_BEFORE = f"{_NEIGHBOUR}at < s.first AND at >= :oldest ORDER BY at DESC LIMIT 1 OFFSET %d)"
_NEIGHBOUR_AFTER = f"{_NEIGHBOUR}at > s.last AND at <= :newest ORDER BY at LIMIT 1 OFFSET %d)"
_SELECT_NEIGHBOURS = f"""
    SELECT s.number, s.field,
        coalesce({_NEIGHBOUR_BEFORE % 1}, {_NEIGHBOUR_BEFORE % 0}, s.first),
        coalesce({_NEIGHBOUR_AFTER % 1}, {_NEIGHBOUR_AFTER % 0}, s.last)
    FROM {{spans}} s"""  # noqa: S608 (names of our own columns only; values are parameters)
_SELECT_NEWEST_INSTANTS = """
    SELECT s.number, s.field, r.at
    FROM {series} s CROSS JOIN {reading} r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= coalesce((
        SELECT at FROM {reading} WHERE resource_number = s.number AND field = s.field
        ORDER BY at DESC LIMIT 1 OFFSET 7), 0) AND r.quality <> {estimated}"""
MAX_DELAY_MS = 31 * DAY_MS
"""A reading received later than this after its instant is not sent to subscribers. Queries with `revised_since` return
it."""

_SELECT_RECEIVED = f"""
    SELECT s.number, s.field, {_READING_COLUMNS}
    FROM {{series}} s
    JOIN {{reading_day}} d ON d.resource_number = s.number AND d.field = s.field AND d.received_at >= :since
    JOIN {{reading}} r ON r.resource_number = s.number AND r.field = s.field
        AND r.at >= d.at AND r.at < d.at + {DAY_MS} AND r.received_at >= :since
    WHERE d.at >= :oldest
    ORDER BY r.received_at, r.at, s.number, s.field
    LIMIT :limit"""  # noqa: S608 (names of our own columns only; values are parameters)
_SERIES_SINCE = TableParameter("since", {"number": "bigint", "field": "int", "start": "bigint"})
_SELECT_SINCE = """
    SELECT s.number, s.field, r.at, r.value
    FROM {since} s CROSS JOIN {reading} r
    WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.start AND r.at >= :oldest
    ORDER BY s.number, s.field, r.at
    LIMIT :limit"""
_POINTS = TableParameter("places", {"number": "bigint", "field": "int", "at": "bigint"})
_SELECT_POINTS = f"""
    SELECT p.number, p.field, {_READING_COLUMNS}
    FROM {{places}} p CROSS JOIN {{reading}} r
    WHERE r.resource_number = p.number AND r.field = p.field AND r.at = p.at"""  # noqa: S608 (names of our own columns only; values are parameters)
_INCOMING = TableParameter(
    "incoming", {"number": "bigint", "field": "int", "at": "bigint", "value": "bigint", "quality": "int"}
)
# PostgreSQL runs a scalar subquery once for each row, with an index. It might join the whole table otherwise.
_COUNT_STORED = """
    SELECT count(c.differs), coalesce(sum(c.differs), 0) FROM (
        SELECT (
            SELECT CASE WHEN r.value <> i.value OR r.quality <> i.quality THEN 1 ELSE 0 END FROM {reading} r
            WHERE r.resource_number = i.number AND r.field = i.field AND r.at = i.at LIMIT 1
        ) AS differs FROM {incoming} i
    ) c"""
_SPANS = TableParameter("spans", {"number": "bigint", "field": "int", "first": "bigint", "last": "bigint"})
_HAS_STORED = """
    SELECT EXISTS (SELECT 1 FROM {spans} s WHERE (
        SELECT 1 FROM {reading} r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.first AND r.at <= s.last LIMIT 1
    ) IS NOT NULL)"""
_GAPS = TableParameter(
    "gaps", {"number": "bigint", "field": "int", "start": "bigint", "stop": "bigint", "step": "bigint"}
)
_SELECT_FIRST_GAP = """
    SELECT g.number, g.field, g.start, (
        SELECT min(r.at) + g.step FROM {reading} r
        WHERE r.resource_number = g.number AND r.field = g.field AND r.at >= g.start AND r.at < g.stop
          AND NOT EXISTS (
            SELECT 1 FROM {reading} n
            WHERE n.resource_number = g.number AND n.field = g.field AND n.at = r.at + g.step))
    FROM {gaps} g"""


_NUMBERS = TableParameter("numbers", {"number": "bigint", "before": "bigint"})
_SELECT_EXPIRED = """
    SELECT n.number FROM {numbers} n
    WHERE EXISTS (SELECT 1 FROM {reading_day} d WHERE d.resource_number = n.number AND d.at < n.before)"""
_DELETE_EXPIRED = """
    DELETE FROM {table} WHERE EXISTS (
        SELECT 1 FROM {numbers} n WHERE n.number = {table}.resource_number AND {table}.at < n.before)"""
_SELECT_DAYS = """
    SELECT d.at, sum(d.count) FROM {spans} s CROSS JOIN {reading_day} d
    WHERE d.resource_number = s.number AND d.field = s.field AND d.at >= s.first AND d.at <= s.last
    GROUP BY d.at ORDER BY d.at DESC"""
_COUNT_SINCE = """
    SELECT (
        SELECT coalesce(sum(d.count), 0) FROM {spans} s CROSS JOIN {reading_day} d
        WHERE d.resource_number = s.number AND d.field = s.field AND d.at >= s.last
    ) + (
        SELECT count(*) FROM {spans} s CROSS JOIN {reading} r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= s.first AND r.at < s.last)"""
MAX_INSTANT = 2**62
"""An instant after every reading, in milliseconds since 1970."""

_COUNT_REVISIONS = text("""
    SELECT CAST(coalesce(sum(revision), 0) AS bigint) FROM reading_day
    WHERE resource_number = :number AND field >= :field""")
_ERASE = """
    DELETE FROM {table} WHERE (resource_number, field, at) IN (
        SELECT resource_number, field, at FROM {table}
        WHERE resource_number = :number AND field >= :field ORDER BY field, at LIMIT :limit)"""


class ReadingStore:
    """The readings that one session sees. Series keys must come from rows of `Rows`, never from a request."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    async def record(self, readings: ReadingColumns, now_ms: int) -> None:
        """Store readings. A stored reading with another value or quality is revised.

        Raise UnscopedStatementError if the session may not change one of the resources.
        """
        if not len(readings.at):
            return
        connection = await self._session.connection()
        if connection.dialect.name == "postgresql":
            await recording.lock_resources(connection, np.unique(readings.number).tolist())
        with system_access(self._session, SystemAccess.RECORD_READINGS):
            await recording.upsert_readings(connection, readings, now_ms)

    async def purge(self, numbers: Sequence[int], before: int, *, limit: int) -> int:
        """Delete the readings of up to `limit` resources before a midnight (UTC). Return the number of resources."""
        connection = await self._session.connection()
        rows = await self._fetch(_SELECT_EXPIRED, _NUMBERS, [(number, before) for number in numbers])
        selected = [(number, before) for (number,) in rows[:limit]]
        if (
            connection.dialect.name == "postgresql"
        ):  # a concurrent write would leave readings that no daily rollup contains
            await recording.lock_resources(connection, [number for number, _ in selected])
        with system_access(self._session, SystemAccess.RECORD_READINGS):
            for table in withdrawals.READING_TABLES:
                statement = _DELETE_EXPIRED.format(table=table, numbers=_NUMBERS.sql(connection.dialect.name))
                await connection.execute(text(statement), _NUMBERS.parameters(connection.dialect.name, selected))
        return len(selected)

    async def erase(self, number: int, now_ms: int, *, first_field: int, limit: int) -> int:
        """Delete up to `limit` readings and rollups of a resource, from a field on. Return the largest count."""
        connection = await self._session.connection()
        parameters = {"number": number, "field": first_field, "limit": limit}
        if connection.dialect.name == "postgresql":  # a concurrent write would add rollups of erased readings
            await recording.lock_resources(connection, [number])
        with system_access(self._session, SystemAccess.RECORD_READINGS):
            revisions = (await connection.execute(_COUNT_REVISIONS, parameters)).scalar_one()
            counts = [
                (await connection.execute(text(_ERASE.format(table=table)), parameters)).rowcount
                for table in withdrawals.READING_TABLES
            ]
            if any(counts):
                erased = Withdrawal(now_ms, ALWAYS, None, revisions + 1, first_field)
                await withdrawals.record_withdrawals(connection, {number: erased})
        return max(counts)

    async def withdraw(self, fields: WithdrawnFields, since: int, now_ms: int) -> None:
        """Delete the readings of resources from an instant (ms) on, correct the rollups, and record it."""
        await self._withdraw(fields, Deletion.from_instant(since, MAX_INSTANT), now_ms)

    async def withdraw_before(self, fields: WithdrawnFields, until: int, now_ms: int) -> None:
        """Delete the readings of resources from before an instant (ms), correct the rollups, and record it."""
        await self._withdraw(fields, Deletion.before_instant(until), now_ms)

    async def _withdraw(self, fields: WithdrawnFields, deletion: Deletion, now_ms: int) -> None:
        if not fields:
            return
        connection = await self._session.connection()
        if connection.dialect.name == "postgresql":
            await recording.lock_resources(connection, sorted(fields))
        with system_access(self._session, SystemAccess.RECORD_READINGS):
            await withdrawals.withdraw(connection, fields, deletion, now_ms)

    async def count_since(self, fields: WithdrawnFields, since: int) -> int:
        """Return the number of readings that `withdraw` would delete. It reads one day of readings, then rollups."""
        if not fields:
            return 0
        next_day = since - since % DAY_MS + DAY_MS
        spans = [(number, index, since, next_day) for number in fields for index, _ in fields[number]]
        ((count,),) = await self._fetch(_COUNT_SINCE, _SPANS, spans)
        return int(count)

    async def start_of_newest(self, fields: WithdrawnFields, since: int, *, limit: int) -> int:
        """Return the midnight (UTC) from which on there are up to `limit` readings, or `since` if that is later.

        The span has the newest day in any case, which bounds it too.
        """
        first = since - since % DAY_MS
        spans = [(number, index, first, MAX_INSTANT) for number in fields for index, _ in fields[number]]
        start, total = MAX_INSTANT, 0
        for at, count in await self._fetch(_SELECT_DAYS, _SPANS, spans):
            total += count
            if total > limit and start != MAX_INSTANT:
                break
            start = at
        return since if start == MAX_INSTANT else max(start, since)

    async def maintain_partitions(self, now: datetime, *, unused_since: datetime) -> None:
        """On PostgreSQL, drop empty partitions before an instant and create those of the next months."""
        connection = await self._session.connection()
        if connection.dialect.name == "postgresql":
            with system_access(self._session, SystemAccess.MAINTAIN_PARTITIONS):
                await partitions.drop_empty_partitions(connection, unused_since)
                await partitions.ensure_upcoming_partitions(connection, now)

    async def aggregates(
        self, series: Mapping[SeriesKey, int | None], grid: BucketGrid, *, values_only: bool = False
    ) -> dict[SeriesKey, Aggregates]:
        """Aggregate each series in each bucket. The values of `series` are the sampling intervals (ms) of the fields.

        Series with the same interval share their statements. `values_only` is that of `fetch_aggregates`.
        """
        amounts: dict[SeriesKey, Aggregates] = {}
        for interval_ms in set(series.values()):
            keys = [key for key, interval in series.items() if interval == interval_ms]
            amounts |= await aggregates.fetch_aggregates(
                self._session, keys, grid, interval_ms, values_only=values_only
            )
        return amounts

    async def list_readings(self, series: SeriesKey, start: int, stop: int, *, limit: int) -> list[StoredReading]:
        """Return up to `limit` readings of a series in [start, stop), oldest first."""
        number, field = series
        statement = cached_text(insert_tables(_SELECT_LIST, dialect_name(self._session)))
        parameters = {"number": number, "field": field, "start": start, "stop": stop, "limit": limit}
        readings: list[StoredReading] = []
        async for part in slices(await fetch(self._session, statement, parameters)):
            readings += [StoredReading(*row) for row in part]
        return readings

    async def list_since(
        self, series: Mapping[SeriesKey, int], *, limit: int
    ) -> dict[SeriesKey, list[tuple[int, int]]] | None:
        """Return the readings (instant, value) of each series from its instant on; None if more than `limit`."""
        samples: dict[SeriesKey, list[tuple[int, int]]] = {key: [] for key in series}
        if not series:
            return samples
        spans = [(*key, start) for key, start in series.items()]
        # with the oldest instant PostgreSQL skips the partitions of earlier months
        rows = await self._fetch(_SELECT_SINCE, _SERIES_SINCE, spans, oldest=min(series.values()), limit=limit + 1)
        if len(rows) > limit:
            return None
        async for part in slices(rows):
            for number, field, at, value in part:
                samples[number, field].append((at, value))
        return samples

    async def values_at(self, points: Iterable[tuple[int, int, int]]) -> dict[tuple[int, int, int], int]:
        """Return the stored values at points (resource number, field, at), by point."""
        rows = await self._fetch(_SELECT_POINTS, _POINTS, list(points))
        return {(number, field, at): value for number, field, at, value, _ in rows}

    async def count_stored(self, readings: ReadingColumns) -> tuple[int, int]:
        """Return how many of these readings are stored with the same value and quality, and with another one."""
        bounds = readings.series_bounds()
        starts, ends = bounds[:-1], bounds[1:] - 1
        spans = (readings.number[starts], readings.field[starts], readings.at[starts], readings.at[ends])
        ((has_stored,),) = await self._fetch(_HAS_STORED, _SPANS, _rows_of(*spans))
        if not has_stored:
            return 0, 0
        columns = (readings.number, readings.field, readings.at, readings.value, readings.quality)
        ((stored, different),) = await self._fetch(_COUNT_STORED, _INCOMING, _rows_of(*columns))
        return int(stored - different), int(different)

    async def first_gaps(self, spans: Sequence[tuple[int, int, int, int, int]]) -> dict[tuple[int, int, int], int]:
        """Return the first missing instant of each span (resource number, field, start, stop, step).

        The first sample of each span must exist. The result is by resource number, field and start.
        """
        rows = await self._fetch(_SELECT_FIRST_GAP, _GAPS, spans)
        return {(number, field, start): at for number, field, start, at in rows}

    async def latest(self, series: Sequence[SeriesKey], *, until: int | None = None) -> dict[SeriesKey, StoredReading]:
        """Return the newest reading of each series. Series without readings are left out.

        Meters' clocks are not exact, so a reading may be dated ahead. With `until`, return the newest up to it: the
        present instant for a current value. It costs a second statement only if a reading is dated ahead.
        """
        newest = await self._fetch_extreme("DESC", series)
        ahead = [key for key, reading in newest.items() if until is not None and reading.at > until]
        if until is None or not ahead:
            return newest
        earlier = await self._fetch_extreme("DESC", ahead, until=until)
        return {key: earlier.get(key, reading) for key, reading in newest.items() if key in earlier or key not in ahead}

    async def earliest(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, StoredReading]:
        """Return the oldest reading of each series. Series without readings are left out."""
        return await self._fetch_extreme("ASC", series)

    async def newest_instants(self, series: Sequence[SeriesKey]) -> dict[SeriesKey, list[int]]:
        """Return the instants of the eight newest readings of each series, in any order.

        Estimated ones are left out: they may be derived from registers, and say nothing about the interval of data.
        """
        instants: dict[SeriesKey, list[int]] = {key: [] for key in series}
        sql = _SELECT_NEWEST_INSTANTS.replace("{estimated}", str(QUALITY_CODES[ReadingQuality.ESTIMATED]))
        for number, field, at in await self._fetch(sql, _SERIES, series):
            instants[number, field].append(at)
        return instants

    async def list_between(self, spans: Sequence[tuple[int, int, int, int]]) -> dict[SeriesKey, list[StoredReading]]:
        """Return the readings of each span (number, field, first, last), with both ends, oldest first."""
        readings: dict[SeriesKey, list[StoredReading]] = {(number, field): [] for number, field, _, _ in spans}
        if spans:
            limits = {"oldest": min(span[2] for span in spans), "newest": max(span[3] for span in spans)}
            async for part in slices(await self._fetch(_SELECT_BETWEEN, _BETWEEN, spans, **limits)):
                for number, field, *stored in part:
                    readings[number, field].append(StoredReading(*stored))
        return readings

    async def extend_spans(
        self, spans: Sequence[tuple[int, int, int, int]], *, most_ms: int
    ) -> list[tuple[int, int, int, int]]:
        """Return spans (number, field, first, last) that begin and end up to two readings, and `most_ms`, further."""
        limits = {
            "oldest": min(span[2] for span in spans) - most_ms,
            "newest": max(span[3] for span in spans) + most_ms,
        }
        rows = await self._fetch(_SELECT_NEIGHBOURS, _BETWEEN, spans, **limits)
        return [(number, field, first, last) for number, field, first, last in rows]

    async def receipts(self, series: Sequence[tuple[int, int, int]], count: int) -> dict[SeriesKey, list[Receipt]]:
        """Return the receipts of up to `count` newest readings of each series (number, field, since), in order.

        Readings received at the same time are one receipt. `since` lets PostgreSQL skip earlier partitions.
        """
        by_series: dict[SeriesKey, list[Receipt]] = {(number, field): [] for number, field, _ in series}
        for number, field, *receipt in await self._fetch(
            _SELECT_RECEIPTS.replace("{depth}", str(count - 1)), _NEWEST, series
        ):
            by_series[number, field].append(Receipt(*receipt))
        return by_series

    async def power_integrals(
        self, since: Sequence[tuple[int, int, int, int]], until: int
    ) -> dict[SeriesKey, list[PowerIntegral]]:
        """Return the integrals of power series (number, field, since, hold) in each half hour up to an instant."""
        return await fetch_power_integrals(self._session, since, until)

    async def list_received(
        self, series: Sequence[SeriesKey], since: int, *, limit: int
    ) -> list[tuple[SeriesKey, StoredReading]]:
        """Return up to `limit` readings of these series received since an instant, in the order of receipt."""
        rows = await self._fetch(
            _SELECT_RECEIVED, _SERIES, series, since=since, oldest=since - MAX_DELAY_MS, limit=limit
        )
        return [((number, field), StoredReading(*stored)) for number, field, *stored in rows]

    async def _fetch_extreme(
        self, order: str, series: Sequence[SeriesKey], **until: int
    ) -> dict[SeriesKey, StoredReading]:
        sql = _SELECT_EXTREME.replace("{order}", order).replace("{until}", " AND at <= :until" if until else "")
        result_rows = await self._fetch(sql, _SERIES, series, **until)
        return {(number, field): StoredReading(*stored) for number, field, *stored in result_rows}

    async def _fetch(
        self, sql: str, table_parameter: TableParameter, rows: Sequence[Any], **more: int
    ) -> Sequence[Any]:
        dialect = dialect_name(self._session)
        sql = sql.replace(f"{{{table_parameter.name}}}", table_parameter.sql(dialect))
        statement = cached_text(insert_tables(sql, dialect))
        return await fetch(self._session, statement, {**table_parameter.parameters(dialect, rows), **more})


def _rows_of(*columns: IntArray) -> list[tuple[int, ...]]:
    """Return columns as rows of Python integers."""
    return list(zip(*(column.tolist() for column in columns), strict=True))
