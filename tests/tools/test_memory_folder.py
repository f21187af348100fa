"""Files of tests are in memory where a machine has enough of it, and where it lets programs run."""

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import memory_folder

ENOUGH = memory_folder.NEEDED_BYTES // 4096


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
    state = SimpleNamespace(f_bavail=blocks, f_frsize=4096, f_flag=flags)
    monkeypatch.setattr(memory_folder, "MEMORY_FOLDER", tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: state)
    monkeypatch.setattr(tempfile, "tempdir", chosen)
    monkeypatch.setenv("TMPDIR", chosen or "")
    if chosen is None:
        monkeypatch.delenv("TMPDIR")
    memory_folder.use_memory()
    assert (tempfile.gettempdir() == str(tmp_path)) is used
