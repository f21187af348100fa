"""The facts that an inspection finds in a file, and the questions that it leaves open."""

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from typing import Any

import pytest

from wattgate.errors import TooLarge
from wattgate.reading_files import inspection as inspection_module
from wattgate.reading_files.inspection import (
    SAMPLE_CELLS,
    Fit,
    _usual_count,
    describe_time,
    inspect_sample,
    option_words,
)

ENGLISH = "Date,Consumption (kWh)\n{} 00:30,0.5\n{} 01:00,0.4\n"


def best_fit(text: str) -> Fit:
    return inspect_sample(text.encode(), is_whole=True, zone=UTC).fits[0]


@pytest.mark.parametrize(
    ("dates", "asked", "words"),
    [
        (("02/03/2026", "03/03/2026"), True, "--date-order day-first|month-first"),
        (("02-03-2026", "12-12-2026"), True, "--date-order day-first|month-first"),
        (("02/03/2026", "13/03/2026"), False, "--profile english-spreadsheet --times"),
        (("03/02/2026", "03/13/2026"), False, "--date-order month-first"),
        (("26/03/12", "26/03/13"), True, "--date-order day-first|month-first|year-first"),
        (("12/03/26", "13/03/26"), True, "--date-order day-first|month-first|year-first"),
        (("13/03/2026", "14/03/2026"), False, "--profile english-spreadsheet --times"),
    ],
)
def test_order_of_day_and_month_is_a_question_unless_a_date_shows_it(
    dates: tuple[str, str], asked: bool, words: str
) -> None:
    """The profile of English spreadsheets has the day first, and exports of other countries have its columns."""
    fit = best_fit(ENGLISH.format(*dates))
    assert fit.profile.name == "english-spreadsheet"
    assert any(question.option == "date_order" for question in fit.questions) is asked
    assert words in " ".join(option_words(fit))


@pytest.mark.parametrize(
    "text",
    [
        "Date and time,Consumption (kWh)\n13/06/2025 00:00,0,120\n13/06/2025 00:30,0,419\n13/06/2025 01:00,1,250\n",
        "2025-06-13 00:00,5.000\n2025-06-13 00:30,0.137\n2025-06-13 01:00,0.174\n",
        "Datum;Uhrzeit;Verbrauch (kWh)\n13.06.2025;00:00;5,000;\n13.06.2025;00:30;0,137;\n",
    ],
)
def test_a_reading_is_no_header(text: str) -> None:
    """A decimal comma adds a cell to each line, so that only the header has another number of cells."""
    assert inspect_sample(text.encode(), is_whole=True, zone=UTC).fits == []


def test_starts_or_ends_is_a_question_whatever_the_distances_are() -> None:
    times = ("00:30", "01:30", "02:30", "03:30", "04:30", "05:00", "05:30", "06:30", "07:30")
    fit = best_fit("Zeitstempel;Verbrauch (kWh)\n" + "".join(f"13.06.2025 {time};0,5\n" for time in times))
    assert any(question.option == "times" for question in fit.questions)


def test_values_that_never_fall_may_be_those_of_a_register() -> None:
    lines = [f"{day:02}/06/2025,{12_345 + 9 * day}" for day in range(1, 20)]
    assert "The values never fall" in str(best_fit("\n".join(["Reading date,Reading", *lines, ""])).questions)


def test_a_column_of_hours_is_not_ignored_without_a_word() -> None:
    lines = [f"13/06/2025,{hour},0.{hour}" for hour in range(1, 9)]
    fit = best_fit("\n".join(["Date,Hour,Consumption (kWh)", *lines, ""]))
    assert "The column Hour is not read" in str(fit.questions)


def test_a_column_of_meters_is_not_ignored_without_a_word() -> None:
    rows = [f"DE{meter};13.06.2025;0{hour}:00;0,5" for meter in (1, 2) for hour in range(4)]
    fit = best_fit("\n".join(["Stelle;Datum;Uhrzeit;Verbrauch (kWh)", *rows, ""]))
    assert any("The column Stelle is not read" in question.text for question in fit.questions)


def test_dates_with_points_have_the_day_first() -> None:
    fit = best_fit("Datum;Uhrzeit;Verbrauch (kWh)\n02.03.2026;00:00;0,5\n02.03.2026;00:15;0,4\n")
    assert "--date-order" not in option_words(fit)
    assert fit.first.startswith("2026-03-02")
    assert describe_time(fit) == "PT15M"


def test_days_between_two_readings_are_no_interval() -> None:
    assert describe_time(best_fit(ENGLISH.format("02/03/2026", "13/03/2026"))) == ""


def test_the_work_of_an_inspection_is_bounded_and_no_profile_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many columns, open orders of dates and open marks have hundreds of answers. A day in a line has 288 values."""
    row = "0{0}/0{1}/24;00:30;1,234;1,222;1,111;1,223;2,223"
    many = "date;time;kw;kwh;w;wh;mwh\n" + "\n".join(row.format(n % 9 + 1, n % 8 + 1) for n in range(100))
    inspection = inspect_sample(many.encode(), is_whole=True, zone=UTC)
    assert inspection.fits
    assert inspection.tried < 20_000  # 33,100 if each answer reads the sample anew
    labels = ",".join(f"{minute // 60:02}:{minute % 60:02}" for minute in range(0, 1440, 5))
    wide = f"date,{labels}\n" + "\n".join(f"2024-01-{n % 28 + 1:02}{',1' * 288}" for n in range(800))
    assert inspect_sample(wide.encode(), is_whole=True, zone=UTC).content.count(b",") <= SAMPLE_CELLS
    monkeypatch.setattr(inspection_module, "MAX_TRIED", 1_000)
    with pytest.raises(TooLarge, match="may be read in too many ways"):
        inspect_sample(many.encode(), is_whole=True, zone=UTC)


@pytest.mark.parametrize("header", ["Start,kVArh", "when,usage (kVArh)", "Start,MVAh", "Start,Q1 [kvarh]", "Start,kVA"])
def test_reactive_and_apparent_energy_is_no_energy(header: str) -> None:
    content = f"{header}\n2026-03-13 00:00,0.5\n2026-03-13 00:30,0.25\n"
    assert inspect_sample(content.encode(), is_whole=True, zone=UTC).fits == []


def test_energy_beside_reactive_energy_is_read() -> None:
    fit = best_fit("when,Q1 kVArh,P1 kWh\n2026-03-13 00:00,9,0.5\n2026-03-13 00:30,8,0.25\n")
    assert (fit.options.columns["value"], fit.total) == ("P1 kWh", 0.75)


def count_calls(name: str, work: Callable[[], object]) -> int:
    """Return how often work calls functions of a name, in Python or in C."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        called = frame.f_code.co_name if event == "call" else getattr(argument, "__name__", "")
        count += event in ("call", "c_call") and called == name

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_lines_end_where_the_reader_ends_them(mark: str) -> None:
    """Python divides a text at these marks too: a file of a few lines would have 200,000 of them."""
    content = "".join(f"a{',' * number}{mark}" for number in range(315)) + f"a{mark}" * 5_000
    inspection = inspect_sample(content.encode(), is_whole=True, zone=UTC)
    assert len(inspection.lines) == 1
    assert len(inspect_sample(b"a\rb\r\nc\nd", is_whole=True, zone=UTC).lines) == 4


class CountedNumber(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedNumber.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_the_usual_number_of_cells_is_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of all lines for each number that occurs would take seconds, in which no other thread works."""
    monkeypatch.setattr(CountedNumber, "compared", 0)
    numbers = [*(CountedNumber(number) for number in range(300)), *(CountedNumber(7) for _ in range(700))]
    assert _usual_count(numbers) == (7, 0.701)
    assert CountedNumber.compared <= 4 * len(numbers)


def test_a_very_long_header_is_not_classified() -> None:
    header = ",".join(f"{number:x}q" for number in range(20_000))
    calls = count_calls("_is_data", lambda: inspect_sample(f"{header}\n1\n".encode(), is_whole=True, zone=UTC))
    assert calls == 0


def test_an_inspection_ends_when_its_check_says_so() -> None:
    """The check is called for each reading, row and profile: else a thread would go on for minutes."""
    content = ENGLISH.format("02/03/2026", "03/03/2026").encode() + b"03/03/2026 01:30,0.4\n" * 500

    def checks_of(last: int) -> int:
        count = 0

        def check() -> None:
            nonlocal count
            count += 1
            if count == last:
                raise TooLarge("The time is over.")

        with suppress(TooLarge):
            inspect_sample(content, is_whole=True, zone=UTC, check=check)
        return count

    assert checks_of(0) > 500
    assert checks_of(100) == 100


def test_marks_of_numbers_are_not_tried_on_xml() -> None:
    content = b'<?xml version="1.0"?><feed>' + b"<a>1</a>" * 10 + b"</feed>"
    calls = count_calls("__post_init__", lambda: inspect_sample(content, is_whole=True, zone=UTC))
    assert calls == 1
