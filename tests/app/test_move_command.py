"""`wattgate move`: the dry run, the move of a home, a new user, and times on days of a clock change."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command, command_in
from tests.support.schema import bring_up_url
from wattgate.app.cli.actions.moves import parse_moved_in
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.personal_data.erasure_list import ErasureList
from wattgate.errors import BadInput
from wattgate.operations.tenancies import tenancies

MPAN, ADA, BOB = "2300000000116", "ada@mine.example", "bob@mine.example"


@pytest.fixture
async def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on a database with a home of Ada."""
    await bring_up_url(database_url)
    monkeypatch.setenv("WATTGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("WATTGATE_ERASURE_LIST", str(tmp_path / "erasures"))
    return command_in(tmp_path, monkeypatch, capsys)


def run(command: Command, *words: str) -> Any:
    outcome = command(*words, "--json")
    assert outcome.status == 0, outcome
    return json.loads(outcome.out)


def set_up(command: Command, mpxn: str = MPAN, user: str = ADA) -> Any:
    words = ("--user", user, "--name", "My home", "--time-zone", "Europe/London", "--electricity", mpxn)
    return run(command, "home", "create", "--application", "My app", *words)


def export(command: Command, user: str, folder: Path) -> dict[str, str]:
    """Return the files of an export of a user."""
    name = f"{user.partition('@')[0]}.zip"
    outcome = command("user", "export", user, name)
    assert outcome.status == 0, outcome
    with zipfile.ZipFile(folder / name) as archive:
        return {member: archive.read(member).decode() for member in archive.namelist()}


def test_a_dry_run_changes_nothing_and_the_move_does_what_it_lists(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The day of the move is a day in the time zone of the home: 1 July begins at 23:00 UTC."""
    setup = set_up(command)
    rows = "".join(f"2026-06-30T{hour}:00:00Z,0.5\n" for hour in (21, 22, 23))
    (tmp_path / "readings.csv").write_text("at,value\n" + rows)
    assert command("readings", "import", "readings.csv", "--home", "My home").status == 0
    before = run(command, "home", "list"), run(command, "user", "list")
    words = ("move", MPAN, "--user", BOB, "--new-user", "--moved-in", "2026-07-01")
    preview = run(command, *words, "--dry-run")
    assert (preview["dryRun"], preview["movedInAt"], preview["withdrawnReadings"]) == (
        True,
        "2026-06-30T23:00:00.000Z",
        1,
    )
    shown = command(*words, "--dry-run").out
    assert "2026-06-30T23:00:00.000Z" in shown
    assert f"{ADA} ({preview['formerUserId']})" in shown
    assert (run(command, "home", "list"), run(command, "user", "list")) == before
    monkeypatch.setattr(tenancies, "MAX_WITHDRAWN_READINGS", 0)  # so the command deletes the readings in pieces
    moved = run(command, *words, "--yes")
    assert moved["secrets"]["password"]
    assert {one["resourceId"] for one in moved["resources"]} == {
        record["id"] for record in setup["records"] if record["kind"] == "resource"
    }
    homes = {home["user"]: home for home in run(command, "home", "list")}
    assert (homes[BOB]["name"], homes[BOB]["timeZone"], homes[BOB]["veId"]) == ("Home", "Europe/London", moved["veId"])
    assert homes[ADA]["veId"] == setup["veId"]
    bobs = [one["successorId"] for one in moved["resources"]]
    for one in (*preview["resources"], *moved["resources"]):
        one.pop("successorId")
    same = set(preview) - {"dryRun", "userId", "veId", "secrets"}
    assert {name: preview[name] for name in same} == {name: moved[name] for name in same}
    exported = export(command, ADA, tmp_path)
    (period,) = json.loads(exported["records/meter_point_tenancy.json"])
    assert (period["mpxn"], period["beganAt"], period["endedAt"][:16]) == (MPAN, None, "2026-06-30T23:00")
    everything = "".join(exported.values())
    assert not [text for text in (BOB, moved["userId"], moved["veId"], *bobs) if text in everything]
    bobs_export = "".join(export(command, BOB, tmp_path).values())
    assert all(each in bobs_export for each in bobs)
    left = {one["resourceId"] for one in moved["resources"]} | {ADA, preview["formerUserId"], setup["veId"], "My home"}
    assert [text for text in left if text in bobs_export] == []
    written = f"{MPAN[:2]}-{MPAN[2:]}"
    back = run(command, "move", written, "--user", ADA, "--yes", "--home", "Old flat")  # and back again, now
    assert back["formerUserId"] == moved["userId"]
    # No gateway runs, which would add the moves to the list.
    listed = ErasureList(tmp_path / "erasures", load_key_ring(Settings())).read().tenancies.values()
    assert sorted((one.user_id == moved["userId"], one.ended_at is None) for one in listed) == [
        (False, False),
        (False, True),
        (True, False),
    ]


def test_a_move_that_cannot_be_is_refused_with_the_option(command: Command) -> None:
    set_up(command)
    for words, texts in (
        (("--user", BOB), ("No user has the name or ID 'bob@mine.example'", "--new-user")),
        (("--user", ADA), ("lives at meter point", MPAN)),
        (("--user", ADA, "--new-user"), ("exists already", "--new-user")),
        (("--user", "bob", "--new-user"), ("--user", "Give an e-mail address")),
        (("--user", BOB, "--new-user", "--moved-in", "soon"), ("--moved-in", "'soon' is no date or time")),
        (("--user", BOB, "--new-user", "--time-zone", "Mars"), ("--time-zone",)),
        (("--user", BOB, "--new-user", "--device", "x"), ("No device has the ID or hardware ID 'x'",)),
        (("--user", BOB, "--new-user", "--device", "x", "--keep-devices"), ("--keep-devices",)),
    ):
        outcome = command("move", MPAN, *words, "--yes")
        assert outcome.status == 1, (words, outcome)
        for text in texts:
            assert text in outcome.error, (words, outcome.error)
    unknown = command("move", "2300000000222", "--user", ADA, "--yes")
    assert (unknown.status, "No user lives at meter point 2300000000222" in unknown.error) == (1, True)
    tomorrow = (utc_now() + timedelta(days=1)).isoformat()
    future = command("move", MPAN, "--user", BOB, "--new-user", "--moved-in", tomorrow, "--yes")
    assert (future.status, "is in the future" in future.error) == (1, True)
    assert [user["username"] for user in run(command, "user", "list")] == [ADA]  # no new user is left


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01", "2026-03-01T00:00:00"),
        ("2026-07-01", "2026-06-30T23:00:00"),
        ("2026-07-01T12:30", "2026-07-01T11:30:00"),
        ("2026-10-25T01:30+01:00", "2026-10-25T00:30:00"),
        ("2026-10-25", "2026-10-24T23:00:00"),
        ("2026-10-25T02:00", "2026-10-25T02:00:00"),
        (
            "2026-10-25T01:30",
            "occurs twice in Europe/London, because the clocks go back. Give 2026-10-25T00:30:00.000Z",
        ),
        ("2026-03-29T01:30", "does not exist in Europe/London"),
        ("2026-13-01", "is no date or time"),
        ("0001-01-01", "is out of range"),
    ],
)
def test_a_local_time_is_one_instant_or_refused(text: str, instant: str) -> None:
    try:
        assert parse_moved_in(text, "Europe/London").astimezone(UTC) == datetime.fromisoformat(f"{instant}+00:00")
    except BadInput as error:
        (problem,) = error.problems
        assert instant in problem.message
