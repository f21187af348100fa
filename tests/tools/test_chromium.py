"""Without a browser that starts, its tests are skipped before anything else starts, or fail if it is required."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.chromium import PROGRAMS, REQUIRED, look_for_it_first, started_chromium

DOES_NOT_START = f"{PROGRAMS[0]} does not start: (.|\n)*libnss3.so is missing|the driver of Playwright does not start"
"""The reason. On a minimal system, the Node of Playwright lacks a library and does not start itself."""


def install(folder: Path, program: str, script: str) -> None:
    file = folder / program
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


async def start() -> None:
    async with started_chromium():
        pass


@pytest.mark.parametrize(("value", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)])
async def test_missing_and_broken_browser_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv(REQUIRED, value)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(outcome, match="no Chromium on this machine"):
        await start()
    install(tmp_path, PROGRAMS[0], "echo libnss3.so is missing >&2; exit 127")
    with pytest.raises(outcome, match=DOES_NOT_START):
        await start()


def test_browser_is_looked_for_before_other_fixtures() -> None:
    items = [SimpleNamespace(fixturenames=["databases", "page", "browser"]), SimpleNamespace(fixturenames=["redis"])]
    look_for_it_first(items)  # type: ignore[arg-type]
    assert [item.fixturenames for item in items] == [["browser", "databases", "page"], ["redis"]]
