"""Values for GraphQL types, equal for the same seed and path, and sometimes wrong."""

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any
from uuid import UUID

from graphql import (
    GraphQLEnumType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    is_abstract_type,
)

from tests.graphql.compiled.types import ROWS, Colour, LimitsRow, MeterRow, ProbeRow, Raised, Speed
from wattgate.db.column_types import SerializedColumn
from wattgate.errors import Forbidden, NotFound
from wattgate.operations.core.fields import edge_of


class UnknownObject:
    """A value that fits no type."""

    def __repr__(self) -> str:
        return "<odd>"


class FailingAwaitable(Awaitable[Any]):
    """An awaitable that can be awaited many times and always fails."""

    def __await__(self) -> Generator[Any, Any, Any]:
        raise ValueError("too late")
        yield

    def __repr__(self) -> str:
        return "<later>"


class OtherIterable:
    """An iterable that behaves like a list but has another class."""

    def __init__(self, *items: Any) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Again{self._items!r}"


class Namesake(Enum):
    """An enum with the member names of other enums."""

    RED = "another red"
    SLOW = "another slow"


class StrSubclass(str):
    """A subclass of str."""

    __slots__ = ()


Fault = Callable[[], Any]

FAULTS: dict[str, Fault] = {
    "null": lambda: None,
    "undefined": lambda: Undefined,
    "odd": UnknownObject,
    "error as value": lambda: ValueError("as a value"),
    "gateway error as value": lambda: NotFound("no such thing"),
    "raised": lambda: Raised(RuntimeError("raised")),
    "gateway error raised": lambda: Raised(Forbidden("not for you")),
    "awaitable": FailingAwaitable,
    "text without a type": lambda: "of no type",
    "text": lambda: "text",
    "number as text": lambda: "12",
    "subclass of str": lambda: StrSubclass("sub"),
    "whole": lambda: 7,
    "one": lambda: 1,
    "true": lambda: True,
    "real": lambda: 1.5,
    "whole real": lambda: 3.0,
    "not a number": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "beyond 32 bits": lambda: 2**40,
    "just beyond 32 bits": lambda: 2**31,
    "beyond 64 bits": lambda: 2**70,
    "decimal": lambda: Decimal("0.5"),
    "bytes": lambda: b"bytes",
    "empty list": list,
    "list": lambda: [1, "two", None],
    "tuple": lambda: ("one", 2),
    "again": lambda: OtherIterable("one", "two"),
    "dict": lambda: {"path": "dict", "rank": 1},
    "naive instant": lambda: datetime(2026, 3, 4, 5, 6, 7, 89),
    "day": lambda: date(999, 1, 2),
    "other enum": lambda: Speed.FAST,
    "namesake of a colour": lambda: Namesake.RED,
    "namesake of a pace": lambda: Namesake.SLOW,
    "value of an enum": lambda: "r",
    "name of an enum": lambda: "ROT",
    "other row": lambda: LimitsRow("other", *[None] * 14),
    "row of neither kind": lambda: ProbeRow("probe", kind="neither"),
    "class": lambda: MeterRow,
}
"""Wrong values by kind."""

ACCEPTED_BY_GRAPHQL_CORE = frozenset({"undefined", "again", "awaitable"})
"""Faults in which graphql-core may find no error, although a plan falls back.

graphql-core accepts an awaitable for an object if only `__typename` is selected.
"""

RANDOM_FAULTS = tuple(made for name, made in FAULTS.items() if name not in ACCEPTED_BY_GRAPHQL_CORE)

_LEAVES: dict[str, Callable[[Random], Any]] = {
    "Int": lambda rng: rng.choice((0, 1, -1, rng.randint(-(2**31), 2**31 - 1), 2**31 - 1, -(2**31))),
    "Float": lambda rng: rng.choice((0.0, -0.5, rng.random() * 1e6, 1e300, 5e-324)),
    "Boolean": lambda rng: rng.random() < 0.5,
    "String": lambda rng: rng.choice(("", "plain", 'quoted "text"\n', "Grüße €", "\u2028", str(rng.random()))),
    "ID": lambda rng: str(rng.randint(0, 99)),
    "DateTime": lambda rng: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randint(0, 10**7)),
    "Date": lambda rng: date(1900, 1, 1) + timedelta(days=rng.randint(0, 60_000)),
    "UUID": lambda rng: UUID(int=rng.getrandbits(128)),
    "Decimal": lambda rng: Decimal(rng.randint(-(10**9), 10**9)).scaleb(-3),
    "Celsius": lambda rng: rng.random() * 40,
    "JSON": lambda rng: rng.choice((1, 2**64, "text", [1, [None, {"a": 1.5}]], {"b": {}, "a": [True]}, False)),
}
_MEMBERS = {"Colour": tuple(Colour), "Pace": tuple(Speed)}


class Values:
    """Creates values of output types. A share `rate` of them is wrong, and so are those at positions in `broken`.

    A position is a field such as `Meter.grid` or `Query.named`, an edge by the name of its loader, or the items of one
    of these: `Meter.grid[]`, `Meter.grid[][]`.
    """

    def __init__(self, schema: GraphQLSchema, rate: float, broken: Mapping[str, Fault]) -> None:
        self._schema = schema
        self._rate = rate
        self._broken = broken

    def of(self, type_: Any, rng: Random, path: str, position: str) -> Any:
        """Return a value of the type. `path` becomes part of its rows."""
        if position in self._broken:
            return self._broken[position]()
        if self._rate and rng.random() < self._rate:
            return rng.choice(RANDOM_FAULTS)()
        if isinstance(type_, GraphQLNonNull):
            return self._present(type_.of_type, rng, path, position)
        absent = rng.random() < 0.15 and not self._broken
        return None if absent else self._present(type_, rng, path, position)

    def _present(self, type_: Any, rng: Random, path: str, position: str) -> Any:
        if isinstance(type_, GraphQLList):
            return self._list(type_.of_type, rng, path, f"{position}[]")
        if is_abstract_type(type_):
            return self.row(rng.choice(self._schema.get_possible_types(type_)), rng, path)
        if isinstance(type_, GraphQLObjectType):
            return self.row(type_, rng, path)
        if isinstance(type_, GraphQLEnumType):
            return rng.choice(_MEMBERS[type_.name])
        return _LEAVES[type_.name](rng)

    def _list(self, type_: Any, rng: Random, path: str, position: str) -> list[Any]:
        count = 2 if self._broken else rng.choice((0, 1, 2, 2, 3))
        values = [self.of(type_, rng, f"{path}[{index}]", position) for index in range(count)]
        items = [value.error if isinstance(value, Raised) else value for value in values]
        return SerializedColumn(items) if path.endswith("column") else items

    def row(self, type_: GraphQLObjectType, rng: Random, path: str) -> Any:
        """Return a row of the object type with all fields that are not edges."""
        values = {"path": path}
        for field in type_.fields.values():
            declared = field.extensions["strawberry-definition"]
            name = declared.python_name
            if name != "path" and edge_of(declared) is None:
                values[name] = self.of(field.type, rng, f"{path}.{name}", f"{type_.name}.{name}")
        return _build_row(rng.choice(ROWS[type_.name]), type_.name, values)


def _build_row(cls: type, name: str, values: dict[str, Any]) -> Any:
    if cls is ProbeRow:
        values["kind"] = name
    if cls is MeterRow:
        values["held"] = values.pop("power")
    row = cls(**values)
    for name, value in values.items():
        if isinstance(value, Raised) and name != "held":
            delattr(row, name)  # so that reading it raises
    return row
