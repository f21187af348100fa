"""The metadata and keys of providers in memory, with one request at a time for each provider.

Keys are fetched again after FRESH_SECONDS, and earlier for a key that is not known. While a provider does not respond,
its keys stay valid for KEPT_SECONDS.
"""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from wattgate.delivery.http.outbound_http import OutboundHttpClient
from wattgate.delivery.openid.provider import Provider, ProviderFault, fetch_provider
from wattgate.errors import Unavailable
from wattgate.requests.fair_share import FairShare, NoFreeSlot

log = logging.getLogger(__name__)

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
        except (TimeoutError, NoFreeSlot):
            raise unavailable(issuer) from None

    async def _refresh(self, entry: _Entry, issuer: str, owner: str) -> None:
        try:
            entry.provider = await fetch_provider(self._http, issuer, owner)
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
