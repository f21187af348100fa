"""Logging in and out, over GraphQL and REST."""

from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import select
from sqlmodel import col

from tests.support import people
from tests.support.house import PASSWORD, House, basic
from tests.support.passwords import gateway_cost
from tests.support.refusals import refusal_of
from tests.support.scopes import EVERYTHING
from wattgate.db.identity.passwords import decoy_hash, hash_password, password_matches
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.models import Account, ApplicationCredential, Token
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

LOG_IN = """
mutation ($app: ID, $user: String!, $password: String!) {
  authenticate(applicationId: $app, username: $user, password: $password) {
      ... on Login { valid token expiresAt accountId applicationId }
      ...Refused }
}
"""


async def test_application_can_be_given_in_the_header_or_in_the_body(served: House) -> None:
    one = served.one
    body = {"username": one.username, "password": PASSWORD}
    by_header = await served.call("POST", "/auth", {"applicationID": one.application_id}, json={**body, "-d": ""})
    by_body = await served.call("POST", "/auth", {}, json={**body, "applicationId": one.application_id})
    for answer in (by_header, by_body):
        assert answer.status_code == 200
        login = answer.json()
        assert login["valid"] is True
        assert (login["accountId"], login["applicationId"]) == (one.account_id, one.application_id)
        assert (login["userGroups"], login["functionalGroupAccounts"], login["isTempAuth"]) == ([], [], False)
        week = datetime.now(UTC) + timedelta(days=7)
        assert abs(login["exp"] - week.timestamp()) < 60


@pytest.mark.parametrize("path", ["/auth", "/auth/", "//auth", "/auth//"])
async def test_trailing_and_double_slashes_are_served_without_a_redirect(served: House, path: str) -> None:
    body = {"username": served.one.username, "password": PASSWORD, "applicationId": served.one.application_id}
    assert (await served.call("POST", path, {}, json=body)).status_code == 200


async def test_usernames_are_compared_trimmed_and_in_lower_case(served: House) -> None:
    body = {"username": f"  {served.one.username.upper()} ", "password": PASSWORD}
    answer = await served.call("POST", "/auth", {"applicationId": served.one.application_id}, json=body)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("username", "password", "application"),
    [
        ("user@one.example", "wrong", "one"),
        ("nobody@one.example", PASSWORD, "one"),
        ("user@one.example", PASSWORD, "other"),
        ("user@one.example", PASSWORD, "unknown"),
    ],
)
async def test_failed_login_does_not_reveal_the_reason(
    served: House, username: str, password: str, application: str
) -> None:
    ids = {"one": served.one.application_id, "other": served.other.application_id}
    application_id = ids.get(application, "no such application")
    answer = await served.call(
        "POST", "/auth", {"applicationId": application_id}, json={"username": username, "password": password}
    )
    assert answer.status_code == 401
    body = answer.json()
    assert (body["valid"], body["error"]) == (False, "the username or the password is wrong")
    response = await served.graphql(LOG_IN, {}, app=application_id, user=username, password=password)
    assert refusal_of(response)["code"] == "UNAUTHENTICATED"


async def test_login_without_an_application_names_the_missing_argument(served: House) -> None:
    body = {"username": served.one.username, "password": PASSWORD}
    answer = await served.call("POST", "/auth", {}, json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "missing elements -applicationId")


@pytest.mark.parametrize("header", ["token", "Token", "Authorization"])
async def test_token_is_accepted_in_the_header_token_or_as_bearer(served: House, header: str) -> None:
    token = await served.one.add_token()
    value = f"Bearer {token}" if header == "Authorization" else token
    answer = await served.call("GET", "/auth", {header: value})
    assert answer.status_code == 200
    assert answer.json()["accountId"] == served.one.account_id


async def test_new_token_leaves_the_old_one_valid(served: House) -> None:
    old = await served.one.add_token()
    new = (await served.call("GET", "/auth/newToken", {"token": old})).json()
    assert new["valid"] is True
    for token in (old, new["token"]):
        assert (await served.call("GET", "/auth", {"token": token})).status_code == 200


async def test_deleted_token_is_invalid(served: House) -> None:
    token = await served.one.add_token()
    answer = await served.call("DELETE", "/auth/deleteToken", {"token": token})
    assert answer.json() == {"valid": True}
    again = await served.call("DELETE", "/auth/deleteToken", {"token": token})
    assert (again.status_code, again.json()["valid"]) == (401, False)


async def test_deleting_the_token_of_a_basic_call_is_rejected(served: House) -> None:
    answer = await served.call("DELETE", "/auth/deleteToken", served.one.headers["account basic"])
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")


async def test_listed_token_can_be_revoked(served: House) -> None:
    who = (await people.active(served.one))["username"]
    body = {"username": who, "password": PASSWORD, "applicationId": served.one.application_id}
    mine = (await served.call("POST", "/auth", {}, json=body)).json()["token"]
    before = (await served.call("GET", "/auth/token", {"token": mine})).json()
    stolen = (await served.call("POST", "/auth", {}, json=body)).json()["token"]
    listed = (await served.call("GET", "/auth/token", {"token": mine})).json()
    assert stolen not in str(listed)
    (new_id,) = {token["tokenId"] for token in listed} - {token["tokenId"] for token in before}
    answer = await served.call("DELETE", f"/auth/token/{new_id}", {"token": mine})
    assert (answer.status_code, answer.json()) == (200, [{"valid": True}])
    assert (await served.call("GET", "/auth", {"token": stolen})).status_code == 401


async def test_expired_token_is_rejected(served: House) -> None:
    token = await served.one.add_token()
    async with served.gateway.database.session(EVERYTHING) as session:
        record = (
            await session.execute(
                select(Token).where(col(Token.digest) == hash_secret(token)), execution_options=SCOPED_OPTION
            )
        ).scalar_one()
        record.expires_at = datetime.now(UTC) - timedelta(seconds=1)
        await session.commit()
    answer = await served.call("GET", "/virtualentity", {"token": token})
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert "WWW-Authenticate" in answer.headers
    response = await served.graphql("{ viewer { homes { edges { node { name } } } } }", {"token": token})
    assert refusal_of(response)["code"] == "UNAUTHENTICATED"


async def test_token_with_the_id_of_another_application_is_rejected(served: House) -> None:
    headers = {**served.one.headers["account"], "applicationId": served.other.application_id}
    assert (await served.call("GET", "/virtualentity", headers)).status_code == 401


async def test_closed_account_is_logged_out_immediately(served: House) -> None:
    username = "leaving@one.example"
    account_id = await served.one.add_account(username)
    body = {"username": username, "password": PASSWORD, "applicationId": served.one.application_id}
    token = (await served.call("POST", "/auth", {}, json=body)).json()["token"]
    closed = await served.call("DELETE", f"/account/{account_id}", served.one.headers["application"])
    assert closed.json()["status"] == "inactive"
    assert (await served.call("GET", "/auth", {"token": token})).status_code == 401
    assert (await served.call("POST", "/auth", {}, json=body)).status_code == 401


async def test_application_sees_all_users_or_only_the_user_it_acts_for(served: House) -> None:
    for headers, more_than_own in ((served.one.headers["application"], True), (served.one.headers["acting"], False)):
        accounts = (await served.call("GET", "/account", headers)).json()
        users = {account["userId"] for account in accounts}
        assert (users != {served.one.user_id}) is more_than_own
    unknown = {**served.one.headers["application"], "userId": served.other.user_id}
    assert (await served.call("GET", "/account", unknown)).status_code == 403


@pytest.mark.parametrize(
    "authorization", ["Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Basic /////w==", "Digest x", "Bearer"]
)
async def test_malformed_credentials_are_rejected(served: House, authorization: str) -> None:
    answer = await served.call("GET", "/virtualentity", {"Authorization": authorization})
    assert answer.status_code == 401


async def test_only_the_specified_scheme_is_accepted(served: House) -> None:
    assert (await served.call("GET", "/faq", served.one.headers["account"])).status_code == 403
    assert (await served.call("GET", "/faq", served.one.headers["account basic"])).status_code == 200
    by_basic = await served.call("GET", f"/webhook/{served.one.ids['webhook']}", served.one.headers["application"])
    assert by_basic.status_code == 403


@pytest.mark.parametrize("caller", ["application", "administrator", "account"])
async def test_both_interfaces_let_the_same_callers_add_a_resource_type(served: House, caller: str) -> None:
    headers = served.one.headers[caller]
    field = {"fieldName": "GEN", "unit": "kWh", "datatype": "fixedpoint(2)"}
    storage = {"type": "timeseries", "sampling": "regular", "start": "2014-01-06T00:00:00Z", "fields": [field]}
    new_type = {"name": "heat", "classifier": "heat.consumption", "storage": [storage]}
    rest = await served.call("POST", "/resourcetype", headers, json=new_type)
    mutation = (
        "mutation($input: NewResourceType!) { createResourceType(input: $input) {"
        " ... on ResourceType { resourceTypeId } ...Refused } }"
    )
    graphql = await served.graphql(mutation, headers, input=new_type)
    if caller == "account":
        assert rest.status_code == 403
        assert refusal_of(graphql)["code"] == "FORBIDDEN"
    else:
        assert (rest.status_code, rest.json()["status"]) == (200, "OK")
        assert graphql["data"]["createResourceType"]["resourceTypeId"]


async def test_passwords_tokens_and_secrets_are_stored_as_hashes(served: House) -> None:
    token = await served.one.add_token()
    async with served.gateway.database.reader(EVERYTHING) as session:
        tokens = (await session.execute(select(col(Token.digest)), execution_options=SCOPED_OPTION)).scalars().all()
        hashes = (
            (await session.execute(select(col(Account.password_hash)), execution_options=SCOPED_OPTION)).scalars().all()
        )
        secrets = (await session.execute(select(col(ApplicationCredential.secret_digest)))).scalars().all()
    assert token.encode() not in tokens
    assert hash_secret(token) in tokens
    assert all(stored.startswith("$argon2id$v=19$") for stored in hashes if stored)
    assert all(len(stored) == 32 for stored in secrets)


async def test_unknown_account_takes_as_long_as_an_existing_one() -> None:
    with gateway_cost():
        stored, decoy = await hash_password(PASSWORD), decoy_hash()
        assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
        assert extract_parameters(decoy) == extract_parameters(stored)
        assert await password_matches(stored, PASSWORD)
        assert not await password_matches(None, PASSWORD)
        with pytest.raises(VerifyMismatchError):  # the decoy is a valid hash, so the check takes as long
            PasswordHasher().verify(decoy, PASSWORD)


async def test_short_password_is_rejected(served: House) -> None:
    body = {"username": "short@one.example", "userId": served.one.user_id, "password": "short"}
    answer = await served.call("POST", "/account", served.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -password")
    assert answer.json()["description"] == "The new password is too weak. Use at least 8 characters."


async def test_taken_username_is_a_conflict(served: House) -> None:
    body = {"username": served.one.username, "userId": served.one.user_id}
    answer = await served.call("POST", "/account", served.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


async def test_basic_password_may_contain_a_colon(served: House) -> None:
    username, password = "colon@one.example", "pass:word:long"
    body = {"username": username, "userId": served.one.user_id, "password": password}
    await served.call("POST", "/account", served.one.headers["application"], json=body)
    headers = {**basic(username, password), "applicationId": served.one.application_id}
    assert (await served.call("GET", "/auth", headers)).json()["exp"] is None
