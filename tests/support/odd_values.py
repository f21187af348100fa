"""Odd values of every input type: long, deep, wide, extreme, empty and malformed ones."""

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
)

from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of

Path = tuple[str | int, ...]

MAX_PATH_LENGTH = 6
"""Maximum nesting of the values that are replaced."""

WIDE = 3_000
"""Members of a wide list or object."""


def deep(levels: int) -> Any:
    """Return lists in objects, nested so many levels deep."""
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


TEXTS: dict[str, Any] = {
    "empty text": "",
    "long text": "x" * 100_000,
    "tags": "<body " * 10_000,
    "encoded words": "=?x" * 20_000 + "@x.example",
    "spaces": "x" + " " * 50_000 + "x",
    "markers": "{{" * 20_000,
    "combining": "e" + "\u0316\u0301" * 5_000,
    "surrogate": "a\ud800b",
    "control": "a\0b\r\nc\u2028\u202e\ufffe",
    "dots": "a." * 20_000,
}
NUMBERS: dict[str, Any] = {
    "huge integer": 10**400,
    "beyond 64 bits": 2**64,
    "negative": -(2**63) - 1,
    "not a number": "NaN",
    "infinity": "-Infinity",
    "huge exponent": "1E+999999999",
    "tiny exponent": "0E-999999999",
    "many digits": "9" * 5_000,
    "small fraction": "0." + "0" * 400 + "1",
    "large float": 1e308,
}
INSTANTS: dict[str, Any] = {
    "first year": "0001-01-01T00:00:00Z",
    "last year": "9999-12-31T23:59:59Z",
    "many digits of a second": "2026-01-05T00:00:00." + "9" * 5_000 + "Z",
    "no such day": "2026-02-30T00:00:00Z",
    "extreme offset": "0001-01-01T00:00:00+23:59",
    "empty text": "",
}
DOCUMENTS: dict[str, Any] = {
    "deep": deep(240),
    "very deep": deep(900),
    "wide": {f"name{number}": number for number in range(WIDE)},
    "wide list": [{}] * WIDE,
    "huge integer": {"a": 10**400},
    "surrogate": {"\ud800": "\udfff"},
    "long name": {"n" * 50_000: 1},
    "null": None,
    "text": "x" * 100_000,
}
SWITCHES: dict[str, Any] = {"number": 1, "text": "true"}

ODD_VALUES: dict[str, dict[str, Any]] = {
    "String": TEXTS | {"list": ["x"], "number": 1},
    "ID": TEXTS | {"beyond 64 bits": 2**64},
    "Int": NUMBERS,
    "Float": NUMBERS,
    "Decimal": NUMBERS,
    "DateTime": INSTANTS,
    "Date": INSTANTS,
    "JSON": DOCUMENTS,
    "Boolean": SWITCHES,
    "MeterPointNumber": TEXTS,
    "LocalTime": TEXTS,
    "TimeZone": TEXTS,
}
"""Odd values by the name of a scalar type, each with a name."""


def replaceable(type_: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and type of each list and each leaf in an input type, optional members included.

    Paths have the names of REST, as the examples have.
    """
    nullable = get_nullable_type(type_)
    if len(path) > MAX_PATH_LENGTH:
        return
    if is_list_type(nullable):
        yield path, nullable
        yield from replaceable(nullable.of_type, (*path, 0))
    elif isinstance(nullable, GraphQLInputObjectType):
        for member in nullable.fields.values():
            yield from replaceable(member.type, (*path, rest_name(member)))
    else:
        yield path, nullable


def odd_values(type_: Any, example: Any) -> dict[str, Any]:
    """Return odd values for a leaf or list type, each with a name. A wide list repeats the example."""
    if is_list_type(type_):
        item = example[0] if isinstance(example, list) and example else _plain_item(type_)
        return {"empty list": [], "wide list": [item] * WIDE, "list of nulls": [None] * WIDE}
    return ODD_VALUES.get(type_.name, {"long name": "X" * 10_000, "number": 1})


def _plain_item(type_: Any) -> Any:
    named = get_named_type(type_)
    if isinstance(named, GraphQLInputObjectType):
        return {rest_name(member): "1" for member in named.fields.values() if is_non_null_type(member.type)}
    return "x"


def rest_name(declared: GraphQLArgument | GraphQLInputField) -> str:
    """Return the name of an argument or input field in REST."""
    return rest_name_of(declared.extensions["strawberry-definition"])


def value_at(variables: Any, path: Path) -> Any:
    """Return the value at a path, or None."""
    for segment in path:
        try:
            variables = variables[segment]
        except (KeyError, IndexError, TypeError):
            return None
    return variables


def with_value(variables: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return variables with another value at a path. Objects and lists on the way are created."""
    changed = copy.deepcopy(variables)
    parent: Any = changed
    for segment, following in pairwise(path):
        inner = value_at(parent, (segment,))
        if not isinstance(inner, list if isinstance(following, int) else dict):
            inner = [] if isinstance(following, int) else {}
        _put(parent, segment, inner)
        parent = inner
    _put(parent, path[-1], value)
    return changed


def _put(parent: Any, segment: str | int, value: Any) -> None:
    if isinstance(segment, int):
        parent[segment : segment + 1] = [value]
    else:
        parent[segment] = value
