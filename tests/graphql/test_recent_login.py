"""Changes of a username or an e-mail address: a recent log-in, and waits after names of others."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pyotp
import pytest

from tests.support import people
from tests.support.house import PASSWORD, basic
from tests.support.refusals import refusal_of
from tests.support.socket import socket
from tests.support.timed import Timed
from wattgate.db.identity.login_backoff import FREE_ATTEMPTS, MIN_WAIT

OLD = timedelta(minutes=10, seconds=1)
REFUSED = (401, "REAUTHENTICATION_REQUIRED")
RENAME = "mutation ($id: ID!, $name: String!) { renameUser(userId: $id, username: $name) { ...Refused } }"


@dataclass
class Holder:
    """The holder of a new account."""

    timed: Timed
    username: str
    user_id: str

    async def log_in(self, **more: str) -> dict[str, str]:
        """Log in and return the headers with the token."""
        body = {"username": self.username, "password": PASSWORD, **more}
        header = {"applicationId": self.timed.house.one.application_id}
        return {"token": (await self.timed.house.call("POST", "/auth", header, json=body)).json()["token"]}

    async def change_email(self, headers: dict[str, str], **more: str) -> httpx.Response:
        body = {"email": f"new-{self.username}", **more}
        return await self.timed.house.call("POST", "/account/email", headers, json=body)

    async def rename(self, headers: dict[str, str], **more: str) -> httpx.Response:
        """Rename the user to a name that differs each time, and remember it if it is accepted."""
        body = {"username": f"again-{self.username}", **more}
        answer = await self.timed.house.call("PUT", f"/user/{self.user_id}/username", headers, json=body)
        if answer.status_code == 200:
            self.username = body["username"]
        return answer

    async def refusals(self, headers: dict[str, str], **more: str) -> list[tuple[int, Any]]:
        """Return the distinct statuses and codes of both changes."""
        answers = [await self.change_email(headers, **more), await self.rename(headers, **more)]
        return sorted({(answer.status_code, answer.json().get("code")) for answer in answers}, key=str)


@pytest.fixture
async def holder(timed: Timed) -> Holder:
    who = await people.active(timed.house.one)
    return Holder(timed, who["username"], who["userId"])


async def test_old_log_in_changes_no_username_and_no_address(holder: Holder) -> None:
    token = await holder.log_in()
    assert await holder.refusals(token) == [(200, None)]
    holder.timed.pass_time(OLD)
    assert await holder.refusals(token) == [REFUSED]
    renewed = (await holder.timed.house.call("GET", "/auth/newToken", token)).json()["token"]
    assert await holder.refusals({"token": renewed}) == [REFUSED]  # the token is new, the log-in is not
    response = await holder.timed.house.graphql(RENAME, token, id=holder.user_id, name="taken-over@example.org")
    assert refusal_of(response)["reason"] == "insufficient_user_authentication"
    name = {"name": "Ada"}
    assert (await holder.timed.house.call("POST", "/account/name", token, json=name)).status_code == 200
    assert await holder.refusals(await holder.log_in()) == [(200, None)]  # as a client does that knows only 401


async def test_old_log_in_changes_nothing_over_a_socket_and_for_nobody_else(holder: Holder) -> None:
    """An administrator may rename others. A stolen token of one may not either."""
    token = await holder.log_in()
    holder.timed.pass_time(OLD)
    assert await holder.refusals(holder.timed.house.one.headers["administrator"]) == [REFUSED]
    async with socket(holder.timed.house.url) as client:
        await client.init(**token)
        await client.subscribe(RENAME, id=holder.user_id, name="taken-over@example.org")
        assert refusal_of(await client.payload())["code"] == REFUSED[1]


async def test_password_and_code_prove_an_old_log_in(holder: Holder) -> None:
    token, house = await holder.log_in(), holder.timed.house
    secret = (await house.call("POST", "/account/secondfactor", token, json={"password": PASSWORD})).json()["secret"]
    by_password = {**basic(holder.username, PASSWORD), "applicationId": house.one.application_id}
    assert await holder.refusals({**by_password, **basic(holder.username, PASSWORD)}) == [(200, None)]
    holder.timed.pass_time(OLD)
    assert await holder.refusals(token, password="a wrong one") == [(400, "BAD_INPUT")]
    assert await holder.refusals(token, password=PASSWORD) == [(200, None)]
    now = holder.timed.clock
    code = pyotp.TOTP(secret).at(now())
    assert (await house.call("PUT", "/account/secondfactor", token, json={"code": code})).status_code == 200
    assert await holder.refusals(token, password=PASSWORD) == [(401, "SECOND_FACTOR_REQUIRED")]
    assert await holder.refusals(token, password=PASSWORD, code=code) == [(401, "SECOND_FACTOR_REQUIRED")]  # used
    holder.timed.pass_time(timedelta(minutes=1))
    assert (await holder.rename(token, password=PASSWORD, code=pyotp.TOTP(secret).at(now()))).status_code == 200


async def test_guesses_of_the_password_with_an_old_log_in_must_wait(holder: Holder) -> None:
    """The count is one for all changes and for log-ins, so that a stolen token gives no further guesses."""
    token = await holder.log_in()
    holder.timed.pass_time(OLD)
    for number in range(FREE_ATTEMPTS):
        change = holder.change_email if number % 2 else holder.rename
        assert (await change(token, password=f"guess {number}")).status_code == 400
    assert await holder.refusals(token, password=PASSWORD) == [(429, "RATE_LIMITED")]
    change_password = {"oldPassword": PASSWORD, "newPassword": "battery staple"}
    for path, body in (("/account/changepassword", change_password), ("/account/secondfactor", {"password": PASSWORD})):
        assert (await holder.timed.house.call("POST", path, token, json=body)).status_code == 429
    holder.timed.pass_time(MIN_WAIT)
    assert await holder.refusals(token, password=PASSWORD) == [(200, None)]


async def test_user_who_tries_names_of_others_must_wait(holder: Holder) -> None:
    """A free name in between neither resets the wait nor passes it, on any interface."""
    token, one = await holder.log_in(), holder.timed.house.one
    others = [(await people.active(one))["username"] for _ in range(FREE_ATTEMPTS + 1)]
    for name in others[:-2]:
        assert (await holder.rename(token, username=name.upper())).status_code == 409
    assert (await holder.rename(token, username=f"free-{holder.username}")).status_code == 200
    assert (await holder.rename(token, username=others[-2])).status_code == 409
    waiting = await holder.rename(token, username=others[-1])
    assert (waiting.status_code, waiting.json()["code"]) == (429, "RATE_LIMITED")
    assert (await holder.rename(token, username="made-up")).status_code == 429
    assert (await holder.rename(await holder.log_in(), username=others[-1])).status_code == 429  # not for the token
    response = await holder.timed.house.graphql(RENAME, token, id=holder.user_id, name=others[-1])
    assert refusal_of(response)["code"] == "RATE_LIMITED"
    for name in others * 2:  # an application lists all names, so it does not wait
        assert (await holder.rename(one.headers["application"], username=name)).status_code == 409
    holder.timed.pass_time(MIN_WAIT)
    assert (await holder.rename(token, username=others[-1])).status_code == 409
    holder.timed.pass_time(MIN_WAIT)
    assert (await holder.rename(token, username=others[-1])).status_code == 429


async def test_application_vouches_for_its_users(holder: Holder) -> None:
    holder.timed.pass_time(OLD)
    assert (await holder.rename(holder.timed.house.one.headers["application"])).status_code == 200
