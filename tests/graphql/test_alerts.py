"""Alerts, templates, notifications and webhooks on record."""

from typing import Any

import pytest
from msgspec.structs import replace
from strawberry import ID

from tests.rest_compat.test_spec import assert_record_matches
from tests.support.house import House, Tenant, operation
from tests.support.watching import since
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.resolvers import webhooks
from wattgate.graphql.types import alerts as types
from wattgate.realtime import topics
from wattgate.realtime.bus.codec import EventDecoder, encode_event
from wattgate.realtime.events import AlertSent, AlertsRead


async def test_a_template_is_added_as_it_is_written(served: House) -> None:
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


async def test_a_template_is_found_and_made_by_type_channel_and_culture(served: House) -> None:
    headers = served.one.headers["application"]
    path = f"/template/{served.one.ids['alert_type']}/push/de-AT"
    assert (await served.call("GET", path, headers)).status_code == 404
    made = await served.call("POST", path, headers, json={"name": "Push", "htmlTemplate": "{{name}}"})
    assert (made.json()["channelType"], made.json()["cultureCode"]) == ("push", "de-AT")
    assert (await served.call("GET", path, headers)).json() == made.json()


async def test_an_alert_makes_a_notification_and_a_log_for_each_channel(served: House) -> None:
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
    document = """query ($id: ID!) { alert(alertId: $id) { notifications { notificationId channel log { stage } } } }"""
    told = await served.graphql(document, served.one.headers["account"], id=alert_id)
    made = told["data"]["alert"]["notifications"]
    assert sorted(one["channel"] for one in made) == ["email", "inbox"]
    assert all(one["log"][0] == {"stage": "Added Notification Record"} for one in made)
    path = f"/notification/{made[0]['notificationId']}"
    notification = (await served.call("GET", path, headers)).json()
    assert notification.keys() == {
        "notificationid", "ns_alert_id", "received_dtm", "Status", "status_at", "channel", "userid", "alertData",
    }  # fmt: skip
    listed = (await served.call("GET", "/alert/user", served.one.headers["acting"])).json()
    assert alert_id in [one["ns_alert_id"] for one in listed]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"userId": "unknown"}, "incorrect elements -userId"),
        ({"alertTypeId": "XX99"}, "incorrect elements -alertTypeId"),
        ({"Priority": "urgent"}, "incorrect elements -Priority"),
    ],
)
async def test_an_alert_that_cannot_be_is_refused(served: House, change: dict[str, Any], error: str) -> None:
    body = {"userId": served.one.user_id, "alertTypeId": "CM01", "email": "yes", **change}
    answer = await served.call("POST", "/alert", served.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"userId": "unknown"}, "userId"),
        ({"alertTypeId": "XX99"}, "alertTypeId"),
        ({"cultureCode": "not a culture"}, "cultureCode"),
        ({"cultureCode": ""}, "cultureCode"),
    ],
)
async def test_an_alert_for_nobody_of_no_kind_or_in_no_culture_is_refused_with_the_place(
    served: House, change: dict[str, Any], place: str
) -> None:
    query = "mutation ($input: NewAlert!) { sendAlert(input: $input) { alertId } }"
    given = {"userId": served.one.user_id, "alertTypeId": "CM01", "channels": ["EMAIL"]} | change
    told = await served.graphql(query, served.one.headers["application"], input=given)
    (error,) = told["errors"]
    assert error["extensions"]["code"] == "BAD_INPUT"
    assert [one["path"] for one in error["extensions"]["problems"]] == [["input", place]]


async def test_the_notification_system_stands_under_ns_too(served: House) -> None:
    headers = served.one.headers["application"]
    for path in ("/alerttype", "/template", f"/alert/{served.one.ids['alert']}"):
        assert (await served.call("GET", f"/ns{path}", headers)).json() == (
            await served.call("GET", path, headers)
        ).json()
    assert (await served.call("GET", "/ns/resource", headers)).status_code == 404


async def test_a_webhook_is_told_as_it_is_written(served: House) -> None:
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
    made = await served.gateway.runner.run(webhooks.record_webhook, served.one.system, arguments)
    told = (await served.call("GET", f"/webhook/{made.webhook_id}", headers)).json()
    assert_record_matches(told, "### Webhook")
    assert (told["status"], told["numberOfAttempts"], told["active"]) == ("complete", 2, True)
    assert (await served.call("GET", f"/webhook/{made.webhook_id}", served.one.headers["acting"])).status_code == 401


async def test_a_webhook_that_was_given_up_stands_among_the_errors(served: House) -> None:
    headers = served.one.headers["account"]
    (error, *_) = (await served.call("GET", "/webhook/error", headers)).json()
    assert error["webhookId"] == served.one.ids["webhook"]
    one = await served.call("GET", f"/webhook/error/{error['errorId']}", headers)
    assert one.json() == error
    assert error["attempt"]["error"]["initialError"]["port"] == 443


async def send(tenant: Tenant, house: House) -> str:
    """A further alert to the user of a tenant."""
    input_ = {"userId": tenant.user_id, "alertTypeId": "CM01", "channels": ["INBOX"], "data": {"use": [1.5, None]}}
    told = await house.graphql(
        "mutation ($i: NewAlert!) { sendAlert(input: $i) { alertId } }", tenant.headers["application"], i=input_
    )
    return str(told["data"]["sendAlert"]["alertId"])


MARK = "mutation ($ids: [ID!]) { markAlertsRead(alertIds: $ids) { marked unread } }"


async def mark(house: House, ids: list[str] | None = None, who: str = "account") -> Any:
    told = await house.graphql(MARK, house.one.headers[who], ids=ids)
    return (told["data"] and told["data"]["markAlertsRead"]) or told["errors"][0]["extensions"]["code"]


async def test_alerts_are_unread_until_their_user_marks_them(served: House) -> None:
    account = served.one.headers["account"]
    await mark(served)
    ids = [await send(served.one, served) for _ in "abc"]
    assert (await served.graphql("{ unreadAlerts }", account))["data"] == {"unreadAlerts": 3}
    assert await mark(served, ids[:1]) == {"marked": 1, "unread": 2}
    assert await mark(served, ids[:2]) == {"marked": 1, "unread": 1}
    query = "query ($id: ID!) { alert(alertId: $id) { readAt } }"
    read = [(await served.graphql(query, account, id=one))["data"]["alert"]["readAt"] is not None for one in ids]
    assert read == [True, True, False]
    assert await mark(served, []) == {"marked": 0, "unread": 1}
    assert await mark(served, who="acting") == {"marked": 1, "unread": 0}
    assert await mark(served, ids) == {"marked": 0, "unread": 0}


async def test_an_alert_of_somebody_else_is_not_marked(served: House) -> None:
    alert_id = await send(served.one, served)
    assert await mark(served, [alert_id, served.other.ids["alert"]]) == "NOT_FOUND"
    assert await mark(served, ["unknown"]) == "NOT_FOUND"
    assert await mark(served, [alert_id], who="application") == "BAD_INPUT"
    told = await served.graphql(MARK, served.other.headers["account"], ids=[alert_id])
    assert told["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert (await mark(served, [alert_id]))["marked"] == 1


async def test_an_alert_is_published_as_it_was_sent_and_so_is_how_many_are_not_read(served: House) -> None:
    user_id, bus = served.one.user_id, served.gateway.bus
    await mark(served)
    sent, read = topics.alerts(user_id), topics.alerts_read(user_id)
    opened = await bus.open_topics([sent, read])
    send_alert, mark_read = (operation(name) for name in ("send_alert", "mark_alerts_read"))
    given = types.NewAlert(
        user_id=ID(user_id), alert_type_id="CM01", channels=[types.Channel.PUSH], data=Json({"a": 1})
    )
    run, system = served.gateway.runner.run, served.one.system
    made = [await run(send_alert, system, {"input": given}) for _ in "ab"]
    for _ in "ab":
        await run(mark_read, system, {"alert_ids": [made[0].alert_id]})
    events = await since(bus, sent, opened[sent])
    assert events is not None
    assert [event.key for event in events] == [alert.alert_id for alert in made]
    for event, alert in zip(events, made, strict=True):
        assert event.payload == AlertSent(**{name: getattr(alert, name) for name in AlertSent.__struct_fields__})
        assert EventDecoder().decode("", "1-1", encode_event(event)) == replace(event, topic="", position="1-1")
    counted = await since(bus, read, opened[read])
    assert [event.payload for event in counted or ()] == [AlertsRead(user_id, 1)]
