"""`wattgate audit`: export of the log, and its verification."""

import json
import re
import sqlite3
from pathlib import Path

from tests.support.command import wattgate_in


def _create_application(folder: Path) -> str:
    assert wattgate_in(folder, "db", "upgrade").returncode == 0
    created = wattgate_in(folder, "app", "create", "Mine", "--username", "mine")
    (application_id,) = re.findall(r"id\s+(\S+)", created.stdout)
    assert wattgate_in(folder, "app", "rotate-secret", "mine").returncode == 0
    return str(application_id)


def test_export_prints_each_act_as_a_line(tmp_path: Path) -> None:
    application_id = _create_application(tmp_path)
    exported = wattgate_in(tmp_path, "audit", "export", "--application", application_id)
    entries = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["operation"] == "createApplication"
    assert entries[1]["previous_digest"] == entries[0]["digest"]
    rest = wattgate_in(tmp_path, "audit", "export", "--application", application_id, "--after", "1")
    assert [json.loads(line) for line in rest.stdout.splitlines()] == entries[1:]


def test_verify_reports_a_changed_entry(tmp_path: Path) -> None:
    application_id = _create_application(tmp_path)
    intact = wattgate_in(tmp_path, "audit", "verify")
    assert (intact.returncode, "no problem" in intact.stdout) == (0, True), intact.stderr
    connection = sqlite3.connect(tmp_path / "wattgate.sqlite3")
    triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    for name in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE audit_entry SET operation = 'other' WHERE sequence = 2")
    connection.commit()
    connection.close()
    for options in ((), ("--application", application_id)):
        changed = wattgate_in(tmp_path, "audit", "verify", *options)
        assert changed.returncode == 1
        assert application_id in changed.stderr
