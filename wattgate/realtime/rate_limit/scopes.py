"""Whose budgets a request is charged to."""

import math
from dataclasses import dataclass

from wattgate.principal import Principal, Role

ACCOUNT_LOGIN_FACTOR = 4
"""An account has as much as so many of its log-ins: one that runs wild leaves enough to the others."""

NO_APPLICATION = ""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a bucket holds, and how much flows into it per second."""

    capacity: int
    per_second: float

    @property
    def window(self) -> int:
        """In how many whole seconds an empty bucket is full."""
        return max(1, math.ceil(self.capacity / self.per_second - 1e-6))

    def scaled_by(self, factor: float) -> "Allowance":
        """So many times as much, in the same time."""
        return Allowance(max(1, int(self.capacity * factor)), self.per_second * factor)


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What a caller, and all callers of an application together, may spend. None sets no limit."""

    caller: Allowance | None
    application: Allowance | None


NO_LIMITS = BudgetLimits(None, None)


@dataclass(frozen=True, slots=True)
class RateLimitScope:
    """A bucket that is charged. `policy` says in a word whose it is; what stands in braces is the application."""

    policy: str
    key: str
    allowance: Allowance


def rate_limit_scopes(principal: Principal, limits: BudgetLimits) -> tuple[RateLimitScope, ...]:
    """Who pays for a request, the caller itself first; nobody for what the gateway does of itself.

    Each log-in of an account has a bucket, so that a display leaves the phone's alone; above them are that of the
    account and that of the application. Callers without credentials share one for each application, apart from it:
    a flood of them takes nothing from those who have shown who they are.
    """
    match principal.role:
        case Role.SYSTEM:
            own: list[tuple[str, str | None, Allowance | None]] = []
            shared = None
        case Role.ANONYMOUS:
            own = [("anonymous", "", limits.application)]
            shared = None
        case Role.APPLICATION if principal.user_id:
            own = [("user", principal.user_id, limits.caller)]
            shared = limits.application
        case Role.APPLICATION:
            own = [("credential", "", _scale(limits.application, 0.5))]
            shared = limits.application
        case _:
            own = [
                ("login", principal.token_id or f"password:{principal.account_id}", limits.caller),
                ("account", principal.account_id, _scale(limits.caller, ACCOUNT_LOGIN_FACTOR)),
            ]
            shared = limits.application
    application = f"{{{principal.application_id or NO_APPLICATION}}}"
    return tuple(
        RateLimitScope(policy, f"{application}:{policy}:{owner}", allowance)
        for policy, owner, allowance in (*own, ("application", "", shared))
        if allowance is not None
    )


def _scale(allowance: Allowance | None, factor: float) -> Allowance | None:
    return None if allowance is None else allowance.scaled_by(factor)
