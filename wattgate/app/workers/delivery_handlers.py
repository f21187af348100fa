"""How each kind of delivery is made, as the settings ask for."""

from collections.abc import Mapping
from ssl import create_default_context

from wattgate.app.server.mail_outbox import OutboxChannel
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import Carrier
from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import Channel
from wattgate.delivery.channels.mail import Letterhead
from wattgate.delivery.channels.push import Provider, Push
from wattgate.delivery.channels.smtp import SmtpChannel, SmtpServer
from wattgate.delivery.channels.web_push import Vapid
from wattgate.delivery.channels.webhook import WebhookChannel
from wattgate.delivery.http.egress import ANYWHERE
from wattgate.delivery.http.outbound_http import Callout
from wattgate.delivery.links import Links
from wattgate.delivery.mail_addresses import mailbox
from wattgate.enums import DeliveryKind
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import mail, webhooks
from wattgate.graphql.resolvers import push as pushes

NOBODY = "wattgate <alerts@wattgate.example>"
"""Who writes mails that are kept, where nobody is named."""


def carriers(settings: Settings, runner: Runner, clock: Clock = utc_now) -> Mapping[DeliveryKind, Carrier]:
    """The carriers by kind; what has none waits in the outbox."""
    callout = Callout(settings.reach)
    push = Push(callout, Callout(ANYWHERE), vapid=sender(settings), provider=_provider(settings), clock=clock)
    return {
        **_mail(settings, runner),
        DeliveryKind.PUSH: Carrier(pushes.prepare_push, push, pushes.settle_push),
        DeliveryKind.WEBHOOK: Carrier(
            webhooks.prepare_webhook, WebhookChannel(callout, clock), webhooks.settle_webhook
        ),
    }


def sender(settings: Settings) -> Vapid | None:
    """Who sends Web Push, where there is a key."""
    if settings.web_push_key is None or settings.web_push_contact is None:
        return None
    return Vapid(settings.web_push_key.get_secret_value(), settings.web_push_contact)


def _provider(settings: Settings) -> Provider | None:
    if settings.push_url is None:
        return None
    token = settings.push_token
    return Provider(settings.push_url, token.get_secret_value() if token else None)


def keeps_mail(settings: Settings) -> bool:
    """Whether mail is kept where it can be looked at, and is not sent."""
    return settings.smtp_url is None and settings.environment == "development"


def links(settings: Settings) -> Links | None:
    """The links in mails, where the settings say where they lead and by what they are signed."""
    if settings.public_url is None or settings.link_key is None:
        return None
    return Links(settings.public_url, settings.link_key.get_secret_value().encode())


def mail_channel(settings: Settings) -> SmtpChannel | None:
    """What sends mail, where there is a server."""
    if settings.smtp_url is None:
        return None
    trust = create_default_context(cafile=settings.smtp_ca_file)
    server = SmtpServer.at(settings.smtp_url)
    return SmtpChannel(server, _letterhead(settings), trust=trust, time_limit=settings.smtp_timeout)


def _mail(settings: Settings, runner: Runner) -> Mapping[DeliveryKind, Carrier]:
    """Mail is sent where there is a server, and kept in development; else it waits until there is one."""
    smtp = mail_channel(settings)
    channel: Channel
    if smtp is not None:
        channel, close = smtp, smtp.close
    elif keeps_mail(settings):
        channel, close = OutboxChannel(runner, _letterhead(settings)), None
    else:
        return {}
    return {
        DeliveryKind.EMAIL: Carrier(mail.prepare_mail, channel, mail.settle_mail, close),
        DeliveryKind.TEST_MAIL: Carrier(mail.prepare_test_mail, channel, mail.settle_test_mail),
    }


def _letterhead(settings: Settings) -> Letterhead:
    return Letterhead(mailbox(settings.mail_from or NOBODY), links(settings))
