"""What docs/how-to/alerts-and-templates.md says is so: its stages, codes and schedules."""

import re
from pathlib import Path

from wattgate.delivery.channels import push
from wattgate.delivery.schedule import PUSH, WEBHOOK
from wattgate.enums import NotificationState
from wattgate.graphql.services import notifications, outbox

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "alerts-and-templates.md").read_text()


def first_cells(head: str) -> list[str]:
    """The first column of the table with this head, without its marks."""
    rows = PAGE.split(f"\n{head}\n")[1].split("\n\n")[0].splitlines()[1:]
    return [re.split(r"\s*\|\s*", row)[1].strip("`") for row in rows]


def test_every_stage_stands_on_the_page() -> None:
    assert set(first_cells("| stage | status | what has happened |")) >= {
        notifications.ADDED,
        notifications.WITHOUT_TEMPLATE,
        notifications.IN_INBOX,
        notifications.NO_TOKENS,
        notifications.SENT,
        notifications.FAILED_ATTEMPT,
        notifications.GIVEN_UP,
    }


def test_every_state_stands_on_the_page() -> None:
    assert first_cells("| `state` | `status` | the notification |") == [one.value for one in NotificationState]


def test_the_codes_of_failures_stand_on_the_page() -> None:
    codes = {push.NO_TOKENS, push.TOKEN_REFUSED, push.NO_PROVIDER, push.PROVIDER_REFUSED, outbox.GIVEN_UP}
    assert set(first_cells("| code | why |")) >= codes


def test_the_schedules_stand_on_the_page() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    for kind, schedule in (("push", PUSH), ("webhooks", WEBHOOK)):
        (row,) = re.findall(rf"^\| {kind} \| after (.*) \|$", PAGE, re.MULTILINE)
        told = [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h)\b", row)]
        assert told == [pause.total_seconds() for pause in schedule.pauses]
