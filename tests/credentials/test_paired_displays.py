"""Everything that a paired display has open ends with its credential at every gateway."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from sqlmodel import col

from tests.credentials.cluster import ACCOUNT_ACTS, Act, Cluster, Headers, Holder, perform
from tests.credentials.test_event_streams import ends
from tests.credentials.test_sockets import assert_closed, assert_open, sockets
from tests.support import people
from tests.support.house import Tenant
from tests.support.live import live_house, settled_in
from tests.support.scopes import EVERYTHING
from tests.support.socket import socket
from wattgate.clock import utc_now
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME
from wattgate.db.models import PairedDisplay, Token
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

DISPLAY = "subscription ($veId: ID!) { display(homeId: $veId) { homeId } }"


@dataclass
class Wall:
    """The user of a test with a home, and two displays of it."""

    holder: Holder
    ve_id: str
    kitchen: Headers
    kitchen_id: str
    hall: Headers

    @property
    def query(self) -> str:
        return f'subscription {{ display(homeId: "{self.ve_id}") {{ homeId }} }}'


async def a_wall(cluster: Cluster, holder: Holder) -> Wall:
    user = tenant_of(cluster, holder)
    ve_id = await user.add_home(await user.add_resource())
    kitchen, kitchen_id = await people.paired_display(user, ve_id)
    hall, _ = await people.paired_display(user, ve_id)
    return Wall(holder, ve_id, kitchen, kitchen_id, hall)


def tenant_of(cluster: Cluster, holder: Holder) -> Tenant:
    return replace(cluster.tenant, user_id=holder.user_id, account_id=holder.account_id)


async def revoke(wall: Wall) -> httpx.Response:
    cluster = wall.holder.cluster
    path = f"/paireddisplay/{wall.kitchen_id}"
    return await cluster.rest(cluster.other, "DELETE", path, await wall.holder.token())


async def revoke_by_graphql(wall: Wall) -> httpx.Response:
    cluster = wall.holder.cluster
    query = f'mutation {{ revokePairedDisplay(displayId: "{wall.kitchen_id}") {{ __typename }} }}'
    async with httpx.AsyncClient(base_url=cluster.one, timeout=30) as http:
        return await http.post("/graphql", json={"query": query}, headers=dict(await wall.holder.token()))


async def end_itself(wall: Wall) -> httpx.Response:
    cluster = wall.holder.cluster
    return await cluster.rest(cluster.one, "DELETE", "/paireddisplay/own", wall.kitchen)


async def revoke_its_token(wall: Wall) -> httpx.Response:
    cluster = wall.holder.cluster
    path = f"/auth/token/{await wall.holder.token_id(wall.kitchen)}"
    return await cluster.rest(cluster.one, "DELETE", path, await wall.holder.token())


async def close_its_home(wall: Wall) -> httpx.Response:
    cluster = wall.holder.cluster
    return await cluster.rest(cluster.one, "DELETE", f"/virtualentity/{wall.ve_id}", await wall.holder.token())


DISPLAY_ACTS = (revoke, revoke_by_graphql, end_itself, revoke_its_token, close_its_home)
FOR_BOTH = (close_its_home, *ACCOUNT_ACTS)
"""The acts that end both displays."""


@pytest.mark.every_case("each case ends a credential in another way")
@pytest.mark.parametrize("act", [*DISPLAY_ACTS, *ACCOUNT_ACTS], ids=lambda act: act.__name__)
async def test_everything_of_a_display_ends_with_its_credential(cluster: Cluster, holder: Holder, act: Act) -> None:
    """Sockets, event streams of both kinds, and reservations end at both gateways. Other displays keep theirs."""
    wall = await a_wall(cluster, holder)
    mine, urls = wall.kitchen, (cluster.one, cluster.other)
    unopened = [await cluster.reserved(url, mine) for url in urls]
    reserved = [await cluster.reserved(url, mine) for url in urls]
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(sockets(cluster, mine))
        others = await stack.enter_async_context(sockets(cluster, wall.hall))
        for client in (*opened, *others):
            await client.subscribe(DISPLAY, veId=wall.ve_id)
            assert (await client.payload())["data"]["display"]["homeId"] == wall.ve_id
        streams = [await stack.enter_async_context(cluster.distinct(url, mine, wall.query)) for url in urls]
        for events in streams:
            assert "data" in await events.next_data()
        streams += [
            await stack.enter_async_context(cluster.opened(url, token))
            for url, token in zip(urls, reserved, strict=True)
        ]
        if act in ACCOUNT_ACTS:
            await perform(act, holder, mine)
        else:
            response = await act(wall)  # type: ignore[call-arg, arg-type]
            assert response.status_code == 200, response.text
        await asyncio.gather(assert_closed(opened), *(ends(events) for events in streams))
        for url, token in zip(urls, unopened, strict=True):
            assert (await cluster.rest(url, "GET", "/paireddisplay/own", mine)).status_code == 401
            assert await cluster.open_status(url, token) == 404
        if act in FOR_BOTH:
            await assert_closed(others)
        else:
            await assert_open(others)
            assert (await cluster.rest(cluster.one, "GET", "/paireddisplay/own", wall.hall)).status_code == 200
    stored = await stored_displays(cluster, holder)
    assert len(stored) == (0 if act in FOR_BOTH else 1)


async def stored_displays(cluster: Cluster, holder: Holder) -> list[Any]:
    async with cluster.gateway.database.session(EVERYTHING) as session:
        statement = select(PairedDisplay).where(col(PairedDisplay.user_id) == holder.user_id)
        return list((await session.execute(statement, execution_options=SCOPED_OPTION)).scalars())


async def test_password_change_ends_displays_but_not_its_own_log_in(cluster: Cluster, holder: Holder) -> None:
    wall, mine = await a_wall(cluster, holder), await holder.token()
    body = {"oldPassword": "correct horse", "newPassword": "battery staple"}
    assert (await cluster.rest(cluster.one, "POST", "/account/changepassword", mine, json=body)).status_code == 200
    assert (await cluster.rest(cluster.other, "GET", "/paireddisplay/own", wall.kitchen)).status_code == 401
    assert (await cluster.rest(cluster.other, "GET", "/paireddisplay", mine)).json() == []


async def test_socket_does_not_take_the_credential_of_another_home(cluster: Cluster, holder: Holder) -> None:
    """The subscriptions of a socket keep running, so that its new credential must see the same rows."""
    wall, user = await a_wall(cluster, holder), tenant_of(cluster, holder)
    elsewhere, _ = await people.paired_display(user, await user.add_home())
    for other in (elsewhere, await holder.token()):
        async with socket(cluster.one) as client:
            await client.init(**wall.kitchen)
            await client.say(type="ping", payload=other)
            assert (await client.closed())[0] == 4403
    async with socket(cluster.one) as client:
        await client.init(**wall.kitchen)
        await client.say(type="ping", payload=dict(wall.hall))
        answer = await client.hear()
        assert (answer["type"], bool(answer["payload"]["expiresAt"])) == ("pong", True)


async def test_reserved_stream_of_a_display_serves_no_other_home(cluster: Cluster, holder: Holder) -> None:
    wall, user = await a_wall(cluster, holder), tenant_of(cluster, holder)
    elsewhere, _ = await people.paired_display(user, await user.add_home())
    token = await cluster.reserved(cluster.one, wall.kitchen)
    for other in (elsewhere, await holder.token()):
        assert await cluster.open_status(cluster.other, token, other) == 404
    async with cluster.opened(cluster.other, token, wall.kitchen):
        assert (await cluster.operate(cluster.one, token, elsewhere, wall.query)).status_code == 404
        assert (await cluster.operate(cluster.one, token, wall.kitchen, wall.query)).status_code == 202


@pytest.mark.long("waits for a periodic check; ended credentials of displays stay in the short form")
async def test_open_socket_counts_as_use(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A display that never reconnects stays as well: the gateway stores its use when it checks the credential again."""
    folder = tmp_path_factory.mktemp("used")
    async with settled_in(folder) as settled, live_house(settled) as served:
        headers, display_id = await people.paired_display(served.one)
        long_ago = utc_now() - timedelta(days=300)
        async with served.socket(**headers) as client:
            async with served.gateway.database.session(EVERYTHING) as session:
                for model, key in ((Token, Token.ve_id), (PairedDisplay, PairedDisplay.display_id)):
                    statement = update(model).where(col(key).is_not(None))
                    values = {"expires_at": long_ago + DISPLAY_LIFETIME}
                    await session.execute(statement.values(**values), execution_options=SCOPED_OPTION)
                await session.commit()
            await served.gateway.connections.recheck_credentials()
            async with served.gateway.database.reader(EVERYTHING) as reader:
                query = select(col(PairedDisplay.expires_at)).where(col(PairedDisplay.display_id) == display_id)
                (expires_at,) = (await reader.execute(query, execution_options=SCOPED_OPTION)).scalars()
            assert expires_at - long_ago > DISPLAY_LIFETIME
            assert await client.heard() == []
