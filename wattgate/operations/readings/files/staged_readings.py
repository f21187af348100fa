"""Readings of a file in a temporary database on disk, so that a file of any size is sorted in bounded memory.

The decisions of an import need all lines of a series and day together, wherever they are in the file: repeated local
times, contradictions and repeats. SQLite keeps the temporary database in the folder for temporary files and deletes it
with the connection. It takes about as much space as the file.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, islice
from operator import itemgetter
from types import TracebackType
from typing import NamedTuple

import numpy as np

from wattgate.energy.arrays import BoolArray, FloatArray, IntArray
from wattgate.errors import TooLarge
from wattgate.reading_files.csv_columns import SeriesName

BUFFERED_LINES = 5_000
"""Number of lines that are written to the temporary database together."""

CACHE_KIB = 16 * 1024
"""Memory for pages of the temporary database."""

_SCHEMA = """
    CREATE TABLE reading (series INTEGER, at INTEGER, line INTEGER, value REAL, quality INTEGER);
    CREATE TABLE night_line (
        night INTEGER, series INTEGER, line INTEGER, local INTEGER, first INTEGER, second INTEGER, value REAL,
        quality INTEGER);
    CREATE TABLE series (series INTEGER PRIMARY KEY, target INTEGER);
"""


_ROW = np.dtype(
    [("target", np.int64), ("at", np.int64), ("line", np.int64), ("value", np.float64), ("quality", np.int64)]
)


@dataclass(frozen=True, slots=True)
class StagedColumns:
    """Readings of the file in columns: target, instant (ms), line, value and code of the quality."""

    target: IntArray
    at: IntArray
    line: IntArray
    value: FloatArray
    quality: IntArray

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[float, ...]]) -> "StagedColumns":
        columns = np.fromiter(rows, _ROW)
        return cls(*(np.ascontiguousarray(columns[column.name]) for column in fields(cls)))

    def take(self, index: IntArray | BoolArray) -> "StagedColumns":
        """Return the readings at these positions, or those of a mask."""
        return StagedColumns(*(getattr(self, column.name)[index] for column in fields(self)))

    def followed_by(self, after: "StagedColumns") -> "StagedColumns":
        """Return these readings and then those of `after`."""
        pairs = ((getattr(self, column.name), getattr(after, column.name)) for column in fields(self))
        return StagedColumns(*map(np.concatenate, pairs))


class NightLine(NamedTuple):
    """A line of a day on which local times repeat: its local time (ms), and the instants that this may mean.

    `series` is a number. `second` is None if the local time occurs only once.
    """

    series: int
    line: int
    local: int
    first: int
    second: int | None
    value: float
    quality: int


class StagedReadings:
    """The readings of a file. Series have numbers until `set_targets` says which target each of them means."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[SeriesName, int] = {}
        self._readings: list[tuple[int, int, int, float, int]] = []
        self._night_lines: list[tuple[int, NightLine]] = []
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)  # one after another
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._database.executescript(_SCHEMA)

    def __enter__(self) -> "StagedReadings":
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._database.close()
        if isinstance(error, sqlite3.OperationalError):
            raise TooLarge(
                f"The temporary database of the import cannot be written: {error}. Set TMPDIR to a folder with space "
                "for a copy of the file."
            ) from error

    @property
    def series(self) -> list[SeriesName]:
        """The names of all series, by their number."""
        return list(self._numbers)

    @property
    def series_count(self) -> int:
        """The number of series so far."""
        return len(self._numbers)

    def number_of(self, series: SeriesName) -> int:
        """Return the number of a series. A new series gets the next number."""
        return self._numbers.setdefault(series, len(self._numbers))

    def add(self, series: int, at: int, line: int, value: float, quality: int) -> None:
        """Add a reading with its instant in ms since 1970."""
        self.count += 1
        self._readings.append((series, at, line, value, quality))
        if len(self._readings) >= BUFFERED_LINES:
            self._write()

    def add_columns(
        self,
        series: Iterable[int],
        at: Iterable[int],
        line: Iterable[int],
        value: Iterable[float],
        quality: Iterable[int],
    ) -> None:
        """Add the readings of many lines, as `add` does for each."""
        readings = list(zip(series, at, line, value, quality, strict=True))
        self.count += len(readings)
        self._readings += readings
        if len(self._readings) >= BUFFERED_LINES:
            self._write()

    def add_night_line(self, night: int, line: NightLine) -> None:
        """Add a line of a day on which local times repeat. Its reading is added separately, when it is resolved."""
        self._night_lines.append((night, line))
        if len(self._night_lines) >= BUFFERED_LINES:
            self._write()

    def set_targets(self, targets: Sequence[int | None]) -> None:
        """Set the target of each series by its number. None means that the series is refused."""
        self._write()
        self._database.executemany("INSERT INTO series VALUES (?, ?)", enumerate(targets))

    def instants(self, size: int) -> Iterator[tuple[int, IntArray]]:
        """Yield each target with its instants in ascending order, in parts of up to `size` of one target."""
        self._write()
        rows = self._database.execute("""
            SELECT target, at FROM reading JOIN series USING (series) WHERE target IS NOT NULL ORDER BY target, at""")
        while len(part := np.fromiter(islice(rows, size), np.dtype([("target", np.int64), ("at", np.int64)]))):
            for target in np.unique(part["target"]).tolist():
                yield target, np.ascontiguousarray(part["at"][part["target"] == target])

    def off_grid(self, grids: Sequence[tuple[int, int] | None]) -> list[tuple[int, int]]:
        """Return for each target how many readings it has, and how many are not on its grid of start and interval."""
        self._write()
        self._database.execute("CREATE TEMP TABLE grid (target INTEGER PRIMARY KEY, start INTEGER, step INTEGER)")
        rows = ((target, *grid) for target, grid in enumerate(grids) if grid is not None)
        self._database.executemany("INSERT INTO grid VALUES (?, ?, ?)", rows)
        found = self._database.execute("""
            SELECT target, count(*), sum((at - start) % step <> 0)
            FROM reading JOIN series USING (series) JOIN grid USING (target) GROUP BY target""")
        counts = {target: (count, off) for target, count, off in found}
        return [counts.get(target, (0, 0)) for target in range(len(grids))]

    def refused_lines(self) -> Iterator[tuple[int, int]]:
        """Yield the line and the series of each line whose series has no target, in the order of the file."""
        yield from self._database.execute("""
            SELECT line, series FROM (
                SELECT line, series FROM reading
                UNION ALL SELECT line, series FROM night_line WHERE second IS NOT NULL)
            JOIN series USING (series) WHERE target IS NULL ORDER BY line""")

    def nights(self) -> Iterator[Iterator[NightLine]]:
        """Yield the lines of each target and night, in the order of the file."""
        rows = self._database.execute("""
            SELECT target, night, series, line, local, first, second, value, quality
            FROM night_line JOIN series USING (series) WHERE target IS NOT NULL ORDER BY target, night, line""")
        for _, group in groupby(rows, key=itemgetter(0, 1)):
            yield (NightLine(*row[2:]) for row in group)

    def readings(self, size: int) -> Iterator[StagedColumns]:
        """Yield the readings that have a target, up to `size` at once, by target, instant and line."""
        self._write()
        rows = self._database.execute("""
            SELECT target, at, line, value, quality FROM reading JOIN series USING (series)
            WHERE target IS NOT NULL ORDER BY target, at, line""")
        while len((batch := StagedColumns.from_rows(islice(rows, size))).line):
            yield batch

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO reading VALUES (?, ?, ?, ?, ?)", self._readings)
        self._database.executemany(
            "INSERT INTO night_line VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(night, *line) for night, line in self._night_lines],
        )
        self._database.execute("COMMIT")
        self._readings.clear()
        self._night_lines.clear()
