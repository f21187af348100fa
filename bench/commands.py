"""The processor time that commands of the terminal need to start."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.goals import Judgement, at_most
from bench.table import print_table

ROUNDS = 7
COMMANDS = (["--help"], ["home", "create", "--help"], ["template", "check", "mail.html"], ["home", "list"])
"""The help, which imports no action, a command without a database, and one with an empty SQLite database."""

START_GOAL = at_most(0.7, "start of a command (wattgate --help): seconds of processor")


async def bench_commands(rounds: int = ROUNDS) -> list[Judgement]:
    """Measure the start of some commands. Return the figure that has a goal."""
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder:
        _prepare(folder)
        seconds = {" ".join(command): _median_seconds(command, folder, rounds) for command in COMMANDS}
    rows = [(f"wattgate {command}", f"{value:.2f}") for command, value in seconds.items()]
    print_table("Start of a command", ("command", "s of processor"), rows)
    return [(START_GOAL, seconds["--help"])]


def _prepare(folder: str) -> None:
    """Create the template and the database of the commands."""
    Path(folder, "mail.html").write_text("<p>Hello</p>")
    for command in (["db", "upgrade"], ["app", "create", "bench", "--username", "bench"]):
        _run(command, folder)


def _median_seconds(arguments: list[str], folder: str, rounds: int) -> float:
    """Return the median processor time of a command in seconds. A first run compiles the modules and does not count."""
    return statistics.median([_seconds(arguments, folder) for _ in range(rounds + 1)][1:])


def _seconds(arguments: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(arguments, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(arguments: list[str], folder: str) -> None:
    """Run a command in a folder, with its database there. Raise CalledProcessError if it fails."""
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "WATTGATE_DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
    }
    subprocess.run(
        [sys.executable, "-m", "wattgate", *arguments], cwd=folder, env=environment, capture_output=True, check=True
    )
