"""Consent gaps: the periods in which the consent of a household for its meter point is not valid. No I/O.

Instants are in milliseconds since 1970, UTC. The gaps of a consent are in order, do not overlap, and the last one has
no end: it begins when the consent expires, or when it was revoked. The first consent covers the time before it, so that
a household sees its history. A renewal covers no time before it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from wattgate.energy.arrays import BoolArray, IntArray

MAX_GAPS = 64
"""Maximum gaps of a consent. Above it, the two oldest become one, with the consented time between them."""


class ConsentGap(msgspec.Struct, frozen=True, array_like=True):
    """A period without valid consent, [start, stop). It has no end if `stop` is None."""

    start: int
    stop: int | None = None

    def contains(self, at: int) -> bool:
        """Return whether an instant lies in the gap."""
        return self.start <= at and (self.stop is None or at < self.stop)


ConsentGaps = tuple[ConsentGap, ...]

ALL_TIME: ConsentGaps = (ConsentGap(-(2**62)),)
"""The gap of a meter point without a recorded consent."""


def gaps_after_grant(until: int) -> ConsentGaps:
    """Return the gaps of a first consent that is valid until an instant."""
    return (ConsentGap(until),)


def gaps_after_renewal(gaps: ConsentGaps, now: int, until: int) -> ConsentGaps:
    """Return the gaps of a consent that is renewed now, until an instant."""
    past = [ConsentGap(gap.start, min(gap.stop or now, now)) for gap in gaps if gap.start < now]
    return _limited((*past, ConsentGap(until)))


def gaps_after_revocation(gaps: ConsentGaps, now: int) -> ConsentGaps:
    """Return the gaps of a consent that is revoked now. One that has expired before, or was revoked, stays so."""
    *past, last = gaps
    return (*past, ConsentGap(min(last.start, now)))


def find_gap(gaps: ConsentGaps, at: int) -> ConsentGap | None:
    """Return the gap that contains an instant, or None."""
    return next((gap for gap in gaps if gap.contains(at)), None)


def gaps_within(gaps: ConsentGaps, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the parts of gaps in [start, stop), each with its start and its end."""
    bounded = ((max(gap.start, start), stop if gap.stop is None else min(gap.stop, stop)) for gap in gaps)
    return [(first, end) for first, end in bounded if first < end]


def last_gap_end(gaps: ConsentGaps, now: int) -> int | None:
    """Return when the last gap that has ended by now ended, or None."""
    return max((gap.stop for gap in gaps if gap.stop is not None and gap.stop <= now), default=None)


class StorageBounds(NamedTuple):
    """When readings of a resource may be stored: from `since` on, except in the gaps of the consent.

    `since` is when the owner's household moved in at the meter point; 0 if no other one is known there. `gaps` has only
    the gaps that have begun.
    """

    since: int
    gaps: ConsentGaps

    def is_without_consent(self, at: int) -> bool:
        """Return whether an instant lies in a gap of the consent."""
        return find_gap(self.gaps, at) is not None

    def held_since(self, since: int) -> "StorageBounds":
        """Return the bounds of a device that its owner has since an instant."""
        return self if since <= self.since else self._replace(since=since)


def find_without_consent(bounds: Sequence[StorageBounds], index: IntArray, at: IntArray) -> BoolArray | None:
    """Return a mask of the instants in gaps of the consents; None if no resource has a gap, which is usual.

    `index` is the position of the bounds of each instant.
    """
    found: BoolArray | None = None
    for position, gap in _all_gaps(bounds):
        in_gap = (index == position) & (at >= gap.start)
        if gap.stop is not None:
            in_gap &= at < gap.stop
        found = in_gap if found is None else found | in_gap
    return found


def _all_gaps(bounds: Sequence[StorageBounds]) -> Iterator[tuple[int, ConsentGap]]:
    return ((position, gap) for position, each in enumerate(bounds) for gap in each.gaps)


def _limited(gaps: ConsentGaps) -> ConsentGaps:
    """Return at most MAX_GAPS gaps. More time than before may be without consent, but never less."""
    excess = len(gaps) - MAX_GAPS
    return gaps if excess <= 0 else (ConsentGap(gaps[0].start, gaps[excess].stop), *gaps[excess + 1 :])
