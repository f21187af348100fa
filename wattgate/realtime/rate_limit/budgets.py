"""What callers may spend: token buckets, which requests empty by what they cost and time fills."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wattgate.clock import Clock, utc_now
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.principal import Principal
from wattgate.realtime.rate_limit.scopes import NO_LIMITS, Allowance, BudgetLimits, RateLimitScope, rate_limit_scopes

MAX_BUCKETS = 100_000
"""How many buckets a process keeps; of more, the one that was drawn from longest ago is forgotten, and so full."""

PURGE_BATCH_SIZE = 8
"""How many full buckets are forgotten with one spending: more than it adds."""

ROUNDING_TOLERANCE = 1e-6
"""What is less than this is an error of rounding. Costs are whole."""


@dataclass(frozen=True, slots=True)
class RateBucket:
    """How much was missing in a bucket at an instant, in seconds since 1970. A bucket nobody knows is full."""

    deficit: float
    updated_at: float


FULL_BUCKET = RateBucket(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Balance:
    """What a payer has after a cost was asked of it.

    `reset` is in how many seconds its bucket is full, `retry_after` in how many this cost would be granted (0 where
    it is). `limit` is what the bucket holds, and `window` the seconds in which it fills.
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
    buckets: Sequence[RateBucket], scopes: Sequence[RateLimitScope], cost: int, now: float
) -> tuple[bool, tuple[RateBucket, ...]]:
    """Whether every payer's bucket holds the cost, and the buckets after that: each is charged, or none."""
    deficits = [_deficit_at(bucket, scope.allowance, now) for bucket, scope in zip(buckets, scopes, strict=True)]
    granted = all(
        deficit + cost <= scope.allowance.capacity + ROUNDING_TOLERANCE
        for deficit, scope in zip(deficits, scopes, strict=True)
    )
    charged = cost if granted else 0
    return granted, tuple(RateBucket(deficit + charged, now) for deficit in deficits)


def _deficit_at(bucket: RateBucket, allowance: Allowance, now: float) -> float:
    """What is missing now. While a clock is put back, nothing flows in."""
    return max(0.0, bucket.deficit - max(0.0, now - bucket.updated_at) * allowance.per_second)


def build_balance(scopes: Sequence[RateLimitScope], deficits: Sequence[float], cost: int, *, granted: bool) -> Balance:
    """What a caller is told: how its own bucket stands; where that was refused, the one that takes longest to grant."""
    if granted:
        return _scope_balance(scopes[0], deficits[0], cost, granted)
    balances = [_scope_balance(scope, deficit, cost, granted) for scope, deficit in zip(scopes, deficits, strict=True)]
    return max(balances, key=lambda balance: balance.retry_after)


def _scope_balance(scope: RateLimitScope, deficit: float, cost: int, granted: bool) -> Balance:
    allowance = scope.allowance
    shortfall = 0.0 if granted else deficit + cost - allowance.capacity
    return Balance(
        granted=granted,
        cost=cost,
        remaining=max(0, math.floor(allowance.capacity - deficit + ROUNDING_TOLERANCE)),
        reset=_whole_seconds(deficit / allowance.per_second),
        retry_after=_whole_seconds(shortfall / allowance.per_second),
        limit=allowance.capacity,
        window=allowance.window,
        policy=scope.policy,
    )


def _whole_seconds(seconds: float) -> int:
    return max(0, math.ceil(seconds - ROUNDING_TOLERANCE))


class BucketStore(Protocol):
    """Where buckets are kept."""

    async def spend(self, scopes: Sequence[RateLimitScope], cost: int) -> Balance:
        """Ask all of these payers for a cost: each is charged, or none."""


class LocalBucketStore:
    """The buckets of a single process."""

    def __init__(self, clock: Clock = utc_now, *, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[str, tuple[RateBucket, float]] = OrderedDict()
        """Buckets and the instants at which they are full, those that were drawn from last at the end."""

    def __len__(self) -> int:
        return len(self._buckets)

    async def spend(self, scopes: Sequence[RateLimitScope], cost: int) -> Balance:
        now = self._clock().timestamp()
        buckets_before = [
            self._buckets[scope.key][0] if scope.key in self._buckets else FULL_BUCKET for scope in scopes
        ]
        granted, buckets = charge_buckets(buckets_before, scopes, cost, now)
        for scope, bucket in zip(scopes, buckets, strict=True):
            self._buckets[scope.key] = bucket, now + bucket.deficit / scope.allowance.per_second
            self._buckets.move_to_end(scope.key)
        self._purge_full(now)
        return build_balance(scopes, [bucket.deficit for bucket in buckets], cost, granted=granted)

    def _purge_full(self, now: float) -> None:
        """Forget buckets that are full again, and the oldest where there are too many."""
        for _ in range(PURGE_BATCH_SIZE):
            if not self._buckets or next(iter(self._buckets.values()))[1] > now:
                break
            self._buckets.popitem(last=False)
        while len(self._buckets) > self._max_buckets:
            self._buckets.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Charges callers for what they ask."""

    limits: BudgetLimits
    buckets: BucketStore

    async def charge(self, principal: Principal, cost: int) -> Balance | None:
        """What is left to a caller after a cost, which may not be granted; None where the caller has no limit.

        CostTooHigh where it can never be granted.
        """
        scopes = rate_limit_scopes(principal, self.limits)
        if not scopes:
            return None
        max_cost = min(scope.allowance.capacity for scope in scopes)
        if cost > max_cost:
            raise CostTooHigh(f"this costs {cost:,}, and a request may cost {max_cost:,}: ask for less at once")
        balance = await self.buckets.spend(scopes, cost)
        if not balance.granted:
            RATE_LIMIT_REJECTIONS.labels(balance.policy).inc()
        return balance


UNLIMITED_BUDGETS = Budgets(NO_LIMITS, LocalBucketStore())
"""Where nobody counts."""


def rate_limited_error(balance: Balance) -> RateLimited:
    """The error that says that a budget is spent."""
    return RateLimited(
        f"this costs {balance.cost:,}, and {balance.remaining:,} of {balance.limit:,} are left of the budget "
        f"{balance.policy!r}: again in {balance.retry_after} s",
        retry_after=balance.retry_after,
    )


def rate_limit_headers(balance: Balance | None) -> Mapping[str, str]:
    """A balance as headers: RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11.

    Their quota unit is cost. `t` is not later than Retry-After where a request is refused (section 6).
    """
    if balance is None:
        return {}
    time = balance.reset if balance.granted else balance.retry_after
    return {
        "RateLimit-Policy": f'"{balance.policy}";q={balance.limit};w={balance.window}',
        "RateLimit": f'"{balance.policy}";r={balance.remaining};t={time}',
    }
