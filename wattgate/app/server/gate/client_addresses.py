"""The client of a request: its address, its device, the addresses that share a limit, and the limit of routes."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from wattgate.errors import RateLimited
from wattgate.requests.client import (
    CURRENT_CLIENT,
    AddressLimiter,
    AddressPolicy,
    Client,
    client_has_gone,
    current_client,
)
from wattgate.rest_compat.error_responses import error_response

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


# The client of a request: its address behind trusted proxies, and its device.
#
# A device is a random secret in a cookie. A browser gets it from its first successful login on a page of the gateway.
# It authenticates nobody: it only separates a known browser from guessers, whose backoff then does not delay it.

DEVICE_COOKIE = "wattgate_device"
DEVICE_SECONDS = 180 * 86_400
"""Lifetime of the cookie, as long as an unused device is known."""

PURPOSE_HEADER = "x-access-purpose"
"""Header in which a caller declares the purpose of reading households' data, for the access log."""

MAX_PURPOSE_LENGTH = 100
"""Maximum characters of the purpose. The rest is cut off."""

MAX_DEVICE_LENGTH = 64
DEVICE = re.compile(rf"(?:^|;) ?{DEVICE_COOKIE}=([\w-]{{1,{MAX_DEVICE_LENGTH}}})(?=;|\Z)", re.ASCII)
"""The cookie of a device in a header Cookie (RFC 6265, 5.4). A device has letters, digits, `-` and `_`."""

SECURE_PREFIX = "__Host-"
"""The start of the name of the cookie over TLS. No other host, and no page without TLS, can set such a cookie."""

SECURE_DEVICE = re.compile(DEVICE.pattern.replace(DEVICE_COOKIE, SECURE_PREFIX + DEVICE_COOKIE), re.ASCII)
"""The cookie of a device over TLS."""

SECURE_SCHEMES = {"https", "wss"}


def begin_client(scope: Scope, headers: Mapping[str, str], trusted: Collection[IPNetwork]) -> tuple[Scope, Client]:
    """Set the client of the current request. Return it, and the scope with the address and scheme of the client."""
    scope = _behind_proxies(scope, headers, trusted)
    client = _client_of(scope, headers)
    CURRENT_CLIENT.set(client)
    return scope, client


def _behind_proxies(scope: Scope, headers: Mapping[str, str], trusted: Collection[IPNetwork]) -> Scope:
    """Return the scope with the address and scheme that trusted proxies report."""
    peer = str(scope["client"][0]) if scope.get("client") else ""
    if not is_within(peer, trusted):
        return scope
    address = resolve_client_address(peer, headers, trusted)
    scope = {**scope, "client": (address, 0)}
    if headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower() == "https":
        scope["scheme"] = "https" if scope["type"] == "http" else "wss"
    return scope


def _client_of(scope: Scope, headers: Mapping[str, str]) -> Client:
    host = str(scope["client"][0]) if scope.get("client") else ""
    groups = address_groups(host)
    return Client(
        host=host or None,
        address=groups.address or None,
        network=groups.network,
        device=_device_of(headers.get("cookie", ""), is_secure=scope["scheme"] in SECURE_SCHEMES),
        keeps_devices=scope["type"] == "http" and _is_own_page(headers),
        purpose=headers.get(PURPOSE_HEADER, "").strip()[:MAX_PURPOSE_LENGTH] or None,
        origin=_origin_of(scope["scheme"], headers.get("host", "")),
        has_gone=client_has_gone(scope),
    )


def _origin_of(scheme: str, host: str) -> str | None:
    """Return the address at which the client has reached the gateway, or None if the header Host has none.

    The scheme is the one that a trusted proxy reports. People paste the address into a shell, so a host has no other
    characters than those of names and addresses.
    """
    if HOST.fullmatch(host) is None:
        return None
    return f"{'https' if scheme in SECURE_SCHEMES else 'http'}://{host}"


def _is_own_page(headers: Mapping[str, str]) -> bool:
    """Return whether a page of the gateway sent the request. Browsers do not keep cookies of other pages' requests.

    An origin is a scheme and a host (RFC 6454, 6.2). A parser of URLs would raise an error for some other texts.
    """
    host = headers.get("host", "")
    return bool(host) and headers.get("origin", "").partition("://")[2] == host


def _device_of(cookies: str, *, is_secure: bool) -> str | None:
    """Return the device in a header Cookie. Parsers of all cookies take seconds for some (CVE-2024-7592)."""
    found = (SECURE_DEVICE if is_secure else DEVICE).search(cookies) if cookies else None
    return found[1] if found else None


def device_cookie(device: str, *, is_secure: bool) -> str:
    """Return the cookie of a new device. Browsers send a secure one only by https."""
    prefix, secure = (SECURE_PREFIX, "; Secure") if is_secure else ("", "")
    return f"{prefix}{DEVICE_COOKIE}={device}; Path=/; Max-Age={DEVICE_SECONDS}; HttpOnly; SameSite=Lax{secure}"


# The limit of each client address for requests that need no credentials: pages, files, and the OpenAPI document.


class AddressLimited:
    """An ASGI application that charges each HTTP request to the client's address before it serves it.

    Above the limit, the response is 429 with `Retry-After`.
    """

    def __init__(self, app: ASGIApp, limits: AddressLimiter, policy: AddressPolicy = AddressPolicy.REQUEST) -> None:
        self._app = app
        self._limits = limits
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._limits.charge(self._policy, current_client())
        except RateLimited as error:
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def limit_by_address(
    routes: Iterable[BaseRoute], limits: AddressLimiter, policy: AddressPolicy = AddressPolicy.REQUEST
) -> list[BaseRoute]:
    """Return copies of routes that charge each request to the client's address. The given ones stay as they are.

    Raise TypeError for a kind of route that cannot be limited, because it would serve without a limit.
    """
    return [_limited(route, limits, policy) for route in routes]


def _limited(route: BaseRoute, limits: AddressLimiter, policy: AddressPolicy) -> Route | Mount:
    if not isinstance(route, Route | Mount):
        raise TypeError(f"the route {route!r} has no limit by address: use Route or Mount")
    limited = copy(route)
    limited.app = AddressLimited(route.app, limits, policy)
    return limited
