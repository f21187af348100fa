"""Read Green Button (ESPI XML), the usage data of utilities in North America, as a stream of readings.

The file is read twice: first its reading types and which of them each block of intervals has, then the readings. Memory
depends on the number of blocks, and not on that of readings. A document type declaration is refused, so entities cannot
make a small file large.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice
from types import MappingProxyType
from typing import Any, BinaryIO

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from wattgate.clock import EPOCH
from wattgate.energy.buckets import DAY_MS, HOUR_MS
from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import Epoch, ReadingQuality
from wattgate.errors import BadInput
from wattgate.reading_files.cells import Ambiguous, InvalidLine
from wattgate.reading_files.csv_columns import SeriesName
from wattgate.reading_files.derived_energy import FileReading, RefusedLine

MAX_ENTRIES = 100_000
MAX_SERIES = 1_000
MAX_VALUES = 100
MAX_DEPTH = 64
MAX_TEXT_CHARACTERS = 10_000
"""Bounds of what a file may have: entries, meter readings and reading types, links and values of an entry, elements in
each other, and characters of a text.

A compressed file of some kilobytes may have millions of each.
"""

MAX_LISTED = 10
"""Maximum addresses of meter readings in a message."""

_CHUNK_BYTES = 64 * 1024

_UNITS: Mapping[str, str] = MappingProxyType({"72": "Wh", "38": "W", "42": "m3"})
"""The units by their code in ESPI: watt hours, watts and cubic metres."""

_REVERSE, _GAS = "19", "7"
_CUMULATIVE = frozenset({"1", "3", "9"})
"""The behaviours of registers: bulk quantity, cumulative, and boundary."""

_QUALITIES: Mapping[str, ReadingQuality] = MappingProxyType(
    {
        "7": ReadingQuality.SUBSTITUTED,
        "8": ReadingQuality.ESTIMATED,
        "9": ReadingQuality.ESTIMATED,
        "10": ReadingQuality.QUESTIONABLE,
        "12": ReadingQuality.ESTIMATED,
    }
)
"""The qualities that are not actual, by their code in ESPI."""


@dataclass(slots=True)
class _Entry:
    """An entry of the feed: its links, the values of the elements in its content, and the start of its first block."""

    links: dict[str, list[str]] = field(default_factory=dict)
    kind: str = ""
    values: dict[str, str] = field(default_factory=dict)
    start: int | None = None
    count: int = 0

    def add_link(self, rel: str, href: str) -> None:
        """Add a link."""
        self._count()
        if len(rel) + len(href) > MAX_TEXT_CHARACTERS:
            raise BadInput(f"A link of the file has more than {MAX_TEXT_CHARACTERS:,} characters.")
        self.links.setdefault(rel, []).append(href)

    def add_value(self, name: str, text: str) -> None:
        """Add the value of an element."""
        self._count()
        self.values[name] = text

    def _count(self) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise BadInput(f"An entry of the file has more than {MAX_VALUES:,} links and values.")


@dataclass(frozen=True, slots=True)
class _Series:
    """The readings of a meter reading: its address, its name, the unit, and the power of ten of its values."""

    source: str
    name: SeriesName
    unit: str
    multiplier: int


@dataclass(slots=True)
class _Feed:
    """The types and blocks that the first pass over a file finds.

    `blocks` has the address of the meter reading of each entry of blocks.
    """

    reading_types: dict[str, dict[str, str]] = field(default_factory=dict)
    meter_readings: dict[str, list[str]] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    offset_s: int = 0
    count: int = 0

    def add(self, entry: _Entry) -> None:
        self.count += 1
        if self.count > MAX_ENTRIES:
            raise BadInput(f"The file has more than {MAX_ENTRIES:,} entries. Split it.")
        if len(self.reading_types) > MAX_SERIES or len(self.meter_readings) > MAX_SERIES:
            raise BadInput(f"The file has more than {MAX_SERIES:,} meter readings or reading types. Split it.")
        address = next(iter(entry.links.get("self", [])), "")
        if entry.kind == "ReadingType":
            self.reading_types[address] = entry.values
        elif entry.kind == "MeterReading":
            self.meter_readings[address] = entry.links.get("related", [])
        elif entry.kind == "LocalTimeParameters":
            self.offset_s = int(_whole(entry.values.get("tzOffset", "0"), "tzOffset"))
        elif entry.kind == "IntervalBlock":
            up = next(iter(entry.links.get("up", [])), address.rpartition("/IntervalBlock")[0])
            self.blocks.append(up.removesuffix("/IntervalBlock"))
            self.starts += [] if entry.start is None else [entry.start]

    def series(self, source: str) -> _Series | str:
        """Return the series of a meter reading, or the reason why it cannot be imported."""
        related = [link for link in self.meter_readings.get(source, []) if link in self.reading_types]
        found = related or (list(self.reading_types) if len(self.reading_types) == 1 else [])
        if len(found) != 1:
            return "the reading type of the block is not in the file"
        values = self.reading_types[found[0]]
        unit = _UNITS.get(values.get("uom", ""))
        if unit is None:
            return f"the unit {values.get('uom', 'none')!r} of the readings is none of {', '.join(_UNITS.values())}"
        if values.get("accumulationBehaviour") in _CUMULATIVE:
            return "the readings are a cumulative register, and no energy of intervals"
        multiplier = int(_whole(values.get("powerOfTenMultiplier", "0"), "powerOfTenMultiplier"))
        if abs(multiplier) > 12:
            return f"the power of ten {multiplier} is not between -12 and 12"
        direction = "export" if values.get("flowDirection") == _REVERSE else "consumption"
        commodity = "gas" if values.get("commodity") == _GAS else "electricity"
        energy_unit = "Wh" if unit == "W" else unit
        name = SeriesName(classifier=f"{commodity}.{direction}", unit=energy_unit, is_derived=unit == "W")
        return _Series(source, name, unit, multiplier)


def read_green_button(
    file: BinaryIO, count_line: Callable[[], None], epoch: Epoch | None, *, classifier: str = "", source: str = ""
) -> Iterator[FileReading | RefusedLine | None]:
    """Yield the readings and the refused ones of a file, and None after each part of it.

    Raise BadInput if it is no XML, or cannot be read twice. `epoch` says what times count. If it is None, they are UTC,
    unless the blocks begin at a midnight of UTC in a zone with another offset: then the file is Ambiguous. With
    `classifier` or `source`, only these readings are read.
    """
    if not file.seekable():
        raise BadInput("A Green Button file is read twice. Give the name of a regular file, and not of a pipe.")
    feed = _Feed()
    for event in _parse(file, _FeedReader()):
        if event is None:
            yield None
        else:
            feed.add(event)
    file.seek(0)
    if not feed.blocks:
        raise BadInput("The file has no block of intervals of Green Button.")
    chosen = _choose_series(feed, classifier, source)
    if epoch is None:
        _check_epoch(feed)
    reader = _ReadingReader(feed, chosen, is_local=epoch is Epoch.LOCAL)
    for event in _parse(file, reader):
        if event is not None:
            count_line()
        yield event


def _choose_series(feed: _Feed, classifier: str, source: str) -> dict[str, _Series | str]:
    """Return the series of each meter reading that is read. Raise Ambiguous if two are of the same kind."""
    found = {address: feed.series(address) for address in dict.fromkeys(feed.blocks)}
    chosen = {
        address: one
        for address, one in found.items()
        if (not source or address == source or address.endswith(f"/{source.strip('/')}"))
        and (not classifier or isinstance(one, str) or one.name.classifier == classifier)
    }
    if not chosen:
        raise BadInput(f"The file has no readings of {source or classifier}. It has: {_listed(found)}.")
    kinds = [one.name.classifier for one in chosen.values() if isinstance(one, _Series)]
    if len(set(kinds)) < len(kinds):
        raise Ambiguous(f"The file has several series of one kind: {_listed(chosen)}. Use --source.", "source")
    return chosen


def _listed(addresses: Collection[str]) -> str:
    """Return the first addresses of meter readings, and the number of the others."""
    shown = ", ".join(islice(addresses, MAX_LISTED))
    return shown if len(addresses) <= MAX_LISTED else f"{shown}, and {len(addresses) - MAX_LISTED:,} more"


def _check_epoch(feed: _Feed) -> None:
    offset_ms = feed.offset_s * 1000
    days = [start * 1000 % DAY_MS for start in feed.starts]
    if offset_ms and days and not any(days) and (feed.starts[0] * 1000 + offset_ms) % DAY_MS:
        hours = offset_ms / HOUR_MS
        raise Ambiguous(
            f"The blocks begin at midnight of UTC, and the meter is at UTC{hours:+g}: the times may be local ones. Use "
            "--epoch utc or --epoch local.",
            "epoch",
            [*Epoch],
        )


def _parse(file: BinaryIO, target: Any) -> Iterator[Any]:
    """Feed the file to the parser of a target. Yield the events that the target collects, and None after each part."""
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    target.line = lambda: parser.parser.CurrentLineNumber
    try:
        while chunk := file.read(_CHUNK_BYTES):
            _feed(parser, chunk)
            events, target.events = target.events, []
            yield from events
            yield None
        parser.close()
    except DefusedXmlException:
        raise BadInput("The file has a document type declaration, which Green Button has not. It is refused.") from None
    except ParseError as error:
        raise BadInput(f"The file is not XML: {error}.") from None
    yield from target.events


def _feed(parser: DefusedXMLParser, chunk: bytes) -> None:
    """Feed a part of a file to a parser. Raise BadInput for an encoding that the parser does not know."""
    try:
        parser.feed(chunk)
    except DefusedXmlException:  # a ValueError, too
        raise
    except (LookupError, ValueError) as error:  # the parser asks Python for the encoding that the XML declares
        raise BadInput(f"The encoding that the XML declares is not read: {error}. Convert the file to UTF-8.") from None


class _FeedReader:
    """Collects the entries of a feed."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.line: Callable[[], int] = lambda: 0
        self._path: list[str] = []
        self._text: list[str] = []
        self._text_characters = 0
        self._entry = _Entry()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        name = tag.rpartition("}")[2]
        self._path.append(name)
        if len(self._path) > MAX_DEPTH:
            raise BadInput(f"The elements of the file are nested deeper than {MAX_DEPTH}.")
        self._clear_text()
        if name == "entry":
            self._entry = _Entry()
        elif name == "link":
            self._entry.add_link(attributes.get("rel", ""), attributes.get("href", ""))
        elif len(self._path) > 1 and self._path[-2] == "content" and not self._entry.kind:
            self._entry.kind = name

    def data(self, text: str) -> None:
        """Add to the text of the element."""
        self._text.append(text)
        self._text_characters += len(text)  # a sum over all parts would grow with their square
        if self._text_characters > MAX_TEXT_CHARACTERS:
            raise BadInput(f"A text of the file has more than {MAX_TEXT_CHARACTERS:,} characters.")

    def _clear_text(self) -> None:
        self._text, self._text_characters = [], 0

    def end(self, tag: str) -> None:
        """End an element."""
        name, path = self._path.pop(), self._path
        text = "".join(self._text).strip()
        self._clear_text()
        if name == "entry":
            self._end_entry()
        elif name == "start" and path[-2:] == ["IntervalBlock", "interval"]:
            start = int(_whole(text, "start"))
            self._entry.start = start if self._entry.start is None else self._entry.start
        elif path and path[-1] == self._entry.kind and text:
            self._entry.add_value(name, text)

    def _end_entry(self) -> None:
        self.events.append(self._entry)

    def close(self) -> None:
        """End the document."""


class _ReadingReader(_FeedReader):
    """Collects the readings of the chosen series."""

    def __init__(self, feed: _Feed, chosen: Mapping[str, _Series | str], *, is_local: bool) -> None:
        super().__init__()
        self._feed, self._chosen, self._is_local = feed, chosen, is_local
        self._block = -1
        self._values: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        had_kind = bool(self._entry.kind)
        super().start(tag, attributes)
        if self._entry.kind == "IntervalBlock" and not had_kind:
            self._block += 1
        if self._path[-1] == "IntervalReading":
            self._values = {}

    def end(self, tag: str) -> None:
        """End an element."""
        name = self._path[-1]
        if "IntervalReading" in self._path[:-1]:
            self._values.setdefault(name, "".join(self._text).strip())
        if name == "IntervalReading" and 0 <= self._block < len(self._feed.blocks):
            series = self._chosen.get(self._feed.blocks[self._block])
            if series is not None:
                self.events.append(self._read(series))
        super().end(tag)

    def _end_entry(self) -> None:
        return  # the first pass has read the entries

    def _read(self, series: _Series | str) -> FileReading | RefusedLine:
        line = self.line()
        if isinstance(series, str):
            return RefusedLine(line, series)
        try:
            return self._build(line, series)
        except InvalidLine as error:
            return RefusedLine(line, str(error))
        except BadInput as error:
            return RefusedLine(line, error.message)

    def _build(self, line: int, series: _Series) -> FileReading:
        for name in ("start", "duration", "value"):
            if name not in self._values:
                raise InvalidLine(f"the reading has no {name}")
        start, duration = (_whole(self._values[name], name) for name in ("start", "duration"))
        value = _whole(self._values["value"], "value").scaleb(series.multiplier)
        if duration <= 0:
            raise InvalidLine("the duration of the reading is not positive")
        if series.unit == "W":
            value = value * duration / 3600
        try:
            time = EPOCH + timedelta(seconds=int(start))
        except OverflowError:
            raise InvalidLine(f"the time {start} is outside the supported range") from None
        quality = _QUALITIES.get(self._values.get("quality", ""), ReadingQuality.ACTUAL)
        return FileReading(line, series.name, self._zoned(time), float(value), QUALITY_CODES[quality])

    def _zoned(self, time: datetime) -> datetime:
        return time.replace(tzinfo=None if self._is_local else UTC)


def _whole(text: str, name: str) -> Decimal:
    """Return a whole number. Raise BadInput with the name of the element for another text."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > 18 or number != number.to_integral_value():
        raise BadInput(f"{name} is {text[:40]!r}, which is no whole number")
    return number
