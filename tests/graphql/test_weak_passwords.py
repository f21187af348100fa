"""Every way to set a password refuses weak ones."""

from typing import Any
from uuid import uuid4

import pytest

from tests.support import people
from tests.support.house import PASSWORD, Tenant, operation
from wattgate.app.cli import passwords as cli_passwords
from wattgate.errors import BadInput
from wattgate.operations.accounts import accounts, provisioning, registration
from wattgate.operations.catalogue import OPERATIONS, SYSTEM_OPERATIONS
from wattgate.operations.credentials.login import WeakPassword
from wattgate.operations.types.identity.accounts import NewAccount
from wattgate.operations.types.users.users import NewUser
from wattgate.principal import Principal, Role

SETTING = {"register", "add_user", "add_account", "change_password", "reset_password", "create_user"} | {
    "set_user_password"
}
SETTING_ALSO = {"move_in_new_user"}
"""Operations that set a password by the function of `create_user`."""

PROVING = {"authenticate", "authorise", "request_verification", "verify_user", "change_email", "rename_user"} | {
    *("enrol_second_factor", "remove_second_factor", "erase_my_data"),
}
"""Operations with a password that they compare."""


def test_every_operation_with_a_password_is_known() -> None:
    def has_password(text: str) -> bool:
        return "password" in text.lower() and not text.startswith("old")

    found = {
        one.name
        for one in (*OPERATIONS, *SYSTEM_OPERATIONS)
        if any(has_password(name) for name in one.arguments)
        or any(
            has_password(name)
            for argument in one.arguments.values()
            for name in getattr(argument.annotation, "__annotations__", {})
        )
    }
    assert found == SETTING | SETTING_ALSO | PROVING


async def test_every_way_refuses_common_passwords_and_the_own_names(settled: Tenant) -> None:
    run, system = settled.gateway.runner.run, settled.system
    who, faults = await people.active(settled), []
    token = await people.reset_token(settled, who)
    caller = Principal(
        Role.ACCOUNT, application_id=settled.application_id, user_id=who["userId"], account_id=who["accountId"]
    )

    async def set_password(way: str, name: str, password: str) -> Any:
        if way == "register":
            new_user = {"name": "A", "username": name, "email": f"{name}@mail.example", "password": password}
            await people.anonymously(settled, registration.register, **new_user)
        elif way == "add_user":
            await run(operation(way), system, {"input": NewUser(username=name, password=password)})
        elif way == "add_account":
            new = NewAccount(username=name, user_id=settled.user_id, password=password)  # type: ignore[arg-type]
            await run(operation(way), system, {"input": new})
        elif way == "create_user":
            await run(provisioning.create_user, system, {"username": name, "password": password})
        elif way == "set_user_password":
            await run(provisioning.set_user_password, system, {"user_id": who["userId"], "password": password})
        elif way == "change_password":
            change = {"old_password": PASSWORD, "new_password": password}
            await run(accounts.change_password, caller, change)
        else:
            arguments = {"username": who["username"], "token": token, "new_password": password}
            await people.anonymously(settled, registration.reset_password, **arguments)

    for way in sorted(SETTING):
        of_caller = way in ("change_password", "reset_password", "set_user_password")
        for weak in ("Sunshine2024", "        ", "own name", "wattgate1"):
            name = uuid4().hex
            if weak == "own name":
                weak = who["username"] if of_caller else f"{name}!"
            try:
                await set_password(way, name, weak)
                faults.append((way, weak))
            except WeakPassword as error:
                faults += [("quoted", way)] if weak in str(error.extensions) else []
        assert faults == [], "the ways after this one would fail because of it"
    for way in ("register", "create_user", "reset_password"):
        await set_password(way, uuid4().hex, "a password of words")


async def test_reset_refuses_the_address_of_the_account_only_with_a_valid_token(settled: Tenant) -> None:
    """The answer without a token must not reveal the address of an account."""
    who = await people.active(settled)
    address = f"{uuid4().hex}@secret-mail.example"
    code = await people.email_change_token(settled, who, address)
    await people.anonymously(settled, accounts.confirm_email_change, token=code)
    token = await people.reset_token(settled, who)
    for sent, error in (("wrong", BadInput), (token, WeakPassword)):
        arguments = {"username": who["username"], "token": sent, "new_password": address}
        with pytest.raises(BadInput) as refused:
            await people.anonymously(settled, registration.reset_password, **arguments)
        assert type(refused.value) is error
    arguments = {"username": who["username"], "token": token, "new_password": "a password of words"}
    await people.anonymously(settled, registration.reset_password, **arguments)  # the refusal did not use the token up


def test_terminal_asks_again_for_the_username_as_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["gladys-smith", "password1", ""])
    monkeypatch.setattr(cli_passwords, "_prompt", lambda question: next(answers))
    assert cli_passwords.PasswordChoice("gladys-smith@example.org")._ask() == ""
