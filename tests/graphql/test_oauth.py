"""OAuth 2.0: authorization codes with PKCE, scopes and rotating refresh tokens."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from sqlmodel import col

from tests.support import people
from tests.support.endings import Caller
from tests.support.house import PASSWORD, House
from tests.support.refusals import refusals
from tests.support.scopes import EVERYTHING
from tests.support.socket import socket
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.models import AuthorizationCode, OAuthClient, RefreshToken, Token
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import BadInput, Forbidden, GatewayError
from wattgate.operations.accounts.oauth import s256
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.homes.display_pairing import DEVICE_GRANT
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.users.viewer import Application
from wattgate.principal import OAUTH_SCOPES, Permission

BY_TOKEN = "{ viewer { homes { edges { node { name } } } } }"


@dataclass
class Client:
    """An OAuth client, and a new user who can authorise it."""

    house: House
    client_id: str
    secret: str | None
    username: str
    account_id: str

    async def authorise(self, **more: Any) -> httpx.Response:
        body = {
            "username": self.username,
            "password": PASSWORD,
            "client_id": self.client_id,
            "redirect_uri": people.REDIRECT,
            "code_challenge": people.CHALLENGE,
            "code_challenge_method": "S256",
            "scope": "read write",
            **more,
        }
        headers = {"applicationId": self.house.one.application_id}
        return await self.house.call("POST", "/auth/oauth", headers, json=body)

    async def code(self, **more: Any) -> str:
        return str((await self.authorise(**more)).json()["code"])

    async def ask(self, **form: Any) -> httpx.Response:
        """Send a form to the token endpoint."""
        credentials = {"client_id": self.client_id, "client_secret": self.secret}
        members = {name: value for name, value in {**credentials, **form}.items() if value is not None}
        return await self.house.call("POST", "/auth/oauth/access", {}, data=members)

    async def redeem(self, code: str, **more: Any) -> httpx.Response:
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": people.VERIFIER}
        return await self.ask(**{**form, "redirect_uri": people.REDIRECT, **more})

    async def refresh(self, refresh_token: str, **more: Any) -> httpx.Response:
        return await self.ask(grant_type="refresh_token", refresh_token=refresh_token, **more)

    async def tokens(self, **more: Any) -> dict[str, Any]:
        return dict((await self.redeem(await self.code(**more))).json())


async def client_of(house: House, **more: Any) -> Client:
    user, registered = await people.active(house.one), await people.oauth_client(house.one, **more)
    return Client(house, registered["clientId"], registered["clientSecret"], user["username"], user["accountId"])


@pytest.fixture
async def client(served: House) -> Client:
    return await client_of(served)


async def change(house: House, model: Any, condition: Any, **values: Any) -> None:
    """Change columns in the database that no operation changes, such as expiry."""
    async with house.gateway.database.session(EVERYTHING) as session:
        await session.execute(update(model).where(condition).values(**values), execution_options=SCOPED_OPTION)
        await session.commit()


def assert_rejected(answer: httpx.Response, error: str, status: int = 400) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, error), body
    assert body["error_description"]
    assert body["code"] in ("BAD_INPUT", "UNAUTHENTICATED")
    assert body["traceId"] == answer.headers["X-Trace-Id"]


async def test_code_is_exchanged_for_tokens_as_in_rfc_6749(served: House, client: Client) -> None:
    authorised = (await client.authorise(state="as it was")).json()
    assert set(authorised) == {"valid", "code", "exp", "accountId", "name", "state"}
    assert (authorised["valid"], authorised["accountId"], authorised["state"]) == (True, client.account_id, "as it was")
    assert 50 < authorised["exp"] - datetime.now(UTC).timestamp() <= 60
    answer = await client.redeem(authorised["code"])
    granted = answer.json()
    assert (granted["token_type"], granted["expires_in"], granted["scope"]) == ("bearer", 604800, "read write")
    assert granted["refresh_type"] == granted["refresh_token"]
    for headers in (
        {"token": granted["access_token"]},
        {"Authorization": f"Bearer {granted['access_token']}"},
    ):
        user = (await served.call("GET", "/auth/oauth", headers)).json()
        assert (user["authenticationFramework"], user["status"]) == ("oauth", "active")
        assert user["applications"][0]["accountId"] == client.account_id
        assert (await served.call("GET", "/auth", headers)).json()["accountId"] == client.account_id


def test_challenge_matches_the_example_of_rfc_7636() -> None:
    assert s256(people.VERIFIER) == people.CHALLENGE


async def test_token_endpoint_accepts_json(served: House, client: Client) -> None:
    body = {
        "client_id": client.client_id,
        "client_secret": client.secret,
        "grant_type": "authorization_code",
        "code": await client.code(),
        "code_verifier": people.VERIFIER,
        "redirect_uri": people.REDIRECT,
    }
    assert (await served.call("POST", "/auth/oauth/access", {}, json=body)).status_code == 200


async def test_only_the_token_endpoint_accepts_a_form(served: House, client: Client) -> None:
    form = {"username": client.username, "password": PASSWORD, "applicationId": served.one.application_id}
    assert (await served.call("POST", "/auth", {}, data=form)).status_code == 415
    twice = "client_id=a&client_id=b&grant_type=authorization_code"
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
    assert_rejected(await served.call("POST", "/auth/oauth/access", headers, content=twice), "invalid_request")
    broken = await served.call("POST", "/auth/oauth/access", headers, content=b"client_id=%ff&\xff")
    assert_rejected(broken, "invalid_request")


@pytest.mark.parametrize(
    ("wrong", "element"),
    [
        ({"client_id": "unknown"}, "client_id"),
        ({"redirect_uri": f"{people.REDIRECT}/"}, "redirect_uri"),
        ({"redirect_uri": "https://attacker.example/back"}, "redirect_uri"),
        ({"code_challenge_method": "plain"}, "code_challenge"),
        ({"code_challenge": people.VERIFIER + "!"}, "code_challenge"),
        ({"code_challenge": people.CHALLENGE + "\n"}, "code_challenge"),
        ({"scope": "read everything"}, "scope"),
        ({"scope": ""}, "scope"),
    ],
)
async def test_invalid_authorisation_request_gets_no_code(client: Client, wrong: dict[str, str], element: str) -> None:
    answer = await client.authorise(**wrong)
    assert (answer.status_code, answer.json()["error"]) == (400, f"incorrect elements -{element}")


async def test_wrong_password_gets_no_code_and_counts_for_the_backoff(client: Client) -> None:
    for _ in range(5):
        refused = await client.authorise(password="wrong")
        assert (refused.status_code, refused.json()["valid"]) == (401, False)
    assert (await client.authorise()).status_code == 429


async def test_client_cannot_request_more_than_its_registered_scope(served: House) -> None:
    reader = await client_of(served, scope="read")
    assert (await reader.authorise(scope="read")).status_code == 200
    assert (await reader.authorise(scope="write")).status_code == 400


async def test_client_of_another_application_is_unknown(served: House, client: Client) -> None:
    theirs = await people.oauth_client(served.other)
    answer = await client.authorise(client_id=theirs["clientId"])
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -client_id")
    other = Client(served, theirs["clientId"], theirs["clientSecret"], client.username, client.account_id)
    assert_rejected(await other.redeem(await client.code()), "invalid_grant")
    granted = await client.tokens()
    assert_rejected(await other.refresh(granted["refresh_token"]), "invalid_grant")


async def test_confidential_client_needs_its_secret_and_a_public_one_has_none(served: House) -> None:
    confidential, public = await client_of(served), await client_of(served, public=True)
    for secret in (None, "", "forged"):
        answer = await confidential.redeem(await confidential.code(), client_secret=secret)
        assert_rejected(answer, "invalid_client", 401)
    assert_rejected(await confidential.ask(client_id="unknown", grant_type="refresh_token"), "invalid_client", 401)
    assert public.secret is None
    assert (await public.redeem(await public.code())).status_code == 200
    await change(served, OAuthClient, OAuthClient.client_id == public.client_id, active=False)
    assert_rejected(await public.ask(grant_type="refresh_token"), "invalid_client", 401)


async def test_code_is_valid_only_with_its_verifier_and_redirect_uri(client: Client) -> None:
    code = await client.code()
    assert_rejected(await client.redeem(code, code_verifier="another" * 7), "invalid_grant")
    assert_rejected(await client.redeem(code, redirect_uri="https://client.example/other"), "invalid_grant")
    assert_rejected(await client.redeem("forged"), "invalid_grant")
    assert_rejected(await client.redeem(code, code_verifier=None), "invalid_request")
    refused = await client.ask(grant_type="password")
    assert_rejected(refused, "unsupported_grant_type")
    assert DEVICE_GRANT in refused.text
    assert_rejected(await client.ask(grant_type="refresh_token"), "invalid_request")
    assert (await client.redeem(code)).status_code == 200


async def test_code_expires_after_a_minute(served: House, client: Client) -> None:
    code = await client.code()
    of_code = AuthorizationCode.digest == hash_secret(code)
    await change(served, AuthorizationCode, of_code, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert_rejected(await client.redeem(code), "invalid_grant")


async def test_second_use_of_a_code_invalidates_the_tokens_of_the_first(served: House, client: Client) -> None:
    code = await client.code()
    granted = (await client.redeem(code)).json()
    refreshed = (await client.refresh(granted["refresh_token"])).json()
    assert_rejected(await client.redeem(code), "invalid_grant")
    for tokens in (granted, refreshed):
        assert (await served.call("GET", "/auth", {"token": tokens["access_token"]})).status_code == 401
        assert_rejected(await client.refresh(tokens["refresh_token"]), "invalid_grant")


async def test_only_one_of_simultaneous_uses_of_a_code_gets_tokens(client: Client) -> None:
    code = await client.code()
    answers = await asyncio.gather(*(client.redeem(code) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]


async def test_refresh_token_rotates_and_its_second_use_invalidates_the_family(served: House, client: Client) -> None:
    first = await client.tokens()
    second = (await client.refresh(first["refresh_token"])).json()
    assert second["scope"] == first["scope"]
    assert second["refresh_token"] != first["refresh_token"]
    assert (await served.call("GET", "/auth", {"token": second["access_token"]})).status_code == 200
    another = await client.tokens()
    assert_rejected(await client.refresh(first["refresh_token"]), "invalid_grant")
    assert_rejected(await client.refresh(second["refresh_token"]), "invalid_grant")
    assert (await served.call("GET", "/auth", {"token": second["access_token"]})).status_code == 401
    assert (await served.call("GET", "/auth", {"token": another["access_token"]})).status_code == 200


async def test_expired_refresh_token_is_rejected(served: House, client: Client) -> None:
    granted = await client.tokens()
    of_token = RefreshToken.digest == hash_secret(granted["refresh_token"])
    await change(served, RefreshToken, of_token, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert_rejected(await client.refresh(granted["refresh_token"]), "invalid_grant")


async def test_closed_account_gets_no_further_tokens(served: House, client: Client) -> None:
    granted, code = await client.tokens(), await client.code()
    await served.call("DELETE", f"/account/{client.account_id}", served.one.headers["application"])
    assert_rejected(await client.refresh(granted["refresh_token"]), "invalid_grant")
    assert_rejected(await client.redeem(code), "invalid_grant")


async def test_token_with_scope_read_cannot_write(served: House, client: Client) -> None:
    reading = {"token": (await client.tokens(scope="read"))["access_token"]}
    writing = {"token": (await client.tokens(scope="write"))["access_token"]}
    for headers, status in ((reading, 403), (writing, 200)):
        assert (await served.call("GET", "/virtualentity", headers)).status_code == 603 - status
        answer = await served.call("POST", "/account/name", headers, json={"name": "Grace"})
        assert answer.status_code == status
        response = await served.graphql('mutation { changeName(name: "Grace") { ...Refused } }', headers)
        assert bool(refusals(response)) is (status == 403)


async def test_no_scope_allows_changing_credentials(served: House, client: Client) -> None:
    headers = {"token": (await client.tokens())["access_token"]}
    for method, path, body in (
        ("GET", "/auth/newToken", None),
        ("POST", "/account/email", {"email": "attacker@example.org"}),
        ("POST", "/account/changepassword", {"oldPassword": PASSWORD, "newPassword": "battery staple"}),
    ):
        assert (await served.call(method, path, headers, json=body)).status_code == 403, path
    assert all(Permission.SYSTEM not in granted for granted in OAUTH_SCOPES.values())


async def test_scope_write_reads_only_the_results_of_its_changes(served: House) -> None:
    caller = await Caller.add(served.one)
    await caller.set_columns(administrator=True)
    writing = {"token": (await caller.granted(scope="write"))["access_token"]}
    for path in ("/auditlog", "/user?username=ada", "/account", "/virtualentity", "/auth/oauth"):
        assert (await served.call("GET", path, writing)).status_code == 403, path
    for query in ("{ application { auditLog { edges { cursor } } } }", "{ viewer { accounts { edges { cursor } } } }"):
        assert "FORBIDDEN" in str(await served.graphql(query, writing)), query
    async with socket(served.url) as client:
        await client.init(**writing)
        assert "FORBIDDEN" in str(await client.answer("subscription { alerts { alertId } }"))
    home = await caller.add_home()
    closed = await served.call("DELETE", f"/virtualentity/{home}", writing)
    assert closed.status_code == 200, closed.text
    assert closed.json()["resources"] == []
    change = (
        "mutation ($id: ID!) { deactivateHome(homeId: $id) {"
        " ... on Home { homeId resources { resourceId } } ...Refused } }"
    )
    assert "FORBIDDEN" in str(await served.graphql(change, writing, id=await caller.add_home()))


async def test_scope_write_reads_by_no_query_and_no_subscription(served: House) -> None:
    """The permission comes first, so no call needs its arguments."""
    caller = await Caller.add(served.one)
    await caller.set_columns(administrator=True)
    writer = await caller.authenticate({"token": (await caller.granted(scope="write"))["access_token"]})
    allowed = set()
    for operation in OPERATIONS:
        if operation.kind is not OperationKind.MUTATION:
            try:
                await caller.run(writer, operation)
            except Forbidden:
                continue
            except (GatewayError, TypeError):  # the arguments are missing
                pass
            allowed.add(operation.name)
    assert allowed == {"token_status", "tokens", "own_account_status"}  # about the own log-in
    with pytest.raises(Forbidden):
        await served.gateway.runner.load(find_edge(Resource, "catch_ups"), writer, [], {})


async def test_edge_that_needs_the_permission_for_a_change_is_not_read_with_the_scope_write(served: House) -> None:
    caller = await Caller.add(served.one)
    await caller.set_columns(administrator=True)
    writer = await caller.authenticate({"token": (await caller.granted(scope="write"))["access_token"]})
    with pytest.raises(Forbidden, match="scope write"):
        await served.gateway.runner.load(find_edge(Application, "mail_suppressions"), writer, [], {})


async def test_no_scope_of_an_administrator_makes_credentials(served: House) -> None:
    caller = await Caller.add(served.one)
    await caller.set_columns(administrator=True)
    principal = await caller.by_oauth_client()
    made = {
        "add_user",
        "add_account",
        "new_token",
        "add_webhook_endpoint",
        "update_webhook_endpoint",
        "rotate_webhook_secret",
        "approve_display_pairing",
        "invite_home_member",
        "accept_home_invitation",
        "add_mobile_app_token",
        "enrol_second_factor",
        "reset_second_factor",
        "add_directory",
    }
    needs = {operation.needs for operation in OPERATIONS if operation.name in made}
    assert [permission for permission in needs if principal.access_scope(permission) is not None] == []
    headers = {"token": (await caller.granted())["access_token"]}
    body = {"username": f"other-{caller.username}", "password": PASSWORD}
    assert (await served.call("POST", "/user", headers, json=body)).status_code == 403


async def test_login_token_is_not_an_oauth_token(served: House) -> None:
    answer = await served.call("GET", "/auth/oauth", served.one.headers["account"])
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


async def test_listed_oauth_token_is_marked_and_deleting_it_logs_the_client_out(served: House, client: Client) -> None:
    granted = await client.tokens()
    log_in = {"username": client.username, "password": PASSWORD, "applicationId": served.one.application_id}
    mine = {"token": (await served.call("POST", "/auth", {}, json=log_in)).json()["token"]}
    refreshed = (await client.refresh(granted["refresh_token"])).json()
    listed = (await served.call("GET", "/auth/token", mine)).json()
    by_kind = {token.get("grant_type"): token for token in listed}
    assert set(by_kind) == {"authorization_code", None, "refresh_token"}
    assert by_kind["refresh_token"]["authenticationFramework"] == "oauth"
    assert "authenticationFramework" not in by_kind[None]
    await served.call("DELETE", f"/auth/token/{by_kind['refresh_token']['tokenId']}", mine)
    assert (await served.call("GET", "/auth", {"token": refreshed["access_token"]})).status_code == 401
    assert_rejected(await client.refresh(refreshed["refresh_token"]), "invalid_grant")


async def test_codes_tokens_and_secrets_are_stored_as_digests(served: House, client: Client) -> None:
    code = await client.code()
    granted = (await client.redeem(code)).json()
    for model, secret in (
        (AuthorizationCode, code),
        (RefreshToken, granted["refresh_token"]),
        (Token, granted["access_token"]),
    ):
        async with served.gateway.database.reader(EVERYTHING) as session:
            statement = select(col(model.digest))
            stored = (await session.execute(statement, execution_options=SCOPED_OPTION)).scalars().all()
        assert hash_secret(secret) in stored
        assert secret.encode() not in stored


async def test_a_client_logs_out_with_its_whole_family(served: House, client: Client) -> None:
    granted = await client.tokens()
    out = await served.call("DELETE", "/auth/deleteToken", {"token": granted["access_token"]})
    assert out.json() == {"valid": True}
    assert_rejected(await client.refresh(granted["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize(
    "uri", ["http://client.example/back", "javascript:alert(1)", "https:///back", "https://client.example/#here"]
)
async def test_a_redirect_uri_is_https_or_local_or_an_apps_own(served: House, uri: str) -> None:
    with pytest.raises(BadInput):
        await people.oauth_client(served.one, redirect_uris=[uri])


@pytest.mark.parametrize("uri", ["http://127.0.0.1:8000/back", "org.example.app:/back", "https://client.example/a?b=c"])
async def test_local_and_app_redirect_uris_are_accepted(served: House, uri: str) -> None:
    assert (await people.oauth_client(served.one, redirect_uris=[uri]))["clientId"]
