"""The port of a channel: what it is given to send, and what may become of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Content:
    """What is said. A channel takes the parts that it can carry; `data` is for software."""

    subject: str = ""
    text: str = ""
    html: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One attempt of a delivery. `attempt` counts from 1.

    A delivery may be attempted again after it has arrived, when a worker dies in between: the receiver knows it by
    `delivery_id`, which every attempt carries. `headers` are what a channel needs besides.
    """

    delivery_id: str
    application_id: str
    attempt: int
    created_at: datetime
    addresses: tuple[str, ...]
    content: Content
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Sent:
    """It was taken; `reference` is what the receiver calls it, where it says so."""

    reference: str | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Retry:
    """It was not taken this time. The receiver asks to be left alone for `after` seconds, where it says so."""

    reason: str
    after: float | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Refused:
    """It will never be taken. `code` is for software, such as user.tokens.not_found."""

    code: str
    reason: str
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


Outcome = Sent | Retry | Refused
"""What became of an attempt; `facts` are what a kind of delivery keeps of it, such as the status of an answer."""


class Channel(Protocol):
    """A way out of the house."""

    async def send(self, outgoing: Outgoing) -> Outcome:
        """Send something. Whatever goes wrong outside is an outcome; only faults of ours are raised."""
