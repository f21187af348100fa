"""By what a request is known in the log, and what the log says of callers: who they are, and what they were refused.
Never what they showed for it."""

import logging
import re
import secrets
from contextvars import ContextVar

from wattgate.errors import ConsentRevoked, Forbidden, GatewayError, RateLimited, Unauthenticated
from wattgate.principal import Principal

log = logging.getLogger(__name__)

CALLER: ContextVar[Principal | None] = ContextVar("caller", default=None)
"""Who asks for what this task does; None where nobody does, or where that is not known yet."""

_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

REFUSALS = (Unauthenticated, Forbidden, ConsentRevoked, RateLimited)
"""What is refused because of who asks, and not because of what is asked for."""


def new_trace_id() -> str:
    """A trace id that nobody has. All of its bits are random, because tracing systems draw their samples by them."""
    return secrets.token_hex(16)


def traced_as(traceparent: str) -> str | None:
    """The trace id of a header of W3C Trace Context, by which the caller knows the request; None where it is none."""
    found = _TRACEPARENT.fullmatch(traceparent.strip())
    if found is None or (found[1] == "00" and found[3]):
        return None
    return found[2]


def refused(error: GatewayError) -> None:
    """Log an error that a caller is told, if it is a refusal."""
    if isinstance(error, REFUSALS):
        level = logging.WARNING if isinstance(error, RateLimited) else logging.INFO
        log.log(level, "refused with %s: %s", error.code, error.message)


def actor(caller: Principal) -> str:
    """Who a caller is, by the record that it stands for, such as `account:ID`."""
    return f"account:{caller.account_id}" if caller.account_id else caller.role.value
