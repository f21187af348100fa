"""Reading what series amount to in buckets: from days and hours where those lie inside, from readings at the edges.

All instants and lengths are in milliseconds, all values scaled integers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from wattgate.db.reader import Session, dialect_of, fetch
from wattgate.db.readings.rollups import AMOUNTS, DAYS, HOURS, READINGS, Source
from wattgate.db.rowset import Rowset, text_of
from wattgate.energy.buckets import Grid, Run
from wattgate.energy.storage_fields import hourly

BIGINTS = np.dtype(">i8")
"""What PostgreSQL's int8send makes."""

SeriesKey = tuple[int, int]
"""Number of the resource and index of its storage field."""


class Span(NamedTuple):
    """Time to be read, from start to before stop, for buckets from the one at `position` on, each `step` long."""

    position: int
    start: int
    step: int
    stop: int


@dataclass(slots=True)
class Aggregates:
    """What one series amounts to in each bucket, in columns; a bucket whose `count` is 0 has no other amounts.

    `samples` are the values by instant of a series that is computed, and of which none is stored.
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

    @classmethod
    def empty(cls, size: int) -> "Aggregates":
        return cls(*([0] * size for _ in AMOUNTS))

    def add(self, position: int, amounts: Sequence[int]) -> None:
        """Put further amounts into a bucket."""
        if not self.count[position]:
            for name, amount in zip(AMOUNTS, amounts, strict=True):
                getattr(self, name)[position] = amount
            return
        count, total, least, greatest, first_at, last_at, estimated, revision, received_at = amounts
        self.count[position] += count
        self.sum[position] += total
        self.min[position] = min(self.min[position], least)
        self.max[position] = max(self.max[position], greatest)
        self.first_at[position] = min(self.first_at[position], first_at)
        self.last_at[position] = max(self.last_at[position], last_at)
        self.estimated[position] += estimated
        self.revision[position] += revision
        self.received_at[position] = max(self.received_at[position], received_at)


@dataclass(frozen=True, slots=True)
class Cover:
    """Which spans of a grid are read from which source."""

    spans: dict[str, list[Span]] = field(default_factory=dict)

    def add(self, source: Source, span: Span) -> None:
        spans = self.spans.setdefault(source.table, [])
        if spans and _follows(spans[-1], span):
            span = Span(*spans.pop()[:3], span.stop)
        spans.append(span)


def cover(grid: Grid, levels: Sequence[Source]) -> Cover:
    """The fewest spans that make up the buckets of a grid, of sources from the coarsest to the finest."""
    found, position = Cover(), 0
    for run in grid.runs:
        for source, span in _covered(run, position, levels):
            found.add(source, span)
        position += run.count
    return found


def _covered(run: Run, position: int, levels: Sequence[Source]) -> Iterator[tuple[Source, Span]]:
    level, *finer = levels
    if run.start % level.size == 0 and run.step % level.size == 0:
        yield level, Span(position, run.start, run.step, run.stop)
    elif run.step < level.size:
        yield from _covered(run, position, finer)
    else:
        for number in range(run.count):
            start = run.start + number * run.step
            yield from _bucket(start, start + run.step, position + number, levels)


def _bucket(start: int, stop: int, position: int, levels: Sequence[Source]) -> Iterator[tuple[Source, Span]]:
    """What one bucket is made of: whole rows of the coarsest level inside, and finer ones around them."""
    level, *finer = levels
    first, last = -(-start // level.size) * level.size, stop // level.size * level.size
    if first >= last:
        yield from _bucket(start, stop, position, finer)
        return
    if start < first:
        yield from _bucket(start, first, position, finer)
    yield level, Span(position, first, last - first, last)
    if last < stop:
        yield from _bucket(last, stop, position, finer)


def _follows(one: Span, other: Span) -> bool:
    """Whether the other span goes on where the one ends, bucket after bucket of the same length."""
    return (
        one.step == other.step
        and one.stop == other.start
        and other.position == one.position + (one.stop - one.start) // one.step
    )


_SERIES = Rowset("series", {"number": "bigint", "field": "int"})
_SPANS = Rowset("spans", {"position": "int", "start": "bigint", "step": "bigint", "stop": "bigint"})
_POSITION = "p.position + (r.at - p.start) / p.step"
_MATCH = "r.resource_number = s.number AND r.field = s.field AND r.at >= p.start AND r.at < p.stop"
_SELECT = {
    "sqlite": f"""
        SELECT s.number, s.field, {_POSITION} AS position, {{selected}}
        FROM {{series}} s CROSS JOIN {{spans}} p CROSS JOIN {{source}} r WHERE {_MATCH}
        GROUP BY s.number, s.field, {_POSITION}""",
    # one row for each series, with a column of every amount: arrays are decoded far faster than rows
    "postgresql": f"""
        SELECT s.number, s.field, array_agg(a.position), {", ".join(f"array_agg(a.{name})" for name in AMOUNTS)}
        FROM {{series}} s CROSS JOIN {{spans}} p
        CROSS JOIN LATERAL (
            SELECT {_POSITION} AS position, {{selected}} FROM {{source}} r
            WHERE {_MATCH} AND r.at >= :first AND r.at < :last GROUP BY 1 ORDER BY 1
        ) a
        GROUP BY s.number, s.field""",
}


_SAMPLE = ("at", "value", "quality", "revision", "received_at")
_SAMPLES = {
    "sqlite": f"""
        SELECT s.number, s.field, {", ".join(f"r.{name}" for name in _SAMPLE)}
        FROM {{series}} s CROSS JOIN reading r
        WHERE r.resource_number = s.number AND r.field = s.field AND r.at >= :first AND r.at < :last""",
    # for each series a text of bytes with every column, which takes half of what arrays take
    "postgresql": f"""
        SELECT s.number, s.field, {", ".join(f"a.{name}" for name in _SAMPLE)}
        FROM {{series}} s
        CROSS JOIN LATERAL (
            SELECT {", ".join(f"string_agg(int8send(r.{name}), '') AS {name}" for name in _SAMPLE)}
            FROM (
                SELECT {", ".join(_SAMPLE)} FROM reading
                WHERE resource_number = s.number AND field = s.field AND at >= :first AND at < :last ORDER BY at
            ) r
        ) a
        WHERE a.at IS NOT NULL""",
}


async def read(
    session: Session, series: Sequence[SeriesKey], grid: Grid, interval_ms: int | None
) -> dict[SeriesKey, Aggregates]:
    """What each series amounts to in the buckets of a grid: a statement for each source that is needed.

    `interval_ms` is the sampling interval of all the series' fields (`storage.Field`). Where no bucket holds more than
    one sample, nothing is aggregated, which takes a third of the time.
    """
    found = {key: Aggregates.empty(grid.count) for key in series}
    if interval_ms is not None and all(run.step <= interval_ms for run in grid.runs):
        for key, (at, *others) in (await _samples(session, series, grid)).items():
            _put(found, key, _of_samples(grid.positions(at), at, *others))
        return found
    levels = (DAYS, HOURS, READINGS) if hourly(interval_ms) else (DAYS, READINGS)
    spans = cover(grid, levels).spans
    dialect = dialect_of(session)
    for source in levels:
        if source.table not in spans:
            continue
        statement = _SELECT[dialect].format(
            selected=source.selected, source=source.table, series=_SERIES.sql(dialect), spans=_SPANS.sql(dialect)
        )
        parameters = _SERIES.parameters(dialect, series) | _SPANS.parameters(dialect, spans[source.table])
        if dialect != "sqlite":  # these let the planner leave out the partitions of other months
            parameters |= {"first": grid.start, "last": grid.stop}
        rows = await fetch(session, text_of(statement), parameters)
        for number, field_index, *columns in _columns(rows) if dialect == "sqlite" else rows:
            _put(found, (number, field_index), columns)
    return found


async def _samples(session: Session, series: Sequence[SeriesKey], grid: Grid) -> dict[SeriesKey, Sequence[list[int]]]:
    """The samples in the span of a grid of each series that has any: the columns of _SAMPLE."""
    dialect = dialect_of(session)
    statement = _SAMPLES[dialect].format(series=_SERIES.sql(dialect))
    parameters = _SERIES.parameters(dialect, series) | {"first": grid.start, "last": grid.stop}
    rows = await fetch(session, text_of(statement), parameters)
    if dialect == "sqlite":
        return {(number, field_index): columns for number, field_index, *columns in _columns(rows)}
    return {(number, field_index): [*map(_column, texts)] for number, field_index, *texts in rows}


def _column(text: bytes) -> list[int]:
    """The numbers of a column that stands in bytes."""
    column = np.frombuffer(text, BIGINTS)
    found: list[int] = column.tolist() if column.any() else [0] * len(column)
    return found


def _columns(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Rows of many buckets as one of each series, with a column of every amount: as PostgreSQL gives them."""
    for key, some in groupby(rows, itemgetter(0, 1)):
        yield *key, *map(list, islice(zip(*some, strict=True), 2, None))


def _put(found: dict[SeriesKey, Aggregates], key: SeriesKey, columns: Sequence[Any]) -> None:
    positions, *amounts = columns
    if positions == list(range(len(found[key].count))) and not any(found[key].count):
        found[key] = Aggregates(*amounts)  # every bucket at once and in order, as it nearly always is
    else:
        for position, *some in zip(positions, *amounts, strict=True):
            found[key].add(position, some)


def _of_samples(
    position: list[int], at: list[int], value: list[int], quality: list[int], revision: list[int], received: list[int]
) -> Sequence[list[int]]:
    """What single samples amount to, in columns."""
    estimated = [int(one != 0) for one in quality] if any(quality) else quality
    return position, [1] * len(at), value, [*value], [*value], at, [*at], estimated, revision, received
