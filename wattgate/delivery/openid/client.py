"""The client of all OpenID providers: verify their tokens, and ask them about tokens."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from wattgate.delivery.http.egress import PUBLIC_HTTPS_ONLY, EgressPolicy
from wattgate.delivery.http.outbound_http import OutboundHttpClient
from wattgate.delivery.openid.keys import find_keys
from wattgate.delivery.openid.provider import (
    Provider,
    ProviderFault,
    ProviderUnreachable,
    fetch_provider,
    is_accepted_by_userinfo,
    is_active_by_introspection,
)
from wattgate.delivery.openid.provider_cache import ProviderCache, unavailable
from wattgate.delivery.openid.tokens import ExternalToken, TokenRules, WrongSignature, read_header, verify_token
from wattgate.enums import TokenCheck
from wattgate.requests.fair_share import FairShare

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
        if not self._questions.try_take(owner):
            raise unavailable(issuer)
        try:
            await fetch_provider(self._http, issuer, owner)
        except ProviderUnreachable as fault:
            log.warning("The OpenID provider %s of a new directory does not respond: %s", issuer, fault)
        except ProviderFault as fault:
            return str(fault)
        finally:
            self._questions.give_back(owner)
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
            log.warning("The OpenID provider %s cannot confirm a token: %s", issuer, fault)
            raise unavailable(issuer) from None
        finally:
            self._questions.give_back(owner)
