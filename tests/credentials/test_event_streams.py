"""Event streams of both modes end with their credential, and serve nobody else."""

import asyncio

import pytest

from tests.credentials.cluster import (
    ACCOUNT_ACTS,
    APP_ORIGIN,
    ENDED_SECONDS,
    TOKEN_ACTS,
    Act,
    Cluster,
    Holder,
    perform,
)
from tests.realtime.test_server_sent_events import Stream

ALERTS = "subscription { alerts { alertId } }"
SINCE = "subscription { alerts(since: null) { alertId } }"

each_act = pytest.mark.parametrize("act", [*TOKEN_ACTS, *ACCOUNT_ACTS], ids=lambda act: act.__name__)


async def ends(events: Stream) -> None:
    """Wait for the end of a stream."""
    async with asyncio.timeout(ENDED_SECONDS):
        async for _ in events._chunks:
            continue


@each_act
async def test_reservation_ends_with_its_credential_at_every_gateway(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    mine = await holder.token()
    here, there, spare = [await cluster.reserved(cluster.one, mine) for _ in range(3)]
    assert await cluster.open_status(cluster.one, spare) == 200
    await perform(act, holder, mine)
    assert await cluster.open_status(cluster.one, here) == 404
    assert await cluster.open_status(cluster.other, there) == 404


async def test_reservation_ends_with_the_expiry_of_its_token(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    tokens = [await cluster.reserved(cluster.one, mine) for _ in range(2)]
    await cluster.expire(mine["token"])
    for url, token in zip((cluster.one, cluster.other), tokens, strict=True):
        assert await cluster.open_status(url, token) == 404


@pytest.mark.parametrize("act", ACCOUNT_ACTS, ids=lambda act: act.__name__)
async def test_reservation_made_with_the_password_ends_with_it(cluster: Cluster, holder: Holder, act: Act) -> None:
    tokens = [await cluster.reserved(cluster.one, holder.password) for _ in range(2)]
    await perform(act, holder, {})
    for url, token in zip((cluster.one, cluster.other), tokens, strict=True):
        assert await cluster.open_status(url, token) == 404


async def test_reservation_of_an_oauth_client_ends_with_its_grant(cluster: Cluster, holder: Holder) -> None:
    granted = await holder.oauth()
    tokens = [await cluster.reserved(cluster.one, granted) for _ in range(2)]
    path = f"/auth/token/{await holder.token_id(granted)}"
    assert (await cluster.rest(cluster.one, "DELETE", path, await holder.token())).status_code == 200
    for url, token in zip((cluster.one, cluster.other), tokens, strict=True):
        assert await cluster.open_status(url, token) == 404


async def test_reservation_of_an_application_that_acts_for_a_user_ends_with_the_user(
    cluster: Cluster, holder: Holder
) -> None:
    acting = {**cluster.tenant.headers["application"], "userId": holder.user_id}
    token = await cluster.reserved(cluster.one, acting)
    path = f"/user/{holder.user_id}"
    assert (await cluster.rest(cluster.one, "DELETE", path, cluster.tenant.headers["application"])).status_code == 200
    assert await cluster.open_status(cluster.one, token) == 404


@each_act
async def test_open_stream_ends_with_its_credential_at_every_gateway(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    mine = await holder.token()
    here, there = [await cluster.reserved(cluster.one, mine) for _ in range(2)]
    async with cluster.opened(cluster.one, here) as first, cluster.opened(cluster.other, there) as second:
        assert (await cluster.operate(cluster.one, here, mine, SINCE)).status_code == 202
        await first.next_data()
        await perform(act, holder, mine)
        await asyncio.gather(ends(first), ends(second))
        assert (await cluster.operate(cluster.one, here, mine)).status_code == 401


@pytest.mark.long("waits until a token expires; ended credentials of streams stay in the short form")
async def test_open_stream_ends_with_the_expiry_of_its_token(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    await cluster.expire(mine["token"], 4)
    token = await cluster.reserved(cluster.one, mine)
    async with cluster.opened(cluster.other, token) as events:
        await ends(events)


async def test_stream_of_a_user_for_whom_an_application_acts_ends_with_the_user(
    cluster: Cluster, holder: Holder
) -> None:
    acting = {**cluster.tenant.headers["application"], "userId": holder.user_id}
    token = await cluster.reserved(cluster.one, acting)
    async with cluster.opened(cluster.other, token) as events:
        path = f"/user/{holder.user_id}"
        await cluster.rest(cluster.one, "DELETE", path, cluster.tenant.headers["application"])
        await ends(events)


async def test_stream_serves_only_the_caller_that_reserved_it(cluster: Cluster, holder: Holder) -> None:
    mine, neighbour = await holder.token(), await (await cluster.person()).token()
    others = [
        neighbour,
        cluster.foreign.headers["account"],
        cluster.tenant.headers["application"],
        await holder.oauth(),
    ]
    token = await cluster.reserved(cluster.one, mine)
    for url in (cluster.one, cluster.other):
        for stranger in others:
            assert await cluster.open_status(url, token, stranger) == 404
    async with cluster.opened(cluster.other, token, mine) as events:
        for url in (cluster.one, cluster.other):
            for stranger in others:
                assert (await cluster.operate(url, token, stranger, ALERTS)).status_code == 404
                assert (await cluster.stop(url, token, stranger)).status_code == 404
        assert (await cluster.operate(cluster.one, token, mine, SINCE)).status_code == 202
        assert (await events.next_data())["id"] == "q"


async def test_operation_on_a_stream_needs_the_credentials_of_its_caller(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    token = await cluster.reserved(cluster.one, mine)
    async with cluster.opened(cluster.one, token):
        for url in (cluster.one, cluster.other):
            assert (await cluster.operate(url, token, {})).status_code == 401
            assert (await cluster.stop(url, token, {})).status_code == 401
        assert (await cluster.operate(cluster.one, token, await holder.token())).status_code == 202


async def test_stream_is_bound_to_the_origin_of_its_reservation(cluster: Cluster, holder: Holder) -> None:
    mine, page = await holder.token(), {"Origin": APP_ORIGIN}
    of_page, of_program = (
        await cluster.reserved(cluster.one, {**mine, **page}),
        await cluster.reserved(cluster.one, mine),
    )
    for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert await cluster.open_status(cluster.one, of_page, {**mine, **origin}) == 404
    assert await cluster.open_status(cluster.other, of_program, page) == 404
    async with cluster.opened(cluster.other, of_page, page) as events:
        for url in (cluster.one, cluster.other):
            assert (await cluster.operate(url, of_page, mine, ALERTS)).status_code == 404
        assert (await cluster.operate(cluster.one, of_page, {**mine, **page}, SINCE)).status_code == 202
        assert (await events.next_data())["id"] == "q"


async def test_own_origin_counts_as_none(cluster: Cluster, holder: Holder) -> None:
    own = {**await holder.token(), "Origin": cluster.one}  # browsers send it with PUT, but not with GET
    token = await cluster.reserved(cluster.one, own)
    async with cluster.opened(cluster.one, token):
        assert (await cluster.operate(cluster.one, token, own)).status_code == 202


async def test_reserved_stream_opens_once_at_any_gateway(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    token = await cluster.reserved(cluster.one, mine)
    async with cluster.opened(cluster.other, token) as events:
        assert events.response.status_code == 200
        assert await cluster.open_status(cluster.other, token, mine) == 409
        assert await cluster.open_status(cluster.one, token, mine) == 404
        assert (await cluster.operate(cluster.one, token, mine, SINCE)).status_code == 202
        assert (await events.next_data())["id"] == "q"
    async with asyncio.timeout(ENDED_SECONDS):  # until the gateway sees that the client has left
        while (status := await cluster.open_status(cluster.other, token, mine)) == 409:
            continue
    assert status == 404


async def test_stream_that_nobody_reserved_does_not_open(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    assert await cluster.open_status(cluster.one, "made-up", mine) == 404
    assert (await cluster.operate(cluster.one, "made-up", mine, ALERTS)).status_code == 404


@each_act
async def test_distinct_stream_ends_with_its_credential_at_every_gateway(
    cluster: Cluster, holder: Holder, act: Act
) -> None:
    mine = await holder.token()
    async with (
        cluster.distinct(cluster.one, mine, SINCE) as first,
        cluster.distinct(cluster.other, mine, SINCE) as second,
    ):
        for events in (first, second):
            await events.next_data()
        await perform(act, holder, mine)
        await asyncio.gather(ends(first), ends(second))
