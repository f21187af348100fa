"""Create the delivery handler of each delivery kind from the settings."""

from collections.abc import Mapping
from ssl import create_default_context

from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import DeliveryHandler
from wattgate.app.workers.mail_outbox_channel import OutboxChannel
from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import DeliveryChannel
from wattgate.delivery.channels.mail import SenderProfile
from wattgate.delivery.channels.push import PushChannel, PushProvider
from wattgate.delivery.channels.smtp import SmtpChannel, SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.channels.webhook import WebhookChannel
from wattgate.delivery.http.egress import ALLOW_ALL
from wattgate.delivery.http.outbound_http import OutboundHttpClient
from wattgate.delivery.mail_addresses import parse_mailbox
from wattgate.delivery.signed_links import SignedLinks
from wattgate.enums import DeliveryKind
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import mail, webhooks
from wattgate.graphql.resolvers import push as push_resolvers

DEFAULT_SENDER = "wattgate <alerts@wattgate.example>"
"""Sender of mails in the development outbox if WATTGATE_MAIL_FROM is not set."""


def create_delivery_handlers(
    settings: Settings, runner: Runner, clock: Clock = utc_now
) -> Mapping[DeliveryKind, DeliveryHandler]:
    """Return the handlers by kind. Deliveries of a kind without a handler wait in the outbox.

    This reads files of certificates, which takes up to a second: do not call it in an event loop that serves requests.
    """
    tls = create_default_context()
    http_client = OutboundHttpClient(settings.egress_policy, tls=tls)
    push = PushChannel(
        http_client,
        OutboundHttpClient(ALLOW_ALL, tls=tls),
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


def create_vapid(settings: Settings) -> Vapid | None:
    """Return the VAPID identity for Web Push, or None without a key and contact."""
    if settings.web_push_key is None or settings.web_push_contact is None:
        return None
    return Vapid(settings.web_push_key.get_secret_value(), settings.web_push_contact)


def _create_push_provider(settings: Settings) -> PushProvider | None:
    if settings.push_url is None:
        return None
    token = settings.push_token
    return PushProvider(settings.push_url, token.get_secret_value() if token else None)


def is_mail_outbox_enabled(settings: Settings) -> bool:
    """Return whether mails are stored for the outbox page instead of sent."""
    return settings.smtp_url is None and settings.environment == "development"


def create_links(settings: Settings) -> SignedLinks | None:
    """Return the signed links for mails, or None without a public URL and a signing key."""
    if settings.public_url is None or settings.link_key is None:
        return None
    return SignedLinks(settings.public_url, settings.link_key.get_secret_value().encode())


def create_smtp_channel(settings: Settings) -> SmtpChannel | None:
    """Return the SMTP channel, or None without an SMTP server."""
    if settings.smtp_url is None:
        return None
    tls_context = create_default_context(cafile=settings.smtp_ca_file)
    server = SmtpServer.from_url(settings.smtp_url)
    return SmtpChannel(
        server, _create_sender_profile(settings), tls_context=tls_context, timeout_seconds=settings.smtp_timeout
    )


def _create_mail_handlers(settings: Settings, runner: Runner) -> Mapping[DeliveryKind, DeliveryHandler]:
    """Return the mail handlers: SMTP if configured, the outbox page in development, else none (mails wait)."""
    smtp = create_smtp_channel(settings)
    channel: DeliveryChannel
    if smtp is not None:
        channel, close = smtp, smtp.close
    elif is_mail_outbox_enabled(settings):
        channel, close = OutboxChannel(runner, _create_sender_profile(settings)), None
    else:
        return {}
    return {
        DeliveryKind.EMAIL: DeliveryHandler(mail.prepare_mail, channel, mail.record_mail_outcome, close),
        DeliveryKind.TEST_MAIL: DeliveryHandler(mail.prepare_test_mail, channel, mail.record_test_mail_outcome),
        DeliveryKind.ACCOUNT_MAIL: DeliveryHandler(
            mail.prepare_account_mail, channel, mail.record_account_mail_outcome
        ),
    }


def _create_sender_profile(settings: Settings) -> SenderProfile:
    return SenderProfile(parse_mailbox(settings.mail_from or DEFAULT_SENDER), create_links(settings))
