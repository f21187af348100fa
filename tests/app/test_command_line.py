"""The command line itself: version, help, completion, suggestions, errors, and output that is piped."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ALL_COMMANDS, Command, command_in
from wattgate import __version__
from wattgate.operations.catalogue import OPERATIONS


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_in(tmp_path, monkeypatch, capsys)


def test_version_is_printed(command: Command) -> None:
    printed = command("--version")
    assert (printed.status, printed.out) == (0, f"wattgate {__version__}\n")


def test_short_option_prints_help(command: Command, subtests: pytest.Subtests) -> None:
    assert ALL_COMMANDS
    for path in ALL_COMMANDS:
        with subtests.test(" ".join(path) or "wattgate"):
            short, long = command(*path, "-h"), command(*path, "--help")
            assert (short.status, long.status) == (0, 0)
            assert "Usage:" in short.out
            assert short.out == long.out


def test_completion_can_be_shown_and_proposes_visible_commands(command: Command, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert "--install-completion" in command("--help").out
    monkeypatch.setenv("_WATTGATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "wattgate s")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert sorted(command().out.split()) == ["schema", "serve"]


def test_hidden_command_is_never_suggested(command: Command, subtests: pytest.Subtests) -> None:
    for typo in ("serve-on", "server", "serveone", "serve-one-"):
        with subtests.test(typo):
            refused = command(typo)
            assert refused.status == 2
            assert "serve-one'" not in refused.error.replace(f"'{typo}'", "")
            assert "'serve'" in refused.error


def test_hidden_command_is_not_listed_but_runs(command: Command) -> None:
    assert "serve-one" not in command("--help").out
    missing = command("serve-one")
    assert (missing.status, "channel_fd" in missing.error) == (2, True)


def test_piped_table_cuts_no_line(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = command("routes").out.splitlines()
    assert not [line for line in lines if "…" in line]
    assert len(lines) == 1 + sum(max(len(operation.rest), 1) for operation in OPERATIONS)
    for operation in OPERATIONS:
        for rest in operation.rest:
            assert any(re.search(rf"{rest.method} {re.escape(rest.path)}\s", line) for line in lines), rest.path


def test_weak_password_is_refused_with_the_rule(command: Command) -> None:
    assert command("db", "upgrade").status == 0
    created = command("app", "create", "Mine", "--username", "mine")
    (application_id,) = re.findall(r"Application id\s+(\S+)", created.out)
    refused = command("user", "create", application_id, "ada@mine.example", "--password", "short")
    assert refused.status == 1
    assert "password: has 5 characters and must have at least 8 characters" in refused.error


def test_template_editor_is_listed_and_is_no_administrator(command: Command) -> None:
    assert command("db", "upgrade").status == 0
    created = command("app", "create", "Mine", "--username", "mine")
    (application_id,) = re.findall(r"Application id\s+(\S+)", created.out)
    user = ("user", "create", application_id, "ada@mine.example", "--password", "long enough", "--template-editor")
    both = command(*user, "--administrator")
    assert both.status == 1
    assert "Set one of the two" in both.error
    assert command(*user).status == 0
    (listed,) = json.loads(command("user", "list", "--json").out)
    assert (listed["administrator"], listed["templateEditor"]) == (False, True)
