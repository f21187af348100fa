"""deploy/README.md lists each file of deploy/, with the check that reads it or the reason why none does."""

import re

from tests.deploy.files import DEPLOY, ROOT, deployed_files

ROWS = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \|$", (DEPLOY / "README.md").read_text(), re.MULTILINE)


def test_readme_lists_each_file_once() -> None:
    assert sorted(path for path, _, _ in ROWS) == [path for path in deployed_files() if path != "README.md"]


def test_checks_that_the_readme_names_exist() -> None:
    for path, _, check in ROWS:
        named = re.findall(r"`(tests/[\w/.]+)`", check)
        assert named or "not checked: " in check, path
        assert [name for name in named if not (ROOT / name).exists()] == []
