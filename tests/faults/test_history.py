"""The checker itself: it finds what is planted, and nothing where nothing is wrong."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.history import (
    LATE,
    Came,
    Entry,
    Findings,
    Ledger,
    Left,
    Shown,
    Told,
    check_history,
    check_stored,
    count_lost,
)

ONE, OTHER = "one", "other"
BEGUN = datetime(2026, 11, 1, tzinfo=UTC)
COUNT = 20


def at(number: int) -> datetime:
    return BEGUN + timedelta(seconds=number)


@pytest.fixture
def ledger() -> Ledger:
    """Twenty readings of each of two resources, all acknowledged."""
    made = Ledger([ONE, OTHER])
    for resource_id in (ONE, OTHER):
        for number in range(COUNT):
            assert made.add(resource_id, at(number)) == number
            made.attempt(resource_id, number)
            made.acknowledge(resource_id, number)
    return made


def live(*numbers: int, resource_id: str = ONE) -> list[Entry]:
    return [Shown(resource_id, number, at(number), f"live-{number}") for number in numbers]


def filled(*numbers: int, stood: str = "") -> list[Entry]:
    """Readings from the database, the last of which has the new position."""
    return [Shown(ONE, one, at(one), "anew" if one == numbers[-1] else stood) for one in numbers]


def told(recovered: bool | None, position: str = "", *, when: datetime = BEGUN) -> list[Entry]:
    return [Came(0), Told(recovered, position, when)]


def check(ledger: Ledger, *entries: list[Entry], conflates: bool = False) -> Findings:
    history = [entry for some in entries for entry in some]
    return check_history("it", history, [ONE], ledger, conflates=conflates)


def test_a_whole_history_has_nothing_wrong(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(*range(COUNT)))
    assert found == Findings(shown=COUNT, connections=1)


def test_who_comes_late_begins_with_the_newest_reading(ledger: Ledger) -> None:
    found = check(ledger, told(None), filled(6), live(*range(7, COUNT)))
    assert (found.wrong, found.lost_as_told) == ([], 0)
    overlapping = check(ledger, told(None), filled(6), live(*range(5, COUNT)))
    assert overlapping.wrong == []


def test_who_comes_back_goes_on_without_a_gap(ledger: Ledger) -> None:
    found = check(
        ledger, told(None, "begin"), live(*range(8)), [Left(4503)], told(True, "live-7"), live(*range(8, COUNT))
    )
    assert (found.wrong, found.connections, found.recovered) == ([], 2, 1)


def test_a_loss_that_is_told_is_counted_and_not_wrong(ledger: Ledger) -> None:
    found = check(
        ledger,
        told(None, "begin"),
        live(*range(5)),
        told(False, "live-4"),
        filled(12, stood="live-4"),
        live(*range(13, COUNT)),
    )
    assert (found.wrong, found.told_of_loss, found.lost_as_told) == ([], 1, 7)
    whole = filled(*range(5, 13), stood="live-4")
    found = check(ledger, told(None, "begin"), live(*range(5)), told(False, "live-4"), whole, live(*range(13, COUNT)))
    assert (found.wrong, found.lost_as_told) == ([], 0)


def test_a_planted_gap_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(*range(5), *range(7, COUNT)))
    assert (found.gaps, found.wrong) == (2, ["it misses 2 of one before 7, and was not told"])


def test_a_gap_that_is_told_soon_after_is_counted_apart_and_one_that_is_told_too_late_is_found(ledger: Ledger) -> None:
    begin, again = [told(None, "begin"), live(*range(5), *range(7, 9))], [filled(10, stood="live-8"), live(11)]
    rest = live(*range(12, COUNT))
    soon = check(ledger, *begin, told(False, "live-8", when=at(7) + LATE), *again, rest)
    assert (soon.wrong, soon.told_late, soon.gaps) == ([], 2, 0)
    late = check(ledger, *begin, told(False, "live-8", when=at(8) + LATE), *again, rest)
    assert (late.wrong, late.told_late, late.gaps) == (["it misses 2 of one before 7, and was not told"], 0, 2)
    resumed = check(ledger, *begin, told(True, "live-8", when=at(8)), live(*range(9, COUNT)))
    assert (resumed.told_late, resumed.gaps) == (0, 2)


def test_a_planted_gap_after_a_return_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(*range(5)), told(True, "live-4"), live(*range(6, COUNT)))
    assert (found.gaps, len(found.wrong)) == (1, 1)


def test_a_planted_gap_between_what_is_filled_and_what_is_live_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None), filled(6), live(*range(8, COUNT)))
    assert (found.gaps, len(found.wrong)) == (1, 1)
    found = check(ledger, told(None, "begin"), live(*range(2, COUNT)))  # it was not filled at all
    assert (found.gaps, len(found.wrong)) == (2, 1)


def test_a_planted_duplicate_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(*range(5), 4, *range(5, COUNT)))
    assert (found.duplicates, found.wrong) == (1, ["it shows 4 of one twice"])
    found = check(ledger, told(None, "begin"), live(*range(5)), told(True, "live-3"), live(*range(4, COUNT)))
    assert (found.duplicates, len(found.wrong)) == (1, 1)


def test_a_planted_reorder_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(0, 1, 3, 2, *range(4, COUNT)))
    assert (found.disorders, len(found.wrong)) == (1, 2)
    found = check(ledger, told(None), filled(4, 3, 6), live(*range(7, COUNT)))
    assert (found.disorders, len(found.wrong)) == (1, 1)


def test_an_old_reading_that_is_shown_as_new_is_found(ledger: Ledger) -> None:
    found = check(
        ledger,
        told(None, "begin"),
        live(*range(9)),
        told(False, "live-8"),
        filled(4, stood="live-8"),
        live(*range(5, COUNT)),
    )
    assert found.wrong == ["it was filled up to 4 of one, and had shown 8"]


def test_a_planted_loss_at_the_end_is_found(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(*range(COUNT - 1)))
    assert found.wrong == ["it ends at 18 of one, and 19 was acknowledged"]
    found = check(ledger, told(None, "begin"), live(*range(COUNT), resource_id=OTHER))
    assert found.wrong == ["it ends at -1 of one, and 19 was acknowledged"]


def test_a_reading_that_was_sent_again_may_come_again(ledger: Ledger) -> None:
    ledger.attempt(ONE, 4)
    found = check(ledger, told(None, "begin"), live(*range(5), 4, *range(5, COUNT)))
    assert (found.wrong, found.repeated) == ([], 1)
    found = check(ledger, told(None, "begin"), live(*range(6), 4, *range(6, COUNT)))  # by the other gateway, later
    assert (found.wrong, found.repeated) == ([], 1)


def test_what_a_slow_reader_does_not_see_is_counted_apart(ledger: Ledger) -> None:
    found = check(ledger, told(None, "begin"), live(0, 1, 9, 19), conflates=True)
    assert (found.wrong, found.conflated) == ([], 16)
    found = check(ledger, told(None, "begin"), live(0, 9, 1, 19), conflates=True)
    assert (found.disorders, len(found.wrong)) == (1, 1)


def test_a_reading_that_was_never_sent_is_found(ledger: Ledger) -> None:
    for stranger in (Shown(ONE, 3, at(4), "x"), Shown(ONE, 77, at(77), "x"), Shown("nobody", 1, at(1), "x")):
        found = check(ledger, told(None, "begin"), [stranger], live(*range(COUNT)))
        assert (found.wrong, "never sent" in found.wrong[0]) == (found.wrong[:1], True)


def test_who_is_told_nothing_first_is_found(ledger: Ledger) -> None:
    assert "before it was told" in check(ledger, live(*range(COUNT))).wrong[0]
    assert "had never begun" in check(ledger, told(True), live(*range(COUNT))).wrong[0]


def test_rows_are_complete_and_single_and_known(ledger: Ledger) -> None:
    rows = [(at(number), number) for number in range(COUNT)]
    assert check_stored({ONE: rows, OTHER: rows}, ledger) == []
    assert check_stored({ONE: rows, OTHER: rows[:7] + rows[8:]}, ledger) == ["other has no row of 7"]
    assert (count_lost({ONE: rows, OTHER: rows}, ledger), count_lost({OTHER: rows[1:]}, ledger)) == (0, COUNT + 1)
    assert check_stored({ONE: rows}, ledger)[0] == "other has no row of 0"
    assert check_stored({ONE: [*rows, rows[3]], OTHER: rows}, ledger) == ["one has 2 rows of 3"]
    moved = [*rows[:-1], (at(0), COUNT - 1)]
    assert check_stored({ONE: moved, OTHER: rows}, ledger) == [f"one has a row of 19 at {at(0)}, never sent"]


def test_findings_add_up() -> None:
    total = Findings(shown=2, gaps=1, wrong=["this"])
    total += Findings(shown=3, wrong=["that"])
    assert total == Findings(shown=5, gaps=1, wrong=["this", "that"])
