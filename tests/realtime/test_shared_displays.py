"""Viewers of a home share the drawing of its display if they see the same rows, and only then."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from strawberry import ID

from tests.support import people
from tests.support.house import Tenant
from tests.support.socket import Socket, socket
from tests.support.timed import Timed
from wattgate.enums import Channel
from wattgate.errors import GatewayError
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.principal import Principal, Role
from wattgate.realtime.connections.protocol import CloseCode
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.subscriptions import snapshot_group
from wattgate.realtime.subscriptions.snapshot_group import SnapshotGroup

FRAME = "subscription ($id: ID!) { display(homeId: $id) { power { net { value } } unreadAlerts tariff { name } } }"
OTHER_FRAME = "subscription ($id: ID!) { display(homeId: $id) { power { net { value } } } }"


@dataclass
class Household:
    """A user with a home of one meter point, and the credentials of its viewers."""

    timed: Timed
    tenant: Tenant
    mpxn: str
    resource_id: str
    ve_id: str
    viewers: dict[str, dict[str, str]]

    @asynccontextmanager
    async def watching(self, viewer: str, query: str = FRAME) -> AsyncIterator[Socket]:
        async with socket(self.timed.house.url) as client:
            await client.init(**self.viewers[viewer])
            await client.subscribe(query, id=self.ve_id)
            await frame(client)
            yield client

    async def power(self, watts: int) -> None:
        """Record a reading, which changes the frame."""
        self.timed.pass_time(timedelta(seconds=10))
        await self.tenant.record(self.resource_id, (self.timed.clock.now, str(watts)), field="POWER")

    @property
    def groups(self) -> list[SnapshotGroup]:
        """The groups of the home's display. Each draws its frames once."""
        groups = self.tenant.gateway.realtime.groups._groups.values()
        return [
            group
            for group in groups
            if isinstance(group, SnapshotGroup) and getattr(group._reducer, "_ve_id", None) == self.ve_id
        ]

    def principal(self, role: Role, **more: Any) -> Principal:
        own = {"application_id": self.tenant.application_id, "user_id": self.tenant.user_id}
        return Principal(role, **{**own, **more})

    async def key(self, principal: Principal) -> Any:
        """Return the key under which a caller shares its frames."""
        service = self.tenant.gateway.subscription_service
        started = await service.start_operation(principal, OperationRequest(query=FRAME, variables={"id": self.ve_id}))
        return getattr(started, "key", None)


@pytest.fixture
async def household(timed: Timed) -> Household:
    assert timed.house.served_gateway is not None
    one = replace(timed.house.one, gateway=timed.house.served_gateway)  # whose events reach the subscribers
    who = await people.active(one)
    tenant = replace(one, user_id=who["userId"], account_id=who["accountId"], ids=dict(one.ids))
    mpxn = str(uuid4().int)[:13]
    await tenant.run("verify_meter_point", mpxn=mpxn)
    resource_id = await tenant.add_resource(mpxn=mpxn)
    ve_id = await tenant.add_home(resource_id)
    tenant.ids["partner"] = await tenant.add_account(f"{uuid4().hex}@example.org")
    partner = replace(tenant, account_id=tenant.ids["partner"])
    viewers = {
        "owner": {"token": await tenant.add_token()},
        "phone": {"token": await tenant.add_token()},
        "partner": {"token": await partner.add_token()},
        "acting": {**one.headers["application"], "userId": tenant.user_id},
        "kitchen": (await people.paired_display(tenant, ve_id))[0],
        "hall": (await people.paired_display(tenant, ve_id))[0],
        "application": one.headers["application"],
        "administrator": one.headers["administrator"],
    }
    return Household(timed, tenant, mpxn, resource_id, ve_id, viewers)


async def frame_where(client: Socket, holds: Callable[[Any], bool]) -> Any:
    """Return the next frame for which a condition holds."""
    while not holds(shown := await frame(client)):
        pass
    return shown


async def frame(client: Socket) -> Any:
    payload = await client.payload()
    assert "errors" not in payload, payload
    return payload["data"]["display"]


async def test_viewers_who_see_the_same_rows_share_each_drawing(household: Household) -> None:
    async with AsyncExitStack() as stack:
        family = [
            await stack.enter_async_context(household.watching(viewer)) for viewer in ("owner", "phone", "partner")
        ]
        assert [group.size for group in household.groups] == [3]
        displays = [await stack.enter_async_context(household.watching(viewer)) for viewer in ("kitchen", "hall")]
        assert [group.size for group in household.groups] == [3, 2]
        other = await stack.enter_async_context(household.watching("owner", OTHER_FRAME))
        assert [group.size for group in household.groups] == [3, 2, 1]
        staff = [
            await stack.enter_async_context(household.watching(viewer)) for viewer in ("application", "administrator")
        ]
        assert [group.size for group in household.groups] == [3, 2, 1, 2]
        acting = await stack.enter_async_context(household.watching("acting"))  # it needs a valid consent
        assert [group.size for group in household.groups] == [3, 2, 1, 2, 1]
        await household.power(700)
        assert [
            (await frame(client))["power"]["net"]["value"] for client in (*family, *displays, *staff, other, acting)
        ] == [700] * 9


async def test_key_separates_callers_who_see_other_rows(household: Household) -> None:
    account = household.principal(Role.ACCOUNT, account_id=household.tenant.account_id)
    owner = await household.key(account)
    assert await household.key(replace(account, account_id="another", oauth_scopes=frozenset({"read"}))) == owner
    display = household.principal(Role.DISPLAY, ve_id=household.ve_id)
    application = household.principal(Role.APPLICATION, user_id=None)
    acting = household.principal(Role.APPLICATION)
    keys = [owner, *[await household.key(caller) for caller in (display, application, acting)]]
    assert len(set(keys)) == 4


@pytest.mark.long("waits for alerts that do not come; shared viewers and consents stay in the short form")
async def test_paired_display_does_not_get_the_alerts_of_its_owner(household: Household) -> None:
    tenant = household.tenant
    async with household.watching("owner") as owner, household.watching("kitchen") as kitchen:
        alert = NewAlert(user_id=ID(tenant.user_id), alert_type_id=tenant.ids["alert_type"], channels=[Channel.INBOX])
        await tenant.run("send_alert", input=alert)
        assert await frame_where(owner, lambda shown: shown["unreadAlerts"] == 1)
        await household.power(300)
        shown = await frame_where(kitchen, lambda shown: shown["power"] is not None)
        assert shown["unreadAlerts"] == 0


async def test_viewer_whose_credentials_end_receives_nothing_and_the_others_do(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first viewer ends, with whose permissions the shared state was read. It is read again for the others."""
    monkeypatch.setattr(snapshot_group, "LOAD_SPREAD_SECONDS", 0.0)
    async with household.watching("partner") as partner, household.watching("owner") as owner:
        assert [group.size for group in household.groups] == [2]
        await household.tenant.run("delete_account", account_id=household.tenant.ids["partner"])
        assert (await partner.closed())[0] == CloseCode.FORBIDDEN
        await household.power(300)
        assert (await frame(owner))["power"]["net"]["value"] == 300
        await household.tenant.set_tariff(household.resource_id, "Night")
        assert await frame_where(owner, lambda shown: shown["tariff"] == {"name": "Night"})
        assert [group.size for group in household.groups] == [1]


async def test_withdrawn_consent_withholds_the_data_from_all_its_viewers(household: Household) -> None:
    async with household.watching("owner") as owner, household.watching("partner") as partner:
        assert [group.size for group in household.groups] == [2]
        path = f"/user/verification/status/mpxn/{household.mpxn}/revocation"
        answer = await household.timed.house.call("POST", path, household.viewers["owner"])
        assert answer.status_code == 200, answer.text
        for client in (owner, partner):
            message = await client.hear()
            assert message["type"] == "error", "the home has no other data to show"
            assert message["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"
    async with socket(household.timed.house.url) as client:
        await client.init(**household.viewers["partner"])
        await client.subscribe(FRAME, id=household.ve_id)
        assert (await client.error())["extensions"]["code"] == "CONSENT_REVOKED"


async def test_caller_without_permission_does_not_join_its_viewers(household: Household) -> None:
    one = household.timed.house.one
    stranger = await people.active(one)
    async with household.watching("owner"):
        for principal, code in (
            (
                household.principal(Role.ACCOUNT, user_id=stranger["userId"], account_id=stranger["accountId"]),
                "NOT_FOUND",
            ),
            (household.principal(Role.ACCOUNT, account_id="any", oauth_scopes=frozenset({"openid"})), "FORBIDDEN"),
            (household.principal(Role.DISPLAY, ve_id=one.ids["virtual_entity"]), "NOT_FOUND"),
            (household.principal(Role.ANONYMOUS, user_id=None), "UNAUTHENTICATED"),
        ):
            with pytest.raises(GatewayError) as refused:
                await household.key(principal)
            assert refused.value.code == code
        assert [group.size for group in household.groups] == [1]
