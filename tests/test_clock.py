"""Text form of instants: both functions agree, and the form is that of SPEC.md."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import format_iso, format_iso_ms, has_passed, to_ms

ZONES = [UTC, ZoneInfo("Europe/London"), ZoneInfo("Pacific/Auckland"), timezone(timedelta(hours=5, minutes=45))]


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.sampled_from(ZONES)))
def test_instant_is_formatted_in_utc_with_milliseconds(instant: datetime) -> None:
    assert format_iso(instant) == instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert format_iso_ms(to_ms(instant)) == format_iso(instant)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 11, 20, 10, tzinfo=UTC), "2026-11-20T10:00:00.000Z"),
        (datetime(2026, 11, 20, 10, 0, 0, 999, tzinfo=UTC), "2026-11-20T10:00:00.000Z"),
        (datetime(2026, 7, 1, 10, 30, 0, 1_000, tzinfo=ZoneInfo("Europe/London")), "2026-07-01T09:30:00.001Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999Z"),
        (datetime.min.replace(tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_format_iso(instant: datetime, text: str) -> None:
    assert format_iso(instant) == text


@pytest.mark.parametrize(
    ("seconds", "passed"), [(-3600.0, True), (-0.001, True), (0.0, False), (0.999, False), (1.0, True), (3600.0, True)]
)
def test_a_span_has_passed_also_if_the_clock_was_set_back(seconds: float, passed: bool) -> None:
    since = datetime(2026, 11, 29, tzinfo=UTC)
    assert has_passed(timedelta(seconds=1), since, since + timedelta(seconds=seconds)) is passed
