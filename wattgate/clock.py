"""Time inside the house: aware datetimes in UTC, and whole milliseconds since 1970 for stored instants."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Anything that answers the present instant, aware and in UTC."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def utc_now() -> datetime:
    """The present instant, in UTC."""
    return datetime.now(UTC)


def to_ms(instant: datetime) -> int:
    """Whole milliseconds since 1970 of an aware datetime; what is below a millisecond is cut off."""
    return (instant - EPOCH) // MILLISECOND


def from_ms(ms: int) -> datetime:
    """The aware UTC datetime of whole milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


def iso(instant: datetime) -> str:
    """SPEC.md's timestamp: ISO 8601 in UTC with milliseconds and Z, such as 2026-11-20T10:00:00.000Z."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant.microsecond // 1000:03d}Z"
