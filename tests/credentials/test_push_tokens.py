"""Push tokens end with the credential that added them."""

import pytest

from tests.credentials.cluster import ACCOUNT_ACTS, TOKEN_ACTS, Act, Cluster, Headers, Holder, perform
from tests.support.encryption import stored_push_tokens


async def add(holder: Holder, headers: Headers, token: str) -> int:
    path = f"/account/{holder.account_id}/mobileapptoken"
    return (await holder.cluster.rest(holder.cluster.one, "POST", path, headers, json={"newToken": token})).status_code


async def known(holder: Holder) -> list[str]:
    """Return the push tokens of the account in the database."""
    return await stored_push_tokens(holder.cluster.gateway.database, holder.account_id)


@pytest.mark.parametrize("act", [*TOKEN_ACTS, *ACCOUNT_ACTS], ids=lambda act: act.__name__)
async def test_push_token_ends_with_the_log_in_that_added_it(cluster: Cluster, holder: Holder, act: Act) -> None:
    theirs = await holder.token()
    assert await add(holder, theirs, "fcm:theirs") == 200
    await perform(act, holder, theirs)
    assert await known(holder) == []


@pytest.mark.parametrize("act", TOKEN_ACTS, ids=lambda act: act.__name__)
async def test_push_tokens_of_other_log_ins_stay(cluster: Cluster, holder: Holder, act: Act) -> None:
    theirs = await holder.token()
    for headers, token in (
        (theirs, "fcm:theirs"),
        (await holder.token(), "fcm:mine"),
        (holder.password, "fcm:password"),
        (cluster.tenant.headers["application"], "fcm:application"),
    ):
        assert await add(holder, headers, token) == 200
    await perform(act, holder, theirs)
    assert await known(holder) == ["fcm:application", "fcm:mine", "fcm:password"]


async def test_password_change_keeps_only_the_push_tokens_of_its_own_log_in(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    for headers, token in (
        (mine, "fcm:mine"),
        (await holder.token(), "fcm:theirs"),
        (holder.password, "fcm:password"),
        (cluster.tenant.headers["application"], "fcm:application"),
    ):
        assert await add(holder, headers, token) == 200
    body = {"oldPassword": "correct horse", "newPassword": "battery staple"}
    changed = await cluster.rest(cluster.other, "POST", "/account/changepassword", mine, json=body)
    assert changed.status_code == 200
    assert await known(holder) == ["fcm:mine"]


async def test_push_token_belongs_to_the_last_log_in_that_added_it(cluster: Cluster, holder: Holder) -> None:
    earlier, later = await holder.token(), await holder.token()
    assert await add(holder, earlier, "fcm:phone") == await add(holder, later, "fcm:phone") == 200
    await cluster.rest(cluster.one, "DELETE", "/auth/deleteToken", earlier)
    assert await known(holder) == ["fcm:phone"]
    await cluster.rest(cluster.one, "DELETE", "/auth/deleteToken", later)
    assert await known(holder) == []


async def test_push_token_survives_the_expiry_of_the_log_in_that_added_it(cluster: Cluster, holder: Holder) -> None:
    mine = await holder.token()
    assert await add(holder, mine, "fcm:phone") == 200
    await cluster.expire(mine["token"])
    await holder.token()  # deletes the expired token
    assert await known(holder) == ["fcm:phone"]


async def test_oauth_client_neither_adds_nor_lists_nor_removes_push_tokens(cluster: Cluster, holder: Holder) -> None:
    assert await add(holder, await holder.token(), "fcm:mine") == 200
    granted = await holder.oauth()
    assert await add(holder, granted, "fcm:client") == 403
    path = f"/account/{holder.account_id}/mobileapptoken"
    removed = await cluster.rest(cluster.one, "PUT", path, granted, json={"removeToken": "fcm:mine"})
    assert removed.status_code == 403
    query = "query ($id: ID!) { pushTokens(accountId: $id) { token } }"
    listed = await cluster.house.graphql(query, dict(granted), id=holder.account_id)
    assert listed["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert await known(holder) == ["fcm:mine"]
