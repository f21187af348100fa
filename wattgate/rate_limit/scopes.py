"""Rate limit scopes: the budgets to which a request is charged."""

import math
from functools import lru_cache

import msgspec

from wattgate.principal import Principal, Role

ACCOUNT_LOGIN_FACTOR = 4
"""The budget of an account, as a multiple of that of one login. A runaway login leaves enough for the others."""

NO_APPLICATION = ""


class Allowance(msgspec.Struct, frozen=True, gc=False):
    """The capacity of a bucket, and its refill per second."""

    capacity: int
    per_second: float

    @property
    def window(self) -> int:
        """The whole seconds in which an empty bucket refills."""
        return max(1, math.ceil(self.capacity / self.per_second - 1e-6))

    def scaled_by(self, factor: float) -> "Allowance":
        """Return an allowance with `factor` times the capacity and refill, and the same window."""
        return Allowance(max(1, int(self.capacity * factor)), self.per_second * factor)


class BudgetLimits(msgspec.Struct, frozen=True, gc=False):
    """The allowance of one caller, and of all callers of an application together. None means no limit."""

    caller: Allowance | None
    application: Allowance | None

    @property
    def is_unlimited(self) -> bool:
        """Whether no caller has a limit."""
        return self.caller is None and self.application is None


NO_LIMITS = BudgetLimits(None, None)


class RateLimitScope(msgspec.Struct, frozen=True, gc=False):
    """A bucket to charge.

    `policy` names the kind of scope. `key` identifies the bucket. It starts with the application in braces, the hash
    tag of a Redis cluster.
    """

    policy: str
    key: str
    allowance: Allowance


def rate_limit_scopes(principal: Principal, limits: BudgetLimits) -> tuple[RateLimitScope, ...]:
    """Return the scopes that a request is charged to, the narrowest first. Requests of the gateway itself have none.

    Each login of an account has a bucket, so that a display does not use up the budget of a phone. The account and the
    application have buckets too. Anonymous callers share one bucket for each application, separate from that of the
    application: a flood of anonymous requests takes nothing from authenticated callers.
    """
    return _scopes_of(
        principal.role, principal.application_id, principal.user_id, principal.account_id, principal.token_id, limits
    )


@lru_cache(maxsize=4096)
def _scopes_of(
    role: Role,
    application_id: str | None,
    user_id: str | None,
    account_id: str | None,
    token_id: str | None,
    limits: BudgetLimits,
) -> tuple[RateLimitScope, ...]:
    """Return the scopes of a caller. They are kept, because a caller sends many requests."""
    match role:
        case Role.SYSTEM:
            own: list[tuple[str, str | None, Allowance | None]] = []
            shared = None
        case Role.ANONYMOUS:
            own = [("anonymous", "", limits.application)]
            shared = None
        case Role.APPLICATION if user_id:
            own = [("user", user_id, limits.caller)]
            shared = limits.application
        case Role.APPLICATION:
            own = [("credential", "", _scale(limits.application, 0.5))]
            shared = limits.application
        case _:
            own = [
                ("login", token_id or f"password:{account_id}", limits.caller),
                ("account", account_id, _scale(limits.caller, ACCOUNT_LOGIN_FACTOR)),
            ]
            shared = limits.application
    application = f"{{{application_id or NO_APPLICATION}}}"
    scopes = [
        RateLimitScope(policy, f"{application}:{policy}:{owner}", allowance)
        for policy, owner, allowance in own
        if allowance is not None
    ]
    if shared is not None:
        scopes.append(RateLimitScope("application", f"{application}:application:", shared))
    return tuple(scopes)


@lru_cache(maxsize=64)
def _scale(allowance: Allowance | None, factor: float) -> Allowance | None:
    return None if allowance is None else allowance.scaled_by(factor)
