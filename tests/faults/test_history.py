"""The checker of histories: it finds planted errors, and nothing in a correct history."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.history import (
    MAX_REPORT_DELAY,
    Connected,
    Disconnected,
    Entry,
    Findings,
    Ledger,
    PositionReceived,
    ReadingShown,
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
    """A ledger with 20 acknowledged readings of each of two resources."""
    filled_ledger = Ledger([ONE, OTHER])
    for resource_id in (ONE, OTHER):
        for number in range(COUNT):
            assert filled_ledger.add(resource_id, at(number)) == number
            filled_ledger.attempt(resource_id, number)
            filled_ledger.acknowledge(resource_id, number)
    return filled_ledger


def live(*numbers: int, resource_id: str = ONE) -> list[Entry]:
    return [ReadingShown(resource_id, number, at(number), f"live-{number}") for number in numbers]


def backfilled(*numbers: int, old_position: str = "") -> list[Entry]:
    """Readings of a backfill. Only the last one has the new position."""
    return [ReadingShown(ONE, one, at(one), "anew" if one == numbers[-1] else old_position) for one in numbers]


def position(recovered: bool | None, resumed_from: str = "", *, when: datetime = BEGUN) -> list[Entry]:
    return [Connected(0), PositionReceived(recovered, resumed_from, when)]


def check(ledger: Ledger, *entries: list[Entry], conflates: bool = False) -> Findings:
    history = [entry for group in entries for entry in group]
    return check_history("it", history, [ONE], ledger, conflates=conflates)


def test_complete_history_has_no_problems(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(*range(COUNT)))
    assert findings == Findings(shown=COUNT, connections=1)


def test_late_display_starts_with_the_newest_reading(ledger: Ledger) -> None:
    findings = check(ledger, position(None), backfilled(6), live(*range(7, COUNT)))
    assert (findings.problems, findings.reported_missing) == ([], 0)
    overlapping = check(ledger, position(None), backfilled(6), live(*range(5, COUNT)))
    assert overlapping.problems == []


def test_resumed_display_has_no_gap(ledger: Ledger) -> None:
    findings = check(
        ledger,
        position(None, "begin"),
        live(*range(8)),
        [Disconnected(4503)],
        position(True, "live-7"),
        live(*range(8, COUNT)),
    )
    assert (findings.problems, findings.connections, findings.recovered) == ([], 2, 1)


def test_reported_loss_is_counted_and_no_problem(ledger: Ledger) -> None:
    findings = check(
        ledger,
        position(None, "begin"),
        live(*range(5)),
        position(False, "live-4"),
        backfilled(12, old_position="live-4"),
        live(*range(13, COUNT)),
    )
    assert (findings.problems, findings.reported_losses, findings.reported_missing) == ([], 1, 7)
    complete = backfilled(*range(5, 13), old_position="live-4")
    findings = check(
        ledger, position(None, "begin"), live(*range(5)), position(False, "live-4"), complete, live(*range(13, COUNT))
    )
    assert (findings.problems, findings.reported_missing) == ([], 0)


def test_live_readings_may_repeat_a_backfill_whose_position_does_not_change(ledger: Ledger) -> None:
    """The new primary of Redis has the position before the loss, and the events after it."""
    unchanged: list[Entry] = [ReadingShown(ONE, number, at(number), "live-4") for number in (5, 6)]
    begin = [position(None, "begin"), live(*range(5)), position(False, "live-4"), unchanged]
    assert check(ledger, *begin, live(*range(6, COUNT))).problems == []
    assert check(ledger, *begin, live(*range(5, COUNT))).problems == []
    assert check(ledger, *begin, unchanged, live(*range(6, COUNT))).disorders == 1
    assert check(ledger, *begin, live(6, *range(8, COUNT))).gaps == 1
    first: list[Entry] = [ReadingShown(ONE, number, at(number), "") for number in (5, 6)]
    assert check(ledger, position(None), first, live(*range(6, COUNT))).disorders == 1  # no loss was reported


def test_planted_gap_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(*range(5), *range(7, COUNT)))
    assert (findings.gaps, findings.problems) == (2, ["it misses 2 of one before 7 without a report"])


def test_gap_is_a_problem_if_it_is_reported_too_late(ledger: Ledger) -> None:
    begin, again = (
        [position(None, "begin"), live(*range(5), *range(7, 9))],
        [backfilled(10, old_position="live-8"), live(11)],
    )
    rest = live(*range(12, COUNT))
    reported_soon = check(ledger, *begin, position(False, "live-8", when=at(7) + MAX_REPORT_DELAY), *again, rest)
    assert (reported_soon.problems, reported_soon.reported_late, reported_soon.gaps) == ([], 2, 0)
    reported_too_late = check(ledger, *begin, position(False, "live-8", when=at(8) + MAX_REPORT_DELAY), *again, rest)
    assert (reported_too_late.problems, reported_too_late.reported_late, reported_too_late.gaps) == (
        ["it misses 2 of one before 7 without a report"],
        0,
        2,
    )
    resumed = check(ledger, *begin, position(True, "live-8", when=at(8)), live(*range(9, COUNT)))
    assert (resumed.reported_late, resumed.gaps) == (0, 2)


def test_planted_gap_after_a_reconnect_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(*range(5)), position(True, "live-4"), live(*range(6, COUNT)))
    assert (findings.gaps, len(findings.problems)) == (1, 1)


def test_planted_gap_between_backfill_and_live_readings_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None), backfilled(6), live(*range(8, COUNT)))
    assert (findings.gaps, len(findings.problems)) == (1, 1)
    findings = check(ledger, position(None, "begin"), live(*range(2, COUNT)))  # without a backfill
    assert (findings.gaps, len(findings.problems)) == (2, 1)


def test_planted_duplicate_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(*range(5), 4, *range(5, COUNT)))
    assert (findings.duplicates, findings.problems) == (1, ["it shows 4 of one twice"])
    findings = check(ledger, position(None, "begin"), live(*range(5)), position(True, "live-3"), live(*range(4, COUNT)))
    assert (findings.duplicates, len(findings.problems)) == (1, 1)


def test_planted_reorder_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(0, 1, 3, 2, *range(4, COUNT)))
    assert (findings.disorders, len(findings.problems)) == (1, 2)
    findings = check(ledger, position(None), backfilled(4, 3, 6), live(*range(7, COUNT)))
    assert (findings.disorders, len(findings.problems)) == (1, 1)


def test_old_reading_that_is_shown_as_new_is_found(ledger: Ledger) -> None:
    findings = check(
        ledger,
        position(None, "begin"),
        live(*range(9)),
        position(False, "live-8"),
        backfilled(4, old_position="live-8"),
        live(*range(5, COUNT)),
    )
    assert findings.problems == ["it received a backfill up to 4 of one, and had shown 8"]


def test_planted_loss_at_the_end_is_found(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(*range(COUNT - 1)))
    assert findings.problems == ["it ends at 18 of one, and 19 was acknowledged"]
    findings = check(ledger, position(None, "begin"), live(*range(COUNT), resource_id=OTHER))
    assert findings.problems == ["it ends at -1 of one, and 19 was acknowledged"]


def test_display_may_close_during_a_repeated_backfill(ledger: Ledger) -> None:
    repeated: list[Entry] = [ReadingShown(ONE, number, at(number), "live-19") for number in range(5)]
    findings = check(ledger, position(None, "begin"), live(*range(COUNT)), position(False, "live-19"), repeated)
    assert findings.problems == []
    behind = check(ledger, position(None, "begin"), live(*range(COUNT - 1)), position(False, "live-18"), repeated)
    assert behind.problems != []


def test_retried_reading_may_arrive_twice(ledger: Ledger) -> None:
    ledger.attempt(ONE, 4)
    findings = check(ledger, position(None, "begin"), live(*range(5), 4, *range(5, COUNT)))
    assert (findings.problems, findings.repeated) == ([], 1)
    findings = check(
        ledger, position(None, "begin"), live(*range(6), 4, *range(6, COUNT))
    )  # later, by the other gateway
    assert (findings.problems, findings.repeated) == ([], 1)


def test_conflated_readings_of_a_slow_reader_are_counted_separately(ledger: Ledger) -> None:
    findings = check(ledger, position(None, "begin"), live(0, 1, 9, 19), conflates=True)
    assert (findings.problems, findings.conflated) == ([], 16)
    findings = check(ledger, position(None, "begin"), live(0, 9, 1, 19), conflates=True)
    assert (findings.disorders, len(findings.problems)) == (1, 1)


def test_reading_that_was_never_sent_is_found(ledger: Ledger) -> None:
    for stranger in (
        ReadingShown(ONE, 3, at(4), "x"),
        ReadingShown(ONE, 77, at(77), "x"),
        ReadingShown("nobody", 1, at(1), "x"),
    ):
        findings = check(ledger, position(None, "begin"), [stranger], live(*range(COUNT)))
        assert (findings.problems, "never sent" in findings.problems[0]) == (findings.problems[:1], True)


def test_reading_before_the_first_position_is_found(ledger: Ledger) -> None:
    assert "before its first position" in check(ledger, live(*range(COUNT))).problems[0]
    assert "without an earlier position" in check(ledger, position(True), live(*range(COUNT))).problems[0]


def test_missing_duplicate_and_unknown_rows_are_found(ledger: Ledger) -> None:
    rows = [(at(number), number) for number in range(COUNT)]
    assert check_stored({ONE: rows, OTHER: rows}, ledger) == []
    assert check_stored({ONE: rows, OTHER: rows[:7] + rows[8:]}, ledger) == ["other has no row of 7"]
    assert (count_lost({ONE: rows, OTHER: rows}, ledger), count_lost({OTHER: rows[1:]}, ledger)) == (0, COUNT + 1)
    assert check_stored({ONE: rows}, ledger)[0] == "other has no row of 0"
    assert check_stored({ONE: [*rows, rows[3]], OTHER: rows}, ledger) == ["one has 2 rows of 3"]
    moved = [*rows[:-1], (at(0), COUNT - 1)]
    assert check_stored({ONE: moved, OTHER: rows}, ledger) == [f"one has a row of 19 at {at(0)}, never sent"]


def test_findings_add_up() -> None:
    total = Findings(shown=2, gaps=1, problems=["this"])
    total += Findings(shown=3, problems=["that"])
    assert total == Findings(shown=5, gaps=1, problems=["this", "that"])
