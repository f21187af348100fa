"""Tests that need a program of the system are skipped without it, with the reason, and fail where it is required."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import system_programs
from tests.support.system_programs import PROGRAMS, REQUIRED, Program, find_program, required_program

ROOT = Path(__file__).parents[2]

CASES = {
    "missing": (None, "nginx is not installed (Debian package nginx-light)"),
    "fails": ("echo no library >&2; exit 127", "nginx -v ends with status 127: no library"),
    "no version": ("echo hello", "nginx -v prints no version: hello"),
    "too old": ("echo nginx version: nginx/1.9.15", "nginx has version 1.9.15, and the tests need 1.18 or newer"),
    "hangs": ("exec sleep 60", "nginx does not start: "),
    "no program": ("\0", "nginx does not start: "),
}
"""The content of a script, and the reason for which tests do not use it."""


@pytest.fixture
def found_anew() -> Iterator[None]:
    """Look for programs again, in this test and after it."""
    find_program.cache_clear()
    yield
    find_program.cache_clear()


@pytest.mark.usefixtures("found_anew")
@pytest.mark.parametrize("case", CASES)
def test_program_that_cannot_be_used_skips_the_test(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, reason = CASES[case]
    if case == "hangs":
        monkeypatch.setattr(system_programs, "CHECK_SECONDS", 0.2)
    if script is not None:
        file = tmp_path / "nginx"
        file.write_text(script if script == "\0" else f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    example = PROGRAMS["nginx"]
    monkeypatch.setitem(PROGRAMS, "nginx", Program(example.package, example.oldest, example.ask, str(tmp_path)))
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match=re.escape(reason)):
        required_program("nginx")
    monkeypatch.setenv(REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match=re.escape(reason)):
        required_program("nginx")


@pytest.mark.usefixtures("found_anew")
def test_program_that_is_new_enough_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "nginx"
    file.write_text("#!/bin/sh\necho nginx version: nginx/1.18.0 >&2\n")
    file.chmod(0o755)
    monkeypatch.setitem(PROGRAMS, "nginx", Program("nginx-light", (1, 18), "-v", str(tmp_path)))
    assert required_program("nginx") == str(file)


def test_ci_installs_each_package() -> None:
    """`.ci/run` installs what the tests look for. It runs in bash itself, and leaves `make clients` to a workflow."""
    listed = (ROOT / ".ci" / "run").read_text().partition("programs=(")[2].partition("\n)")[0]
    installed = set(re.findall(r"\]=([\w.-]+)", listed))
    needed = {package for program in PROGRAMS.values() for package in program.package.split()}
    assert needed - installed == {"bash", "default-jdk-headless"}
    assert "default-jdk-headless" in (ROOT / ".github" / "workflows" / "long.yml").read_text()
