"""Columns of instants and numbers in their usual forms, parsed with NumPy.

A column with any other form has no result. The caller then parses its items one by one, which also finds the errors.
The scalars DateTime and Decimal accept each accepted item, with the same value.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.energy.buckets import DAY_MS, HOUR_MS, MINUTE_MS

_FORMS: Mapping[int, str] = MappingProxyType(
    {
        len(form): form
        for form in (
            "0000-00-00T00:00:00Z",
            "0000-00-00T00:00:00.000Z",
            "0000-00-00T00:00:00+00:00",
            "0000-00-00T00:00:00.000+00:00",
        )
    }
)
"""The forms of instants by length. 0 stands for a digit, and + for a sign."""

_FIRST_YEAR, _LAST_YEAR = 1971, 8999
"""Years whose instants are after 1970 and before 9000 in every time zone."""

_NUMBERS = re.compile(r"(?:-?[0-9]+(?:\.[0-9]+)?\n)*")
_MAX_NUMBER_CHARACTERS = 15
"""Numbers with at most this many characters are exact as a double."""

_MIN_MAGNITUDE, _MAX_MAGNITUDE = 1e-12, 1e15
"""Magnitudes of accepted numbers other than 0: the digits of a double are in the bounds of a Decimal."""


def parse_instants(texts: Sequence[str]) -> IntArray | None:
    """Return the ms since 1970 of instants in one common form, with milliseconds or without a fraction."""
    if not texts:
        return np.empty(0, np.int64)
    form, joined = _FORMS.get(len(texts[0])), "".join(texts)
    if form is None or set(map(len, texts)) != {len(form)} or not joined.isascii():
        return None
    characters = np.frombuffer(joined.encode(), np.uint8).reshape(-1, len(form))
    digits = characters.astype(np.int64) - ord("0")
    for position, expected in enumerate(form):
        column = characters[:, position]
        if expected == "0":
            is_valid = (digits[:, position] >= 0) & (digits[:, position] <= 9)
        elif expected == "+":
            is_valid = (column == ord("+")) | (column == ord("-"))
        else:
            is_valid = column == ord(expected)
        if not is_valid.all():
            return None
    days, ms = _parse_days(digits), _parse_time_of_day(digits)
    offset = _parse_offset(characters, digits) if form[-1] == "0" else np.zeros(len(texts), np.int64)
    return None if days is None or ms is None or offset is None else days * DAY_MS + ms - offset


def _parse_days(digits: IntArray) -> IntArray | None:
    """Return the days since 1970 of the dates, or None if a date does not exist."""
    year, month, day = _number(digits[:, :4]), _number(digits[:, 5:7]), _number(digits[:, 8:10])
    if not ((year >= _FIRST_YEAR) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1)).all():
        return None
    months = (year * 12 + month - 1 - 1970 * 12).astype("datetime64[M]")
    dates = months.astype("datetime64[D]") + (day - 1)
    return dates.astype(np.int64) if (dates.astype("datetime64[M]") == months).all() else None


def _parse_time_of_day(digits: IntArray) -> IntArray | None:
    """Return the ms since midnight, or None if a time does not exist."""
    hour, minute, second = (_number(digits[:, start : start + 2]) for start in (11, 14, 17))
    if not ((hour < 24) & (minute < 60) & (second < 60)).all():
        return None
    has_fraction = digits.shape[1] in (24, 29)
    return hour * HOUR_MS + minute * MINUTE_MS + second * 1000 + (_number(digits[:, 20:23]) if has_fraction else 0)


def _parse_offset(characters: NDArray[np.uint8], digits: IntArray) -> IntArray | None:
    """Return the UTC offset in ms, or None if one is not less than a day."""
    hour, minute = _number(digits[:, -5:-3]), _number(digits[:, -2:])
    if not ((hour < 24) & (minute < 60)).all():
        return None
    sign: IntArray = np.where(characters[:, -6] == ord("-"), -1, 1)
    return sign * (hour * HOUR_MS + minute * MINUTE_MS)


def _number(digits: IntArray) -> IntArray:
    """Return the numbers that rows of digits form."""
    number: IntArray = digits @ 10 ** np.arange(digits.shape[1] - 1, -1, -1)
    return number


def parse_numbers(values: Sequence[int | float | str]) -> FloatArray | None:
    """Return numbers as doubles. They are all JSON numbers, or all texts with at most 15 characters."""
    classes = set(map(type, values))
    if classes <= {int, float}:
        try:
            numbers = np.array(values, np.float64)
        except OverflowError:
            return None
    elif classes == {str}:
        texts: Any = values
        joined = "\n".join(texts) + "\n"
        if joined.count("\n") != len(values) or not _NUMBERS.fullmatch(joined):
            return None
        if max(map(len, texts)) > _MAX_NUMBER_CHARACTERS:
            return None
        numbers = np.array(list(map(float, values)), np.float64)
    else:
        return None
    magnitude = np.abs(numbers)
    is_plain = (magnitude <= _MAX_MAGNITUDE) & ((magnitude >= _MIN_MAGNITUDE) | (magnitude == 0))
    return numbers if is_plain.all() else None
