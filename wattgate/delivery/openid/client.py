"""The client of all OpenID providers: get their keys, verify their tokens, and ask them about tokens."""

import asyncio
import base64
import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from wattgate.delivery.egress import PUBLIC_HTTPS_ONLY, EgressPolicy
from wattgate.delivery.openid.keys import SigningKey, find_keys, parse_keys
from wattgate.delivery.openid.tokens import ExternalToken, TokenRules, WrongSignature, read_header, verify_token
from wattgate.delivery.outbound_http import (
    OutboundHttpClient,
    OutboundRequestFailed,
    OutboundResponse,
    RequestNotTried,
)
from wattgate.enums import TokenCheck
from wattgate.errors import Unavailable
from wattgate.requests.fair_share import FairShare, NoFreeSlot

# Requests to a provider: its metadata and keys (OpenID Connect Discovery), and questions about a token.

DISCOVERY_PATH = "/.well-known/openid-configuration"
OK = 200
SERVER_FAULTS = 500
REJECTIONS = (400, 401, 403)
"""The statuses with which userinfo endpoints reject a token. RFC 6750 demands 401; others are seen in practice."""


class ProviderFault(Exception):
    """A provider does not respond, or its response cannot be used. The message says why."""


class ProviderUnreachable(ProviderFault):
    """A provider does not respond now, or reports a fault of its own."""


class ProviderNotAsked(ProviderUnreachable):
    """A provider was not asked, because of earlier requests of the same application."""


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
    except RequestNotTried as error:
        raise ProviderNotAsked(f"{url}: {error.message}") from None
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


# The metadata and keys of providers in memory, with one request at a time for each provider.
#
# Keys are fetched again after FRESH_SECONDS, and earlier for a key that is not known. While a provider does not
# respond, its keys stay valid for KEPT_SECONDS.

FRESH_SECONDS = 3_600.0
"""Age at which the keys of a provider are fetched again."""

KEPT_SECONDS = 86_400.0
"""Age at which keys are no longer used, while their provider does not respond."""

MIN_REFRESH_SECONDS = 30.0
"""Minimum seconds between two requests for the keys of a provider, however many tokens name unknown keys."""

MAX_WAIT_SECONDS = 12.0
"""Maximum seconds that a caller waits for the keys of a provider."""

MAX_WAITING = 200
"""Maximum callers that fetch or wait for the keys of a provider. Above it, the application with most gets an error."""

MAX_PROVIDERS = 500
"""Maximum providers in memory. Above it, the least recently used is dropped."""

RETRY_SECONDS = 30
"""Value of Retry-After if a provider does not respond."""


@dataclass(slots=True)
class _Entry:
    """A provider, the times of the last successful request and of the last one, and why the last one failed."""

    provider: Provider | None = None
    fetched_at: float = -math.inf
    requested_at: float = -math.inf
    fault: str = ""
    turn: FairShare = field(default_factory=lambda: FairShare(1, share=1, max_waiting=MAX_WAITING - 1))


class ProviderCache:
    """The providers of all directories. `now` returns seconds of a monotonic clock."""

    def __init__(self, http: OutboundHttpClient, now: Callable[[], float] = time.monotonic) -> None:
        self._http = http
        self._now = now
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    async def get(self, issuer: str, owner: str, is_enough: Callable[[Provider], bool] = bool) -> Provider:
        """Return a provider, and fetch it again if it is old or not enough, such as without the key of a token.

        Raise Unavailable if it cannot be fetched, and neither the keys in memory nor the time allow to decide.
        """
        entry = self._entries.setdefault(issuer, _Entry())
        self._entries.move_to_end(issuer)
        while len(self._entries) > MAX_PROVIDERS:
            self._entries.popitem(last=False)
        if not self._is_good(entry, is_enough):
            await self._wait_and_refresh(entry, issuer, owner, is_enough)
        if entry.provider is None or self._now() - entry.fetched_at >= KEPT_SECONDS:
            raise unavailable(issuer)
        if entry.fault and not is_enough(entry.provider):
            raise unavailable(issuer)  # the provider may have the key by now
        return entry.provider

    def _is_good(self, entry: _Entry, is_enough: Callable[[Provider], bool]) -> bool:
        """Return whether there is nothing to fetch: the provider is fresh and enough, or it is too early."""
        is_fresh = entry.provider is not None and self._now() - entry.fetched_at < FRESH_SECONDS
        if is_fresh and entry.provider is not None and is_enough(entry.provider):
            return True
        return self._now() - entry.requested_at < MIN_REFRESH_SECONDS

    async def _wait_and_refresh(
        self, entry: _Entry, issuer: str, owner: str, is_enough: Callable[[Provider], bool]
    ) -> None:
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS), entry.turn.slot(owner):
                if not self._is_good(entry, is_enough):
                    await self._refresh(entry, issuer, owner)
        except ProviderNotAsked:  # for this application alone: the next one asks
            if entry.provider is None or not is_enough(entry.provider):
                raise unavailable(issuer) from None
        except (TimeoutError, NoFreeSlot):
            raise unavailable(issuer) from None

    async def _refresh(self, entry: _Entry, issuer: str, owner: str) -> None:
        """Fetch a provider, and remember how that ended. Raise ProviderNotAsked if it did not begin."""
        try:
            entry.provider = await fetch_provider(self._http, issuer, owner)
        except ProviderNotAsked:
            raise
        except ProviderFault as fault:
            log.warning("The OpenID provider %s cannot be used: %s", issuer, fault)
            entry.fault = str(fault)
        else:
            entry.fetched_at, entry.fault = self._now(), ""
        entry.requested_at = self._now()  # not after a cancellation: the next caller tries again


def unavailable(issuer: str) -> Unavailable:
    """Return the error for a caller whose token cannot be checked now."""
    return Unavailable(
        f"The directory {issuer} does not respond correctly, so its tokens cannot be checked. Retry in "
        f"{RETRY_SECONDS} s.",
        retry_after=RETRY_SECONDS,
    )


# The client of all OpenID providers: verify their tokens, and ask them about tokens.


log = logging.getLogger(__name__)

REQUEST_SECONDS = 5.0
"""Time limit for one request to a provider."""

MAX_QUESTIONS = 100
"""Maximum concurrent questions about tokens. Further callers get an error."""

MAX_OWNER_QUESTIONS = 25
"""Maximum concurrent questions of one application, so that its slow provider leaves questions for all others."""


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """How to ask a provider whether a token is still good. `client_id` and `client_secret` serve introspection."""

    check: TokenCheck = TokenCheck.SIGNATURE
    client_id: str = ""
    client_secret: str = ""


class OpenIdClient:
    """Verify tokens of providers that applications name. `policy` limits the addresses of the providers."""

    def __init__(
        self, policy: EgressPolicy = PUBLIC_HTTPS_ONLY, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._policy = policy
        self._monotonic = monotonic
        self._questions = FairShare(MAX_QUESTIONS, share=MAX_OWNER_QUESTIONS)

    @cached_property
    def _http(self) -> OutboundHttpClient:
        """Return the HTTP client. Most processes need none, and reading the trusted certificates takes 27 ms."""
        return OutboundHttpClient(self._policy, timeout_seconds=REQUEST_SECONDS)

    @cached_property
    def _providers(self) -> ProviderCache:
        return ProviderCache(self._http, self._monotonic)

    async def verify(self, token: str, rules: TokenRules, now: datetime, owner: str) -> ExternalToken:
        """Return the claims of a valid token. `owner` is the application of the directory.

        Raise RejectedToken if it is not valid, and Unavailable if its provider does not respond.
        """
        header = read_header(token, rules)

        def has_key(provider: Provider) -> bool:
            return bool(find_keys(provider.keys, header.key_id, header.algorithm))

        provider = await self._providers.get(rules.issuer, owner, has_key)
        keys = find_keys(provider.keys, header.key_id, header.algorithm)
        try:
            return verify_token(token, keys, rules, now)
        except WrongSignature as wrong:
            rejected = wrong
        # the provider may have replaced the key, even under the same ID
        newer = await self._providers.get(rules.issuer, owner, lambda fetched: fetched is not provider)
        if newer is provider:
            raise rejected
        return verify_token(token, find_keys(newer.keys, header.key_id, header.algorithm), rules, now)

    async def check_issuer(self, issuer: str, owner: str) -> str | None:
        """Return why a provider with this issuer cannot be used, by its metadata and keys; None if it can.

        A provider that does not respond now may respond later, so there is no reason then.
        """
        fault = await self._find_fault(issuer, owner)
        if isinstance(fault, ProviderUnreachable):
            log.warning("The OpenID provider %s of a new directory does not respond: %s", issuer, fault)
            return None
        return None if fault is None else str(fault)

    async def try_provider(self, issuer: str, algorithms: Sequence[str], owner: str) -> str | None:
        """Return why the provider cannot verify a token of one of the algorithms now; None if it can."""
        fault = await self._find_fault(issuer, owner, algorithms)
        return None if fault is None else str(fault)

    async def _find_fault(self, issuer: str, owner: str, algorithms: Sequence[str] = ()) -> ProviderFault | None:
        if not self._questions.try_take(owner):
            raise unavailable(issuer)
        try:
            provider = await fetch_provider(self._http, issuer, owner)
        except ProviderFault as fault:
            return fault
        finally:
            self._questions.give_back(owner)
        if algorithms and not any(key.algorithm in algorithms for key in provider.keys):
            return ProviderFault(f"its key set has no usable key for {' or '.join(algorithms)}")
        return None

    async def confirm(self, token: str, subject: str, issuer: str, client: ProviderClient, owner: str) -> bool:
        """Return whether the provider says that a token of the subject is still good.

        Without a check by the provider, return True. Raise Unavailable if the provider does not respond.
        """
        if client.check is TokenCheck.SIGNATURE:
            return True
        provider = await self._providers.get(issuer, owner)
        if client.check is TokenCheck.USERINFO:
            return await self._ask(
                issuer, owner, lambda: is_accepted_by_userinfo(self._http, provider, token, subject, owner)
            )
        secret = client.client_id, client.client_secret
        return await self._ask(
            issuer, owner, lambda: is_active_by_introspection(self._http, provider, token, subject, secret, owner)
        )

    async def _ask(self, issuer: str, owner: str, question: Callable[[], Awaitable[bool]]) -> bool:
        if not self._questions.try_take(owner):
            raise unavailable(issuer)
        try:
            return await question()
        except ProviderFault as fault:
            kind = {"event_kind": f"The OpenID provider {issuer} cannot confirm a token"}  # any caller may repeat it
            log.warning("The OpenID provider %s cannot confirm a token: %s", issuer, fault, extra=kind)
            raise unavailable(issuer) from None
        finally:
            self._questions.give_back(owner)
