"""The columns of a CSV file of readings, and the parser of its lines.

The header names the columns, in any order and in any case. Other columns are ignored. Each line has as many cells as
the header: a line with a decimal comma would have one more, and its number would lose its decimal places.

- `value`
- either `at` (ISO 8601; UTC if it has no offset) or `localTime` (local time in the time zone of the import)
- `field`, optional; the default is the first field of the resource
- `quality`, optional; the default is ACTUAL
- `resourceId`, unless the import has one resource for all lines
- `mpxn`, `mpan` or `mprn` (a meter point) and `classifier`, if the import is for one home
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.energy.plain_columns import parse_instants, parse_numbers
from wattgate.errors import BadInput
from wattgate.reading_files.cells import InvalidLine, parse_number, parse_quality
from wattgate.reading_files.line_reader import MAX_LINE_BYTES

METER_POINT_COLUMNS = ("mpxn", "mpan", "mprn")
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        name.lower(): name
        for name in ("value", "at", "localTime", "resourceId", "field", "quality", "classifier", *METER_POINT_COLUMNS)
    }
)
"""The names of the columns, by their form in lower case."""


class SeriesName(NamedTuple):
    """How a line names its series. An empty text means that the line does not say.

    `unit` is that of the values. `is_derived` says that they are computed, such as the energy of a mean power, so that
    they may have more decimal places than a field stores.
    """

    resource_id: str = ""
    meter_point: str = ""
    classifier: str = ""
    field: str = ""
    unit: str = ""
    is_derived: bool = False


class CsvReading(NamedTuple):
    """The reading of a line. `time` is aware, or a local time without a zone. `quality` is a code."""

    series: SeriesName
    time: datetime
    value: float
    quality: int


@dataclass(frozen=True, slots=True)
class CsvBlock:
    """The readings of successive lines in columns. `at` is in ms since 1970, and `quality` are codes."""

    series: Sequence[SeriesName]
    at: IntArray
    value: FloatArray
    quality: Sequence[int]


@dataclass(frozen=True, slots=True)
class CsvColumns:
    """The index of each column that the file has, by its name, the number of all its columns, and the delimiter.

    With `names_home`, lines may name the resources of a home by meter point and classifier.
    """

    positions: Mapping[str, int]
    count: int
    delimiter: str
    names_home: bool

    @classmethod
    def from_header(cls, header: str, *, names_resource: bool, names_home: bool = False) -> "CsvColumns":
        """Parse the header. Raise BadInput if a column is missing, occurs twice, or conflicts with an option.

        `names_resource` and `names_home` say whether the import has one resource, or one home, for all lines.
        """
        delimiter = ";" if header.count(";") > header.count(",") else ","
        try:
            names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        except csv.Error as error:
            raise BadInput(f"the header is not CSV: {error}. Save the file with line ends LF or CR LF") from None
        positions = {COLUMNS[name]: names.index(name) for name in names if name in COLUMNS}
        if "value" not in positions:
            raise BadInput("the header has no column `value`; add it")
        if ("at" in positions) == ("localTime" in positions):
            raise BadInput("the header must have exactly one of the columns `at` and `localTime`")
        has_column = "resourceId" in positions
        if (has_column and names_resource) or not (has_column or names_resource or names_home):
            raise BadInput("use either the column `resourceId` or the option --resource, not both and not neither")
        if twice := sorted(name for name in positions if names.count(name.lower()) > 1):
            raise BadInput(f"the header has the column `{twice[0]}` twice; remove one of them")
        return cls(MappingProxyType(positions), len(names), delimiter, names_home)

    @property
    def has_local_times(self) -> bool:
        return "localTime" in self.positions

    def parse_line(self, text: str) -> CsvReading:
        """Parse a line. Raise InvalidLine with the reason if it has no valid reading."""
        try:
            cells = next(csv.reader([text], delimiter=self.delimiter))
            self._check_count(cells)
            value = parse_number(cells[self.positions["value"]].strip())
            quality = parse_quality(self._cell(cells, "quality"))
            return CsvReading(self._series_name(cells), self._parse_time(cells), value, quality)
        except csv.Error as error:
            raise InvalidLine(f"is not CSV: {error}") from None

    def _check_count(self, cells: Sequence[str]) -> None:
        """Raise InvalidLine unless there is a cell for each column of the header."""
        if len(cells) == self.count:
            return
        advice = "Write numbers with a decimal point" if len(cells) > self.count else "Write a cell for each column"
        raise InvalidLine(f"the number of cells is {len(cells)}, and the header has {self.count}. {advice}")

    def parse_block(self, lines: list[bytes]) -> CsvBlock | None:
        """Parse lines of the usual form together, as `parse_line` does each.

        Return None if a line has another form or is invalid: each has to be parsed on its own.
        """
        columns = None if self.has_local_times else self._split_block(lines)
        if columns is None:
            return None
        at, value = parse_instants(columns[self.positions["at"]]), parse_numbers(columns[self.positions["value"]])
        if at is None or value is None:
            return None
        named_columns = {position for name, position in self.positions.items() if name not in ("at", "value")}
        cells = list(
            zip(*(cell if n in named_columns else [""] * len(lines) for n, cell in enumerate(columns)), strict=True)
        )
        try:
            named = {row: (self._series_name(row), parse_quality(self._cell(row, "quality"))) for row in set(cells)}
        except InvalidLine:
            return None
        return CsvBlock([named[row][0] for row in cells], at, value, [named[row][1] for row in cells])

    def _split_block(self, lines: list[bytes]) -> list[list[str]] | None:
        """Return the cells of lines by column. Return None unless splitting each line gives what a CSV parser does."""
        if max(map(len, lines)) >= MAX_LINE_BYTES:
            return None
        text = b"".join(lines).replace(b"\r\n", b"\n").removesuffix(b"\n")
        delimiter = self.delimiter.encode()
        delimiters = lines[0].count(delimiter)
        is_plain = (
            text.isascii()
            and text.count(b"\n") == len(lines) - 1
            and not any(character in text for character in (b'"', b"\r", b"\0"))
            and all(line.count(delimiter) == delimiters for line in lines)
            and delimiters == self.count - 1
        )
        if not is_plain:
            return None
        cells = text.decode().replace("\n", self.delimiter).split(self.delimiter)
        return [cells[position :: delimiters + 1] for position in range(delimiters + 1)]

    def _series_name(self, cells: Sequence[str]) -> SeriesName:
        resource_id, field = self._cell(cells, "resourceId"), self._cell(cells, "field")
        if not self.names_home:
            return SeriesName(resource_id=resource_id, field=field)
        meter_points = (self._cell(cells, column) for column in METER_POINT_COLUMNS)
        return SeriesName(resource_id, next(filter(None, meter_points), ""), self._cell(cells, "classifier"), field)

    def _cell(self, cells: Sequence[str], column: str) -> str:
        """Return the text in a column, or an empty one if the file does not have the column."""
        position = self.positions.get(column)
        return "" if position is None else cells[position].strip()

    def _parse_time(self, cells: Sequence[str]) -> datetime:
        text = self._cell(cells, "localTime" if self.has_local_times else "at")
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidLine(f"{text!r} is not an ISO 8601 time") from None
        if not self.has_local_times:
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if time.tzinfo is not None:
            raise InvalidLine(f"{text!r} has an offset, but localTime is a local time. Use the column `at`")
        return time
