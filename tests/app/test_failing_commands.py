"""Every command where it cannot succeed: it ends with an exit status and one line, and leaves nothing behind.

The commands and their parameters come from the parser, so a new command is part of the walk.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ALL_COMMANDS
from tests.support.read_only import read_only
from wattgate.app.cli.main import main
from wattgate.db.encryption.key_ring import new_key

LEAVES = {path: found for path, found in ALL_COMMANDS.items() if path and not getattr(found, "commands", None)}

WRONG = "nonsense"
NAMES = frozenset({"application", "user", "home", "device", "resource", "document_id"})
"""The parameters that name a stored record."""

VALUES: Mapping[str, str] = {
    "file": "lines.jsonl",
    "path": "documents",
    "resources": "d7a5bd1c-0000-4000-8000-000000000000",
    "name": "Sample",
    "username": WRONG,
    "issuer": "https://id.example",
    "audience": "sample",
    "redirect_uri": "https://app.example/back",
    "password": "a long password",
    "time_zone": "Europe/London",
    "electricity": "2300000000116",
    "mpxn": "2300000000116",
    "subject": "Sample",
    "above": "5",
    "source": "awattar",
    "token": "sample",
    "url": "http://127.0.0.1:1",
} | dict.fromkeys(NAMES, WRONG)
"""Values of parameters. A new required parameter needs one."""

OPTIONAL = frozenset({"url", "token", "above", *NAMES})
"""The parameters that get a value although they are optional."""

OF_COMMANDS: Mapping[tuple[tuple[str, ...], str], str] = {
    (("db", "backup"), "file"): "new-file",
    (("user", "export"), "file"): "new-file",
    (("readings", "import"), "file"): "readings.csv",
    (("home", "create"), "user"): "ada@example.org",
}
"""Values of single commands."""

NEEDS_NOTHING = {
    ("keys", "new"),
    ("readings", "profiles"),
    ("routes",),
    ("schema",),
    ("tariff", "sources"),
    ("template", "check"),
}
"""The commands that need no database and no gateway, so that they succeed."""

CREATES = {("db", "upgrade"), ("home", "create"), ("demo",)}
"""The commands that create a database."""

STANDALONE = {("readings", "inspect"), ("check-health",), ("watch",)}
"""The commands that need a file or a gateway, and no database."""


def arguments_of(path: tuple[str, ...]) -> list[str]:
    """Return the words of a command with each required parameter and each name."""
    words = list(path)
    for parameter in LEAVES[path].params:
        if parameter.required or parameter.name in OPTIONAL:
            value = OF_COMMANDS.get((path, parameter.name)) or VALUES[parameter.name]
            words += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
        elif parameter.name == "yes":
            words.append("--yes")
    return words


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    error: str

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with a failure."""
        if "Traceback" in self.out + self.error or "Error:\n" in self.error:
            yield "prints a traceback"
        if self.status not in (1, 2):
            yield f"ends with status {self.status}"
        if self.status == 1 and not self.out and len(self.error.strip().splitlines()) != 1:
            yield "prints no line, or several"


class Walk:
    """Runs commands in a folder in this process, with settings that are named without their prefix."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def run(self, words: list[str], **settings: str) -> Ended:
        """Run a command to its end. An error that nothing translates is reported like a traceback."""
        self._capsys.readouterr()
        with self._monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["wattgate", *words])
            patch.setattr(sys, "stdin", StringIO("a long pass phrase\n"))
            for name, value in settings.items():
                patch.setenv(f"WATTGATE_{name}", value)
            try:
                main()
                status: Any = 0
            except SystemExit as end:
                status = end.code or 0
            except Exception as error:  # noqa: BLE001 (an error that nothing translates is a finding)
                return Ended(-1, "", f"Traceback: {error!r}")
        printed = self._capsys.readouterr()
        return Ended(int(status), printed.out, printed.err)

    def failures(self, path: tuple[str, ...], named: str = "", **settings: str) -> list[str]:
        """Return what is wrong with the failure of a command: its end, files that it leaves, or no `named` text."""
        before = sorted(self.folder.rglob("*"))
        ended = self.run(arguments_of(path), **settings)
        found = list(ended.problems())
        if named not in ended.error:
            found.append(f"does not say {named}")
        left = sorted(set(self.folder.rglob("*")) - set(before))
        found += [f"leaves {file.name}" for file in left if not file.name.endswith(("-wal", "-shm"))]
        return [f"{' '.join(path)}: {problem}: {ended}" for problem in found]


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Walk:
    """A folder with files to read, and no database."""
    (tmp_path / "lines.jsonl").write_text("{}\n")
    (tmp_path / "readings.csv").write_text("localTime,value\n2026-03-02T00:00:00,0.5\n")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.graphql").write_text("query One { viewer { userId } }")
    return Walk(tmp_path, monkeypatch, capsys)


def filled(walk: Walk) -> Walk:
    """Add a database with one application, user and home."""
    home = {"application": "My app", "user": "ada@example.org", "name": "My home", "time-zone": "Europe/London"}
    words = [word for name, value in home.items() for word in (f"--{name}", value)]
    created = walk.run(["home", "create", *words, "--electricity", VALUES["electricity"]])
    assert created.status == 0, created
    return walk


def test_where_nothing_is(walk: Walk) -> None:
    found = []
    for path in sorted(LEAVES.keys() - NEEDS_NOTHING - CREATES):
        found += walk.failures(path)
    assert found == []


def test_with_a_wrong_name(walk: Walk) -> None:
    filled(walk)
    found = []
    for path, command in sorted(LEAVES.items()):
        if path in CREATES | STANDALONE or not NAMES & {parameter.name for parameter in command.params}:
            continue
        found += walk.failures(path, named=WRONG)
    assert found == []


def test_with_a_stopped_database(walk: Walk) -> None:
    url = "postgresql://nobody:hidden@127.0.0.1:1/nothing"
    found = []
    for path in sorted(LEAVES.keys() - NEEDS_NOTHING - STANDALONE):
        found += walk.failures(path, DATABASE_URL=url, SECRET_KEYS=new_key())
    assert found == []


@pytest.mark.parametrize("has_database", [True, False])
@pytest.mark.every_case("an existing database fails when it is opened, and a new one when its keys are stored")
def test_in_a_read_only_folder(walk: Walk, has_database: bool) -> None:
    found = []
    if has_database:
        filled(walk)
    with read_only(walk.folder):
        for path in sorted(LEAVES.keys() - NEEDS_NOTHING - STANDALONE):
            found += walk.failures(path)
    assert found == []


def test_with_a_file_that_is_no_database(walk: Walk) -> None:
    file = walk.folder / "text.sqlite3"
    file.write_text("no database\n")
    found = []
    for path in sorted(LEAVES.keys() - NEEDS_NOTHING - STANDALONE):
        found += walk.failures(path, DATABASE_URL=f"sqlite:///{file}", SECRET_KEYS=new_key())
    assert found == []


def test_with_a_missing_folder_of_the_database(walk: Walk) -> None:
    url = f"sqlite:///{walk.folder / 'missing' / 'wattgate.sqlite3'}"
    found = []
    for path in sorted(LEAVES.keys() - NEEDS_NOTHING - STANDALONE):
        found += walk.failures(path, DATABASE_URL=url)
    assert found == []
