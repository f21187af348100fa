"""What the answer of a receiver means, and how long an endpoint is left alone."""

from datetime import UTC, datetime, timedelta

import pytest

from wattgate.delivery.channels.webhook import failed_attempt, retry_after
from wattgate.delivery.circuit_breaker import FAILURES, LONGEST, Health, begun, failed, is_given_up, waits_until

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
        ("Mon, 01 Jun 2026 12:10:00", None),  # of no zone
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 400, None),
        ("\u0665", None),
    ],
)
def test_what_an_answer_asks_to_wait_is_read_in_both_its_forms(written: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": written}, NOW) == seconds


def test_an_answer_that_asks_nothing_asks_nothing() -> None:
    assert retry_after({}, NOW) is None


def test_a_fault_of_the_gateway_has_the_shape_of_other_failures() -> None:
    told = failed_attempt(3, "2026-06-01T12:00:00.000Z", {}, "an unexpected error has occurred")
    assert told == {
        "attempt": 3,
        "attemptAt": "2026-06-01T12:00:00.000Z",
        "statusCode": 0,
        "error": {
            "type": "gateway",
            "error": {"statusCode": 0, "message": "an unexpected error has occurred"},
            "initialError": None,
        },
    }


def test_the_pauses_grow_from_a_minute_to_an_hour() -> None:
    health, pauses = Health(), []
    for _ in range(FAILURES + 10):
        health = failed(health, NOW, throttled=False, asked=None)
        pauses.append((health.paused_until or NOW) - NOW)
    assert pauses[: FAILURES - 1] == [timedelta(0)] * (FAILURES - 1)
    assert pauses[FAILURES - 1 : FAILURES + 6] == [MINUTE * n for n in (1, 2, 4, 8, 16, 32, 60)]
    assert pauses[-1] == LONGEST


@pytest.mark.parametrize(
    ("asked", "pause"), [(None, MINUTE), (5.0, timedelta(seconds=5)), (0.0, timedelta(0)), (1e9, timedelta(days=1))]
)
def test_who_asks_to_be_left_alone_is_for_a_day_at_most(asked: float | None, pause: timedelta) -> None:
    health = failed(Health(), NOW, throttled=True, asked=asked)
    assert (health.paused_until or NOW) - NOW == pause


def test_after_a_pause_one_goes_ahead_and_the_others_wait() -> None:
    paused = Health(FAILURES, NOW, NOW + MINUTE)
    assert waits_until(paused, NOW) == NOW + MINUTE
    later = NOW + MINUTE
    assert waits_until(paused, later) is None
    assert waits_until(begun(paused, later), later) is not None
    assert begun(Health(), later) == Health()


def test_five_days_are_counted_from_the_first_failure() -> None:
    health = failed(failed(Health(), NOW, throttled=False, asked=None), NOW + MINUTE, throttled=False, asked=None)
    assert health.failing_since == NOW
    assert not is_given_up(health, NOW + timedelta(days=5) - MINUTE)
    assert is_given_up(health, NOW + timedelta(days=5))
    assert not is_given_up(Health(), NOW + timedelta(days=50))
