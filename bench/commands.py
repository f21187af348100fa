"""The processor time that commands of the terminal need to start, and the memory that the gateway's parts take."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.goals import Judgement, at_most
from bench.resident_parts import PARTS
from bench.table import print_table

ROUNDS = 7
WATTGATE = "wattgate"
FLOOR = "bench.bare_command"
HELP = "--help"
LIMIT_SECONDS = 0.7
COMMANDS = (
    HELP,
    "home create --help",
    "template check mail.html",
    "app list",
    "user list",
    "home list",
    "doctor",
    "db upgrade",
)
"""The help, which imports no action, a command without a database, and those that answer from one (SQLite)."""

JUDGED = (HELP, "app list", "user list", "home list", "doctor", "db upgrade")
"""The commands that have the goal."""

BYTES_PER_MEBIBYTE = 1024 * 1024


PREPARATIONS = ("db upgrade", "app create bench --username bench")
"""The commands that create the database of the others."""


async def bench_commands(
    rounds: int = ROUNDS, unmeasured: int = 1, commands: Sequence[str] = COMMANDS
) -> list[Judgement]:
    """Measure the start of commands and the memory of the parts. Return the figures that have a goal.

    `unmeasured` rounds come first. They compile the modules.
    """
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder:
        _prepare(folder)
        measured = _median_seconds(
            [(WATTGATE, command) for command in commands] + [(FLOOR, "")], folder, rounds, unmeasured
        )
        _print_memory(folder)
    floor = measured.pop((FLOOR, ""))
    rows = [(f"wattgate {command}", f"{seconds:.2f}") for (_, command), seconds in measured.items()]
    rows.append(("by hand: one SELECT with SQLAlchemy, as a table", f"{floor:.2f}"))
    print_table("Start of a command", ("command", "s of processor"), rows)
    return [
        (at_most(LIMIT_SECONDS, f"start of wattgate {command}: seconds of processor"), measured[WATTGATE, command])
        for command in JUDGED
        if command in commands
    ]


def _prepare(folder: str) -> None:
    """Create the template and the database of the commands."""
    Path(folder, "mail.html").write_text("<p>Hello</p>")
    for command in PREPARATIONS:
        _run(WATTGATE, command, folder)


def _median_seconds(
    commands: list[tuple[str, str]], folder: str, rounds: int, unmeasured: int
) -> dict[tuple[str, str], float]:
    """Return the median processor time of each command in seconds. They run in turns."""
    turns = [[_seconds(*command, folder) for command in commands] for _ in range(unmeasured + rounds)][unmeasured:]
    return {
        command: statistics.median(seconds) for command, seconds in zip(commands, zip(*turns, strict=True), strict=True)
    }


def _seconds(module: str, arguments: str, folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(module, arguments, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _print_memory(folder: str) -> None:
    """Print what the parts of a worker at rest add to its resident memory."""
    totals: list[int] = json.loads(_run("bench.resident_parts", "", folder))
    mebibytes = [total / BYTES_PER_MEBIBYTE for total in totals]
    rows = [
        (name, f"{total - before:.1f}", f"{total:.1f}")
        for (name, _), before, total in zip(PARTS, [0.0, *mebibytes[:-1]], mebibytes, strict=True)
    ]
    print_table("Memory of a worker at rest", ("part", "MiB", "MiB so far"), rows)


def _run(module: str, arguments: str, folder: str) -> str:
    """Return the output of a module in a folder, with its database there. Raise CalledProcessError if it fails."""
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path])),
        "WATTGATE_DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
    }
    return subprocess.run(
        [sys.executable, "-m", module, *arguments.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
