"""`wattgate user set-password`, `suspend`, `reopen` and `list --search`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command, command_on
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.settings import Settings
from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.errors import BadInput, Conflict, Unauthenticated
from wattgate.operations.accounts import accounts, registration, users
from wattgate.operations.accounts.audit import audit_log
from wattgate.operations.core.operation import Operation
from wattgate.operations.credentials import tokens
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Permission, Principal, Role

ADA, OTHER, MPAN, PASSWORD = "ada@people.example", "grace@people.example", "2300000000116", "correct horse battery"


@pytest.fixture
async def command(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run commands on a database with the schema."""
    return await command_on(database_url, tmp_path, monkeypatch, capsys)


@pytest.fixture
def system(command: Command, tmp_path: Path) -> Principal:
    """The application of the users: Ada has a home, and Grace has none."""
    assert command("app", "create", "My app", "--username", "my-app").status == 0
    (found,) = json.loads(command("app", "list", "--json").out)
    (tmp_path / "homes.csv").write_text(f"user,person,electricity\n{ADA},Ada Lovelace,{MPAN}\n")
    assert command("home", "import", "homes.csv", "--time-zone", "Europe/London").status == 0
    added = command("user", "create", found["applicationId"], OTHER, "--name", "Grace 100%", "--password", PASSWORD)
    assert added.status == 0, added.error
    return Principal(Role.SYSTEM, application_id=found["applicationId"])


def call(principal: Principal, operation: Operation, **arguments: Any) -> Any:
    return run_async(with_gateway(Settings(), lambda gateway: gateway.runner.run(operation, principal, arguments)))


def log_in(system: Principal, username: str, password: str = PASSWORD) -> Any:
    anonymous = Principal(Role.ANONYMOUS, application_id=system.application_id)
    return call(anonymous, tokens.authenticate, username=username, password=password)


def stored(system: Principal, model: Any) -> list[Any]:
    async def read(rows: Rows) -> list[Any]:
        return await rows.all(model)

    return run_async(with_gateway(Settings(), lambda gateway: gateway.runner.read(system, Permission.SYSTEM, read)))


def accounts_found(command: Command, text: str) -> list[str]:
    outcome = command("user", "list", "--search", text, "--json")
    assert outcome.status == 0, outcome.error
    return [account["username"] for account in json.loads(outcome.out)]


def set_password(command: Command, monkeypatch: pytest.MonkeyPatch, user: str, typed: str) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return command("user", "set-password", user)


def test_users_are_found_by_name_mail_and_meter_point(command: Command, system: Principal) -> None:
    found = {
        text: accounts_found(command, text) for text in ("lovelace", "GRACE@", "%", "people", "23 0000 0000 116", "xyz")
    }
    assert found == {
        "lovelace": [ADA],
        "GRACE@": [OTHER],
        "%": [OTHER],
        "people": [ADA, OTHER],
        "23 0000 0000 116": [ADA],
        "xyz": [],
    }


def test_an_operator_sets_a_lost_password(command: Command, system: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, problem in (("\n", "Standard input has no password"), ("short\n", "password")):
        refused = set_password(command, monkeypatch, OTHER, typed)
        assert refused.status == 1
        assert problem in refused.error
    log_in(system, OTHER)
    assert len(stored(system, models.Token)) == 1
    changed = set_password(command, monkeypatch, OTHER, "a new long password\n")
    assert (changed.status, changed.error) == (0, "")
    assert stored(system, models.Token) == []
    assert [mail.name for mail in stored(system, models.AccountMail)] == ["account.password-changed"]
    entries = call(system, audit_log, first=100)
    (entry,) = [entry for entry in entries if entry.operation == "setUserPassword"]
    assert "a new long password" not in repr(entry)
    with pytest.raises((BadInput, Unauthenticated)):
        log_in(system, OTHER)
    assert log_in(system, OTHER, "a new long password").token
    assert set_password(command, monkeypatch, ADA, "a first long password\n").status == 0  # the table set none
    assert log_in(system, ADA, "a first long password").token
    assert (
        "No user has the name or ID 'nobody'"
        in set_password(command, monkeypatch, "nobody", "a new long password\n").error
    )


def test_a_suspended_user_is_refused_until_it_is_reopened(command: Command, system: Principal) -> None:
    account = log_in(system, OTHER)
    user_id = Id(next(one.user_id for one in stored(system, models.Account) if one.username == OTHER))
    before = len(stored(system, models.AccountMail))
    for _ in range(2):
        assert command("user", "suspend", OTHER).status == 0
    assert stored(system, models.Token) == []
    listed = json.loads(command("user", "list", "--search", OTHER, "--json").out)
    assert [one["status"] for one in listed] == ["suspended"]
    assert call(system, users.user, user_id=user_id).active is False
    with pytest.raises((BadInput, Unauthenticated)):
        log_in(system, OTHER)
    anonymous = Principal(Role.ANONYMOUS, application_id=system.application_id)
    call(anonymous, registration.request_password_reset, username=OTHER)
    assert len(stored(system, models.AccountMail)) == before
    new_account = account_types.NewAccount(username="second@people.example", user_id=user_id, password=PASSWORD)
    with pytest.raises(Conflict, match="is suspended"):
        call(system, accounts.add_account, input=new_account)

    reopened = command("user", "reopen", OTHER)
    assert (reopened.status, reopened.out) == (0, f"The user {OTHER} is active.\n")
    assert log_in(system, OTHER).account_id == account.account_id
    assert command("user", "reopen", OTHER).status == 0
    call(system, users.delete_user, user_id=user_id)
    for act in ("suspend", "reopen"):
        assert "is erased" in command("user", act, user_id).error


def test_a_name_is_free_after_an_erasure(command: Command, system: Principal) -> None:
    assert command("user", "erase", OTHER, "--yes").status == 0
    again = command("user", "create", str(system.application_id), OTHER, "--password", PASSWORD)
    assert again.status == 0, again.error
