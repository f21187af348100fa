"""docs/reference: settings.md, cli.md, limits.md and errors.md list every setting, command, quota and error code."""

import re
from pathlib import Path

from tests.support import reference_pages
from tests.support.reference_pages import CLI_PAGE, LIMITS_PAGE, SETTINGS_PAGE
from wattgate import errors
from wattgate.app.settings import Settings

ERRORS = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text()
WRITE = "run `python -m tests.support.reference_pages`"


def test_setting_tables_are_generated_from_the_settings() -> None:
    page = SETTINGS_PAGE.read_text()
    assert page == reference_pages.with_settings(page), WRITE


def test_page_lists_each_setting_once() -> None:
    page = SETTINGS_PAGE.read_text()
    named = reference_pages.settings_named(page)
    assert sorted(named) == sorted(Settings.model_fields)
    assert re.findall(r"^\| `WATTGATE_(\w+)` \|", page, re.MULTILINE) == [name.upper() for name in named]


def test_command_descriptions_are_generated_from_their_help() -> None:
    page = CLI_PAGE.read_text()
    assert page == reference_pages.with_commands(page), WRITE


def test_page_lists_each_command_once_under_its_name() -> None:
    page = CLI_PAGE.read_text()
    named = reference_pages.commands_named(page)
    assert sorted(named) == sorted(reference_pages.commands())
    assert re.findall(r"^### wattgate (.+)$", page, re.MULTILINE) == named


def test_quotas_are_generated_from_their_table() -> None:
    page = LIMITS_PAGE.read_text()
    assert reference_pages.quota_table() in page, WRITE


def test_every_argument_and_option_has_a_help_text() -> None:
    for name, command in reference_pages.commands().items():
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name}"


def test_page_lists_each_error_code_with_its_status() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \| (yes|no) \| ([^|]+) \| ([^|]+) \|$", ERRORS, re.MULTILINE)
    known = {
        (kind.code, str(kind.status), "yes" if kind.retryable else "no")
        for base in errors.GatewayError.__subclasses__()
        for kind in (base, *base.__subclasses__())
    }
    assert {(code, status, retryable) for code, status, retryable, _, _ in rows} == known
    assert len(rows) == len(known)
    assert all(cause.endswith(".") and action.endswith(".") for *_, cause, action in rows)
