"""Registration, verification, passwords, accounts, profiles and sessions."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, text, update
from strawberry import ID

from tests.support import people
from tests.support.encryption import stored_push_tokens
from tests.support.house import PASSWORD, House, basic
from tests.support.refusals import refusal_of, refusals
from tests.support.scopes import EVERYTHING
from tests.support.timed import Timed
from wattgate.db.encryption.key_ring import is_encrypted
from wattgate.db.identity.login_backoff import backoff_id, enforce_login_backoff
from wattgate.db.models import Account, LoginBackoff, LoginSource, OneTimeCode, Token
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.delivery.account_mails import CONFIRM_EMAIL
from wattgate.errors import BadInput, RateLimited
from wattgate.operations.accounts import lookups, profiles, registration, users
from wattgate.operations.accounts.one_time_codes import MAX_OPEN_CODES
from wattgate.operations.devices import devices
from wattgate.operations.types.identity.accounts import NewAccount

WEAK_PASSWORD = {"path": ["newPassword"], "message": "has 5 characters and must have at least 8 characters"}


@dataclass
class Person:
    """A new user who can log in."""

    house: House
    username: str
    user_id: str
    account_id: str
    password: str = PASSWORD

    @property
    def basic(self) -> dict[str, str]:
        return {**basic(self.username, self.password), "applicationId": self.house.one.application_id}

    @property
    def who(self) -> dict[str, str]:
        return {"username": self.username, "userId": self.user_id, "accountId": self.account_id}

    async def log_in(self, password: str | None = None) -> httpx.Response:
        body = {"username": self.username, "password": password or self.password}
        return await self.house.call("POST", "/auth", {"applicationId": self.house.one.application_id}, json=body)

    async def token(self) -> dict[str, str]:
        return {"token": (await self.log_in()).json()["token"]}


@pytest.fixture
async def person(served: House) -> Person:
    user = await people.active(served.one)
    return Person(served, user["username"], user["userId"], user["accountId"])


async def post(house: House, path: str, headers: dict[str, str], **body: Any) -> httpx.Response:
    return await house.call("POST", path, headers, json=body)


async def put(house: House, path: str, headers: dict[str, str], **body: Any) -> httpx.Response:
    return await house.call("PUT", path, headers, json=body)


async def change_account(house: House, account_id: str, **values: Any) -> None:
    """Change columns in the database that no operation changes."""
    async with house.gateway.database.session(EVERYTHING) as session:
        await session.execute(
            update(Account).where(Account.account_id == account_id).values(**values),  # type: ignore[arg-type]
            execution_options=SCOPED_OPTION,
        )
        await session.commit()


async def age_failures(house: House, span: timedelta) -> None:
    """Make all failed attempts to log in older."""
    async with house.gateway.database.session(EVERYTHING) as session:
        for model in (LoginBackoff, LoginSource):
            await session.execute(
                update(model).where(model.failures > 0).values(failed_at=datetime.now(UTC) - span),  # type: ignore[arg-type]
                execution_options=SCOPED_OPTION,
            )
        await session.commit()


async def failures_of(house: House, person: Person) -> int:
    """Return the number of wrong passwords with a name from unknown sources."""
    application_id = house.one.application_id
    async with house.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, application_id, now=datetime.now(UTC))
        application = await rows.application()
        assert application is not None
        key = backoff_id(rows, application.directory_id, person.username)
        return (await rows.get(LoginBackoff, key)).failures


def application_header(house: House) -> dict[str, str]:
    return {"applicationId": house.one.application_id}


NEW = {"name": "Ada", "email": "ada@example.org", "password": PASSWORD}


async def test_registered_user_can_log_in_only_after_verification(served: House) -> None:
    directory = (await served.one.run("account", account_id=served.one.account_id)).directory_id
    body = {
        **NEW,
        "username": " New@One.Example ",
        "applicationId": served.one.application_id,
        "directoryId": directory,
    }
    registered = (await post(served, "/register", {}, **body)).json()
    names = {"userId", "applicationId", "applications", "status", "active", "cultureCode", "createdAt", "updatedAt"}
    assert set(registered) == names
    assert (registered["status"], registered["active"]) == ("unverified", True)
    (application,) = registered["applications"]
    assert set(application) == {"active", "accountId", "applicationId"}
    assert (application["active"], application["applicationId"]) == (False, served.one.application_id)
    person = Person(served, "new@one.example", registered["userId"], application["accountId"])
    assert (await person.log_in()).status_code == 401
    assert (await served.call("GET", "/account", person.basic)).status_code == 401
    code = await people.verification_code(served.one, person.who)
    assert len(code) == 6
    assert code.isdigit()
    verified = await put(
        served, "/user/verify", application_header(served), username=person.username, password=PASSWORD, token=code
    )
    assert verified.json() == {"valid": True, "userId": registered["userId"], "status": "active"}
    assert (await person.log_in()).status_code == 200
    again = await put(
        served, "/user/verify", application_header(served), username=person.username, password=PASSWORD, token=code
    )
    assert (again.status_code, again.json()["error"]) == (400, "incorrect elements -token")


async def test_code_is_stored_only_as_a_digest_and_encrypted_in_its_mail(served: House) -> None:
    user = await people.registered(served.one)
    response = await post(
        served, "/user/verify", application_header(served), username=user["username"], password=PASSWORD
    )
    assert (response.status_code, response.json()) == (200, {"valid": True})
    code = await people.verification_code(served.one, user)
    async with served.gateway.database.session(EVERYTHING) as session:
        result = await session.execute(select(OneTimeCode), execution_options=SCOPED_OPTION)
        (stored,) = [code_row for code_row in result.scalars() if code_row.user_id == user["userId"]]
    assert code not in (stored.purpose, stored.digest.decode("latin-1"))
    assert stored.expires_at - stored.created_at == timedelta(hours=1)
    (mail,) = await people.account_mails(served.one, user["accountId"])
    assert mail.secret is not None
    assert is_encrypted(mail.secret)
    assert mail.name == "account.verify"


async def test_code_is_invalid_after_five_wrong_attempts(served: House) -> None:
    user = await people.registered(served.one)
    code = await people.verification_code(served.one, user)
    body = {"username": user["username"], "password": PASSWORD}
    wrong = "0000" if code != "0000" else "0001"
    for _ in range(5):
        assert (await put(served, "/user/verify", application_header(served), **body, token=wrong)).status_code == 400
    assert (await put(served, "/user/verify", application_header(served), **body, token=code)).status_code == 400
    newer = await people.verification_code(served.one, user)
    assert (await put(served, "/user/verify", application_header(served), **body, token=newer)).status_code == 200


async def test_expired_code_and_wrong_password_give_the_same_error(served: House) -> None:
    user = await people.registered(served.one)
    code = await people.verification_code(served.one, user)
    body = {"username": user["username"], "token": code}
    no_password = await put(served, "/user/verify", application_header(served), **body, password="a wrong one")
    async with served.gateway.database.session(EVERYTHING) as session:
        await session.execute(
            update(OneTimeCode)
            .where(OneTimeCode.user_id == user["userId"])  # type: ignore[arg-type]
            .values(expires_at=datetime.now(UTC) - timedelta(seconds=1)),
            execution_options=SCOPED_OPTION,
        )
        await session.commit()
    too_old = await put(served, "/user/verify", application_header(served), **body, password=PASSWORD)
    for refused in (no_password, too_old):
        assert (refused.status_code, refused.json()["description"]) == (400, "The code is wrong or has expired.")


async def test_account_gets_at_most_five_codes_an_hour(timed: Timed) -> None:
    tenant = timed.house.one
    user = await people.registered(tenant)
    for _ in range(MAX_OPEN_CODES + 1):
        timed.pass_time(timedelta(minutes=2))
        await people.anonymously(
            tenant, registration.request_verification, username=user["username"], password=PASSWORD
        )
    assert len(await people.account_mails(tenant, user["accountId"])) == MAX_OPEN_CODES
    timed.pass_time(timedelta(hours=1))
    await people.anonymously(tenant, registration.request_verification, username=user["username"], password=PASSWORD)
    assert len(await people.account_mails(tenant, user["accountId"])) == MAX_OPEN_CODES + 1


async def test_code_of_the_registration_stays_valid_for_a_minute(timed: Timed) -> None:
    tenant = timed.house.one
    user = await people.registered(tenant)
    first = await people.verification_code(tenant, user)
    assert len(await people.account_mails(tenant, user["accountId"])) == 1
    timed.pass_time(timedelta(minutes=1, seconds=1))
    await people.verification_code(tenant, user)
    replaced, newest = await people.account_mails(tenant, user["accountId"])
    assert (replaced.secret, newest.secret is None) == (None, False)
    with pytest.raises(BadInput):
        await people.anonymously(
            tenant, registration.verify_user, username=user["username"], password=PASSWORD, token=first
        )


@pytest.mark.parametrize("path", ["/user/verify", "/user/resetpassword"])
async def test_requesting_a_code_does_not_reveal_whether_an_account_exists(
    served: House, person: Person, path: str
) -> None:
    for username in (person.username, "nobody@one.example"):
        answer = await post(served, path, application_header(served), username=username, password="some password")
        assert (answer.status_code, answer.json()) == (200, {"valid": True})


async def test_invalid_registrations_are_rejected(served: House) -> None:
    taken = {**NEW, "username": served.one.username}
    assert (await post(served, "/register", application_header(served), **taken)).status_code == 409
    for change, element in (
        ({"directoryId": "another"}, "directoryId"),
        ({"email": "not an address"}, "email"),
        ({"password": "short"}, "password"),
        ({"username": "  "}, "username"),
        ({"username": f"{served.one.username}\u200b"}, "username"),
        ({"username": served.one.user_id}, "username"),
        ({"applicationId": "unknown"}, "applicationId"),
    ):
        refused = await post(
            served, "/register", application_header(served), **{**NEW, "username": "x@one.example", **change}
        )
        assert (refused.status_code, refused.json()["error"]) == (400, f"incorrect elements -{element}")
    response = await served.call(
        "GET", "/user", served.one.headers["application"], params={"username": "x@one.example"}
    )
    assert response.status_code == 404


async def test_reset_token_works_once_and_ends_all_logins(served: House, person: Person) -> None:
    before = await person.token()
    user = person.who
    token = await people.reset_token(served.one, user)
    await people.reset_token(served.one, user)  # another token does not invalidate the first
    body = {"username": person.username, "newPassword": "battery staple"}
    weak = await put(
        served, "/user/resetpassword", application_header(served), **{**body, "newPassword": "short"}, token=token
    )
    assert (weak.status_code, weak.json()["error"]) == (400, "weak new password")
    assert weak.json()["problems"] == [WEAK_PASSWORD]
    forged = await put(served, "/user/resetpassword", application_header(served), **body, token="forged")
    assert (forged.status_code, forged.json()["error"]) == (400, "incorrect elements -token")
    others = await put(
        served,
        "/user/resetpassword",
        application_header(served),
        **{**body, "username": served.one.username},
        token=token,
    )
    assert others.status_code == 400
    done = await put(served, "/user/resetpassword", application_header(served), **body, token=token)
    assert done.json() == {"valid": True}
    assert (await served.call("GET", "/auth", before)).status_code == 401
    assert (await person.log_in()).status_code == 401
    assert (await person.log_in("battery staple")).status_code == 200
    assert (
        await put(served, "/user/resetpassword", application_header(served), **body, token=token)
    ).status_code == 400


async def test_changing_the_password_ends_all_other_tokens(served: House, person: Person) -> None:
    mine, other = await person.token(), await person.token()
    wrong = await post(served, "/account/changepassword", mine, oldPassword="wrong", newPassword="battery staple")
    assert (wrong.status_code, wrong.json()["error"]) == (400, "incorrect elements -oldPassword")
    weak = await post(served, "/account/changepassword", mine, oldPassword=PASSWORD, newPassword="short")
    assert (weak.status_code, weak.json()["error"]) == (400, "weak new password")
    assert weak.json()["problems"] == [WEAK_PASSWORD]
    change = 'mutation($old: String!) { changePassword(oldPassword: $old, newPassword: "short") { ...Refused } }'
    (error,) = refusals(await served.graphql(change, mine, old=PASSWORD))
    assert error["problems"] == [WEAK_PASSWORD]
    missing = await post(served, "/account/changepassword", mine, oldPassword=PASSWORD)
    assert missing.json()["error"] == "missing elements -newPassword"
    done = await post(served, "/account/changepassword", mine, oldPassword=PASSWORD, newPassword="battery staple")
    assert done.json() == {"valid": True}
    assert (await served.call("GET", "/auth", mine)).status_code == 200
    assert (await served.call("GET", "/auth", other)).status_code == 401
    assert (await person.log_in("battery staple")).status_code == 200


async def test_login_must_wait_after_five_wrong_passwords(served: House, person: Person) -> None:
    for _ in range(5):
        assert (await person.log_in("wrong")).status_code == 401
    refused = await person.log_in()
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert refused.json()["valid"] is False
    assert 1 <= refused.json()["retryAfter"] <= 3
    assert refused.headers["Retry-After"] == str(refused.json()["retryAfter"])
    by_basic = await served.call("GET", "/account", person.basic)
    assert (by_basic.status_code, by_basic.json()["code"]) == (429, "RATE_LIMITED")
    response = await served.graphql("{ viewer { accounts { edges { node { username } } } } }", person.basic)
    assert refusal_of(response)["retryAfter"] >= 1
    await age_failures(served, timedelta(seconds=3))
    assert (await person.log_in("wrong")).status_code == 401  # the sixth failure doubles the wait
    assert (await person.log_in()).json()["retryAfter"] > 2
    await age_failures(served, timedelta(minutes=15))
    assert (await person.log_in()).status_code == 200
    assert (await person.log_in("wrong")).status_code == 401
    assert (await person.log_in()).status_code == 200  # the count was reset


async def test_wrong_basic_passwords_count_for_the_backoff(served: House, person: Person) -> None:
    wrong = Person(served, person.username, person.user_id, person.account_id, password="wrong")
    record = await served.one.run("account", account_id=person.account_id)
    for _ in range(5):
        assert (await served.call("GET", "/account", wrong.basic)).status_code == 401
    assert (await person.log_in()).status_code == 429
    assert (await served.one.run("account", account_id=person.account_id)).updated_at == record.updated_at
    await age_failures(served, timedelta(minutes=15))
    assert (await served.call("GET", "/account", person.basic)).status_code == 200
    for _ in range(5):
        assert (await served.call("GET", "/account", wrong.basic)).status_code == 401  # the count began again


def test_backoff_doubles_with_each_failure_up_to_15_minutes() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def wait(failures: int) -> int | None:
        try:
            enforce_login_backoff(failures, now, now)
        except RateLimited as error:
            return error.retry_after
        return 0

    assert [wait(count) for count in (0, 4, 5, 6, 7, 13, 14, 10_000)] == [0, 0, 3, 5, 9, 513, 901, 901]
    enforce_login_backoff(5, now, now + timedelta(seconds=2))  # does not raise
    enforce_login_backoff(20, now + timedelta(days=1), now)  # the clock was ahead before


async def test_user_is_added_found_by_name_and_deleted_with_all_accounts(served: House) -> None:
    application = served.one.headers["application"]
    added = await post(served, "/user", application, username=" Grace@One.Example ", password=PASSWORD)
    record = added.json()
    assert (record["status"], record["active"], record["applications"][0]["active"]) == ("active", True, True)
    second = await post(
        served, "/account", application, username="second@one.example", userId=record["userId"], password=PASSWORD
    )
    found = (await served.call("GET", "/user", application, params={"username": "GRACE@one.example"})).json()
    assert [entry["accountId"] for entry in found["applications"]] == [
        record["applications"][0]["accountId"],
        second.json()["accountId"],
    ]
    assert (await served.call("GET", f"/user/{record['userId']}", application)).json() == found
    persons = [Person(served, name, record["userId"], "") for name in ("grace@one.example", "second@one.example")]
    tokens = [await person.token() for person in persons]
    deleted = await served.call("DELETE", f"/user/{record['userId']}", served.one.headers["administrator"])
    assert deleted.json() == {"valid": True}
    for person, token in zip(persons, tokens, strict=True):
        assert (await served.call("GET", "/auth", token)).status_code == 401
        assert (await person.log_in()).status_code == 401
    closed = (await served.call("GET", f"/user/{record['userId']}", application)).json()
    assert (closed["status"], closed["active"]) == ("inactive", False)
    assert not any(entry["active"] for entry in closed["applications"])
    acting = {**application, "userId": record["userId"]}
    assert (await served.call("GET", "/virtualentity", acting)).status_code == 403


def test_lookups_need_the_permission_of_the_operations_that_they_combine() -> None:
    assert lookups.find_user.needs is users.user.needs is users.user_by_username.needs
    by_key = (devices.device, devices.discover, devices.resource_device)
    assert {operation.needs for operation in by_key} == {lookups.find_device.needs}


async def test_user_sees_only_themselves(served: House, person: Person) -> None:
    mine = await person.token()
    assert (await served.call("GET", f"/user/{person.user_id}", mine)).json()["userId"] == person.user_id
    by_name = await served.call("GET", "/user", mine, params={"username": person.username})
    assert by_name.json()["userId"] == person.user_id
    assert (await served.call("GET", f"/user/{served.one.user_id}", mine)).status_code == 404
    by_name = await served.call("GET", "/user", mine, params={"username": served.one.username})
    assert by_name.status_code == 404
    assert (await served.call("DELETE", f"/user/{person.user_id}", mine)).status_code == 403
    assert (await put(served, f"/user/{served.one.user_id}/username", mine, username="x")).status_code == 404


async def test_renaming_a_user_renames_the_oldest_account(served: House, person: Person) -> None:
    mine, path = await person.token(), f"/user/{person.user_id}/username"
    second = f"second-{person.user_id}"
    new_account = NewAccount(username=second, user_id=ID(person.user_id), password=PASSWORD)
    other = await served.one.run("add_account", input=new_account)
    for number in range(3):
        name = f"{number}-{person.user_id}"
        assert (await put(served, path, mine, username=name)).json() == {"valid": True}
        assert (await served.one.run("account", account_id=person.account_id)).username == name
        assert (await served.one.run("account", account_id=other.account_id)).username == second


async def test_username_can_change_unless_taken_but_status_cannot(served: House, person: Person) -> None:
    mine, path = await person.token(), f"/user/{person.user_id}/username"
    assert (await put(served, path, mine, username=served.one.username, status="active")).status_code == 409
    assert (await put(served, path, mine, username=served.one.user_id)).status_code == 400
    refused = await put(served, path, mine, username="new-name@one.example", status="inactive")
    assert (refused.status_code, refused.json()["error"]) == (400, "incorrect elements -status")
    name = f" Renamed-{person.user_id} "
    assert (await put(served, path, mine, username=name, status="active")).json() == {"valid": True}
    assert (await person.log_in()).status_code == 401
    person.username = name.strip().lower()
    assert (await person.log_in()).status_code == 200


async def test_account_status_has_the_dates_of_the_token(served: House, person: Person) -> None:
    path = f"/account/{person.account_id}/status"
    none = (await served.call("GET", path, served.one.headers["application"])).json()
    assert none["directory"] == {
        "data": {"tokenIssueDate": None, "tokenExpiryDate": None},
        "valid": False,
        "reason": "The account has no valid token.",
    }
    first = await person.token()
    of_call = (await served.call("GET", "/account/status", first)).json()
    assert set(of_call) == {
        *("status", "active", "accountId", "applicationId", "directoryId", "createdAt", "updatedAt", "directory")
    }
    assert (of_call["accountId"], of_call["status"], of_call["active"]) == (person.account_id, "active", True)
    assert (of_call["directory"]["valid"], of_call["directory"]["reason"]) == (True, None)
    issued, expires = (
        datetime.fromisoformat(of_call["directory"]["data"][name]) for name in ("tokenIssueDate", "tokenExpiryDate")
    )
    assert abs(expires - issued - timedelta(days=7)) < timedelta(minutes=1)
    assert (await served.call("GET", path, served.one.headers["administrator"])).json() == of_call
    assert (await served.call("GET", path, first)).status_code == 403
    assert (await served.call("GET", "/account/status", served.one.headers["application"])).status_code == 403


async def test_name_and_email_change_and_invalidate_earlier_codes(served: House, person: Person) -> None:
    mine = await person.token()
    token = await people.reset_token(served.one, person.who)
    assert (await post(served, "/account/name", mine, name="Grace")).json() == {"valid": True}
    assert (await post(served, "/account/email", mine, email=" grace@example.org ")).json() == {"valid": True}
    account = (await served.call("GET", f"/account/{person.account_id}", mine)).json()
    assert (account["name"], account["email"]) == ("Grace", person.username)
    code = await people.newest_code(served.one, person.account_id, CONFIRM_EMAIL)
    confirmed = await put(served, "/account/email", application_header(served), token=code)
    assert confirmed.json() == {"valid": True}
    account = (await served.call("GET", f"/account/{person.account_id}", mine)).json()
    assert account["email"] == "grace@example.org"
    body = {"username": person.username, "token": token, "newPassword": "battery staple"}
    assert (await put(served, "/user/resetpassword", application_header(served), **body)).status_code == 400
    refused = await post(served, "/account/email", mine, email="nowhere")
    assert (refused.status_code, refused.json()["error"]) == (400, "incorrect elements -email")
    none = await post(served, "/account/name", served.one.headers["acting"], name="Grace")
    assert (none.status_code, none.json()["code"]) == (403, "FORBIDDEN")


async def test_push_tokens_are_added_once_and_removed(served: House, person: Person) -> None:
    mine, path = await person.token(), f"/account/{person.account_id}/mobileapptoken"
    for _ in range(2):
        assert (await post(served, path, mine, newToken="fcm:abc")).json() == {"valid": True}
    assert (await post(served, path, mine, newToken="fcm:def")).status_code == 200
    assert await push_tokens(served, person) == ["fcm:abc", "fcm:def"]
    assert (await put(served, path, mine, removeToken="fcm:abc")).json() == {"valid": True}
    assert await push_tokens(served, person) == ["fcm:def"]
    assert (await post(served, path, mine, newToken=" ")).status_code == 400
    of_other = f"/account/{served.one.account_id}/mobileapptoken"
    assert (await post(served, of_other, mine, newToken="fcm:ghi")).status_code == 404


async def push_tokens(house: House, person: Person) -> list[str]:
    return await stored_push_tokens(house.gateway.database, person.account_id)


async def test_profile_is_a_json_object_under_a_name(served: House, person: Person) -> None:
    mine = await person.token()
    assert (await served.call("GET", "/accountprofile", mine)).json() == {
        "accountId": person.account_id,
        "profileNames": [],
    }
    stored = await post(served, "/accountprofile", mine, profileName="Settings", dark=True, sizes=[1, {"of": "tiles"}])
    assert stored.json() == {"status": "OK", "profileName": "Settings", "devUserId": person.user_id}
    await post(served, "/accountprofile", mine, profileName="DashBoard")
    settings = (await served.call("GET", "/accountprofile/Settings", mine)).json()
    assert settings == {"profileName": "Settings", "dark": True, "sizes": [1, {"of": "tiles"}]}
    await post(served, "/accountprofile", mine, profileName="Settings", dark=False)
    settings = (await served.call("GET", "/accountprofile/Settings", mine)).json()
    assert settings == {"profileName": "Settings", "dark": False}
    names = (await served.call("GET", "/accountprofile", mine)).json()["profileNames"]
    assert names == ["DashBoard", "Settings"]
    for headers in (mine, served.one.headers["account"], served.one.headers["administrator"]):
        assert (await served.call("GET", "/accountprofile/Nothing", headers)).status_code == 404
    theirs = await served.call("GET", "/accountprofile/DashBoard", served.one.headers["administrator"])
    assert theirs.status_code == 404


async def test_session_update_keeps_other_members(served: House, person: Person) -> None:
    mine = await person.token()
    assert (await served.call("GET", "/accountsession", mine)).json() == {}
    assert (await put(served, "/accountsession", mine, page="today", step=1)).json() == {"page": "today", "step": 1}
    changed = await put(served, "/accountsession", mine, step=None, home={"id": 7})
    assert changed.json() == {"page": "today", "step": None, "home": {"id": 7}}
    assert (await served.call("GET", "/accountsession", mine)).json() == changed.json()
    large = await put(served, "/accountsession", mine, text="x" * profiles.MAX_OBJECT_BYTES)
    assert (large.status_code, large.json()["code"]) == (413, "TOO_LARGE")
    half = "x" * (profiles.MAX_OBJECT_BYTES // 2)
    assert (await put(served, "/accountsession", mine, one=half)).status_code == 200
    assert (await put(served, "/accountsession", mine, two=half)).status_code == 413


async def test_failed_login_is_counted_and_failed_registration_is_rolled_back(served: House, person: Person) -> None:
    await person.log_in("wrong")
    assert await failures_of(served, person) == 1
    taken = {**NEW, "username": served.one.username}
    async with served.gateway.database.reader(EVERYTHING) as session:
        before = (await session.execute(text("select count(*) from app_user"))).scalar_one()
    await post(served, "/register", application_header(served), **taken)
    async with served.gateway.database.reader(EVERYTHING) as session:
        assert (await session.execute(text("select count(*) from app_user"))).scalar_one() == before


async def test_closing_an_account_deletes_its_codes_and_tokens(served: House, person: Person) -> None:
    await person.token()
    await people.reset_token(served.one, person.who)
    await served.call("DELETE", f"/account/{person.account_id}", served.one.headers["application"])
    async with served.gateway.database.session(EVERYTHING) as session:
        for model in (Token, OneTimeCode):
            result = await session.execute(select(model), execution_options=SCOPED_OPTION)
            assert person.account_id not in {row.account_id for row in result.scalars()}  # type: ignore[attr-defined]


async def test_simultaneous_wrong_passwords_are_all_counted(served: House, person: Person) -> None:
    answers = await asyncio.gather(*(person.log_in("wrong") for _ in range(12)))
    wrong = [answer.status_code for answer in answers].count(401)
    assert {answer.status_code for answer in answers} <= {401, 429}
    assert await failures_of(served, person) == wrong
    assert (await person.log_in()).status_code == 429
