"""The time in which a household has a resource: it lives at the meter point then. No I/O.

Standing charges, expected samples and the pace of a period grow with time, so they belong to this time alone. Energy
needs no such bound, because readings are bounded when they are stored. Instants are in milliseconds since 1970, UTC.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wattgate.energy.storage_fields import ReadingField

NO_START, NO_END = -(2**62), 2**62


class Tenancy(NamedTuple):
    """The time [began_at, ended_at) in which the owner of a resource lives at its meter point.

    `ended_at` is NO_END while the owner lives there. `changed_at` is when the gateway recorded the last change of it.
    """

    began_at: int
    ended_at: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """The spans [start, stop) in which a household has a resource, in order. They do not overlap."""

    spans: tuple[tuple[int, int], ...]

    def contains(self, at: int) -> bool:
        """Return whether the household has the resource at an instant."""
        return any(start <= at < stop for start, stop in self.spans)

    def covers(self, start: int, stop: int) -> bool:
        """Return whether the household has the resource in all of [start, stop)."""
        return any(first <= start and stop <= end for first, end in self.spans)

    def within(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the parts of the spans in [start, stop)."""
        bounded = ((max(first, start), min(end, stop)) for first, end in self.spans)
        return [(first, end) for first, end in bounded if first < end]

    def without(self, others: Iterable[tuple[int, int]]) -> "Ownership":
        """Return the spans without the parts that lie in other spans."""
        left = self.spans
        for first, end in others:
            parts = [part for start, stop in left for part in ((start, min(stop, first)), (max(start, end), stop))]
            left = tuple((start, stop) for start, stop in parts if start < stop)
        return Ownership(left)

    def expected_samples(self, field: ReadingField, start: int, stop: int) -> int | None:
        """Return the number of samples of regular sampling in the parts of [start, stop); None if it is irregular."""
        counts = [field.expected_samples(*part) for part in self.within(start, stop)]
        known = [count for count in counts if count is not None]
        return None if field.interval_ms is None else sum(known)

    def limit_expected(self, counts: list[int], field: ReadingField, edges: Sequence[int]) -> list[int]:
        """Return the expected samples of buckets, from those of a household that has the resource at all times.

        `edges` are those of the buckets. The sampling of the field is regular.
        """
        if self.covers(edges[0], edges[-1]):
            return counts
        limited = [0] * len(counts)
        for start, stop in self.within(edges[0], edges[-1]):
            first, last = bisect_right(edges, start) - 1, bisect_left(edges, stop) - 1
            limited[first + 1 : last] = counts[first + 1 : last]
            for position in (first, last):
                limited[position] = self.expected_samples(field, edges[position], edges[position + 1]) or 0
        return limited


ALWAYS = Ownership(((NO_START, NO_END),))
"""The ownership of a resource that no other household had before, and none has had since."""


def find_ownership(tenancies: Iterable[Tenancy], created_at: int, owned_from: int | None) -> Ownership:
    """Return when a household has a resource, from all its tenancies at the meter point.

    `owned_from` is the start of the last tenancy in which the resource was open. None is the first tenancy of the
    household, before which no other household is known, so that its recorded start does not count. A household that
    comes back can open the resource again or add another one, which `created_at` tells apart: the resource is of no
    tenancy that had ended before it was added. An end that is reported late is recorded after that. Without tenancies,
    the household has the resource from `owned_from` on.
    """
    ordered = sorted(tenancies)
    start = NO_START if owned_from is None else owned_from
    if owned_from is None and ordered:
        ordered = [ordered[0]._replace(began_at=NO_START)]
    spans = tuple(
        (each.began_at, each.ended_at)
        for each in ordered
        if each.began_at <= start and (each.ended_at == NO_END or each.changed_at >= created_at)
    )
    return Ownership(spans or ((start, NO_END),))
