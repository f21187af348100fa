"""The rule for JSON values of callers that the gateway stores, and the encoder that never fails on a stored value.

The rule is I-JSON (RFC 7493) with bounds: what every client, both databases and every encoder can represent. Integers
beyond 2^53 lose digits in JavaScript; PostgreSQL has no U+0000; encoders fail on lone surrogates and on deep values.
"""

import json
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

log = logging.getLogger(__name__)

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that a JSON number represents exactly in every client (RFC 7493, section 2.2)."""

REPLACEMENT = "\ufffd"
_SCALAR_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """The bounds of a JSON value. `characters` counts all keys and texts, and 8 for each other value."""

    depth: int
    values: int
    key_characters: int
    text_characters: int
    characters: int


INPUT_JSON_LIMITS = JsonLimits(
    depth=32, values=10_000, key_characters=200, text_characters=100_000, characters=256 * 1024
)
"""The bounds of a JSON value of a caller, also after it is merged with a stored one."""

STORED_JSON_LIMITS = JsonLimits(
    depth=48, values=100_000, key_characters=1_000, text_characters=1_000_000, characters=4 * 2**20
)
"""The bounds of a JSON column. They leave room for members that the gateway adds to the value of a caller."""


class UnstorableJson(ValueError):
    """A JSON value breaks the rule; the message says how, without its subject."""


def check_json(value: Any, limits: JsonLimits = INPUT_JSON_LIMITS) -> None:
    """Raise UnstorableJson unless a JSON value obeys the rule. The work is linear and ends at the first bound."""
    values = characters = 0
    pending: list[Iterator[Any]] = [iter((value,))]
    while pending:
        for item in pending[-1]:
            values += 1
            if values > limits.values:
                raise UnstorableJson(f"has more than {limits.values:,} values")
            if isinstance(item, dict):
                for key in item:
                    characters += len(key)
                    _check_text(key, limits.key_characters, "a member name")
                children = iter(item.values())
            elif isinstance(item, list | tuple):
                children = iter(item)
            else:
                characters += len(item) if isinstance(item, str) else _SCALAR_CHARACTERS
                _check_scalar(item, limits)
                continue
            if len(pending) > limits.depth:
                raise UnstorableJson(f"is nested more than {limits.depth} levels deep")
            pending.append(children)
            break
        else:
            pending.pop()
        if characters > limits.characters:
            raise UnstorableJson(f"has more than {limits.characters:,} characters")


def _check_scalar(value: Any, limits: JsonLimits) -> None:
    if isinstance(value, str):
        _check_text(value, limits.text_characters, "a text")
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise UnstorableJson("has an integer beyond 2^53, which clients round; send it as text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UnstorableJson("has a number that is not finite")


def _check_text(text: str, maximum: int, what: str) -> None:
    if len(text) > maximum:
        raise UnstorableJson(f"has {what} of {len(text):,} characters; the maximum is {maximum:,}")
    if not is_storable_text(text):
        raise UnstorableJson(f"has {what} with U+0000 or half of a surrogate pair")


def is_storable_text(text: str) -> bool:
    """Return whether both databases store a text: it has no U+0000 and no lone surrogate."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_stored(value: Any) -> str:
    """Encode the value of a JSON column. Raise UnstorableJson if it breaks the rule of columns."""
    check_json(value, STORED_JSON_LIMITS)
    return orjson.dumps(value).decode()


def encode_json(body: Any) -> bytes:
    """Encode a body in JSON. Replace the parts that cannot be encoded, so that one record never breaks a list."""
    try:
        return orjson.dumps(body)
    except TypeError as error:  # lone surrogates, integers of more than 64 bits, many levels
        reason = error
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        log.warning("A value of a response cannot be encoded and is replaced: %s", reason)
        return orjson.dumps(repair_json(body))


def repair_json(value: Any, depth: int = 2 * STORED_JSON_LIMITS.depth) -> Any:
    """Return a value that can be encoded.

    Integers beyond 2^53 become text. Characters that cannot be encoded become U+FFFD. Numbers that are not finite, and
    lists and objects below `depth` levels, become null.
    """
    if isinstance(value, str):
        return _repair_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_SAFE_INTEGER else _integer_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_repair_text(str(key)): repair_json(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list | tuple):
        return [repair_json(item, depth - 1) for item in value] if depth else None
    return value


def _repair_text(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _integer_text(number: int) -> str:
    """Return an integer as text: in decimal digits, or in hexadecimal ones if it is very large."""
    return str(number) if number.bit_length() <= 4_096 else hex(number)
