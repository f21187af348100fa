"""Create what outgoing messages need from the settings: sender, links, keys, SMTP channel and policy."""

from wattgate.app.settings import Settings
from wattgate.delivery.channels.mail import SenderProfile
from wattgate.delivery.channels.smtp import SmtpChannel, SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.mail_addresses import AllowList, parse_mailbox
from wattgate.delivery.outbound_policy import OutboundPolicy
from wattgate.delivery.signed_links import SignedLinks
from wattgate.tls import client_context

DEFAULT_SENDER = "wattgate <alerts@wattgate.example>"
"""Sender of mails on the outbox page if WATTGATE_MAIL_FROM is not set."""


def create_outbound_policy(settings: Settings) -> OutboundPolicy:
    """Return which servers the gateway connects to, and what its messages say of it."""
    vapid = create_vapid(settings)
    return OutboundPolicy(
        settings.egress_policy,
        vapid.public_key if vapid else None,
        AllowList.from_texts(settings.test_addresses),
        settings.public_url,
        create_links(settings),
    )


def create_vapid(settings: Settings) -> Vapid | None:
    """Return the VAPID identity for Web Push, or None without a key and contact."""
    if settings.web_push_key is None or settings.web_push_contact is None:
        return None
    return Vapid(settings.web_push_key.get_secret_value(), settings.web_push_contact)


def is_mail_outbox_enabled(settings: Settings) -> bool:
    """Return whether mails are stored for the outbox page instead of sent."""
    is_shown = settings.environment == "development" if settings.mail_outbox is None else settings.mail_outbox
    return settings.smtp_url is None and is_shown


def create_links(settings: Settings) -> SignedLinks | None:
    """Return the signed links for mails, or None without a public URL and a signing key."""
    if settings.public_url is None or settings.link_key is None:
        return None
    return SignedLinks(settings.public_url, settings.link_key.get_secret_value().encode())


def create_smtp_channel(settings: Settings) -> SmtpChannel | None:
    """Return the SMTP channel, or None without an SMTP server."""
    if settings.smtp_url is None:
        return None
    tls_context = client_context(settings.smtp_ca_file)
    server = SmtpServer.from_url(settings.smtp_url)
    return SmtpChannel(
        server, create_sender_profile(settings), tls_context=tls_context, timeout_seconds=settings.smtp_timeout
    )


def create_sender_profile(settings: Settings) -> SenderProfile:
    """Return the sender of mails, with the links of their texts."""
    return SenderProfile(parse_mailbox(settings.mail_from or DEFAULT_SENDER), create_links(settings))
