"""Applications that act for a user need a valid consent. The user needs none for the own past."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.house import Tenant
from tests.support.metering import START, Metered, metered, resource_at
from tests.support.people import paired_display
from tests.support.residents import resident
from tests.support.socket import Socket, socket
from tests.support.timed import Timed
from tests.support.user_jobs import exported

LIFETIME = timedelta(minutes=30)
"""How long the consent is valid. It is shorter than the lifetime of a log-in."""

WITHHELD = "query ($id: ID!) { resource(resourceId: $id) { withheld { reason } firstTime } }"
FRESHNESS = "subscription ($ids: [ID!]!) { freshness(resourceIds: $ids) { freshness { asOf } } }"


async def household(timed: Timed) -> tuple[Tenant, Metered]:
    """Return a user with readings of a meter point, whose consent expires after LIFETIME."""
    who = await resident(timed.house.one)
    point = await metered(who)
    await who.record(point.resource_id, (START, "0.5"))
    until = timed.clock.now + LIFETIME
    await who.run("renew_consents", mpxns=[point.mpxn], valid_until=until)
    return who, point


async def move(timed: Timed, point: Metered) -> None:
    body = {"userId": (await resident(timed.house.one)).user_id}
    path, application = f"/resource/{point.resource_id}/owner", timed.house.one.headers["application"]
    assert (await timed.house.call("PUT", path, application, json=body)).status_code == 200


async def statuses(timed: Timed, who: Tenant, point: Metered, callers: dict[str, dict[str, str]]) -> dict[str, int]:
    """Return the HTTP status with which each caller reads the readings of a resource."""
    path = f"/resource/{point.resource_id}/current"
    return {name: (await timed.house.call("GET", path, headers)).status_code for name, headers in callers.items()}


@pytest.mark.every_case("each order of the end of the consent and of the stay")
@pytest.mark.parametrize("way", ["expired, then moved", "moved, then expired", "expired and closed, then the next one"])
async def test_an_application_acting_for_a_former_household_needs_a_valid_consent(timed: Timed, way: str) -> None:
    who, point = await household(timed)
    home = await who.add_home(point.resource_id)
    display, _ = await paired_display(who, home)
    callers = {"account": who.headers["account"], "acting": who.headers["acting"], "display": display}
    await exported(who)
    assert await statuses(timed, who, point, callers) == {"account": 200, "acting": 200, "display": 200}
    archive = f"/user/{who.user_id}/export.zip"
    assert (await timed.house.call("GET", archive, who.headers["acting"])).status_code == 200
    if way == "moved, then expired":
        await move(timed, point)
        assert (await statuses(timed, who, point, callers))["acting"] == 200  # the consent is still valid
    timed.pass_time(LIFETIME)
    if way == "expired, then moved":
        assert (await statuses(timed, who, point, callers))["account"] == 403  # the household can renew it
        await move(timed, point)
    elif way.endswith("the next one"):
        closing = {"active": False}
        await timed.house.call("PUT", f"/resource/{point.resource_id}", who.headers["account"], json=closing)
        await resource_at(await resident(timed.house.one), point.mpxn)
    found = await statuses(timed, who, point, callers)
    assert (found["account"], found["acting"]) == (200, 403)
    assert (await timed.house.call("GET", archive, who.headers["acting"])).status_code == 403
    assert (await timed.house.call("GET", archive, who.headers["account"])).status_code == 200
    withheld = {
        name: (await timed.house.graphql(WITHHELD, who.headers[name], id=point.resource_id))["data"]["resource"]
        for name in ("account", "acting")
    }
    assert withheld["account"]["withheld"] is None
    assert withheld["acting"] == {"withheld": {"reason": "EXPIRED"}, "firstTime": None}


async def last_time(client: Socket, credentials: dict[str, str], resource_id: str) -> Any:
    """Subscribe to the freshness of a resource, and return the first message."""
    await client.init(**credentials)
    await client.subscribe(FRESHNESS, ids=[resource_id])
    return await client.hear()


async def test_an_application_shares_no_live_data_with_the_user_for_whom_it_acts(timed: Timed) -> None:
    """Both see the same rows, and the household that reads its past subscribes first."""
    who, point = await household(timed)
    await move(timed, point)
    timed.pass_time(LIFETIME)
    async with socket(timed.house.url) as of_account, socket(timed.house.url) as of_application:
        first = await last_time(of_account, who.headers["account"], point.resource_id)
        (shown,) = first["payload"]["data"]["freshness"]
        assert shown["freshness"]["asOf"] is not None
        refused = await last_time(of_application, who.headers["acting"], point.resource_id)
        assert refused["type"] == "error", refused
        assert refused["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"
