"""The goals of the benchmarks: which side of its limit a figure must be on, and the start of commands."""

from pathlib import Path

import pytest

from bench.commands import COMMANDS, JUDGED, PREPARATIONS, bench_commands
from bench.goals import Goal, at_least, at_most, print_goals
from bench.resident_parts import PARTS
from tests.support.command import wattgate_in


@pytest.mark.parametrize(
    ("goal", "good", "bad", "text"),
    [
        (at_most(1.5, "hello"), 1.5, 1.51, "<= 1.5: met"),
        (at_least(20_000, "MQTT"), 20_000, 19_999, ">= 20,000: met"),
    ],
)
def test_figure_at_its_limit_meets_the_goal_and_beyond_it_does_not(
    goal: Goal, good: float, bad: float, text: str
) -> None:
    assert goal.is_met_by(good)
    assert goal.verdict(good) == text
    assert not goal.is_met_by(bad)
    assert goal.verdict(bad) == text.replace("met", "not met")


def test_goals_are_printed_with_their_figures_and_the_number_of_met_ones(capsys: pytest.CaptureFixture[str]) -> None:
    print_goals([(at_most(1.5, "hello"), 1.25), (at_least(20_000, "MQTT"), 2_012.4)])
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if "<=" in line or ">=" in line] == [
        ["hello", "1.25", "<=", "1.5", "met"],
        ["MQTT", "2,012", ">=", "20,000", "not", "met"],
    ]
    assert "1 of 2 goals are met." in printed


@pytest.mark.long("measures starts of commands, which is a test of the benchmark and not of the gateway")
async def test_start_of_commands_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Start two commands, one of them with a goal: each takes an interpreter of its own."""
    started = ("--help", "home create --help")
    judgements = await bench_commands(rounds=1, unmeasured=0, commands=started)
    assert all(seconds > 0 for _, seconds in judgements)
    judged = [goal.name.partition(":")[0] for goal, _ in judgements]
    assert judged == [f"start of wattgate {command}" for command in ("--help",)]
    printed = capsys.readouterr().out
    assert all(f"wattgate {command}" in printed for command in started)
    assert "by hand: one SELECT" in printed
    memory = printed[: printed.index("Start of a command")]
    assert all(name in memory for name, _ in PARTS)


@pytest.mark.long("runs each command of the benchmark; the command line has its own tests")
def test_each_measured_command_succeeds(tmp_path: Path) -> None:
    assert set(JUDGED) == {"--help", "app list", "user list", "home list", "doctor", "db upgrade"}
    assert set(JUDGED) <= set(COMMANDS)
    (tmp_path / "mail.html").write_text("<p>Hello</p>")
    for command in (*PREPARATIONS, *COMMANDS):
        completed = wattgate_in(tmp_path, *command.split(), DATABASE_URL=f"sqlite:///{tmp_path}/bench.sqlite3")
        assert completed.returncode == 0, (command, completed.stderr)
