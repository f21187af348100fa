"""Numbers that name meters: of meter points (MPAN, MPRN), of devices (EUI-64), and postcodes. Pure.

Each function gives the one spelling that is stored and compared, or None where the text is no such number.
"""

import re

_SEPARATORS = re.compile(r"[\s:\-]")
_NUMBER = re.compile(r"^\d{1,13}$", re.ASCII)
_MAC = re.compile(r"^[0-9A-F]{12}$")
_EUI = re.compile(r"^[0-9A-F]{16}$")
_WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)


def meter_point_number(text: str) -> str | None:
    """An MPAN or MPRN of 1 to 13 digits; an MPAN without its check digit (12 digits) gets it."""
    digits = re.sub(r"\s", "", text)
    if not _NUMBER.match(digits):
        return None
    return digits + check_digit(digits) if len(digits) == len(_WEIGHTS) else digits


def canonical(text: str) -> str:
    """The one spelling by which meter points are compared; a text that is no number stays as it is."""
    return meter_point_number(text) or text


def spellings(number: str) -> set[str]:
    """The ways in which records may have a meter point's number: an MPAN also without its check digit."""
    core = number[: len(_WEIGHTS)]
    bare = {core} if len(number) == len(_WEIGHTS) + 1 and check_digit(core) == number[-1] else set()
    return {number} | bare


def check_digit(digits: str) -> str:
    """The thirteenth digit of an MPAN, from its first twelve: their sum weighted by primes, modulo 11, modulo 10."""
    total = sum(int(digit) * weight for digit, weight in zip(digits, _WEIGHTS, strict=True))
    return str(total % 11 % 10)


def eui(text: str) -> str | None:
    """An EUI-64 as 16 capital hexadecimal digits, written bare or with `:` or `-`.

    A MAC address of 12 digits is the EUI-64 that IEEE makes of it, with FFFE in the middle.
    """
    digits = _SEPARATORS.sub("", text).upper()
    if _MAC.match(digits):
        return f"{digits[:6]}FFFE{digits[6:]}"
    return digits if _EUI.match(digits) else None


def postcode(text: str) -> str | None:
    """A postcode in capitals without spaces."""
    return re.sub(r"\s", "", text).upper() or None


def hardware_key(text: str) -> str:
    """A hardware id as it is compared: without separators, in capitals."""
    return _SEPARATORS.sub("", text).upper()
