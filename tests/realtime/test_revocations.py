"""Whoever is connected by credentials that end has to go at once, and nobody else."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from tests.graphql.test_oauth import client_of
from tests.graphql.test_users import Person
from tests.support import people
from tests.support.house import PASSWORD, House
from tests.support.socket import Socket, socket

NEW = "battery staple"


async def person_of(house: House) -> Person:
    who = await people.active(house.one)
    return Person(house, who["username"], who["userId"], who["accountId"])


@asynccontextmanager
async def connected(house: House, *callers: Mapping[str, str]) -> AsyncIterator[list[Socket]]:
    """A socket for each of these callers."""
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(socket(house.url)) for _ in callers]
        for one, credentials in zip(sockets, callers, strict=True):
            await one.init(**credentials)
        yield sockets


async def gone(*sockets: Socket) -> None:
    for one in sockets:
        assert (await one.closed())[0] == 4403


async def there(*sockets: Socket) -> None:
    for one in sockets:
        await one.say(type="ping")
        assert (await one.hear())["type"] == "pong"


async def change_password(house: House, caller: Mapping[str, str], old: str = PASSWORD) -> httpx.Response:
    body = {"oldPassword": old, "newPassword": NEW}
    return await house.call("POST", "/account/changepassword", dict(caller), json=body)


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_token_that_is_deleted_goes_and_the_accounts_others_stay(served: House) -> None:
    person = await person_of(served)
    mine, other = await person.token(), await person.token()
    async with connected(served, mine, other, person.basic) as (first, second, third):
        ok(await served.call("DELETE", "/auth/deleteToken", mine))
        await gone(first)
        await there(second, third)


async def test_a_listed_token_that_is_deleted_goes(served: House) -> None:
    person = await person_of(served)
    lost, mine = await person.token(), await person.token()
    listed = ok(await served.call("GET", "/auth/token", mine))
    async with connected(served, lost, mine) as (first, second):
        ok(await served.call("DELETE", f"/auth/token/{listed[0]['tokenId']}", mine))
        await gone(first)
        await there(second)


async def test_a_changed_password_leaves_only_the_token_that_changed_it(served: House) -> None:
    person, stranger = await person_of(served), await person_of(served)
    mine, other = await person.token(), await person.token()
    callers = (mine, other, person.basic, await stranger.token())
    async with connected(served, *callers) as (first, second, third, fourth):
        assert (await change_password(served, mine, "wrong")).status_code == 400
        await there(first, second, third, fourth)
        ok(await change_password(served, mine))
        await gone(second, third)
        await there(first, fourth)


async def test_a_password_that_is_changed_by_itself_leaves_nobody(served: House) -> None:
    person = await person_of(served)
    async with connected(served, await person.token(), person.basic) as sockets:
        ok(await change_password(served, person.basic))
        await gone(*sockets)


async def test_a_password_that_is_reset_leaves_nobody(served: House) -> None:
    person = await person_of(served)
    token = await people.reset_token(served.one, {"username": person.username, "userId": person.user_id})
    async with connected(served, await person.token(), person.basic) as sockets:
        body = {"username": person.username, "newPassword": NEW, "applicationId": served.one.application_id}
        assert (
            await served.call("PUT", "/user/resetpassword", {}, json={**body, "token": "forged"})
        ).status_code == 400
        await there(*sockets)
        ok(await served.call("PUT", "/user/resetpassword", {}, json={**body, "token": token}))
        await gone(*sockets)


async def test_a_closed_account_leaves_nobody(served: House) -> None:
    person = await person_of(served)
    async with connected(served, await person.token(), person.basic) as sockets:
        ok(await served.call("DELETE", f"/account/{person.account_id}", served.one.headers["application"]))
        await gone(*sockets)


async def test_a_user_who_is_deleted_leaves_none_of_their_accounts(served: House) -> None:
    person = await person_of(served)
    given = {"username": f"second-{person.username}", "userId": person.user_id, "password": PASSWORD}
    application = served.one.headers["application"]
    ok(await served.call("POST", "/account", application, json=given))
    second = Person(served, given["username"], person.user_id, "")
    async with connected(served, await person.token(), await second.token()) as sockets:
        ok(await served.call("DELETE", f"/user/{person.user_id}", application))
        await gone(*sockets)


async def test_an_oauth_client_whose_token_is_deleted_goes_with_all_of_its_log_in(served: House) -> None:
    client = await client_of(served)
    first = await client.tokens()
    second = (await client.refresh(first["refresh_token"])).json()
    another = await client.tokens()
    person = Person(served, client.username, "", client.account_id)
    mine = await person.token()
    callers = [{"token": one["access_token"]} for one in (first, second, another)]
    listed = ok(await served.call("GET", "/auth/token", mine))
    async with connected(served, *callers, mine) as (one, two, three, four):
        ok(await served.call("DELETE", f"/auth/token/{listed[0]['tokenId']}", mine))
        await gone(one, two)
        await there(three, four)


async def test_a_second_use_of_a_code_or_of_a_refresh_token_ends_what_came_of_the_first(served: House) -> None:
    client = await client_of(served)
    code = await client.code()
    by_code, by_refresh = (await client.redeem(code)).json(), await client.tokens()
    renewed = (await client.refresh(by_refresh["refresh_token"])).json()
    callers = [{"token": one["access_token"]} for one in (by_code, by_refresh, renewed)]
    async with connected(served, *callers) as (one, two, three):
        assert (await client.redeem(code)).status_code == 400
        await gone(one)
        await there(two, three)
        assert (await client.refresh(by_refresh["refresh_token"])).status_code == 400
        await gone(two, three)
