"""The client of a request: its address behind trusted proxies, and its device.

A device is a random secret in a cookie. A browser gets it from its first successful login on a page of the gateway. It
authenticates nobody: it only separates a known browser from guessers, whose backoff then does not delay it.
"""

import re
from collections.abc import Collection, Mapping

from starlette.types import Scope

from wattgate.app.server.gate.client_addresses import HOST, IPNetwork, address_groups, is_within, resolve_client_address
from wattgate.requests.client import CURRENT_CLIENT, Client

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
