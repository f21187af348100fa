"""The processor time that commands of the terminal need to start."""

import os
import resource
import statistics
import subprocess
import sys

from bench.goals import Judgement, at_most
from bench.table import print_table

ROUNDS = 7
COMMANDS = (["--help"], ["home", "create", "--help"])
START_GOAL = at_most(0.7, "start of a command (wattgate --help): seconds of processor")


async def bench_commands(rounds: int = ROUNDS) -> list[Judgement]:
    """Measure the start of some commands. Return the figure that has a goal."""
    seconds = {" ".join(command): _median_seconds(command, rounds) for command in COMMANDS}
    rows = [(f"wattgate {command}", f"{value:.2f}") for command, value in seconds.items()]
    print_table("Start of a command", ("command", "s of processor"), rows)
    return [(START_GOAL, seconds["--help"])]


def _median_seconds(arguments: list[str], rounds: int) -> float:
    """Return the median processor time of a command in seconds. A first run compiles the modules and does not count."""
    return statistics.median([_seconds(arguments) for _ in range(rounds + 1)][1:])


def _seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "wattgate", *arguments], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
