"""One alert on all of its ways at once, each to a real server: for mail, for pushes, and of a webhook."""

import json

from standardwebhooks import Webhook as Verifier

from tests.delivery.mail.test_alerts import settings, write_template
from tests.delivery.webhooks.test_deliveries import register
from tests.support.outbox import Post
from tests.support.sinks import sink
from tests.support.smtp import MailServer
from wattgate.app.workers.delivery_handlers import carriers
from wattgate.clock import utc_now
from wattgate.enums import NotificationState
from wattgate.graphql.types.alerts import Alert, Channel


async def test_an_alert_arrives_as_mail_push_and_webhook(post: Post, there: MailServer) -> None:
    post.clock.now = utc_now()
    await post.tokens("fcm:phone")
    await write_template(post, "<h1>Dear {{ name }}</h1>")
    async with sink() as provider, sink() as endpoint:
        issued = await register(post, endpoint.url, "alert.notification.*")
        alert_id = await post.send(Channel.EMAIL, Channel.PUSH, Channel.INBOX, data={"name": "Ada"})
        given = settings(there, push_url=provider.url, callout_networks=["127.0.0.0/8"], callout_http=True)
        parts = carriers(given, post.runner, post.clock)
        await post.worker_with(parts).work_once()
        for carrier in parts.values():
            if carrier.close is not None:
                await carrier.close()
    (mail,) = there.taken
    assert mail.message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.message.iter_parts()] == ["text/plain", "text/html"]
    (pushed,) = provider.received
    assert json.loads(pushed.body)["data"]["alertId"] == alert_id
    verifier = Verifier(issued.secret)
    events = [verifier.verify(one.body.decode(), one.headers) for one in endpoint.received]
    assert {one["eventCode"] for one in events} == {
        f"alert.notification.{way}.sent" for way in ("email", "push", "inbox")
    }
    assert {one["ns_alert_id"] for one in events} == {alert_id}
    states = await post.tenant.run("alert", alert_id=alert_id)
    (sent,) = await post.tenant.edge(Alert, "notifications", [states])
    assert {one.state for one in sent} == {NotificationState.SENT}
