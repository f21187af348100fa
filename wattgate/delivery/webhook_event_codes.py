"""The events that webhooks tell of."""

from collections.abc import Mapping
from types import MappingProxyType

PING = "webhook.ping"

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "alert.sent": "An alert was sent to a user.",
        "alert.read": "A user has read alerts.",
        "alert.notification.email.sent": "An alert was taken by the mail server of its receiver.",
        "alert.notification.email.sent.error": "An alert could not be mailed.",
        "alert.notification.push.sent": "An alert was pushed to a phone or browser of the user.",
        "alert.notification.push.sent.error": "An alert could not be pushed.",
        "alert.notification.inbox.sent": "An alert is in the user's inbox.",
        "consent.renewed": "A user's consent to the readings of a meter point was given or renewed.",
        "consent.revoked": "A user's consent to the readings of a meter point was revoked.",
        "dfs.event.moved": "A flexibility event has a new state.",
        PING: "A test, which somebody has asked for; it goes to its endpoint whatever patterns that has.",
    }
)
"""Event by event, what has happened; patterns of endpoints must stand for one of these at least."""
