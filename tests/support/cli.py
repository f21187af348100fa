"""Run the command line in the process of a test."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_tree import COMMANDS
from tests.support.schema import bring_up_url
from wattgate.app.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """The output and the exit status of a command. `error` is standard error as one line."""

    status: int
    out: str
    error: str


Command = Callable[..., Outcome]


def command_in(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs a command in a folder, with settings that are named without their prefix."""

    def run(*arguments: str, **settings: str) -> Outcome:
        monkeypatch.chdir(folder)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["wattgate", *arguments])
            for name, value in settings.items():
                patch.setenv(f"WATTGATE_{name}", value)
            capsys.readouterr()
            try:
                main()
                status = 0
            except SystemExit as end:
                status = int(end.code or 0)
        printed = capsys.readouterr()
        return Outcome(status, printed.out, " ".join(printed.err.split()))

    return run


async def command_on(
    database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs a command, as `command_in` does, on a database that gets the schema."""
    await bring_up_url(database_url)
    monkeypatch.setenv("WATTGATE_DATABASE_URL", database_url)
    return command_in(folder, monkeypatch, capsys)


def groups_and_commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every group and command that users see, with its names."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from groups_and_commands(command, (*path, name))


ALL_COMMANDS = dict(groups_and_commands(COMMANDS))
