"""Limits by client address and by mailbox: token buckets in the store of the budgets."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from wattgate.errors import RateLimited
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.rate_limit.budgets import BucketStore
from wattgate.rate_limit.scopes import Allowance, RateLimitScope
from wattgate.requests.client import AddressPolicy, Client, MailboxBound

NETWORK_FACTOR = 4
"""The limit of an IPv6 network of 48 bits, as a multiple of that of one address, which is a network of 64 bits."""


@dataclass(frozen=True, slots=True)
class AddressLimits:
    """The allowances of each address. A policy without an allowance has no limit. See `client.AddressLimiter`."""

    allowances: Mapping[AddressPolicy, Allowance]
    buckets: BucketStore

    async def charge(self, policy: AddressPolicy, client: Client) -> None:
        await self._spend(policy, client, 1)

    async def charge_done(self, policy: AddressPolicy, client: Client, attempts: int) -> None:
        if attempts and (scopes := self._scopes(policy, client)):
            await self.buckets.spend(scopes, attempts, is_done=True)

    async def check(self, policy: AddressPolicy, client: Client) -> None:
        await self._spend(policy, client, 0)

    async def _spend(self, policy: AddressPolicy, client: Client, attempts: int) -> None:
        """Charge attempts. Raise RateLimited if the address does not have them."""
        scopes = self._scopes(policy, client)
        if not scopes:
            return
        balance = await self.buckets.spend(scopes, attempts)
        if not balance.granted:
            RATE_LIMIT_REJECTIONS.labels(policy.value).inc()
            retry_after = max(1, balance.retry_after)
            raise RateLimited(
                f"Too many requests of the kind {policy.value!r} from your network address. Retry in {retry_after} s.",
                retry_after=retry_after,
            )

    async def refund(self, policy: AddressPolicy, client: Client) -> None:
        if scopes := self._scopes(policy, client):
            await self.buckets.spend(scopes, -1)

    async def take_mail(self, bound: MailboxBound, mailbox: str, application_id: str) -> bool:
        digest = hashlib.sha256(mailbox.encode(errors="replace")).hexdigest()[:32]  # no address in the keys of Redis
        scopes = [
            RateLimitScope(
                policy, f"{{{digest}}}:{policy}:{bound.kind}:{owner}", Allowance(count, count / bound.seconds)
            )
            for policy, owner, count in (
                ("mailbox-application", application_id, bound.for_application),
                ("mailbox", "", bound.for_all),
            )
        ]
        balance = await self.buckets.spend(scopes, 1)
        if not balance.granted:
            RATE_LIMIT_REJECTIONS.labels(balance.policy).inc()
        return balance.granted

    def _scopes(self, policy: AddressPolicy, client: Client) -> list[RateLimitScope]:
        """Return the buckets of a client: of its address, and of its IPv6 network of 48 bits.

        Both keys begin with the network, so that they are on the same node of a Redis cluster.
        """
        allowance = self.allowances.get(policy)
        if allowance is None or client.address is None:
            return []
        if client.network is None:
            return [RateLimitScope(policy.value, f"{{{client.address}}}:{policy.value}", allowance)]
        network = f"{{{client.network}}}:{policy.value}"
        return [
            RateLimitScope(policy.value, f"{network}:{client.address}", allowance),
            RateLimitScope(policy.value, network, allowance.scaled_by(NETWORK_FACTOR)),
        ]
