"""Aggregates of series in buckets.

A bucket is read from the rollups of whole days and hours inside it, and from single readings at its edges. `plan_reads`
chooses the spans. All instants and lengths are in milliseconds, all values are scaled integers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import TextClause

from wattgate.db.column_types import TableParameter, cached_text
from wattgate.db.connections.reader import DatabaseSession, dialect_name, fetch
from wattgate.db.readings.rollups import AGGREGATE_COLUMNS, DAY_SOURCE, HOUR_SOURCE, READING_SOURCE, ReadingSource
from wattgate.energy.buckets import BucketGrid, BucketRun
from wattgate.energy.costs.pricing import divide_half_up
from wattgate.energy.costs.tariffs import CostBasis
from wattgate.energy.storage_fields import has_hourly_rollup
from wattgate.enums import NoValueReason
from wattgate.pauses import pause_for

SeriesKey = tuple[int, int]
"""The number of a resource and the index of its storage field."""


INSTANT_BYTES = 8
"""Length of an instant in a column that PostgreSQL returns as one byte string."""


class ReadSpan(NamedTuple):
    """A span of time to read, [start, stop). Its buckets are `step` long, and the first one is at `position`."""

    position: int
    start: int
    step: int
    stop: int


class ExactSums(NamedTuple):
    """The sums of buckets before rounding. `unit` of them is one of a rounded sum."""

    amounts: Sequence[int]
    unit: int

    def merge(self, positions: Iterable[int | None], size: int) -> "ExactSums":
        """Return the sums of coarser buckets. `positions` has that of each bucket; None leaves the bucket out."""
        merged = [0] * size
        for amount, position in zip(self.amounts, positions, strict=True):
            if position is not None:
                merged[position] += amount
        return ExactSums(merged, self.unit)

    @property
    def rounded(self) -> list[int]:
        return [divide_half_up(amount, self.unit) for amount in self.amounts]


@dataclass(slots=True)
class Aggregates:
    """The aggregates of one series in each bucket, in columns. If `count` is 0, the other values have no meaning.

    A computed series of costs has `samples`, the values by instant, `cost_basis`, and the `exact` sums. `energy_count`
    is then the number of readings of the energy in each bucket, with and without a price.
    """

    count: list[int]
    sum: list[int]
    min: list[int]
    max: list[int]
    first_at: list[int]
    last_at: list[int]
    estimated: list[int]
    revision: list[int]
    received_at: list[int]
    samples: Mapping[int, int] | None = field(default=None, init=False)
    cost_basis: CostBasis | None = field(default=None, init=False)
    energy_count: Sequence[int] = field(default=(), init=False)
    exact: ExactSums | None = field(default=None, init=False)

    @classmethod
    def empty(cls, size: int) -> "Aggregates":
        return cls(*([0] * size for _ in AGGREGATE_COLUMNS))

    @property
    def total(self) -> int:
        """The sum of all buckets. Costs are rounded once, so that it does not depend on the buckets."""
        return sum(self.sum) if self.exact is None else divide_half_up(sum(self.exact.amounts), self.exact.unit)

    def no_value_reason(self, edges: Sequence[int], first: int, last: int) -> NoValueReason | None:
        """Return why the buckets from `first` to `last` have no value; None if they have readings.

        `edges` are the instants of the grid.
        """
        if any(self.count[first : last + 1]):
            return None
        if self.cost_basis is None:
            return NoValueReason.NO_READINGS
        has_readings = any(self.energy_count[first : last + 1])
        return self.cost_basis.no_value_reason(edges[first], edges[last + 1], has_readings=has_readings)

    def scaled_values(self, column: str, scale: int) -> Sequence[float | None]:
        """Return the sum, minimum or maximum of each bucket, divided by `scale`; None for a bucket without readings."""
        amounts = getattr(self, column)
        if all(self.count):
            return [amount / scale for amount in amounts]
        return [amount / scale if count else None for amount, count in zip(amounts, self.count, strict=True)]

    def add(self, position: int, amounts: Sequence[int]) -> None:
        """Add the amounts of further readings to a bucket, in the order of AGGREGATE_COLUMNS."""
        if not self.count[position]:
            for name, amount in zip(AGGREGATE_COLUMNS, amounts, strict=True):
                getattr(self, name)[position] = amount
            return
        count, total, minimum, maximum, first_at, last_at, estimated, revision, received_at = amounts
        self.count[position] += count
        self.sum[position] += total
        self.min[position] = min(self.min[position], minimum)
        self.max[position] = max(self.max[position], maximum)
        self.first_at[position] = min(self.first_at[position], first_at)
        self.last_at[position] = max(self.last_at[position], last_at)
        self.estimated[position] += estimated
        self.revision[position] += revision
        self.received_at[position] = max(self.received_at[position], received_at)


class EncodedSamples(Aggregates):
    """The aggregates of buckets with exactly one sample each. A column is decoded when it is read first.

    `starts` are the instants of the samples. The other columns are encoded as `decode_column` expects them. `origin`
    is empty, or has the columns of quality, revision and time of receipt.
    """

    __slots__ = ("_origin", "_starts", "_value")

    def __init__(self, starts: list[int], value: bytes, *origin: bytes) -> None:
        self._starts, self._value, self._origin = starts, value, origin
        self.samples, self.cost_basis, self.energy_count, self.exact = None, None, (), None

    def __getattr__(self, name: str) -> list[int]:  # Python calls it for a column that is not set yet
        column = self._decode(name)
        setattr(self, name, column)
        return column

    def scaled_values(self, column: str, scale: int) -> list[float]:
        """Return the sum, minimum or maximum of each bucket, which is its sample, divided by `scale`."""
        assert column in {"sum", "min", "max"}
        return decode_scaled(self._value, scale)

    def _decode(self, name: str) -> list[int]:
        match name:
            case "count":
                return [1] * len(self._starts)
            case "sum" | "min" | "max":
                return decode_column(self._value)
            case "first_at" | "last_at":
                return [*self._starts]
            case "estimated" if self._origin:
                return [int(code != 0) for code in decode_column(self._origin[0])]
            case "revision" if self._origin:
                return decode_column(self._origin[1])
            case "received_at" if self._origin:
                return decode_column(self._origin[2])
        raise AttributeError(name)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The spans of a grid to read from each source, by table."""

    spans: dict[str, list[ReadSpan]] = field(default_factory=dict)

    def add(self, source: ReadingSource, span: ReadSpan) -> None:
        spans = self.spans.setdefault(source.table, [])
        if spans and _is_contiguous(spans[-1], span):
            span = ReadSpan(*spans.pop()[:3], span.stop)
        spans.append(span)


def plan_reads(grid: BucketGrid, levels: Sequence[ReadingSource]) -> ReadPlan:
    """Return the fewest spans that cover the buckets of a grid. `levels` are sources, the coarsest first."""
    plan, position = ReadPlan(), 0
    for run in grid.runs:
        for source, span in _plan_run(run, position, levels):
            plan.add(source, span)
        position += run.count
    return plan


def _plan_run(
    run: BucketRun, position: int, levels: Sequence[ReadingSource]
) -> Iterator[tuple[ReadingSource, ReadSpan]]:
    level, *finer = levels
    if run.start % level.interval_ms == 0 and run.step % level.interval_ms == 0:
        yield level, ReadSpan(position, run.start, run.step, run.stop)
    elif run.step < level.interval_ms:
        yield from _plan_run(run, position, finer)
    else:
        for number in range(run.count):
            start = run.start + number * run.step
            yield from _plan_bucket(start, start + run.step, position + number, levels)


def _plan_bucket(
    start: int, stop: int, position: int, levels: Sequence[ReadingSource]
) -> Iterator[tuple[ReadingSource, ReadSpan]]:
    """Yield the spans of one bucket: rows of the coarsest level that fit inside it, and finer rows around them."""
    level, *finer = levels
    first, last = -(-start // level.interval_ms) * level.interval_ms, stop // level.interval_ms * level.interval_ms
    if first >= last:
        yield from _plan_bucket(start, stop, position, finer)
        return
    if start < first:
        yield from _plan_bucket(start, first, position, finer)
    yield level, ReadSpan(position, first, last - first, last)
    if last < stop:
        yield from _plan_bucket(last, stop, position, finer)


def _is_contiguous(span: ReadSpan, next_span: ReadSpan) -> bool:
    """Return whether `next_span` continues `span` with the next bucket of the same length."""
    return (
        span.step == next_span.step
        and span.stop == next_span.start
        and next_span.position == span.position + (span.stop - span.start) // span.step
    )


_SERIES = TableParameter("series", {"number": "bigint", "field": "int"})
_SPANS = TableParameter("spans", {"position": "int", "start": "bigint", "step": "bigint", "stop": "bigint"})
_POSITION = "p.position + (r.at - p.start) / p.step"
_MATCH = "r.resource_number = s.number AND r.field = s.field AND r.at >= p.start AND r.at < p.stop"
_SELECT_AGGREGATES = {
    "sqlite": f"""
        SELECT s.number, s.field, {_POSITION} AS position, {{selected}}
        FROM {{series}} s CROSS JOIN {{spans}} p CROSS JOIN {{source}} r WHERE {_MATCH}
        GROUP BY s.number, s.field, {_POSITION}""",  # noqa: S608 (names of our own columns only; values are parameters)
    # one row for each series, with an array for each column: arrays are decoded much faster than rows
    "postgresql": f"""
        SELECT s.number, s.field, array_agg(a.position),
            {", ".join(f"array_agg(a.{name})" for name in AGGREGATE_COLUMNS)}
        FROM {{series}} s CROSS JOIN {{spans}} p
        CROSS JOIN LATERAL (
            SELECT {_POSITION} AS position, {{selected}} FROM {{source}} r
            WHERE {_MATCH} AND r.at >= :first AND r.at < :last GROUP BY 1 ORDER BY 1
        ) a
        GROUP BY s.number, s.field""",  # noqa: S608 (names of our own columns only; values are parameters)
}


_SAMPLE_COLUMNS = ("at", "value", "quality", "revision", "received_at")
_VALUE_COLUMNS = _SAMPLE_COLUMNS[:2]
_ORIGIN_COLUMNS = ("estimated", "revision", "received_at")
"""The columns of aggregates that samples without the columns after `value` do not have."""

_SELECT_SAMPLES = {
    "sqlite": """
        SELECT s.number, s.field, {columns}
        FROM {series} s CROSS JOIN {reading} r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= :first AND r.at < :last""",
    # one byte string for each series and column, which takes half the time of arrays
    "postgresql": """
        SELECT s.number, s.field, a.*
        FROM {series} s
        CROSS JOIN LATERAL (
            SELECT {columns}
            FROM (
                SELECT {names} FROM {reading}
                WHERE resource_number = s.number AND field = s.field AND at >= :first AND at < :last ORDER BY at
            ) r
        ) a
        WHERE a.at IS NOT NULL""",
}


async def fetch_aggregates(
    session: DatabaseSession,
    series: Sequence[SeriesKey],
    grid: BucketGrid,
    interval_ms: int | None,
    *,
    values_only: bool = False,
) -> dict[SeriesKey, Aggregates]:
    """Aggregate each series in the buckets of a grid, with one statement for each source that the plan uses.

    `interval_ms` is the sampling interval of the fields of all series (`ReadingField.interval_ms`). If no bucket can
    have more than one sample, samples are read without aggregation, which takes a third of the time. If `values_only`,
    they may be read without _ORIGIN_COLUMNS; to read such a column raises AttributeError.
    """
    if interval_ms is not None and all(run.step <= interval_ms for run in grid.runs):
        return await _fetch_samples(session, series, grid, _VALUE_COLUMNS if values_only else _SAMPLE_COLUMNS)
    aggregates = {key: Aggregates.empty(grid.count) for key in series}
    levels = (
        (DAY_SOURCE, HOUR_SOURCE, READING_SOURCE) if has_hourly_rollup(interval_ms) else (DAY_SOURCE, READING_SOURCE)
    )
    spans = plan_reads(grid, levels).spans
    dialect = dialect_name(session)
    for source in levels:
        if source.table not in spans:
            continue
        statement = _SELECT_AGGREGATES[dialect].format(
            selected=source.select_list,
            source=own_table(source.table, dialect),
            series=_SERIES.sql(dialect),
            spans=_SPANS.sql(dialect),
        )
        parameters = _SERIES.parameters(dialect, series) | _SPANS.parameters(dialect, spans[source.table])
        if dialect != "sqlite":  # with these limits the planner skips the partitions of other months
            parameters |= {"first": grid.start, "last": grid.stop}
        rows = await fetch(session, cached_text(statement), parameters)
        for number, field_index, *columns in _columns_by_series(rows) if dialect == "sqlite" else rows:
            await pause_for(len(columns[0]))
            store_columns(aggregates, (number, field_index), columns)
    return aggregates


async def _fetch_samples(
    session: DatabaseSession, series: Sequence[SeriesKey], grid: BucketGrid, names: tuple[str, ...]
) -> dict[SeriesKey, Aggregates]:
    """Return the aggregates of series that have at most one sample in each bucket, from these columns of samples."""
    dialect = dialect_name(session)
    parameters = _SERIES.parameters(dialect, series) | {"first": grid.start, "last": grid.stop}
    rows = await fetch(session, _samples_statement(dialect, names), parameters)
    aggregates: dict[SeriesKey, Aggregates] = {}
    if dialect == "sqlite":
        await pause_for(len(rows))
        for number, field_index, *columns in _columns_by_series(rows):
            await pause_for(len(columns[0]))
            aggregates[number, field_index] = _place_samples(grid, *columns)
    else:
        for number, field_index, *texts in rows:
            await pause_for(len(texts[0]) // INSTANT_BYTES)
            is_complete = texts[0] == grid.encoded_starts  # the usual case: one sample for each bucket
            aggregates[number, field_index] = (
                EncodedSamples(grid.starts, *texts[1:])
                if is_complete
                else _place_samples(grid, *map(decode_column, texts))
            )
    return aggregates | {key: Aggregates.empty(grid.count) for key in series if key not in aggregates}


@cache
def _samples_statement(dialect: str, names: tuple[str, ...]) -> TextClause:
    column = "r.{0}" if dialect == "sqlite" else "string_agg(int8send(r.{0}), '') AS {0}"
    sql = _SELECT_SAMPLES[dialect].format(
        series=_SERIES.sql(dialect),
        reading=own_table("reading", dialect),
        names=", ".join(names),
        columns=", ".join(map(column.format, names)),
    )
    return cached_text(sql)


def _place_samples(grid: BucketGrid, at: list[int], *columns: list[int]) -> Aggregates:
    """Return the aggregates of samples, each of which is the only one of its bucket."""
    has_origin = len(columns) > 1
    amounts = _aggregate_samples(at, *columns, *() if has_origin else ([0] * len(at),) * 3)
    if at == grid.starts:
        aggregates = Aggregates(*amounts)
    else:
        aggregates = Aggregates.empty(grid.count)
        for position, *bucket_amounts in zip(grid.positions_of(at), *amounts, strict=True):
            aggregates.add(position, bucket_amounts)
    if not has_origin:
        for name in _ORIGIN_COLUMNS:
            delattr(aggregates, name)
    return aggregates


def _columns_by_series(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Group rows of single buckets into one row for each series with columns, the form that PostgreSQL returns."""
    for key, group in groupby(rows, itemgetter(0, 1)):
        yield *key, *map(list, islice(zip(*group, strict=True), 2, None))


def store_columns(aggregates: dict[SeriesKey, Aggregates], key: SeriesKey, columns: Sequence[Any]) -> None:
    """Add columns of one source to the aggregates of a series: the positions of buckets, then AGGREGATE_COLUMNS."""
    positions, *amounts = columns
    if positions == list(range(len(aggregates[key].count))) and not any(aggregates[key].count):
        aggregates[key] = Aggregates(*amounts)  # the usual case: all buckets at once and in order
    else:
        for position, *bucket_amounts in zip(positions, *amounts, strict=True):
            aggregates[key].add(position, bucket_amounts)


def _aggregate_samples(
    at: list[int], value: list[int], quality: list[int], revision: list[int], received: list[int]
) -> Sequence[list[int]]:
    """Return AGGREGATE_COLUMNS of buckets with one sample each."""
    estimated = [int(code != 0) for code in quality] if any(quality) else quality
    return [1] * len(at), value, [*value], [*value], at, [*at], estimated, revision, received


# The names of the relations with the readings that a session may see.

READING_TABLES = ("reading", "reading_hour", "reading_day")


def own_table(table: str, dialect: str) -> str:
    """Return the relation to read instead of a table: on PostgreSQL the view of the rows in the session's scope."""
    return f"own_{table}" if dialect == "postgresql" else table


def insert_tables(sql: str, dialect: str) -> str:
    """Replace the placeholders `{reading}`, `{reading_hour}` and `{reading_day}` by the relations to read."""
    for table in READING_TABLES:
        sql = sql.replace(f"{{{table}}}", own_table(table, dialect))
    return sql


# Columns of integers as PostgreSQL sends them: the bytes of `int8send`, one after another.

BIGINT_DTYPE = np.dtype(">i8")
"""The format of PostgreSQL's int8send."""

_MAX_EXACT = 2**53
"""Up to this integer, a double represents each one exactly."""


def decode_column(text: bytes) -> list[int]:
    """Return the numbers of a column that is encoded as bytes."""
    first, size = text[:8], len(text) // 8
    if text == first * size:  # such as the quality of readings, or the time at which they were received together
        return [int.from_bytes(first, "big", signed=True)] * size
    numbers: list[int] = np.frombuffer(text, BIGINT_DTYPE).astype(np.int64).tolist()
    return numbers


def decode_scaled(text: bytes, scale: int) -> list[float]:
    """Return the numbers of a column, each divided by a power of ten: the doubles that are nearest to the quotients."""
    numbers = np.frombuffer(text, BIGINT_DTYPE).astype(np.int64)
    if numbers.size and (numbers.max() > _MAX_EXACT or numbers.min() < -_MAX_EXACT):
        return [number / scale for number in numbers.tolist()]  # Python rounds the exact quotient
    quotients: list[float] = (numbers / float(scale)).tolist()
    return quotients
