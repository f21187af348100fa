"""Commands in a folder without a database: each states the remedy, and leaves no empty database and no key file."""

from pathlib import Path

import pytest

from tests.support.cli import ALL_COMMANDS, Command, command_in
from wattgate.app.demo.demo_settings import DATABASE_FILE, demo_settings, write_env_file
from wattgate.app.demo.seed import APPLICATION_ID
from wattgate.app.settings import Settings
from wattgate.private_files import make_private_folder

REMEDY = ("does not exist. Run the command in the folder of the gateway, where its .env is", "`wattgate db upgrade`")

OF_APPLICATION = ("--application", APPLICATION_ID)
COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("serve",): (),
    ("worker",): (),
    ("db", "apply-erasures"): (),
    ("oauth-client", "create"): (APPLICATION_ID, "App", "--redirect-uri", "https://app.example/back"),
    ("app", "create"): ("App", "--username", "app"),
    ("app", "list"): (),
    ("app", "rotate-secret"): ("app",),
    ("app", "add-directory"): (APPLICATION_ID, "https://id.example", "--audience", "app"),
    ("user", "create"): (APPLICATION_ID, "ada@example.org", "--password", "a long password"),
    ("user", "list"): (),
    ("user", "erase"): ("ada@example.org", "--yes"),
    ("user", "export"): ("ada@example.org", "ada.zip"),
    ("home", "list"): (),
    ("home", "show"): ("My home",),
    ("alert", "add"): ("--home", "My home", "--above", "5"),
    ("alert", "list"): ("--home", "My home"),
    ("move",): ("2300000000116", "--user", "bo@example.org", "--yes"),
    ("readings", "import"): ("readings.csv", "--home", "My home"),
    ("tariff", "import"): ("lines.jsonl", *OF_APPLICATION),
    ("tariff", "prices"): ("lines.jsonl", "--source", "awattar", "--home", "My home"),
    ("tariff", "fetch"): ("--source", "awattar", "--home", "My home"),
    ("network", "import"): ("lines.jsonl",),
    ("documents", "register"): ("documents", *OF_APPLICATION),
    ("documents", "list"): OF_APPLICATION,
    ("documents", "remove"): ("0" * 64, *OF_APPLICATION),
    ("documents", "require"): OF_APPLICATION,
    ("keys", "rotate"): (),
    ("keys", "status"): (),
    ("audit", "export"): OF_APPLICATION,
    ("audit", "verify"): (),
    ("home", "import"): ("lines.jsonl", *OF_APPLICATION),
    ("user", "set-password"): ("ada@example.org", *OF_APPLICATION),
    ("user", "suspend"): ("ada@example.org", *OF_APPLICATION),
    ("user", "reopen"): ("ada@example.org", *OF_APPLICATION),
}

OTHERS = {
    "creates the database": {("home", "create"), ("db", "upgrade"), ("demo",)},
    "needs no database": {
        ("keys", "new"),
        ("readings", "inspect"),
        ("readings", "profiles"),
        ("tariff", "sources"),
        ("template", "check"),
        ("routes",),
        ("schema",),
        ("watch",),
        ("check-health",),
    },
    "has a message and a test of its own": {("doctor",), ("db", "backup"), ("db", "export-erasures")},
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run commands in a folder with files to import and no database."""
    (tmp_path / "readings.csv").write_text("localTime,value\n2026-03-02T00:00:00,0.5\n")
    (tmp_path / "lines.jsonl").write_text("{}\n")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.graphql").write_text("query One { viewer { userId } }")
    return command_in(tmp_path, monkeypatch, capsys)


def test_every_command_is_listed() -> None:
    leaves = {path for path, found in ALL_COMMANDS.items() if not getattr(found, "commands", None) and path}
    assert leaves == {*COMMANDS, *(path for paths in OTHERS.values() for path in paths)}


@pytest.mark.every_case("each opens the database in its own way")
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_command_states_the_remedy_and_leaves_no_file(command: Command, tmp_path: Path, path: tuple[str, ...]) -> None:
    before = sorted(tmp_path.rglob("*"))
    outcome = command(*path, *COMMANDS[path])
    assert outcome.status == 1, outcome
    assert all(text in outcome.error for text in REMEDY), outcome.error
    assert sorted(tmp_path.rglob("*")) == before


def test_dry_run_of_documents_needs_no_database(command: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    outcome = command("documents", "register", "documents", *OF_APPLICATION, "--dry-run")
    assert (outcome.status, "Nothing was registered" in outcome.out) == (0, True), outcome
    assert sorted(tmp_path.rglob("*")) == before


def test_remedy_names_the_folder_of_the_demonstration(command: Command, tmp_path: Path) -> None:
    make_private_folder(tmp_path / ".wattgate")
    write_env_file(tmp_path / ".wattgate")
    outcome = command("documents", "list", *OF_APPLICATION)
    assert f"or in {tmp_path / '.wattgate'} for the demonstration" in outcome.error


def test_commands_in_the_folder_of_the_demonstration_find_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_env_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    expected = demo_settings(tmp_path)
    settings = Settings()
    for name in ("environment", "display_application_id"):
        assert getattr(settings, name) == getattr(expected, name)
    assert settings.database_url == f"sqlite:///{DATABASE_FILE}"
    (tmp_path / ".env").write_text("WATTGATE_PORT=8123\n")
    write_env_file(tmp_path)
    assert (tmp_path / ".env").read_text() == "WATTGATE_PORT=8123\n"
