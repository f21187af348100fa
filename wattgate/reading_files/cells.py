"""Cells of files that are written as text: numbers, qualities, dates and times. No I/O.

Numbers have a decimal mark and perhaps a thousands mark. Dates have an order of day, month and year. None of these is
guessed: a cell that may mean two things raises Ambiguous, which names the option that decides.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import DateOrder, ReadingQuality
from wattgate.errors import BadInput
from wattgate.values.decimals import MAX_NUMBER_CHARACTERS, InvalidDecimal, parse_decimal

MAX_EXACT_CHARACTERS = 15
"""Numbers with at most this many characters are exact as a double."""

MAX_CELL_CHARACTERS = 64
"""A number or a time has at most this many characters. Messages show no more of a cell."""


class InvalidLine(ValueError):
    """A line without a valid reading; the message is the reason."""


class Ambiguous(BadInput):
    """A file may mean two things. The message names the option that says which, and `option` is its member.

    `choices` are the values of the option that the file allows. There are none if the option takes any value.
    """

    def __init__(self, message: str, option: str, choices: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.option, self.choices = option, tuple(choices)


def parse_number(text: str) -> float:
    """Parse a number. Raise InvalidLine if the text is not a number, or has more digits than a double keeps."""
    try:
        number = parse_decimal(text)
    except InvalidDecimal:
        raise InvalidLine(f"{text[:MAX_NUMBER_CHARACTERS]!r} is not a number") from None
    value = float(number)
    if len(text) > MAX_EXACT_CHARACTERS and Decimal(repr(value)) != number:
        raise InvalidLine(f"{text} has more digits than can be stored")
    return value


def parse_quality(name: str) -> int:
    """Return the code of a quality by its name in any case, or of ACTUAL for an empty name.

    Raise InvalidLine if unknown.
    """
    if not name:
        return 0
    try:
        return QUALITY_CODES[ReadingQuality[name.upper()]]
    except KeyError:
        names = ", ".join(quality.name for quality in ReadingQuality)
        raise InvalidLine(f"{name!r} is not a quality; use one of: {names}") from None


_SPACES = "\u0020\u00a0\u2009\u202f"
"""The characters that a thousands mark "space" means: spreadsheets use several."""

_GROUPED_BY_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9])")
_GROUPED_BY_POINT = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?![0-9])")
_GROUPED_BY_SPACE = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[ \u00a0\u2009\u202f][0-9]{3})+(?![0-9])")
_GROUPED_BY_APOSTROPHE = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:'[0-9]{3})+(?![0-9])")
_GROUPED: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {",": _GROUPED_BY_COMMA, ".": _GROUPED_BY_POINT, " ": _GROUPED_BY_SPACE, "'": _GROUPED_BY_APOSTROPHE}
)
"""Whole numbers with a thousands mark, by the mark."""

_WHOLE = re.compile(r"[+-]?[0-9]+")


def number_parser(decimal: str | None, thousands: str | None) -> Callable[[str], float]:
    """Return the function that parses a number with these marks. A mark that is None is not known.

    The function raises InvalidLine for text that is not such a number, and Ambiguous if it needs a mark that is None.
    """
    grouped = _GROUPED.get(thousands or "")
    separators = str.maketrans("", "", _SPACES if thousands == " " else thousands or "")

    def parse(text: str) -> float:
        if decimal == "." and thousands is None:
            return _checked(text, text)
        if len(text) > MAX_CELL_CHARACTERS:
            raise InvalidLine(f"{text[:MAX_CELL_CHARACTERS]!r} is not a number")
        if grouped is not None and (found := grouped.match(text)):
            return _with_point(text, found.group().translate(separators) + text[found.end() :])
        return _with_point(text, text)

    def _with_point(text: str, digits: str) -> float:
        if decimal is None and not _WHOLE.fullmatch(digits):
            if "." in digits or "," in digits:
                raise Ambiguous(
                    f"{text!r} may have a decimal point or a decimal comma. Use --decimal",
                    "decimal",
                    ("point", "comma"),
                )
        elif decimal == ",":
            if "." in digits:
                raise InvalidLine(f"{text!r} has a point, and the decimal mark of the file is a comma")
            digits = digits.replace(",", ".", 1)
        return _checked(text, digits)

    def _checked(text: str, digits: str) -> float:
        try:
            return parse_number(digits)
        except InvalidLine:
            raise _explained(text, decimal, thousands) from None

    return parse


_LIKE_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}([., '\u00a0\u202f])[0-9]{3}(\1[0-9]{3})*([.,][0-9]+)?")
_LIKE_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def _explained(text: str, decimal: str | None, thousands: str | None) -> InvalidLine:
    """Return the error of a cell that is not a number, with the option that would read it."""
    shown = text[:MAX_CELL_CHARACTERS]
    if not text:
        return InvalidLine("has no value")
    if thousands is None and _LIKE_THOUSANDS.fullmatch(text):
        other = " or --decimal comma" if decimal != "," and _LIKE_COMMA.fullmatch(text) else ""
        return InvalidLine(f"{shown!r} is not a number. If it has a thousands mark, use --thousands{other}")
    if decimal == "." and _LIKE_COMMA.fullmatch(text):
        return InvalidLine(f"{shown!r} is not a number. If the comma is a decimal mark, use --decimal comma")
    return InvalidLine(f"{shown!r} is not a number")


# Dates and times. Each part is cached, because a file repeats days and times of day.

_MONTHS: Mapping[str, int] = MappingProxyType(
    {
        name: number
        for number, name in enumerate(
            ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
        )
    }
)
"""The English names of months, as in 02-Mar-2026."""

_DATE = re.compile(r"([0-9]{1,4})([-/. ])([0-9]{1,2}|[A-Za-z]{3,9})\2([0-9]{1,4})", re.ASCII)
_COMPACT_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})", re.ASCII)
_TIME = re.compile(
    r"([0-9]{1,2})[:.h]([0-9]{2})(?:[:.]([0-9]{2})(?:[.,]([0-9]{1,6}))?)?(?: ?([AaPp])\.?[Mm]\.?)?"
    r"(?: ?(Z|[+-][0-9]{2}:?[0-9]{2}))?",
    re.ASCII,
)
_DATE_AND_TIME = re.compile(r"(\S+?(?: [A-Za-z]{3,9} [0-9]+)?)(?:T|[ ,]+)([0-9].*)", re.ASCII)
_DAY = timedelta(days=1)
_CENTURY = 2000


@dataclass(frozen=True, slots=True)
class _Clock:
    """A time of day, the days after the date (24:00 is the next day), and its UTC offset if it has one."""

    at: time
    days: int
    offset: timedelta | None


@lru_cache(maxsize=4096)
def parse_date(text: str, order: DateOrder | None) -> date:
    """Return a date. `order` is None if it is not known. Raise InvalidLine for another text.

    Raise Ambiguous if the order is not known and decides. A year of two digits is in this century, and may be first.
    """
    if compact := _COMPACT_DATE.fullmatch(text):
        return _build_date(text, *compact.groups())
    found = _DATE.fullmatch(text)
    if found is None:
        raise InvalidLine(f"{text[:MAX_CELL_CHARACTERS]!r} is not a date")
    first, _, second, third = found.groups()
    if len(first) == 4 or order is DateOrder.YEAR_FIRST:
        return _build_date(text, first, second, third)
    if second.isalpha():
        return _build_date(text, third, second, first)
    if order is None:
        orders = [DateOrder.DAY_FIRST, DateOrder.MONTH_FIRST, *([DateOrder.YEAR_FIRST] if len(third) <= 2 else [])]
        raise Ambiguous(_unclear_date(text, first, second, third), "date_order", tuple(orders))
    day, month = (first, second) if order is DateOrder.DAY_FIRST else (second, first)
    return _build_date(text, third, month, day)


def _unclear_date(text: str, first: str, second: str, third: str) -> str:
    """Return the question about a date: what it may be in each order. A year of two digits may also be first."""
    forms = [(third, second, first), (third, first, second), *([(first, second, third)] if len(third) <= 2 else [])]
    readings = []
    for year, month, day in forms:
        try:
            readings.append(_build_date(text, year, month, day).strftime("%-d %B %Y"))
        except InvalidLine:
            continue
    orders = "day-first or month-first" if len(forms) == 2 else "day-first, month-first or year-first"
    return f"{text!r} may be {' or '.join(readings)}. Use --date-order {orders}"


def _build_date(text: str, year: str, month: str, day: str) -> date:
    number = _MONTHS.get(month[:3].lower(), 0) if month.isalpha() else int(month)
    whole = int(year) + (_CENTURY if len(year) <= 2 else 0)
    try:
        return date(whole, number, int(day))
    except ValueError:
        raise InvalidLine(f"{text!r} is not a date in this order of day, month and year") from None


@lru_cache(maxsize=4096)
def parse_clock(text: str) -> _Clock:
    """Return a time of day: with 12 or 24 hours, 24:00, seconds, and an offset. Raise InvalidLine for another text."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise InvalidLine(f"{text[:MAX_CELL_CHARACTERS]!r} is not a time of day")
    hour, minute, second, fraction, half, offset = found.groups()
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= 12:
            raise InvalidLine(f"{text!r} is not a time of day: hours before AM or PM are 1 to 12")
        hours = hours % 12 + (12 if half in "pP" else 0)
    days = 1 if hours == 24 and int(minute) == int(second or 0) == int(fraction or 0) == 0 else 0
    try:
        at = time(hours - 24 * days, int(minute), int(second or 0), int((fraction or "0").ljust(6, "0")))
    except ValueError:
        raise InvalidLine(f"{text!r} is not a time of day") from None
    return _Clock(at, days, _parse_offset(offset))


def _parse_offset(text: str | None) -> timedelta | None:
    if text is None:
        return None
    if text == "Z":
        return timedelta(0)
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    if minutes >= 24 * 60:
        raise InvalidLine(f"{text!r} is not an offset from UTC")
    return timedelta(minutes=-minutes if text[0] == "-" else minutes)


def parse_time(text: str, order: DateOrder | None) -> datetime:
    """Return the time of a cell that has a date and a time of day, or a date alone.

    The result is aware if the text has an offset, else it is a local time.
    """
    if len(text) > MAX_CELL_CHARACTERS:
        raise InvalidLine(f"{text[:MAX_CELL_CHARACTERS]!r} is not a time")
    day, clock = _split_time(text)
    return join_time(day, clock, order)


def join_time(day: str, clock: str, order: DateOrder | None) -> datetime:
    """Return the time of a date and a time of day, which may be empty: then it is the start of the day."""
    on = parse_date(day, order)
    if not clock:
        return datetime.combine(on, time())
    at = parse_clock(clock)
    try:
        local = datetime.combine(on, at.at)
        if at.days:
            local += _DAY
        if at.offset is None:
            return local
        return local.replace(tzinfo=timezone(at.offset)).astimezone(UTC)
    except OverflowError:
        raise InvalidLine(f"{day} {clock} is outside the supported range of times") from None


def _split_time(text: str) -> tuple[str, str]:
    if "T" in text or " " in text or "," in text:
        if len(text) > 10 and text[10] in "T ":  # the usual form, without the work of a pattern
            return text[:10], text[11:].lstrip()
        if found := _DATE_AND_TIME.fullmatch(text):
            return found.group(1), found.group(2)
    return text, ""
