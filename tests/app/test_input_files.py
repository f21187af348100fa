"""Files and numbers that commands cannot use: each is refused with its name and what to do, and none without an end."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from tests.support.cli import Command, command_in
from wattgate.app.cli.input_files import MAX_TEXT_BYTES, UnreadableFile, open_input, read_json, read_text
from wattgate.errors import BadInput
from wattgate.reading_files.line_reader import MAX_SKIPPED_BYTES, read_numbered_lines

DEEP = "[" * 50_000
DIGITS = f"[{'9' * 5_000}]"
ZERO = "/dev/zero"

N3RGY = "timestamp (UTC),energyConsumption (kWh)\n2026-03-02 01:00,0.5\n"

APPLICATION = ("--application", "a")
OWNER = ("--application", "a", "--user", "a@x.example")
HOME = ("home", "create", *OWNER, "--name", "h", "--time-zone", "Europe/London", "--electricity", "1234567890123")
READERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "readings": lambda file: ("readings", "import", file, *APPLICATION, "--resource", "r", "--dry-run"),
    "tariff": lambda file: ("tariff", "import", file, *APPLICATION),
    "network": lambda file: ("network", "import", file),
    "home": lambda file: (*HOME, "--tariff", file),
    "documents": lambda file: ("documents", "register", file, *APPLICATION, "--dry-run"),
    "template": lambda file: ("template", "check", file),
    "text of a template": lambda file: ("template", "check", "t.html", "--text", file),
    "data of a template": lambda file: ("template", "check", "t.html", "--data", file),
    "variables of a template": lambda file: ("template", "check", "t.html", "--variables", file),
}
"""The commands that read a file."""

JSON_READERS = ("documents", "data of a template", "variables of a template")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    started = command_in(tmp_path, monkeypatch, capsys)
    Path("t.html").write_text("<p>Dear {{ name }}</p>")
    assert started("db", "upgrade").status == 0
    return started


def test_device_is_refused_by_each_command(command: Command, subtests: pytest.Subtests) -> None:
    for name, words in READERS.items():
        with subtests.test(name):
            refused = command(*words(ZERO))
            assert refused.status in (1, 2)
            assert f"{ZERO}" in refused.error
            assert "neither a regular file nor a pipe" in " ".join(refused.error.split())


@pytest.mark.parametrize(("text", "problem"), [(DEEP, "nested too deeply"), (DIGITS, "too many digits")])
def test_json_that_python_cannot_represent_is_refused(
    command: Command, subtests: pytest.Subtests, text: str, problem: str
) -> None:
    Path("m.json").write_text(text)
    for name in JSON_READERS:
        with subtests.test(name):
            refused = command(*READERS[name]("m.json"))
            assert refused.status in (1, 2)
            assert "m.json" in refused.error
            assert problem in " ".join(refused.error.split())


@pytest.mark.parametrize("depth", [100, 400, 900])
def test_nested_json_is_refused_or_used(command: Command, subtests: pytest.Subtests, depth: int) -> None:
    nested = f"{'[' * depth}1{']' * depth}"
    Path("m.json").write_text(f'{{"name": {nested}}}')
    Path("v.json").write_text(f'[{{"name": "use", "type": "TEXT", "sample": {nested}}}]')
    Path("l.jsonl").write_text(f'{{"kind": "meterPoint", "mpxn": {nested}, "name": {nested}}}\n')
    for name, file in (*((name, "m.json") for name in JSON_READERS), (JSON_READERS[-1], "v.json")):
        with subtests.test(f"{name} {file}"):
            assert command(*READERS[name](file)).status in (0, 1, 2)
    for name in ("tariff", "network", "home"):
        with subtests.test(name):
            assert command(*READERS[name]("l.jsonl")).status in (1, 2)


@pytest.mark.parametrize("number", ["9" * 23, "-1", "9" * 5_000, "9223372036854775808", "1e3"])
def test_number_of_an_option_has_a_range(command: Command, subtests: pytest.Subtests, number: str) -> None:
    for words in (
        ("audit", "export", *APPLICATION, "--after", number),
        ("keys", "rotate", "--batch", number),
        ("serve", "--workers", number),
    ):
        with subtests.test(" ".join(words[:2])):
            refused = command(*words)
            assert (refused.status, f"{words[-2]}" in refused.error) == (2, True)


def test_last_number_of_a_sequence_is_accepted(command: Command) -> None:
    outcome = command("audit", "export", *APPLICATION, "--after", str(2**63 - 1))
    assert (outcome.status, "No application has the name" in outcome.error) == (1, True)


@pytest.mark.parametrize("number", ["nan", "inf", "1e400", "-inf"])
def test_factor_of_gas_is_a_number(command: Command, number: str) -> None:
    Path("r.csv").write_text("at,value\n")
    for option in ("--calorific-value", "--volume-correction"):
        refused = command(*READERS["readings"]("r.csv"), "--unit", "m3", option, number)
        assert (refused.status, option in refused.error) == (2, True), refused


def test_file_that_is_read_at_once_has_a_bound(tmp_path: Path) -> None:
    (file := tmp_path / "t.html").touch()
    os.truncate(file, MAX_TEXT_BYTES)
    assert len(read_text(file)) == MAX_TEXT_BYTES
    os.truncate(file, MAX_TEXT_BYTES + 1)
    with pytest.raises(UnreadableFile, match="16,777,216 bytes"):
        read_text(file)


def test_line_without_an_end_has_a_bound(tmp_path: Path) -> None:
    (file := tmp_path / "a.csv").touch()
    os.truncate(file, MAX_SKIPPED_BYTES)
    with open_input(file) as source:
        assert len(list(read_numbered_lines(source))) == 1
    os.truncate(file, MAX_SKIPPED_BYTES + 1_000_000)
    with open_input(file) as source, pytest.raises(BadInput, match="more than 16,777,216 bytes"):
        list(read_numbered_lines(source))


def test_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = Thread(target=pipe.write_text, args=(json.dumps({"a": 1}),))
    writer.start()
    assert read_json(pipe) == {"a": 1}
    writer.join()


@pytest.mark.parametrize("kind", ["same name", "symbolic link", "hard link"])
def test_imported_file_is_never_that_of_refused_lines(command: Command, subtests: pytest.Subtests, kind: str) -> None:
    content = "no record\n"
    for name in ("readings", "tariff", "network"):
        with subtests.test(name):
            file, other = Path(f"{name}.txt"), Path(f"{name} link.txt")
            file.write_text(content)
            match kind:
                case "same name":
                    other = file
                case "symbolic link":
                    other.symlink_to(file)
                case _:
                    other.hardlink_to(file)
            refused = command(*READERS[name](str(file)), "--refused", str(other))
            assert (refused.status, file.read_text()) == (1, content)
            assert f"The file {other} is the file to import." in " ".join(refused.error.split())


def test_each_import_reads_a_pipe(command: Command, subtests: pytest.Subtests) -> None:
    """A pipe has no position. A shell gives a command the name of one for `<(gunzip -c file)`."""
    assert command(*HOME, "--name", "Sample").status == 0
    home, point = ("--home", "Sample", "--electricity"), "1234567890123"
    imports = {
        ("readings", *home): ("localTime,value\n2026-03-02T00:00:00,0.5\n", "1 readings recorded"),
        ("readings", *home, "--profile", "n3rgy", "--times", "start"): (N3RGY, "1 readings recorded"),
        ("network",): (json.dumps({"kind": "meterPoint", "mpxn": point}), "1 records stored"),
        ("tariff", *APPLICATION): (json.dumps({"resourceId": "r", "at": "2026-03-02T00:00:00Z"}), "1 refused"),
    }
    for (name, *options), (text, expected) in imports.items():
        with subtests.test(f"{name} {options}"):
            reading, writing = os.pipe()
            os.write(writing, text.encode())
            os.close(writing)
            assert expected in command(name, "import", f"/dev/fd/{reading}", *options).out
            os.close(reading)


def test_readings_are_read_from_a_named_pipe(command: Command, tmp_path: Path) -> None:
    """A second opening would wait for a second writer."""
    assert command(*HOME, "--name", "Sample").status == 0
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = Thread(target=pipe.write_text, args=("localTime,value\n2026-03-02T00:00:00,0.5\n",))
    writer.start()
    assert "1 readings recorded" in command("readings", "import", str(pipe), "--home", "Sample", "--electricity").out
    writer.join()
