"""Codes of the events that webhooks deliver."""

from collections.abc import Mapping
from types import MappingProxyType

PING_EVENT = "webhook.ping"

EVENT_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "alert.sent": "An alert was sent to a user.",
        "alert.read": "A user has read alerts.",
        "alert.notification.email.sent": "The mail server of the recipient has accepted an alert.",
        "alert.notification.email.sent.error": "An alert could not be mailed.",
        "alert.notification.push.sent": "An alert was pushed to a phone or browser of the user.",
        "alert.notification.push.sent.error": "An alert could not be pushed.",
        "alert.notification.inbox.sent": "An alert is in the user's inbox.",
        "consent.renewed": "A user's consent to the readings of a meter point was given or renewed.",
        "consent.revoked": "A user's consent to the readings of a meter point was revoked.",
        "dfs.event.moved": "A flexibility event has a new state.",
        "dfs.participation.withdrawn": "A user has left a flexibility event before its begin, by opting out.",
        "tariff.prices.arrived": "A dynamic tariff has prices of a later time than before, such as those of tomorrow.",
        "tenancy.ended": "Another user has moved in where a user lived.",
        PING_EVENT: "A test that a user has requested. Its endpoint receives it with any patterns.",
    }
)
"""A description of each event code. A pattern of an endpoint must match at least one code."""
