"""`wattgate db apply-erasures` and `export-erasures`, and the start of a gateway on a restored backup."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command, Outcome, command_in
from tests.support.schema import bring_up_url
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.server.components import Components
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.db.personal_data.erasure_list import ErasureList, ListedErasure
from wattgate.errors import GatewayError, Unauthenticated
from wattgate.operations.credentials import tokens
from wattgate.operations.personal_data import erasures
from wattgate.principal import Principal, Role

pytestmark = pytest.mark.both_databases("a backup of either database is restored")

USER, PASSWORD = "ada@mine.example", "a long enough password"
ERASED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
async def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on a database with the schema, with a list in a folder of its own."""
    await bring_up_url(database_url)
    (tmp_path / "lists").mkdir()
    monkeypatch.setenv("WATTGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("WATTGATE_ERASURE_LIST", str(tmp_path / "lists" / "erasures"))
    return command_in(tmp_path, monkeypatch, capsys)


def erasure_list() -> ErasureList:
    listed = open_erasure_list(Settings())
    assert listed is not None
    return listed


def add_user(command: Command, application_id: str) -> str:
    """Create the user and return the ID."""
    added = command("user", "create", application_id, USER, "--password", PASSWORD)
    assert added.status == 0, added.error
    (listed,) = [row for row in output(command("user", "list", "--json")) if row["username"] == USER]
    return str(listed["userId"])


def output(outcome: Outcome) -> Any:
    assert outcome.status == 0, outcome.error
    return json.loads(outcome.out)


def application(command: Command) -> str:
    created = command("app", "create", "My app", "--username", "my-app")
    assert created.status == 0, created.error
    return str(output(command("app", "list", "--json"))[0]["applicationId"])


def log_in(application_id: str) -> None:
    """Log in as the user. Raise Unauthenticated if that is not possible."""
    arguments = {"application_id": application_id, "username": USER, "password": PASSWORD}

    async def run(gateway: Components) -> None:
        await gateway.runner.run(tokens.authenticate, Principal(Role.ANONYMOUS), arguments)

    run_async(with_gateway(Settings(), run))


def refused(outcome: Outcome, *texts: str) -> None:
    assert outcome.status == 1, outcome
    for text in texts:
        assert text in outcome.error + " ".join(outcome.out.split()), outcome


def refused_at_each_start(command: Command, *texts: str) -> None:
    """Assert that nothing starts on the database, and that `wattgate doctor` says why."""
    for words in (("serve",), ("worker",), ("doctor",), ("user", "erase", USER, "--yes")):
        refused(command(*words), *texts)

    async def start() -> None:
        gateway = create_app(Settings())
        try:
            async with gateway.router.lifespan_context(gateway):
                pass
        finally:
            await gateway.state.gateway.database.close()

    with pytest.raises(GatewayError) as error:
        asyncio.run(start())
    assert all(text in error.value.message for text in texts)


def test_a_restored_user_is_erased_again_before_anything_starts(command: Command) -> None:
    """The list names the user and one whom the backup does not have. A backup without an erasure looks the same."""
    application_id = application(command)
    user_id = add_user(command, application_id)
    log_in(application_id)
    assert "the first erasure or tenancy creates" in command("doctor").out
    assert "0 users are erased again" in command("db", "apply-erasures").out
    unknown = ListedErasure("another", "unknown", ERASED_AT)
    erasure_list().append([unknown, ListedErasure(application_id, user_id, ERASED_AT)])
    refused_at_each_start(command, "still has 1 user of the erasure list", user_id, "Run `wattgate db apply-erasures`")

    applied = command("db", "apply-erasures")
    texts = ("1 user is erased again. The list has 2 erasures.", "0 tenancies are repeated. The list has 0 tenancies.")
    assert (applied.status, tuple(applied.out.splitlines())) == (0, texts), applied
    with pytest.raises(Unauthenticated):
        log_in(application_id)
    assert "the database has erased all users of" in command("doctor").out
    entries = command("audit", "export", "--application", application_id).out
    (entry,) = [one for one in map(json.loads, entries.splitlines()) if one["operation"] == "repeatErasure"]
    assert (entry["target"], entry["actor"]["role"]) == ({"userId": user_id}, "system")
    assert command("audit", "verify").status == 0
    kept_until = report_of(application_id, user_id).kept_until
    assert kept_until == ERASED_AT + timedelta(days=Settings().billing_retention_days)

    again = add_user(command, application_id)
    assert again != user_id, "a person who returns is another user"
    assert "0 users are erased again. The list has 2 erasures." in command("db", "apply-erasures").out
    log_in(application_id)
    assert command("user", "erase", USER, "--yes").status == 0
    assert list(erasure_list().read().erasures) == ["unknown", user_id, again]


def report_of(application_id: str, user_id: str) -> Any:
    system = Principal(Role.SYSTEM, application_id=application_id)

    async def run(gateway: Components) -> Any:
        return await gateway.runner.run(erasures.erasure, system, {"user_id": user_id})

    return run_async(with_gateway(Settings(), run))


def test_a_list_that_is_lost_cut_or_of_another_gateway_is_named(command: Command, tmp_path: Path) -> None:
    application_id = application(command)
    users = []
    for _ in range(2):
        users.append(add_user(command, application_id))
        assert command("user", "erase", USER, "--yes").status == 0
    file = erasure_list().file
    whole = file.read_text()
    assert USER not in whole

    file.unlink()
    refused(command("serve"), f"The erasure list {file} does not exist, although the erasures of 2 users are in it")
    refused(command("db", "apply-erasures"), "does not exist")
    refused(command("db", "apply-erasures", "none"), "cannot be read", "No such file")
    file.write_text(whole.splitlines(keepends=True)[0])
    refused(command("doctor"), "lacks 1 user that the database knows to be in it", users[1], "export-erasures")
    file.write_text(whole.replace(users[0], users[1]))
    refused(command("doctor"), "was changed: line 1 has a wrong signature")
    file.write_text(whole)
    file.unlink()
    exported = command("db", "export-erasures")
    assert exported.status == 0, exported.error
    copy = tmp_path / "copy"
    copy.write_text(exported.out)
    assert "The list has 2 erasures." in command("db", "apply-erasures", str(copy)).out
    assert command("doctor").status == 0
    assert exported.out == whole == file.read_text()


def test_a_list_that_cannot_be_written_keeps_an_erasure_from_being_done(command: Command) -> None:
    application_id = application(command)
    user_id = add_user(command, application_id)
    folder = erasure_list().file.parent
    folder.rmdir()
    refused(command("user", "erase", USER, "--yes"), "Nothing can be added to the erasure list", "Erasures wait")
    assert report_of(application_id, user_id).finished_at is None
    refused(command("doctor"), f"the folder {folder} does not exist: create it", "Until then, no erasure is done")
    folder.mkdir()
    assert "1 erasures wait for the list" in command("doctor").out
    assert command("user", "erase", user_id, "--yes").status == 0
    assert list(erasure_list().read().erasures) == [user_id]


def test_a_database_whose_erasures_are_listed_needs_the_list(
    command: Command, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    """A new machine, or a process whose settings lack the list, does not go on without it."""
    application_id = application(command)
    user_id = add_user(command, application_id)
    monkeypatch.delenv("WATTGATE_ERASURE_LIST")
    is_sqlite = database_url.startswith("sqlite")
    doctor = command("doctor")
    assert (doctor.status, "so a restored backup brings erased users back" in doctor.out) == (0, not is_sqlite)
    assert command("user", "erase", USER, "--yes").status == 0
    if is_sqlite:
        listed = erasure_list()
        assert listed.file == Path(f"{database_url.removeprefix('sqlite:///')}.erasures")
        assert list(listed.read().erasures) == [user_id]
        return
    refused(command("db", "apply-erasures"), "There is no list of erasures. Set WATTGATE_ERASURE_LIST")
    file = Path("lists") / "erasures"
    assert "1 erasures wait for the list" in command("doctor", ERASURE_LIST=str(file)).out
    other = add_user(command, application_id)
    assert command("user", "erase", other, "--yes", ERASURE_LIST=str(file)).status == 0
    assert list(ErasureList(file, load_key_ring(Settings())).read().erasures) == [user_id, other]
    refused(command("serve"), "WATTGATE_ERASURE_LIST is not set, although the erasures of 2 users are in a list")
