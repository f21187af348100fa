"""`.ci/run` runs each failed test once more, alone: a few that pass then are unstable, and all others fail the run."""

import json
from pathlib import Path

import pytest

from rerun_failed import MAX_UNSTABLE, list_unstable, rerun

ANY = "tests/test_module.py::test_name"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module outside this repository, so that a run of its tests does not import the gateway."""
    file = tmp_path / "test_module.py"
    file.write_text("def test_that_passes():\n    pass\n\n\ndef test_that_fails():\n    assert False\n")
    return file


def write_report(folder: Path, failures: dict[str, str], status: int = 1) -> Path:
    (folder / "failures.json").write_text(json.dumps({"status": status, "failures": failures}))
    return folder


@pytest.mark.long("a suite of its own; the one that fails twice stays in the short form")
def test_test_that_passes_alone_is_listed_with_its_first_failure(
    tmp_path: Path, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = f"{module}::test_that_passes"
    assert rerun(write_report(tmp_path, {passes: "call: assert 1 == 2"})) == ""
    list_unstable(tmp_path)
    printed = capsys.readouterr().out
    assert "1 unstable tests" in printed
    assert f"{passes}\n    call: assert 1 == 2" in printed


@pytest.mark.long("runs pytest again; a test that passes alone stays in the short form")
def test_test_that_fails_twice_fails_the_run(tmp_path: Path, module: Path) -> None:
    passes, fails = f"{module}::test_that_passes", f"{module}::test_that_fails"
    problem = rerun(write_report(tmp_path, {passes: "first", fails: "first"}))
    assert problem == f"1 tests failed twice: {fails}"
    assert list(json.loads((tmp_path / "unstable.json").read_text())) == [passes]


def test_many_failures_are_not_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"{ANY}[{number}]": "first" for number in range(MAX_UNSTABLE + 1)}
    assert rerun(write_report(tmp_path, many)).startswith(f"{MAX_UNSTABLE + 1} tests failed. ")
    assert "running again" not in capsys.readouterr().out


@pytest.mark.parametrize("status", [0, 2, 3, 4])
def test_run_that_ended_otherwise_fails(tmp_path: Path, status: int) -> None:
    assert "which is not that of failed tests" in rerun(write_report(tmp_path, {ANY: "first"}, status))


def test_run_without_a_report_or_failure_fails(tmp_path: Path) -> None:
    assert rerun(tmp_path).startswith("the tests did not end: ")
    assert rerun(write_report(tmp_path, {})).startswith("the tests ended with status 1")
