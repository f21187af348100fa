"""Principals of tokens and verified passwords, remembered for a few seconds: not every request looks up or hashes.

A remembered principal is valid for `REMEMBERED_SECONDS` from the start of its look-up. It is forgotten at once when the
credentials of anybody change: in this process before the transaction of the change has returned
(`db.credential_changes`), and in other processes when the bus delivers the change. While the bus cannot deliver it,
nothing is remembered. Only the look-up is saved: permissions, budgets and the end of the token are checked as ever.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from wattgate.principal import Principal

REMEMBERED_SECONDS = 5.0
"""Time after which a token is looked up again. The end of a credential takes effect within this time, on any path."""

MAX_REMEMBERED_TOKENS = 10_000
"""The maximum number of tokens. When it is reached, all are forgotten, because most of them have expired."""


def _hears_nothing() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LookupStart:
    """The state when a look-up began: the number of changes known by then, and the time."""

    change_count: int
    at: float


class RememberedTokens:
    """Principals by the digest of their token.

    `hears_changes` returns whether changes by other processes arrive at the moment. `time` returns seconds of a
    monotonic clock.
    """

    def __init__(
        self, hears_changes: Callable[[], bool] = _hears_nothing, time: Callable[[], float] = monotonic
    ) -> None:
        self.hears_changes = hears_changes
        self._time = time
        self._principals: dict[bytes, tuple[Principal, float]] = {}
        self._change_count = 0

    def get(self, digest: bytes, now: datetime) -> Principal | None:
        """Return the principal of a credential that has not expired `now`; None if it must be looked up.

        A password has no expiry.
        """
        remembered = self._principals.get(digest)
        if remembered is None:
            return None
        if not self.hears_changes():
            self.forget()
            return None
        principal, until = remembered
        expires_at = principal.expires_at
        if self._time() >= until or (expires_at is not None and expires_at <= now):
            del self._principals[digest]
            return None
        return principal

    def begin_lookup(self) -> LookupStart:
        return LookupStart(self._change_count, self._time())

    def put(self, digest: bytes, principal: Principal, started: LookupStart) -> None:
        """Remember the result of a look-up, unless credentials have changed since it began."""
        if not self.is_current(started) or not self.hears_changes():
            return
        if len(self._principals) >= MAX_REMEMBERED_TOKENS:
            self._principals.clear()
        self._principals[digest] = principal, started.at + REMEMBERED_SECONDS

    def is_current(self, started: LookupStart) -> bool:
        """Return whether no credentials have changed since a look-up began."""
        return started.change_count == self._change_count

    def forget_one(self, digest: bytes) -> None:
        """Forget a token whose end has moved to a later time."""
        self._principals.pop(digest, None)

    def forget(self) -> None:
        """Forget all tokens, because credentials have changed. Look-ups that have begun are not remembered."""
        self._change_count += 1
        self._principals.clear()
