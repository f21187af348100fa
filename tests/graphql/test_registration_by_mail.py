"""Registrations whose answer does not reveal which usernames are in use: `WATTGATE_REGISTER_BY_MAIL`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlmodel import col

from tests.graphql.test_login_abuse import ADDRESSES, collected_work, from_address
from tests.support import people
from tests.support.house import House, house
from tests.support.interfaces import INTERFACES, InterfaceResult, by_interface
from tests.support.servers import Databases
from tests.support.timed import Clock
from wattgate.clock import utc_now
from wattgate.db.models import Account, Delivery, User
from wattgate.delivery.account_mails import RESET, VERIFY
from wattgate.enums import DeliveryState
from wattgate.operations.accounts.registration import NOBODY

CLOCK = Clock(utc_now())
STATES = ("free", "active", "pending", "closed")
PASSWORD, OTHER_PASSWORD = people.PASSWORD, "battery staple"
Who = dict[str, str]


@pytest.fixture(scope="module")
async def by_mail(databases: Databases) -> AsyncIterator[House]:
    """A gateway of its own, because of the setting. Each test comes from other addresses, behind a trusted proxy."""
    settings: dict[str, Any] = {"register_by_mail": True, "trusted_proxies": ["127.0.0.0/8"]}
    async with databases() as url, house(url, clock=CLOCK, shows_present=True, **settings) as opened:
        await register(opened, "first@example.org")  # the first one counts the users for the quota
        CLOCK.now = utc_now()  # after the tenants logged in; the waits after wrong passwords do not pass
        yield opened


async def holder(served: House, state: str) -> Who:
    """Return a username in a state. Nobody has a free one."""
    username = f"{uuid4().hex}@example.org"
    if state == "free":
        return {"username": username}
    if state == "pending":
        await register(served, username, PASSWORD)
        return {"username": username, "accountId": await account_id(served, username)}
    who = await people.active(served.one)
    if state == "closed":
        await served.one.run("delete_account", account_id=who["accountId"])
    return who


async def register(
    served: House, username: str, password: str = OTHER_PASSWORD, *, email: str | None = None
) -> httpx.Response:
    body = {"name": "Eve", "username": username, "email": email or username, "password": password}
    return await served.call("POST", "/register", from_address(served, next(ADDRESSES)), json=body)


async def account_id(served: House, username: str) -> str:
    (account,) = await people.read(served.one, lambda rows: rows.all(Account, col(Account.username) == username))
    return str(account.account_id)


async def mails_of(served: House, account: str) -> list[str]:
    return [mail.name for mail in await people.account_mails(served.one, account)]


@pytest.mark.parametrize("interface", INTERFACES)
async def test_answer_and_work_are_the_same_for_each_username(by_mail: House, interface: str) -> None:
    done = []
    for state in (*STATES, *STATES):
        who = await holder(by_mail, state)
        variables = {"name": "Eve", "username": who["username"], "email": who["username"], "password": OTHER_PASSWORD}
        variables["applicationId"] = by_mail.one.application_id
        headers = {"X-Forwarded-For": next(ADDRESSES)}
        with collected_work() as work:
            result = await by_interface(by_mail, interface, "register", variables, headers)
        done.append((_without_times(result), work))
    answer, work = done[0]
    for other_answer, other_work in done[1:]:
        assert other_answer == answer
        assert other_work == work
    assert "hash" in work
    assert str(NOBODY) in str(answer)


def _without_times(result: InterfaceResult) -> Any:
    assert result.code is None, result.body
    return {name: value for name, value in result.value.items() if name not in ("createdAt", "updatedAt")}


async def test_only_the_mail_shows_the_outcome(by_mail: House, subtests: pytest.Subtests) -> None:
    with subtests.test("free"):
        who = await holder(by_mail, "free")
        assert (await register(by_mail, who["username"])).status_code == 200
        who["accountId"] = await account_id(by_mail, who["username"])
        assert await mails_of(by_mail, who["accountId"]) == [VERIFY]
        await verify(by_mail, who, OTHER_PASSWORD)
        assert await may_log_in(by_mail, who, OTHER_PASSWORD)
    with subtests.test("active"):
        who = await holder(by_mail, "active")
        assert (await register(by_mail, who["username"].upper())).status_code == 200
        assert await mails_of(by_mail, who["accountId"]) == [RESET]
        assert not await may_log_in(by_mail, who, OTHER_PASSWORD)
        assert await may_log_in(by_mail, who, PASSWORD)
    with subtests.test("pending: the newest registration counts, because the first one may be of a stranger"):
        who = await holder(by_mail, "pending")
        assert (await register(by_mail, who["username"])).status_code == 200
        await verify(by_mail, who, OTHER_PASSWORD)
        assert await may_log_in(by_mail, who, OTHER_PASSWORD)
    with subtests.test("closed"):
        who = await holder(by_mail, "closed")
        assert (await register(by_mail, who["username"])).status_code == 200
        assert await mails_of(by_mail, who["accountId"]) == []
    with subtests.test("no user without an account is left"):
        users = await people.read(by_mail.one, lambda rows: rows.all(User, col(User.status) == "unverified"))
        accounts = await people.read(by_mail.one, lambda rows: rows.all(Account))
        assert {user.user_id for user in users} <= {account.user_id for account in accounts}


async def verify(served: House, who: Who, password: str) -> None:
    code = await people.newest_code(served.one, who["accountId"], VERIFY)
    answer = await use_code(served, who["username"], password, code)
    assert answer.status_code == 200, answer.text


async def use_code(served: House, username: str, password: str, code: str) -> httpx.Response:
    body = {"username": username, "password": password, "token": code}
    return await served.call("PUT", "/user/verify", from_address(served, next(ADDRESSES)), json=body)


async def may_log_in(served: House, who: Who, password: str) -> bool:
    body = {"username": who["username"], "password": password}
    answer = await served.call("POST", "/auth", from_address(served, next(ADDRESSES)), json=body)
    return answer.status_code == 200


REQUESTS = (
    ("another code", "POST", "/user/verify", 2),
    ("a code", "PUT", "/user/verify", 6),  # one more than without a wait
    ("another code", "POST", "/user/verify", 1),
    ("log in", "POST", "/auth", 1),
)


async def test_later_requests_do_not_reveal_it_either(by_mail: House, subtests: pytest.Subtests) -> None:
    """A stranger who has registered a name tries codes, asks for others, and logs in: the waits are the same."""
    seen: dict[str, list[Any]] = {}
    for state in STATES:
        who = await holder(by_mail, state)
        username, answers = who["username"], []
        await register(by_mail, username)
        for name, method, path, count in REQUESTS:
            for _ in range(count):
                headers = from_address(by_mail, next(ADDRESSES))
                body = {"username": username, "password": OTHER_PASSWORD, "token": "wrong"}
                with collected_work() as work:
                    answer = await by_mail.call(method, path, headers, json=body)
                answers.append((name, answer.status_code, answer.json().get("error"), work))
        seen[state] = answers
    for state in STATES[1:]:
        with subtests.test(state):
            for number, (one, other) in enumerate(zip(seen[state], seen["free"], strict=True)):
                assert one == other, number
    assert 429 in [status for _, status, _, _ in seen["free"]]


async def test_username_must_be_the_address(by_mail: House) -> None:
    """The mail goes to the address, so it could not say whether another name is in use."""
    for username in ("eve", "other@example.org", "eve@example.org.", "", "eve@example.org,other@example.org"):
        answer = await register(by_mail, username, email="eve@example.org")
        assert (answer.status_code, answer.json()["param"]) == (400, "username"), answer.text
    weak = await register(by_mail, f"{uuid4().hex}@example.org", "password")
    assert weak.status_code == 400


async def test_mails_about_registrations_are_bounded(by_mail: House) -> None:
    who = await holder(by_mail, "active")
    for _ in range(8):
        assert (await register(by_mail, who["username"])).status_code == 200
    sent = await people.read(
        by_mail.one,
        lambda rows: rows.all(
            Delivery, col(Delivery.address) == who["username"], col(Delivery.state) != DeliveryState.SUPPRESSED
        ),
    )
    assert len(sent) == 5


async def test_registrations_of_one_address_at_once_are_one(by_mail: House) -> None:
    username = f"{uuid4().hex}@example.org"
    answers = await asyncio.gather(*(register(by_mail, username) for _ in range(6)))
    assert [answer.status_code for answer in answers] == [200] * 6
    await account_id(by_mail, username)
