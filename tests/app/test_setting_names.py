"""Unknown settings stop the start with the nearest name, whether the environment or `.env` has them."""

import re
from pathlib import Path

import pytest
from dotenv import dotenv_values

from tests.support.cli import ALL_COMMANDS, Command, command_in
from wattgate.app.cli.watch import WatchEnvironment
from wattgate.app.env_file import find_lines
from wattgate.app.setting_sources import COMMAND_VARIABLES, TEST_PREFIX, is_test_variable
from wattgate.app.settings import Settings

ROOT = Path(__file__).parents[2]
SUITE_VARIABLE = re.compile(r"\bWATTGATE_TEST_[A-Z_]+\b")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_in(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("PROT", "WATTGATE_PORT"),
        ("DATABSE_URL", "WATTGATE_DATABASE_URL"),
        ("DATABASE", "WATTGATE_DATABASE_URL"),
        ("REDIS", "WATTGATE_REDIS_URL"),
        ("TEST_ADRESSES", "WATTGATE_TEST_ADDRESSES"),
        ("TEST_ADDRESS", "WATTGATE_TEST_ADDRESSES"),
        ("WATTGATE_PORT", "WATTGATE_PORT"),
    ],
)
def test_unknown_setting_is_refused_with_the_nearest_name(
    command: Command, tmp_path: Path, name: str, nearest: str
) -> None:
    refused = command("db", "upgrade", **{name: "1"})
    assert refused.status == 2
    assert refused.error == f"WATTGATE_{name}: unknown setting in the environment. Did you mean {nearest}?"
    for value in ("1", ""):
        (tmp_path / ".env").write_text(f"WATTGATE_{name}={value}\n")
        refused = command("db", "upgrade")
        assert refused.status == 2
        assert refused.error == f".env:1: WATTGATE_{name}: unknown setting in .env. Did you mean {nearest}?"


def test_unknown_setting_without_a_similar_name_says_what_to_do(command: Command, tmp_path: Path) -> None:
    refused = command("db", "upgrade", QQQQQ="1")
    assert refused.error == "WATTGATE_QQQQQ: unknown setting in the environment. Correct the name or unset it."
    (tmp_path / ".env").write_text("WATTGATE_QQQQQ=1\n")
    refused = command("db", "upgrade")
    assert refused.error == ".env:1: WATTGATE_QQQQQ: unknown setting in .env. Correct the name or remove the line."


def test_setting_without_its_prefix_is_refused_in_the_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=9000\n")
    refused = command("db", "upgrade")
    assert (refused.status, refused.error) == (2, ".env:1: PORT: unknown setting in .env. Did you mean WATTGATE_PORT?")


def test_all_problems_are_reported_together(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("WATTGATE_HOTS=::1\nWATTGATE_PORT=eighty\n")
    refused = command("db", "upgrade", PROT="1")
    for text in (
        ".env:1: WATTGATE_HOTS: unknown",
        "WATTGATE_PROT: unknown",
        ".env:2: WATTGATE_PORT: the value 'eighty' is not a whole number",
    ):
        assert text in refused.error


def test_a_line_that_is_no_setting_stops_each_command(command: Command, tmp_path: Path) -> None:
    for line, problem in {
        "WATTGATE_PORT 8000": "the line 'WATTGATE_PORT 8000' has no `=`. Write NAME=VALUE",
        "export WATTGATE_PORT": "the line 'export WATTGATE_PORT' has no `=`.",
        "=8000": "'' is not the name of a setting",
        "WATTGATE_HOST= '::1": "the value of 'WATTGATE_HOST' has no closing quotation mark",
        'WATTGATE_HOST="::1" ::1': "the value of 'WATTGATE_HOST' has no closing quotation mark, or text after it",
    }.items():
        (tmp_path / ".env").write_text(f"# a gateway\n\nWATTGATE_TEST_X='two\nlines' # comment\n{line}\n")
        refused = command("db", "upgrade")
        assert (refused.status, refused.error.startswith(f".env:5: {problem}")) == (2, True), refused
    assert not (tmp_path / "wattgate.sqlite3").exists()


def test_lines_of_a_file_are_those_that_the_library_reads(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    for text in (
        'A=1\nB=\n\n  # note\nexport C = \'x\ny\' # note\nD="a\\"b"\n E=f g #h\nF==',
        "A=it's\r\nB='a'\r\n",
        "",
    ):
        file.write_bytes(text.encode())
        assert list(find_lines(file)) == list(dotenv_values(file))


def test_any_case_of_a_known_setting_is_accepted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("wattgate_log_level", "warning")
    assert command("db", "upgrade").status == 0


def test_variables_of_commands_and_of_the_test_suite_are_accepted_in_the_environment(
    command: Command, tmp_path: Path
) -> None:
    variables = {**dict.fromkeys(COMMAND_VARIABLES, "x"), f"{TEST_PREFIX}ANYTHING": "x"}
    names = {name.removeprefix("WATTGATE_"): value for name, value in variables.items()}
    assert command("db", "upgrade", **names).status == 0
    (tmp_path / ".env").write_text(f"{TEST_PREFIX}ANYTHING=x\n")
    assert command("db", "upgrade").status == 0
    (tmp_path / ".env").write_text("WATTGATE_TOKEN=x\n")  # commands read their variables from the environment only
    assert command("db", "upgrade").status == 2


def test_commands_read_only_the_listed_variables() -> None:
    read = {
        variable
        for command in ALL_COMMANDS.values()
        for parameter in command.params
        for variable in ([parameter.envvar] if isinstance(parameter.envvar, str) else parameter.envvar or [])
    }
    read |= {f"WATTGATE_{name.upper()}" for name in WatchEnvironment.model_fields}
    assert read == COMMAND_VARIABLES


def test_variables_of_the_test_suite_are_not_similar_to_a_setting() -> None:
    used = {
        name
        for folder in ("tests", "tools", "bench", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in ("", ".py", ".sh") and path.name != Path(__file__).name
        for name in SUITE_VARIABLE.findall(path.read_text(errors="replace"))
    } - {"WATTGATE_TEST_ADDRESSES"}
    assert {"WATTGATE_TEST_BROWSER", "WATTGATE_TEST_POSTGRESQL_URL"} <= used
    assert sorted(name for name in used if not is_test_variable(name, Settings.model_fields)) == []
