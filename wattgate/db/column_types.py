"""Column types that behave alike on SQLite and PostgreSQL, columns in their serialized form, and rows as parameters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar, overload
from uuid import uuid4

import msgspec
import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    DateTime,
    Dialect,
    String,
    Text,
    TextClause,
    cast,
    literal,
    text,
    type_coerce,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field

from wattgate.clock import utc_now

JsonColumn = JSON().with_variant(JSONB(), "postgresql")


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: aware on the Python side; timestamptz on PostgreSQL, naive UTC text on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Return the function that converts a stored value. asyncpg returns instants in UTC, so it needs none."""
        return None if dialect.driver == "asyncpg" else super().result_processor(dialect, coltype)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and (value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC))


class WordSet(TypeDecorator[frozenset[str]]):
    """A set of texts without spaces, stored as one text with spaces between them; the empty set as null."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:
        return " ".join(sorted(value or ())) or None

    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[str]:
        return frozenset((value or "").split())


class EnumText(TypeDecorator[Any]):
    """A member of a text enumeration, stored as its value."""

    impl = String
    cache_ok = True

    def __init__(self, members: type[StrEnum]) -> None:
        super().__init__()
        self.members = members
        self._by_value = {member.value: member for member in members}

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else self.members(value).value

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return self._convert

    def _convert(self, value: str | None) -> StrEnum | None:
        return None if value is None else self._by_value[value]


class EnumTexts(TypeDecorator[Any]):
    """A JSON column that holds a list of members of a text enumeration, stored as their values."""

    impl = JsonColumn
    cache_ok = True

    def __init__(self, members: type[StrEnum]) -> None:
        super().__init__()
        self.members = members

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else [self.members(item).value for item in value]

    def process_result_value(self, value: Sequence[str] | None, dialect: Dialect) -> list[StrEnum] | None:
        return None if value is None else [self.members(item) for item in value]


class StructColumn(TypeDecorator[Any]):
    """A JSON column that holds several values of one type of `msgspec.Struct`, or one value if `many` is false.

    Several values of a frozen type are a tuple, which readers share; others are a list.
    """

    impl = JsonColumn
    cache_ok = True

    def __init__(self, item: type[msgspec.Struct], *, many: bool = True) -> None:
        super().__init__()
        self.item, self.many = item, many
        self.is_shared: bool = item.__struct_config__.frozen
        several: Any = tuple[item, ...] if self.is_shared else list[item]  # type: ignore[valid-type]
        self.value_type: Any = (several if many else item) | None
        self._decode = msgspec.json.Decoder(self.value_type).decode

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Return the function that converts a stored value, without SQLAlchemy's functions around it."""
        return self._convert

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        """Select the stored text. The driver of PostgreSQL would decode the JSON of each row."""
        return type_coerce(cast(column, Text), self)

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return msgspec.to_builtins(value)

    def _convert(self, value: Any) -> Any:
        return self._decode(value) if isinstance(value, str) else msgspec.convert(value, self.value_type)


class FixedPoint(TypeDecorator[Decimal]):
    """An exact decimal with a fixed number of decimal places, stored as an integer on both databases."""

    impl = BigInteger
    cache_ok = True

    def __init__(self, decimals: int) -> None:
        super().__init__()
        self.decimals = decimals

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return None if value is None else int(value.scaleb(self.decimals).to_integral_exact())

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Return the function that converts a stored value. Few values are common, as rates are."""
        return partial(_to_decimal, self.decimals)


@lru_cache(maxsize=4096, typed=True)
def _to_decimal(decimals: int, stored: int | None) -> Decimal | None:
    return None if stored is None else Decimal(stored).scaleb(-decimals)


def new_id() -> str:
    """Return a new identifier: a random UUID as text, the format of SPEC.md."""
    return str(uuid4())


AssignedId: Callable[..., Any] = partial(Field, primary_key=True, default_factory=new_id)
"""A primary key that the gateway assigns."""


def created_at_field() -> Any:
    """Return the column of the creation time, which the gateway sets."""
    return Field(default_factory=utc_now, sa_type=UtcDateTime)


def updated_at_field() -> Any:
    """Return the column of the time of the last change, which the gateway sets."""
    return Field(default_factory=utc_now, sa_type=UtcDateTime, sa_column_kwargs={"onupdate": utc_now})


def is_literally(column: Any, *values: Any) -> ColumnElement[bool]:
    """Return the condition that a column has one of these values, which are in the text of the statement.

    A planner uses a partial index only for a statement whose text implies the condition of the index.
    """
    literals = [literal(value, column.type, literal_execute=True) for value in values]
    condition: ColumnElement[bool] = column == literals[0] if len(literals) == 1 else column.in_(literals)
    return condition


# Rows of values as parameters of a statement. The text of the statement does not depend on the number of rows.


@dataclass(frozen=True, slots=True)
class TableParameter:
    """A relation that is passed to a statement as parameters: its name, and its columns with their SQL types."""

    name: str
    columns: Mapping[str, str]

    def sql(self, dialect: str) -> str:
        """Return the subquery to use in FROM."""
        if dialect == "sqlite":
            columns = ", ".join(f"value ->> {position} AS {name}" for position, name in enumerate(self.columns))
            # LIMIT makes SQLite build the rows once, instead of parsing the JSON for each use of a column
            return f"(SELECT {columns} FROM json_each(:{self.name}) LIMIT -1)"  # noqa: S608 (names of our own columns only)
        arrays = ", ".join(f"CAST(:{self.name}_{name} AS {type_}[])" for name, type_ in self.columns.items())
        return f"(SELECT * FROM unnest({arrays}) AS u({', '.join(self.columns)}))"  # noqa: S608 (names of our own columns only)

    def parameters(self, dialect: str, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return the parameters that hold these rows."""
        if dialect == "sqlite":
            return {self.name: orjson.dumps([tuple(row) for row in rows]).decode()}
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        return {f"{self.name}_{name}": list(column) for name, column in zip(self.columns, columns, strict=True)}


@lru_cache(maxsize=256)
def cached_text(sql: str) -> TextClause:
    """Return the statement of a text, parsed once. There are few such texts, and they are executed very often."""
    return text(sql)


# Columns of values in the form in which they are serialized, and rows that have such columns.

T = TypeVar("T")


class SerializedColumn(list[T]):
    """A list whose items are already serializable. Renderers copy it to the response without conversion."""


class SerializedRows(Sequence[T]):
    """Rows whose attributes exist as columns: `columns` has a SerializedColumn for each attribute of a row.

    A renderer that needs only such attributes reads the columns. `build` creates the rows for all others.
    """

    def __init__(self, columns: Any, build: Callable[[], list[T]]) -> None:
        self.columns = columns
        self._build = build

    @cached_property
    def rows(self) -> list[T]:
        """The rows as objects. They are created on first access."""
        return self._build()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    @overload
    def __getitem__(self, position: int) -> T: ...
    @overload
    def __getitem__(self, position: slice) -> list[T]: ...
    def __getitem__(self, position: int | slice) -> T | list[T]:
        return self.rows[position]
