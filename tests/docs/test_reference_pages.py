"""Pages that are generated: every setting, command, quota and error code, and where each subject lives."""

import re

import pytest

from tests.support import llms_text, module_page, reference_pages
from tests.support.journeys import traced_journeys
from tests.support.reference_pages import CLI_PAGE, ERRORS_PAGE, LIMITS_PAGE, SETTINGS_PAGE
from wattgate import errors
from wattgate.app.settings import Settings
from wattgate.error_guide import ERROR_GUIDE, status_and_retryable

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


def test_error_codes_are_generated_from_their_table() -> None:
    page = ERRORS_PAGE.read_text()
    assert page == reference_pages.with_codes(page), WRITE
    sections = re.findall(r"^### ([A-Z_]+)$", page, re.MULTILINE)
    assert sections == list(ERROR_GUIDE)


def test_every_error_has_a_guide() -> None:
    known = {
        kind.code: (kind.status, kind.retryable)
        for base in errors.GatewayError.__subclasses__()
        for kind in (base, *base.__subclasses__())
    }
    assert {code: status_and_retryable(code) for code in ERROR_GUIDE} == {
        **known,
        errors.METHOD_NOT_ALLOWED: (405, False),
    }
    for guide in ERROR_GUIDE.values():
        assert guide.steps
        assert all(text.endswith(".") for text in (guide.cause, guide.action, *guide.steps))


def test_the_list_of_pages_for_language_models_is_generated_from_the_indexes() -> None:
    assert llms_text.FILE.read_text() == llms_text.llms_text(), "run `make generate`"


def test_the_page_of_modules_is_generated_from_their_docstrings() -> None:
    page = module_page.PAGE.read_text()
    assert page == module_page.module_page(module_page.shown_journeys()), "run `make generate`"


@pytest.mark.long("fills a database and traces a gateway in a process of its own")
def test_the_journeys_of_the_page_are_those_of_a_new_trace() -> None:
    shown = module_page.passed_modules(module_page.shown_journeys())
    traced = module_page.passed_modules(module_page.journeys_section(traced_journeys()))
    assert len(shown) == 4
    assert shown == traced, "run `make generate`"


def test_each_module_has_a_docstring() -> None:
    unsaid = re.findall(r"^\| `(.+)` \| +\|$", module_page.PAGE.read_text(), re.MULTILINE)
    assert unsaid == []
