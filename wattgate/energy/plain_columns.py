"""Columns of instants and numbers in their usual forms, parsed with NumPy.

A column with any other form has no result. The caller then parses its items one by one, which also finds the errors.
The scalars DateTime and Decimal accept each accepted item, with the same value.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattgate.clock import to_ms
from wattgate.energy.arrays import FloatArray, IntArray
from wattgate.energy.buckets import HOUR_MS, MINUTE_MS

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


def _positions(form: str) -> tuple[list[int], list[int], NDArray[np.uint8]]:
    """Return the positions of the digits of a form, those of its other characters except a sign, and the latter."""
    digits = [position for position, character in enumerate(form) if character == "0"]
    marks = [position for position, character in enumerate(form) if character not in "0+"]
    return digits, marks, np.array([ord(form[position]) for position in marks], np.uint8)


_POSITIONS = MappingProxyType({form: _positions(form) for form in _FORMS.values()})
_ZERO = np.uint8(ord("0"))

_FIRST_MS, _END_MS = to_ms(datetime(1971, 1, 1, tzinfo=UTC)), to_ms(datetime(9000, 1, 1, tzinfo=UTC))
"""Local times whose instants are after 1970 and before 9001 in every time zone."""

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
    encoded = joined.encode()
    characters = np.frombuffer(encoded, np.uint8).reshape(-1, len(form))
    digits, marks, expected = _POSITIONS[form]
    if (characters[:, digits] - _ZERO > 9).any() or (characters[:, marks] != expected).any():
        return None
    has_offset = form.endswith("+00:00")
    end = len(form) - (6 if has_offset else 1)
    times = np.frombuffer(encoded, f"S{len(form)}").astype(f"S{end}")
    try:
        at = times.astype("datetime64[ms]").astype(np.int64)
    except ValueError:  # a date or a time that does not exist
        return None
    offset = _parse_offset(characters) if has_offset else np.zeros(len(texts), np.int64)
    is_in_range = at.min() >= _FIRST_MS and at.max() < _END_MS
    return None if offset is None or not is_in_range else at - offset


def _parse_offset(characters: NDArray[np.uint8]) -> IntArray | None:
    """Return the UTC offset in ms, or None if one is not less than a day."""
    sign, *digits = (characters[:, position].astype(np.int64) for position in (-6, -5, -4, -2, -1))
    tens_of_hours, hours, tens_of_minutes, minutes = (column - ord("0") for column in digits)
    hour, minute = tens_of_hours * 10 + hours, tens_of_minutes * 10 + minutes
    if not (((sign == ord("+")) | (sign == ord("-"))) & (hour < 24) & (minute < 60)).all():
        return None
    offset: IntArray = np.where(sign == ord("-"), -1, 1) * (hour * HOUR_MS + minute * MINUTE_MS)
    return offset


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
