"""Retry schedules of deliveries."""

from datetime import timedelta

import pytest

from wattgate.delivery.schedule import (
    MAIL_SCHEDULE,
    MAX_RETRY_AFTER,
    PUSH_SCHEDULE,
    SCHEDULES,
    WEBHOOK_SCHEDULE,
    Schedule,
)
from wattgate.enums import DeliveryKind

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


def total_pause(schedule: Schedule, random_fraction: float) -> timedelta:
    """Return the time from the first attempt to the last."""
    pauses = [schedule.pause_after(attempt, random_fraction) for attempt in range(1, schedule.max_attempts)]
    return sum((pause for pause in pauses if pause is not None), timedelta())


def test_webhooks_have_ten_attempts_in_about_75_hours() -> None:
    assert WEBHOOK_SCHEDULE.max_attempts == 10
    assert total_pause(WEBHOOK_SCHEDULE, 0) == timedelta(hours=75, minutes=35, seconds=5)


def test_mail_has_two_attempts_in_the_first_hour_and_the_last_after_four_to_five_days() -> None:
    first = MAIL_SCHEDULE.pause_after(1, 1)
    assert first is not None
    assert first < HOUR
    rest = {MAIL_SCHEDULE.pause_after(attempt, 0) for attempt in range(3, MAIL_SCHEDULE.max_attempts)}
    assert rest == {2.5 * HOUR}
    assert timedelta(days=4) < total_pause(MAIL_SCHEDULE, 0) <= total_pause(MAIL_SCHEDULE, 1) < timedelta(days=5)


def test_push_has_its_last_attempt_within_a_day() -> None:
    assert total_pause(PUSH_SCHEDULE, 1) < timedelta(hours=10)


@pytest.mark.parametrize("kind", DeliveryKind)
def test_every_kind_has_a_schedule_with_a_last_attempt(kind: DeliveryKind) -> None:
    schedule = SCHEDULES[kind]
    assert schedule.pause_after(schedule.max_attempts - 1, 0) is not None
    assert schedule.pause_after(schedule.max_attempts, 0) is None
    assert schedule.pause_after(schedule.max_attempts + 1, 0) is None


def test_jitter_only_extends_a_pause() -> None:
    assert WEBHOOK_SCHEDULE.pause_after(1, 0) == 5 * SECOND
    assert WEBHOOK_SCHEDULE.pause_after(1, 1) == 5.5 * SECOND


@pytest.mark.parametrize(
    ("requested", "pause"), [(60.0, 60 * SECOND), (1.0, 5 * SECOND), (-5.0, 5 * SECOND), (1e12, MAX_RETRY_AFTER)]
)
def test_receiver_can_request_a_longer_pause_up_to_a_limit(requested: float, pause: timedelta) -> None:
    assert WEBHOOK_SCHEDULE.pause_after(1, 0, requested) == pause
