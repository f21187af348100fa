"""Read the prices of an answer of a price source: JSON or XML. No I/O.

An answer becomes a tree of mappings, lists and texts, whatever its format. Then paths of the source find the prices in
it. A price that the answer leaves unclear is a problem with its number, and never a guess. The pages of one request
are joined as one answer.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from wattgate.clock import from_ms, to_ms
from wattgate.energy.buckets import HOUR_MS, MINUTE_MS
from wattgate.errors import BadInput
from wattgate.price_sources.sources import PriceSource, fill_in

MAX_ANSWER_BYTES = 16 * 2**20
MAX_DEPTH = 64
"""Bounds of an answer: bytes, and elements in each other."""

MAX_PRICES = 200_000
"""Maximum prices of an answer: more than a year of 5 minutes."""

MAX_LENGTH_MS = 31 * 24 * 60 * MINUTE_MS
"""How long a price may hold if the answer or the source says so."""

MAX_UNSTATED_MS = HOUR_MS
"""How long a price may hold if the answer has only starts. Prices of a market hold for an hour or less."""

MAX_INSTANT = 10**15
"""Maximum of a time that is a number, before it is compared with the years that prices may have."""

DECIMALS = Decimal("0.00000001")
"""Rates are rounded to 8 decimals of the major unit, half to even: those that a tariff can have."""

_DURATION = re.compile(r"PT?(?:([0-9]{1,2})H)?(?:([0-9]{1,4})M)?")
_EARLIEST, _LATEST = to_ms(datetime(2000, 1, 1, tzinfo=UTC)), to_ms(datetime(2100, 1, 1, tzinfo=UTC))


class SourcePrice(NamedTuple):
    """A price that holds in [start, end), in ms since 1970, in the major unit for a kWh."""

    start: int
    end: int
    rate: Decimal


class _Period(NamedTuple):
    """A time of an answer, in ms since 1970. `end` is None if it is not known, and `rate` is None without a price."""

    start: int
    end: int | None
    rate: Decimal | None
    problem: str | None = None
    """Why the price cannot be read, though its time can."""


@dataclass(slots=True)
class Page:
    """The data of a page of an answer, in its order: currency, times, problems, and the address of the next page."""

    currency: str
    periods: list[_Period] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    next_page: str | None = None


@dataclass(slots=True)
class Answer:
    """The prices of an answer in order of time, its problems, and its currency."""

    currency: str
    prices: list[SourcePrice]
    problems: list[str]

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The times without a price between the first and the last one."""
        return [(one.end, other.start) for one, other in pairwise(self.prices) if one.end < other.start]


class _Unclear(Exception):
    """A price that cannot be read. The text says why."""


def read_answer(source: PriceSource, content: bytes, parameters: Mapping[str, str]) -> Answer:
    """Return the prices of an answer of one page. Raise BadInput if it has another form than the source says."""
    return join_pages([read_page(source, content, parameters)])


def read_page(source: PriceSource, content: bytes, parameters: Mapping[str, str]) -> Page:
    """Return what a page of an answer has. Raise BadInput if it has another form, currency or unit than the source."""
    tree = _parse(source, content)
    page = Page(fill_in(source.currency, parameters))
    rows_path = fill_in(source.prices.rows, parameters)
    rows = [row for row in _find_all(tree, rows_path) if _is_wanted(source, row, parameters)]
    if not rows:
        raise BadInput(
            f"The answer has no prices at {rows_path or 'its top'!r}, where {source.name} has them. Ask for "
            "another time, or use another price source."
        )
    for path, read_as in ((source.currency_path, source.currency), (source.unit_path, source.unit)):
        if path is not None and read_as is not None:
            _check_stated(source, tree, fill_in(path, parameters), fill_in(read_as, parameters))
    for number, row in enumerate(rows, start=1):
        try:
            for period in _periods_of(source, row, parameters, page.periods[-1].start if page.periods else None):
                page.periods.append(period)
                if period.problem is not None:
                    page.problems.append(f"price {number:,}: {period.problem}")
                if len(page.periods) > MAX_PRICES:
                    raise BadInput(f"The answer has more than {MAX_PRICES:,} prices. Ask for a shorter time.")
        except _Unclear as error:
            page.problems.append(f"price {number:,}: {error}")
    if source.request is not None and source.request.next is not None:
        addresses = [address for address in _find_all(tree, source.request.next) if address]
        page.next_page = str(addresses[0]) if addresses else None
    return page


def join_pages(pages: Sequence[Page]) -> Answer:
    """Return the prices of the pages of one answer, at least one. No page is preferred to another one."""
    problems = [problem for page in pages for problem in page.problems]
    prices = _with_ends([period for page in pages for period in page.periods], problems)
    return Answer(pages[0].currency, _without_contradictions(prices, problems), problems)


def _check_stated(source: PriceSource, tree: Any, path: str, read_as: str) -> None:
    """Raise BadInput if the answer states another currency or unit at a path. Spaces and case make no difference."""
    for stated in dict.fromkeys(map(str, _find_all(tree, path))):
        if "".join(stated.split()).casefold() != "".join(read_as.split()).casefold():
            raise BadInput(
                f"The answer is in {stated[:40]!r} at {path!r}, and {source.name} reads it as {read_as!r}. Correct the "
                "parameters, or use a price source of this currency and unit."
            )


def _parse(source: PriceSource, content: bytes) -> Any:
    if len(content) > MAX_ANSWER_BYTES:
        raise BadInput(f"The answer has more than {MAX_ANSWER_BYTES:,} bytes. Ask for a shorter time.")
    try:
        if source.format == "xml":
            return _parse_xml(content)
        return json.loads(content, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadInput("The answer is nested too deeply.") from None
    except (ValueError, ParseError, DefusedXmlException, InvalidOperation) as error:
        begin = content[:60].decode(errors="replace")
        raise BadInput(f"The answer is not {source.format.upper()}: {error}. It begins with {begin!r}.") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


class _TreeBuilder:
    """Build a tree of XML: an element with others is a mapping of lists, and another one is a text.

    Names have no namespaces.
    """

    def __init__(self) -> None:
        self.root: dict[str, list[Any]] = {}
        self._open: list[dict[str, list[Any]]] = [self.root]
        self._text: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise ValueError(f"it has more than {MAX_DEPTH} elements in each other")
        self._open.append({})
        self._text = []

    def data(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:
        content: Any = self._open.pop()
        if not content:
            content = "".join(self._text).strip()
        self._open[-1].setdefault(tag.rpartition("}")[2], []).append(content)
        self._text = []

    def close(self) -> dict[str, list[Any]]:
        """Return the tree of the document, without its root element."""
        (elements,) = self.root.values()
        document: dict[str, list[Any]] = elements[0] if isinstance(elements[0], dict) else {}
        return document


def _parse_xml(content: bytes) -> Any:
    parser = DefusedXMLParser(target=_TreeBuilder(), forbid_dtd=True)
    parser.feed(content)
    return parser.close()


def _find_all(node: Any, path: str) -> list[Any]:
    """Return what a path leads to. A list stands for its items."""
    found = _items(node)
    for name in path.split("/") if path else ():
        found = [item for one in found if isinstance(one, dict) for item in _items(one.get(name))]
    return found


def _items(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [] if node is None else [node]


def _text_at(row: Any, path: str) -> str:
    """Return the only value at a path as a text, or an empty text."""
    found = _find_all(row, path)
    if len(found) > 1 or any(isinstance(one, dict | list) for one in found):
        raise _Unclear(f"{path} has several values")
    return str(found[0]) if found else ""


def _is_wanted(source: PriceSource, row: Any, parameters: Mapping[str, str]) -> bool:
    try:
        return all(
            _text_at(row, path) in [fill_in(text, parameters) for text in texts]
            for path, texts in source.prices.where.items()
        )
    except _Unclear:
        return False


def _periods_of(source: PriceSource, row: Any, parameters: Mapping[str, str], before: int | None) -> Iterator[_Period]:
    """Yield the times of a row with their prices. `before` is the start of the time before it."""
    prices = source.prices
    price_path = fill_in(prices.price, parameters)
    if prices.columns:
        yield from _periods_of_columns(source, row, price_path)
        return
    if prices.points is not None:
        yield from _periods_of_curve(source, row, price_path)
        return
    rate, problem = None, None
    try:
        rate = _rate(source, _text_at(row, price_path), price_path)
        if rate is None and not _find_all(row, prices.start or prices.end or ""):
            return
    except _Unclear as error:  # its time still ends the price before it
        problem = str(error)
    try:
        start, end = _span_of(source, row, before)
    except _Unclear as error:
        raise _Unclear(problem or str(error)) from None
    yield _Period(start, end, rate, problem)


def _span_of(source: PriceSource, row: Any, before: int | None) -> tuple[int, int | None]:
    """Return the start of a row's price, and its end if the row or the source says it."""
    prices = source.prices
    end = None if prices.end is None else _instant(source, _text_at(row, prices.end), before)
    length = _length_ms(row, prices.minutes)
    if prices.start is not None:
        start = _instant(source, _text_at(row, prices.start), before)
    elif end is not None and length is not None:
        start = end - length
    else:
        raise _Unclear("its start is missing")
    if end is None:
        return start, None if length is None else start + length
    if not start < end <= start + MAX_LENGTH_MS:
        raise _Unclear(f"it ends at {from_ms(end).isoformat()}, and begins at {from_ms(start).isoformat()}")
    return start, end


def _periods_of_columns(source: PriceSource, row: Any, price_path: str) -> Iterator[_Period]:
    starts = _list_at(row, source.prices.start or "")
    values = _list_at(row, price_path)
    if len(starts) != len(values):
        raise _Unclear(f"there are {len(starts):,} times and {len(values):,} prices")
    length = _length_ms(row, source.prices.minutes)
    before, rate = None, None
    for start, value in zip(starts, values, strict=True):
        before = _instant(source, "" if start is None else str(start), before)
        end = None if length is None else before + length
        try:
            rate = _rate(source, "" if value is None else str(value), price_path)
        except _Unclear as error:
            yield _Period(before, end, None, f"{error}, for {from_ms(before).isoformat()}")
        else:
            yield _Period(before, end, rate)


def _list_at(row: Any, path: str) -> list[Any]:
    """Return a list of values at a path, in which null stays."""
    *folders, name = path.split("/")
    parents = _find_all(row, "/".join(folders))
    value = parents[0].get(name) if len(parents) == 1 and isinstance(parents[0], dict) else None
    if not isinstance(value, list):
        raise _Unclear(f"{path} is not a list")
    return value


def _periods_of_curve(source: PriceSource, row: Any, price_path: str) -> Iterator[_Period]:
    """Yield the prices of a curve. A position that is left out repeats the price before it."""
    prices = source.prices
    start = _instant(source, _text_at(row, prices.start or ""), None)
    end = _instant(source, _text_at(row, prices.end or ""), None)
    length = _length_ms(row, prices.resolution)
    if length is None or not start < end <= start + MAX_LENGTH_MS or (end - start) % length:
        raise _Unclear("its start, its end and its resolution do not fit together")
    count, rates = (end - start) // length, dict[int, Decimal]()
    for point in _find_all(row, prices.points or ""):
        position = _text_at(point, prices.position or "")
        if not (position.isascii() and position.isdecimal() and 1 <= int(position[:9]) <= count):
            raise _Unclear(f"position {position!r} is not from 1 to {count:,}")
        rate = _rate(source, _text_at(point, price_path), price_path)
        if rate is None:
            raise _Unclear(f"position {position} has no {price_path}")
        if rates.setdefault(int(position), rate) != rate:
            raise _Unclear(f"position {position} has two prices")
    if 1 not in rates:
        raise _Unclear("position 1 has no price")
    rate = rates[1]
    for index in range(count):
        rate = rates.get(index + 1, rate)
        begin = start + index * length
        yield _Period(begin, begin + length, rate)


def _rate(source: PriceSource, text: str, path: str) -> Decimal | None:
    """Return a price in the major unit for a kWh. None if the answer has no price there."""
    if not text:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise _Unclear(f"{path} is {text[:40]!r}, not a number") from None
    if not value.is_finite() or value.copy_abs() > 10**9:  # `abs` raises Overflow for the largest exponents
        raise _Unclear(f"{path} is {text[:40]}, not a number up to 1,000,000,000")
    return (value * Decimal(source.factor)).quantize(DECIMALS)


def _length_ms(row: Any, minutes: str | int | None) -> int | None:
    """Return how long a price holds: the number of minutes, or the number or ISO 8601 duration at a path."""
    if minutes is None:
        return None
    text = str(minutes) if isinstance(minutes, int) else _text_at(row, minutes)
    found = _DURATION.fullmatch(text)
    number = int(found[1] or 0) * 60 + int(found[2] or 0) if found else int(text[:9]) if text.isdecimal() else 0
    if not 0 < number * MINUTE_MS <= MAX_LENGTH_MS:
        place = "minutes" if isinstance(minutes, int) else minutes
        raise _Unclear(f"{place} is {text[:40]!r}, not a number of minutes")
    return number * MINUTE_MS


def _instant(source: PriceSource, text: str, before: int | None) -> int:
    """Return a time in ms since 1970. `before` is the time before it, for the repeated hour of a clock change."""
    try:
        if source.times != "iso":
            number = Decimal(text)
            if not number.is_finite() or number.copy_abs() > MAX_INSTANT:
                raise ValueError(text)
            at = int(number * (1000 if source.times == "seconds" else 1))
        else:
            at = _instant_of_iso(source, datetime.fromisoformat(text), before)
    except (ValueError, InvalidOperation, OverflowError):
        raise _Unclear(f"{text[:40]!r} is not a time") from None
    if not _EARLIEST <= at < _LATEST:
        raise _Unclear(f"the time {text[:40]} is not from 2000 to 2099")
    return at


def _instant_of_iso(source: PriceSource, at: datetime, before: int | None) -> int:
    if at.tzinfo is not None:
        return to_ms(at.astimezone(UTC))
    if source.zone is None:
        raise _Unclear(f"the time {at.isoformat()} has no offset, and the price source no zone")
    local = at.replace(tzinfo=ZoneInfo(source.zone))
    first, second = to_ms(local.astimezone(UTC)), to_ms(local.replace(fold=1).astimezone(UTC))
    if second < first:
        raise _Unclear(f"the time {at.isoformat()} does not exist in {source.zone}")
    return second if before is not None and first <= before else first


def _with_ends(periods: Sequence[_Period], problems: list[str]) -> list[SourcePrice]:
    """Return the prices, each with its end. Add those without a known end to the problems.

    A price without an end holds for the shorter of the two steps nearest to it, between the times of the answer. Times
    without a price count, so that no price fills a gap. A step above MAX_UNSTATED_MS is no length.
    """
    times = sorted({period.start for period in periods})
    steps = [other - one for one, other in pairwise(times)]
    lengths, last = dict[int, int](), max(len(steps) - 2, 0)
    for index, at in enumerate(times):
        nearest = min(max(index - 1, 0), last)
        length = min(steps[nearest : nearest + 2], default=MAX_UNSTATED_MS + 1)
        if length <= MAX_UNSTATED_MS:
            lengths[at] = length
    prices, unclear = list[SourcePrice](), dict[int, None]()
    for start, end, rate, _ in periods:
        if rate is None:
            continue
        if end is None and start not in lengths:
            unclear[start] = None
        else:
            prices.append(SourcePrice(start, start + lengths[start] if end is None else end, rate))
    problems += [
        f"the price at {from_ms(start).isoformat()} has no end, and no other time is at most "
        f"{MAX_UNSTATED_MS // MINUTE_MS} minutes away. Name the end or the minutes of prices in the file of the price "
        "source"
        for start in unclear
    ]
    return prices


def _without_contradictions(prices: Sequence[SourcePrice], problems: list[str]) -> list[SourcePrice]:
    """Return the prices in order of time, without all those that overlap one with another rate.

    Add the contradictions to the problems. Prices of one rate that overlap become one.
    """
    ordered, refused = sorted(prices), set[int]()
    longest: SourcePrice | None = None  # of the earlier prices, the one that ends last
    other: SourcePrice | None = None  # of those with another rate than `longest`, the one that ends last
    for index, price in enumerate(ordered):
        rival = other if longest is not None and longest.rate == price.rate else longest
        if rival is not None and price.start < rival.end:
            refused.add(index)
            first, second = (f"{one.rate.normalize():f}" for one in (rival, price))
            problems.append(f"two prices hold at {from_ms(price.start).isoformat()}: {first} and {second}")
        if longest is None or price.end > longest.end:
            longest, other = price, other if longest is None or longest.rate == price.rate else longest
        elif price.rate != longest.rate and (other is None or price.end > other.end):
            other = price
    following: SourcePrice | None = None  # the first of the later prices with another rate
    for index in range(len(ordered) - 2, -1, -1):
        if ordered[index].rate != ordered[index + 1].rate:
            following = ordered[index + 1]
        if following is not None and following.start < ordered[index].end:
            refused.add(index)
    kept = list[SourcePrice]()
    for index, price in enumerate(ordered):
        if index in refused:
            continue
        if kept and price.start < kept[-1].end:
            kept[-1] = kept[-1]._replace(end=max(kept[-1].end, price.end))
        else:
            kept.append(price)
    return kept


def describe_span(start: int, end: int) -> str:
    """Return a time range for people, such as `2026-10-25T00:00Z to 2026-10-26T00:00Z`."""
    begin, stop = (f"{from_ms(at):%Y-%m-%dT%H:%MZ}" for at in (start, end))
    return f"{begin} to {stop}"


def split_range(start: datetime, end: datetime, max_days: int) -> Iterator[tuple[datetime, datetime]]:
    """Yield the parts of a time range that one request each covers."""
    while start < end:
        stop = min(start + timedelta(days=max_days), end)
        yield start, stop
        start = stop
