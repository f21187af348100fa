"""The tables of docs/reference/alerts.md and template-language.md match the code."""

import re
from pathlib import Path

from wattgate.delivery.channels import push
from wattgate.delivery.schedule import PUSH_SCHEDULE, WEBHOOK_SCHEDULE
from wattgate.delivery.templates.language.contract import BASE_VARIABLES, RULE_VARIABLES, VariableType
from wattgate.delivery.templates.language.format_filters import FORMAT_FILTERS
from wattgate.delivery.templates.language.language import NUMBER_FILTERS, TEXT_FILTERS
from wattgate.delivery.templates.language.output_writer import DEFAULT_RENDER_LIMITS
from wattgate.enums import NotificationState
from wattgate.operations.messages import notifications, outbox

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "alerts.md").read_text()
TEMPLATES = (Path(__file__).parents[2] / "docs" / "reference" / "template-language.md").read_text()


def first_cells(head: str) -> list[str]:
    """Return the first column of the table with this head, without backquotes."""
    rows = PAGE.split(f"\n{head}\n")[1].split("\n\n")[0].splitlines()[1:]
    return [re.split(r"\s*\|\s*", row)[1].strip("`") for row in rows]


def test_page_lists_every_stage() -> None:
    assert set(first_cells("| stage | status | meaning |")) == {
        notifications.ADDED,
        notifications.TEMPLATE_NOT_USED,
        notifications.PUT_INTO_INBOX,
        notifications.NO_TOKENS,
        notifications.NO_ADDRESS,
        notifications.SENT,
        notifications.ATTEMPT_FAILED,
        notifications.GIVEN_UP,
    }


def test_page_lists_every_state() -> None:
    assert first_cells("| `state` | `status` | meaning |") == [state.value for state in NotificationState]


def test_page_lists_the_failure_codes() -> None:
    codes = {
        push.NO_TOKENS_CODE,
        push.TOKEN_REJECTED_CODE,
        push.NO_PROVIDER_CODE,
        push.PROVIDER_REJECTED_CODE,
        outbox.RETRIES_EXHAUSTED,
    }
    assert set(first_cells("| code | channel | cause |")) >= codes


def test_page_lists_the_retry_schedules() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    for kind, schedule in (("push", PUSH_SCHEDULE), ("webhooks", WEBHOOK_SCHEDULE)):
        (row,) = re.findall(rf"^\| {kind} \| after (.*) \|$", PAGE, re.MULTILINE)
        listed_pauses = [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h)\b", row)]
        assert listed_pauses == [pause.total_seconds() for pause in schedule.pauses]


def test_page_lists_the_template_filters() -> None:
    table = TEMPLATES.split("<!-- filters -->")[1].split("<!-- end of filters -->")[0]
    groups = "numbers|texts, lists and dates|culture and time zone"
    rows = re.findall(rf"^\| ({groups}) \| (.*) \|$", table, re.MULTILINE)
    listed = {group: re.findall(r"`(\w+)`", filters) for group, filters in rows}
    assert listed == {
        "numbers": [*NUMBER_FILTERS],
        "texts, lists and dates": [*TEXT_FILTERS],
        "culture and time zone": [*FORMAT_FILTERS],
    }


def test_page_lists_the_variables_of_every_alert_and_of_rules() -> None:
    base = PAGE.split("<!-- base variables -->")[1].split("<!-- end of base variables -->")[0]
    listed = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|", base, re.MULTILINE)
    assert listed == [(variable.name, variable.type.name) for variable in BASE_VARIABLES]
    of_rules = PAGE.split("<!-- rule variables -->")[1].split("<!-- end of rule variables -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.*?) \|", of_rules, re.MULTILINE)
    for kind, variables in RULE_VARIABLES.items():
        declared = {(variable.name, variable.type.name) for variable in variables}
        assert declared == {(name, type_) for name, type_, kinds in rows if kinds == "all" or f"`{kind.name}`" in kinds}


def test_page_lists_the_types_of_variables() -> None:
    assert first_cells("| type | values in `data` | `unit` |") == [kind.name for kind in VariableType]


def test_page_lists_the_template_limits() -> None:
    assert f"| {DEFAULT_RENDER_LIMITS.max_seconds:g} second |" in TEMPLATES
    assert f"| {DEFAULT_RENDER_LIMITS.max_iterations:,} |" in TEMPLATES
    assert f"| {DEFAULT_RENDER_LIMITS.max_characters:,} characters |" in TEMPLATES
