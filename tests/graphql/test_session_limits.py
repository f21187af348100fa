"""The maximum of tokens of an account, and the lifetime of a session."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.support import people
from tests.support.house import PASSWORD, Tenant
from tests.support.timed import Timed
from wattgate.db.scope.policies import AccountPolicy
from wattgate.errors import BadInput, Unauthenticated
from wattgate.operations.accounts import oauth as oauth_operations
from wattgate.operations.core.runner import Runner
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role
from wattgate.realtime.bus.memory import MemoryBus

SESSION, GRANT = AccountPolicy().session_lifetime, AccountPolicy().grant_lifetime


class Holder:
    """The holder of a new account."""

    def __init__(self, timed: Timed, who: dict[str, str]) -> None:
        self.timed, self.who, self.tenant = timed, who, timed.house.one

    async def log_in(self) -> str:
        body = {"username": self.who["username"], "password": PASSWORD}
        answer = await self.call("POST", "/auth", {"applicationId": self.tenant.application_id}, **body)
        return str(answer.json()["token"])

    async def call(self, method: str, path: str, headers: dict[str, str], **body: str) -> httpx.Response:
        return await self.timed.house.call(method, path, headers, **({"json": body} if body else {}))

    async def is_valid(self, token: str) -> bool:
        """Return whether a token is valid in the database. The served gateway may remember it for some seconds."""
        try:
            await self.tenant.gateway.authenticator.authenticate({"token": token})
        except Unauthenticated:
            return False
        return True

    async def status(self, token: str) -> int:
        return (await self.call("GET", "/auth", {"token": token})).status_code


@pytest.fixture
async def holder(timed: Timed) -> Holder:
    return Holder(timed, await people.active(timed.house.one))


async def test_renewals_end_with_the_session(holder: Holder) -> None:
    token, start = await holder.log_in(), holder.timed.clock.now
    display, _ = await people.paired_display(holder.tenant)
    renewals, last = 0, start + SESSION
    while True:
        holder.timed.pass_time(timedelta(days=6))
        answer = await holder.call("GET", "/auth/newToken", {"token": token})
        if answer.status_code != 200:
            break
        token, renewals = answer.json()["token"], renewals + 1
        assert answer.json()["exp"] <= last.timestamp()
    assert (answer.status_code, renewals, holder.timed.clock.now) == (401, 14, start + timedelta(days=90))
    assert await holder.status(token) == 401
    home = f"/virtualentity/{holder.tenant.ids['virtual_entity']}"
    assert (await holder.call("GET", home, display)).status_code == 200  # a display on a wall goes on
    assert await holder.status(await holder.log_in()) == 200


async def test_tokens_of_an_account_are_bounded_and_the_oldest_end(holder: Holder) -> None:
    """The token of the request stays, and so do tokens of OAuth clients and displays."""
    gateway, clock = holder.tenant.gateway, holder.timed.clock
    runner = Runner(gateway.database, MemoryBus(), clock=clock, account_policy=AccountPolicy(max_tokens=3))
    oauth = [(await people.oauth_headers(holder.tenant))["token"] for _ in range(2)]
    display = (await people.paired_display(holder.tenant))[0]["token"]
    first = await holder.log_in()
    caller = await gateway.authenticator.authenticate({"token": first})

    async def issue() -> str:
        clock.now += timedelta(seconds=1)
        return str((await runner.run(tokens.new_token, caller, {})).token)

    issued = [await issue() for _ in range(5)]
    still = [token for token in (first, *issued) if await holder.is_valid(token)]
    assert still == [first, *issued[-2:]]
    anonymous = Principal(Role.ANONYMOUS, application_id=holder.tenant.application_id)
    who = {"username": holder.who["username"], "password": PASSWORD}
    clock.now += timedelta(seconds=1)
    newest = (await runner.run(tokens.authenticate, anonymous, who)).token
    still = [token for token in (first, *issued, newest) if await holder.is_valid(token)]
    assert still == [issued[-2], issued[-1], newest]  # a log-in ends the oldest, whichever it is
    assert [await holder.is_valid(token) for token in (*oauth, display)] == [True] * 3


async def token_request(tenant: Tenant) -> dict[str, Any]:
    """Return the arguments of `grant_oauth_tokens` with the code of a new user."""
    request = await people.exchange(tenant)
    names = {"client_id": "clientId", "client_secret": "clientSecret", "grant_type": "grantType", "code": "code"}
    arguments = {name: request[sent] for name, sent in names.items()}
    return arguments | {"code_verifier": request["codeVerifier"], "redirect_uri": request["redirectUri"]}


async def test_refreshes_of_an_oauth_client_end_with_the_grant(holder: Holder) -> None:
    """The last access token ends with it too."""
    clock, start = holder.timed.clock, holder.timed.clock.now
    arguments, ends, access = await token_request(holder.tenant), list[timedelta](), ""
    while clock.now < start + GRANT:
        granted = await people.anonymously(holder.tenant, oauth_operations.grant_oauth_tokens, **arguments)
        access = granted.access_token
        ends.append(clock.now + timedelta(seconds=granted.expires_in) - start)
        arguments |= {"grant_type": "refresh_token", "refresh_token": granted.refresh_token, "code": None}
        holder.timed.pass_time(timedelta(days=6))
    with pytest.raises(BadInput, match="invalid"):
        await people.anonymously(holder.tenant, oauth_operations.grant_oauth_tokens, **arguments)
    assert (ends[0], ends[-1], clock.now - start) == (timedelta(days=7), GRANT, timedelta(days=366))
    assert not await holder.is_valid(access)


async def test_refreshes_of_an_oauth_client_are_bounded_for_the_account(holder: Holder) -> None:
    gateway, clock = holder.tenant.gateway, holder.timed.clock
    runner = Runner(gateway.database, MemoryBus(), clock=clock, account_policy=AccountPolicy(max_tokens=2))
    mine = await holder.log_in()
    arguments = await token_request(holder.tenant)
    issued, anonymous = [], Principal(Role.ANONYMOUS)
    for _ in range(4):
        clock.now += timedelta(seconds=1)
        granted = await runner.run(oauth_operations.grant_oauth_tokens, anonymous, arguments)
        issued.append(granted.access_token)
        arguments |= {"grant_type": "refresh_token", "refresh_token": granted.refresh_token, "code": None}
    assert [await holder.is_valid(token) for token in (*issued, mine)] == [False, False, True, True, True]
