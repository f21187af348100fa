"""Whose budgets a request is charged to."""

import math
from dataclasses import dataclass

from wattgate.principal import Principal, Role

LOG_INS = 4
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

    def times(self, factor: float) -> "Allowance":
        """So many times as much, in the same time."""
        return Allowance(max(1, int(self.capacity * factor)), self.per_second * factor)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a caller, and all callers of an application together, may spend. None sets no limit."""

    caller: Allowance | None
    application: Allowance | None


NO_LIMITS = Terms(None, None)


@dataclass(frozen=True, slots=True)
class Payer:
    """A bucket that is charged. `policy` says in a word whose it is; what stands in braces is the application."""

    policy: str
    key: str
    allowance: Allowance


def payers_of(principal: Principal, terms: Terms) -> tuple[Payer, ...]:
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
            own = [("anonymous", "", terms.application)]
            shared = None
        case Role.APPLICATION if principal.user_id:
            own = [("user", principal.user_id, terms.caller)]
            shared = terms.application
        case Role.APPLICATION:
            own = [("credential", "", _times(terms.application, 0.5))]
            shared = terms.application
        case _:
            own = [
                ("login", principal.token_id or f"password:{principal.account_id}", terms.caller),
                ("account", principal.account_id, _times(terms.caller, LOG_INS)),
            ]
            shared = terms.application
    application = f"{{{principal.application_id or NO_APPLICATION}}}"
    return tuple(
        Payer(policy, f"{application}:{policy}:{who}", allowance)
        for policy, who, allowance in (*own, ("application", "", shared))
        if allowance is not None
    )


def _times(allowance: Allowance | None, factor: float) -> Allowance | None:
    return None if allowance is None else allowance.times(factor)
