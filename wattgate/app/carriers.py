"""How each kind of delivery is made, as the settings ask for."""

from collections.abc import Mapping

from wattgate.app.deliveries import Carrier
from wattgate.app.settings import Settings
from wattgate.graphql.resolvers import webhooks
from wattgate.messages.callout import Callout
from wattgate.messages.webhook import WebhookChannel
from wattgate.names import DeliveryKind


def carriers(settings: Settings) -> Mapping[DeliveryKind, Carrier]:
    """The carriers by kind; what has none waits in the outbox."""
    callout = Callout(settings.reach)
    return {
        DeliveryKind.WEBHOOK: Carrier(webhooks.prepare_webhook, WebhookChannel(callout), webhooks.settle_webhook),
    }
