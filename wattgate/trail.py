"""What the log says of callers: who they are, and what they were refused. Never what they showed for it."""

import logging
from contextvars import ContextVar

from wattgate.errors import ConsentRevoked, Forbidden, GatewayError, RateLimited, Unauthenticated
from wattgate.principal import Principal

log = logging.getLogger(__name__)

CALLER: ContextVar[Principal | None] = ContextVar("caller", default=None)
"""Who asks for what this task does; None where nobody does, or where that is not known yet."""

REFUSALS = (Unauthenticated, Forbidden, ConsentRevoked, RateLimited)
"""What is refused because of who asks, and not because of what is asked for."""


def refused(error: GatewayError) -> None:
    """Log an error that a caller is told, if it is a refusal."""
    if isinstance(error, REFUSALS):
        level = logging.WARNING if isinstance(error, RateLimited) else logging.INFO
        log.log(level, "refused with %s: %s", error.code, error.message)


def actor(caller: Principal) -> str:
    """Who a caller is, by the record that it stands for, such as `account:ID`."""
    return f"account:{caller.account_id}" if caller.account_id else caller.role.value
