"""Withdrawals of readings: which buckets they change, and what a resource keeps of many."""

from hypothesis import given
from hypothesis import strategies as st

from wattgate.energy.withdrawals import ALWAYS, MAX_WITHDRAWALS, Withdrawal, Withdrawals, with_withdrawal

EDGES = list(range(0, 1010, 10))
INSTANTS = st.integers(-20, 1020)


def changed(withdrawals: Withdrawals, since: int, field: int) -> set[int]:
    """Return the buckets that a client learns of, who knows those of `since`."""
    newer = (each for each in withdrawals if each.withdrawn_at > since and each.first_field <= field)
    return {position for each in newer for position in each.positions(EDGES)}


def test_a_withdrawal_changes_the_buckets_that_overlap_its_span() -> None:
    positions = {
        (10, 20): range(1, 2),
        (9, 11): range(2),
        (10, 11): range(1, 2),
        (19, 20): range(1, 2),
        (-50, 0): range(0),
        (-50, 1): range(1),
        (1000, 2000): range(100, 100),
        (995, 2000): range(99, 100),
        (995, None): range(99, 100),
        (ALWAYS, None): range(100),
    }
    found = {(start, stop): Withdrawal(0, start, stop, 1).positions(EDGES) for start, stop in positions}
    assert {span: list(found[span]) for span in found} == {span: list(positions[span]) for span in positions}


@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(ALWAYS), INSTANTS), st.one_of(st.none(), INSTANTS), st.integers(1, 9), st.integers(0, 2)
        ),
        max_size=3 * MAX_WITHDRAWALS,
    ),
    st.integers(0, 3 * MAX_WITHDRAWALS),
)
def test_a_resource_keeps_few_withdrawals_and_no_client_misses_one(
    spans: list[tuple[int, int | None, int, int]], since: int
) -> None:
    exact, kept = tuple[Withdrawal, ...](), tuple[Withdrawal, ...]()
    for number, (start, stop, revisions, first_field) in enumerate(spans, 1):
        added = Withdrawal(number, start, stop, revisions, first_field)
        before, kept = kept, with_withdrawal(kept, added)
        exact = (*exact, added)
        assert len(kept) <= MAX_WITHDRAWALS
        for field in range(3):
            assert changed(exact, since, field) <= changed(kept, since, field)
            for position in range(0, 100, 9):
                revision = [
                    sum(
                        each.revisions
                        for each in known
                        if each.first_field <= field and position in each.positions(EDGES)
                    )
                    for known in (before, kept)
                ]
                assert revision[0] <= revision[1]
