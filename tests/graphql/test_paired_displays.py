"""Pairing of displays by a code on both interfaces, two tenants and both databases."""

import pytest

from tests.support.house import House, Tenant
from tests.support.pairing import Door, Refusal
from tests.support.residents import resident


@pytest.fixture(params=["graphql", "rest"])
def door(request: pytest.FixtureRequest, served: House) -> Door:
    return Door(served, is_rest=request.param == "rest")


@pytest.fixture
async def owner(served: House) -> Tenant:
    """A user with a home of its own."""
    tenant = await resident(served.one)
    tenant.ids["virtual_entity"] = await tenant.add_home(await tenant.add_resource())
    return tenant


async def test_display_is_paired_listed_renamed_and_revoked(door: Door, owner: Tenant) -> None:
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    started = await door.start(owner, "  Wall\n panel ")
    assert (started["expiresIn"], started["interval"]) == (600, 5)
    assert started["verificationUriComplete"].endswith(
        f"/pair?application={owner.application_id}#{started['userCode']}"
    )
    assert (await door.claim(owner, started["deviceCode"]))["state"] == "PENDING"
    assert (await door.check(mine, started["userCode"].lower().replace("-", " ")))["name"] == "Wall panel"
    await door.approve(mine, started["userCode"], ve_id, name="Kitchen")
    assert await door.listed(mine) == []
    claimed = await door.claim(owner, started["deviceCode"])
    display = claimed["display"]
    assert (claimed["state"], display["name"], display["veId"]) == ("APPROVED", "Kitchen", ve_id)
    headers = {"token": claimed["token"]}
    assert (await door.own(headers))["displayId"] == display["displayId"]
    assert await door.listed(mine) == [display]
    await door.rename(mine, display["displayId"], "Hall")
    assert (await door.own(headers))["name"] == "Hall"
    await door.revoke(mine, display["displayId"])
    assert await door.listed(mine) == []
    with pytest.raises(Refusal) as refused:
        await door.own(headers)
    assert refused.value.code == "UNAUTHENTICATED"
