"""`wattgate app add-directory` adds an OpenID Connect provider to an application."""

import re
from pathlib import Path

from tests.support.command import wattgate_in
from tests.support.sqlite_files import execute


def test_directory_is_added_with_its_rules(tmp_path: Path) -> None:
    assert wattgate_in(tmp_path, "db", "upgrade").returncode == 0
    created = wattgate_in(tmp_path, "app", "create", "Mine", "--username", "mine")
    (application_id,) = re.findall(r"id\s+(\S+)", created.stdout)
    add = ("app", "add-directory", application_id, "https://id.example", "--audience", "my-app")
    added = wattgate_in(tmp_path, *add, "--audience", "other", "--rule", "link", "--algorithm", "ES256")
    assert added.returncode == 0, added.stderr
    (directory_id,) = re.findall(r"Directory id\s+(\S+)", added.stdout)
    columns = "directory_id, application_id, issuer, audiences, algorithms, account_rule"
    stored = execute(tmp_path, f"SELECT {columns} FROM directory")
    expected = ("https://id.example", '["my-app","other"]', '["ES256"]', "LINK")
    assert stored == [(directory_id, application_id, *expected)]
    for wrong, problem in (("none", "algorithms"), ("HS256", "algorithms")):
        refused = wattgate_in(tmp_path, *add, "--algorithm", wrong)
        assert (refused.returncode, problem in refused.stderr) == (1, True), refused.stderr
