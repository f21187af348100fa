"""Parsing of decimal numbers from callers: one rule for GraphQL, REST, files and messages of meters."""

from decimal import Decimal, InvalidOperation
from typing import Any

MAX_NUMBER_CHARACTERS = 64
"""Maximum characters of a number that is written as text."""

MAX_EXPONENT = 30
"""A number is below 10^30, and its last digit is at most the 30th decimal place. Stored numbers need less than 20."""

_MAX_INTEGER_BITS = 128


class InvalidDecimal(ValueError):
    """The value is not a decimal number that the gateway accepts; the message says why."""


def parse_decimal(value: Any) -> Decimal:
    """Return a finite decimal number from a number or text. Raise InvalidDecimal for anything else.

    NaN, infinity and numbers with a large exponent are rejected: arithmetic with them raises, or takes much memory.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise InvalidDecimal("a Decimal is a number, or a text that holds one")
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        raise InvalidDecimal(f"an integer of {value.bit_length():,} bits is too large; use a number below 10^30")
    if isinstance(value, str):
        if len(value) > MAX_NUMBER_CHARACTERS:
            raise InvalidDecimal(f"a number has at most {MAX_NUMBER_CHARACTERS} characters; this has {len(value):,}")
        if "_" in value or not value.isascii():  # which Python would take
            raise InvalidDecimal(f"{value!r} is not a decimal number")
    try:
        number = value if isinstance(value, Decimal) else Decimal(str(value))
    except InvalidOperation:
        raise InvalidDecimal(f"{value!r} is not a decimal number") from None
    if not number.is_finite():
        raise InvalidDecimal(f"{value!r} is not a finite number")
    if not is_bounded(number):
        raise InvalidDecimal(
            f"{value!r} is out of range; use a number below 10^{MAX_EXPONENT} with at most {MAX_EXPONENT} decimals"
        )
    return number


def is_bounded(number: Decimal) -> bool:
    """Return whether a finite number is below 10^MAX_EXPONENT and has at most MAX_EXPONENT decimal places."""
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -MAX_EXPONENT and number.adjusted() < MAX_EXPONENT
