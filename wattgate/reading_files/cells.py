"""Values of cells that are written as text: numbers and qualities. No I/O."""

from decimal import Decimal

from wattgate.energy.storage_fields import QUALITY_CODES
from wattgate.enums import ReadingQuality
from wattgate.values.decimals import MAX_NUMBER_CHARACTERS, InvalidDecimal, parse_decimal

MAX_EXACT_CHARACTERS = 15
"""Numbers with at most this many characters are exact as a double."""


class InvalidLine(ValueError):
    """A line without a valid reading; the message is the reason."""


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
