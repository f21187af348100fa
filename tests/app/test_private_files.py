"""Files with personal data: only their owner can read them, whatever the umask."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import wattgate
from wattgate.private_files import make_private_folder, others_can_read, write_private

PACKAGE = Path(wattgate.__file__).parent

WRITES = {"write_text", "write_bytes", "mkdir", "touch"}
"""Methods of paths that create files and folders with the mode of the umask."""


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_new_and_existing_files_become_private(tmp_path: Path) -> None:
    new, old, folder = tmp_path / "new", tmp_path / "old", tmp_path / "folder"
    old.write_text("something longer than the new text")
    folder.mkdir()
    assert others_can_read(old)
    for file in (new, old):
        with write_private(file) as writing:
            writing.write("text")
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("text", 0o600)
    for made in (folder, tmp_path / "other"):
        make_private_folder(made)
        assert made.stat().st_mode & 0o777 == 0o700


def test_a_device_keeps_its_mode() -> None:
    before = os.stat("/dev/null").st_mode
    with write_private(Path("/dev/null")) as writing:
        writing.write("text")
    assert os.stat("/dev/null").st_mode == before


def test_package_creates_no_file_with_the_mode_of_the_umask() -> None:
    """Each file is created by `private_files`, or with an explicit mode."""
    faults = []
    for path in PACKAGE.rglob("*.py"):
        if path.name == "private_files.py":
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        faults += [f"{path}:{call.lineno} {ast.unparse(call)[:80]}" for call in calls if creates_file(call)]
    assert faults == []


def creates_file(call: ast.Call) -> bool:
    """Return whether a call may create a file or folder without an explicit mode."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    text = ast.unparse(call)
    if name == "open" and text.startswith("os."):
        return "O_CREAT" in text and "PRIVATE_FILE_MODE" not in text
    if name == "open":
        values = [*call.args, *(word.value for word in call.keywords)]
        modes = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
        is_archive = text.startswith("archive.")
        return not is_archive and any(set(mode) <= set("wxab+") and set(mode) & set("wxa") for mode in modes)
    return name in WRITES and "mode=" not in text
