"""Purposes of alerts, their templates and notifications, and of webhooks."""

from typing import Any
from uuid import uuid4

from tests.rest_compat.purposes.walk import Person, Walk, nodes
from tests.support.sample_records import add_webhook

MARK = "<p>{{name}}</p>"
SEND = (
    "mutation ($i: NewAlert!) { sendAlert(input: $i) {"
    " ... on Alert { alertId notifications { notificationId } } ...Refused } }"
)


def new_alert(person: Person, *channels: str) -> dict[str, Any]:
    return {"userId": person.user_id, "alertTypeId": "CM01", "channels": list(channels), "data": {"name": "Ada"}}


async def walk_alerts(walk: Walk) -> None:
    person, app = await walk.person(), walk.application
    with walk.purpose("/alert", "send an alert"):
        body = {"userId": person.user_id, "alertTypeId": "CM01", "inbox": "yes", "dataToFill": {"name": "Ada"}}
        first = (await walk.rest("POST", "/alert", app, json=body))["ns_alert_id"]
        fields = "userId channels data notifications { channel state }"
        alert = await walk.node("Alert", first, fields, person.token)
        assert (alert["userId"], alert["channels"], alert["data"]) == (person.user_id, ["INBOX"], {"name": "Ada"})
        assert alert["notifications"] == [{"channel": "INBOX", "state": "SENT"}]
    sent = await walk.graphql(SEND, app, i=new_alert(person, "INBOX"))
    second, notification_id = sent["alertId"], sent["notifications"][0]["notificationId"]
    with walk.purpose("/alert/{alertId}", "get an alert"):
        found = await walk.rest("GET", f"/alert/{second}", app)
        assert (found["userId"], found["inbox"], found["dataToFill"]) == (person.user_id, "yes", {"name": "Ada"})
    with walk.purpose("/alert/user", "alerts sent to a user"):
        listed = {each["ns_alert_id"] for each in await walk.rest("GET", "/alert/user", person.token)}
        alerts = await walk.graphql("{ viewer { alerts { edges { node { alertId } } } } }", person.token)
        assert listed == {first, second} == {each["alertId"] for each in nodes(alerts["alerts"])}
    with walk.purpose("/notification/{notificationId}", "get a notification"):
        found = await walk.rest("GET", f"/notification/{notification_id}", app)
        assert (found["ns_alert_id"], found["channel"], found["userid"]) == (second, "inbox", person.user_id)
    with walk.purpose("/notification/{notificationId}/log", "logs of a notification"):
        log = await walk.rest("GET", f"/notification/{notification_id}/log", app)
        steps = (await walk.node("Notification", notification_id, "log { step stage }", app))["log"]
        assert [(each["workflowStepNum"], each["Stage"]) for each in log] == [
            (each["step"], each["stage"]) for each in steps
        ]
        assert len(log) >= 2


async def walk_templates(walk: Walk) -> None:
    app, alert_type = walk.application, walk.tenant.ids["alert_type"]
    key = "/template/{alertTypeId}/{channelType}/{cultureCode}"
    text = {"name": "High", "htmlTemplate": MARK, "active": True}
    with walk.purpose("/template", "POST"):
        body = {"alertTypeId": alert_type, "channelType": "push", "cultureCode": "fr-FR", **text}
        first = (await walk.rest("POST", "/template", app, json=body))["templateId"]
        shown = await walk.node("Template", first, "channelType cultureCode name htmlTemplate active", app)
        assert shown == {"channelType": "PUSH", "cultureCode": "fr-FR", **text}
    with walk.purpose(key, "create a template by alert type, channel type and culture code"):
        second = (await walk.rest("POST", f"/template/{alert_type}/push/de-DE", app, json=text))["templateId"]
        query = """query ($t: ID!) {
            templateFor(alertTypeId: $t, channelType: PUSH, cultureCode: "de-DE") { templateId } }"""
        assert await walk.graphql(query, app, t=alert_type) == {"templateId": second}
    add = "mutation ($i: NewTemplate!) { createTemplate(input: $i) { ... on Template { templateId } ...Refused } }"
    new = {"alertTypeId": alert_type, "channelType": "PUSH", "cultureCode": "it-IT", **text}
    third = (await walk.graphql(add, app, i=new))["templateId"]
    with walk.purpose(key, "find"):
        assert (await walk.rest("GET", f"/template/{alert_type}/push/it-IT", app))["templateId"] == third
    with walk.purpose("/template/{templateId}", "find"):
        found = await walk.rest("GET", f"/template/{third}", app)
        assert (found["channelType"], found["cultureCode"], found["htmlTemplate"]) == ("push", "it-IT", MARK)
    with walk.purpose("/template/{templateId}", "update a template"):
        await walk.rest("PUT", f"/template/{third}", app, json={"name": "Higher"})
        shown = await walk.node("Template", third, "name htmlTemplate", app)
        assert shown == {"name": "Higher", "htmlTemplate": MARK}
    with walk.purpose("/template", "list templates of the application"):
        listed = {each["templateId"] for each in await walk.rest("GET", "/template", app)}
        query = "{ application { templates(first: 100) { edges { node { templateId } } } } }"
        assert listed == {each["templateId"] for each in nodes((await walk.graphql(query, app))["templates"])}
        assert {first, second, third} <= listed


async def walk_webhooks(walk: Walk) -> None:
    """Send an alert over GraphQL to an endpoint: REST has the webhook."""
    person, app = await walk.person(), walk.application
    add = (
        "mutation ($i: NewWebhookEndpoint!) { createWebhookEndpoint(input: $i) {"
        " ... on IssuedSecret { endpoint { endpointId } } ...Refused } }"
    )
    url = f"https://hooks.invalid/{uuid4().hex}"
    await walk.graphql(add, app, i={"url": url, "events": ["alert.sent"], "enabled": True})
    alert_id = (await walk.graphql(SEND, app, i=new_alert(person, "INBOX")))["alertId"]
    with walk.purpose("/webhook", "list webhooks of an application or user"):
        (record,) = [each for each in await walk.rest("GET", "/webhook", app) if each["callbackUrl"] == url]
        assert (record["payload"]["ns_alert_id"], record["userId"]) == (alert_id, person.user_id)
        of_user = await walk.rest("GET", "/webhook", walk.tenant.headers["account"])
        assert walk.tenant.ids["webhook"] in {each["webhookId"] for each in of_user}
    with walk.purpose("/webhook/{webhookId}", "GET"):
        found = await walk.rest("GET", f"/webhook/{record['webhookId']}", walk.tenant.headers["administrator"])
        shown = await walk.node("Webhook", record["webhookId"], "callbackUrl numberOfAttempts payload", app)
        assert shown == {name: found[name] for name in shown}
    webhook_id, error_id = await add_webhook(walk.tenant)
    with walk.purpose("/webhook/error", "list webhooks that failed"):
        listed = {each["errorId"] for each in await walk.rest("GET", "/webhook/error", app)}
        query = "{ application { webhookErrors(first: 100) { edges { node { errorId } } } } }"
        shown = {each["errorId"] for each in nodes((await walk.graphql(query, app))["webhookErrors"])}
        assert error_id in listed
        assert listed <= shown  # the endpoint of the alert above may have failed in between
    with walk.purpose("/webhook/error/{errorId}", "find one webhook error"):
        found = await walk.rest("GET", f"/webhook/error/{error_id}", app)
        shown = await walk.node("WebhookError", error_id, "webhookId attempt { number statusCode }", app)
        assert (found["webhookId"], found["attempt"]["statusCode"]) == (webhook_id, 500)
        assert shown == {"webhookId": webhook_id, "attempt": {"number": 1, "statusCode": 500}}


JOURNEYS = (walk_alerts, walk_templates, walk_webhooks)
