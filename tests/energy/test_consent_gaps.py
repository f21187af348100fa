"""Consent gaps: changes of a consent give the periods without it, against a model that asks each instant."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.energy.consent_gaps import (
    ALL_TIME,
    MAX_GAPS,
    ConsentGap,
    StorageBounds,
    find_gap,
    find_without_consent,
    gaps_after_grant,
    gaps_after_renewal,
    gaps_after_revocation,
    gaps_within,
    last_gap_end,
)

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(1, 20), st.integers(1, 60)), max_size=12)


@given(CHANGES)
def test_gaps_are_the_instants_at_which_the_consent_was_not_valid(changes: list[tuple[bool, int, int]]) -> None:
    now, until, revoked_at = 0, 40, None
    gaps = gaps_after_grant(until)
    valid = set(range(until))
    for is_renewal, pause, period in changes:
        now += pause
        if is_renewal:
            ends = until if revoked_at is None else min(until, revoked_at)
            valid -= set(range(ends, now))
            until, revoked_at = now + period, None
            valid = {at for at in valid if at < now} | set(range(now, until))
            gaps = gaps_after_renewal(gaps, now, until)
        else:
            revoked_at = now if revoked_at is None else revoked_at
            valid = {at for at in valid if at < now}
            gaps = gaps_after_revocation(gaps, now)
    assert {at for at in range(400) if find_gap(gaps, at) is None} == valid
    assert gaps[-1].stop is None
    assert all(one.stop is not None and one.stop <= other.start for one, other in pairwise(gaps))


def test_many_gaps_become_fewer_and_never_allow_more() -> None:
    gaps = gaps_after_grant(1_000_000)
    for n in range(3 * MAX_GAPS):
        gaps = gaps_after_renewal(gaps_after_revocation(gaps, 10 * n), 10 * n + 5, 1_000_000)
    assert len(gaps) == MAX_GAPS
    assert all(find_gap(gaps, 10 * n + 2) is not None for n in range(3 * MAX_GAPS))
    assert find_gap(gaps, 30 * MAX_GAPS - 3) is None


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(0, 10, []), (0, 25, [(10, 20)]), (15, 18, [(15, 18)]), (20, 30, []), (5, 50, [(10, 20), (40, 50)])],
)
def test_gaps_within_a_span(start: int, stop: int, expected: list[tuple[int, int]]) -> None:
    assert gaps_within((ConsentGap(10, 20), ConsentGap(40)), start, stop) == expected


def test_last_gap_end_ignores_gaps_that_have_not_ended() -> None:
    gaps = (ConsentGap(10, 20), ConsentGap(40, 50), ConsentGap(60))
    assert [last_gap_end(gaps, now) for now in (15, 20, 45, 99)] == [None, 20, 20, 50]


def test_mask_selects_the_instants_of_each_resource() -> None:
    bounds = [StorageBounds(0, ()), StorageBounds(0, (ConsentGap(10, 20), ConsentGap(40))), StorageBounds(0, ALL_TIME)]
    index, at = np.array([0, 1, 1, 1, 1, 1, 2]), np.array([15, 9, 10, 19, 20, 40, 0])
    found = find_without_consent(bounds, index, at)
    assert found is not None
    assert found.tolist() == [False, False, True, True, False, True, True]
    assert find_without_consent(bounds[:1], index[:1], at[:1]) is None
