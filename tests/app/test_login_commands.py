"""The commands say to which application users log in, and find a wrong WATTGATE_DISPLAY_APPLICATION_ID."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.app.test_home_commands import OTHER_MPAN, arguments, command, create
from tests.support.cli import Command, command_in
from tests.support.sqlite_files import execute

__all__ = ["command"]


def display_address(command: Command, **options: str) -> str:
    """Set up a home and return the address that the command prints for its display.

    A wide screen shows the code of a pairing first. So the text names the button to log in, and the page of the code.
    """
    shown = command(*arguments(**options))
    assert shown.status == 0, shown.error
    log_in, pairing = shown.out.splitlines()[-2:]
    address, _, rest = log_in.removeprefix("Then open ").partition(", ")
    assert rest.startswith('choose "Use a password", and log in as ')
    pair_page = address.replace("/display", "/pair")
    assert pairing == f"Or pair the screen without a password: log in at {pair_page} and approve its code."
    return address


def test_home_create_prints_the_address_at_which_its_user_logs_in(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert display_address(command) == "http://127.0.0.1:8000/display"
    first = create(command)["applicationId"]
    other = {"application": "Other app", "electricity": OTHER_MPAN}
    second = create(command, **other)["applicationId"]
    assert display_address(command) == f"http://127.0.0.1:8000/display?application={first}"
    monkeypatch.setenv("WATTGATE_DISPLAY_APPLICATION_ID", first)
    monkeypatch.setenv("WATTGATE_PUBLIC_URL", "https://energy.example/")
    assert display_address(command) == "https://energy.example/display"
    assert display_address(command, **other) == f"https://energy.example/display?application={second}"


@pytest.mark.long("many commands in a row; the printed address stays in the short form")
def test_doctor_names_the_application_of_the_log_in_pages(command: Command) -> None:
    assert command("db", "upgrade").status == 0
    empty = command("doctor")
    assert (empty.status, "there is no application: create one with wattgate home create" in empty.out) == (0, True)
    first = create(command)["applicationId"]
    assert f"users log in to the application {first}" in command("doctor").out
    second = create(command, application="Other app", electricity=OTHER_MPAN)["applicationId"]
    several = command("doctor")
    assert several.status == 0
    assert "there are several applications: set WATTGATE_DISPLAY_APPLICATION_ID" in several.out
    chosen = command("doctor", DISPLAY_APPLICATION_ID=second)
    assert f"users log in to the application {second}" in chosen.out


def test_doctor_refuses_a_setting_that_names_no_application(command: Command) -> None:
    create(command)
    unknown = str(uuid4())
    refused = command("doctor", DISPLAY_APPLICATION_ID=unknown)
    assert refused.status == 1
    assert f"no application has the ID {unknown} of WATTGATE_DISPLAY_APPLICATION_ID" in refused.out
    assert "wattgate app list" in refused.out


def test_doctor_does_not_blame_the_setting_if_the_applications_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_in(tmp_path, monkeypatch, capsys)
    assert command("db", "upgrade").status == 0
    execute(tmp_path, "ALTER TABLE application RENAME TO moved")
    for settings in ({}, {"DISPLAY_APPLICATION_ID": str(uuid4())}):
        refused = command("doctor", **settings)
        assert refused.status == 1
        assert "the applications cannot be read from the database" in refused.out
        assert "no application has the ID" not in refused.out


@pytest.mark.parametrize("words", [("doctor",), ("serve",)])
def test_malformed_setting_stops_the_start(command: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = command(*words, DISPLAY_APPLICATION_ID="My app")
    assert refused.status == 2
    assert "WATTGATE_DISPLAY_APPLICATION_ID: the value 'My app' is not an application ID such as" in refused.error
    assert "`wattgate app list` prints the IDs" in refused.error
