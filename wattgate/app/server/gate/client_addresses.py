"""Addresses of clients: which address a request comes from, and which addresses share a limit."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

HOST = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?", re.ASCII)
"""The names, addresses and ports that the header Host may have in links."""

MAX_FORWARDED_ADDRESSES = 20
"""Maximum addresses of the header that are read, from the right. No chain of proxies is longer."""

MAX_CACHED_LENGTH = 64
"""Maximum characters of a text whose address is kept. Clients choose the texts, and longer ones are rare."""

IPV6_PREFIX = 64
"""An IPv6 customer gets a network of at least this size, and can use any address in it."""

IPV6_SITE_PREFIX = 48
"""A site can get a network of up to this size, which contains 65,536 networks of IPV6_PREFIX (RFC 6177)."""


def parse_address(text: str) -> IPAddress | None:
    """Return the address in a text: with or without a port, brackets, quotes or an IPv6 zone. None if there is none."""
    return _parse_short(text) if len(text) <= MAX_CACHED_LENGTH else _parse(text)


def _parse(text: str) -> IPAddress | None:
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


_parse_short = lru_cache(4096)(_parse)


class AddressGroups(NamedTuple):
    """The names of the groups that share limits with an address.

    `address` is the address itself, or its /64 network for IPv6. `network` is the /48 network; None for IPv4.
    """

    address: str
    network: str | None


@lru_cache(4096)
def address_groups(text: str) -> AddressGroups:
    """Return the groups of an address. A text that is no address is its own group."""
    address = parse_address(text)
    if isinstance(address, IPv6Address):
        groups = (str(ip_network((address, prefix), strict=False)) for prefix in (IPV6_PREFIX, IPV6_SITE_PREFIX))
        return AddressGroups(*groups)
    return AddressGroups(str(address) if address else text, None)


def is_within(text: str, networks: Collection[IPNetwork]) -> bool:
    """Return whether an address is in one of the networks."""
    if not networks:
        return False
    address = parse_address(text)
    return address is not None and any(address in network for network in networks)


def resolve_client_address(peer: str, headers: Mapping[str, str], trusted: Collection[IPNetwork]) -> str:
    """Return the address of the client: the peer, or the right-most forwarded address that is not trusted.

    Only trusted proxies are believed, each about the peer that it saw. A client can write what it likes to the left of
    that. A proxy that sets one of the two headers passes the other one on as the client sent it. Therefore, if both are
    present, they must agree; otherwise the peer counts.
    """
    if not is_within(peer, trusted):
        return peer
    candidates = {
        _rightmost_untrusted(peer, forwarded, trusted)
        for forwarded in (_x_forwarded_for(headers), _forwarded(headers))
        if forwarded
    }
    return candidates.pop() if len(candidates) == 1 else peer


def _rightmost_untrusted(peer: str, forwarded: Sequence[str], trusted: Collection[IPNetwork]) -> str:
    address = peer
    for text in reversed(forwarded[-MAX_FORWARDED_ADDRESSES:]):
        parsed = parse_address(text)
        if parsed is None:  # a name instead of an address (RFC 7239, section 6.3)
            break
        address = str(parsed)
        if not is_within(address, trusted):
            break
    return address


def _x_forwarded_for(headers: Mapping[str, str]) -> list[str]:
    return [text for text in headers.get("x-forwarded-for", "").split(",") if text.strip()]


def _forwarded(headers: Mapping[str, str]) -> list[str]:
    """Return the values of `for` in the elements of the header Forwarded (RFC 7239, section 4)."""
    elements = [element for element in headers.get("forwarded", "").split(",") if element.strip()]
    return [_forwarded_for(element) for element in elements]


def _forwarded_for(element: str) -> str:
    for pair in element.split(";"):
        name, _, value = pair.partition("=")
        if name.strip().lower() == "for":
            return value
    return "unknown"
