"""Column types that behave alike on SQLite and PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from uuid import uuid4

import msgspec
from sqlalchemy import JSON, BigInteger, ColumnElement, DateTime, Dialect, String, Text, cast, type_coerce
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
