"""Tokens, codes, positions, documents, links and long requests end with their credentials."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette

from tests.credentials.cluster import ACCOUNT_ACTS, ENDED_SECONDS, TOKEN_ACTS, Act, Cluster, Headers, Holder, perform
from tests.support import people
from tests.support.live import RESUMING, LiveHouse, Settled, live_house, settled_in
from tests.support.socket import socket
from wattgate.app.server.pages.shared_preview_page import unsubscribe_route
from wattgate.delivery.signed_links import SignedLinks
from wattgate.realtime.apq_store import digest_of

each_act = pytest.mark.parametrize("act", [*TOKEN_ACTS, *ACCOUNT_ACTS], ids=lambda act: act.__name__)
each_account_act = pytest.mark.parametrize("act", ACCOUNT_ACTS, ids=lambda act: act.__name__)


async def statuses(cluster: Cluster, headers: Headers) -> list[int]:
    """Return the status of a call with these credentials at each gateway."""
    return [(await cluster.rest(url, "GET", "/auth", headers)).status_code for url in (cluster.one, cluster.other)]


async def check_rejected(cluster: Cluster, headers: Headers, *, ended_at: str) -> None:
    """Check that a token is rejected at once where it ended, and soon at the other gateway, which remembers it."""
    assert (await cluster.rest(ended_at, "GET", "/auth", headers)).status_code == 401
    async with asyncio.timeout(ENDED_SECONDS):
        while await statuses(cluster, headers) != [401, 401]:  # noqa: ASYNC110 (another process has no event here)
            await asyncio.sleep(0.05)


@pytest.mark.every_case("each case ends a credential in another way")
@each_act
async def test_token_is_rejected_at_once_where_it_ends_and_soon_at_the_other_gateway(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    mine = await holder.token()
    assert await statuses(cluster, mine) == [200, 200]
    await perform(act, holder, mine)
    await check_rejected(cluster, mine, ended_at=cluster.one)


@each_account_act
async def test_tokens_and_codes_of_an_oauth_client_end_with_the_account(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    client = await holder.client()
    granted, code = await client.tokens(), await client.code()
    await perform(act, holder, {})
    await check_rejected(cluster, {"token": granted["access_token"]}, ended_at=cluster.one)
    assert (await client.refresh(granted["refresh_token"])).status_code == 400
    assert (await client.redeem(code)).status_code == 400


async def test_access_and_refresh_tokens_end_with_their_grant(cluster: Cluster, holder: Holder) -> None:
    client, mine = await holder.client(), await holder.token()
    granted, other_grant = await client.tokens(), await client.tokens()
    access = {"token": granted["access_token"]}
    path = f"/auth/token/{await holder.token_id(access)}"
    assert (await cluster.rest(cluster.other, "DELETE", path, mine)).status_code == 200
    await check_rejected(cluster, access, ended_at=cluster.other)
    assert (await client.refresh(granted["refresh_token"])).status_code == 400
    assert await statuses(cluster, {"token": other_grant["access_token"]}) == [200, 200]


async def change_email(holder: Holder, headers: Headers) -> httpx.Response:
    who = {"userId": holder.user_id, "accountId": holder.account_id}
    body = {"token": await people.email_change_token(holder.cluster.tenant, who, "new@example.org")}
    application = {"applicationId": holder.cluster.tenant.application_id}
    return await holder.cluster.rest(holder.cluster.one, "PUT", "/account/email", application, json=body)


@pytest.mark.parametrize("act", [*ACCOUNT_ACTS, change_email], ids=lambda act: act.__name__)
async def test_password_reset_token_ends_with_the_account_its_password_and_its_address(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    who = {"username": holder.username, "userId": holder.user_id, "accountId": holder.account_id}
    code = await people.reset_token(cluster.tenant, who)
    await perform(act, holder, {})
    body = {
        "username": holder.username,
        "newPassword": "attacker's own",
        "token": code,
        "applicationId": cluster.tenant.application_id,
    }
    assert (await cluster.rest(cluster.one, "PUT", "/user/resetpassword", {}, json=body)).status_code == 400


async def test_resume_position_serves_nobody_without_valid_credentials(cluster: Cluster, holder: Holder) -> None:
    resource_id = await cluster.tenant.add_resource()
    mine = {"token": await cluster.tenant.add_token()}
    async with socket(cluster.one) as client:
        await client.init(**mine)
        await client.subscribe(RESUMING, ids=[resource_id], since=None)
        while not (position := (await client.payload())["extensions"]["position"]):
            continue
    for url in (cluster.one, cluster.other):
        async with socket(url) as stranger:
            await stranger.init(**await holder.token())
            await stranger.subscribe(RESUMING, ids=[resource_id], since=position)
            assert (await stranger.error())["extensions"]["code"] == "NOT_FOUND"
    assert (await cluster.rest(cluster.one, "DELETE", "/auth/deleteToken", mine)).status_code == 200
    for url in (cluster.one, cluster.other):
        async with socket(url) as client:
            await client.say(type="connection_init", payload=mine)
            assert (await client.closed())[0] == 4403


async def test_persisted_document_serves_nobody_without_valid_credentials(cluster: Cluster, holder: Holder) -> None:
    text, mine = f"query Q{holder.user_id.replace('-', '')} {{ viewer {{ accountId }} }}", await holder.token()
    by_digest = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest_of(text)}}}
    stored = await cluster.http.post("/graphql", json={"query": text, **by_digest}, headers=mine)
    assert stored.json()["data"]["viewer"] == {"accountId": holder.account_id}
    neighbour = await cluster.person()
    async with httpx.AsyncClient(base_url=cluster.other, timeout=30) as http:
        theirs = await http.post("/graphql", json=by_digest, headers=await neighbour.token())
        assert theirs.json()["data"]["viewer"] == {"accountId": neighbour.account_id}
        await cluster.rest(cluster.one, "DELETE", "/auth/deleteToken", mine)
        ended = await http.post("/graphql", json=by_digest, headers=mine)
        assert ended.status_code == 401
        anonymous = (await http.post("/graphql", json=by_digest)).json()
        assert anonymous["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_unsubscribe_link_ends_with_the_link_key(cluster: Cluster) -> None:
    sent = SignedLinks("https://energy.example", b"old key").unsubscribe_url(cluster.tenant.application_id, "delivery")
    for key, pages in ((b"old key", [200]), (b"new key", [404])):
        app = Starlette(routes=[unsubscribe_route(cluster.gateway.runner, SignedLinks("https://energy.example", key))])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as client:
            assert [(await client.get(sent)).status_code] == pages


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveHouse]:
    """A gateway with a movable clock."""
    settled: Settled
    async with settled_in(tmp_path_factory.mktemp("long")) as settled, live_house(settled) as served:
        yield served


@pytest.mark.parametrize("seconds", [0, 6])
async def test_upload_ends_with_its_credential(house: LiveHouse, seconds: int) -> None:
    resource_id, token = await house.one.add_resource(), await house.one.add_token()

    async def body() -> AsyncIterator[bytes]:
        line = '{"resourceId": "%s", "at": "2026-04-01T00:00:%02dZ", "value": %d, "field": "POWER"}\n'
        yield (line % (resource_id, 1, 1)).encode()
        await house.call("DELETE", "/auth/deleteToken", {"token": token})
        house.clock.move(seconds)
        yield (line % (resource_id, 2, 2)).encode()

    headers = {"token": token, "Content-Type": "application/x-ndjson"}
    answer = await house.call("POST", "/readings", headers, content=body())
    assert answer.status_code == 401, answer.text
