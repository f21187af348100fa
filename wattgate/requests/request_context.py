"""Trace ids, and log records about callers and their rejected requests. Credentials are never logged.

A record of a rejected request is a security event. It has the attribute `client_address`, and the log counts further
records of one kind and address instead of writing them.
"""

import logging
import random
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from wattgate.errors import (
    BadInput,
    Conflict,
    ConsentRevoked,
    Forbidden,
    GatewayError,
    NotFound,
    NotSupported,
    RateLimited,
    Unauthenticated,
)
from wattgate.principal import Principal
from wattgate.requests.client import current_client

log = logging.getLogger(__name__)

CURRENT_PRINCIPAL: ContextVar[Principal | None] = ContextVar("caller", default=None)
"""The caller of the current task; None if there is none, or if it is not authenticated yet."""

_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

ACCESS_ERRORS = (Unauthenticated, Forbidden, ConsentRevoked, RateLimited)
"""Errors that depend on the caller, not on the content of the request."""


REQUEST_ERRORS = (BadInput, NotFound, NotSupported, Conflict)
"""Errors that depend on the content of the request."""

MAX_LOGGED, MAX_LOGGED_CHARACTERS = 5, 60
"""Maximum paths of problems in a log record, and characters of each."""


def new_trace_id() -> str:
    """Return a new trace id. All its bits are random, because tracing systems use them to choose samples.

    It is no secret, so it takes no random bytes of the operating system: that system call takes 4 µs of each request.
    """
    return f"{random.getrandbits(128) or 1:032x}"


def parse_traceparent(traceparent: str) -> str | None:
    """Return the trace id of a `traceparent` header (W3C Trace Context); None if the header is invalid."""
    match = _TRACEPARENT.fullmatch(traceparent.strip())
    if match is None or (match[1] == "00" and match[3]):
        return None
    return match[2]


def log_access_error(error: GatewayError) -> None:
    """Log an error response, if it is one of ACCESS_ERRORS or REQUEST_ERRORS, under the trace ID of the response.

    The message of an error that depends on the content is left out, because it may quote personal data.
    """
    if isinstance(error, ACCESS_ERRORS):
        level = logging.WARNING if isinstance(error, RateLimited) else logging.INFO
        fields = client_fields(f"request rejected with {error.code}")
        log.log(level, "request rejected with %s: %s", error.code, error.message, extra=fields)
    elif isinstance(error, REQUEST_ERRORS):
        named = [".".join(map(str, problem.path))[:MAX_LOGGED_CHARACTERS] for problem in error.problems[:MAX_LOGGED]]
        fields = client_fields(f"request refused with {error.code}")
        log.info("request refused with %s %s", error.code, named, extra=fields)


def client_fields(kind: str, address: str | None = None) -> dict[str, str]:
    """Return the attributes of the record of a security event. Records of one kind and address are counted together.

    The address is that of the client of the current task, by the rules for trusted proxies, unless one is given.
    """
    return {"event_kind": kind, "client_address": address or current_client().host or "unknown"}


def format_actor(caller: Principal) -> str:
    """Return the identity of a caller for log records, such as `account:ID`, or its role."""
    return f"account:{caller.account_id}" if caller.account_id else caller.role.value


class WorkCharge(Protocol):
    """The charge of a running call for work above its estimate."""

    async def add_units(self, units: int) -> None:
        """Charge units before their work begins. Raise RateLimited or CostTooHigh if they are not granted."""

    async def add_done(self, units: int) -> None:
        """Charge units of work that is done, also above the remaining budget. Raise CostTooHigh above the maximum."""

    async def check_work(self) -> None:
        """Raise RateLimited or CostTooHigh if earlier work has used what the caller may use."""

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of work that is done, also above the remaining budget of the caller."""

    async def refund(self, units: int) -> None:
        """Return units of the estimate, because their work was refused before it began."""


@dataclass(frozen=True, slots=True)
class RepeatedHash:
    """The hash of the password in a request, which the same request pays again unless the password is remembered.

    `is_remembered` returns whether it still is after a number of seconds.
    """

    units: int
    is_remembered: Callable[[float], bool]


REPEATED_HASH: ContextVar[RepeatedHash | None] = ContextVar("repeated_hash", default=None)
"""The hash of the current request; None without a password, and on sockets, which authenticate once."""

REQUEST_COST: ContextVar[Callable[[], int] | None] = ContextVar("request_cost", default=None)
"""Returns what the current request costs besides the hash of its password, as far as the head of the request says."""


def known_request_cost() -> int:
    """Return what the current request costs besides a hash, as far as it is known; 0 without a request."""
    known = REQUEST_COST.get()
    return 0 if known is None else known()


NETWORK_SECONDS = 1
"""Time by which the next attempt may arrive later than the refusal states."""


def repeated_hash_units(wait: float) -> int:
    """Return the cost of the hash that the current request pays again after so many seconds; 0 if there is none."""
    repeated = REPEATED_HASH.get()
    return 0 if repeated is None or repeated.is_remembered(wait + NETWORK_SECONDS) else repeated.units
