"""Alerts, and the records of their templates, notifications and webhooks."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace
from strawberry import ID

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House, Tenant, operation
from tests.support.refusals import refusal_of, refusals
from tests.support.watching import since
from wattgate.enums import Channel
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.webhooks import webhooks
from wattgate.realtime import topics
from wattgate.realtime.bus.codec import EventDecoder, encode_event
from wattgate.realtime.events import AlertSent, AlertsRead


async def test_added_template_is_returned_with_all_fields(served: House) -> None:
    body = {
        "alertTypeId": served.one.ids["alert_type"],
        "cultureCode": "en-GB",
        "applicationId": served.one.application_id,
        "name": "High use by mail",
        "systemAlertTypeId": "CM01",
        "description": "What the mail says",
        "channelType": "email",
        "active": False,
        "htmlTemplate": "<p>Dear {{name}}</p>",
    }
    headers = served.one.headers["application"]
    added = await served.call("POST", "/template", headers, json=body)
    assert added.status_code == 200
    assert_record_matches(added.json(), "### Template (alert template)")
    assert added.json() == {**body, "templateId": added.json()["templateId"]}
    assert (await served.call("POST", "/template", {}, json=body)).status_code == 401
    assert (await served.call("POST", "/template", headers, json={})).status_code == 400
    theirs = await served.call("POST", "/template", headers, json={**body, "applicationId": "another"})
    assert theirs.json()["error"] == "incorrect elements -applicationId"


async def test_template_is_added_and_found_by_type_channel_and_culture(served: House) -> None:
    headers = served.one.headers["application"]
    path = f"/template/{served.one.ids['alert_type']}/push/de-AT"
    assert (await served.call("GET", path, headers)).status_code == 404
    added = await served.call("POST", path, headers, json={"name": "Push", "htmlTemplate": "{{name}}"})
    assert (added.json()["channelType"], added.json()["cultureCode"]) == ("push", "de-AT")
    assert (await served.call("GET", path, headers)).json() == added.json()


async def test_alert_creates_a_notification_and_a_log_for_each_channel(served: House) -> None:
    body = {
        "userId": served.one.user_id,
        "alertTypeId": "CM01",
        "send2Inbox": "yes",
        "send2Push": "no",
        "email": "yes",
        "Priority": "High",
        "callbackUrl": "https://hooks.example.org/x",
        "dataToFill": {"name": "Ada"},
    }
    headers = served.one.headers["application"]
    sent = await served.call("POST", "/alert", headers, json=body)
    assert (sent.status_code, sent.json()["status"]) == (200, "OK")
    alert_id = sent.json()["ns_alert_id"]
    alert = (await served.call("GET", f"/alert/{alert_id}", headers)).json()
    assert alert["dataToFill"] == {"name": "Ada"}
    assert (alert["email"], alert["send2Push"], alert["inbox"], alert["Priority"]) == ("yes", "no", "yes", "High")
    document = """query ($id: ID!) { node(id: $id) { ... on Alert {
      notifications { notificationId channel log { stage } } } } }"""
    response = await served.graphql(document, served.one.headers["account"], id=encode_global_id("Alert", alert_id))
    notifications = response["data"]["node"]["notifications"]
    assert sorted(entry["channel"] for entry in notifications) == ["EMAIL", "INBOX"]
    assert all(entry["log"][0] == {"stage": "Added Notification Record"} for entry in notifications)
    path = f"/notification/{notifications[0]['notificationId']}"
    notification = (await served.call("GET", path, headers)).json()
    assert notification.keys() == {
        "notificationid", "ns_alert_id", "received_dtm", "Status", "status_at", "channel", "userid", "alertData",
    }  # fmt: skip
    listed = (await served.call("GET", "/alert/user", served.one.headers["acting"])).json()
    assert alert_id in [entry["ns_alert_id"] for entry in listed]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"userId": "unknown"}, "incorrect elements -userId"),
        ({"alertTypeId": "XX99"}, "incorrect elements -alertTypeId"),
        ({"Priority": "urgent"}, "incorrect elements -Priority"),
    ],
)
async def test_invalid_alert_is_rejected_over_rest(served: House, change: dict[str, Any], error: str) -> None:
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", "email": "yes", **change}
    answer = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"userId": "unknown"}, "userId"),
        ({"alertTypeId": "XX99"}, "alertTypeId"),
        ({"cultureCode": "not a culture"}, "cultureCode"),
        ({"cultureCode": ""}, "cultureCode"),
    ],
)
async def test_alert_with_unknown_user_type_or_culture_is_rejected_with_the_argument(
    served: House, change: dict[str, Any], argument: str
) -> None:
    query = "mutation ($input: NewAlert!) { sendAlert(input: $input) { ... on Alert { alertId } ...Refused } }"
    alert = {"userId": served.one.user_id, "alertTypeId": "CM01", "channels": ["EMAIL"]} | change
    response = await served.graphql(query, served.one.headers["application"], input=alert)
    (error,) = refusals(response)
    assert error["code"] == "BAD_INPUT"
    assert [problem["path"] for problem in error["problems"]] == [["input", argument]]


async def test_notification_paths_exist_under_ns_too(served: House) -> None:
    headers = served.one.headers["application"]
    for path in ("/alerttype", "/template", f"/alert/{served.one.ids['alert']}"):
        assert (await served.call("GET", f"/ns{path}", headers)).json() == (
            await served.call("GET", path, headers)
        ).json()
    assert (await served.call("GET", "/ns/resource", headers)).status_code == 404


async def test_recorded_webhook_is_returned_with_all_fields(served: House) -> None:
    headers = served.one.headers["account"]
    arguments = {
        "callback_url": "https://hooks.example.org/done",
        "user_id": served.one.user_id,
        "payload": {
            "errorCode": "error.alert.notification.push.user.tokens.not_found",
            "eventCode": "alert.notification.push.sent.error",
            "errorId": "an id",
            "notificationid": "an id",
            "ns_alert_id": "an id",
            "alertTypeId": "CM01",
            "channel": "push",
        },
        "successful_attempt": {"attempt": 2, "statusCode": 200, "successedAt": "2026-01-05T00:00:01.000Z"},
        "failed_attempts": [{"attempt": 1, "attemptAt": "2026-01-05T00:00:00.000Z", "statusCode": 500, "error": {}}],
    }
    recorded = await served.gateway.runner.run(webhooks.record_webhook, served.one.system, arguments)
    webhook = (await served.call("GET", f"/webhook/{recorded.webhook_id}", headers)).json()
    assert_record_matches(webhook, "### Webhook")
    assert (webhook["status"], webhook["numberOfAttempts"], webhook["active"]) == ("complete", 2, True)
    assert (
        await served.call("GET", f"/webhook/{recorded.webhook_id}", served.one.headers["acting"])
    ).status_code == 403


async def test_failed_webhook_is_listed_among_the_errors(served: House) -> None:
    headers = served.one.headers["account"]
    (error, *_) = (await served.call("GET", "/webhook/error", headers)).json()
    assert error["webhookId"] == served.one.ids["webhook"]
    response = await served.call("GET", f"/webhook/error/{error['errorId']}", headers)
    assert response.json() == error
    assert error["attempt"]["error"]["initialError"]["port"] == 443


@pytest.mark.parametrize(
    ("path", "type_name", "argument", "header"),
    [
        ("/webhook/{}", "Webhook", "webhookId", "account"),
        ("/webhook/error/{}", "WebhookError", "errorId", "account"),
        ("/webhook/endpoint/{}", "WebhookEndpoint", "endpointId", "application"),
    ],
)
async def test_malformed_webhook_id_is_bad_input_and_an_unknown_one_is_not_found(
    served: House, path: str, type_name: str, argument: str, header: str
) -> None:
    headers = served.one.headers[header]
    for record_id, status, code in (("no-uuid", 400, "BAD_INPUT"), (str(UUID(int=1)), 404, "NOT_FOUND")):
        response = await served.call("GET", path.format(record_id), headers)
        assert (response.status_code, response.json()["code"]) == (status, code)
        document = "query ($id: ID!) { node(id: $id) { id } }"
        answer = await served.graphql(document, headers, id=encode_global_id(type_name, record_id))
        assert refusal_of(answer)["code"] == code
    malformed = await served.call("GET", path.format("no-uuid"), headers)
    assert argument in malformed.json()["error"]


async def send(tenant: Tenant, house: House) -> str:
    """Send another alert to the user of a tenant. Return its id."""
    input_ = {"userId": tenant.user_id, "alertTypeId": "CM01", "channels": ["INBOX"], "data": {"use": [1.5, None]}}
    response = await house.graphql(
        ("mutation ($i: NewAlert!) { sendAlert(input: $i) { ... on Alert { alertId } ...Refused } }"),
        tenant.headers["application"],
        i=input_,
    )
    return str(response["data"]["sendAlert"]["alertId"])


MARK = "mutation ($ids: [ID!]) { markAlertsRead(alertIds: $ids) { ... on MarkedAlerts { marked unread } ...Refused } }"


async def mark(house: House, ids: list[str] | None = None, caller: str = "account") -> Any:
    response = await house.graphql(MARK, house.one.headers[caller], ids=ids)
    return refusal_of(response)["code"] if refusals(response) else response["data"]["markAlertsRead"]


async def test_alerts_are_unread_until_their_user_marks_them(served: House) -> None:
    account = served.one.headers["account"]
    await mark(served)
    ids = [await send(served.one, served) for _ in "abc"]
    assert (await served.graphql("{ viewer { unreadAlerts } }", account))["data"] == {"viewer": {"unreadAlerts": 3}}
    assert await mark(served, ids[:1]) == {"marked": 1, "unread": 2}
    assert await mark(served, ids[:2]) == {"marked": 1, "unread": 1}
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Alert { readAt } } }"
    nodes = await served.graphql(query, account, ids=[encode_global_id("Alert", alert_id) for alert_id in ids])
    assert [node["readAt"] is not None for node in nodes["data"]["nodes"]] == [True, True, False]
    assert await mark(served, []) == {"marked": 0, "unread": 1}
    assert await mark(served, caller="acting") == {"marked": 1, "unread": 0}
    assert await mark(served, ids) == {"marked": 0, "unread": 0}


async def test_alert_of_another_user_cannot_be_marked(served: House) -> None:
    alert_id = await send(served.one, served)
    assert await mark(served, [alert_id, served.other.ids["alert"]]) == "NOT_FOUND"
    assert await mark(served, ["unknown"]) == "NOT_FOUND"
    assert await mark(served, [alert_id], caller="application") == "BAD_INPUT"
    response = await served.graphql(MARK, served.other.headers["account"], ids=[alert_id])
    assert refusal_of(response)["code"] == "NOT_FOUND"
    assert (await mark(served, [alert_id]))["marked"] == 1


async def test_sent_alerts_and_unread_counts_are_published(served: House) -> None:
    user_id, bus = served.one.user_id, served.gateway.bus
    await mark(served)
    sent, read = topics.alerts(user_id), topics.alerts_read(user_id)
    opened = await bus.open_topics([sent, read])
    send_alert, mark_read = (operation(name) for name in ("send_alert", "mark_alerts_read"))
    alert_input = types.NewAlert(
        user_id=ID(user_id), alert_type_id="CM01", channels=[Channel.PUSH], data=Json({"a": 1})
    )
    run, system = served.gateway.runner.run, served.one.system
    alerts = [await run(send_alert, system, {"input": alert_input}) for _ in "ab"]
    for _ in "ab":
        await run(mark_read, system, {"alert_ids": [alerts[0].alert_id]})
    events = await since(bus, sent, opened[sent])
    assert events is not None
    assert [event.key for event in events] == [alert.alert_id for alert in alerts]
    for event, alert in zip(events, alerts, strict=True):
        assert event.payload == AlertSent(**{name: getattr(alert, name) for name in AlertSent.__struct_fields__})
        assert EventDecoder().decode("", "1-1", encode_event(event)) == replace(event, topic="", position="1-1")
    read_events = await since(bus, read, opened[read])
    assert [event.payload for event in read_events or ()] == [AlertsRead(user_id, 1)]
