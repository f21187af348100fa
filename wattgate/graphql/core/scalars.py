"""Custom scalars, each with where it is specified."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, NewType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import strawberry
from strawberry.types.scalar import ScalarDefinition

from wattgate.clock import Timestamp, iso

Json = NewType("Json", object)

_OFFSET = re.compile(r"^([+-])([01]\d|2[0-3]):([0-5]\d)$")


def _parse_instant(text: Any) -> datetime:
    if not isinstance(text, str):
        raise ValueError("a DateTime is a text")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 timestamp") from None
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; end it with Z for UTC")
    if not 1900 <= instant.year <= 9000:
        raise ValueError(f"{text!r} is not in the years 1900 to 9000")
    return instant.astimezone(UTC)


def _parse_decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError("a Decimal is a number, or a text that holds one")
    if isinstance(value, str) and ("_" in value or not value.isascii()):  # which Python would take
        raise ValueError(f"{value!r} is not a decimal number")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a decimal number") from None


def _parse_zone(name: Any) -> tzinfo:
    if isinstance(name, str) and (match := _OFFSET.match(name)):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ValueError(f"{name!r} is not an IANA time zone") from None


SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="DateTime",
        description="An instant: ISO 8601 with an offset. Answers are in UTC with milliseconds and Z.",
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=iso,
        parse_value=_parse_instant,
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description="An exact decimal number. Given as a number or as text, answered as text.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259#section-6",
        serialize=str,
        parse_value=_parse_decimal,
    ),
    tzinfo: strawberry.scalar(
        name="TimeZone",
        description="The name of an IANA time zone, such as Europe/London, or a fixed offset, such as +05:30.",
        specified_by_url="https://www.iana.org/time-zones",
        serialize=str,
        parse_value=_parse_zone,
    ),
    Json: strawberry.scalar(
        name="JSON",
        description="Any JSON value.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
}
"""What `strawberry.Schema` is told about the Python types that stand for scalars."""

QUICK: Mapping[Any, Collection[type]] = {iso: {datetime, Timestamp}, str: {Decimal}}
"""Which classes of values a scalar's function of those above makes a text of, whatever the value."""
