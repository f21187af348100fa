"""Create the delivery handler of each delivery kind from the settings. Without a server, mails are stored."""

import asyncio
from collections.abc import Mapping

from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import DeliveryHandler
from wattgate.app.workers.outbound import (
    create_sender_profile,
    create_smtp_channel,
    create_vapid,
    is_mail_outbox_enabled,
)
from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import DeliveryChannel, OutboundMessage, Outcome, PermanentFailure, Sent
from wattgate.delivery.channels.mail import SenderProfile, build_and_encode_mail
from wattgate.delivery.channels.push import PushChannel, PushProvider
from wattgate.delivery.channels.webhook import WebhookChannel
from wattgate.delivery.egress import ALLOW_ALL
from wattgate.delivery.outbound_http import OutboundHttpClient
from wattgate.enums import DeliveryKind
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import mail
from wattgate.operations.messages import push as push_resolvers
from wattgate.operations.webhooks import webhooks
from wattgate.principal import Principal, Role
from wattgate.tls import client_context


def create_delivery_handlers(
    settings: Settings, runner: Runner, clock: Clock = utc_now
) -> Mapping[DeliveryKind, DeliveryHandler]:
    """Return the handlers by kind. Deliveries of a kind without a handler wait in the outbox.

    This reads files of certificates, which takes up to a second: do not call it in an event loop that serves requests.
    """
    tls = client_context()
    http_client = OutboundHttpClient(settings.egress_policy, tls=tls, max_body_bytes=0)  # the status is enough
    push = PushChannel(
        http_client,
        OutboundHttpClient(ALLOW_ALL, tls=tls, max_body_bytes=0),
        vapid=create_vapid(settings),
        provider=_create_push_provider(settings),
        clock=clock,
    )
    return {
        **_create_mail_handlers(settings, runner),
        DeliveryKind.PUSH: DeliveryHandler(push_resolvers.prepare_push, push, push_resolvers.record_push_outcome),
        DeliveryKind.WEBHOOK: DeliveryHandler(
            webhooks.prepare_webhook, WebhookChannel(http_client, clock), webhooks.record_webhook_outcome
        ),
    }


def _create_push_provider(settings: Settings) -> PushProvider | None:
    if settings.push_url is None:
        return None
    token = settings.push_token
    return PushProvider(settings.push_url, token.get_secret_value() if token else None)


def _create_mail_handlers(settings: Settings, runner: Runner) -> Mapping[DeliveryKind, DeliveryHandler]:
    """Return the mail handlers: SMTP if configured, the outbox page in development, else none (mails wait)."""
    smtp = create_smtp_channel(settings)
    channel: DeliveryChannel
    if smtp is not None:
        channel, close = smtp, smtp.close
    elif is_mail_outbox_enabled(settings):
        channel, close = OutboxChannel(runner, create_sender_profile(settings)), None
    else:
        return {}
    return {
        DeliveryKind.EMAIL: DeliveryHandler(mail.prepare_mail, channel, mail.record_mail_outcome, close),
        DeliveryKind.TEST_MAIL: DeliveryHandler(mail.prepare_test_mail, channel, mail.record_test_mail_outcome),
        DeliveryKind.ACCOUNT_MAIL: DeliveryHandler(
            mail.prepare_account_mail, channel, mail.record_account_mail_outcome
        ),
    }


class OutboxChannel:
    """A mail channel that stores mails for the outbox page."""

    def __init__(self, runner: Runner, sender_profile: SenderProfile) -> None:
        self._runner = runner
        self._sender_profile = sender_profile

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        """Store a mail exactly as SMTP would send it."""
        result = await asyncio.to_thread(build_and_encode_mail, outgoing, self._sender_profile)
        if isinstance(result, PermanentFailure):
            return result
        message, content = result
        arguments = {
            "delivery_id": outgoing.delivery_id,
            "recipient": message.recipient.address,
            "subject": message.subject,
            "content": content,
        }
        await self._runner.run(
            mail.store_kept_mail, Principal(Role.SYSTEM, application_id=outgoing.application_id), arguments
        )
        return Sent("stored in the outbox")
