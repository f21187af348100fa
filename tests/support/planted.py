"""A user with unusual values in every place that holds personal data, added over both interfaces."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.support.house import PASSWORD, House, Tenant
from tests.support.refusals import refusals
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role

NAME = "Xyzzyq Plughtwist"
EMAIL = "xyzzyq.plugh@strange.example"
USERNAME = "Plughtwist77@strange.example"
HARDWARE_ID = "FA57C0FFEE42"
ADDRESS = "7 Frobozz Crescent"
TEXT = "my quuxotic secret"
PUSH_TOKEN = "fcm:wibblewobble"
MPAN = "1900099887766"
MARKS = ("xyzzyq", "plugh", HARDWARE_ID, "frobozz", "quuxotic", "wibblewobble")
"""The start of each personal value."""

HALF_HOURS = [datetime(2026, 1, 5, hour // 2, hour % 2 * 30, tzinfo=UTC) for hour in range(4)]

ADD_RESOURCE = "mutation ($i: NewResource!) { createResource(input: $i) { ... on Resource { resourceId } ...Refused } }"
ADD_HOME = "mutation ($i: NewHome!) { createHome(input: $i) { ... on Home { homeId } ...Refused } }"
ADD_DEVICE = "mutation ($i: NewDevice!) { createDevice(input: $i) { ... on Device { deviceId } ...Refused } }"
SET_TARIFF = "mutation ($i: NewTariff!) { setTariff(input: $i) { ... on Tariff { tariffId } ...Refused } }"
RECORD = "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } ...Refused } }"
SEND_ALERT = "mutation ($i: NewAlert!) { sendAlert(input: $i) { ... on Alert { alertId } ...Refused } }"


@dataclass
class Planted:
    """The user with the unusual values. `headers` has a token, and `acting` the application that acts for the user."""

    house: House
    tenant: Tenant
    user_id: str = ""
    account_id: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def acting(self) -> dict[str, str]:
        return {**self.tenant.headers["application"], "userId": self.user_id}

    async def ask(self, query: str, headers: dict[str, str] | None = None, **variables: Any) -> Any:
        """Send a GraphQL request as the application for the user, and return its only field."""
        answer = await self.house.graphql(query, headers or self.acting, **variables)
        assert not refusals(answer), answer
        return next(iter(answer["data"].values()))


async def plant(house: House, tenant: Tenant) -> Planted:
    """Add the user with a record of every kind."""
    planted = Planted(house, tenant)
    application = tenant.headers["application"]
    added = await planted.ask(
        (
            "mutation ($i: NewUser!) { createUser(input: $i) {"
            " ... on User { userId applications { accountId } } ...Refused } }"
        ),
        application,
        i={"username": USERNAME, "name": NAME, "email": EMAIL, "password": PASSWORD},
    )
    planted.user_id, planted.account_id = added["userId"], added["applications"][0]["accountId"]
    login = await tenant.gateway.runner.run(
        tokens.authenticate,
        Principal(Role.ANONYMOUS),
        {"application_id": tenant.application_id, "username": USERNAME, "password": PASSWORD},
    )
    planted.headers = {"token": login.token}
    await _add_home(planted)
    await _add_account_records(planted)
    await _add_messages(planted)
    return planted


async def _add_home(planted: Planted) -> None:
    ids, tenant = planted.ids, planted.tenant
    resource = {"resourceTypeId": tenant.ids["resource_type"], "name": f"{NAME} meter", "description": TEXT}
    for name, mpxn in (("billed", MPAN), ("unbilled", None)):
        ids[name] = (await planted.ask(ADD_RESOURCE, i={**resource, "meterPointNumber": mpxn}))["resourceId"]
        readings = [{"at": at.isoformat(), "value": f"0.{position}25"} for position, at in enumerate(HALF_HOURS)]
        energy = {"resourceId": ids[name], "readings": readings}
        power = {"resourceId": ids[name], "field": "POWER", "readings": [{"at": HALF_HOURS[0].isoformat(), "value": 9}]}
        assert (await planted.ask(RECORD, s=[energy, power]))["recorded"] == 5
        tariff: dict[str, Any] = {
            "resourceId": ids[name],
            "name": f"{NAME} rate",
            "kind": "FLAT",
            "currency": "GBP",
            "rate": "0.245",
        }
        tariff |= {"validFrom": "2024-01-01T00:00:00Z", "timeZone": "Europe/London"}
        tariff["components"] = [{"name": "Capacity", "basis": "PEAK", "rate": "0", "steps": [{"rate": "15.5"}]}]
        ids[f"{name} tariff"] = (await planted.ask(SET_TARIFF, i=tariff))["tariffId"]
    home = {"homeTypeId": tenant.ids["virtual_entity_type"], "name": f"{NAME}'s home", "location": ADDRESS}
    home["resources"] = [{"resourceId": ids["billed"]}]  # type: ignore[assignment]
    ids["home"] = (await planted.ask(ADD_HOME, i=home))["homeId"]
    path = f"/virtualentity/{ids['home']}/attribute"
    added = await planted.house.call("POST", path, planted.acting, json={"attributes": {"note": TEXT}})
    assert added.status_code == 201, added.text
    device: dict[str, Any] = {"deviceTypeId": tenant.ids["device_type"], "hardwareId": HARDWARE_ID, "description": TEXT}
    device["hardwareIds"] = {"MAC": HARDWARE_ID, "serialNumber": "xyzzyq-9"}
    ids["device"] = (await planted.ask(ADD_DEVICE, i=device))["deviceId"]


async def _add_account_records(planted: Planted) -> None:
    house, own = planted.house, planted.headers
    stored = await house.call("POST", "/accountprofile", own, json={"profileName": f"{TEXT} profile", "note": NAME})
    assert stored.status_code == 200, stored.text
    stored = await house.call("PUT", "/accountsession", own, json={"page": TEXT})
    assert stored.status_code == 200, stored.text
    token = "mutation ($a: ID!, $t: String!) { createPushToken(accountId: $a, pushToken: $t) { ...Refused } }"
    await planted.ask(token, own, a=planted.account_id, t=PUSH_TOKEN)
    await planted.ask('mutation { changeEmail(email: "xyzzyq.new@strange.example") { ...Refused } }', own)
    ids = planted.tenant.ids
    prompt = (
        "mutation ($i: NewPromptUser!) { createPromptUser(input: $i) {"
        " ... on PromptUser { promptUserId } ...Refused } }"
    )
    await planted.ask(prompt, own, i={"promptId": ids["prompt"], "status": TEXT, "data": {"said": NAME}})
    action = (
        "mutation ($i: NewUserAction!) { createUserAction(input: $i) {"
        " ... on UserAction { userActionId } ...Refused } }"
    )
    await planted.ask(action, own, i={"userActionTypeId": ids["user_action_type"], "data": {"said": NAME}})
    await planted.ask(
        f'mutation {{ verifyMeterPoint(meterPointNumber: "{MPAN}", purpose: "{TEXT}") {{ ...Refused }} }}'
    )
    read = f'{{ resource(resourceId: "{planted.ids["billed"]}") {{ firstTime }} }}'
    await planted.ask(read, {**planted.acting, "X-Access-Purpose": TEXT})
    for is_claimed in (True, False):
        await _pair_display(planted, is_claimed=is_claimed)


async def _pair_display(planted: Planted, *, is_claimed: bool) -> None:
    """Approve a display for the home, and let it take its credential."""
    anonymous = {"applicationId": planted.tenant.application_id}
    start = "mutation { startDisplayPairing { ... on DisplayPairing { deviceCode userCode } ...Refused } }"
    started = await planted.ask(start, anonymous)
    approve = """mutation ($c: String!, $v: ID!, $n: String!) {
      approveDisplayPairing(userCode: $c, homeId: $v, name: $n) {
        ... on DisplayPairingRequest { name } ...Refused } }"""
    await planted.ask(approve, planted.headers, c=started["userCode"], v=planted.ids["home"], n=f"{NAME}'s hall")
    if is_claimed:
        claim = (
            "mutation ($c: String!) { claimDisplayPairing(deviceCode: $c) {"
            " ... on DisplayPairingClaim { state } ...Refused } }"
        )
        await planted.ask(claim, anonymous, c=started["deviceCode"])


async def _add_messages(planted: Planted) -> None:
    alert = {"userId": planted.user_id, "alertTypeId": "CM01", "channels": ["INBOX", "EMAIL"], "data": {"name": NAME}}
    alert["callbackUrl"] = "https://hooks.strange.example/quuxotic"
    sent = await planted.ask(SEND_ALERT, planted.tenant.headers["application"], i=alert)
    planted.ids["alert"] = sent["alertId"]
