"""Read NEM12, the interval data of the Australian electricity market, as a stream of readings. No I/O.

A file has records by their first cell: 100 the header, 200 the meter and the stream, 300 the values of a day, 400 the
quality of some of them, 500 a manual reading, 900 the end. Times are those of the market, UTC+10 all year.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from types import MappingProxyType

from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput
from wattgate.reading_files.cells import InvalidLine, parse_date, parse_number
from wattgate.reading_files.csv_columns import SeriesName
from wattgate.reading_files.derived_energy import FileReading, RefusedLine

MARKET_TIME = timezone(timedelta(hours=10))
MINUTES_OF_DAY = 24 * 60

_UNITS: Mapping[str, str] = MappingProxyType({"kwh": "kWh", "wh": "Wh", "mwh": "MWh"})
_CLASSIFIERS: Mapping[str, str] = MappingProxyType({"E": "electricity.consumption", "B": "electricity.export"})
"""The direction by the first letter of the stream: E is consumed, B is generated. Others are reactive energy."""

_QUALITIES: Mapping[str, ReadingQuality] = MappingProxyType(
    {
        "A": ReadingQuality.ACTUAL,
        "E": ReadingQuality.ESTIMATED,
        "S": ReadingQuality.SUBSTITUTED,
        "F": ReadingQuality.SUBSTITUTED,
    }
)
_VARIABLE, _NULL = "V", "N"


@dataclass(slots=True)
class _Stream:
    """The meter and the stream of a record 200. `is_read` is false if its values are not imported."""

    name: str
    series: SeriesName
    minutes: int
    is_read: bool


@dataclass(slots=True)
class _Day:
    """The values of a record 300, and the quality of each, which records 400 may say later."""

    line: int
    stream: _Stream
    start: datetime
    values: Sequence[str]
    flag: str
    flags: dict[int, str] = field(default_factory=dict)


def read_nem12(
    numbered: Iterator[tuple[int, str]], *, classifier: str = "", source: str = ""
) -> Iterator[FileReading | RefusedLine | None]:
    """Yield the readings and the refused lines of a file. Raise BadInput if it is not NEM12.

    An empty text in place of a line ends a part of the file, and None is yielded for it. With `classifier`, only
    streams of this direction are read, and with `source` only the stream of this suffix.
    """
    reader = _Nem12Reader(classifier, source)
    for number, text in numbered:
        if not text:
            yield None
            continue
        cells = [cell.strip() for cell in text.removeprefix("\ufeff").rstrip("\r\n").split(",")]
        if not reader.has_begun:
            if cells[:2] != ["100", "NEM12"]:
                raise BadInput(f"The file is not NEM12: line {number} is not its header 100,NEM12.")
            reader.has_begun = True
            continue
        try:
            yield from reader.read(number, cells)
        except InvalidLine as error:
            yield RefusedLine(number, str(error))
    yield from reader.finish()


@dataclass(slots=True)
class _Nem12Reader:
    classifier: str
    source: str
    has_begun: bool = False
    has_ended: bool = False
    stream: _Stream | None = None
    day: _Day | None = None
    first_streams: dict[str, str] = field(default_factory=dict)

    def read(self, number: int, cells: Sequence[str]) -> Iterator[FileReading | RefusedLine]:
        kind = cells[0]
        if kind == "400":
            self._set_quality(cells)
            return
        yield from self._end_day()
        if self.has_ended or kind == "100":
            raise InvalidLine("follows the end of the file: files were joined")
        if kind == "200":
            self.stream = None
            self.stream = self._parse_stream(cells)
        elif kind == "300":
            self._begin_day(number, cells)
        elif kind == "900":
            self.has_ended = True
        elif kind != "500":
            raise InvalidLine(f"{kind[:16]!r} is no record of NEM12")

    def finish(self) -> Iterator[FileReading | RefusedLine]:
        """Yield the last day. Raise BadInput if the record of the end is missing: the file is cut off."""
        yield from self._end_day()
        if not self.has_ended:
            raise BadInput("The file has no record 900 at its end: it is not complete. Download it again.")

    def _parse_stream(self, cells: Sequence[str]) -> _Stream:
        if len(cells) < 9:
            raise InvalidLine(f"the record 200 has {len(cells)} cells, and needs 9")
        meter, suffix, unit, minutes = cells[1], cells[4], cells[7], cells[8]
        classifier = _CLASSIFIERS.get(suffix[:1].upper(), "")
        if minutes not in ("5", "15", "30"):
            raise InvalidLine(f"the interval {minutes!r} is not 5, 15 or 30 minutes")
        name = f"{meter} {suffix}"
        is_read = not (self.source and self.source not in (suffix, name))
        is_read &= bool(classifier) and self.classifier in ("", classifier)
        stream = _Stream(name, SeriesName(classifier=classifier), int(minutes), is_read)
        if not is_read:
            if not classifier and not self.source:
                self.stream = stream
                raise InvalidLine(f"the stream {suffix} is {unit}, and no active energy. Its records are left out")
            return stream
        first = self.first_streams.setdefault(classifier, name)
        if first != name:
            stream.is_read = False
            self.stream = stream
            raise InvalidLine(
                f"the file has {first} and {name}, which are both {classifier}. The records of {name} are left out. "
                f"Choose one with --source"
            )
        if unit.lower() not in _UNITS:
            raise InvalidLine(f"the unit {unit!r} is none of {', '.join(_UNITS.values())}")
        stream.series = stream.series._replace(unit=_UNITS[unit.lower()])
        return stream

    def _begin_day(self, number: int, cells: Sequence[str]) -> None:
        stream = self.stream
        if stream is None:
            raise InvalidLine("the record 300 has no valid record 200 before it")
        if not stream.is_read:
            return
        count = MINUTES_OF_DAY // stream.minutes
        if len(cells) < count + 3:
            raise InvalidLine(
                f"the record 300 has {max(0, len(cells) - 2)} cells after the date, and needs {count + 1}"
            )
        start = datetime.combine(parse_date(cells[1], None), datetime.min.time(), MARKET_TIME)
        self.day = _Day(number, stream, start, cells[2 : count + 2], cells[count + 2][:1].upper())

    def _set_quality(self, cells: Sequence[str]) -> None:
        """Note the quality of some values of the day, whose first and last number are in the record."""
        if self.day is None:
            if self.stream is not None and not self.stream.is_read:
                return
            raise InvalidLine("the record 400 has no record 300 before it")
        try:
            first, last, flag = int(cells[1]), int(cells[2]), cells[3][:1].upper()
        except (IndexError, ValueError):
            raise InvalidLine("the record 400 needs two numbers of intervals and a quality") from None
        if not 1 <= first <= last <= len(self.day.values):
            raise InvalidLine(f"the day has no intervals {first} to {last}")
        self.day.flags.update(dict.fromkeys(range(first, last + 1), flag))

    def _end_day(self) -> Iterator[FileReading | RefusedLine]:
        day, self.day = self.day, None
        if day is None:
            return
        length = timedelta(minutes=day.stream.minutes)
        for position, text in enumerate(day.values, start=1):
            flag = day.flags.get(position, day.flag)
            if flag == _NULL or not text:
                continue  # the meter has no value, which the report counts as a gap
            try:
                if flag not in _QUALITIES:
                    raise InvalidLine(
                        "its quality is variable, and no record 400 says it"
                        if flag == _VARIABLE
                        else f"its quality {flag!r} is none of A, E, F, N, S and V"
                    )
                value, code = parse_number(text), QUALITY_CODES[_QUALITIES[flag]]
                time = day.start + (position - 1) * length
                yield FileReading(day.line, day.stream.series, time, value, code)
            except InvalidLine as error:
                yield RefusedLine(day.line, f"value {position}: {error}")
