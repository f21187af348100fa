"""Custom scalars, each with the address of its specification."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, NewType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import strawberry
from strawberry.types.scalar import ScalarDefinition

from wattgate.clock import Timestamp, format_iso

Json = NewType("Json", object)

_OFFSET = re.compile(r"^([+-])([01]\d|2[0-3]):([0-5]\d)$")


def _parse_datetime(text: Any) -> datetime:
    if not isinstance(text, str):
        raise ValueError("a DateTime must be a string")
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
        raise ValueError("a Decimal must be a number, or a string that contains one")
    if isinstance(value, str) and ("_" in value or not value.isascii()):  # Python accepts both
        raise ValueError(f"{value!r} is not a decimal number")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a decimal number") from None


def _parse_time_zone(name: Any) -> tzinfo:
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
        description="An instant in ISO 8601 with a UTC offset. Responses use UTC, with milliseconds and Z.",
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=format_iso,
        parse_value=_parse_datetime,
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description="An exact decimal number. Requests contain a number or a string; responses contain a string.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259#section-6",
        serialize=str,
        parse_value=_parse_decimal,
    ),
    tzinfo: strawberry.scalar(
        name="TimeZone",
        description="The name of an IANA time zone, such as Europe/London, or a fixed offset, such as +05:30.",
        specified_by_url="https://www.iana.org/time-zones",
        serialize=str,
        parse_value=_parse_time_zone,
    ),
    Json: strawberry.scalar(
        name="JSON",
        description="Any JSON value.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=lambda value: value,
        parse_value=lambda value: value,
    ),
}
"""The scalar of each Python type, for the scalar map of the schema."""

FAST_SERIALIZERS: Mapping[Any, Collection[type]] = {format_iso: {datetime, Timestamp}, str: {Decimal}}
"""For a serializer of the scalars above: the classes whose values it serializes correctly without a check."""
