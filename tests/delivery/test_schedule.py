"""When what could not be delivered is tried again."""

from datetime import timedelta

import pytest

from wattgate.delivery.schedule import LONGEST_ASKED, MAIL, PUSH, SCHEDULES, WEBHOOK, Schedule
from wattgate.enums import DeliveryKind

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


def total(schedule: Schedule, chance: float) -> timedelta:
    """From the first attempt to the last one."""
    pauses = [schedule.pause(attempt, chance) for attempt in range(1, schedule.attempts)]
    return sum((pause for pause in pauses if pause is not None), timedelta())


def test_webhooks_are_tried_ten_times_in_about_75_hours() -> None:
    assert WEBHOOK.attempts == 10
    assert total(WEBHOOK, 0) == timedelta(hours=75, minutes=35, seconds=5)


def test_mail_is_tried_twice_in_the_first_hour_and_given_up_after_four_to_five_days() -> None:
    first = MAIL.pause(1, 1)
    assert first is not None
    assert first < HOUR
    rest = {MAIL.pause(attempt, 0) for attempt in range(3, MAIL.attempts)}
    assert rest == {2.5 * HOUR}
    assert timedelta(days=4) < total(MAIL, 0) <= total(MAIL, 1) < timedelta(days=5)


def test_a_push_is_given_up_within_a_day() -> None:
    assert total(PUSH, 1) < timedelta(hours=10)


@pytest.mark.parametrize("kind", DeliveryKind)
def test_every_kind_has_a_schedule_whose_last_attempt_is_not_followed_by_another(kind: DeliveryKind) -> None:
    schedule = SCHEDULES[kind]
    assert schedule.pause(schedule.attempts - 1, 0) is not None
    assert schedule.pause(schedule.attempts, 0) is None
    assert schedule.pause(schedule.attempts + 1, 0) is None


def test_jitter_makes_a_pause_longer_and_never_shorter() -> None:
    assert WEBHOOK.pause(1, 0) == 5 * SECOND
    assert WEBHOOK.pause(1, 1) == 5.5 * SECOND


@pytest.mark.parametrize(
    ("asked", "pause"), [(60.0, 60 * SECOND), (1.0, 5 * SECOND), (-5.0, 5 * SECOND), (1e12, LONGEST_ASKED)]
)
def test_a_receiver_may_ask_for_a_longer_pause_but_not_for_ever(asked: float, pause: timedelta) -> None:
    assert WEBHOOK.pause(1, 0, asked) == pause
