"""Changes of accounts that do not revoke a token: second factors, roles, and accounts that are all closed."""

import asyncio
from collections.abc import AsyncIterator

import pyotp
import pytest
from sqlalchemy import select
from sqlmodel import col
from strawberry import ID

from tests.support.endings import Caller, close_account, confirm_second_factor
from tests.support.held_operations import HeldPool, held, until_waiting
from tests.support.house import PASSWORD, House, basic, house
from tests.support.people import anonymously, started_pairing
from tests.support.refusals import refusal_of, refusals
from tests.support.scopes import EVERYTHING
from tests.support.servers import Databases
from tests.support.socket import Socket, socket
from wattgate.db.identity import passwords
from wattgate.db.models import LoginSource, User
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import BadInput, Conflict, Forbidden
from wattgate.operations.accounts import user_changes
from wattgate.operations.core.operation import Operation
from wattgate.operations.credentials import tokens
from wattgate.operations.homes import paired_displays
from wattgate.principal import Role
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.requests.client import CURRENT_CLIENT, Client

pytestmark = pytest.mark.both_databases("first log-ins at once, and locks, differ between databases")

FORBIDDEN = 4403

LOCAL_ADDRESS = "127.0.0.1"

AUDIT_LOG = "{ application { auditLog(first: 1) { edges { node { sequence } } } } }"

LOGIN = """
mutation ($username: String!, $password: String!) { authenticate(username: $username, password: $password) {
    ... on Login { token }
    ...Refused } }
"""


@pytest.fixture(scope="module")
async def opened(databases: Databases) -> AsyncIterator[House]:
    """A gateway whose administrators need a second factor."""
    async with databases() as url, house(url, administrators_need_second_factor=True) as served:
        yield served


async def assert_closed(client: Socket) -> None:
    await asyncio.wait_for(client.connection.wait_closed(), 30)
    assert client.connection.close_code == FORBIDDEN


async def test_socket_that_was_opened_with_the_password_ends_with_a_second_factor(opened: House) -> None:
    caller = await Caller.add(opened.one)
    token = (await caller.run(await caller.by_token(), tokens.new_token)).token
    by_password = {**basic(caller.username, PASSWORD), "applicationId": opened.one.application_id}
    async with socket(opened.url) as ended, socket(opened.url) as kept:
        await ended.init(**{name.lower(): value for name, value in by_password.items()})
        await kept.init(token=token)
        enrolled = await opened.call("POST", "/account/secondfactor", {"token": token}, json={"password": PASSWORD})
        code = pyotp.TOTP(enrolled.json()["secret"]).now()
        confirmed = await opened.call("PUT", "/account/secondfactor", {"token": token}, json={"code": code})
        assert confirmed.status_code == 200, confirmed.text
        await assert_closed(ended)
        assert await kept.heard() == []


async def test_socket_of_an_administrator_ends_with_the_second_factor_that_administrators_need(opened: House) -> None:
    caller = await Caller.add(opened.one)
    await caller.set_columns(administrator=True)
    token = (await anonymously(opened.one, tokens.authenticate, username=caller.username, password=PASSWORD)).token
    await caller.set_columns(second_factor=True)
    async with socket(opened.url) as client:
        await client.init(token=token)
        path = f"/account/{caller.account_id}/secondfactor"
        assert (await opened.call("DELETE", path, opened.one.headers["application"])).status_code == 200
        await assert_closed(client)


async def test_socket_of_an_administrator_ends_with_the_role(served: House) -> None:
    """No operation takes a role away. An operator changes the database, which each gateway compares every minute."""
    assert served.served_gateway is not None
    caller = await Caller.add(served.one)
    administrator = await caller.by_administrator()
    assert administrator.role is Role.ADMINISTRATOR
    async with socket(served.url) as ended, socket(served.url) as kept:
        await ended.init(**caller.sent)
        assert not refusals(await ended.answer(AUDIT_LOG))
        await caller.set_columns(administrator=False)
        account = await caller.by_token()
        await kept.init(**caller.sent)
        await served.served_gateway.connections.recheck_credentials()
        await assert_closed(ended)
        assert refusal_of(await kept.answer(AUDIT_LOG))["code"] == "FORBIDDEN"
    await caller.set_columns(template_editor=True)
    find_revoked = served.gateway.subscription_service.find_revoked
    assert await find_revoked([administrator, account]) == {administrator}  # the account has more rights


def test_connections_are_compared_every_minute() -> None:
    assert ConnectionLimits().credential_recheck_seconds <= 60


async def test_password_alone_is_no_credential_after_a_second_factor(served: House) -> None:
    caller = await Caller.add(served.one)
    principals = [await caller.by_password(), await caller.by_token()]
    await confirm_second_factor(caller, principals[0])
    assert await served.gateway.subscription_service.find_revoked(principals) == {principals[0]}


async def test_application_acts_for_no_user_whose_accounts_are_all_closed(served: House) -> None:
    caller = await Caller.add(served.one)
    acting = await caller.by_acting_application()
    second = await served.call(
        "POST",
        "/account",
        served.one.headers["application"],
        json={"username": f"second-{caller.username}", "userId": caller.user_id, "password": PASSWORD},
    )
    assert second.status_code == 200, second.text
    await close_account(caller, acting)
    assert (await caller.by_acting_application()) == acting  # the second account is open
    headers = {**served.one.headers["application"], "userId": caller.user_id}
    async with socket(served.url) as client:
        await client.init(**{name.lower(): value for name, value in headers.items()})
        path = f"/account/{second.json()['accountId']}"
        assert (await served.call("DELETE", path, served.one.headers["application"])).status_code == 200
        await assert_closed(client)
    with pytest.raises(Forbidden):
        await caller.by_acting_application()


async def test_application_acts_for_a_user_who_never_had_an_account(served: House) -> None:
    async with served.gateway.database.session(EVERYTHING) as session:
        user = User(application_id=served.one.application_id)
        session.add(user)
        await session.commit()
    headers = {**served.one.headers["application"], "userId": user.user_id}
    assert (await served.call("GET", "/virtualentity", headers)).status_code == 200


async def test_closed_account_has_no_new_username(served: House) -> None:
    caller = await Caller.add(served.one)
    await close_account(caller, await caller.by_application())
    with pytest.raises(Conflict):
        await caller.run(
            await caller.by_application(),
            user_changes.rename_user,
            user_id=ID(caller.user_id),
            username=f"other-{caller.username}",
        )


async def log_in_here(caller: Caller, operation: Operation) -> str:
    """Log in by the components beside the gateway, from the address of the tests. Return the token."""
    CURRENT_CLIENT.set(Client(address=LOCAL_ADDRESS))
    who = {"username": caller.username, "password": PASSWORD}
    return str((await anonymously(caller.tenant, operation, **who)).token)


async def log_in_by(interface: str, served: House, caller: Caller) -> str:
    """Log in by GraphQL or REST, and return the token."""
    application = {"applicationId": served.one.application_id}
    if interface == "REST":
        body = {"username": caller.username, "password": PASSWORD, **application}
        return str((await served.call("POST", "/auth", {}, json=body)).json()["token"])
    answer = await served.graphql(LOGIN, application, username=caller.username, password=PASSWORD)
    return str(answer["data"]["authenticate"]["token"])


async def known_addresses(caller: Caller) -> int:
    async with caller.tenant.gateway.database.reader(EVERYTHING) as session:
        known = select(col(LoginSource.kind)).where(col(LoginSource.account_id) == caller.account_id)
        return len((await session.execute(known, execution_options=SCOPED_OPTION)).all())


each_interface = pytest.mark.parametrize("interface", ["GraphQL", "REST"])


@each_interface
async def test_first_log_in_that_meets_another_one_in_its_transaction_succeeds(served: House, interface: str) -> None:
    """Both add the same address. On PostgreSQL, the second one waits for the row of the first one."""
    caller, reached, may_end = await Caller.add(served.one), asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(log_in_here(caller, held(tokens.authenticate, reached, may_end)))
    await reached.wait()
    second = asyncio.create_task(log_in_by(interface, served, caller))
    await until_waiting(served.one, second)
    may_end.set()
    for token in (await first, await second):
        await caller.authenticate({"token": token})
    assert await known_addresses(caller) == 1


@each_interface
async def test_first_log_in_that_is_overtaken_by_another_one_succeeds(
    served: House, interface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, pool = await Caller.add(served.one), HeldPool()
    monkeypatch.setattr(passwords, "HASH_POOL", pool)
    second = asyncio.create_task(log_in_by(interface, served, caller))
    await pool.reached.wait()
    first = await log_in_here(caller, tokens.authenticate)
    pool.may_end.set()
    for token in (first, await second):
        await caller.authenticate({"token": token})
    assert await known_addresses(caller) == 1


async def test_pairing_that_a_revoked_token_has_approved_gives_no_display(served: House) -> None:
    caller = await Caller.add(served.one)
    principal = await caller.by_token()
    home = await caller.add_home()
    started = await started_pairing(served.one)
    await caller.run(principal, paired_displays.approve_display_pairing, user_code=started.user_code, ve_id=ID(home))
    await caller.run(principal, tokens.delete_token)
    with pytest.raises(BadInput):
        await anonymously(served.one, paired_displays.claim_display_pairing, device_code=started.device_code)
