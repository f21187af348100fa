"""The meaning of records and answers over both interfaces: one for each name. Contradictions are refused."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from tests.support import people
from tests.support.house import House, Tenant, operation
from tests.support.refusals import refusal_of, refusals
from tests.support.timed import Timed
from wattgate.db.models import WebhookEvent
from wattgate.enums import DfsEventState
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal, Role

pytestmark = pytest.mark.both_databases("a main path of its area")


async def call(house: House, query: str, headers: dict[str, str], **variables: Any) -> Any:
    """Return the only field of a GraphQL response, or the code of its error."""
    answer = await house.graphql(query, headers, **variables)
    if refusals(answer):
        return refusal_of(answer)["code"]
    (value,) = answer["data"].values()
    return value


def problems_of(answer: dict[str, Any]) -> list[str]:
    """Return the paths of the problems of a GraphQL response."""
    return [".".join(map(str, problem["path"])) for problem in refusal_of(answer)["problems"]]


# Flexibility events

JOIN = (
    "mutation ($id: ID!) { joinFlexibilityEvent(flexibilityEventId: $id) {"
    " ... on FlexibilityParticipations { items { meterPointNumber } } ...Refused } }"
)
PARTICIPATIONS = (
    "{ viewer { flexibilityParticipations { edges { node { meterPointNumber event { flexibilityEventId } } } } } }"
)


async def household(tenant: Tenant) -> tuple[dict[str, str], str]:
    """Return the headers of a new user who is enrolled with a verified meter point, and the meter point."""
    who = await people.active(tenant)
    user = Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=who["userId"])
    mpxn = str(uuid4().int)[:13]
    await tenant.gateway.runner.run(operation("verify_meter_point"), user, {"mpxn": mpxn})
    await tenant.gateway.runner.run(operation("opt_in_to_dfs"), user, {"mpxn": mpxn})
    return {**tenant.headers["application"], "userId": who["userId"]}, mpxn


async def open_event(timed: Timed, hours: int) -> str:
    """Add an event that begins after some hours and lasts for one, and open it."""
    start, tenant = timed.clock.now + timedelta(hours=hours), timed.house.one
    reward, currency = Decimal(3), Currency("GBP")
    event = NewDfsEvent(name="E", starts_at=start, ends_at=start + timedelta(hours=1), reward=reward, currency=currency)
    event_id = str((await tenant.run("add_dfs_event", input=event)).dfs_event_id)
    await tenant.run("move_dfs_event", dfs_event_id=event_id, state=DfsEventState.OPEN)
    return event_id


@pytest.mark.parametrize(("minutes", "joins"), [(0, True), (89, True), (120, False), (121, False), (60 * 24, False)])
async def test_nobody_joins_an_event_after_its_end(timed: Timed, minutes: int, joins: bool) -> None:
    headers, mpxn = await household(timed.house.one)
    event_id = await open_event(timed, 1)
    timed.pass_time(timedelta(minutes=minutes))
    path, body = "/dfs/event/user/participation", {"dfsEventId": event_id}
    answer = await timed.house.call("POST", path, headers, json=body)
    assert answer.status_code == (200 if joins else 409), answer.text
    assert await call(timed.house, JOIN, headers, id=event_id) == (
        {"items": [{"meterPointNumber": mpxn}]} if joins else "CONFLICT"
    )


async def test_opting_out_leaves_events_that_have_not_begun(timed: Timed) -> None:
    house, (headers, mpxn) = timed.house, await household(timed.house.one)
    others, other = await household(house.one)
    begun, ahead = [await open_event(timed, hours) for hours in (1, 5)]
    for event_id in (begun, ahead):
        for who in (headers, others):
            await house.call("POST", "/dfs/event/user/participation", who, json={"dfsEventId": event_id})
    timed.pass_time(timedelta(hours=1))
    assert (await house.call("DELETE", "/dfs/user", headers, json={"mpxn": mpxn})).status_code == 200
    events = (await house.call("GET", "/dfs/event/user", headers)).json()
    assert [event["dfsEventId"] for event in events] == [begun]
    listed = (await call(house, PARTICIPATIONS, headers))["flexibilityParticipations"]["edges"]
    assert [each["node"] for each in listed] == [{"meterPointNumber": mpxn, "event": {"flexibilityEventId": begun}}]
    left = (await house.call("GET", f"/dfs/event/{ahead}/user", house.one.headers["application"])).json()
    assert [participation["mpxn"] for participation in left] == [other]


async def test_opting_out_of_one_meter_point_keeps_the_others(timed: Timed) -> None:
    house, tenant = timed.house, timed.house.one
    headers, first = await household(tenant)
    user = Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=headers["userId"])
    second = str(uuid4().int)[:13]
    await tenant.gateway.runner.run(operation("verify_meter_point"), user, {"mpxn": second})
    await tenant.gateway.runner.run(operation("opt_in_to_dfs"), user, {"mpxn": second})
    event_id = await open_event(timed, 2)
    await call(house, JOIN, headers, id=event_id)
    assert await call(
        house,
        (
            "mutation ($m: MeterPointNumber!) { optOutOfFlexibility(meterPointNumber: $m) {"
            " ... on FlexibilityEnrolments { items { active } } ...Refused } }"
        ),
        headers,
        m=first,
    ) == {"items": [{"active": False}]}
    listed = (await call(house, PARTICIPATIONS, headers))["flexibilityParticipations"]["edges"]
    assert [each["node"]["meterPointNumber"] for each in listed] == [second]


# Alerts, their types and templates


def new_code() -> str:
    return uuid4().hex[:8].upper()


@pytest.mark.parametrize("by", ["code", "id"])
async def test_alert_type_of_an_alert_has_one_meaning(served: House, by: str) -> None:
    tenant, headers = served.one, served.one.headers["application"]
    named = "CM01" if by == "code" else tenant.ids["alert_type"]
    body = {"userId": tenant.user_id, "alertTypeId": named, "inbox": "yes"}
    alert_id = (await served.call("POST", "/alert", headers, json=body)).json()["ns_alert_id"]
    expected = {"alertTypeId": tenant.ids["alert_type"], "systemAlertTypeId": "CM01"}
    alert = (await served.call("GET", f"/alert/{alert_id}", headers)).json()
    assert alert.items() >= expected.items()
    listed = (await served.call("GET", "/alert/user", tenant.headers["account"])).json()
    assert listed[-1].items() >= expected.items()
    query = "query ($id: ID!) { node(id: $id) { ... on Alert { alertTypeId systemAlertTypeId } } }"
    assert await call(served, query, headers, id=encode_global_id("Alert", alert_id)) == expected
    found = await served.call("GET", f"/alerttype/{alert['alertTypeId']}", headers)
    assert found.json()["systemAlertTypeId"] == "CM01"
    events = await people.read(
        tenant, lambda rows: rows.all(WebhookEvent, WebhookEvent.event_code.startswith("alert."))
    )
    payloads = [event.payload for event in events if event.payload.get("ns_alert_id") == alert_id]
    assert len(payloads) >= 2
    assert all(payload.items() >= expected.items() for payload in payloads)


@pytest.mark.parametrize("switches", [{}, {"email": "no", "send2Push": "no"}, {"inbox": "off"}])
async def test_alert_without_a_channel_is_refused(served: House, switches: dict[str, str]) -> None:
    headers = served.one.headers["application"]
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", **switches}
    answer = await served.call("POST", "/alert", headers, json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "missing elements -email")
    query = "mutation ($i: NewAlert!) { sendAlert(input: $i) { ... on Alert { alertId } ...Refused } }"
    sent = {"userId": served.one.user_id, "alertTypeId": "CM01", "channels": []}
    assert problems_of(await served.graphql(query, headers, i=sent)) == ["input.channels"]


async def test_active_alert_types_have_different_short_codes(served: House) -> None:
    headers, body = served.one.headers["application"], {"systemAlertTypeId": new_code(), "name": "A"}
    first = (await served.call("POST", "/alerttype", headers, json=body)).json()["alertTypeId"]
    again = await served.call("POST", "/alerttype", headers, json={**body, "name": "B"})
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    query = (
        "mutation ($i: NewAlertType!) { createAlertType(input: $i) { ... on AlertType { alertTypeId } ...Refused } }"
    )
    assert await call(served, query, headers, i=body) == "CONFLICT"
    other = (await served.call("POST", "/alerttype", headers, json={**body, "systemAlertTypeId": new_code()})).json()
    change = (
        "mutation ($id: ID!, $i: AlertTypeChange!) { updateAlertType(alertTypeId: $id, input: $i) {"
        " ... on AlertType { active } ...Refused } }"
    )
    taken = {"systemAlertTypeId": body["systemAlertTypeId"]}
    assert await call(served, change, headers, id=other["alertTypeId"], i=taken) == "CONFLICT"
    renamed = await served.call("PUT", f"/alerttype/{first}", headers, json={"name": "C", **taken})
    assert renamed.status_code == 200, "its own code is free"
    assert await call(served, change, headers, id=first, i={"active": False}) == {"active": False}
    assert await call(served, change, headers, id=other["alertTypeId"], i=taken) == {"active": True}
    assert await call(served, change, headers, id=first, i={"active": True}) == "CONFLICT"


@pytest.mark.parametrize("code", ["CM99", "cm01"])
async def test_template_with_the_short_code_of_another_type_is_refused(served: House, code: str) -> None:
    headers = served.one.headers["application"]
    body = {"alertTypeId": served.one.ids["alert_type"], "name": "T", "cultureCode": "en-GB", "htmlTemplate": "x"}
    body |= {"channelType": "email", "systemAlertTypeId": code}
    answer = await served.call("POST", "/template", headers, json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -systemAlertTypeId")
    query = "mutation ($i: NewTemplate!) { createTemplate(input: $i) { ... on Template { templateId } ...Refused } }"
    refused = await served.graphql(query, headers, i={**body, "channelType": "EMAIL"})
    assert problems_of(refused) == ["input.systemAlertTypeId"]


@pytest.mark.parametrize(("stored", "normal"), [("ES-mx", "es-MX"), ("zh-hant-tw", "zh-Hant-TW")])
async def test_culture_of_a_template_is_found_in_any_case(served: House, stored: str, normal: str) -> None:
    headers, kind = served.one.headers["application"], served.one.ids["alert_type"]
    path = f"/template/{kind}/push"
    added = await served.call("POST", f"{path}/{stored}", headers, json={"name": "T", "htmlTemplate": "x"})
    assert (added.status_code, added.json()["cultureCode"]) == (200, normal)
    query = """query ($t: ID!, $c: String!) {
        templateFor(alertTypeId: $t, channelType: PUSH, cultureCode: $c) { templateId cultureCode } }"""
    expected = {"templateId": added.json()["templateId"], "cultureCode": normal}
    for spelling in (stored, normal, normal.upper()):
        assert (await served.call("GET", f"{path}/{spelling}", headers)).json().items() >= expected.items()
        assert await call(served, query, headers, t=kind, c=spelling) == expected
    changed = await served.call("PUT", f"/template/{expected['templateId']}", headers, json={"cultureCode": "PT-br"})
    assert changed.json()["cultureCode"] == "pt-BR"


# Consents, homes, content and webhooks

CONSENTS = "{ viewer { consents { edges { node { meterPointNumber state } } } } }"


async def test_state_of_a_consent_is_the_same_in_rest(served: House) -> None:
    """A provisioned consent is valid without a verification, and a verified one is not after its revocation."""
    tenant, who = served.one, await people.active(served.one)
    headers = {**tenant.headers["application"], "userId": who["userId"]}
    provisioned, verified = (str(uuid4().int)[:13] for _ in range(2))
    body = {"resourceTypeId": tenant.ids["resource_type"], "name": "x", "mpxn": provisioned}
    assert (await served.call("POST", "/resource", headers, json=body)).status_code == 200
    user = Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=who["userId"])
    await tenant.gateway.runner.run(operation("verify_meter_point"), user, {"mpxn": verified})

    async def states() -> dict[str, tuple[bool, str]]:
        listed = (await served.call("GET", "/user/verification/status", headers)).json()["meterPointVerification"]
        edges = (await call(served, CONSENTS, headers))["consents"]["edges"]
        assert {each["node"]["meterPointNumber"]: each["node"]["state"] for each in edges} == {
            each["mpxn"]: each["state"].upper() for each in listed
        }
        return {each["mpxn"]: (each["isVerified"], each["state"]) for each in listed}

    assert await states() == {provisioned: (True, "valid"), verified: (True, "valid")}
    await tenant.gateway.runner.run(operation("revoke_consents"), user, {"mpxns": [verified]})
    assert await states() == {provisioned: (True, "valid"), verified: (False, "revoked")}
    await tenant.gateway.runner.run(operation("renew_consents"), user, {"mpxns": [verified]})
    assert await states() == {provisioned: (True, "valid"), verified: (True, "valid")}


@pytest.mark.parametrize("required", [True, False])
async def test_resources_of_a_home_type_change(served: House, required: bool) -> None:
    headers, kind = served.one.headers["application"], served.one.ids["resource_type"]
    added = await served.call("POST", "/vetype", headers, json={"name": "Flat"})
    path = f"/vetype/{added.json()['veTypeId']}"
    wanted = [{"resourceTypeId": kind, "required": required}]
    assert (await served.call("PUT", path, headers, json={"resources": wanted})).status_code == 201
    assert (await served.call("GET", path, headers)).json()["resources"] == wanted
    query = """mutation ($id: ID!, $i: HomeTypeChange!) {
        updateHomeType(homeTypeId: $id, input: $i) {
            ... on HomeType { name resources { required } }
            ...Refused } }"""
    changed = await call(served, query, headers, id=added.json()["veTypeId"], i={"resources": []})
    assert changed == {"name": "Flat", "resources": []}
    await served.call("PUT", path, headers, json={"name": "House"})
    assert (await served.call("GET", path, headers)).json().items() >= {"name": "House", "resources": []}.items()


@pytest.mark.parametrize(("member", "text"), [("unit", ""), ("fieldName", ""), ("unit", "  ")])
async def test_storage_field_needs_a_name_and_a_unit(served: House, member: str, text: str) -> None:
    headers = served.one.headers["administrator"]
    field = {"fieldName": "ENERGY", "unit": "kWh", "datatype": "fixedpoint(2)", member: text}
    storage = [{"type": "timeseries", "sampling": "regular", "start": "2014-01-06T00:00:00+01:00", "fields": [field]}]
    body = {"name": "x", "classifier": "x", "storage": storage}
    answer = await served.call("POST", "/resourcetype", headers, json=body)
    path = f"storage.0.fields.0.{member}"
    assert (answer.status_code, answer.json()["error"]) == (400, f"incorrect elements -{path}")
    query = (
        "mutation ($i: NewResourceType!) { createResourceType(input: $i) { ... on ResourceType { name } ...Refused } }"
    )
    assert problems_of(await served.graphql(query, headers, i=body)) == [f"input.{path}"]


@pytest.mark.parametrize(
    "start", ["2014-01-06T00:00:00+01:00", "2014-01-06T00:00:00+00:00", "2014-01-06T00:00:00-03:30"]
)
async def test_start_of_a_storage_keeps_its_offset(served: House, start: str) -> None:
    headers = served.one.headers["administrator"]
    field = {"fieldName": "ENERGY", "unit": "kWh", "datatype": "fixedpoint(2)"}
    storage = [{"type": "timeseries", "sampling": "regular", "start": start, "fields": [field]}]
    added = await served.call(
        "POST", "/resourcetype", headers, json={"name": "x", "classifier": "x", "storage": storage}
    )
    stored = await served.call("GET", f"/resourcetype/{added.json()['resourceTypeId']}", headers)
    assert stored.json()["storage"][0]["start"] == start


@pytest.mark.parametrize(
    ("version", "minimum", "accepted"), [("1.2", "1.10", False), ("1.9.9", "2", False), ("1.2", "1.2.0", True)]
)
async def test_minimum_version_of_questions_is_not_newer(
    served: House, version: str, minimum: str, accepted: bool
) -> None:
    headers = served.one.headers["application"]
    body = {"reference": new_code(), "country": "GB", "version": version, "minimumVersion": minimum, "data": []}
    answer = await served.call("POST", "/faq", headers, json=body)
    assert answer.status_code == (200 if accepted else 400)
    assert accepted or answer.json()["error"] == "incorrect elements -minimumVersion"
    query = "mutation ($i: NewFaq!) { createFaq(input: $i) { ... on Faq { version } ...Refused } }"
    response = await served.graphql(query, headers, i=body)
    assert accepted or problems_of(response) == ["input.minimumVersion"]
    assert bool(refusals(response)) is not accepted


async def test_webhook_to_an_endpoint_names_the_person(served: House) -> None:
    tenant, headers = served.one, served.one.headers["application"]
    endpoint = {"url": f"https://hooks.invalid/{new_code()}", "events": ["alert.sent"], "enabled": True}
    await served.call("POST", "/webhook/endpoint", headers, json=endpoint)
    body = {"userId": tenant.user_id, "alertTypeId": "CM01", "inbox": "yes"}
    await served.call("POST", "/alert", headers, json=body)
    listed = (await served.call("GET", "/webhook", headers)).json()
    (record,) = [webhook for webhook in listed if webhook["callbackUrl"] == endpoint["url"]]
    assert record["userId"] == tenant.user_id
    query = "query ($id: ID!) { node(id: $id) { ... on Webhook { userId } } }"
    global_id = encode_global_id("Webhook", record["webhookId"])
    assert await call(served, query, headers, id=global_id) == {"userId": tenant.user_id}
    own = (await served.call("GET", "/webhook", tenant.headers["account"])).json()
    assert record["webhookId"] not in [webhook["webhookId"] for webhook in own], "it belongs to the application"


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ("/user/{user}", "user"),
        ("/resourcetype/{id}", "resource_type"),
        ("/resource/{id}", "resource"),
        ("/device/{id}", "device"),
        ("/devicetype/{id}", "device_type"),
    ],
)
async def test_records_name_their_application(served: House, path: str, record: str) -> None:
    tenant = served.one
    headers = tenant.headers["application"]
    answer = await served.call("GET", path.format(user=tenant.user_id, id=tenant.ids.get(record)), headers)
    assert answer.json()["applicationId"] == tenant.application_id
    name = "".join(part.title() for part in record.split("_"))
    query = f"query ($id: ID!) {{ node(id: $id) {{ ... on {name} {{ applicationId }} }} }}"
    global_id = encode_global_id(name, tenant.ids.get(record, tenant.user_id))
    assert await call(served, query, headers, id=global_id) == {"applicationId": tenant.application_id}


# Errors and the access log


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/resource/nope", None, "NOT_FOUND"),
        ("/faq", {"reference": "private@one.example"}, "BAD_INPUT"),
        ("/alerttype", {"systemAlertTypeId": "CM01", "name": "private@one.example"}, "CONFLICT"),
        ("/resource/{resource}/meterread", None, "NOT_SUPPORTED"),
    ],
)
async def test_trace_id_of_a_refused_request_is_in_the_log(
    served: House, caplog: pytest.LogCaptureFixture, path: str, body: Any, code: str
) -> None:
    """The log names the code and the members, without values."""
    caplog.set_level("INFO", "wattgate")
    path = path.format(resource=served.one.ids["resource"])
    method = "GET" if body is None else "POST"
    answer = await served.call(method, path, served.one.headers["application"], json=body)
    assert answer.json()["code"] == code
    assert answer.json()["traceId"] == answer.headers["x-trace-id"]
    messages = [one.getMessage() for one in caplog.records if one.getMessage().startswith("request refused with")]
    assert [message.split()[3] for message in messages] == [code]
    assert "private" not in caplog.text


async def test_refused_root_field_is_in_the_log(served: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "wattgate")
    query = "mutation ($i: NewAlert!) { sendAlert(input: $i) { ... on Alert { alertId } ...Refused } }"
    sent = {"userId": served.one.user_id, "alertTypeId": "private", "channels": []}
    assert await call(served, query, served.one.headers["application"], i=sent) == "BAD_INPUT"
    assert "request refused with BAD_INPUT ['input.alertTypeId']" in caplog.text
    assert "private" not in caplog.text


async def test_application_without_a_user_learns_which_header_names_one(served: House) -> None:
    headers, body = served.one.headers["application"], {"promptId": served.one.ids["prompt"]}
    answer = await served.call("POST", "/promptuser", headers, json={**body, "userId": served.one.user_id})
    assert (answer.status_code, answer.json()["error"]) == (400, "missing elements -userId")
    assert answer.json()["description"].startswith("Name the user in the header userId. ")
    query = "mutation ($i: NewPromptUser!) { createPromptUser(input: $i) { ... on PromptUser { userId } ...Refused } }"
    assert refusal_of(await served.graphql(query, headers, i=body))["message"] == answer.json()["description"]
    named = await served.call("POST", "/promptuser", {**headers, "userId": served.one.user_id}, json=body)
    assert named.json()["userId"] == served.one.user_id
