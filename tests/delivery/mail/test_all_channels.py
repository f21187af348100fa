"""One alert on all channels at once: mail, push and webhook, each with a real server."""

import json

from standardwebhooks import Webhook as Verifier

from tests.delivery.mail.test_alerts import settings, write_template
from tests.delivery.webhooks.test_deliveries import register_endpoint
from tests.support.outbox import Post
from tests.support.sinks import sink
from tests.support.smtp import MailServer
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.clock import utc_now
from wattgate.enums import Channel, NotificationState
from wattgate.operations.types.messages.alerts import Alert


async def test_alert_arrives_as_mail_push_and_webhook(outbox: Post, smtp: MailServer) -> None:
    outbox.clock.now = utc_now()
    await outbox.tokens("fcm:phone")
    await write_template(outbox, "<h1>Dear {{ name }}</h1>")
    async with sink() as provider, sink() as endpoint:
        issued = await register_endpoint(outbox, endpoint.url, "alert.notification.*")
        alert_id = await outbox.send(Channel.EMAIL, Channel.PUSH, Channel.INBOX, data={"name": "Ada"})
        config = settings(smtp, push_url=provider.url, callout_networks=["127.0.0.0/8"], callout_http=True)
        handlers = create_delivery_handlers(config, outbox.runner, outbox.clock)
        await outbox.worker_with(handlers).deliver_due()
        for handler in handlers.values():
            if handler.close is not None:
                await handler.close()
    (mail,) = smtp.taken
    assert mail.message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.message.iter_parts()] == ["text/plain", "text/html"]
    (pushed,) = provider.received
    assert json.loads(pushed.body)["data"]["alertId"] == alert_id
    verifier = Verifier(issued.secret)
    events = [verifier.verify(row.body.decode(), row.headers) for row in endpoint.received]
    assert {row["eventCode"] for row in events} == {
        f"alert.notification.{channel}.sent" for channel in ("email", "push", "inbox")
    }
    assert {row["ns_alert_id"] for row in events} == {alert_id}
    alert = await outbox.tenant.run("alert", alert_id=alert_id)
    (sent,) = await outbox.tenant.edge(Alert, "notifications", [alert])
    assert {row.state for row in sent} == {NotificationState.SENT}
