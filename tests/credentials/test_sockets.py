"""WebSockets end with their credential at every gateway, also if the notification is lost."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.credentials.cluster import ACCOUNT_ACTS, ENDED_SECONDS, TOKEN_ACTS, Act, Cluster, Headers, Holder, perform
from tests.credentials.cluster import cluster as run_cluster
from tests.support.house import PASSWORD
from tests.support.live import live_house, settled_in
from tests.support.socket import Socket, socket
from wattgate.operations.accounts import provisioning
from wattgate.principal import Principal, Role

FORBIDDEN = 4403


@asynccontextmanager
async def sockets(cluster: Cluster, headers: Headers) -> AsyncIterator[list[Socket]]:
    """Open a socket with these credentials at each gateway."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(socket(url)) for url in (cluster.one, cluster.other)]
        for client in opened:
            await client.init(**headers)
        yield opened


async def assert_closed(clients: list[Socket], seconds: float = ENDED_SECONDS) -> None:
    for client in clients:
        await asyncio.wait_for(client.connection.wait_closed(), seconds)
        assert client.connection.close_code == FORBIDDEN


async def assert_open(clients: list[Socket]) -> None:
    for client in clients:
        assert await client.heard() == []


@pytest.mark.every_case("each case ends a credential in another way")
@pytest.mark.parametrize("act", [*TOKEN_ACTS, *ACCOUNT_ACTS], ids=lambda act: act.__name__)
async def test_socket_ends_with_its_credential_at_every_gateway(cluster: Cluster, holder: Holder, act: Act) -> None:
    mine, neighbour = await holder.token(), await (await cluster.person()).token()
    async with sockets(cluster, mine) as ended, sockets(cluster, neighbour) as others:
        await perform(act, holder, mine)
        await assert_closed(ended)
        await assert_open(others)


@pytest.mark.parametrize("act", ACCOUNT_ACTS, ids=lambda act: act.__name__)
async def test_socket_that_was_opened_with_the_password_ends_with_it(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    async with sockets(cluster, holder.password) as ended:
        await perform(act, holder, {})
        await assert_closed(ended)


async def test_socket_of_an_oauth_client_ends_with_its_grant(cluster: Cluster, holder: Holder) -> None:
    client, mine = await holder.client(), await holder.token()
    granted = await client.tokens()
    renewed = (await client.refresh(granted["refresh_token"])).json()
    async with (
        sockets(cluster, {"token": granted["access_token"]}) as first,
        sockets(cluster, {"token": renewed["access_token"]}) as second,
        sockets(cluster, mine) as others,
    ):
        path = f"/auth/token/{await holder.token_id({'token': renewed['access_token']})}"
        assert (await cluster.rest(cluster.one, "DELETE", path, mine)).status_code == 200
        await assert_closed([*first, *second])
        await assert_open(others)


async def test_socket_of_an_application_ends_with_its_secret_or_the_user_it_acts_for(
    cluster: Cluster, holder: Holder
) -> None:
    system = Principal(Role.SYSTEM)
    created = await cluster.gateway.runner.run(
        provisioning.create_application, system, {"name": "Third", "username": holder.user_id}
    )
    tenant = Principal(Role.SYSTEM, application_id=created.application_id)
    account = await cluster.gateway.runner.run(
        provisioning.create_user, tenant, {"username": holder.username, "password": PASSWORD}
    )
    from_now = cluster.basic(created.username, created.secret)
    acting = {**from_now, "userId": account.user_id}
    async with sockets(cluster, from_now) as plain, sockets(cluster, acting) as for_user:
        closed = await cluster.rest(cluster.one, "DELETE", f"/user/{account.user_id}", from_now)
        assert closed.status_code == 200, closed.text
        await assert_closed(for_user)
        await assert_open(plain)
        rotate = provisioning.rotate_application_secret
        rotated = await cluster.gateway.runner.run(rotate, system, {"username": created.username})
        await assert_closed(plain)
    assert (await cluster.rest(cluster.one, "GET", "/user", from_now)).status_code == 401
    async with sockets(cluster, cluster.basic(created.username, rotated.secret)) as again:
        await assert_open(again)


async def test_socket_does_not_take_a_token_of_another_grant(cluster: Cluster, holder: Holder) -> None:
    async with socket(cluster.one) as client:
        await client.init(**await holder.token())
        await client.say(type="ping", payload=await holder.oauth("read"))
        assert (await client.closed())[0] == FORBIDDEN


@pytest.fixture
async def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """A cluster whose Redis a test may stop."""
    async with run_cluster(tmp_path_factory.mktemp("own")) as running:
        yield running


@pytest.mark.long("starts a cluster and stops its Redis; ended credentials of sockets stay in the short form")
async def test_socket_ends_with_its_credential_while_redis_is_down(own_cluster: Cluster) -> None:
    holder = await own_cluster.person()
    mine, by_password = await holder.token(), holder.password
    async with sockets(own_cluster, mine) as first, sockets(own_cluster, by_password) as second:
        await own_cluster.redis.kill()
        body = {"oldPassword": PASSWORD, "newPassword": "battery staple"}
        changed = await own_cluster.rest(own_cluster.one, "POST", "/account/changepassword", by_password, json=body)
        assert changed.status_code == 200
        await assert_closed([*first, *second], 40)


async def test_credentials_that_are_revoked_while_they_are_checked_open_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with settled_in(tmp_path) as settled, live_house(settled) as house:
        service, checked, resumed = house.gateway.subscription_service, asyncio.Event(), asyncio.Event()
        authenticate = service.authenticate

        async def pause_after_check(credentials: Mapping[str, str]) -> Principal:
            principal = await authenticate(credentials)
            checked.set()
            await resumed.wait()
            return principal

        monkeypatch.setattr(service, "authenticate", pause_after_check)
        mine = {"token": await house.one.add_token()}
        async with socket(house.url) as client:
            await client.say(type="connection_init", payload=mine)
            await checked.wait()
            assert (await house.call("DELETE", "/auth/deleteToken", mine)).status_code == 200
            resumed.set()
            assert await client.rest() == []
            assert (await client.closed())[0] == FORBIDDEN
