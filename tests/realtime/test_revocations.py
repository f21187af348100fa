"""Revoking credentials immediately closes the connections that use them, and no others."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from tests.graphql.test_oauth import client_of
from tests.graphql.test_users import Person
from tests.support import people
from tests.support.house import PASSWORD, House
from tests.support.socket import Socket, socket

NEW_PASSWORD = "battery staple"


async def add_person(house: House) -> Person:
    account = await people.active(house.one)
    return Person(house, account["username"], account["userId"], account["accountId"])


@asynccontextmanager
async def connected(house: House, *callers: Mapping[str, str]) -> AsyncIterator[list[Socket]]:
    """Open a socket for each of these callers."""
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(socket(house.url)) for _ in callers]
        for client, credentials in zip(sockets, callers, strict=True):
            await client.init(**credentials)
        yield sockets


async def assert_revoked(*sockets: Socket) -> None:
    for client in sockets:
        assert (await client.closed())[0] == 4403


async def assert_open(*sockets: Socket) -> None:
    for client in sockets:
        await client.say(type="ping")
        assert (await client.hear())["type"] == "pong"


async def change_password(house: House, caller: Mapping[str, str], old: str = PASSWORD) -> httpx.Response:
    body = {"oldPassword": old, "newPassword": NEW_PASSWORD}
    return await house.call("POST", "/account/changepassword", dict(caller), json=body)


def ok(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


async def test_deleting_a_token_closes_only_its_connection(served: House) -> None:
    person = await add_person(served)
    mine, other = await person.token(), await person.token()
    async with connected(served, mine, other, person.basic) as (first, second, third):
        ok(await served.call("DELETE", "/auth/deleteToken", mine))
        await assert_revoked(first)
        await assert_open(second, third)


async def test_deleting_a_listed_token_closes_its_connection(served: House) -> None:
    person = await add_person(served)
    lost, mine = await person.token(), await person.token()
    listed = ok(await served.call("GET", "/auth/token", mine))
    async with connected(served, lost, mine) as (first, second):
        ok(await served.call("DELETE", f"/auth/token/{listed[0]['tokenId']}", mine))
        await assert_revoked(first)
        await assert_open(second)


async def test_changing_the_password_with_a_token_closes_all_other_connections(served: House) -> None:
    person, stranger = await add_person(served), await add_person(served)
    mine, other = await person.token(), await person.token()
    callers = (mine, other, person.basic, await stranger.token())
    async with connected(served, *callers) as (first, second, third, fourth):
        assert (await change_password(served, mine, "wrong")).status_code == 400
        await assert_open(first, second, third, fourth)
        ok(await change_password(served, mine))
        await assert_revoked(second, third)
        await assert_open(first, fourth)


async def test_changing_the_password_with_the_password_closes_all_connections(served: House) -> None:
    person = await add_person(served)
    async with connected(served, await person.token(), person.basic) as sockets:
        ok(await change_password(served, person.basic))
        await assert_revoked(*sockets)


async def test_resetting_the_password_closes_all_connections(served: House) -> None:
    person = await add_person(served)
    token = await people.reset_token(served.one, {"username": person.username, "accountId": person.account_id})
    async with connected(served, await person.token(), person.basic) as sockets:
        body = {"username": person.username, "newPassword": NEW_PASSWORD, "applicationId": served.one.application_id}
        assert (
            await served.call("PUT", "/user/resetpassword", {}, json={**body, "token": "forged"})
        ).status_code == 400
        await assert_open(*sockets)
        ok(await served.call("PUT", "/user/resetpassword", {}, json={**body, "token": token}))
        await assert_revoked(*sockets)


async def test_closing_an_account_closes_its_connections(served: House) -> None:
    person = await add_person(served)
    async with connected(served, await person.token(), person.basic) as sockets:
        ok(await served.call("DELETE", f"/account/{person.account_id}", served.one.headers["application"]))
        await assert_revoked(*sockets)


async def test_deleting_a_user_closes_the_connections_of_all_accounts(served: House) -> None:
    person = await add_person(served)
    new_account = {"username": f"second-{person.username}", "userId": person.user_id, "password": PASSWORD}
    application = served.one.headers["application"]
    ok(await served.call("POST", "/account", application, json=new_account))
    second = Person(served, new_account["username"], person.user_id, "")
    async with connected(served, await person.token(), await second.token()) as sockets:
        ok(await served.call("DELETE", f"/user/{person.user_id}", application))
        await assert_revoked(*sockets)


async def test_deleting_an_oauth_token_closes_the_connections_of_its_log_in(served: House) -> None:
    client = await client_of(served)
    first = await client.tokens()
    second = (await client.refresh(first["refresh_token"])).json()
    another = await client.tokens()
    person = Person(served, client.username, "", client.account_id)
    mine = await person.token()
    callers = [{"token": first_socket["access_token"]} for first_socket in (first, second, another)]
    listed = ok(await served.call("GET", "/auth/token", mine))
    async with connected(served, *callers, mine) as (first_socket, second_socket, third_socket, fourth_socket):
        ok(await served.call("DELETE", f"/auth/token/{listed[0]['tokenId']}", mine))
        await assert_revoked(first_socket, second_socket)
        await assert_open(third_socket, fourth_socket)


async def test_reuse_of_a_code_or_refresh_token_revokes_the_tokens_of_its_first_use(served: House) -> None:
    client = await client_of(served)
    code = await client.code()
    by_code, by_refresh = (await client.redeem(code)).json(), await client.tokens()
    renewed = (await client.refresh(by_refresh["refresh_token"])).json()
    callers = [{"token": first_socket["access_token"]} for first_socket in (by_code, by_refresh, renewed)]
    async with connected(served, *callers) as (first_socket, second_socket, third_socket):
        assert (await client.redeem(code)).status_code == 400
        await assert_revoked(first_socket)
        await assert_open(second_socket, third_socket)
        assert (await client.refresh(by_refresh["refresh_token"])).status_code == 400
        await assert_revoked(second_socket, third_socket)
