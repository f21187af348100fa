"""Limits of the HTTP server on connections: their number, and the time for the head and the body of a request."""

import asyncio
from collections import Counter
from dataclasses import dataclass

from wattgate.app.server.gate.client_addresses import AddressGroups, IPNetwork, address_groups, is_within
from wattgate.app.server.gate.request_heads import DEFAULT_HEAD_LIMITS, HeadLimits
from wattgate.app.settings import Settings
from wattgate.metrics import REFUSED_CONNECTIONS
from wattgate.rate_limit.address_limits import NETWORK_FACTOR

LINGER_SECONDS = 2.0
"""Seconds for the client to read its response, or to end its body after it. Then the connection is cut."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of HTTP connections. Each has a test. A maximum of 0 means no limit.

    A request head must arrive within `head_seconds`. A body must deliver `min_body_bytes_per_second` on average in each
    window of `body_seconds`. A client that leaves much of a response unread must read as many in each window of
    `response_seconds`. Peers in `trusted_proxies` carry many clients, so the maximum for one address does not apply to
    them.
    """

    head_seconds: float = 10.0
    body_seconds: float = 20.0
    response_seconds: float = 30.0
    min_body_bytes_per_second: int = 100
    max_address_connections: int = 0
    max_connections: int = 0
    trusted_proxies: tuple[IPNetwork, ...] = ()
    head: HeadLimits = DEFAULT_HEAD_LIMITS

    @classmethod
    def from_settings(cls, settings: Settings) -> "HttpLimits":
        return cls(
            head_seconds=settings.head_seconds,
            body_seconds=settings.body_seconds,
            response_seconds=settings.response_seconds,
            max_address_connections=settings.max_address_connections,
            max_connections=settings.max_connections,
            trusted_proxies=tuple(settings.trusted_proxies),
            head=HeadLimits(settings.head_bytes, settings.head_lines, settings.head_line_bytes),
        )

    @property
    def min_body_bytes(self) -> float:
        """The bytes of a body that must arrive in one window."""
        return self.body_seconds * self.min_body_bytes_per_second

    @property
    def min_response_bytes(self) -> float:
        """The bytes of unread responses that the client must read in one window."""
        return self.response_seconds * self.min_body_bytes_per_second


DEFAULT_HTTP_LIMITS = HttpLimits()


class ConnectionGuard:
    """Counts the open connections of one process, in total, by the address of the peer, and by its IPv6 site."""

    def __init__(self, limits: HttpLimits) -> None:
        self.limits = limits
        self._groups: dict[asyncio.BaseTransport, AddressGroups] = {}
        self._counts = Counter[str | None]()

    @property
    def count(self) -> int:
        """The number of open connections."""
        return len(self._groups)

    def admit(self, transport: asyncio.BaseTransport) -> bool:
        """Count a new connection. Return False, and count nothing, if it exceeds a limit."""
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        groups = address_groups(address)
        limits = self.limits
        if limits.max_connections and self.count >= limits.max_connections:
            REFUSED_CONNECTIONS.labels("total").inc()
            return False
        if (
            limits.max_address_connections
            and self._has_maximum(groups)
            and not is_within(address, limits.trusted_proxies)
        ):
            REFUSED_CONNECTIONS.labels("address").inc()
            return False
        self._groups[transport] = groups
        self._counts.update(groups)
        return True

    def _has_maximum(self, groups: AddressGroups) -> bool:
        """Return whether an address, or the site of an IPv6 address, has as many connections as it may have."""
        maximum = self.limits.max_address_connections
        is_site_full = groups.network is not None and self._counts[groups.network] >= NETWORK_FACTOR * maximum
        return is_site_full or self._counts[groups.address] >= maximum

    def release(self, transport: asyncio.BaseTransport) -> None:
        """Stop counting a connection. Do nothing if it is not counted."""
        for group in self._groups.pop(transport, ()):
            self._counts[group] -= 1
            if not self._counts[group]:
                del self._counts[group]
