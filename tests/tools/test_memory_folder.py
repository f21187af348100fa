"""Files of tests are in memory where a machine has enough of it, and where it lets programs run."""

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import memory_folder

ENOUGH = memory_folder.NEEDED_BYTES // 4096


def folder_chosen(memory: Path, monkeypatch: pytest.MonkeyPatch, blocks: int = ENOUGH, flags: int = 0) -> str:
    """Return the folder of temporary files, with `memory` in place of the folder in memory."""
    monkeypatch.setattr(memory_folder, "MEMORY_FOLDER", memory)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=blocks, f_frsize=4096, f_flag=flags))
    monkeypatch.setattr(tempfile, "tempdir", "/srv/before")
    memory_folder.use_memory()
    return tempfile.gettempdir()


@pytest.mark.parametrize(
    ("blocks", "flags", "chosen", "used"),
    [
        (ENOUGH, 0, None, True),
        (ENOUGH - 1, 0, None, False),
        (ENOUGH, os.ST_NOEXEC, None, False),
        (ENOUGH, 0, "/srv/files", False),
    ],
)
def test_files_are_in_memory_if_it_suffices_and_no_folder_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, flags: int, chosen: str | None, used: bool
) -> None:
    if chosen is None:
        monkeypatch.delenv("TMPDIR", raising=False)
    else:
        monkeypatch.setenv("TMPDIR", chosen)
    folder = folder_chosen(tmp_path, monkeypatch, blocks, flags)
    assert (folder == str(tmp_path / f"wattgate-{os.getuid()}")) is used


def test_folder_that_another_user_made_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    (tmp_path / "other").mkdir()
    (tmp_path / f"wattgate-{os.getuid()}").symlink_to(tmp_path / "other")
    assert folder_chosen(tmp_path, monkeypatch) == "/srv/before"
