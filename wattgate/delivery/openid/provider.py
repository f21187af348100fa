"""Requests to a provider: its metadata and keys (OpenID Connect Discovery), and questions about a token."""

import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from wattgate.delivery.http.outbound_http import OutboundHttpClient, OutboundRequestFailed, OutboundResponse
from wattgate.delivery.openid.keys import SigningKey, parse_keys

log = logging.getLogger(__name__)

DISCOVERY_PATH = "/.well-known/openid-configuration"
OK = 200
SERVER_FAULTS = 500
REJECTIONS = (400, 401, 403)
"""The statuses with which userinfo endpoints reject a token. RFC 6750 demands 401; others are seen in practice."""


class ProviderFault(Exception):
    """A provider does not respond, or its response cannot be used. The message says why."""


class ProviderUnreachable(ProviderFault):
    """A provider does not respond now, or reports a fault of its own."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The metadata and the keys of a provider. An endpoint is None if the provider does not offer it."""

    issuer: str
    keys: tuple[SigningKey, ...]
    userinfo_endpoint: str | None = None
    introspection_endpoint: str | None = None


async def fetch_provider(http: OutboundHttpClient, issuer: str, owner: str) -> Provider:
    """Return the metadata and the keys of a provider. `owner` is the application whose look-ups are bounded."""
    metadata = await _fetch_object(http, issuer.rstrip("/") + DISCOVERY_PATH, owner)
    if metadata.get("issuer") != issuer:
        raise ProviderFault(f"its metadata name another issuer: {metadata.get('issuer')!r:.200}")
    keys_url = _endpoint(metadata, "jwks_uri", issuer)
    if keys_url is None:
        raise ProviderFault("its metadata have no jwks_uri")
    documents = (await _fetch_object(http, keys_url, owner)).get("keys")
    if not isinstance(documents, list):
        raise ProviderFault("its key set has no list of keys")
    return Provider(
        issuer,
        parse_keys(documents),
        _endpoint(metadata, "userinfo_endpoint", issuer),
        _endpoint(metadata, "introspection_endpoint", issuer),
    )


async def is_accepted_by_userinfo(
    http: OutboundHttpClient, provider: Provider, token: str, subject: str, owner: str
) -> bool:
    """Return whether the provider returns the claims of the subject for a token (OpenID Connect Core, 5.3)."""
    if provider.userinfo_endpoint is None:
        raise ProviderFault("it offers no userinfo endpoint")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    response = await _send(http, "GET", provider.userinfo_endpoint, headers, b"", owner)
    if response.status in REJECTIONS:
        return False
    return _json_object(response, provider.userinfo_endpoint).get("sub") == subject


async def is_active_by_introspection(
    http: OutboundHttpClient, provider: Provider, token: str, subject: str, client: tuple[str, str], owner: str
) -> bool:
    """Return whether a token is active (RFC 7662). `client` is the ID and the secret of the gateway as a client."""
    if provider.introspection_endpoint is None:
        raise ProviderFault("it offers no introspection endpoint")
    credentials = ":".join(quote(part, safe="") for part in client)  # RFC 6749, section 2.3.1
    headers = {
        "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    body = urlencode({"token": token}).encode()
    answer = _json_object(
        await _send(http, "POST", provider.introspection_endpoint, headers, body, owner),
        provider.introspection_endpoint,
    )
    return answer.get("active") is True and answer.get("sub", subject) == subject


async def _fetch_object(http: OutboundHttpClient, url: str, owner: str) -> dict[str, Any]:
    return _json_object(await _send(http, "GET", url, {"Accept": "application/json"}, b"", owner), url)


async def _send(
    http: OutboundHttpClient, method: str, url: str, headers: Mapping[str, str], body: bytes, owner: str
) -> OutboundResponse:
    try:
        return await http.send(method, url, headers=headers, body=body, owner=owner)
    except OutboundRequestFailed as error:
        raise ProviderUnreachable(f"{url}: {error.message}") from None


def _json_object(response: OutboundResponse, url: str) -> dict[str, Any]:
    if response.status != OK:
        kind = ProviderUnreachable if response.status >= SERVER_FAULTS else ProviderFault
        raise kind(f"{url} responds with status {response.status}")
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        raise ProviderFault(f"{url} does not return a complete JSON object") from None
    if not isinstance(document, dict):
        raise ProviderFault(f"{url} does not return a JSON object")
    return document


def _endpoint(metadata: Mapping[str, Any], name: str, issuer: str) -> str | None:
    """Return the URL of an endpoint. An issuer with https must not name endpoints without it."""
    url = metadata.get(name)
    if url is None:
        return None
    if not isinstance(url, str) or (issuer.startswith("https:") and not url.startswith("https:")):
        raise ProviderFault(f"its metadata have a {name} that is not an https address")
    return url
