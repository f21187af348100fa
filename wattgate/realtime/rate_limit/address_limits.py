"""Limits by client address and by mailbox: token buckets in the store of the budgets."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from wattgate.client import AddressPolicy, Client, MailboxBound
from wattgate.errors import RateLimited
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.realtime.rate_limit.budgets import BucketStore
from wattgate.realtime.rate_limit.scopes import Allowance, RateLimitScope


@dataclass(frozen=True, slots=True)
class AddressLimits:
    """The allowances of each address. A policy without an allowance has no limit. See `client.AddressLimiter`."""

    allowances: Mapping[AddressPolicy, Allowance]
    buckets: BucketStore

    async def charge(self, policy: AddressPolicy, client: Client) -> None:
        scope = self._scope(policy, client)
        if scope is None:
            return
        balance = await self.buckets.spend([scope], 1)
        if not balance.granted:
            RATE_LIMIT_REJECTIONS.labels(policy.value).inc()
            retry_after = max(1, balance.retry_after)
            raise RateLimited(
                f"Too many requests of the kind {policy.value!r} from your network address. Retry in {retry_after} s.",
                retry_after=retry_after,
            )

    async def refund(self, policy: AddressPolicy, client: Client) -> None:
        scope = self._scope(policy, client)
        if scope is not None:
            await self.buckets.spend([scope], -1)

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

    def _scope(self, policy: AddressPolicy, client: Client) -> RateLimitScope | None:
        allowance = self.allowances.get(policy)
        if allowance is None or client.address is None:
            return None
        return RateLimitScope(policy.value, f"{{{client.address}}}:{policy.value}", allowance)
