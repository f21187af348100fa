"""Pairing of displays by a code on both interfaces, two tenants and both databases."""

import pytest

from tests.support.house import House, Tenant
from tests.support.pairing import Interface, Refusal
from tests.support.residents import resident


@pytest.fixture(params=["graphql", "rest"])
def interface(request: pytest.FixtureRequest, served: House) -> Interface:
    return Interface(served, is_rest=request.param == "rest")


@pytest.fixture
async def owner(served: House) -> Tenant:
    """A user with a home of its own."""
    tenant = await resident(served.one)
    tenant.ids["virtual_entity"] = await tenant.add_home(await tenant.add_resource())
    return tenant


async def test_display_is_paired_listed_renamed_and_revoked(interface: Interface, owner: Tenant) -> None:
    mine, ve_id = owner.headers["account"], owner.ids["virtual_entity"]
    started = await interface.start(owner, "  Wall\n panel ")
    assert (started["expiresIn"], started["interval"]) == (600, 5)
    assert started["verificationUriComplete"].endswith(
        f"/pair?application={owner.application_id}#{started['userCode']}"
    )
    assert (await interface.claim(owner, started["deviceCode"]))["state"] == "PENDING"
    assert (await interface.check(mine, started["userCode"].lower().replace("-", " ")))["name"] == "Wall panel"
    await interface.approve(mine, started["userCode"], ve_id, name="Kitchen")
    assert await interface.listed(mine) == []
    claimed = await interface.claim(owner, started["deviceCode"])
    display = claimed["display"]
    assert (claimed["state"], display["name"], display["veId"]) == ("APPROVED", "Kitchen", ve_id)
    headers = {"token": claimed["token"]}
    assert (await interface.own(headers))["displayId"] == display["displayId"]
    assert await interface.listed(mine) == [display]
    await interface.rename(mine, display["displayId"], "Hall")
    assert (await interface.own(headers))["name"] == "Hall"
    await interface.revoke(mine, display["displayId"])
    assert await interface.listed(mine) == []
    with pytest.raises(Refusal) as refused:
        await interface.own(headers)
    assert refused.value.code == "UNAUTHENTICATED"
