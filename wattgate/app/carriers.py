"""How each kind of delivery is made, as the settings ask for."""

from collections.abc import Mapping

from wattgate.app.deliveries import Carrier
from wattgate.app.settings import Settings
from wattgate.clock import Clock, utc_now
from wattgate.graphql.resolvers import pushes, webhooks
from wattgate.messages.callout import Callout
from wattgate.messages.destination import ANYWHERE
from wattgate.messages.push import Provider, Push
from wattgate.messages.web_push import Vapid
from wattgate.messages.webhook import WebhookChannel
from wattgate.names import DeliveryKind


def carriers(settings: Settings, clock: Clock = utc_now) -> Mapping[DeliveryKind, Carrier]:
    """The carriers by kind; what has none waits in the outbox."""
    callout = Callout(settings.reach)
    push = Push(callout, Callout(ANYWHERE), vapid=sender(settings), provider=_provider(settings), clock=clock)
    return {
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
