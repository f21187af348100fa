"""Responses of receivers: Retry-After, failed attempts, and pauses of an endpoint."""

from datetime import UTC, datetime, timedelta

import pytest

from wattgate.delivery.channels.webhook import failed_attempt_json, parse_retry_after
from wattgate.operations.webhooks.webhooks import (
    FAILURE_THRESHOLD,
    MAX_PAUSE,
    EndpointHealth,
    on_attempt_failed,
    on_attempt_started,
    open_until,
    should_disable,
)

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 01 Jun 2026 12:10:00 GMT", 600.0),
        ("Mon, 01 Jun 2026 11:00:00 GMT", 0.0),
        ("Mon, 01 Jun 2026 12:10:00 +0100", 0.0),
        ("Mon, 01 Jun 2026 12:10:00", None),  # without a zone
        ("Fri, 01 Jan 2027 00:00:00 +99999999999999", None),
        ("Fri, 01 Jan 9999 00:00:00 -2359", 251590535940.0),
        ("Sat, 01 Jan 0001 00:00:00 +2359", 0.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 400, None),
        ("\u0665", None),
    ],
)
def test_retry_after_is_parsed_in_both_forms(written: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": written}, NOW) == seconds


def test_response_without_retry_after_has_no_pause() -> None:
    assert parse_retry_after({}, NOW) is None


def test_failure_of_the_gateway_has_the_same_form_as_other_failures() -> None:
    failure = failed_attempt_json(3, "2026-06-01T12:00:00.000Z", {}, "an unexpected error has occurred")
    assert failure == {
        "attempt": 3,
        "attemptAt": "2026-06-01T12:00:00.000Z",
        "statusCode": 0,
        "error": {
            "type": "gateway",
            "error": {"statusCode": 0, "message": "an unexpected error has occurred"},
            "initialError": None,
        },
    }


def test_pauses_grow_from_a_minute_to_an_hour() -> None:
    health, pauses = EndpointHealth(), []
    for _ in range(FAILURE_THRESHOLD + 10):
        health = on_attempt_failed(health, NOW, throttled=False, retry_after_seconds=None)
        pauses.append((health.paused_until or NOW) - NOW)
    assert pauses[: FAILURE_THRESHOLD - 1] == [timedelta(0)] * (FAILURE_THRESHOLD - 1)
    assert pauses[FAILURE_THRESHOLD - 1 : FAILURE_THRESHOLD + 6] == [MINUTE * n for n in (1, 2, 4, 8, 16, 32, 60)]
    assert pauses[-1] == MAX_PAUSE


@pytest.mark.parametrize(
    ("requested", "pause"), [(None, MINUTE), (5.0, timedelta(seconds=5)), (0.0, timedelta(0)), (1e9, timedelta(days=1))]
)
def test_requested_pause_is_limited_to_a_day(requested: float | None, pause: timedelta) -> None:
    health = on_attempt_failed(EndpointHealth(), NOW, throttled=True, retry_after_seconds=requested)
    assert (health.paused_until or NOW) - NOW == pause


def test_after_a_pause_one_delivery_probes_and_the_others_wait() -> None:
    paused = EndpointHealth(FAILURE_THRESHOLD, NOW, NOW + MINUTE)
    assert open_until(paused, NOW) == NOW + MINUTE
    later = NOW + MINUTE
    assert open_until(paused, later) is None
    assert open_until(on_attempt_started(paused, later), later) is not None
    assert on_attempt_started(EndpointHealth(), later) == EndpointHealth()


def test_endpoint_is_disabled_five_days_after_the_first_failure() -> None:
    health = on_attempt_failed(
        on_attempt_failed(EndpointHealth(), NOW, throttled=False, retry_after_seconds=None),
        NOW + MINUTE,
        throttled=False,
        retry_after_seconds=None,
    )
    assert health.failing_since == NOW
    assert not should_disable(health, NOW + timedelta(days=5) - MINUTE)
    assert should_disable(health, NOW + timedelta(days=5))
    assert not should_disable(EndpointHealth(), NOW + timedelta(days=50))
