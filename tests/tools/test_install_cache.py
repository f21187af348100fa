"""Packages for tests are installed once, into the cache of the user or, without one, among the temporary files."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.install_cache import cache_folder, install_once


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file. The cache and the temporary files are folders of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    file = tmp_path / "lock"
    file.write_text("one==1")
    return file


def test_each_lock_file_is_installed_once(lock: Path) -> None:
    installed: list[Path] = []
    first = install_once("python", lock, installed.append)
    assert install_once("python", lock, installed.append) == first
    lock.write_text("one==2")
    second = install_once("python", lock, installed.append)
    assert installed == [first, second]


def test_failed_installation_is_tried_again(lock: Path) -> None:
    def fail(_: Path) -> None:
        raise ValueError("no registry")

    with pytest.raises(ValueError, match="no registry"):
        install_once("node", lock, fail)
    installed: list[Path] = []
    assert installed == [install_once("node", lock, installed.append)]


def test_home_without_write_permission_is_not_needed(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(lock))  # a file, in which nobody can make a folder, root included
    expected = tmp_path / "temporary" / f"wattgate-cache-{os.getuid()}"
    assert cache_folder() == expected
    assert expected.stat().st_mode & 0o777 == 0o700
