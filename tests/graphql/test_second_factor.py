"""The second factor of accounts (TOTP): RFC vectors, enrolment, log-in, recovery codes and resets."""

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import pytest
from sqlalchemy import text

from tests.support import people
from tests.support.house import PASSWORD, House, basic, house
from tests.support.refusals import refusal_of
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.timed import Timed
from wattgate.operations.credentials.second_factor_codes import RECOVERY_ALPHABET, RECOVERY_CODES, matching_step

LOG_IN = """
mutation ($app: ID, $user: String, $password: String, $code: String) {
  authenticate(applicationId: $app, username: $user, password: $password, code: $code) {
      ... on Login { token } ...Refused }
}
"""
PATH = "/account/secondfactor"
RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
"""The secret 12345678901234567890 of RFC 4226 and RFC 6238, in base32."""


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_codes_of_rfc_6238_match_at_their_time(seconds: int, code: str) -> None:
    at = datetime.fromtimestamp(seconds, UTC)
    assert matching_step(RFC_SECRET, code, at, 0) == seconds // 30
    assert matching_step(RFC_SECRET, code, at + timedelta(seconds=90), 0) is None
    assert matching_step(RFC_SECRET, code, at, seconds // 30) is None
    assert matching_step(RFC_SECRET, code, at, seconds // 30 + 1) is None
    assert matching_step(RFC_SECRET, code, at, seconds // 30 + 2) == seconds // 30  # the clock was ahead before


def test_codes_of_rfc_4226_match_at_their_step() -> None:
    codes = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
    for step, code in enumerate(codes[1:], start=1):
        assert matching_step(RFC_SECRET, code, datetime.fromtimestamp(step * 30, UTC), 0) == step


@dataclass
class Holder:
    """The holder of an account, with an app that makes codes."""

    timed: Timed
    username: str
    account_id: str
    headers: dict[str, str] = field(default_factory=dict)
    secret: str = ""
    recovery_codes: list[str] = field(default_factory=list)

    def code(self, steps: int = 0) -> str:
        """Return the present code of the app, or that of a later or earlier step."""
        return pyotp.TOTP(self.secret).at(self.timed.clock.now + steps * timedelta(seconds=30))

    def next_code(self) -> str:
        """Wait for a code that was not used yet."""
        self.timed.pass_time(timedelta(seconds=60))
        return self.code()

    async def log_in(self, code: str | None = None, **more: Any) -> httpx.Response:
        body = {"username": self.username, "password": PASSWORD, **({} if code is None else {"code": code}), **more}
        return await self.call("POST", "/auth", {"applicationId": self.timed.house.one.application_id}, **body)

    async def graphql_log_in(self, code: str | None = None) -> dict[str, Any]:
        application = self.timed.house.one.application_id
        variables = {"app": application, "user": self.username, "password": PASSWORD, "code": code}
        return await self.timed.house.graphql(LOG_IN, {}, **variables)

    async def call(self, method: str, path: str, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        sent = {"json": body} if body else {}
        return await self.timed.house.call(method, path, self.headers if headers is None else headers, **sent)

    async def enrol(self) -> None:
        enrolled = (await self.call("POST", PATH, password=PASSWORD)).json()
        self.secret = enrolled["secret"]
        confirmed = await self.call("PUT", PATH, code=self.code())
        assert confirmed.status_code == 200, confirmed.text
        self.recovery_codes = confirmed.json()["recoveryCodes"]


@pytest.fixture
async def holder(timed: Timed) -> Holder:
    """The holder of a new account without a second factor, logged in."""
    who = await people.active(timed.house.one)
    created = Holder(timed, who["username"], who["accountId"])
    created.headers = {"token": (await created.log_in()).json()["token"]}
    return created


@pytest.fixture
async def enrolled(holder: Holder) -> Holder:
    """The holder of a new account with a second factor, whose present code is used."""
    await holder.enrol()
    return holder


async def test_enrolment_shows_the_secret_once_and_needs_a_code(holder: Holder) -> None:
    wrong = await holder.call("POST", PATH, password="wrong")
    assert (wrong.status_code, wrong.json()["error"]) == (400, "incorrect elements -password")
    assert (await holder.call("PUT", PATH, code="123456")).status_code == 409
    first = (await holder.call("POST", PATH, password=PASSWORD)).json()
    second = (await holder.call("POST", PATH, password=PASSWORD)).json()
    assert first["secret"] != second["secret"]
    uri = urlsplit(second["uri"])
    assert (uri.scheme, uri.netloc, parse_qs(uri.query)["secret"]) == ("otpauth", "totp", [second["secret"]])
    assert parse_qs(uri.query)["issuer"] == ["one"]
    assert (await holder.log_in()).status_code == 200  # not confirmed, so not needed
    replaced = await holder.call("PUT", PATH, code=pyotp.TOTP(first["secret"]).at(holder.timed.clock.now))
    assert replaced.status_code == 401
    holder.secret = second["secret"]
    confirmed = await holder.call("PUT", PATH, code=holder.code())
    codes = confirmed.json()["recoveryCodes"]
    assert len(set(codes)) == RECOVERY_CODES
    bits = min(len(code.replace("-", "")) for code in codes) * math.log2(len(RECOVERY_ALPHABET))
    assert bits >= 112, "a fast hash is safe from this strength on (OWASP ASVS 6.5.2)"
    state = (await holder.call("GET", PATH)).json()
    assert (state["enabled"], state["required"], state["recoveryCodes"]) == (True, False, RECOVERY_CODES)
    assert state["confirmedAt"] is not None
    assert holder.secret not in str(state)
    assert (await holder.call("POST", PATH, password=PASSWORD)).status_code == 409


async def test_log_in_asks_for_the_code_on_both_interfaces(enrolled: Holder) -> None:
    rest = await enrolled.log_in()
    assert (rest.status_code, rest.json()["code"], rest.json()["valid"]) == (401, "SECOND_FACTOR_REQUIRED", False)
    graphql = refusal_of(await enrolled.graphql_log_in())
    assert graphql["code"] == "SECOND_FACTOR_REQUIRED"
    wrong_password = await enrolled.log_in(enrolled.code(), password="wrong")
    assert wrong_password.json()["code"] == "UNAUTHENTICATED"
    assert (await enrolled.log_in(enrolled.next_code())).status_code == 200
    assert (await enrolled.graphql_log_in(enrolled.next_code()))["data"]["authenticate"]["token"]
    assert (await enrolled.call("GET", "/auth")).status_code == 200  # earlier tokens stay valid


async def test_code_is_not_accepted_twice(enrolled: Holder) -> None:
    code = enrolled.next_code()
    assert (await enrolled.log_in(code)).status_code == 200
    again = await enrolled.log_in(code)
    assert (again.status_code, again.json()["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    assert refusal_of(await enrolled.graphql_log_in(code))["code"] == "SECOND_FACTOR_REQUIRED"
    # a code of an earlier step is over too
    assert (await enrolled.log_in(enrolled.code(-1))).status_code == 401


async def test_codes_outside_the_window_are_refused(enrolled: Holder) -> None:
    enrolled.timed.pass_time(timedelta(minutes=5))
    for steps in (-2, 2):
        assert (await enrolled.log_in(enrolled.code(steps))).status_code == 401
        refused = refusal_of(await enrolled.graphql_log_in(enrolled.code(steps)))
        assert refused["code"] == "SECOND_FACTOR_REQUIRED"
    assert (await enrolled.log_in(enrolled.code(-1))).status_code == 200
    assert (await enrolled.log_in(enrolled.code(1))).status_code == 200


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    "code", ["", " ", "000000000000", "abcdef", "12345", "\uff11\uff12\uff13\uff14\uff15\uff16", "-", "\0", "x" * 1_025]
)
async def test_odd_codes_are_refused(enrolled: Holder, code: str) -> None:
    answer = await enrolled.log_in(code)
    assert answer.status_code in (400, 401)
    assert answer.json()["code"] in ("BAD_INPUT", "SECOND_FACTOR_REQUIRED")


async def test_guesses_are_bounded_for_the_account(enrolled: Holder) -> None:
    guesses = 0
    while (answer := await enrolled.log_in("000000")).status_code == 401:
        guesses += 1
    assert (guesses, answer.status_code) == (5, 429)
    assert int(answer.headers["Retry-After"]) > 0
    # the right code must wait as well, also over GraphQL
    refused = refusal_of(await enrolled.graphql_log_in(enrolled.code(1)))
    assert (refused["code"], refused["retryAfter"] > 0) == ("RATE_LIMITED", True)
    enrolled.timed.pass_time(timedelta(minutes=16))
    assert (await enrolled.log_in(enrolled.next_code())).status_code == 200
    assert (await enrolled.log_in("000000")).status_code == 401  # the count begins again


async def test_concurrent_attempts_gain_nothing(enrolled: Holder) -> None:
    code = enrolled.next_code()
    answers = await asyncio.gather(*(enrolled.log_in(code) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
    enrolled.timed.pass_time(timedelta(hours=1))
    answers = await asyncio.gather(*(enrolled.log_in("000000") for _ in range(8)))
    assert [answer.status_code for answer in answers].count(401) <= 5


async def test_recovery_code_works_once(enrolled: Holder) -> None:
    code, other = enrolled.recovery_codes[:2]
    assert (await enrolled.log_in(code.upper())).status_code == 200
    assert (await enrolled.log_in(code)).status_code == 401
    assert (await enrolled.log_in(other.replace("-", " "))).status_code == 200
    assert (await enrolled.call("GET", PATH)).json()["recoveryCodes"] == RECOVERY_CODES - 2


async def test_recovery_code_of_another_account_is_refused(enrolled: Holder, timed: Timed) -> None:
    who = await people.active(timed.house.one)
    other = Holder(timed, who["username"], who["accountId"])
    other.headers = {"token": (await other.log_in()).json()["token"]}
    await other.enrol()
    assert (await enrolled.log_in(other.recovery_codes[0])).status_code == 401
    assert (await enrolled.log_in(other.next_code())).status_code == 401


async def test_password_alone_opens_nothing(enrolled: Holder) -> None:
    credentials = {**basic(enrolled.username, PASSWORD), "applicationId": enrolled.timed.house.one.application_id}
    answer = await enrolled.call("GET", "/account", credentials)
    assert (answer.status_code, answer.json()["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    request = await people.authorisation(enrolled.timed.house.one)
    request["username"] = enrolled.username
    body = {"client_id": request["clientId"], "redirect_uri": request["redirectUri"], "scope": "read"}
    body |= {"code_challenge": request["codeChallenge"], "username": enrolled.username, "password": PASSWORD}
    named = {"applicationId": enrolled.timed.house.one.application_id}
    refused = await enrolled.call("POST", "/auth/oauth", named, **body)
    assert (refused.status_code, refused.json()["code"]) == (401, "SECOND_FACTOR_REQUIRED")
    granted = await enrolled.call("POST", "/auth/oauth", named, **body, code=enrolled.next_code())
    assert granted.status_code == 200, granted.text


async def test_removal_needs_the_password_and_a_code(enrolled: Holder) -> None:
    path = PATH + "/removal"
    enrolled.timed.pass_time(timedelta(minutes=1))
    wrong = await enrolled.call("POST", path, password="wrong", code=enrolled.code())
    assert wrong.status_code == 400
    assert (await enrolled.call("POST", path, password=PASSWORD, code="000000")).status_code == 401
    assert (await enrolled.call("POST", path, password=PASSWORD, code=enrolled.code())).json() == {"valid": True}
    assert (await enrolled.log_in()).status_code == 200
    assert (await enrolled.call("POST", path, password=PASSWORD, code="000000")).status_code == 409
    await enrolled.enrol()
    assert (await enrolled.log_in()).status_code == 401


async def test_reset_is_for_administrators_and_applications(enrolled: Holder) -> None:
    path = f"/account/{enrolled.account_id}/secondfactor"
    tenants = enrolled.timed.house.one, enrolled.timed.house.other
    assert (await enrolled.call("DELETE", path)).status_code == 403
    assert (await enrolled.call("DELETE", path, tenants[1].headers["application"])).status_code == 404
    assert (await enrolled.log_in()).status_code == 401
    for caller in ("application", "application"):  # the second call changes nothing
        assert (await enrolled.call("DELETE", path, tenants[0].headers[caller])).json() == {"valid": True}
    assert (await enrolled.log_in()).status_code == 200


async def test_recovery_codes_end_with_the_second_factor(enrolled: Holder) -> None:
    old = enrolled.recovery_codes[0]
    path = f"/account/{enrolled.account_id}/secondfactor"
    await enrolled.call("DELETE", path, enrolled.timed.house.one.headers["administrator"])
    assert (await enrolled.call("GET", PATH)).json()["recoveryCodes"] == 0
    enrolled.timed.pass_time(timedelta(minutes=1))
    await enrolled.enrol()
    assert (await enrolled.log_in(old)).status_code == 401
    assert (await enrolled.log_in(enrolled.recovery_codes[0])).status_code == 200


async def test_unconfirmed_secret_ends_with_a_log_out_and_a_new_password(holder: Holder) -> None:
    """Otherwise a token alone confirms a secret that somebody got with an earlier password."""
    thief = {"token": (await holder.log_in()).json()["token"]}
    change = {"oldPassword": PASSWORD, "newPassword": "battery staple"}
    for method, path, headers, body in (
        ("DELETE", "/auth/deleteToken", thief, {}),
        ("POST", "/account/changepassword", holder.headers, change),
    ):
        holder.secret = (await holder.call("POST", PATH, headers, password=PASSWORD)).json()["secret"]
        assert (await holder.call(method, path, headers, **body)).status_code == 200
        assert (await holder.call("PUT", PATH, code=holder.code())).status_code == 409, path


async def test_secret_is_stored_encrypted_and_codes_as_digests(enrolled: Holder) -> None:
    async with enrolled.timed.house.gateway.database.engine.connect() as connection:
        stored = [
            str(row)
            for table in ("second_factor", "recovery_code")
            for row in await connection.execute(text(f"SELECT * FROM {table}"))
        ]
    assert len(stored) > RECOVERY_CODES
    for row in stored:
        assert enrolled.secret not in row
        assert not any(code in row or code.replace("-", "") in row for code in enrolled.recovery_codes)


# Administrators who need one


@pytest.fixture(scope="module")
async def strict(databases: Databases) -> AsyncIterator[House]:
    """A gateway whose administrators need a second factor."""
    async with databases() as url, house(url, administrators_need_second_factor=True) as opened:
        yield opened


async def test_administrator_without_a_second_factor_can_only_enrol(strict: House) -> None:
    headers = strict.one.headers["administrator"]
    credentials = {**basic("admin@one.example", PASSWORD), "applicationId": strict.one.application_id}
    for sent in (headers, credentials):
        for method, path in (("GET", "/account"), ("GET", "/directory"), ("GET", "/virtualentity")):
            answer = await strict.call(method, path, sent)
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
            assert "/account/secondfactor" in answer.json()["error"]
        assert (await strict.call("GET", PATH, sent)).json()["required"] is True
    graphql = await strict.graphql("{ viewer { accounts { edges { node { accountId } } } } }", headers)
    assert refusal_of(graphql)["code"] == "FORBIDDEN"
    assert (await strict.call("GET", "/account", strict.one.headers["account"])).status_code == 200
    secret = (await strict.call("POST", PATH, headers, json={"password": PASSWORD})).json()["secret"]
    code = pyotp.TOTP(secret).now()
    assert (await strict.call("PUT", PATH, headers, json={"code": code})).status_code == 200
    assert (await strict.call("GET", "/directory", headers)).status_code == 200
    assert (await strict.call("GET", PATH, headers)).json()["required"] is False
    principal = await strict.gateway.authenticator.authenticate(headers)
    refused = await strict.call("DELETE", f"/account/{principal.account_id}/secondfactor", headers)
    assert (refused.status_code, "deleteSecondFactor" in refused.text) == (403, True)
