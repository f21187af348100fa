"""What callers may spend: token buckets, which requests empty by what they cost and time fills."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wattgate.clock import Clock, utc_now
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.metrics import BUDGET_REFUSALS
from wattgate.principal import Principal
from wattgate.realtime.rate_limit.scopes import NO_LIMITS, Allowance, Payer, Terms, payers_of

MOST_BUCKETS = 100_000
"""How many buckets a process keeps; of more, the one that was drawn from longest ago is forgotten, and so full."""

AT_ONCE = 8
"""How many full buckets are forgotten with one spending: more than it adds."""

TINY = 1e-6
"""What is less than this is an error of rounding. Costs are whole."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """How much was missing in a bucket at an instant, in seconds since 1970. A bucket nobody knows is full."""

    missing: float
    at: float


FULL = Bucket(0.0, 0.0)


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


def spend(buckets: Sequence[Bucket], payers: Sequence[Payer], cost: int, now: float) -> tuple[bool, tuple[Bucket, ...]]:
    """Whether every payer's bucket holds the cost, and the buckets after that: each is charged, or none."""
    missing = [_missing(bucket, payer.allowance, now) for bucket, payer in zip(buckets, payers, strict=True)]
    granted = all(one + cost <= payer.allowance.capacity + TINY for one, payer in zip(missing, payers, strict=True))
    charged = cost if granted else 0
    return granted, tuple(Bucket(one + charged, now) for one in missing)


def _missing(bucket: Bucket, allowance: Allowance, now: float) -> float:
    """What is missing now. While a clock is put back, nothing flows in."""
    return max(0.0, bucket.missing - max(0.0, now - bucket.at) * allowance.per_second)


def balance(payers: Sequence[Payer], missing: Sequence[float], cost: int, *, granted: bool) -> Balance:
    """What a caller is told: how its own bucket stands; where that was refused, the one that takes longest to grant."""
    if granted:
        return _balance(payers[0], missing[0], cost, granted)
    told = [_balance(payer, one, cost, granted) for payer, one in zip(payers, missing, strict=True)]
    return max(told, key=lambda one: one.retry_after)


def _balance(payer: Payer, missing: float, cost: int, granted: bool) -> Balance:
    allowance = payer.allowance
    lacking = 0.0 if granted else missing + cost - allowance.capacity
    return Balance(
        granted=granted,
        cost=cost,
        remaining=max(0, math.floor(allowance.capacity - missing + TINY)),
        reset=_whole_seconds(missing / allowance.per_second),
        retry_after=_whole_seconds(lacking / allowance.per_second),
        limit=allowance.capacity,
        window=allowance.window,
        policy=payer.policy,
    )


def _whole_seconds(seconds: float) -> int:
    return max(0, math.ceil(seconds - TINY))


class Buckets(Protocol):
    """Where buckets are kept."""

    async def spend(self, payers: Sequence[Payer], cost: int) -> Balance:
        """Ask all of these payers for a cost: each is charged, or none."""


class LocalBuckets:
    """The buckets of a single process."""

    def __init__(self, clock: Clock = utc_now, *, most: int = MOST_BUCKETS) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[str, tuple[Bucket, float]] = OrderedDict()
        """Buckets and the instants at which they are full, those that were drawn from last at the end."""

    def __len__(self) -> int:
        return len(self._kept)

    async def spend(self, payers: Sequence[Payer], cost: int) -> Balance:
        now = self._clock().timestamp()
        kept = [self._kept[payer.key][0] if payer.key in self._kept else FULL for payer in payers]
        granted, buckets = spend(kept, payers, cost, now)
        for payer, bucket in zip(payers, buckets, strict=True):
            self._kept[payer.key] = bucket, now + bucket.missing / payer.allowance.per_second
            self._kept.move_to_end(payer.key)
        self._forget(now)
        return balance(payers, [bucket.missing for bucket in buckets], cost, granted=granted)

    def _forget(self, now: float) -> None:
        """Forget buckets that are full again, and the oldest where there are too many."""
        for _ in range(AT_ONCE):
            if not self._kept or next(iter(self._kept.values()))[1] > now:
                break
            self._kept.popitem(last=False)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Charges callers for what they ask."""

    terms: Terms
    buckets: Buckets

    async def charge(self, principal: Principal, cost: int) -> Balance | None:
        """What is left to a caller after a cost, which may not be granted; None where the caller has no limit.

        CostTooHigh where it can never be granted.
        """
        payers = payers_of(principal, self.terms)
        if not payers:
            return None
        most = min(payer.allowance.capacity for payer in payers)
        if cost > most:
            raise CostTooHigh(f"this costs {cost:,}, and a request may cost {most:,}: ask for less at once")
        told = await self.buckets.spend(payers, cost)
        if not told.granted:
            BUDGET_REFUSALS.labels(told.policy).inc()
        return told


UNLIMITED = Budgets(NO_LIMITS, LocalBuckets())
"""Where nobody counts."""


def spent(told: Balance) -> RateLimited:
    """The error that says that a budget is spent."""
    return RateLimited(
        f"this costs {told.cost:,}, and {told.remaining:,} of {told.limit:,} are left of the budget "
        f"{told.policy!r}: again in {told.retry_after} s",
        retry_after=told.retry_after,
    )


def rate_limit_headers(told: Balance | None) -> Mapping[str, str]:
    """A balance as headers: RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11.

    Their quota unit is cost. `t` is not later than Retry-After where a request is refused (section 6).
    """
    if told is None:
        return {}
    time = told.reset if told.granted else told.retry_after
    return {
        "RateLimit-Policy": f'"{told.policy}";q={told.limit};w={told.window}',
        "RateLimit": f'"{told.policy}";r={told.remaining};t={time}',
    }
