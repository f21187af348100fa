"""Canonical forms of meter point numbers (MPAN, MPRN), device ids (EUI-64) and postcodes. No I/O.

Records store and compare these forms. A parser returns None if the text has no such form.

A meter point of an application is any text with a letter or a digit. The operations on resources, consents and moves
compare it by `canonical_meter_point`. The meter network has numbers only, and `parse_meter_point_number` is for it.
"""

import re
import unicodedata
from datetime import datetime

import msgspec

_WHITESPACE = re.compile(r"\s+")
_SEPARATING = re.compile(r"(?:[^\w]|_)+")
_SEPARATORS = re.compile(r"[\s:\-]")
_METER_POINT_NUMBER = re.compile(r"\d{1,13}", re.ASCII)
_MAC = re.compile(r"[0-9A-F]{12}")
_EUI_OF_MAC = "FFFE"
_EUI = re.compile(r"[0-9A-F]{16}")
_DIGITS = re.compile(r"\d+", re.ASCII)

MPAN_DIGITS = 13
MPRN_DIGITS = (6, 10)
"""The number of digits of an MPAN, and the smallest and largest number of an MPRN."""

OTHER_NUMBERS = (4, 33)
"""The smallest and largest number of digits and letters of a meter point outside Great Britain."""

_CHECK_DIGIT_WEIGHTS = (3, 5, 7, 13, 17, 19, 23, 29, 31, 37, 41, 43)


def parse_meter_point_number(text: str) -> str | None:
    """Parse an MPAN or MPRN of 1 to 13 digits. An MPAN without its check digit (12 digits) gets it."""
    digits = _WHITESPACE.sub("", text)
    if not _METER_POINT_NUMBER.fullmatch(digits):
        return None
    return digits + check_digit(digits) if len(digits) == len(_CHECK_DIGIT_WEIGHTS) else digits


def stored_meter_point(text: str) -> str:
    """Return the form in which records keep a meter point: letters and digits only, in capitals.

    So a look-up by `meter_point_spellings` finds each record, whether somebody wrote the number with spaces, hyphens,
    full-width digits or the digits of another script. An MPAN without its check digit stays as it is. The form of a
    stored text is the text itself.
    """
    capitals = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).upper())  # `upper` decomposes some
    kept = _SEPARATING.sub("", capitals)
    return kept if kept.isascii() else "".join(str(unicodedata.decimal(one, one)) for one in kept)


def canonical_meter_point(text: str) -> str:
    """Return the form in which meter points are compared: a number with its check digit, other text as it is stored."""
    stored = stored_meter_point(text)
    return parse_meter_point_number(stored) or stored


def meter_point_spellings(number: str) -> set[str]:
    """Return all forms of a meter point's number that records may have: an MPAN also without its check digit."""
    if len(number) != MPAN_DIGITS or not _DIGITS.fullmatch(number) or has_wrong_check_digit(number):
        return {number}
    return {number, number[:-1]}


def check_digit(digits: str) -> str:
    """Return the 13th digit of an MPAN: the sum of the first 12, weighted by primes, modulo 11, modulo 10."""
    total = sum(int(digit) * weight for digit, weight in zip(digits, _CHECK_DIGIT_WEIGHTS, strict=True))
    return str(total % 11 % 10)


def mpan_problem(text: str) -> str | None:
    """Return why a text is not an MPAN (the number of an electricity meter point), or None."""
    digits = _WHITESPACE.sub("", text)
    if not _DIGITS.fullmatch(digits):
        return f"{text!r} is not a number. An MPAN has {MPAN_DIGITS} digits"
    if len(digits) == len(_CHECK_DIGIT_WEIGHTS):
        whole = digits + check_digit(digits)
        return f"{digits} has {len(digits)} digits, and an MPAN has {MPAN_DIGITS}. With its check digit it is {whole}"
    if len(digits) != MPAN_DIGITS:
        return f"{digits} has {len(digits)} digits, and an MPAN has {MPAN_DIGITS}"
    return None


def mprn_problem(text: str) -> str | None:
    """Return why a text is not an MPRN (the number of a gas meter point), or None."""
    digits = _WHITESPACE.sub("", text)
    least, most = MPRN_DIGITS
    if not _DIGITS.fullmatch(digits):
        return f"{text!r} is not a number. An MPRN has {least} to {most} digits"
    if not least <= len(digits) <= most:
        return f"{digits} has {len(digits)} digits, and an MPRN has {least} to {most}"
    return None


def meter_point_problem(text: str) -> str | None:
    """Return why a text cannot be the number of a meter point outside Great Britain, or None.

    Countries have numbers of 10 to 33 digits and letters, and utilities have shorter ones of their own.
    """
    number = stored_meter_point(text)
    least, most = OTHER_NUMBERS
    if not any(character.isdecimal() for character in number):
        return f"{text!r} has no digit, and the number of a meter point has"
    if not least <= len(number) <= most:
        return f"{number} has {len(number)} digits and letters, and a meter point has {least} to {most}"
    return None


def has_wrong_check_digit(mpan: str) -> bool:
    """Return whether the last digit of an MPAN does not follow from the others, so that it is probably mistyped."""
    return check_digit(mpan[:-1]) != mpan[-1]


def parse_eui(text: str) -> str | None:
    """Parse an EUI-64, with or without `:` or `-`, into 16 capital hexadecimal digits.

    A MAC address of 12 digits is converted to an EUI-64 as IEEE defines it, with FFFE in the middle.
    """
    digits = _SEPARATORS.sub("", text).upper()
    if _MAC.fullmatch(digits):
        return f"{digits[:6]}{_EUI_OF_MAC}{digits[6:]}"
    return digits if _EUI.fullmatch(digits) else None


def normalize_postcode(text: str) -> str | None:
    """Return a postcode in capitals without spaces; None if nothing is left."""
    return _WHITESPACE.sub("", text).upper() or None


def normalize_hardware_id(text: str) -> str:
    """Return a hardware id in the form in which it is compared: in capitals, without separators."""
    return _SEPARATORS.sub("", text).upper()


def hardware_id_spellings(text: str) -> set[str]:
    """Return the normalized forms of a hardware id: of a MAC address also the EUI-64 made from it, and vice versa.

    The set is empty if nothing but separators is left.
    """
    key = normalize_hardware_id(text)
    if _MAC.fullmatch(key):
        return {key, f"{key[:6]}{_EUI_OF_MAC}{key[6:]}"}
    if _EUI.fullmatch(key) and key[6:10] == _EUI_OF_MAC:
        return {key, key[:6] + key[10:]}
    return {key} if key else set()


class NetworkState(msgspec.Struct):
    """A display's report about itself and its link to the home's meter network.

    `rssi` is the signal strength in dBm. `lqi` is the link quality from 0 to 255.
    """

    at: datetime
    software: str | None = None
    hardware: str | None = None
    smets_version: str | None = None
    rssi: int | None = None
    lqi: int | None = None
    status: str | None = None
