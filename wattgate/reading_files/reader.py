"""Read a file of readings with a file profile: a stream of readings and of refused lines, in bounded memory.

A reading has the time, the value and the unit of the file. The caller resolves local times, finds the resource, and
stores the reading. A line that is not understood is refused by its number with the text that it has. A file that
may mean two things raises Ambiguous with the option that decides, before anything is stored.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from types import MappingProxyType
from typing import BinaryIO

from wattgate.clock import ONE_MILLISECOND
from wattgate.energy.buckets import MINUTE_MS
from wattgate.energy.local_times import LocalTimes
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import Times
from wattgate.errors import BadInput
from wattgate.reading_files.cells import (
    Ambiguous,
    InvalidLine,
    join_time,
    number_parser,
    parse_clock,
    parse_date,
    parse_quality,
    parse_time,
)
from wattgate.reading_files.csv_columns import SeriesName
from wattgate.reading_files.derived_energy import (
    FileReading,
    RefusedLine,
    RegisterDifferences,
    RegisterReading,
    elapsed_ms,
    energy_of_power,
)
from wattgate.reading_files.green_button import read_green_button
from wattgate.reading_files.line_reader import MAX_LINE_BYTES, check_is_text, decode_lines, open_utf8, peek, read_blocks
from wattgate.reading_files.nem12 import read_nem12
from wattgate.reading_files.profiles import (
    DECIMAL_MARKS,
    MAX_COLUMNS,
    NATIVE,
    POWER_UNITS,
    THOUSANDS_MARKS,
    UNITS,
    FileProfile,
    Format,
    Value,
    zone_of,
)

Event = FileReading | RefusedLine

PART_ENDS = ""
"""The text in place of a line after each block of lines. No line has it, because blank lines are left out."""

BYTE_ORDER_MARK = "\ufeff"
UNREADABLE = "\ufffd"
"""The character that takes the place of bytes which are not of the encoding."""

_DECLARED_DELIMITER = re.compile(r"\ufeff?sep=(.)[ \r\n]{0,4}")
_ROUNDED_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?[eE][+]?[0-9]+")
_UNITS: Mapping[str, str] = MappingProxyType({unit.lower(): unit for unit in UNITS} | {"m³": "m3"})
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
EVENING_HOUR = 22
"""From this hour on, a time is followed by midnight of the next date. Intervals have at most an hour."""

MIN_DISTANCES, MAX_DISTANCES = 4, 100
"""From so many distances of times, the interval is checked. So many different ones are counted."""


class _OtherSource(Exception):
    """A line is of another source than the chosen one."""


def header_names(cells: Sequence[str]) -> list[str]:
    """Return the names of a header in the form in which they are compared."""
    return [" ".join(cell.removeprefix(BYTE_ORDER_MARK).split()).casefold() for cell in cells]


def split_line(text: str, delimiter: str) -> list[str]:
    """Return the cells of a line. Raise InvalidLine if it is not CSV."""
    if '"' not in text:
        return [cell.strip() for cell in text.rstrip("\r\n").split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration) as error:
        raise InvalidLine(f"is not CSV: {error}") from None


@dataclass(slots=True)
class ReadingFile:
    """A file with its profile. Iterate over it once. `lines` counts the lines with content so far.

    `zone` is that of the local times, unless the profile names another one. With `classifier`, only the values of this
    x
    """

    file: BinaryIO
    profile: FileProfile
    zone: tzinfo
    classifier: str = ""
    source: str = ""
    lines: int = 0

    def __post_init__(self) -> None:
        self.zone = zone_of(self.profile) or self.zone

    def __iter__(self) -> Iterator[Event]:
        return (event for event in self.parts() if event is not None)

    def parts(self) -> Iterator[Event | None]:
        """Yield the readings and the refused lines, and None after each part of the file: a part may have neither."""
        if self.profile.format is Format.GREEN_BUTTON:
            check_is_text(peek(self.file, 16))
            epoch = self.profile.time.epoch
            return read_green_button(self.file, self._count_line, epoch, classifier=self.classifier, source=self.source)
        numbered = self._numbered_lines()
        if self.profile.format is Format.NEM12:
            return read_nem12(numbered, classifier=self.classifier, source=self.source)
        return self._table(numbered)

    def _count_line(self) -> None:
        self.lines += 1

    def _numbered_lines(self) -> Iterator[tuple[int, str]]:
        stream = open_utf8(self.file, self.profile.text.encoding)
        for first, block in read_blocks(stream):
            for number, text in decode_lines(first, block):
                self.lines += 1
                yield number, text
            yield first, PART_ENDS

    def _table(self, numbered: Iterator[tuple[int, str]]) -> Iterator[Event | None]:
        header = find_header(self.profile, numbered)
        self.lines = 0
        table = _Table.create(self.profile, header, LocalTimes(self.zone), self.classifier)
        table.source, table.is_source_chosen = self.source or None, bool(self.source)
        for number, text in numbered:
            if text == PART_ENDS:
                yield None
                continue
            try:
                yield from table.read(number, self._checked(number, text, header))
            except InvalidLine as error:
                yield RefusedLine(number, str(error))
            except _OtherSource:
                self.lines -= 1
            except Ambiguous as error:
                raise Ambiguous(f"Line {number}: {error.message}.", error.option, error.choices) from None
        yield from table.finish()

    def _checked(self, number: int, text: str, header: "Header") -> list[str]:
        """Return the cells of a line. Raise InvalidLine unless it has one for each column of the header."""
        if UNREADABLE in text:
            raise InvalidLine(f"has bytes that are not {self.profile.text.encoding}. Use --encoding")
        is_marked = text.startswith(BYTE_ORDER_MARK)
        cells = split_line(text.removeprefix(BYTE_ORDER_MARK), header.delimiter)
        if cells and header_names(cells[:1]) == header.names[:1] and header_names(cells) == header.names:
            raise InvalidLine("repeats the header" + (" after a byte order mark: files were joined" * is_marked))
        if is_marked:
            raise InvalidLine("begins with a byte order mark: files were joined")
        if len(cells) != len(header.names) and not (header.is_wide and len(cells) > 1):
            raise InvalidLine(_wrong_count(cells, text, header))
        return cells


def _wrong_count(cells: Sequence[str], text: str, header: "Header") -> str:
    found = f"the number of cells is {len(cells)}, and the header has {len(header.names)}"
    for delimiter, name in ((";", "semicolon"), ("\t", "tab"), (",", "comma")):
        if delimiter != header.delimiter and text.count(delimiter) + 1 == len(header.names):
            return f"{found}. The line is delimited by {name}, and the header is not"
    if len(text) >= MAX_LINE_BYTES:
        return f"{found}. The line has more than {MAX_LINE_BYTES:,} bytes"
    if len(cells) > len(header.names) and header.delimiter == ",":
        return f"{found}. A decimal comma or a thousands mark makes a cell too many, unless the cell is quoted"
    return found


# The header.


@dataclass(frozen=True, slots=True)
class Header:
    """The line of names: its number, the delimiter, the names in the form in which they are compared, and as written.

    `columns` has the position of each role, and `values` the positions of each value of the profile.
    """

    number: int
    delimiter: str
    names: list[str]
    written: list[str]
    columns: Mapping[str, int]
    values: Sequence[tuple[Value, tuple[int, ...]]]
    is_wide: bool = False


def find_header(profile: FileProfile, numbered: Iterator[tuple[int, str]]) -> Header:
    """Return the header: the first line that has the columns of the profile. Raise BadInput if there is none."""
    delimiters, seen = list(profile.delimiters), list[str]()
    for position, (number, text) in enumerate(numbered):
        if number == 1 and (declared := _DECLARED_DELIMITER.fullmatch(text)):
            delimiters = [declared.group(1)]
            continue
        if position > profile.text.preamble_lines + 1:
            break
        if text == PART_ENDS:
            continue  # a block of blank lines is at most one line of the preamble
        for delimiter in delimiters:
            try:
                cells = split_line(text, delimiter)
            except InvalidLine:
                continue
            if len(cells) <= MAX_COLUMNS and (header := match_header(profile, number, delimiter, cells)):
                return header
        seen.append(text.strip()[:100])
    raise BadInput(
        f"No line of the file is a header of the profile {profile.name}. {_expected(profile)} The first lines are: "
        f"{' | '.join(seen[:3]) or 'empty'}. Run `wattgate readings inspect` on the file."
    )


def _expected(profile: FileProfile) -> str:
    columns = profile.columns
    times = [name for names in (columns.at, columns.start, columns.end, columns.time, columns.date) for name in names]
    values = [names[0] for value in profile.values for names in value.names if names]
    value_text = f", and one of: {', '.join(values)}" if values else ""
    return f"It needs one of the columns {', '.join(times[:12])}{value_text}."


def match_header(profile: FileProfile, number: int, delimiter: str, cells: Sequence[str]) -> Header | None:
    """Return the header if a line has the columns of a profile. Raise BadInput if a column occurs twice."""
    names = header_names(cells)
    columns = dict[str, int]()
    for role in profile.columns.__struct_fields__:
        position = _position(names, getattr(profile.columns, role))
        if position is not None:
            columns[role] = position
    if not any(role in columns for role in ("at", "start", "end", "time", "date")):
        return None
    if profile.layout == "wide":
        header = Header(number, delimiter, names, list(cells), columns, [(profile.values[0], ())], is_wide=True)
        return header if _interval_labels(header) is not None else None
    values = list[tuple[Value, tuple[int, ...]]]()
    for value in profile.values:
        positions = [_position(names, wanted) for wanted in value.names]
        if all(position is not None and position not in columns.values() for position in positions):
            values.append((value, tuple(position for position in positions if position is not None)))
    if not values:
        return None
    if len(values) > 1 and len({value.classifier for value, _ in values}) < len(values):
        found = ", ".join(cells[positions[0]] for _, positions in values)
        raise Ambiguous(f"The header has several columns of values: {found}. Use --column value=NAME.", "columns")
    return Header(number, delimiter, names, list(cells), columns, values)


def _position(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the position of the first of the wanted names that the header has. Raise BadInput if it occurs twice."""
    for name in header_names(wanted):
        if name in names:
            if names.count(name) > 1:
                raise BadInput(f"The header has the column {name!r} twice. Remove one of them.")
            return names.index(name)
    return None


# The lines of a table.


@dataclass(slots=True)
class _Table:
    """The lines of a table, whose columns the header says."""

    profile: FileProfile
    header: Header
    zone: LocalTimes
    parse_number: Callable[[str], float]
    values: list[tuple[Value, tuple[int, ...], SeriesName, str]]
    qualities: Mapping[str, int]
    interval_ms: int | None
    times_are_ends: bool
    registers: dict[SeriesName, RegisterDifferences] = field(default_factory=dict)
    needs_interval: bool = False
    last_time: datetime | None = None
    line_before: tuple[datetime, dict[str, str]] | None = None
    distances: Counter[timedelta] = field(default_factory=Counter)
    source: str | None = None
    is_source_chosen: bool = False
    labels: "list[timedelta] | int | None" = None

    @classmethod
    def create(cls, profile: FileProfile, header: Header, zone: LocalTimes, classifier: str) -> "_Table":
        """Return the table of a header. Raise Ambiguous if neither the profile nor an option decides a fact."""
        text = profile.text
        parse = number_parser(DECIMAL_MARKS.get(text.decimal or ""), THOUSANDS_MARKS.get(text.thousands or ""))
        values = []
        for value, positions in header.values:
            if classifier and value.classifier and value.classifier != classifier:
                continue
            unit = value.unit or ""
            if not unit and "unit" not in header.columns and profile.name != NATIVE:
                raise Ambiguous("The file does not say the unit of its values. Use --unit.", "unit", UNITS)
            series = SeriesName(classifier=value.classifier, unit=POWER_UNITS.get(unit, unit))
            values.append((value, positions, series._replace(is_derived=unit in POWER_UNITS), unit))
        if not values:
            raise BadInput(f"The file has no values of {classifier}.")
        qualities = {name.casefold(): QUALITY_CODES[quality] for name, quality in profile.qualities.items()}
        interval = profile.interval
        labels = _interval_labels(header) if header.is_wide else None
        table = cls(
            profile=profile,
            header=header,
            zone=zone,
            parse_number=parse,
            values=values,
            qualities=qualities,
            interval_ms=None if interval is None else interval // ONE_MILLISECOND,
            times_are_ends=False,
            labels=labels,
        )
        table._resolve_times()
        return table

    def _resolve_times(self) -> None:
        """Find whether times are starts or ends of intervals. Raise Ambiguous if nothing says so."""
        columns, times = self.header.columns, self.profile.time.times
        if self.header.is_wide:
            self.times_are_ends = self._wide_times_are_ends()
            return
        if "at" in columns or "start" in columns:
            self.times_are_ends = "start" not in columns and times is Times.END
        elif "end" in columns:
            self.times_are_ends = True
        elif times is None:
            raise Ambiguous(
                "The file does not say whether a time is the start or the end of its interval. Use --times start or "
                "--times end.",
                "times",
                [*Times],
            )
        else:
            self.times_are_ends = times is Times.END
        needs_interval = any(unit in POWER_UNITS or value.register for value, _, _, unit in self.values)
        has_both = "start" in columns and "end" in columns
        self.needs_interval = not has_both and (self.times_are_ends or needs_interval)
        if self.interval_ms is None and self.needs_interval:
            why = "The times are ends of intervals" if self.times_are_ends else "The values need an interval"
            raise Ambiguous(f"{why}, and nothing says how long these are. Use --interval, such as PT30M.", "interval")

    def read(self, number: int, cells: Sequence[str]) -> Iterator[Event]:
        """Yield the readings of a line. Raise InvalidLine if it has none."""
        if self.header.is_wide:
            yield from self._read_day(number, cells)
            return
        time, interval_ms = self._time(cells)
        if self.needs_interval:
            self._count_distance(time)
        shift_ms = (interval_ms or 0) if self.times_are_ends else 0
        name, quality = self._names(cells), self._quality(cells)
        if "at" not in self.header.columns:
            self._check_midnight(time, name)
        for value, positions, series, unit in self.values:
            if value.register:
                registers = tuple(Decimal(repr(self.parse_number(cells[position]))) for position in positions)
                named = self._named(series, name)
                reading = RegisterReading(number, named, time, registers, quality)
                yield from self._differences(named).add(reading)
                continue
            if len(positions) == 1:
                amount = self.parse_number(cells[positions[0]])
            else:
                amount = float(sum(Decimal(repr(self.parse_number(cells[position]))) for position in positions))
            if "unit" in self.header.columns and not unit:
                series, unit = self._with_unit(series, cells[self.header.columns["unit"]])
            if unit in POWER_UNITS:
                amount = energy_of_power(amount, self._known_interval(interval_ms))
            yield FileReading(number, self._named(series, name), time, amount, quality, shift_ms)

    def _check_midnight(self, time: datetime, names: dict[str, str]) -> None:
        """Raise InvalidLine for the midnight of a day after the evening of the same day.

        Some files write midnight with the date of the day that ends. It would be stored a day too early.
        """
        before, self.line_before = self.line_before, (time, names)
        if before is None or time.hour or time.minute or before[1] != names:
            return
        evening = before[0]
        if evening.hour >= EVENING_HOUR and evening.date() == time.date():
            raise InvalidLine(
                f"the midnight {time:%Y-%m-%d %H:%M} comes after {evening:%H:%M} of the same date. Write the end of "
                "this day as 24:00, or with the date of the next day"
            )

    def finish(self) -> Iterator[Event]:
        """Yield what the end of the file decides. Raise BadInput if its times have another interval than stated."""
        self._check_distances()
        for differences in self.registers.values():
            yield from differences.finish()

    def _count_distance(self, time: datetime) -> None:
        """Count the distance from the time of the line before."""
        before, self.last_time = self.last_time, time
        if before is not None and (before.tzinfo is None) == (time.tzinfo is None):
            distance = abs(time - before)
            if len(self.distances) < MAX_DISTANCES or distance in self.distances:
                self.distances[distance] += 1

    def _check_distances(self) -> None:
        """Raise BadInput if most times are not one interval apart: energy of power, or starts, would be wrong."""
        distances = self.distances
        del distances[timedelta(0)]
        if distances.total() < MIN_DISTANCES or self.interval_ms is None:
            return
        (usual, _), expected = distances.most_common(1)[0], self.interval_ms * ONE_MILLISECOND
        closer = sum(count for distance, count in distances.items() if distance < expected)
        if usual != expected or closer * 20 > distances.total():
            shortest = usual if usual != expected else min(distances)
            raise BadInput(
                f"The times of the file are {shortest // _MINUTE} minutes apart, and the stated interval is "
                f"{expected // _MINUTE}. Use --interval, such as PT{shortest // _MINUTE}M."
            )

    def _differences(self, series: SeriesName) -> RegisterDifferences:
        if series not in self.registers:
            self.registers[series] = RegisterDifferences(self.zone, self._known_interval(self.interval_ms))
        return self.registers[series]

    def _known_interval(self, interval_ms: int | None) -> int:
        if interval_ms is None:
            raise Ambiguous("The values need an interval. Use --interval, such as PT30M", "interval")
        return interval_ms

    def _with_unit(self, series: SeriesName, text: str) -> tuple[SeriesName, str]:
        unit = _UNITS.get(text.lower())
        if unit is None:
            raise InvalidLine(f"the unit {text!r} is none of {', '.join(UNITS)}")
        return series._replace(unit=POWER_UNITS.get(unit, unit), is_derived=unit in POWER_UNITS), unit

    def _time(self, cells: Sequence[str]) -> tuple[datetime, int | None]:
        """Return the time of a line, and the length of its interval in ms if that is known."""
        columns, order = self.header.columns, self.profile.time.date_order
        if "at" in columns:
            time = parse_time(cells[columns["at"]], order)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)), self.interval_ms
        if "start" in columns:
            time = self._zoned(parse_time(cells[columns["start"]], order))
            if "end" in columns:
                return time, self._interval_to(time, self._zoned(parse_time(cells[columns["end"]], order)))
            return time, self.interval_ms
        if "end" in columns:
            return self._zoned(parse_time(cells[columns["end"]], order)), self.interval_ms
        if "time" in columns:
            return self._zoned(parse_time(cells[columns["time"]], order)), self.interval_ms
        if "clock" in columns:
            clock = cells[columns["clock"]]
            if not clock:
                raise InvalidLine("the time of day is empty")  # such as a total of the day
            time = join_time(cells[columns["date"]], clock, order)
        else:
            time = parse_time(cells[columns["date"]], order)
        return self._zoned(time), self.interval_ms

    def _zoned(self, time: datetime) -> datetime:
        """Return an instant if the zone is UTC, whose local times need no resolution. Check a native local time."""
        if time.tzinfo is None:
            return time.replace(tzinfo=UTC) if self.zone.zone is UTC else time
        if self.profile.name == NATIVE:
            raise InvalidLine("has an offset, but localTime is a local time. Use the column `at`")
        return time

    def _interval_to(self, start: datetime, end: datetime) -> int:
        """Return the length of an interval. Raise InvalidLine unless it is positive, and that of the profile."""
        if (start.tzinfo is None) != (end.tzinfo is None):
            raise InvalidLine("one of start and end has an offset, and the other has none")
        expected = self.interval_ms
        length = elapsed_ms(start, end, self.zone, expected)
        if length <= 0:
            raise InvalidLine(f"the end {end.isoformat(' ')} is not after the start {start.isoformat(' ')}")
        if expected is not None and length != expected:
            raise InvalidLine(f"the interval has {length // MINUTE_MS} minutes, and not {expected // MINUTE_MS}")
        return length

    def _names(self, cells: Sequence[str]) -> dict[str, str]:
        """Return what a line says about its series."""
        columns, names = self.header.columns, dict[str, str]()
        if "source" in columns:
            self._check_source(cells[columns["source"]])
        for role in ("resource_id", "classifier", "field"):
            if role in columns:
                names[role] = cells[columns[role]]
        if "meter_point" in columns:
            text = cells[columns["meter_point"]].lstrip("'").removeprefix('="').removesuffix('"')
            if _ROUNDED_NUMBER.fullmatch(text):
                raise InvalidLine(
                    f"a spreadsheet has rounded the meter point number to {text}. Format the column as text, or leave "
                    "it out with --column meter_point="
                )
            names["meter_point"] = text
        return names

    def _check_source(self, source: str) -> None:
        """Raise InvalidLine for a line of another meter or series than the first line."""
        if self.source is None:
            self.source = source
        if source != self.source:
            if self.is_source_chosen:
                raise _OtherSource
            raise InvalidLine(f"is of {source}, and the lines before are of {self.source}. Choose one with --source")

    def _named(self, series: SeriesName, names: dict[str, str]) -> SeriesName:
        if not names:
            return series
        return series._replace(
            resource_id=names.get("resource_id", ""),
            meter_point=names.get("meter_point", ""),
            classifier=names.get("classifier") or series.classifier,
            field=names.get("field", ""),
        )

    def _quality(self, cells: Sequence[str]) -> int:
        position = self.header.columns.get("quality")
        if position is None:
            return 0
        text = cells[position]
        code = self.qualities.get(text.casefold())
        return parse_quality(text) if code is None else code

    # Wide lines: the values of a day.

    def _wide_times_are_ends(self) -> bool:
        """Return whether the labels of columns are ends. Raise Ambiguous if that is not known."""
        labels, times = self.labels, self.profile.time.times
        if isinstance(labels, int):  # a number counts intervals, so it has both
            self.interval_ms = _DAY // ONE_MILLISECOND // labels
            return False
        assert labels is not None
        step = labels[1] - labels[0]
        self.interval_ms = step // ONE_MILLISECOND
        is_end = labels[0] == step and labels[-1] in (_DAY, timedelta(0))
        is_start = labels[0] == timedelta(0) and labels[-1] == _DAY - step
        if not is_end and not is_start and times is None:
            raise Ambiguous(
                "The columns do not cover a day, so they may be starts or ends. Use --times.", "times", [*Times]
            )
        found = is_end if is_end or is_start else times is Times.END
        if times is not None and (times is Times.END) != found:
            first = self.header.written[_label_positions(self.header).start]
            raise BadInput(f"The first column of the day is {first}, which is not the {times.value} of its interval.")
        return found

    def _read_day(self, number: int, cells: Sequence[str]) -> Iterator[Event]:
        date_position, series = self.header.columns["date"], self.values[0][2]
        day = parse_date(cells[date_position], self.profile.time.date_order)
        named, unit, interval = self._named(series, self._names(cells)), self.values[0][3], self.interval_ms or 0
        amounts = self._amounts(cells)
        start = datetime.combine(day, datetime.min.time())
        if isinstance(self.labels, int):
            times = self._numbered_times(start, amounts, interval)
        else:
            assert self.labels is not None
            is_next_day = self.times_are_ends and self.labels[-1] == timedelta(0)
            times = [start + label for label in self.labels]
            times[-1] += _DAY if is_next_day else timedelta(0)
        for position, (time, text) in enumerate(zip(times, amounts, strict=False), start=1):
            if not text:
                continue  # a missing value, which the report counts as a gap
            try:
                amount = self.parse_number(text)
            except InvalidLine as error:
                yield RefusedLine(number, f"value {position}: {error}")
                continue
            if unit in POWER_UNITS:
                amount = energy_of_power(amount, interval)
            yield FileReading(number, named, self._zoned(time), amount, 0, interval if self.times_are_ends else 0)

    def _amounts(self, cells: Sequence[str]) -> Sequence[str]:
        """Return the cells of the intervals. Raise InvalidLine for another number of cells than the header has.

        With numbered columns, a line may end after the intervals of its day.
        """
        positions, count = _label_positions(self.header), len(self.header.names)
        if len(cells) == count:
            return cells[positions.start : positions.stop]
        if isinstance(self.labels, int) and positions.stop == count and len(cells) > positions.start:
            return cells[positions.start :]
        raise InvalidLine(_wrong_count(cells, "", self.header))

    def _numbered_times(self, start: datetime, amounts: Sequence[str], interval_ms: int) -> list[datetime]:
        """Return the instants of the intervals of a local day, of which a day with a clock change has fewer or more."""
        midnight, next_midnight = (self.zone.instants(start), self.zone.instants(start + _DAY))
        if len(midnight) != 1 or len(next_midnight) != 1:
            raise InvalidLine("the clocks change at the start of the day, so that its intervals are not known")
        expected = (next_midnight[0] - midnight[0]) // interval_ms
        usual = _DAY // ONE_MILLISECOND // interval_ms
        used = max((position for position, text in enumerate(amounts, start=1) if text), default=0)
        if used > expected or (expected != usual and used != expected):
            raise InvalidLine(f"the day has {used} values, and in {self.zone.zone} it has {expected} intervals")
        first = datetime.fromtimestamp(midnight[0] / 1000, UTC)
        return [first + position * interval_ms * ONE_MILLISECOND for position in range(expected)]


_CLOCK_LABEL = r"([0-9]{1,2}[:.h][0-9]{2}(?::00)?)"
_LABEL = re.compile(rf"(?:[a-z]{{1,20}}[ _])?{_CLOCK_LABEL}(?: ?[-\u2013] ?{_CLOCK_LABEL})?")
_NUMBER = re.compile(r"(?:[a-z]{1,20}[ _]?)?0{0,2}([0-9]{1,3})")
_NUMBERED_COUNTS: Mapping[int, int] = MappingProxyType(
    {24: 24, 25: 24, 48: 48, 50: 48, 96: 96, 100: 96, 144: 144, 150: 144, 288: 288, 300: 288}
)
"""The intervals of a usual day, by the number of columns. Columns for the longest day of the year are more."""


def _label_positions(header: Header) -> range:
    """Return the positions of the columns of intervals: the longest row of columns whose names are labels."""
    best = start = 0
    longest = range(0)
    for position, name in enumerate([*header.names, ""]):
        is_label = bool(_LABEL.fullmatch(name) or _NUMBER.fullmatch(name))
        if is_label and position not in header.columns.values():
            continue
        if position - start > best:
            best, longest = position - start, range(start, position)
        start = position + 1
    return longest


def _interval_labels(header: Header) -> "list[timedelta] | int | None":
    """Return the times of the columns of intervals, or how many a usual day has if they are numbered from 1.

    Return None if the last columns are neither.
    """
    names = [header.names[position] for position in _label_positions(header)]
    if len(names) < 24:
        return None
    matches = [_LABEL.fullmatch(name) for name in names]
    if all(matches):
        times = [parse_clock(match.group(1)) for match in matches if match]
        labels = [
            timedelta(days=one.days, hours=one.at.hour, minutes=one.at.minute, seconds=one.at.second) for one in times
        ]
        step = labels[1] - labels[0]
        is_regular = all(
            label == (labels[0] + position * step) % _DAY or (label == _DAY and position == len(labels) - 1)
            for position, label in enumerate(labels)
        )
        return labels if step > timedelta(0) and is_regular and _DAY % step == timedelta(0) else None
    numbers = [int(match.group(1)) for match in (_NUMBER.fullmatch(name) for name in names) if match]
    if numbers == list(range(1, len(names) + 1)):
        return _NUMBERED_COUNTS.get(len(names))
    return None
