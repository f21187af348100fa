"""External directories: log in with their tokens, and ask whether a token is still valid, over GraphQL and REST."""

import asyncio
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from sqlalchemy import text

from tests.support import people
from tests.support.house import PASSWORD, House, Tenant, house
from tests.support.openid import (
    EC_KEY,
    ED_KEY,
    LOOPBACK,
    ChosenProvider,
    RealProvider,
    chosen_provider,
    new_directory,
    real_provider,
    rsa_key,
    to_base64,
    weak_key,
)
from tests.support.refusals import refusal_of
from tests.support.servers import ON_POSTGRESQL_ONLY, ON_SQLITE_ONLY, Databases
from wattgate.db import models
from wattgate.db.encryption.key_ring import is_encrypted
from wattgate.principal import Permission, Principal, Role

LOG_IN = """
mutation ($directory: ID, $token: String, $access: String) {
  authenticate(directoryId: $directory, directoryToken: $token, accessToken: $access) {
      ... on Login { token expiresAt accountId name }
      ...Refused }
}
"""
STATUS = "{ ownAccountStatus { accountId active directory { valid reason data { tokenExpiryDate } } } }"
FAR, PAST = timedelta(hours=3), timedelta(minutes=-10)


@pytest.fixture(scope="module")
async def opened(databases: Databases) -> AsyncIterator[House]:
    """A gateway that may reach providers on this machine."""
    async with databases() as url, house(url, **LOOPBACK) as served:
        yield served


@pytest.fixture(scope="module")
def real() -> Any:
    with real_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[ChosenProvider]:
    """A provider that tests do not change."""
    async with chosen_provider() as provider:
        yield provider


@pytest.fixture
async def own() -> AsyncIterator[ChosenProvider]:
    """A provider of one test, which may change it."""
    async with chosen_provider() as provider:
        yield provider


async def add_directory(tenant: Tenant, house: House, issuer: str, **values: Any) -> str:
    answer = await house.call("POST", "/directory", tenant.headers["application"], json=new_directory(issuer, **values))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["directoryId"])


async def by_rest(house: House, directory_id: str, token: str, tenant: Tenant | None = None, **more: str) -> Any:
    headers = {"applicationId": (tenant or house.one).application_id}
    body = {"directoryId": directory_id, "directoryToken": token, **more}
    return await house.call("POST", "/auth", headers, json=body)


async def by_graphql(house: House, directory_id: str, token: str, **more: str) -> Any:
    headers = {"applicationId": house.one.application_id}
    return await house.graphql(LOG_IN, headers, directory=directory_id, token=token, **more)


async def exchange(house: House, directory_id: str, token: str, **more: str) -> dict[str, str]:
    """Exchange a token and return the headers with the one of the gateway."""
    answer = await by_rest(house, directory_id, token, None, **more)
    assert answer.status_code == 200, answer.text
    return {"token": answer.json()["token"]}


def bearer(house: House, token: str) -> dict[str, str]:
    """Return the headers of a question about a token of a directory."""
    return {"Authorization": f"Bearer {token}", "applicationId": house.one.application_id}


async def assert_refused(house: House, directory_id: str, token: str, problem: str, status: int = 401) -> None:
    """Check that both interfaces refuse a token with the same error, and that the status says the same."""
    rest = await by_rest(house, directory_id, token)
    graphql = refusal_of(await by_graphql(house, directory_id, token))
    assert (rest.status_code, rest.json()["code"]) == (status, graphql["code"]), rest.text
    message = rest.json().get("description", rest.json()["error"])
    assert problem in message
    assert message == graphql["message"]


# With a real provider


async def test_user_of_a_real_provider_logs_in_and_sees_the_own_account(opened: House, real: RealProvider) -> None:
    directory_id = await add_directory(opened.one, opened, real.issuer, accountRule="CREATE")
    email = f"{uuid4().hex}@example.org"
    subject = uuid4().hex
    tokens = await real.log_in(subject, name="Ada", email=email, email_verified=True)
    first = await by_rest(opened, directory_id, tokens["id_token"])
    login = first.json()
    assert (first.status_code, login["valid"], login["name"]) == (200, True, "Ada")
    day = datetime.now(UTC) + timedelta(days=1)
    assert abs(login["exp"] - day.timestamp()) < 60
    again = await by_graphql(opened, directory_id, tokens["id_token"])
    assert "has logged in before" in refusal_of(again)["message"]
    newer = await real.log_in(subject, name="Ada again")
    second = (await by_graphql(opened, directory_id, newer["id_token"]))["data"]["authenticate"]
    assert second["accountId"] == login["accountId"]
    (account,) = (await opened.call("GET", "/account", {"token": login["token"]})).json()
    assert (account["directoryId"], account["email"], account["active"]) == (directory_id, email, True)


async def test_status_of_a_token_that_the_real_provider_has_revoked(opened: House, real: RealProvider) -> None:
    directory_id = await add_directory(opened.one, opened, real.issuer, accountRule="CREATE", tokenCheck="USERINFO")
    subject = uuid4().hex
    tokens = await real.log_in(subject, name="Ada")
    headers = await exchange(opened, directory_id, tokens["id_token"], accessToken=tokens["access_token"])
    jwt = {"Authorization": f"Bearer {tokens['id_token']}", "applicationId": opened.one.application_id}
    account_id = (await opened.call("GET", "/auth", headers)).json()["accountId"]
    administrator = f"/account/{account_id}/status", opened.one.headers["administrator"]
    for path, sent in (("/account/status", headers), ("/account/status", jwt), administrator):
        status = (await opened.call("GET", path, sent)).json()
        assert (status["accountId"], status["directory"]["valid"]) == (account_id, True)
        assert status["directory"]["data"]["tokenExpiryDate"] is not None
    await real.revoke_tokens(subject)
    for path, sent in (("/account/status", headers), administrator):
        status = (await opened.call("GET", path, sent)).json()
        assert status["directory"]["valid"] is False
        assert "the directory has rejected it" in status["directory"]["reason"]
        assert status["directory"]["data"] == {"tokenIssueDate": None, "tokenExpiryDate": None}
    presented = await opened.call("GET", "/account/status", jwt)
    assert (presented.status_code, presented.json()["code"]) == (401, "UNAUTHENTICATED")
    again = await by_rest(opened, directory_id, tokens["id_token"], accessToken=tokens["access_token"])
    assert again.status_code == 401


# Tokens that are not valid


@pytest.fixture(scope="module")
async def directory_id(opened: House, shared: ChosenProvider) -> str:
    algorithms = ["RS256", "PS256", "ES256", "EdDSA"]
    return await add_directory(opened.one, opened, shared.issuer, accountRule="CREATE", algorithms=algorithms)


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"aud": "another-app"}, "has another audience (aud)"),
        ({"aud": None}, "has no claim aud"),
        ({"iss": "https://evil.example"}, "has another issuer (iss)"),
        ({"exp": datetime.now(UTC) + PAST}, "has expired"),
        ({"exp": None}, "has no claim exp"),
        ({"exp": "tomorrow"}, "has a claim exp that is not a number of seconds"),
        ({"exp": 1e300}, "has a claim exp that is not a number of seconds"),
        ({"nbf": datetime.now(UTC) + FAR, "exp": datetime.now(UTC) + 2 * FAR}, "is not valid yet"),
        ({"iat": datetime.now(UTC) + FAR, "exp": datetime.now(UTC) + 2 * FAR}, "is not valid yet"),
        ({"iat": 0, "exp": datetime.now(UTC) + FAR}, "is valid for more than 31 days"),
        ({"exp": 2**36}, "is valid for more than 31 days"),
        ({"iat": datetime.now(UTC) - timedelta(hours=25)}, "was issued more than 24 hours ago"),
        ({"azp": "another-app"}, "was issued to another client (azp)"),
        ({"azp": None, "events": {"http://schemas.openid.net/event/backchannel-logout": {}}}, "reports events"),
        ({"events": None, "azp": ["energy-app"]}, "was issued to another client (azp)"),
        ({"sub": None}, "has no claim sub"),
        ({"sub": "x" * 256}, "has a subject (sub) that is not a text of 1 to 255"),
        ({"sub": "a\0b"}, "has a subject (sub) that is not a text of 1 to 255"),
        ({"sub": ""}, "has a subject (sub) that is not a text of 1 to 255"),
    ],
)
async def test_token_with_wrong_claims_is_refused(
    opened: House, shared: ChosenProvider, directory_id: str, changed: dict[str, Any], problem: str
) -> None:
    await assert_refused(opened, directory_id, shared.sign(**changed), problem)


@ON_SQLITE_ONLY
async def test_forged_token_is_refused(opened: House, shared: ChosenProvider, directory_id: str) -> None:
    stranger = rsa_key(1)
    unsigned = shared.forge({"alg": "none", "typ": "JWT"})
    hs256 = shared.forge(
        {"alg": "HS256", "typ": "JWT", "kid": "first"},
        sign=lambda text: hmac.digest(shared.public_pem(), text, "sha256"),
    )
    for token, problem in (
        (unsigned, "has the algorithm 'none'"),
        (shared.forge({"alg": "nOnE"}), "has the algorithm 'nOnE'"),
        (hs256, "has the algorithm 'HS256'"),
        (shared.sign(algorithm="RS512"), "has the algorithm 'RS512'"),
        (shared.sign(key=stranger), "is not signed by a key of the directory"),
        (shared.sign("unknown", key=stranger), "is not signed by a key of the directory"),
        (shared.sign(None, key=stranger), "is not signed by a key of the directory"),
        (shared.sign(algorithm="ES256", key=EC_KEY), "is not signed by a key of the directory"),
        (shared.sign(kind="logout+jwt"), "has the type 'logout+jwt'"),
        (shared.forge({"alg": "RS256", "crit": ["b64"], "b64": True}), "has critical extensions"),
        (shared.forge({"alg": "RS256", "crit": ["exp"], "exp": 1}), "is not a JSON Web Token"),
        (shared.forge({"alg": "RS256", "b64": False}), "is not a JSON Web Token"),
        (shared.sign()[:-8] + "AAAAAAAA", "is not signed by a key of the directory"),
    ):
        await assert_refused(opened, directory_id, token, problem)


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    "token", ["", "x", "a.b.c", "ey.ey.ey", "eyJhbGciOiJSUzI1NiJ9", "eyJhbGciOiJSUzI1NiJ9.e30", "ey" + "." * 50]
)
async def test_malformed_token_is_refused(opened: House, directory_id: str, token: str) -> None:
    rest = await by_rest(opened, directory_id, token)
    assert (rest.status_code, rest.json()["code"]) == (401, "UNAUTHENTICATED"), rest.text


@ON_SQLITE_ONLY
async def test_deeply_nested_token_is_refused(opened: House, shared: ChosenProvider, directory_id: str) -> None:
    nested = b'{"alg":' + b"[" * 3_000 + b"]" * 3_000 + b"}"
    header = to_base64(nested).decode()
    await assert_refused(opened, directory_id, f"{header[:8_000]}.e30.AA", "is not a JSON Web Token")
    payload = b"[" * 3_000 + b"]" * 2_500
    await assert_refused(opened, directory_id, shared.forge({"alg": "RS256"}, payload), "is not signed by a key")
    headers = {"token": f"{header[:4_000]}.{header[:4_000]}.AA", "applicationId": opened.one.application_id}
    assert (await opened.call("GET", "/account/status", headers)).status_code == 401


@ON_SQLITE_ONLY
async def test_oversized_token_is_refused_with_its_size(
    opened: House, shared: ChosenProvider, directory_id: str
) -> None:
    token = shared.sign(groups=["x" * 100] * 150)
    await assert_refused(opened, directory_id, token, f"has {len(token):,} characters; the maximum is 16,384")
    answer = await opened.call("GET", "/account/status", bearer(opened, token))
    assert answer.status_code == 401
    huge = await by_rest(opened, directory_id, "ey" + "A" * 70_000)
    assert huge.status_code == 413


async def test_clock_skew_is_tolerated_up_to_its_bound(opened: House, own: ChosenProvider) -> None:
    now = datetime.now(UTC)
    tolerant = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", clockSkewSeconds=300)
    strict = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", clockSkewSeconds=0)
    expired = own.sign(exp=now - timedelta(seconds=100))
    early = own.sign(nbf=now + timedelta(seconds=200))
    for token in (expired, early):
        assert (await by_rest(opened, tolerant, token)).status_code == 200
        assert (await by_rest(opened, strict, token)).status_code == 401


@ON_SQLITE_ONLY
async def test_allowed_algorithms_are_accepted(opened: House, own: ChosenProvider) -> None:
    own.keys = {"rsa": rsa_key(0), "ec": EC_KEY, "ed": ED_KEY, "weak": weak_key()}
    algorithms = ["RS256", "PS256", "ES256", "EdDSA"]
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", algorithms=algorithms)
    for key_id, algorithm in (("rsa", "RS256"), ("rsa", "PS256"), ("ec", "ES256"), ("ed", "EdDSA")):
        answer = await by_rest(opened, directory, own.sign(key_id, algorithm, kind="at+jwt"))
        assert answer.status_code == 200, answer.text
    weak = own.forge({"alg": "RS256"}, sign=lambda text: weak_key().sign(text, PKCS1v15(), SHA256()))
    await assert_refused(opened, directory, weak, "is not signed by a key of the directory")


# Directories


async def test_unknown_directory_is_refused_everywhere(opened: House, shared: ChosenProvider) -> None:
    tenant, unknown = opened.one, str(uuid4())
    closed = await add_directory(tenant, opened, shared.issuer)
    changed = await opened.call("PUT", f"/directory/{closed}", tenant.headers["application"], json={"active": False})
    assert changed.json()["active"] is False
    other = await add_directory(opened.other, opened, shared.issuer, accountRule="CREATE")
    named = {"applicationId": tenant.application_id}
    who = {"username": f"{uuid4().hex}@example.org", "password": PASSWORD, "email": "a@example.org", "name": "Ada"}
    for directory in (unknown, closed, other):
        calls = [
            ("POST", "/account", tenant.headers["acting"], {"username": who["username"]}),
            ("POST", "/user", tenant.headers["application"], {"username": who["username"]}),
            ("POST", "/auth", named, {"username": tenant.username, "password": PASSWORD}),
            ("POST", "/auth", named, {"directoryToken": shared.sign()}),
            ("POST", "/register", named, who),
            ("POST", "/user/verify", named, {"username": tenant.username, "password": PASSWORD}),
            ("PUT", "/user/verify", named, {"username": tenant.username, "password": PASSWORD, "token": "1234"}),
            ("POST", "/user/resetpassword", named, {"username": tenant.username}),
            ("PUT", "/user/resetpassword", named, {**who, "token": "x", "newPassword": "long enough"}),
        ]
        for method, path, headers, body in calls:
            answer = await opened.call(method, path, headers, json={**body, "directoryId": directory})
            assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -directoryId"), path
        found = await opened.call("GET", f"/user?username=x&directoryId={directory}", tenant.headers["application"])
        assert found.status_code == 400
        add = (
            'mutation ($d: ID) { createUser(input: {username: "new", directoryId: $d}) {'
            " ... on User { userId } ...Refused } }"
        )
        refused = await opened.graphql(add, tenant.headers["application"], d=directory)
        assert refusal_of(refused)["code"] == "BAD_INPUT"


async def test_accounts_of_a_directory_have_no_password(
    opened: House, shared: ChosenProvider, directory_id: str
) -> None:
    tenant = opened.one
    body = {"username": "someone", "directoryId": directory_id}
    answer = await opened.call("POST", "/account", tenant.headers["acting"], json={**body, "password": PASSWORD})
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -password")
    headers = await exchange(opened, directory_id, shared.sign())
    enrolled = await opened.call("POST", "/account/secondfactor", headers, json={"password": PASSWORD})
    assert (enrolled.status_code, enrolled.json()["code"]) == (409, "CONFLICT")
    named = {"applicationId": tenant.application_id}
    for method, path, more in (
        ("POST", "/auth", {"password": PASSWORD}),
        ("POST", "/user/resetpassword", {}),
        ("PUT", "/user/resetpassword", {"token": "x", "newPassword": "long enough"}),
    ):
        answer = await opened.call(method, path, named, json={**body, **more})
        assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -directoryId"), path


async def test_each_application_manages_its_own_directories(opened: House, shared: ChosenProvider) -> None:
    mine = await add_directory(opened.one, opened, shared.issuer)
    path, theirs = f"/directory/{mine}", opened.other.headers["application"]
    assert (await opened.call("GET", path, theirs)).status_code == 404
    assert (await opened.call("PUT", path, theirs, json={"name": "x"})).status_code == 404
    assert mine not in (await opened.call("GET", "/directory", theirs)).text
    assert (await opened.call("GET", path, opened.one.headers["account"])).status_code == 403
    shown = (await opened.call("GET", path, opened.one.headers["administrator"])).json()
    assert (shown["issuer"], shown["accountRule"], shown["algorithms"]) == (shared.issuer, "EXISTING", ["RS256"])
    secret = {"tokenCheck": "INTROSPECTION", "clientId": "gateway", "clientSecret": "hush"}
    changed = await opened.call("PUT", path, opened.one.headers["application"], json=secret)
    assert (changed.status_code, "hush" in changed.text) == (200, False)
    system = Principal(Role.SYSTEM, application_id=opened.one.application_id)
    stored = await opened.gateway.runner.read(system, Permission.SYSTEM, lambda rows: rows.get(models.Directory, mine))
    assert is_encrypted(stored.client_secret)


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"issuer": "https://10.0.0.1"}, "issuer"),
        ({"issuer": "ftp://id.example"}, "issuer"),
        ({"issuer": "https://id.example/?tenant=1"}, "issuer"),
        ({"issuer": "https://me:secret@id.example"}, "issuer"),
        ({"audiences": []}, "audiences"),
        ({"audiences": [""]}, "audiences"),
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": ["RS256", "HS256"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"clockSkewSeconds": 301}, "clockSkewSeconds"),
        ({"sessionSeconds": 604_801}, "sessionSeconds"),
        ({"tokenCheck": "INTROSPECTION"}, "clientSecret"),
        ({"name": " "}, "name"),
    ],
)
async def test_directory_with_wrong_values_is_refused(opened: House, values: dict[str, Any], problem: str) -> None:
    body = {**new_directory("https://id.example"), **values}
    answer = await opened.call("POST", "/directory", opened.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, f"incorrect elements -{problem}")
    add = (
        "mutation ($input: NewDirectory!) { createDirectory(input: $input) {"
        " ... on Directory { directoryId } ...Refused } }"
    )
    graphql = await opened.graphql(add, opened.one.headers["application"], input=body)
    assert refusal_of(graphql)["code"] == "BAD_INPUT"


# Rules for accounts


async def test_existing_rule_admits_only_accounts_that_the_application_added(
    opened: House, shared: ChosenProvider
) -> None:
    directory = await add_directory(opened.one, opened, shared.issuer)
    subject = f"User-{uuid4().hex}"
    await assert_refused(opened, directory, shared.sign(sub=subject), "No account of the application", 403)
    body = {"username": subject, "directoryId": directory}
    added = (await opened.call("POST", "/account", opened.one.headers["acting"], json=body)).json()
    login = (await by_rest(opened, directory, shared.sign(sub=subject))).json()
    assert login["accountId"] == added["accountId"]
    # subjects that differ only in case are different people
    await assert_refused(opened, directory, shared.sign(sub=subject.lower()), "No account of the application", 403)


async def test_link_rule_needs_a_verified_address_of_one_user(opened: House, shared: ChosenProvider) -> None:
    directory = await add_directory(opened.one, opened, shared.issuer, accountRule="LINK")
    who = await people.active(opened.one)
    email = who["username"].upper()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"email": email}, "has no verified e-mail address"),
        ({"email": email, "email_verified": False}, "has no verified e-mail address"),
        ({"email": email, "email_verified": "false"}, "has no verified e-mail address"),
        ({"email": email, "email_verified": 1}, "has no verified e-mail address"),
        ({"email": email, "email_verified": False, "xms_edov": True}, "has no verified e-mail address"),
        ({"email": email, "xms_edov": False}, "has no verified e-mail address"),
        ({"email": email, "xms_edov": "0"}, "has no verified e-mail address"),
        ({"email_verified": True}, "has no verified e-mail address"),
        ({"email": "nobody@example.org", "email_verified": True}, "No active account of the application has"),
    ]
    for claims, problem in wrong:
        await assert_refused(opened, directory, shared.sign(**claims), problem, 403)
    unverified = await people.registered(opened.one)
    claims = {"email": unverified["username"], "email_verified": True}
    await assert_refused(opened, directory, shared.sign(**claims), "No active account of the application has", 403)
    linked: dict[str, Any] = {"sub": uuid4().hex, "email": email, "email_verified": True}
    headers = await exchange(opened, directory, shared.sign(**linked))
    accounts = (await opened.call("GET", "/account", headers)).json()
    assert {account["userId"] for account in accounts} == {who["userId"]}
    assert {account["directoryId"] for account in accounts} > {directory}
    # the address need not be sent again, and the role of the linked account is not inherited
    assert (await by_rest(opened, directory, shared.sign(sub=linked["sub"]))).status_code == 200


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    "claims",
    [{"email_verified": "true"}, {"email_verified": "True"}, {"xms_edov": True}, {"xms_edov": 1}, {"xms_edov": "1"}],
)
async def test_providers_state_in_several_forms_that_an_address_is_verified(
    opened: House, shared: ChosenProvider, claims: dict[str, Any]
) -> None:
    """Amazon Cognito and Apple send a text; Entra ID sends the optional claim xms_edov instead."""
    directory = await add_directory(opened.one, opened, shared.issuer, accountRule="LINK")
    who = await people.active(opened.one)
    headers = await exchange(opened, directory, shared.sign(email=who["username"], **claims))
    assert {one["userId"] for one in (await opened.call("GET", "/account", headers)).json()} == {who["userId"]}


async def test_token_logs_in_once_at_the_same_time_and_in_each_form(opened: House, own: ChosenProvider) -> None:
    """A token stays used after newer ones, and with another form of its signature."""
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    subject = uuid4().hex
    first = own.sign(sub=subject)
    answers = await asyncio.gather(*(by_rest(opened, directory, first) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
    assert (await by_rest(opened, directory, own.sign(sub=subject, nonce="newer"))).status_code == 200
    last = first[-1]
    other_form = first[:-1] + chr(ord(last) + 1 if last.isalnum() and last not in "9Zz" else ord("A"))
    for token in (first, other_form):
        assert (await by_rest(opened, directory, token)).status_code == 401
    assert (await opened.call("GET", "/account/status", bearer(opened, first))).status_code == 200  # only a question
    other = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    assert (await by_rest(opened, other, first)).status_code == 200  # another account of another directory


async def test_text_of_a_token_is_stored_as_one_line(opened: House, own: ChosenProvider) -> None:
    """A mail to a name with a line break would never be sent. The subject itself stays as it is."""
    directory_id = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    hostile, subject = "Ada\r\nBcc: eve@example.org\x1b[2J\u2028\u202e\x00", f"{uuid4().hex}\n\u202esub"
    email = "ada@example.org\r\nBcc: eve@example.org"
    logins = []
    for _ in range(2):
        token = own.sign(jti=uuid4().hex, sub=subject, name=hostile, email=email, email_verified=True)
        logins.append((await by_rest(opened, directory_id, token)).json())
    assert [login["name"] for login in logins] == ["Ada  Bcc: eve@example.org [2J"] * 2
    assert logins[0]["accountId"] == logins[1]["accountId"]
    (account,) = (await opened.call("GET", "/account", {"token": logins[0]["token"]})).json()
    assert account["email"] == ""
    assert account["username"].startswith(f"{subject[:32]}  sub#")


async def test_token_of_the_client_of_the_directory_and_with_many_groups_logs_in(
    opened: House, own: ChosenProvider
) -> None:
    values = {"clientId": "gateway-client", "audiences": ["energy-app", "phone-app"]}
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", **values)
    for client in ("gateway-client", "phone-app", "energy-app"):
        assert (await by_rest(opened, directory, own.sign(azp=client))).status_code == 200
    groups = own.sign(groups=[str(uuid4()) for _ in range(200)])
    assert len(groups) > 10_900
    headers = await exchange(opened, directory, groups, accessToken=groups)
    assert (await opened.call("GET", "/account", headers)).status_code == 200
    assert (await opened.call("GET", "/account/status", bearer(opened, groups))).json()["directory"]["valid"] is True


@ON_SQLITE_ONLY
async def test_issuer_that_its_provider_does_not_name_is_refused(opened: House, own: ChosenProvider) -> None:
    """A final slash makes another issuer. A provider that does not respond is added, for it may start later."""
    headers, path = opened.one.headers["application"], "/directory"

    async def problem_of(issuer: str) -> str:
        answer = await opened.call("POST", path, headers, json=new_directory(issuer))
        return "" if answer.status_code == 201 else str(answer.json()["problems"])

    assert f"name another issuer: '{own.issuer}'" in await problem_of(f"{own.issuer}/")
    own.metadata = {"issuer": f"{own.issuer}/"}
    assert f"name another issuer: '{own.issuer}/'" in await problem_of(own.issuer)
    assert await problem_of(f"{own.issuer}/") == ""
    own.metadata = {"jwks_uri": None}
    assert "have no jwks_uri" in await problem_of(own.issuer)
    own.metadata, own.status = {}, 404
    assert "responds with status 404" in await problem_of(own.issuer)
    own.status = 503
    assert await problem_of(own.issuer) == ""


async def test_address_of_several_users_links_none(opened: House, shared: ChosenProvider) -> None:
    directory = await add_directory(opened.one, opened, shared.issuer, accountRule="LINK")
    email = f"{uuid4().hex}@example.org"
    for number in range(2):
        body = {"username": f"{number}-{email}", "email": email}
        assert (await opened.call("POST", "/user", opened.one.headers["application"], json=body)).status_code == 200
    token = shared.sign(email=email, email_verified=True)
    await assert_refused(opened, directory, token, "Several users have the e-mail address", 403)


async def test_closed_account_cannot_log_in(opened: House, shared: ChosenProvider, directory_id: str) -> None:
    subject = uuid4().hex
    headers = await exchange(opened, directory_id, shared.sign(sub=subject))
    account_id = (await opened.call("GET", "/auth", headers)).json()["accountId"]
    jwt = {"token": shared.sign(sub=subject), "applicationId": opened.one.application_id}
    assert (await opened.call("GET", "/account/status", jwt)).json()["active"] is True
    await opened.call("DELETE", f"/account/{account_id}", opened.one.headers["application"])
    await assert_refused(opened, directory_id, shared.sign(sub=subject), "The account of the token is not active")
    assert (await opened.call("GET", "/auth", headers)).status_code == 401
    status = (await opened.call("GET", "/account/status", jwt)).json()
    assert (status["status"], status["active"]) == ("inactive", False)


async def test_concurrent_log_ins_of_a_new_subject_make_one_account(
    opened: House, shared: ChosenProvider, directory_id: str
) -> None:
    subject = uuid4().hex
    tokens = [shared.sign(sub=subject, nonce=str(number)) for number in range(5)]
    answers = await asyncio.gather(*(by_rest(opened, directory_id, token) for token in tokens))
    assert [answer.status_code for answer in answers] == [200] * 5
    assert len({answer.json()["accountId"] for answer in answers}) == 1


@ON_POSTGRESQL_ONLY
async def test_log_in_of_a_known_subject_locks_the_directory_before_the_account(
    opened: House, shared: ChosenProvider, directory_id: str
) -> None:
    """A log-in that has just found no account locks the directory first. Another order would be a deadlock."""
    subject = uuid4().hex
    account_id = (await by_rest(opened, directory_id, shared.sign(sub=subject))).json()["accountId"]
    token = shared.sign(sub=subject, nonce="newer")
    async with opened.gateway.database.engine.begin() as connection:
        directory = {"id": directory_id}
        await connection.execute(text("SELECT 1 FROM directory WHERE directory_id = :id FOR UPDATE"), directory)
        async with asyncio.TaskGroup() as tasks:
            log_in = tasks.create_task(by_rest(opened, directory_id, token))
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            async with asyncio.timeout(60):
                while not (await connection.execute(text(waiting))).scalar_one():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            lock = "SELECT 1 FROM account WHERE account_id = :id FOR UPDATE NOWAIT"
            await connection.execute(text(lock), {"id": account_id})
            await connection.rollback()
    assert log_in.result().status_code == 200


# Tokens of the gateway


async def test_session_ends_with_its_directory_and_is_not_extended(opened: House, own: ChosenProvider) -> None:
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", sessionSeconds=600)
    headers = await exchange(opened, directory, own.sign())
    exp = (await opened.call("GET", "/auth", headers)).json()["exp"]
    assert abs(exp - (datetime.now(UTC) + timedelta(minutes=10)).timestamp()) < 60
    renewed = (await opened.call("GET", "/auth/newToken", headers)).json()
    assert renewed["exp"] == exp
    assert (await opened.call("DELETE", "/auth/deleteToken", headers)).status_code == 200
    assert (await opened.call("GET", "/auth", headers)).status_code == 401
    second = {"token": renewed["token"]}
    assert (await opened.call("GET", "/auth", second)).status_code == 200
    path = f"/directory/{directory}"
    await opened.call("PUT", path, opened.one.headers["application"], json={"active": False})
    assert (await opened.call("GET", "/auth", second)).status_code == 401


async def test_stored_token_ends_with_the_account_and_its_directory(opened: House, own: ChosenProvider) -> None:
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    application = opened.one.headers["application"]
    system = Principal(Role.SYSTEM, application_id=opened.one.application_id)

    async def stored(account_id: str) -> bool:
        read = models.ExternalAccount, account_id
        row = await opened.gateway.runner.read(system, Permission.SYSTEM, lambda rows: rows.get(*read))
        for secret in filter(None, (row.token, row.access_token)):
            assert is_encrypted(secret)
        return row.token is not None or row.access_token is not None

    async def new_account() -> str:
        login = await by_rest(opened, directory, own.sign(), accessToken="opaque")
        return str(login.json()["accountId"])

    closed, other = await new_account(), await new_account()
    assert await stored(closed)
    await opened.call("DELETE", f"/account/{closed}", application)
    assert (await stored(closed), await stored(other)) == (False, True)
    await opened.call("PUT", f"/directory/{directory}", application, json={"active": False})
    assert not await stored(other)
    status = (await opened.call("GET", f"/account/{other}/status", application)).json()["directory"]
    assert (status["valid"], status["reason"]) == (False, "The directory is not active.")


async def test_token_of_a_directory_serves_only_to_ask_for_the_status(opened: House, own: ChosenProvider) -> None:
    await add_directory(opened.one, opened, own.issuer)  # another one of the same issuer, without the account
    directory_id = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    subject = uuid4().hex
    jwt = {"token": own.sign(sub=subject), "applicationId": opened.one.application_id}
    unknown = await opened.call("GET", "/account/status", jwt)
    assert (unknown.status_code, "No account belongs to the subject" in unknown.text) == (403, True)
    await exchange(opened, directory_id, own.sign(sub=subject))
    by_rest_status = (await opened.call("GET", "/account/status", jwt)).json()
    by_graphql_status = (await opened.graphql(STATUS, jwt))["data"]["ownAccountStatus"]
    assert by_graphql_status["accountId"] == by_rest_status["accountId"]
    assert by_graphql_status["directory"]["valid"] is by_rest_status["directory"]["valid"] is True
    for method, path in (("GET", "/account"), ("GET", "/auth"), ("GET", "/auth/newToken"), ("GET", "/virtualentity")):
        answer = await opened.call(method, path, jwt)
        assert (answer.status_code, "directoryToken" in answer.json()["error"]) == (401, True), path
    missing = await opened.call("GET", "/account/status", {"token": jwt["token"]})
    assert (missing.status_code, missing.json()["error"]) == (400, "missing elements -applicationId")
    elsewhere = {**jwt, "applicationId": opened.other.application_id}
    assert (await opened.call("GET", "/account/status", elsewhere)).status_code == 401
    assert (await opened.call("GET", "/account/status", {})).status_code == 401
    forged = {**jwt, "token": own.sign(sub=subject, key=rsa_key(1))}
    assert (await opened.call("GET", "/account/status", forged)).status_code == 401


async def test_status_by_introspection(opened: House, own: ChosenProvider) -> None:
    values = {"tokenCheck": "INTROSPECTION", "clientId": "gateway", "clientSecret": "hush"}
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", **values)
    headers = await exchange(opened, directory, own.sign())
    assert (await opened.call("GET", "/account/status", headers)).json()["directory"]["valid"] is True
    own.active = False
    assert (await opened.call("GET", "/account/status", headers)).json()["directory"]["valid"] is False
    assert (await by_rest(opened, directory, own.sign())).status_code == 401
    own.active, own.status = True, 500
    answer = await opened.call("GET", "/account/status", headers)
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "UNAVAILABLE", "30")


@ON_SQLITE_ONLY
async def test_rejected_tokens_are_charged_to_the_address(databases: Databases, shared: ChosenProvider) -> None:
    async with databases() as url, house(url, **{**LOOPBACK, "address_logins": 12}) as limited:
        directory = await add_directory(limited.one, limited, shared.issuer, accountRule="CREATE")
        headers = await exchange(limited, directory, shared.sign(exp=datetime.now(UTC) - timedelta(seconds=10)))
        change = {"clockSkewSeconds": 0}
        await limited.call("PUT", f"/directory/{directory}", limited.one.headers["application"], json=change)
        for _ in range(15):  # a stored token costs nothing
            assert (await limited.call("GET", "/account/status", headers)).json()["directory"]["valid"] is False
        statuses = [(await by_rest(limited, directory, shared.sign(aud="other"))).status_code for _ in range(15)]
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert (await by_rest(limited, directory, shared.sign())).status_code == 200  # a valid token is not charged


async def test_status_reports_an_expired_token_of_the_directory(opened: House, own: ChosenProvider) -> None:
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE", clockSkewSeconds=300)
    headers = await exchange(opened, directory, own.sign(exp=datetime.now(UTC) - timedelta(seconds=100)))
    path = f"/directory/{directory}"
    await opened.call("PUT", path, opened.one.headers["application"], json={"clockSkewSeconds": 0})
    status = (await opened.call("GET", "/account/status", headers)).json()["directory"]
    assert (status["valid"], status["reason"]) == (False, "The token of the directory has expired.")


# Providers that fail


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 302},
        {"raw": b"no JSON"},
        {"raw": b"[" * 60_000},
        {"raw": b"{" + b" " * 100_000 + b"}"},
        {"metadata": {"issuer": "https://evil.example"}},
        {"metadata": {"jwks_uri": None}},
        {"metadata": {"jwks_uri": "http://169.254.169.254/latest"}},
        {"metadata": {"jwks_uri": 5}},
    ],
)
async def test_fault_of_a_provider_is_no_fault_of_the_user(
    opened: House, own: ChosenProvider, fault: dict[str, Any]
) -> None:
    directory = await add_directory(opened.one, opened, own.issuer, accountRule="CREATE")
    own.requests.clear()
    for name, value in fault.items():
        setattr(own, name, value)
    answer = await by_rest(opened, directory, own.sign())
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30"), answer.text
    graphql = refusal_of(await by_graphql(opened, directory, own.sign()))
    assert (graphql["code"], graphql["retryable"], graphql["retryAfter"]) == ("UNAVAILABLE", True, 30)
    assert sum(own.requests.values()) <= 2  # the gateway does not ask again at once


@ON_SQLITE_ONLY
async def test_requests_need_a_complete_log_in(opened: House, shared: ChosenProvider, directory_id: str) -> None:
    named, token = {"applicationId": opened.one.application_id}, shared.sign()
    both = {"directoryToken": token, "directoryId": directory_id, "password": "x"}
    for body, error in (
        ({}, "missing elements -username -password"),
        ({"username": "x"}, "missing elements -password"),
        ({"directoryToken": token}, "missing elements -directoryId"),
        (both, "incorrect elements -directoryToken"),
    ):
        answer = await opened.call("POST", "/auth", named, json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, error)
