"""Interface of delivery channels: the message to send, and the outcome of an attempt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class MessageContent:
    """The content of a message. A channel uses the parts that it supports. `data` is for software."""

    subject: str = ""
    text: str = ""
    html: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """One attempt of a delivery. `attempt` counts from 1.

    A delivery may be attempted again after it has arrived, if a worker crashes in between. All attempts have the same
    `delivery_id`, by which the receiver can recognise duplicates. `headers` are additional headers for the channel. A
    mail that is not `unsubscribable` has no link that stops mails to its address.
    """

    delivery_id: str
    application_id: str
    attempt: int
    created_at: datetime
    addresses: tuple[str, ...]
    content: MessageContent
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unsubscribable: bool = True


@dataclass(frozen=True, slots=True)
class Sent:
    """The receiver accepted the message. `reference` is the receiver's id of the message, if it sent one."""

    reference: str | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class TemporaryFailure:
    """The attempt failed and may be retried. `retry_after_seconds` is the pause that the receiver requests, if any."""

    reason: str
    retry_after_seconds: float | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """The message cannot be delivered; do not retry. `code` is for software, such as user.tokens.not_found."""

    code: str
    reason: str
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


Outcome = Sent | TemporaryFailure | PermanentFailure
"""The outcome of an attempt. `details` has values that the kind of delivery stores, such as an HTTP status."""


class DeliveryChannel(Protocol):
    """A channel that sends messages, such as mail or push."""

    async def send(self, outbound: OutboundMessage) -> Outcome:
        """Send a message. Errors of networks and receivers are outcomes; only defects of the gateway are raised."""
