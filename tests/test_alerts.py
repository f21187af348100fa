"""Alerts, templates, notifications and webhooks on record."""

from typing import Any

import pytest

from tests.support.house import House
from tests.test_spec import assert_is
from wattgate.graphql.resolvers import webhooks


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
    assert_is(added.json(), "### Template (alert template)")
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
    assert all(one["log"] == [{"stage": "Added Notification Record"}] for one in made)
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
    assert_is(told, "### Webhook")
    assert (told["status"], told["numberOfAttempts"], told["active"]) == ("complete", 2, True)
    assert (await served.call("GET", f"/webhook/{made.webhook_id}", served.one.headers["acting"])).status_code == 401


async def test_a_webhook_that_was_given_up_stands_among_the_errors(served: House) -> None:
    headers = served.one.headers["account"]
    (error, *_) = (await served.call("GET", "/webhook/error", headers)).json()
    assert error["webhookId"] == served.one.ids["webhook"]
    one = await served.call("GET", f"/webhook/error/{error['errorId']}", headers)
    assert one.json() == error
    assert error["attempt"]["error"]["initialError"]["port"] == 443
