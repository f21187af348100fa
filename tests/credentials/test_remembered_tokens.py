"""Tokens and right passwords are remembered by two gateways on one database and one Redis, until a change ends them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete
from sqlmodel import col

from tests.support import people
from tests.support.house import PASSWORD, Tenant, basic
from tests.support.redis_server import RedisServer, redis_server
from tests.support.schema import bring_up
from tests.support.scopes import EVERYTHING
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.identity import passwords
from wattgate.db.identity.credentials import REMEMBERED_SECONDS, CredentialLookup, RememberedTokens
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME, USE_RESOLUTION
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Account, Token
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import SecondFactorRequired, Unauthenticated
from wattgate.operations import trusted_documents
from wattgate.operations.accounts import accounts, provisioning, registration, users
from wattgate.operations.credentials import tokens
from wattgate.operations.types.homes.virtual_entities import NewVirtualEntityType
from wattgate.principal import AuthScheme, Principal, Role
from wattgate.realtime import topics

WAIT_SECONDS = 60
"""Maximum wait of a test for a message of Redis. The time of the remembered tokens does not advance meanwhile."""


class Process:
    """The parts of a gateway that authenticate, with a clock that a test advances, and a count of the look-ups."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.seconds = 0.0
        self.lookups = 0
        self.identity: CredentialLookup = gateway.authenticator._identity
        self.identity.remembered._time = lambda: self.seconds
        self.find: Callable[..., Awaitable[Principal | None]] = self.identity._find_principal
        vars(self.identity)["_find_principal"] = self._find

    async def _find(self, *arguments: Any) -> Principal | None:
        self.lookups += 1
        return await self.find(*arguments)

    async def caller(self, token: str) -> Principal:
        return await self.gateway.authenticator.authenticate({"token": token})

    async def lookups_of(self, token: str, count: int = 3) -> int:
        """Return the number of look-ups for some requests with a token."""
        before = self.lookups
        for _ in range(count):
            await self.caller(token)
        return self.lookups - before

    async def hashes_of(self, login: "Login", count: int = 3) -> int:
        """Return the number of hashes for some requests with the password of an account."""
        before = passwords.HASH_POOL.run_count
        for _ in range(count):
            assert (await self.caller_by_password(login)).account_id == login.caller.account_id
        return passwords.HASH_POOL.run_count - before

    async def caller_by_password(self, login: "Login", password: str = PASSWORD) -> Principal:
        headers = {name.lower(): value for name, value in basic(login.who["username"], password).items()}
        headers["applicationid"] = str(login.caller.application_id)
        return await self.gateway.authenticator.authenticate(headers)

    async def refuses_password(self, login: "Login", password: str = PASSWORD) -> bool:
        try:
            await self.caller_by_password(login, password)
        except Unauthenticated:
            return True
        return False

    async def refuses(self, token: str) -> bool:
        try:
            await self.caller(token)
        except Unauthenticated:
            return True
        return False


@dataclass(frozen=True)
class Login:
    """A token, its user, and the caller with it."""

    token: str
    who: dict[str, str]
    caller: Principal

    @property
    def by_password(self) -> Principal:
        """The caller with the password, so that a change ends every token."""
        return replace(self.caller, scheme=AuthScheme.BASIC, token_id=None, expires_at=None)


class Pair:
    """Two processes, a tenant of the first, and their Redis."""

    def __init__(self, one: Process, other: Process, tenant: Tenant, redis: RedisServer) -> None:
        self.one, self.other, self.tenant, self.redis = one, other, tenant, redis

    async def log_in(self) -> Login:
        """Log a new user in, with a token that both processes remember."""
        who = await people.active(self.tenant)
        issued = await people.anonymously(self.tenant, tokens.authenticate, username=who["username"], password=PASSWORD)
        for process in (self.one, self.other):
            await until(lambda process=process: process.gateway.connections.hears_revocations)
        await until(self._remember, issued.token)
        return Login(issued.token, who, await self.one.caller(issued.token))

    async def _remember(self, token: str) -> bool:
        """Return whether both remember the token. An earlier change may still arrive."""
        return await self.one.lookups_of(token) == await self.other.lookups_of(token) == 0

    async def run(self, operation: Any, principal: Principal, **arguments: Any) -> Any:
        return await self.one.gateway.runner.run(operation, principal, arguments)


async def until(condition: Callable[..., Any], *arguments: Any) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            met = condition(*arguments)
            if await met if isinstance(met, Awaitable) else met:
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running_pair(folder: Path) -> AsyncIterator[Pair]:
    (folder / "redis").mkdir()
    async with redis_server(folder / "redis", "--appendonly", "no") as redis, AsyncExitStack() as stack:
        settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'test.sqlite3'}", redis_url=redis.url)
        gateways = [build_gateway(settings) for _ in range(2)]
        for gateway in gateways:
            stack.push_async_callback(gateway.database.close)
        await bring_up(gateways[0].database)
        for gateway in gateways:
            await stack.enter_async_context(gateway.bus)
            await stack.enter_async_context(gateway.realtime)
        created = await gateways[0].runner.run(
            provisioning.create_application, Principal(Role.SYSTEM), {"name": "Tokens", "username": "tokens"}
        )
        one, other = map(Process, gateways)
        yield Pair(one, other, Tenant(gateways[0], created.application_id), redis)


@pytest.fixture(scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    async with running_pair(tmp_path_factory.mktemp("remembered")) as running:
        yield running


@pytest.fixture
async def own_pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """A pair whose Redis a test may stop."""
    async with running_pair(tmp_path) as running:
        yield running


async def log_out(pair: Pair, login: Login) -> None:
    await pair.run(tokens.delete_token, login.caller)


async def revoke_listed(pair: Pair, login: Login) -> None:
    await pair.run(tokens.revoke_token, login.by_password, token_id=login.caller.token_id)


async def change_password(pair: Pair, login: Login) -> None:
    await pair.run(accounts.change_password, login.by_password, old_password=PASSWORD, new_password="battery staple")


async def reset_password(pair: Pair, login: Login) -> None:
    code = await people.reset_token(pair.tenant, login.who)
    await people.anonymously(
        pair.tenant,
        registration.reset_password,
        username=login.who["username"],
        token=code,
        new_password="battery staple",
    )


async def close_account(pair: Pair, login: Login) -> None:
    await pair.run(accounts.delete_account, pair.tenant.system, account_id=login.caller.account_id)


async def delete_user(pair: Pair, login: Login) -> None:
    await pair.run(users.delete_user, pair.tenant.system, user_id=login.caller.user_id)


@pytest.mark.parametrize(
    "act",
    [log_out, revoke_listed, change_password, reset_password, close_account, delete_user],
    ids=lambda act: act.__name__,
)
async def test_token_ends_at_once_in_its_process_and_by_the_bus_in_others(
    pair: Pair, act: Callable[[Pair, Login], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    login = await pair.log_in()
    monkeypatch.setattr(pair.one.gateway.connections, "on_credentials_changed", lambda: None)  # it needs no bus
    await act(pair, login)
    assert await pair.one.refuses(login.token)
    await until(pair.other.refuses, login.token)  # its clock does not advance, so only the bus ends it


async def test_setting_applies_at_once_in_its_process_and_by_the_bus_in_others(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = await pair.log_in()
    monkeypatch.setattr(pair.one.gateway.connections, "on_credentials_changed", lambda: None)  # it needs no bus
    for required in (True, False):
        await until(pair._remember, login.token)
        await pair.run(trusted_documents.require_trusted_documents, pair.tenant.system, required=required)
        assert (await pair.one.caller(login.token)).trusted_only is required

        async def other_has_it(required: bool = required) -> bool:
            return (await pair.other.caller(login.token)).trusted_only is required

        await until(other_has_it)


async def test_change_without_a_notification_is_seen_after_five_seconds(pair: Pair) -> None:
    login = await pair.log_in()
    async with pair.one.gateway.database.engine.begin() as connection:  # as another program would
        await connection.execute(delete(Token).where(col(Token.token_id) == login.caller.token_id))
    for process in (pair.one, pair.other):
        assert await process.lookups_of(login.token) == 0
        process.seconds += REMEMBERED_SECONDS
        assert await process.refuses(login.token)


async def test_lookup_that_began_before_a_change_is_not_remembered(pair: Pair) -> None:
    login, one = await pair.log_in(), pair.one
    find = one.find

    async def find_and_revoke(*arguments: Any) -> Principal | None:
        found = await find(*arguments)
        one.find = find
        await log_out(pair, login)
        return found

    one.find = find_and_revoke
    one.identity.remembered.forget()
    assert not await one.refuses(login.token)  # the request began before the revocation
    assert await one.refuses(login.token)


async def test_login_leaves_other_tokens_remembered(pair: Pair) -> None:
    login, other = await pair.log_in(), await pair.log_in()
    await until(pair._remember, login.token)
    credentials = {"username": other.who["username"], "password": PASSWORD}
    await people.anonymously(pair.tenant, tokens.authenticate, **credentials)  # deletes expired tokens: there are none
    assert [await process.lookups_of(login.token) for process in (pair.one, pair.other)] == [0, 0]


async def test_use_of_a_display_leaves_other_tokens_remembered(pair: Pair) -> None:
    login, now, token = await pair.log_in(), utc_now(), new_secret()
    caller = login.caller
    tenant = replace(pair.tenant, user_id=str(caller.user_id))
    home_type = await tenant.run("add_virtual_entity_type", input=NewVirtualEntityType(name="Home"))
    tenant.ids["virtual_entity_type"] = home_type.ve_type_id
    display = Token(
        application_id=str(caller.application_id),
        user_id=str(caller.user_id),
        account_id=str(caller.account_id),
        ve_id=await tenant.add_home(),
        digest=hash_secret(token),
        expires_at=now + DISPLAY_LIFETIME - USE_RESOLUTION,
    )
    async with pair.one.gateway.database.session(EVERYTHING) as session:
        session.add(display)
        await session.commit()
    await until(pair._remember, login.token)
    used = await pair.one.caller(token)
    assert (used.role, used.expires_at) == (Role.DISPLAY, now + DISPLAY_LIFETIME - USE_RESOLUTION)
    assert await pair.one.lookups_of(token) == 1  # with its new end, so that the use is not stored again
    assert ((await pair.one.caller(token)).expires_at or now) >= now + DISPLAY_LIFETIME
    assert [await process.lookups_of(login.token) for process in (pair.one, pair.other)] == [0, 0]


async def test_lost_events_end_remembered_tokens(pair: Pair) -> None:
    login = await pair.log_in()
    pair.one.gateway.connections.on_events_lost(topics.revocations(), "0-1")
    assert await pair.one.lookups_of(login.token) == 1


async def test_nothing_is_remembered_while_redis_is_unavailable(own_pair: Pair) -> None:
    login = await own_pair.log_in()
    await own_pair.redis.kill()
    for process in (own_pair.one, own_pair.other):
        await until(lambda process=process: not process.gateway.connections.hears_revocations)
        assert await process.lookups_of(login.token, 3) == 3
    await log_out(own_pair, login)
    assert await own_pair.one.refuses(login.token)
    assert await own_pair.other.refuses(login.token)


async def remember_password(pair: Pair, login: Login) -> None:
    """Let both processes remember the password of an account. An earlier change may still arrive."""

    async def both_remember() -> bool:
        return await pair.one.hashes_of(login) == await pair.other.hashes_of(login) == 0

    await until(both_remember)


async def test_right_password_is_hashed_once_in_five_seconds(pair: Pair) -> None:
    login = await pair.log_in()
    await remember_password(pair, login)
    assert await pair.one.hashes_of(login) == 0
    before = passwords.HASH_POOL.run_count
    for wrong in (f"{PASSWORD}x", "", PASSWORD.upper()):
        assert await pair.one.refuses_password(login, wrong)
    assert passwords.HASH_POOL.run_count - before == 3, "only the right password is remembered"
    pair.one.seconds += REMEMBERED_SECONDS
    assert await pair.one.hashes_of(login) >= 1
    kept = [*pair.one.identity.remembered._principals]
    assert hash_secret(PASSWORD) not in kept, "the digest has a key of the process"


async def test_each_end_of_a_password_ends_its_memory(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for act in (change_password, reset_password, close_account, delete_user):
        with subtests.test(act.__name__):
            login = await pair.log_in()
            await remember_password(pair, login)
            with monkeypatch.context() as patched:
                patched.setattr(pair.one.gateway.connections, "on_credentials_changed", lambda: None)
                await act(pair, login)
                assert await pair.one.refuses_password(login)
            await until(pair.other.refuses_password, login)


async def test_second_factor_ends_the_memory_of_a_password(pair: Pair) -> None:
    login = await pair.log_in()
    await remember_password(pair, login)
    application_id = str(login.caller.application_id)
    async with pair.one.gateway.database.session(RowScope(application_id)) as session:
        rows = Rows(session, application_id, now=utc_now())
        await rows.update(Account, col(Account.account_id) == login.caller.account_id, second_factor=True)
        await session.commit()
    for _ in range(2):
        with pytest.raises(SecondFactorRequired):
            await pair.one.caller_by_password(login)


def test_remembered_token_expires_with_the_token_or_after_five_seconds() -> None:
    now, seconds, heard = utc_now(), [0.0], [True]
    remembered = RememberedTokens(lambda: heard[0], lambda: seconds[0])
    principal = Principal(Role.ACCOUNT, AuthScheme.TOKEN, expires_at=now + timedelta(seconds=3))

    started = remembered.begin_lookup()
    seconds[0] = REMEMBERED_SECONDS - 1  # a slow look-up: its age counts
    remembered.put(b"digest", principal, started)
    assert remembered.get(b"digest", now) is principal
    assert remembered.get(b"other", now) is None
    seconds[0] = REMEMBERED_SECONDS
    assert remembered.get(b"digest", now) is None

    remembered.put(b"digest", principal, remembered.begin_lookup())
    assert remembered.get(b"digest", now + timedelta(seconds=3)) is None

    remembered.put(b"digest", principal, remembered.begin_lookup())
    heard[0] = False
    assert remembered.get(b"digest", now) is None
    remembered.put(b"digest", principal, remembered.begin_lookup())
    heard[0] = True
    assert remembered.get(b"digest", now) is None
