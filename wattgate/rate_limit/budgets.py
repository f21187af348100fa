"""Request budgets: a token bucket for each rate limit scope. Requests drain it by their cost, and time refills it."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import msgspec

from wattgate.clock import Clock, utc_now
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.principal import Principal
from wattgate.rate_limit.application_usage import ApplicationUsage
from wattgate.rate_limit.scopes import NO_LIMITS, Allowance, BudgetLimits, RateLimitScope, rate_limit_scopes
from wattgate.requests.request_context import repeated_hash_units

MAX_BUCKETS = 100_000
"""Maximum number of buckets in a process. Above it, the least recently charged one is dropped: it counts as full."""

PURGE_BATCH_SIZE = 8
"""Maximum number of full buckets that one charge drops. It is more than one charge adds."""

ROUNDING_TOLERANCE = 1e-6
"""Differences below this are rounding errors. Costs are whole numbers."""


class RateBucket(msgspec.Struct, frozen=True, gc=False):
    """The deficit of a bucket against its capacity at a time, and the time at which it is full again (s since 1970).

    A bucket that is not stored is full.
    """

    deficit: float
    updated_at: float
    full_at: float


def bucket_at(now: float, deficit: float, allowance: Allowance) -> RateBucket:
    """Return the bucket of an allowance with a deficit now."""
    return RateBucket(deficit, now, now + deficit / allowance.per_second)


FULL_BUCKET = RateBucket(0.0, 0.0, 0.0)

CURRENT_BALANCE: ContextVar["Balance | None"] = ContextVar("balance", default=None)
"""The balance after the last charge of the current task, whose response states it; None if nothing was charged."""


class Balance(msgspec.Struct, frozen=True, gc=False):
    """The state of a scope after a charge.

    `remaining` is the rest of the bucket and `limit` its capacity. The bucket is full in `reset` seconds. An empty
    bucket takes `window` seconds to refill. The cost is granted in `retry_after` seconds, or 0 if it is granted. It is
    0 without a grant if even a full bucket cannot grant the cost: no wait helps.
    """

    granted: bool
    cost: int
    remaining: int
    reset: int
    retry_after: int
    limit: int
    window: int
    policy: str


def charge_buckets(
    buckets: Sequence[RateBucket], scopes: Sequence[RateLimitScope], cost: int, now: float, *, is_done: bool = False
) -> tuple[bool, Sequence[RateBucket]]:
    """Return whether the bucket of every scope holds the cost, and the new buckets. Charge all of them or none.

    A refund is a negative cost. It fills a bucket at most, because time may have refilled a part of the charge. The
    cost of work that `is_done` is charged in any case. The deficit of a bucket may then exceed its capacity.
    """
    deficits, granted = [], True
    for bucket, scope in zip(buckets, scopes, strict=True):
        deficit = _deficit_at(bucket, scope.allowance, now)
        deficits.append(deficit)
        if not is_done and deficit + cost > scope.allowance.capacity + ROUNDING_TOLERANCE:
            granted = False
    charged = cost if granted else 0
    return granted, [
        bucket_at(now, max(0.0, deficit + charged), scope.allowance)
        for deficit, scope in zip(deficits, scopes, strict=True)
    ]


def _deficit_at(bucket: RateBucket, allowance: Allowance, now: float) -> float:
    """Return the deficit now. If the clock was set back, nothing has been refilled."""
    if now <= bucket.updated_at:
        return bucket.deficit
    if now >= bucket.full_at:
        return 0.0
    return max(0.0, bucket.deficit - (now - bucket.updated_at) * allowance.per_second)


def build_balance(scopes: Sequence[RateLimitScope], deficits: Sequence[float], cost: int, *, granted: bool) -> Balance:
    """Return the balance of the first scope, or, if the cost is refused, of the scope with the longest wait."""
    if granted:
        return _scope_balance(scopes[0], deficits[0], cost, granted)
    balances = [_scope_balance(scope, deficit, cost, granted) for scope, deficit in zip(scopes, deficits, strict=True)]
    return max(balances, key=lambda balance: balance.retry_after)


def _scope_balance(scope: RateLimitScope, deficit: float, cost: int, granted: bool) -> Balance:
    allowance = scope.allowance
    return Balance(
        granted=granted,
        cost=cost,
        remaining=max(0, math.floor(allowance.capacity - deficit + ROUNDING_TOLERANCE)),
        reset=_whole_seconds(deficit / allowance.per_second),
        retry_after=0 if granted else _whole_seconds((deficit + cost - allowance.capacity) / allowance.per_second),
        limit=allowance.capacity,
        window=allowance.window,
        policy=scope.policy,
    )


def _whole_seconds(seconds: float) -> int:
    return max(0, math.ceil(seconds - ROUNDING_TOLERANCE))


class BucketStore(Protocol):
    """A store of buckets."""

    async def spend(
        self, scopes: Sequence[RateLimitScope], cost: int, *, is_done: bool = False, paid: int = 0, refused: int = 0
    ) -> Balance:
        """Charge a cost to all of these scopes or, if one of them refuses it, to none.

        No scope refuses the cost of work that `is_done`. If the cost is refused, return when the scopes grant the sum
        of it and `paid`. If another cost was `refused` before, return when they grant that one.
        """


class LocalBucketStore:
    """A store in the memory of one process."""

    def __init__(self, clock: Clock = utc_now, *, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[str, RateBucket] = OrderedDict()
        """The buckets, least recently charged first."""

    def __len__(self) -> int:
        return len(self._buckets)

    async def spend(
        self, scopes: Sequence[RateLimitScope], cost: int, *, is_done: bool = False, paid: int = 0, refused: int = 0
    ) -> Balance:
        now = self._clock().timestamp()
        buckets_before = [self._buckets.get(scope.key, FULL_BUCKET) for scope in scopes]
        granted, buckets = charge_buckets(buckets_before, scopes, cost, now, is_done=is_done)
        self._store(scopes, buckets, now)
        deficits = [bucket.deficit for bucket in buckets]
        stated = refused or (cost if granted else cost + paid)
        return build_balance(scopes, deficits, stated, granted=granted and not refused)

    def remember(self, scopes: Sequence[RateLimitScope], deficits: Sequence[float]) -> None:
        """Store the deficits that a shared store has now, so that this store can continue with them."""
        now = self._clock().timestamp()
        buckets = [bucket_at(now, deficit, scope.allowance) for scope, deficit in zip(scopes, deficits, strict=True)]
        self._store(scopes, buckets, now)

    def _store(self, scopes: Sequence[RateLimitScope], buckets: Sequence[RateBucket], now: float) -> None:
        stored = self._buckets
        for scope, bucket in zip(scopes, buckets, strict=True):
            stored[scope.key] = bucket
            stored.move_to_end(scope.key)
        self._purge_full(now)

    def _purge_full(self, now: float) -> None:
        """Drop buckets that are full again, and the least recently charged ones above the maximum."""
        stored = self._buckets
        for _ in range(PURGE_BATCH_SIZE):
            oldest = next(iter(stored.values()), None)
            if oldest is None or oldest.full_at > now:
                break
            stored.popitem(last=False)
        while len(stored) > self._max_buckets:
            stored.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Charge callers for their requests."""

    limits: BudgetLimits
    buckets: BucketStore
    usage: ApplicationUsage = field(default_factory=ApplicationUsage)

    async def charge(self, principal: Principal, cost: int, *, paid: int | None = None) -> Balance | None:
        """Charge a cost to a caller and return its balance, or None if the caller has no limit.

        `paid` is the charge for other parts of the request. Its next attempt pays them again, so a refusal states when
        the budget covers both, and the hash of a password that is forgotten by then. None means that the cost is no
        part of a request. Check `Balance.granted`: the cost may be refused. Raise CostTooHigh if even a full bucket
        cannot grant all of that.
        """
        if self.limits.is_unlimited:
            return None
        scopes = rate_limit_scopes(principal, self.limits)
        if not scopes:
            return None
        whole = cost + (paid or 0)
        if error := _excess_of_capacity(scopes, whole):
            self.usage.refuse(principal)
            CURRENT_BALANCE.set(await self._ungranted(scopes))
            raise error
        balance = await self.buckets.spend(scopes, cost, paid=paid or 0)
        if balance.granted:
            self.usage.add(principal, cost)
        else:
            self.usage.refuse(principal)
        if paid is not None and not balance.granted and repeated_hash_units(balance.retry_after):
            balance, refusal = await self.charge_refused(principal, whole, loaded_units=0)
            if isinstance(refusal, CostTooHigh):
                raise refusal
        CURRENT_BALANCE.set(balance)
        if not balance.granted:
            RATE_LIMIT_REJECTIONS.labels(balance.policy).inc()
        return balance

    async def charge_done(self, principal: Principal, cost: int) -> Balance | None:
        """Charge a caller for work that is done, also above its remaining budget. Return the balance as `charge` does.

        A caller whose deficit exceeds the capacity has to wait until time has refilled it. So repeated work above a
        small rest of the budget does not exceed the refill.
        """
        scopes = () if self.limits.is_unlimited else rate_limit_scopes(principal, self.limits)
        if not scopes:
            return None
        balance = await self.buckets.spend(scopes, cost, is_done=True)
        self.usage.add(principal, cost)
        CURRENT_BALANCE.set(balance)
        return balance

    async def charge_read(self, principal: Principal, cost: int, *, paid: int) -> Balance | None:
        """Charge a part of a request that has arrived, also above the remaining budget. Return the balance as `charge`.

        `paid` is the charge of the parts before it. Raise RateLimited if the budget does not cover the part, so that
        the next one is not read, or CostTooHigh.
        """
        try:
            balance = await self.charge(principal, cost, paid=paid)
        except CostTooHigh:
            pass
        else:
            if balance is None or balance.granted:
                return balance
        _, error = await self.charge_refused(principal, paid + cost, loaded_units=cost)
        raise error

    async def charge_refused(
        self, principal: Principal, cost: int, *, loaded_units: int
    ) -> tuple[Balance, RateLimited | CostTooHigh]:
        """Charge what an operation has loaded whose rest the budget refused, also above the remaining budget.

        Return the balance and the refusal. It states when the budget covers `cost`, the whole cost of the operation,
        because the operation begins anew, and the hash as in `charge`. It is CostTooHigh if even a full bucket cannot
        grant that.
        """
        scopes = rate_limit_scopes(principal, self.limits)
        too_high = _excess_of_capacity(scopes, cost)
        balance = await self.buckets.spend(scopes, loaded_units, is_done=True, refused=0 if too_high else cost)
        self.usage.add(principal, loaded_units)
        hash_units = min(repeated_hash_units(balance.retry_after), _smallest_capacity(scopes))
        if hash_units and not too_high:
            too_high = _excess_of_capacity(scopes, cost + hash_units)
            if not too_high:
                balance = await self.buckets.spend(scopes, 0, is_done=True, refused=cost + hash_units)
        if too_high:
            balance = await self._ungranted(scopes)
        CURRENT_BALANCE.set(balance)
        return balance, too_high or rate_limited_error(balance)

    async def _ungranted(self, scopes: Sequence[RateLimitScope]) -> Balance:
        """Return the balance after a cost that even a full bucket cannot grant. It states no time to wait."""
        balance = await self.buckets.spend(scopes, 0, is_done=True)
        return msgspec.structs.replace(balance, granted=False)

    async def refusal(self, principal: Principal, cost: int) -> RateLimited | CostTooHigh:
        """Return the refusal of a part of a request. It states when the budget covers `cost`, the expected whole cost.

        If a full budget may not cover that, the refusal states when the budget is full: the real cost may be lower.
        """
        _, error = await self.charge_refused(principal, min(cost, self.max_cost(principal) or cost), loaded_units=0)
        return error

    async def refund(self, principal: Principal, units: int) -> Balance | None:
        """Return units to a caller whose work was refused before it began. Return the balance as `charge` does."""
        return await self.charge_done(principal, -units)

    def max_cost(self, principal: Principal) -> int | None:
        """Return the highest cost that full budgets of a caller cover at once, or None if the caller has no limit."""
        scopes = rate_limit_scopes(principal, self.limits)
        return _smallest_capacity(scopes) if scopes else None


def _excess_of_capacity(scopes: Sequence[RateLimitScope], cost: int) -> CostTooHigh | None:
    """Return the error of a cost that even a full bucket cannot grant, or None."""
    for scope in scopes:
        if cost > scope.allowance.capacity:
            return CostTooHigh(
                f"This request costs {cost:,}, but the budget holds at most {_smallest_capacity(scopes):,}. "
                "Request less data at once."
            )
    return None


def _smallest_capacity(scopes: Sequence[RateLimitScope]) -> int:
    return min(scope.allowance.capacity for scope in scopes)


UNLIMITED_BUDGETS = Budgets(NO_LIMITS, LocalBucketStore())
"""Budgets without any limit."""


def rate_limited_error(balance: Balance) -> RateLimited:
    """Return the error of a refused charge, also of one without a cost: earlier work has used up the budget then."""
    budget = f"the budget {balance.policy!r}"
    reason = (
        f"This request costs {balance.cost:,}, but {budget} has {balance.remaining:,} of {balance.limit:,} left."
        if balance.cost
        else f"Earlier work has used up {budget} of {balance.limit:,}."
    )
    return RateLimited(f"{reason} Retry in {balance.retry_after} s.", retry_after=balance.retry_after)


def rate_limit_headers(balance: Balance | None) -> Mapping[str, str]:
    """Return a balance as the headers RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11.

    The quota unit is cost. If the request is refused, `t` equals Retry-After: it must not be later (section 6). There
    is no `t` if the request costs more than the whole budget, because a client may wait for that time and try again.
    """
    if balance is None:
        return {}
    time = balance.reset if balance.granted else balance.retry_after
    state = f'"{balance.policy}";r={balance.remaining}'
    return {
        "RateLimit-Policy": _policy_header(balance.policy, balance.limit, balance.window),
        "RateLimit": f"{state};t={time}" if balance.granted or time else state,
    }


@lru_cache(256)
def _policy_header(policy: str, limit: int, window: int) -> str:
    return f'"{policy}";q={limit};w={window}'
