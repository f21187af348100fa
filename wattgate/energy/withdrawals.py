"""Withdrawals: the spans of a resource whose readings were deleted after they were stored. No I/O.

Instants are in milliseconds since 1970, UTC. With them, a query of changed buckets also finds those that became empty
or smaller, because a deleted reading has no time of receipt any more.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

MAX_WITHDRAWALS = 32
"""Maximum withdrawals of a resource. Above it, the two oldest become one, with the time between them."""

ALWAYS = -(2**52)
"""An instant (ms) before every reading. Stored JSON has no integers beyond 2^53."""


class Withdrawal(msgspec.Struct, frozen=True, array_like=True):
    """Readings in [start, stop) that were deleted at `withdrawn_at`, of the fields from `first_field` on.

    It has no end if `stop` is None. `revisions` is added to the revision of each bucket in the span. It is more than
    the revisions of all deleted readings, so that the revision of a bucket never decreases.
    """

    withdrawn_at: int
    start: int
    stop: int | None
    revisions: int
    first_field: int = 0

    def positions(self, edges: Sequence[int]) -> range:
        """Return the positions of the buckets that overlap the span. `edges` are those of a grid."""
        first = max(bisect_right(edges, self.start) - 1, 0)
        last = len(edges) - 1 if self.stop is None else min(bisect_left(edges, self.stop), len(edges) - 1)
        return range(first, last)


Withdrawals = tuple[Withdrawal, ...]


def with_withdrawal(withdrawals: Withdrawals, added: Withdrawal) -> Withdrawals:
    """Return withdrawals with another one, the newest last. One of all time replaces those that it covers."""
    if added.start == ALWAYS and added.stop is None:
        covered = [each for each in withdrawals if each.first_field >= added.first_field]
        total = added.revisions + sum(each.revisions for each in covered)
        kept = (each for each in withdrawals if each.first_field < added.first_field)
        return (*kept, msgspec.structs.replace(added, revisions=total))
    if len(withdrawals) < MAX_WITHDRAWALS:
        return (*withdrawals, added)
    oldest, second, *newer = withdrawals
    return (_merged(oldest, second), *newer, added)


def _merged(older: Withdrawal, newer: Withdrawal) -> Withdrawal:
    """Return one withdrawal for two. More buckets than before may have changed, and never fewer."""
    ends = [each.stop for each in (older, newer) if each.stop is not None]
    return Withdrawal(
        newer.withdrawn_at,
        min(older.start, newer.start),
        max(ends) if len(ends) == 2 else None,
        older.revisions + newer.revisions,
        min(older.first_field, newer.first_field),
    )
