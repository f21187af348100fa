"""Custom scalars, with links to their specifications, and enums with a description of each value."""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NamedTuple, NewType, TypeVar
from zoneinfo import ZoneInfo

import strawberry

from wattgate.clock import Timestamp, format_iso
from wattgate.operations.vocabulary.strawberry_adapter import ScalarDefinition, enum_values
from wattgate.time_zones import is_time_zone
from wattgate.values.annotations import Described
from wattgate.values.decimals import parse_decimal

Json = NewType("Json", object)
Currency = NewType("Currency", str)

Data = Annotated[Json, Described("Free-form JSON data of the application.")]
SourceTypeInfo = Annotated[
    Json, Described("Type of the resource in its data source: text, or an object with type and unit.")
]
SourceUnitInfo = Annotated[Json, Described("Free-form JSON details of the unit in the data source.")]

SeriesCurrency = Annotated[Currency, Described("Currency of all amounts. They are in its major unit, such as pounds.")]
InputCurrency = Annotated[
    Currency,
    Described("Currency of all amounts, which are in its major unit, such as pounds: an active code of ISO 4217."),
]

MAX_SCALAR_CHARACTERS = 100
"""Maximum characters of a DateTime or TimeZone."""

_CURRENCY_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):([0-5]\d)")


def parse_datetime(text: Any) -> datetime:
    """Return the instant of a DateTime, in UTC. Raise ValueError if it is not one."""
    if not isinstance(text, str):
        raise ValueError("a DateTime is a text")
    if len(text) > MAX_SCALAR_CHARACTERS:
        raise ValueError(f"a DateTime has at most {MAX_SCALAR_CHARACTERS} characters")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 timestamp") from None
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; end it with Z for UTC")
    if not 1900 <= instant.year <= 9000:
        raise ValueError(f"{text!r} is not in the years 1900 to 9000")
    return instant.astimezone(UTC)


class UnknownTimeZone(NamedTuple):
    """A text in the place of a time zone. The check of the arguments refuses it, or the operation that takes texts."""

    name: str


def parse_time_zone(name: Any) -> tzinfo:
    """Return the time zone of a TimeZone. Raise ValueError if it is not one."""
    zone = _read_time_zone(name)
    if isinstance(zone, UnknownTimeZone):
        raise ValueError(f"{name!r} is not an IANA time zone")
    return zone


def time_zone_name(zone: tzinfo | UnknownTimeZone) -> str:
    """Return the text that stands for a time zone in a TimeZone."""
    if isinstance(zone, UnknownTimeZone):
        return zone.name
    if isinstance(zone, ZoneInfo):
        return zone.key
    minutes = zone.utcoffset(None) // timedelta(minutes=1)  # type: ignore[operator]
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _read_time_zone(name: Any) -> tzinfo | UnknownTimeZone:
    if isinstance(name, str) and (match := _OFFSET.fullmatch(name)):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    if isinstance(name, str) and len(name) > MAX_SCALAR_CHARACTERS:
        raise ValueError(f"a TimeZone has at most {MAX_SCALAR_CHARACTERS} characters")
    if not isinstance(name, str):
        raise ValueError(f"{name!r} is not an IANA time zone")
    return ZoneInfo(name) if is_time_zone(name) else UnknownTimeZone(name)


def _parse_currency(code: Any) -> str:
    if not (isinstance(code, str) and _CURRENCY_CODE.fullmatch(code)):
        raise ValueError("a Currency is an ISO 4217 code of three capital letters, such as GBP")
    return code


def format_decimal(number: Decimal) -> str:
    """Return a decimal number without an exponent, which parsers of money reject."""
    return f"{number:f}"


SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime",
        description="Instant in ISO 8601. Inputs need a UTC offset or Z. Results are in UTC, with milliseconds and Z.",
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=format_iso,
        parse_value=parse_datetime,
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description="Exact decimal number. Inputs are a finite number or text, below 10^30 and with at most 30 decimal "
        "places; results are text.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259#section-6",
        serialize=format_decimal,
        parse_value=parse_decimal,
    ),
    Currency: strawberry.scalar(
        name="Currency",
        description="Currency: a code of ISO 4217, such as GBP.",
        specified_by_url="https://www.iso.org/iso-4217-currency-codes.html",
        serialize=str,
        parse_value=_parse_currency,
    ),
    tzinfo: strawberry.scalar(
        name="TimeZone",
        description="Time zone: an IANA name such as Europe/London, or a fixed offset from UTC such as +05:30.",
        specified_by_url="https://www.iana.org/time-zones",
        serialize=str,
        parse_value=_read_time_zone,
    ),
    Json: strawberry.scalar(
        name="JSON",
        description="Any JSON value.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
}
"""The scalar of each Python type, for `strawberry.Schema`."""

FAST_SERIALIZERS: Mapping[Any, Collection[type]] = {
    format_iso: {datetime, Timestamp},
    format_decimal: {Decimal},
    str: {str},
}
"""The classes of values that each serialize function above always turns into a string."""

INLINE_SERIALIZERS: Mapping[Any, str] = {format_decimal: "f'{{{0}:f}}'"}
"""The serialize functions that generated code has as an expression: a frame of a display has about twenty decimals."""


# Declarations of enums as types of the GraphQL schema, with a description of each value.

E = TypeVar("E", bound=type[Enum])


def enum_type(description: str, **values: str) -> Callable[[E], E]:
    """Return the decorator of an enum that is a type of the schema. `values` describes each member by its name."""

    def declare(kind: E) -> E:
        declare_enum(kind, description, **values)
        return kind

    return declare


def declare_enum(kind: type[Enum], description: str, *, graphql_name: str | None = None, **values: str) -> None:
    """Make an enum of another area a type of the schema. `values` describes each member by its name.

    Raise TypeError if a member has no description, or a description no member.
    """
    if mismatched := values.keys() ^ kind.__members__.keys():
        raise TypeError(f"Describe exactly the members of {kind.__name__}: {', '.join(sorted(mismatched))} differ.")
    declared: Any = strawberry.enum(kind, name=graphql_name, description=description)
    for value in enum_values(declared):
        value.description = values[value.name]
